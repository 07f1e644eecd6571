//! Outputs never cost a user what was there: devices, links, traces that are read, other people's files.

use crate::common::build::*;
use crate::common::{self, TempFolder, command, gpuprof, gpuprof_in, refused, skip};
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Stdio;

/// A folder with a trace in it, and the trace as an argument.
fn with_trace(name: &str) -> (TempFolder, String) {
    let folder = TempFolder::new(name);
    let trace = folder.argument("trace.gpuprof", &native(&Story::sample(200)));
    (folder, trace)
}

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_str().expect("a path").to_owned()
}

/// Runs a line of shell, in which `$0` is the program; returns its status and standard error.
fn shell(line: &str, arguments: &[&str]) -> (i32, String) {
    let mut shell = std::process::Command::new("sh");
    let answer = common::answer(shell.args(["-c", line, env!("CARGO_BIN_EXE_gpuprof")]).args(arguments));
    (answer.status, answer.stderr)
}

#[test]
fn devices_stay_devices() {
    let (_folder, trace) = with_trace("outputs-devices");
    for format in ["csv", "sqlite", "gpuprof"] {
        let arguments = match format {
            "sqlite" => vec!["export", "-F", "sqlite", &trace],
            "gpuprof" => vec!["convert", &trace],
            _ => vec!["export", "-F", format, &trace],
        };
        let null = gpuprof(&[&arguments[..], &["-o", "/dev/null"]].concat());
        assert!(null.stderr.contains(" bytes written"), "{}", null.stderr);
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device(), "{format}");
        if Path::new("/dev/full").exists() {
            let full = [&arguments[..], &["-o", "/dev/full"]].concat();
            assert!(refused(&full, &["cannot be written"]).contains("No space left"), "{format}");
            assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device(), "{format}");
        }
    }
    refused(&["export", "-F", "parquet", &trace, "-o", "/dev/null"], &["/dev/null", "a folder of files"]);
}

#[test]
fn named_pipes_are_written_through() {
    let (folder, trace) = with_trace("outputs-fifo");
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        return skip("named_pipes_are_written_through", "mkfifo is not there");
    }
    let plain = text(folder.path().join("plain.gpuprof"));
    gpuprof(&["convert", "-q", &trace, "-o", &plain]);
    for (format, expected) in [("gpuprof", Some(plain.as_str())), ("csv", None)] {
        let mut export = command(&["export", "-q", "-F", format, &trace, "-o", pipe.to_str().unwrap()]);
        let mut child = export.stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().expect("gpuprof");
        let mut bytes = Vec::new();
        fs::File::open(&pipe).unwrap().read_to_end(&mut bytes).unwrap();
        assert!(child.wait().unwrap().success());
        assert!(!bytes.is_empty());
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        if let Some(expected) = expected {
            assert_eq!(bytes.len() as u64, fs::metadata(expected).unwrap().len());
        }
    }
}

#[test]
fn sockets_are_refused_and_stay() {
    let (folder, trace) = with_trace("outputs-socket");
    // The path of a socket must be short.
    let short = std::env::temp_dir().join(format!("gpuprof-{}.sock", std::process::id()));
    let _ = fs::remove_file(&short);
    let listener = std::os::unix::net::UnixListener::bind(&short).expect("a socket");
    refused(&["export", "-F", "csv", &trace, "-o", short.to_str().unwrap()], &["is a socket"]);
    refused(&["convert", &trace, "-o", short.to_str().unwrap()], &["is a socket"]);
    assert!(fs::symlink_metadata(&short).unwrap().file_type().is_socket());
    drop((listener, folder));
    fs::remove_file(short).unwrap();
}

