//! `examples/python/gpuprof_reader.py` reads what FORMAT.md promises, with pyarrow alone.

use crate::common::build::*;
use crate::common::{TempFolder, skip};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use trace_format::schema::{ColumnType, Role, Unit};
use trace_format::tables;
use trace_format::vocabulary::{self, Vocabulary, memcpy_kind};
use trace_format::write::WriteOptions;

/// The version that is tested.
const PYARROW: &str = "26.0.1";

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/python/gpuprof_reader.py")
}

/// The tables as the script has them, from the registry.
fn tables_in_python() -> String {
    let mut text = String::from("NUMBERS = {\n");
    for table in tables::ALL {
        let _ = writeln!(text, "    {}: \"{}\",", table.id, table.name);
    }
    text.push_str("}\nDEFINITIONS = {");
    let definitions = tables::ALL.iter().filter(|t| t.role == Role::Defining);
    text.push_str(&definitions.map(|t| format!("\"{}\"", t.name)).collect::<Vec<_>>().join(", "));
    text.push_str("}\nCOLUMNS = {\n");
    for table in tables::ALL.iter().filter(|t| !t.columns.is_empty()) {
        let columns = table.columns.iter().map(|c| {
            let ty = match c.ty {
                ColumnType::U32 => "u32",
                ColumnType::U64 => "u64",
                ColumnType::I64 => "i64",
                ColumnType::F64 => "f64",
                ColumnType::Bool => "bool",
                ColumnType::Bytes => "bytes",
            };
            let unit = match c.unit {
                Unit::Time => "time",
                Unit::Length => "length",
                Unit::Bytes => "bytes",
                Unit::Count => "count",
                Unit::Id(of) => of.name,
                Unit::Key => "key",
                Unit::Object => "id",
                Unit::Code => "code",
                Unit::Coded(words) => &format!("code={}", short(words)),
                Unit::Other => "",
            };
            format!("{}:{ty}:{unit}", c.name)
        });
        let _ = writeln!(text, "    \"{}\": \"{}\",", table.name, columns.collect::<Vec<_>>().join(" "));
    }
    text.push_str("}\nWORDS = {\n");
    for vocabulary in vocabulary::ALL {
        let words = vocabulary.words.iter().map(|(code, word)| format!("{code}: {word:?}"));
        let _ = writeln!(text, "    \"{}\": {{{}}},", short(vocabulary), words.collect::<Vec<_>>().join(", "));
    }
    text.push_str("}\n");
    text
}

/// The name of a vocabulary without the path of its module.
fn short(vocabulary: &Vocabulary) -> &'static str {
    vocabulary.name.rsplit("::").next().unwrap_or(vocabulary.name)
}

#[test]
fn the_tables_in_the_script_are_those_of_the_registry() {
    let text = std::fs::read_to_string(script()).expect("the script");
    let (head, rest) = text.split_once("# BEGIN TABLES\n").expect("a beginning");
    let (_, tail) = rest.split_once("# END TABLES\n").expect("an end");
    let expected = format!("{head}# BEGIN TABLES\n{}# END TABLES\n{tail}", tables_in_python());
    if std::env::var_os("GPUPROF_BLESS").is_some() {
        std::fs::write(script(), &expected).expect("the script");
    }
    let on_disk = std::fs::read_to_string(script()).expect("the script");
    assert!(
        on_disk == expected,
        "examples/python/gpuprof_reader.py is stale: GPUPROF_BLESS=1 cargo test -p gpuprof --test exports"
    );
}

/// Python with pyarrow, made once and kept; `None`, said loudly and counted, where it cannot be had.
fn python(test: &str) -> Option<PathBuf> {
    static MADE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one_at_a_time = MADE.lock();
    let Some(home) = std::env::var_os("HOME") else {
        skip(test, "no HOME to keep pyarrow in");
        return None;
    };
    let folder = Path::new(&home).join(format!(".cache/gpuprof/venv-pyarrow-{PYARROW}"));
    let python = folder.join("bin/python");
    let works = |python: &Path| {
        let check = format!("import pyarrow.parquet; assert pyarrow.__version__ == '{PYARROW}'");
        Command::new(python).args(["-c", &check]).output().is_ok_and(|o| o.status.success())
    };
    if works(&python) {
        return Some(python);
    }
    let run = |command: &mut Command| -> Result<(), String> {
        let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
        let last = String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
        output.status.success().then_some(()).ok_or(last)
    };
    let made = run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder)).and_then(|()| {
        let package = format!("pyarrow=={PYARROW}");
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--no-deps", &package]))
    });
    match made {
        Ok(()) if works(&python) => Some(python),
        Ok(()) => {
            skip(test, "pyarrow does not load here");
            None
        }
        Err(why) => {
            skip(test, &format!("pyarrow {PYARROW} cannot be installed: {why}"));
            None
        }
    }
}

