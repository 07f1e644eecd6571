//! `seen.jsonl`: one line per process of a run, appended by the processes themselves.
//!
//! A process may append several lines as it learns more (loaded, CUDA used, trace begun, ended): the last one counts,
//! see [`processes`]. Each line is one `write` to a descriptor opened with `O_APPEND`, so lines of different processes
//! do not mix.

use crate::cause::Cause;
use serde_json::{Map, Value, json};

/// The file's name in a run's folder.
pub const FILE_NAME: &str = "seen.jsonl";

/// A line is one write; long command lines are cut so that it stays one.
const MAX_ARGV_BYTES: usize = 4096;

/// What one process says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenLine {
    /// Its process id, as it sees it.
    pub pid: u32,
    /// Its parent's.
    pub ppid: u32,
    /// When the collector was loaded into it. With `pid` it tells processes apart: `exec` keeps the pid.
    pub start_unix_ns: i64,
    /// Path of its program.
    pub exe: Vec<u8>,
    /// Its command line, cut after 4 KiB.
    pub argv: Vec<Vec<u8>>,
    /// Whether it has called CUDA.
    pub cuda: bool,
    /// Path of its trace, once there is one.
    pub trace: Option<Vec<u8>>,
    /// Why it left no records, if that is known.
    pub cause: Option<Cause>,
    /// What else is known about the cause: the other tool, the spelling that was near.
    pub detail: Option<Vec<u8>>,
}

impl SeenLine {
    /// The line, with its line feed.
    pub fn to_json_line(&self) -> Vec<u8> {
        let mut argv = Vec::new();
        let mut room = MAX_ARGV_BYTES;
        for argument in &self.argv {
            if argument.len() > room {
                argv.push(from_bytes(&cut(argument, room)));
                break;
            }
            room -= argument.len();
            argv.push(from_bytes(argument));
        }
        let mut line = Map::new();
        let mut put = |key: &str, value: Value| line.insert(key.to_owned(), value);
        put("pid", self.pid.into());
        put("ppid", self.ppid.into());
        put("start_unix_ns", self.start_unix_ns.into());
        put("exe", from_bytes(&self.exe));
        put("argv", argv.into());
        put("cuda", self.cuda.into());
        if let Some(trace) = &self.trace {
            put("trace", from_bytes(trace));
        }
        if let Some(cause) = &self.cause {
            put("cause", cause.code().into());
            if let Cause::CuptiError { code, function } = cause {
                put("cause_code", (*code).into());
                put("cause_function", Value::from(&**function));
            }
        }
        if let Some(detail) = &self.detail {
            put("detail", from_bytes(&cut(detail, MAX_ARGV_BYTES)));
        }
        (Value::Object(line).to_string() + "\n").into_bytes()
    }

    /// Reads a line; `None` for one that was cut off or is something else. Unknown keys are legal.
    pub fn parse(line: &[u8]) -> Option<SeenLine> {
        let value: Value = serde_json::from_slice(line).ok()?;
        let bytes = |key: &str| value.get(key).and_then(to_bytes);
        let number = |key: &str| value.get(key).and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let argv = match value.get("argv") {
            Some(Value::Array(items)) => items.iter().map(to_bytes).collect::<Option<_>>()?,
            _ => Vec::new(),
        };
        let text = |key: &str| bytes(key).and_then(|b| String::from_utf8(b).ok());
        let cause =
            text("cause").map(|code| Cause::of(&code, number("cause_code"), text("cause_function").as_deref()));
        Some(SeenLine {
            pid: number("pid")?,
            ppid: number("ppid").unwrap_or(0),
            start_unix_ns: value.get("start_unix_ns")?.as_i64()?,
            exe: bytes("exe").unwrap_or_default(),
            argv,
            cuda: value.get("cuda") == Some(&Value::Bool(true)),
            trace: bytes("trace"),
            cause,
            detail: bytes("detail"),
        })
    }
}

/// JSON text is Unicode, but paths and arguments are bytes. Bytes that are not UTF-8 are written as an object
/// `{"hex":"2f74ff"}` where a string would stand, so that they come back as they were.
fn from_bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "hex": digits })
        }
    }
}

