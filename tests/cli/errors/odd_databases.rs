//! Odd databases.

use super::*;

/// A database changed by hand, as bytes.
fn altered(folder: &TempFolder, database: &[u8], sql: &str) -> PathBuf {
    let path = folder.file("altered.sqlite", database);
    let db = Connection::open(&path).unwrap();
    db.execute_batch(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    path
}

#[test]
fn odd_values_in_databases_are_left_out_and_named_by_row() {
    let folder = TempFolder::new("err-values");
    let story = Story::sample(20);
    for (kind, database, table) in [
        ("nvprof", nvprof(&story, 16), "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"),
        ("nsys", nsys(&story, NsysEra::Of2026), "CUPTI_ACTIVITY_KIND_KERNEL"),
    ] {
        let kernels = |path: &Path| {
            let text =
                gpuprof(&["report", "--print-gpu-summary", "--filter", ".", "--csv", path.to_str().unwrap()]);
            let calls = text.stdout.lines().filter(|line| line.contains(",\"")).skip(1);
            let calls = calls.filter_map(|line| line.split(',').nth(3)?.parse::<u64>().ok()).sum::<u64>();
            (calls, text.stderr)
        };
        for (value, code) in [
            ("'soon'", "no usable time"),
            ("x'00ff'", "no usable time"),
            ("9223372036854775807", "invalid timestamps"),
            ("-9223372036854775808", "invalid timestamps"),
            ("9.3e18", "invalid timestamps"),
            ("-1e300", "invalid timestamps"),
        ] {
            let sql = format!("UPDATE {table} SET start = {value} WHERE rowid = 3");
            let (count, said) = kernels(&altered(&folder, &database, &sql));
            assert_eq!(count, 19, "{kind} start {value}: {said}");
            assert!(said.contains(code), "{kind} start {value}: {said}");
            if code == "no usable time" {
                assert!(said.contains("rowid 3") && said.contains(table), "{kind} start {value}: {said}");
            }
        }
        // Ids and sizes of any value do not matter to sums.
        for (column, value) in
            [("deviceId", "-1"), ("streamId", "1e300"), ("gridX", "'many'"), ("correlationId", "-7")]
        {
            let sql = format!("UPDATE {table} SET {column} = {value} WHERE rowid = 3");
            let (count, said) = kernels(&altered(&folder, &database, &sql));
            assert_eq!(count, 20, "{kind} {column} {value}: {said}");
        }
    }
}

#[test]
fn missing_tables_columns_and_names_cost_only_themselves() {
    let folder = TempFolder::new("err-columns");
    let story = Story::sample(20);
    for (kind, database, kernels, calls, names, without) in [
        (
            "nvprof",
            nvprof(&story, 16),
            "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            "StringTable",
            "1 id of a name has no string, the first is 4",
        ),
        (
            "nsys",
            nsys(&story, NsysEra::Of2026),
            "CUPTI_ACTIVITY_KIND_KERNEL",
            "CUPTI_ACTIVITY_KIND_RUNTIME",
            "StringIds",
            "3 ids of names have no string, the first is 2",
        ),
    ] {
        let run = |sql: &str| {
            let path = altered(&folder, &database, sql);
            let answer = gpuprof_in(Path::new("."), &["report", path.to_str().unwrap()]);
            assert_eq!(answer.status, 0, "{kind} {sql}: {}", answer.stderr);
            answer
        };
        let answer = run(&format!("DROP TABLE {kernels}"));
        assert!(answer.stdout.contains("[CUDA memcpy HtoD]") && !answer.stdout.contains("saxpy"), "{kind}");
        let answer = run(&format!("DROP TABLE {calls}"));
        assert!(answer.stdout.contains("saxpy") && !answer.stdout.contains("cudaMalloc"), "{kind}");
        let answer = run(&format!("ALTER TABLE {kernels} DROP COLUMN gridX"));
        assert!(answer.stdout.contains("saxpy"), "{kind}");
        let answer = run(&format!("DELETE FROM {names} WHERE value LIKE '%saxpy%'"));
        assert!(answer.stderr.contains(without), "{kind}: {}", answer.stderr);
        // Tables and columns that users add, and names in another case of letters.
        run(&format!(
            "ALTER TABLE {calls} ADD COLUMN name TEXT; CREATE TABLE mine (a); CREATE INDEX i ON {calls}(start)"
        ));
    }
}

#[test]
fn a_database_is_never_written_to() {
    let folder = TempFolder::new("err-readonly");
    for (name, bytes) in
        [("a.nvvp", nvprof(&Story::sample(9), 8)), ("a.sqlite", nsys(&Story::sample(9), NsysEra::Of2026))]
    {
        let path = folder.argument(name, &bytes);
        for option in ["--print-summary", "--print-gpu-trace"] {
            gpuprof(&["report", option, &path]);
        }
        gpuprof(&["info", &path]);
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "{name}");
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 2, "no -wal, -shm or -journal beside them");
}

#[test]
fn secrets_of_foreign_files_appear_nowhere() {
    let folder = TempFolder::new("err-secrets");
    let story = Story::sample(6).with_ranges();
    for (kind, bytes) in every_kind(&story) {
        let path = folder.argument("t", &bytes);
        for args in [&["info"][..], &["info", "--format", "json"], &["report"], &["report", "--format", "json"]] {
            let answer = gpuprof(&[args, &[&path]].concat());
            let all = answer.stdout + &answer.stderr;
            for secret in ["hf_secret", "HF_TOKEN", "alice", "secret-host", "secret-of-the-command-line"] {
                assert!(!all.contains(secret), "{kind} {args:?} shows {secret}");
            }
        }
    }
}