/// What the script says about a trace, as JSON that `expression` makes of `trace`.
fn ask(python: &Path, trace: &str, expression: &str) -> Value {
    let code = format!(
        "import sys, json; sys.path.insert(0, sys.argv[1])\nimport gpuprof_reader\n\
         trace = gpuprof_reader.Trace(sys.argv[2], check=True)\nprint(json.dumps({expression}))"
    );
    let folder = script().parent().expect("a folder").to_owned();
    let output = Command::new(python)
        .args(["-B", "-c", &code])
        .arg(folder)
        .arg(trace)
        .output()
        .unwrap_or_else(|e| panic!("{}: {e}", python.display()));
    assert!(output.status.success(), "{expression}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn every_row_of_a_trace_is_read_in_python_as_it_was_written() {
    let Some(python) = python("every_row_of_a_trace_is_read_in_python_as_it_was_written") else { return };
    let story = Story::sample(300).with_ranges();
    let folder = TempFolder::new("python-reader");
    for (rows_per_frame, name) in [(usize::MAX, "whole"), (7, "cut")] {
        let bytes = native_with(&story, Native { rows_per_frame, ..Native::default() });
        let path = folder.argument(&format!("{name}.gpuprof"), &bytes);
        let counts = ask(&python, &path, "trace.tables()");
        assert_eq!(counts["kernel"], story.kernels.len());
        assert_eq!(counts["memcpy"], story.copies.len());
        assert_eq!(counts["memset"], story.fills.len());
        assert_eq!(counts["api"], story.calls.len());
        assert_eq!(counts["range"], story.ranges.len());
        let about =
            ask(&python, &path, "[trace.closed, trace.problems, trace.process['pid'], trace.unix_offset_ns]");
        assert_eq!(about, serde_json::json!([true, [], story.pid, story.epoch]));
        let kernels = ask(&python, &path, "trace.table('kernel', names=True, shapes=True, unix=True).to_pylist()");
        let kernels = kernels.as_array().expect("rows");
        assert_eq!(kernels.len(), story.kernels.len());
        for (row, kernel) in kernels.iter().zip(&story.kernels) {
            assert_eq!(row["start_ns"], kernel.start + EPOCH);
            assert_eq!(row["duration_ns"], kernel.end - kernel.start);
            assert_eq!(row["name"], String::from_utf8_lossy(&kernel.name.mangled).as_ref());
            assert_eq!(row["grid_x"], kernel.grid[0]);
            assert_eq!(row["block_x"], kernel.block[0]);
            assert_eq!(row["correlation"], kernel.correlation);
        }
        let copies = ask(&python, &path, "trace.table('memcpy', columns=['bytes', 'kind']).to_pylist()");
        let expected: Vec<Value> =
            story.copies.iter().map(|c| serde_json::json!({"kind": c.kind, "bytes": c.bytes})).collect();
        assert_eq!(copies, Value::Array(expected));
        // Words beside numbers; a number that no word is known of stands for itself.
        let words = ask(&python, &path, "trace.table('memcpy', words=True)['kind_name'].to_pylist()");
        let word = |copy: &Copy| memcpy_kind::VOCABULARY.text(copy.kind).into_owned();
        assert_eq!(words, serde_json::json!(story.copies.iter().map(word).collect::<Vec<_>>()));
        let domains = ask(&python, &path, "sorted(set(trace.table('api', words=True)['domain_name'].to_pylist()))");
        assert_eq!(domains, serde_json::json!(["driver", "runtime"]));
        let unknown = "gpuprof_reader.words_of(gpuprof_reader.pa.chunked_array([[1, 77, None]]).cast('uint32'), \
                       gpuprof_reader.WORDS['memcpy_kind']).to_pylist()";
        assert_eq!(ask(&python, &path, unknown), serde_json::json!(["HtoD", "77", null]));
        let calls = ask(&python, &path, "trace.table('api', names=True)['name'].to_pylist()");
        let expected: Vec<&str> = story.calls.iter().map(|c| c.function.0).collect();
        assert_eq!(calls, serde_json::json!(expected));
        // Ranges without a domain, ranges without an end.
        let ranges = ask(&python, &path, "trace.table('range', names=True).to_pylist()");
        let domains: Vec<Option<&str>> = story.ranges.iter().map(|r| r.domain.as_deref()).collect();
        let read: Vec<Option<&str>> =
            ranges.as_array().expect("rows").iter().map(|r| r["domain"].as_str()).collect();
        assert_eq!(read, domains);
    }
}

#[test]
fn lengths_are_no_moments_in_python() {
    let Some(python) = python("lengths_are_no_moments_in_python") else { return };
    let folder = TempFolder::new("python-lengths");
    let (samples, _) = seen();
    let path = folder.argument("launcher.gpuprof", &launcher(&samples));
    let rows = ask(&python, &path, "trace.table('cpu_sample', unix=True).to_pylist()");
    let rows = rows.as_array().expect("rows");
    assert!(!rows.is_empty() && rows.iter().all(|row| row["weight_ns"] == SAMPLE_NS), "{rows:?}");
}

#[test]
fn hostile_names_are_read_in_python() {
    let Some(python) = python("hostile_names_are_read_in_python") else { return };
    let folder = TempFolder::new("python-names");
    let names: [&[u8]; 6] =
        [b"</script>\"'", b"a\nb\tc\x00d", b"=cmd()", &[b'x'; 65_536], b"\xff\xfe not UTF-8", "grüße".as_bytes()];
    let mut story = Story::empty();
    for (i, name) in names.iter().enumerate() {
        story = story.with_kernel(Name::plain(name), 1000 * i as i64, 10);
    }
    let path = folder.argument("names.gpuprof", &native(&story));
    let read = ask(&python, &path, "trace.table('kernel', names=True)['name'].to_pylist()");
    let expected: Vec<String> = names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    assert_eq!(read, serde_json::json!(expected));
}

#[test]
fn every_prefix_of_a_trace_is_a_trace_and_damage_costs_only_what_it_hit() {
    let Some(python) = python("every_prefix_of_a_trace_is_a_trace_and_damage_costs_only_what_it_hit") else {
        return;
    };
    let story = Story::sample(200);
    let folder = TempFolder::new("python-damage");
    // Definitions are repeated often, so that a repetition makes good what damage took.
    let write = WriteOptions { repeat_every_bytes: 4096, ..WriteOptions::default() };
    let bytes = native_with(&story, Native { rows_per_frame: 10, write, ..Native::default() });
    let cut = folder.argument("cut.gpuprof", &bytes[..bytes.len() / 6]);
    let about = ask(&python, &cut, "[trace.closed, trace.problems, trace.table('kernel').num_rows]");
    assert_eq!((&about[0], &about[1]), (&Value::Bool(false), &serde_json::json!([])));
    let rows = about[2].as_u64().expect("rows");
    assert!(rows > 0 && rows < 200, "{rows}");
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 64].fill(0x55);
    let path = folder.argument("damaged.gpuprof", &damaged);
    let about = ask(
        &python,
        &path,
        "[trace.table('kernel', names=True, shapes=True).num_rows + trace.table('api').num_rows \
         + trace.table('memcpy').num_rows + trace.table('memset').num_rows, len(trace.problems), trace.closed]",
    );
    let all = (story.kernels.len() + story.calls.len() + story.copies.len() + story.fills.len()) as u64;
    let kept = about[0].as_u64().expect("rows");
    assert!(kept >= all - 20 && kept <= all, "{kept} of {all}");
    assert!(about[1].as_u64().expect("problems") >= 1);
    assert_eq!(about[2], true);
}

#[test]
fn what_is_no_trace_is_refused_in_a_sentence() {
    let test = "what_is_no_trace_is_refused_in_a_sentence";
    let Some(python) = python(test) else { return };
    let folder = TempFolder::new("python-refused");
    let mut newer = native(&Story::sample(1));
    newer[8] = 9;
    for (name, bytes, words) in [
        ("text", b"hello".to_vec(), "no gpuprof trace"),
        ("newer", newer, "header is damaged"),
        ("empty", vec![], "no gpuprof trace"),
    ] {
        let path = folder.file(name, &bytes);
        let output = Command::new(&python).arg("-B").arg(script()).arg(&path).output().expect("python");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words) && !said.contains("Traceback"), "{said}");
    }
}