#[test]
fn a_redirected_standard_output_gets_everything() {
    let (folder, trace) = with_trace("outputs-stdout");
    let csv = gpuprof(&["export", "-F", "csv", &trace, "-o", "-"]).stdout;
    let database = text(folder.path().join("plain.sqlite"));
    gpuprof(&["export", "-q", &trace, "-o", &database]);
    for name in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "-"] {
        let out = text(folder.path().join("out"));
        fs::write(&out, "before\n").unwrap();
        // What is there already stays: the shell was told to add.
        let line = "\"$0\" export -q -F csv \"$1\" -o \"$2\" >> \"$3\"";
        let (status, stderr) = shell(line, &[&trace, name, &out]);
        assert_eq!((status, stderr.as_str()), (0, ""), "{name}");
        assert_eq!(fs::read_to_string(&out).unwrap(), format!("before\n{csv}"), "{name}");
        let line = "\"$0\" export -q -F sqlite \"$1\" -o \"$2\" > \"$3\"";
        let (status, stderr) = shell(line, &[&trace, name, &out]);
        assert_eq!((status, stderr.as_str()), (0, ""), "{name}");
        assert_eq!(fs::read(&out).unwrap(), fs::read(&database).unwrap(), "{name}");
    }
    let out = text(folder.path().join("three"));
    let (status, stderr) = shell("\"$0\" export -q -F csv \"$1\" -o /dev/fd/3 3> \"$2\"", &[&trace, &out]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(&out).unwrap(), csv);
    let (status, stderr) = shell("\"$0\" export -q -F csv \"$1\" -o /dev/fd/3 3< \"$2\"", &[&trace, &out]);
    assert_eq!(status, 2);
    assert!(stderr.contains("not open for writing"), "{stderr}");
    assert_eq!(fs::read_to_string(&out).unwrap(), csv);
    let link = folder.path().join("link");
    symlink("/dev/stdout", &link).unwrap();
    assert_eq!(gpuprof(&["export", "-q", "-F", "csv", &trace, "-o", link.to_str().unwrap()]).stdout, csv);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn a_symbolic_link_is_followed_and_stays() {
    let (folder, trace) = with_trace("outputs-links");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("there")).unwrap();
    fs::write(at("there/target.csv"), "before").unwrap();
    symlink("there/target.csv", at("link.csv")).unwrap();
    symlink("link.csv", at("second.csv")).unwrap();
    symlink("there/new.csv", at("dangling.csv")).unwrap();
    symlink("round.csv", at("round.csv")).unwrap();
    for (link, target) in [("second.csv", "there/target.csv"), ("dangling.csv", "there/new.csv")] {
        gpuprof(&["export", "-q", &trace, "-o", &text(at(link))]);
        assert!(fs::read_to_string(at(target)).unwrap().starts_with("table,"), "{link}");
        assert!(at(link).symlink_metadata().unwrap().is_symlink(), "{link}");
    }
    assert!(at("link.csv").symlink_metadata().unwrap().is_symlink());
    refused(&["export", &trace, "-o", &text(at("round.csv"))], &["in a circle"]);
    fs::create_dir(at("there/tables")).unwrap();
    symlink("there/tables", at("tables")).unwrap();
    for force in [&[][..], &["--force"]] {
        gpuprof(&[&["export", "-q", "-F", "parquet", &trace, "-o", &text(at("tables"))], force].concat());
        assert!(at("there/tables/kernel.parquet").is_file());
        assert!(at("tables").symlink_metadata().unwrap().is_symlink());
    }
}

#[test]
fn no_trace_that_is_read_is_written_over_under_any_name() {
    let (folder, trace) = with_trace("outputs-input");
    let at = |name: &str| folder.path().join(name);
    let before = fs::read(&trace).unwrap();
    symlink("trace.gpuprof", at("link.gpuprof")).unwrap();
    fs::hard_link(&trace, at("hard.gpuprof")).unwrap();
    for name in ["trace.gpuprof", "link.gpuprof", "hard.gpuprof"] {
        let out = text(at(name));
        refused(&["convert", "--force", &trace, "-o", &out], &["which is read", name]);
        refused(&["export", "-F", "csv", &trace, "-o", &out], &["which is read"]);
        refused(&["timeline", &trace, "-o", &out], &["which is read"]);
        refused(&["query", &trace, "SELECT name FROM kernel", "-o", &out], &["which is read"]);
        refused(&["query", &trace, ".tables", "-o", &out], &["which is read"]);
        refused(&["report", &trace, "--log-file", &out], &["which is read"]);
    }
    assert_eq!(fs::read(&trace).unwrap(), before);
    let log = folder.argument("calls.jsonl", b"{\"name\":\"f\",\"start\":1.0,\"end\":2.0}\n");
    let events = ["export", "-F", "csv", &trace, "--events", &log, "-o", &log];
    assert_eq!(gpuprof_in(Path::new("."), &events).status, 2);
    assert!(fs::read_to_string(&log).unwrap().starts_with("{\"name\""));
    let database = folder.argument("run.nvvp", &nvprof(&Story::sample(20), 11));
    let (status, stderr) = shell("\"$0\" nvprof -i \"$1\" --log-file \"$1\"", &[&database]);
    assert_ne!(status, 0);
    assert!(stderr.contains("which is read"), "{stderr}");
    assert!(fs::read(&database).unwrap().starts_with(b"SQLite format 3"));
}

