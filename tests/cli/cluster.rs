//! `gpuprof cluster report` and what may go wrong with it, with a script in the place of Spark. `tests/interop/spark.rs` has the real one.

use crate::common::build::{Story, native};
use crate::common::{TempFolder, gpuprof, gpuprof_in, gpuprof_with, refused};
use std::os::unix::fs::PermissionsExt as _;

/// A Spark whose `spark-sql` is a script; its path.
fn spark(folder: &TempFolder, name: &str, script: &str) -> String {
    let program = folder.file(&format!("{name}/bin/spark-sql"), format!("#!/bin/sh\n{script}\n").as_bytes());
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a program");
    folder.path().join(name).to_str().expect("a path").to_owned()
}

fn dataset(folder: &TempFolder, format: &str) -> String {
    let trace = folder.argument("run.gpuprof", &native(&Story::sample(20)));
    let out = folder.path().join(format).to_str().expect("a path").to_owned();
    let partition: &[&str] = if format == "parquet" { &["--option", "partition=pid"] } else { &[] };
    gpuprof(&[&["export", "-q", "-F", format, &trace, "-o", &out], partition].concat());
    out
}

#[test]
fn what_spark_is_given_and_what_it_answers() {
    let folder = TempFolder::new("cluster");
    let dataset = dataset(&folder, "parquet");
    // It answers with what else it prints around, and says what it was given.
    let script = "echo 'Spark Web UI available at http://here'
echo \"$@\" >\"$SPARK_HOME/arguments\"; pwd >\"$SPARK_HOME/folder\"; cp report.sql \"$SPARK_HOME\"
printf '%s\\n' 'gpuprof-answer 0 {\"key\":\"a\\tb\",\"count\":2,\"total\":\"900719925474099\",\"squares\":\"5\",\"min\":1,\"max\":2,\"median_times_2\":3}'
echo 'Time taken: 1 s'";
    let home = spark(&folder, "spark", script);
    let view = ["--view", "cuda_gpu_kern_sum", "--format", "csv"];
    let master = ["cluster", "report", &dataset, "--master", "spark://there:7077", "--conf", "a.b=c d"];
    let answer = gpuprof_with(&[("SPARK_HOME", &home)], &[&master[..], &view[..]].concat());
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    let row = "100.0,900719925474099,2,450359962737049.5,1.5,1,2,0.0,a\tb";
    assert_eq!(answer.stdout.lines().nth(1), Some(row), "{}", answer.stdout);
    let left = |name: &str| std::fs::read_to_string(folder.path().join("spark").join(name)).expect("a file");
    let arguments = left("arguments");
    for words in ["--master spark://there:7077", "--conf a.b=c d", "spark.sql.ansi.enabled=true", "-f "] {
        assert!(arguments.contains(words), "{words}: {arguments}");
    }
    assert!(!std::path::Path::new(left("folder").trim()).exists(), "the folder it ran in is left");
    // The same statements are printed, without any Spark.
    let printed =
        gpuprof_with(&[("PATH", "")], &["cluster", "report", &dataset, "--sql", "--view", "cuda_gpu_kern_sum"]);
    assert_eq!(printed.stdout, left("report.sql"));
    assert!(printed.stdout.contains("/kernel', recursiveFileLookup"), "{}", printed.stdout);
}

#[test]
fn what_fails_says_what_and_what_to_do() {
    let folder = TempFolder::new("cluster-fails");
    let parquet = dataset(&folder, "parquet");
    let ask = |place: &str, more: &[&str], words: &[&str]| {
        refused(&[&["cluster", "report", place, "--master", "local"], more].concat(), words)
    };
    let home = spark(&folder, "fails", "echo '26/11/30 WARN x' >&2; echo '[NO_SUCH] Not there' >&2; exit 3");
    ask(&parquet, &["--spark", &home], &["exit status: 3", "[NO_SUCH] Not there", "--verbose"]);
    // Named from where the command runs.
    let words = ["cluster", "report", "parquet", "--master", "local", "--spark", "fails"];
    let answer = gpuprof_in(folder.path(), &words);
    assert!(answer.status == 2 && answer.stderr.contains("exit status: 3"), "{}", answer.stderr);
    let home = spark(&folder, "babbles", "echo 'gpuprof-answer 0 nonsense'");
    ask(&parquet, &["--spark", &home], &["what was not asked", "nonsense"]);
    let home = spark(&folder, "half", "printf '%s\\n' 'gpuprof-answer 0 {\"key\":\"a\",\"count\":1}'");
    ask(&parquet, &["--spark", &home, "--view", "cuda_gpu_kern_sum"], &["what was not asked", "\"count\":1"]);
    ask(&parquet, &["--spark", "/nowhere"], &["/nowhere/bin/spark-sql", "SPARK_HOME"]);
    ask(&parquet, &["--view", "steps_slow"], &["\"steps_slow\"", "gpu_time_breakdown"]);
    ask(&dataset(&folder, "csv-tables"), &["--spark", &home], &["an export as csv", "--format parquet"]);
    ask(folder.path().to_str().expect("a path"), &[], &["gpuprof-export.json", "gpuprof export --format parquet"]);
    let none =
        gpuprof_with(&[("PATH", ""), ("SPARK_HOME", "")], &["cluster", "report", &parquet, "--master", "local"]);
    assert_eq!(none.status, 2);
    assert!(none.stderr.contains("no spark-sql is on the path") && none.stderr.contains("pip install pyspark"));
}