/// The bytes that [`from_bytes`] has written.
fn to_bytes(value: &Value) -> Option<Vec<u8>> {
    if let Some(text) = value.as_str() {
        return Some(text.as_bytes().to_vec());
    }
    let digit = |b: &u8| char::from(*b).to_digit(16);
    let pairs = value.get("hex")?.as_str()?.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

/// At most `bytes` of `text`, with dots where it was cut.
fn cut(text: &[u8], bytes: usize) -> Vec<u8> {
    if text.len() <= bytes {
        return text.to_vec();
    }
    let mut end = bytes;
    while end > 0 && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    [&text[..end], "…".as_bytes()].concat()
}

/// The processes of a `seen.jsonl` in the order in which they were first seen, each as its last line says. Facts that
/// only an earlier line has are kept. Also how many lines could not be read.
pub fn processes(file: &[u8]) -> (Vec<SeenLine>, usize) {
    let mut processes: Vec<SeenLine> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    let mut unreadable = 0;
    for line in file.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let Some(mut line) = SeenLine::parse(line) else {
            unreadable += 1;
            continue;
        };
        let place = *places.entry((line.pid, line.start_unix_ns)).or_insert(processes.len());
        if let Some(before) = processes.get_mut(place) {
            line.cuda |= before.cuda;
            line.trace = line.trace.or_else(|| before.trace.take());
            *before = line;
        } else {
            processes.push(line);
        }
    }
    (processes, unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> SeenLine {
        SeenLine {
            pid: 42,
            ppid: 1,
            start_unix_ns: 1_795_834_061_123_456_789,
            exe: b"/usr/bin/python3".to_vec(),
            argv: vec![b"python3".to_vec(), b"train \"me\"\n.py".to_vec(), b"\xff\xfe".to_vec(), b"".to_vec()],
            cuda: true,
            trace: Some(b"/tmp/run 1/a.gpuprof".to_vec()),
            cause: Some(Cause::CuptiError { code: 39, function: "cuptiSubscribe".into() }),
            detail: Some("libkineto.so holds it".into()),
        }
    }

    #[test]
    fn a_line_comes_back_as_it_was() {
        for line in [line(), SeenLine { trace: None, cause: None, detail: None, ..line() }, SeenLine::default()] {
            let text = line.to_json_line();
            assert_eq!(text.iter().filter(|b| **b == b'\n').count(), 1, "one line");
            assert_eq!(SeenLine::parse(text.trim_ascii_end()), Some(line));
        }
    }

    #[test]
    fn the_line_is_what_other_tools_expect() {
        let line = SeenLine {
            argv: vec![b"ls".to_vec()],
            cause: Some(Cause::NoCuda),
            trace: None,
            detail: None,
            ..line()
        };
        assert_eq!(
            String::from_utf8(line.to_json_line()).unwrap(),
            "{\"pid\":42,\"ppid\":1,\"start_unix_ns\":1795834061123456789,\"exe\":\"/usr/bin/python3\",\
             \"argv\":[\"ls\"],\"cuda\":true,\"cause\":\"no_cuda\"}\n"
        );
    }

    #[test]
    fn long_command_lines_are_cut_between_letters() {
        let argv = vec![b"x".to_vec(), "ä".repeat(4000).into_bytes(), b"never".to_vec()];
        let back = SeenLine::parse(&SeenLine { argv, ..line() }.to_json_line()).unwrap();
        assert_eq!(back.argv.len(), 2);
        let text = String::from_utf8(back.argv[1].clone()).expect("whole letters");
        assert!(text.ends_with("ä…") && text.len() <= MAX_ARGV_BYTES + 3);
    }

    #[test]
    fn the_last_line_of_a_process_counts_and_broken_ones_are_counted() {
        let first = SeenLine { cuda: false, trace: None, cause: None, detail: None, ..line() };
        let with_trace = SeenLine { cuda: true, trace: Some(b"t".to_vec()), ..first.clone() };
        let end = SeenLine { cause: Some(Cause::AllExcluded), ..first.clone() };
        let other = SeenLine { pid: 43, ..first.clone() };
        let after_exec =
            SeenLine { start_unix_ns: first.start_unix_ns + 1, exe: b"/bin/ls".to_vec(), ..first.clone() };
        let lines = [&first, &other, &with_trace, &after_exec, &end].map(SeenLine::to_json_line);
        let file = [lines.concat(), b"\nnot json\n{\"pid\":1".to_vec()].concat();
        let (found, unreadable) = processes(&file);
        assert_eq!(unreadable, 2);
        let merged = SeenLine { cuda: true, trace: Some(b"t".to_vec()), ..end };
        assert_eq!(found, [merged, other, after_exec]);
    }

    #[test]
    fn unknown_keys_and_missing_facts_are_legal() {
        let line = SeenLine::parse(br#"{"pid":7,"start_unix_ns":1,"colour":{"deep":[1]},"cause":"solar_flare"}"#);
        let line = line.unwrap();
        assert_eq!((line.pid, line.cuda, line.cause), (7, false, Some(Cause::Other("solar_flare".into()))));
        assert_eq!(SeenLine::parse(b"{}"), None);
        assert_eq!(SeenLine::parse(b"[]"), None);
        assert_eq!(SeenLine::parse("[".repeat(100_000).as_bytes()), None, "no stack overflow");
    }

    #[test]
    fn every_byte_comes_back() {
        for bytes in [(0..=255).collect::<Vec<u8>>(), (1..0x80).collect(), Vec::new(), "ä😀/".as_bytes().to_vec()]
        {
            let text = from_bytes(&bytes).to_string();
            assert!(text.bytes().all(|b| b >= 0x20), "no control characters: {text:?}");
            assert_eq!(to_bytes(&serde_json::from_str(&text).unwrap()), Some(bytes), "{text}");
        }
        assert_eq!(to_bytes(&json!({ "hex": "0g" })), None);
        assert_eq!(to_bytes(&json!({ "hex": "012" })), None);
    }
}