#[test]
fn a_folder_is_replaced_only_if_all_in_it_is_ours() {
    let folder = TempFolder::new("outputs-folder");
    let at = |name: &str| folder.path().join(name);
    let trace = folder.argument("run/trace.gpuprof", &native(&Story::sample(100)));
    fs::write(at("run/precious.txt"), "mine").unwrap();
    let run = text(at("run"));
    for input in [&trace, &run] {
        refused(&["export", input, "-F", "parquet", "-o", &run, "--force"], &["trace.gpuprof", "which is read"]);
    }
    assert!(at("run/precious.txt").is_file() && at("run/trace.gpuprof").is_file());
    let other = folder.argument("other.gpuprof", &native(&Story::sample(100)));
    refused(&["export", &other, "-F", "parquet", "-o", &run, "--force"], &["no list of files"]);
    assert!(at("run/precious.txt").is_file() && at("run/trace.gpuprof").is_file());
    for format in ["parquet", "arrow", "csv-tables"] {
        let tables = text(at("tables"));
        gpuprof(&["export", "-q", &other, "-F", format, "-o", &tables, "--force"]);
        refused(&["export", &other, "-F", format, "-o", &tables], &["not an empty folder", "--force"]);
        for stranger in ["notes.txt", "deep/notes.txt"] {
            let path = at("tables").join(stranger);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "mine").unwrap();
            refused(&["export", &other, "-F", format, "-o", &tables, "--force"], &[stranger, "did not write"]);
            assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
            fs::remove_file(&path).unwrap();
        }
        refused(&["export", &other, "-F", format, "-o", &tables, "--force"], &["deep"]);
        fs::remove_dir(at("tables/deep")).unwrap();
        // What is read stays, even though it is ours.
        refused(&["export", &tables, "-F", format, "-o", &tables, "--force"], &["which is read"]);
        refused(&["export", &tables, "-F", "csv", "-o", &text(at("tables/gpuprof-export.json"))], &["is read"]);
        gpuprof(&["export", "-q", &other, "-F", format, "-o", &tables, "--force"]);
        assert!(at("tables/gpuprof-export.json").is_file());
    }
    let left: Vec<_> = folder.path().read_dir().unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_folder_of_traces_lists_its_files_and_is_replaced_by_that_list() {
    let folder = TempFolder::new("outputs-traces");
    let at = |name: &str| folder.path().join(name);
    for pid in 1..=2 {
        let story = Story { pid, ..Story::sample(50) };
        folder.file(&format!("in/{pid}.gpuprof"), &native(&story));
    }
    let (input, out) = (text(at("in")), text(at("out")));
    gpuprof(&["convert", &input, "-o", &out]);
    assert!(at("out/.gpuprof-files.json").is_file());
    gpuprof(&["convert", &input, "-o", &out, "--force"]);
    assert_eq!(gpuprof(&["info", "--format", "json", &out]).stderr, "", "the list is no trace");
    fs::copy(at("in/1.gpuprof"), at("out/mine.gpuprof")).unwrap();
    refused(&["convert", &input, "-o", &out, "--force"], &["mine.gpuprof"]);
    assert!(at("out/mine.gpuprof").is_file());
    // A name of a file is not taken for a folder unasked.
    let named = text(at("all.gpuprof"));
    refused(&["convert", &input, "-o", &named], &["called like a file", "2 processes"]);
    refused(&["export", &input, "-o", &text(at("all.nvvp"))], &["called like a file"]);
    let slash = format!("{named}/");
    gpuprof(&["convert", &input, "-o", &slash]);
    assert!(at("all.gpuprof").is_dir());
}

