//! Defaults in `gpuprof.toml`: where they are found, what counts more, and what is said about mistakes in them.

use crate::common::build::{Story, native};
use crate::common::{Answer, TempFolder, answer, command};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A repository with a trace in a folder of it, and a user with settings.
struct Place {
    folder: TempFolder,
}

impl Place {
    fn new(name: &str) -> Place {
        let folder = TempFolder::new(name);
        folder.file("repo/sub/run.gpuprof", &native(&Story::sample(30)));
        std::fs::create_dir_all(folder.path().join("repo/.git")).expect("a folder");
        std::fs::create_dir_all(folder.path().join("home")).expect("a folder");
        Place { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn project(&self, text: &str) {
        self.folder.file("repo/gpuprof.toml", text.as_bytes());
    }

    fn user(&self, text: &str) {
        self.folder.file("home/.config/gpuprof/gpuprof.toml", text.as_bytes());
    }

    /// Runs gpuprof in the folder below the repository's root.
    fn run(&self, variables: &[(&str, &str)], args: &[&str]) -> Answer {
        let mut command = command(args);
        command.current_dir(self.path("repo/sub")).env("HOME", self.path("home")).env_remove("XDG_CONFIG_HOME");
        command.env_remove("GPUPROF_NO_CONFIG").envs(variables.iter().copied());
        answer(&mut command)
    }

    fn rows(&self, args: &[&str]) -> usize {
        let view = ["report", "run.gpuprof", "--view", "cuda_api_trace", "--format", "csv"];
        let answer = self.run(&[], &[&view, args].concat());
        assert_eq!(answer.status, 0, "{}", answer.stderr);
        answer.stdout.lines().count() - 1
    }

    /// Value and origin of a setting, as `gpuprof config` has them.
    fn in_force(&self, variables: &[(&str, &str)], command: &str, option: &str) -> Option<(String, String)> {
        let answer = self.run(variables, &["config", "--format", "json"]);
        let answer: serde_json::Value = serde_json::from_str(&answer.stdout).expect(&answer.stderr);
        let rows = answer["tables"][1]["rows"].as_array().expect("rows");
        let row = rows.iter().find(|row| row["Command"] == command && row["Option"] == option)?;
        Some((row["Value"].as_str()?.to_owned(), row["From"].as_str()?.to_owned()))
    }
}

#[test]
fn what_is_typed_counts_most_then_the_project_then_the_user() {
    let place = Place::new("config-order");
    assert!(place.rows(&[]) > 5);
    place.user("[report]\ntop = 4\nwide = true\n");
    assert_eq!(place.rows(&[]), 4);
    place.project("# ours\n[report]\ntop = 3\n");
    assert_eq!((place.rows(&[]), place.rows(&["--top", "2"])), (3, 2));
    let path = |name: &str| place.path(name).display().to_string();
    let expected = |value: &str, from: String| Some((value.to_owned(), from));
    assert_eq!(
        place.in_force(&[], "report", "top"),
        expected("3", format!("project: {}:3", path("repo/gpuprof.toml")))
    );
    assert_eq!(
        place.in_force(&[], "report", "wide"),
        expected("true", format!("user: {}:3", path("home/.config/gpuprof/gpuprof.toml")))
    );
    assert_eq!(place.in_force(&[], "report", "sort"), expected("time", "default".to_owned()));
    assert_eq!(place.in_force(&[], "report", "filter"), None);
    // `gpuprof FILE` is a report too, and other commands are not.
    let bare = place.run(&[], &["run.gpuprof"]);
    assert_eq!(bare.stdout, place.run(&[], &["report", "run.gpuprof", "--top", "3", "--wide"]).stdout);
    // No file at all.
    let without = place.run(&[("GPUPROF_NO_CONFIG", "1")], &["report", "run.gpuprof"]);
    assert_ne!(without.stdout, bare.stdout);
}

#[test]
fn settings_of_the_collector_yield_to_the_environment() {
    let place = Place::new("config-environment");
    place.project("[record]\nring = \"30s\"\nnvtx = false\noutput = \"traces\"\n");
    let of =
        |variables: &[(&str, &str)], option: &str| place.in_force(variables, "record", option).expect("a value").0;
    assert_eq!(
        (of(&[], "ring"), of(&[], "nvtx"), of(&[], "output")),
        ("30s".into(), "false".into(), "traces".into())
    );
    let variables = [("GPUPROF_RING", "5s"), ("GPUPROF_OUTPUT", "elsewhere")];
    assert_eq!((of(&variables, "ring"), of(&variables, "output")), ("5s".into(), "elsewhere".into()));
    let (_, from) = place.in_force(&variables, "record", "ring").expect("a value");
    assert_eq!(from, "environment: GPUPROF_RING");
    let (_, from) = place.in_force(&[], "record", "capture").expect("a value");
    assert_eq!(from, "default");
}

#[test]
fn mistakes_are_named_with_file_line_and_key() {
    let place = Place::new("config-mistakes");
    let path = place.path("repo/gpuprof.toml").display().to_string();
    for (text, words) in [
        ("[report]\n\ntpo = 3\n", &["line 3:", "\"tpo\"", "did you mean top?"][..]),
        ("[report]\nquite = true\n", &["line 2:", "did you mean quiet?"]),
        ("[report]\nabcdefgh = 1\n", &["line 2:", "`gpuprof report --help` lists them"]),
        ("[rekord]\n", &["line 1:", "\"rekord\"", "did you mean record?"]),
        ("top = 1\n", &["line 1:", "\"top\"", "sections are record, report"]),
        ("[report]\ntop = \"x\"\n", &["line 2: top:", "not a number of rows"]),
        ("[report]\ntop = true\n", &["line 2: top:", "takes a value"]),
        ("[report]\ntop = [1, 2]\n", &["line 2: top:", "one value"]),
        ("[report]\ntop = 1979-05-27\n", &["line 2: top:", "no text, number"]),
        ("[report]\nwide = \"yes\"\n", &["line 2: wide:", "true or false"]),
        ("[report]\nformat = \"xml\"\n", &["line 2: format:", "text, csv, tsv, json, markdown"]),
        ("[record]\nsample = \"1\"\n", &["line 2: sample:", "10ms to 3600s"]),
        ("[record]\nring = \"bad\"\n", &["line 2: ring:"]),
        ("[report\n", &["line 1:"]),
        ("[report]\ntop = 1\ntop = 2\n", &["line 3:", "duplicate key"]),
        ("report = 1\n", &["line 1:", "[report]"]),
    ] {
        place.project(text);
        // A report does not go on as if there were no file, and `config` says the same.
        for args in [&["report", "run.gpuprof"][..], &["config"], &["run.gpuprof"]] {
            let answer = place.run(&[], args);
            assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{text}: {}", answer.stderr);
            assert!(answer.stderr.starts_with(&format!("gpuprof: {path}: ")), "{text}: {}", answer.stderr);
            assert_eq!(answer.stderr.lines().count(), 1, "{}", answer.stderr);
            for word in words {
                assert!(answer.stderr.contains(word), "{text}: no {word:?}: {}", answer.stderr);
            }
        }
        // What has no section is not held up by it.
        assert_eq!(place.run(&[], &["info", "run.gpuprof"]).status, 0);
    }
}

#[test]
fn what_contradicts_a_default_says_where_the_default_stands() {
    let place = Place::new("config-contradiction");
    place.project("[report]\nformat = \"json\"\n");
    let answer = place.run(&[], &["report", "run.gpuprof", "--print-gpu-trace"]);
    assert_eq!(answer.status, 2);
    for word in ["--format", "gpuprof.toml line 2: format", "GPUPROF_NO_CONFIG=1"] {
        assert!(answer.stderr.contains(word), "{word}: {}", answer.stderr);
    }
    // What only clap can know.
    place.project("[report]\nevents-time = \"start\"\n");
    let answer = place.run(&[], &["report", "run.gpuprof"]);
    assert_eq!(answer.status, 2);
    for word in ["--events <FILE>", "gpuprof.toml line 2: events-time", "GPUPROF_NO_CONFIG=1"] {
        assert!(answer.stderr.contains(word), "{word}: {}", answer.stderr);
    }
    // A mistake of what is typed is no matter of files.
    let answer = place.run(&[], &["report", "run.gpuprof", "--nope"]);
    assert!(!answer.stderr.contains("gpuprof.toml"), "{}", answer.stderr);
}

#[test]
fn the_project_ends_at_its_root_and_at_the_home_folder() {
    let place = Place::new("config-root");
    // Above the repository's root.
    place.folder.file("gpuprof.toml", b"[report]\ntop = 1\n");
    assert!(place.rows(&[]) > 5);
    std::fs::remove_dir(place.path("repo/.git")).expect("removed");
    assert_eq!(place.rows(&[]), 1);
    // The nearest one counts alone.
    place.folder.file("repo/sub/gpuprof.toml", b"[report]\nwide = true\n");
    assert!(place.rows(&[]) > 5);
}

#[test]
fn a_projects_file_that_others_may_have_written_is_not_read() {
    let place = Place::new("config-foreign");
    place.project("[report]\ntop = 1\n");
    assert_eq!(place.rows(&[]), 1);
    let file = place.path("repo/gpuprof.toml");
    let not_read = |why: &str| {
        let answer = place.run(&[], &["report", "run.gpuprof", "--view", "cuda_api_trace"]);
        let note = format!("gpuprof: {}: not read, as {why}", file.display());
        assert!(answer.stderr.contains(&note), "{}", answer.stderr);
        assert!(answer.stdout.lines().count() > 8, "{}", answer.stdout);
        let listed = place.run(&[], &["config", "--format", "csv"]).stdout;
        assert!(listed.contains(&format!("no: {why}")), "{listed}");
        assert!(place.rows(&[]) > 5);
    };
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("permissions");
    };
    allow(&file, 0o666);
    not_read("everybody may write to it");
    allow(&file, 0o644);
    let folder = place.path("repo");
    allow(&folder, 0o777);
    not_read("everybody may write to its folder");
    allow(&folder, 0o755);
    // Only the superuser can give files away.
    if std::os::unix::fs::chown(&folder, Some(12_345), None).is_ok() {
        not_read("its folder belongs to another user (uid 12345)");
        std::os::unix::fs::chown(&folder, Some(0), None).expect("back");
        std::os::unix::fs::chown(&file, Some(12_345), None).expect("given away");
        not_read("it belongs to another user (uid 12345)");
    } else {
        crate::common::skip(
            "config::a_projects_file_that_others_may_have_written_is_not_read",
            "files cannot be given to another user here",
        );
    }
}