#[test]
fn files_are_replaced_as_the_help_says() {
    let (folder, trace) = with_trace("outputs-files");
    let run = |arguments: &[&str]| gpuprof_in(folder.path(), arguments);
    fs::write(folder.path().join("trace.csv"), "mine").unwrap();
    let default = run(&["export", "-F", "csv", &trace]);
    assert_eq!(default.status, 2);
    assert!(
        default.stderr.contains("trace.csv: exists") && default.stderr.contains("--force"),
        "{}",
        default.stderr
    );
    assert_eq!(fs::read_to_string(folder.path().join("trace.csv")).unwrap(), "mine");
    assert_eq!(run(&["export", "-F", "csv", &trace, "-o", "trace.csv"]).status, 0);
    assert_eq!(run(&["export", "-F", "csv", &trace, "--force"]).status, 0);
    // Whoever may read the file is as before, and a write-protected one stays.
    let csv = folder.path().join("trace.csv");
    fs::set_permissions(&csv, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(run(&["export", &trace, "-o", "trace.csv"]).status, 0);
    assert_eq!(fs::metadata(&csv).unwrap().mode() & 0o777, 0o600);
    fs::set_permissions(&csv, fs::Permissions::from_mode(0o400)).unwrap();
    let protected = run(&["export", &trace, "-o", "trace.csv"]);
    assert!(protected.stderr.contains("write-protected"), "{}", protected.stderr);
    assert_eq!(run(&["export", &trace, "-o", "new/"]).status, 2);
    fs::write(folder.path().join("plain"), "mine").unwrap();
    let folder_over_file = run(&["export", "-F", "parquet", &trace, "-o", "plain", "--force"]);
    assert!(folder_over_file.stderr.contains("is a file"), "{}", folder_over_file.stderr);
}

#[test]
fn what_was_left_by_a_killed_run_is_in_nobodys_way() {
    let (folder, trace) = with_trace("outputs-stale");
    // The number of the process is known only to itself, so a shell makes what it would have left.
    let line = "cd \"$2\"; mkdir \".tables.$$.part\"; echo > \".a.csv.$$.part\"; exec \"$0\" export -q -F parquet \
                \"$1\" -o tables";
    let (status, stderr) = shell(line, &[&trace, &text(folder.path())]);
    assert_eq!((status, stderr.as_str()), (0, ""));
    assert!(folder.path().join("tables/kernel.parquet").is_file());
}

#[test]
fn the_closing_line_has_rows_and_bytes_and_goes_to_the_standard_error() {
    let (folder, trace) = with_trace("outputs-closing");
    let out = text(folder.path().join("t.csv"));
    let answer = gpuprof(&["export", &trace, "-o", &out]);
    let written = fs::read_to_string(&out).unwrap();
    let line = answer.stderr.lines().last().expect("a closing line");
    let rows = written.lines().count() - 1;
    assert_eq!(answer.stdout, "");
    assert_eq!(
        line,
        format!("gpuprof: {out}: {} rows, {} bytes written (csv)", grouped(rows), grouped(written.len()))
    );
    for (name, files) in
        [("a.parquet", true), ("a.arrow", true), ("a.pq", true), ("a.db", false), ("a.ndjson", false)]
    {
        let out = folder.path().join(name);
        let answer = gpuprof(&["export", &trace, "-o", &text(&out)]);
        assert_eq!(out.is_dir(), files, "{name}");
        let line = answer.stderr.lines().last().expect("a closing line");
        assert!(line.starts_with(&format!("gpuprof: {}: ", out.display())), "{line}");
        assert_eq!(line.contains("a folder of "), files, "{line}");
        assert!(line.contains(" rows, ") && line.contains(" bytes written ("), "{line}");
    }
    let page = gpuprof(&["timeline", &trace, "-o", &text(folder.path().join("p.html"))]);
    assert_eq!(page.stdout, "");
    assert!(page.stderr.lines().last().unwrap().starts_with("gpuprof: "), "{}", page.stderr);
    let formats = gpuprof(&["export", "--formats"]).stdout;
    for ending in [".parquet", ".arrow", ".sqlite", ".ndjson"] {
        assert!(formats.contains(ending), "{ending}");
    }
}

fn grouped(number: usize) -> String {
    gpuprof::numbers::grouped(number as u64)
}

#[test]
fn what_is_not_text_does_not_go_to_a_terminal() {
    let (folder, trace) = with_trace("outputs-terminal");
    let status = folder.path().join("status");
    for format in ["sqlite", "gpuprof", "perfetto"] {
        let line = format!(
            "{} export -q -F {format} {trace} -o -; echo $? > {}",
            env!("CARGO_BIN_EXE_gpuprof"),
            status.display()
        );
        // `script` gives the program a terminal.
        let mut script = std::process::Command::new("script");
        let run = script.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null()).output();
        let Ok(output) = run else {
            return skip("what_is_not_text_does_not_go_to_a_terminal", "script is not there");
        };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("a terminal cannot show it"), "{format}: {said:.300}");
        assert_eq!(fs::read_to_string(&status).unwrap().trim(), "2", "{format}");
    }
    std::io::stdout().flush().unwrap();
}
