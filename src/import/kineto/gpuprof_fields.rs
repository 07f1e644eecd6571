//! What gpuprof writes into its own Chrome traces beside Kineto's fields: in the header who was recorded, in events
//! one argument `gpuprof` whose keys are columns of the registry. With them a trace comes back as it was exported.

use super::json_tokens::{Tape, Value};
use super::number::{id, integer};
use super::text::unescape;

/// The header field `gpuprof`.
#[derive(Default, Debug)]
pub struct GpuprofFields {
    /// The time that is written as 0, process offsets included.
    pub zero_ns: i64,
    /// The processes, by ordinal.
    pub processes: Vec<Process>,
    /// What the exported files were.
    pub origins: Vec<Vec<u8>>,
    /// Codes of what was remarkable about them.
    pub notes: Vec<Vec<u8>>,
}

/// A process that was exported.
#[derive(Default, Debug)]
pub struct Process {
    /// The number that its events have.
    pub json_pid: Option<i64>,
    /// Process id.
    pub pid: Option<u32>,
    /// Rank in a distributed job.
    pub rank: Option<u32>,
    /// Number of ranks.
    pub world_size: Option<u32>,
    /// What the trace called it.
    pub name: Option<String>,
    /// What to add to its times to get Unix time.
    pub offset_ns: Option<i64>,
    /// Whether it is no process of the program but the launcher.
    pub launcher: bool,
}

/// The version of all this.
const VERSION: i64 = 1;

impl GpuprofFields {
    /// Reads the header field; `None` if it is of a version that this program does not know.
    pub fn read(tape: Tape, open: usize) -> Option<GpuprofFields> {
        let mut own = GpuprofFields::default();
        let mut version = None;
        for (key, value) in tape.fields(open) {
            match (key, value) {
                (b"version", _) => version = integer(value),
                (b"zero_ns", _) => own.zero_ns = integer(value)?,
                (b"processes", Value::Nested(open)) => {
                    own.processes = tape.elements(open).map(|process| Process::read(tape, process)).collect();
                }
                (b"origins", Value::Nested(open)) => own.origins = texts(tape, open),
                (b"notes", Value::Nested(open)) => own.notes = texts(tape, open),
                _ => {}
            }
        }
        (version == Some(VERSION)).then_some(own)
    }
}

impl Process {
    fn read(tape: Tape, open: usize) -> Process {
        let mut process = Process::default();
        for (key, value) in tape.fields(open) {
            match key {
                b"json_pid" => process.json_pid = integer(value),
                b"pid" => process.pid = id(value),
                b"rank" => process.rank = id(value),
                b"world_size" => process.world_size = id(value),
                b"name" => process.name = text(value),
                b"launcher" => process.launcher = matches!(value, Value::Bare(b"true")),
                b"offset_ns" => process.offset_ns = integer(value),
                _ => {}
            }
        }
        process
    }
}

fn texts(tape: Tape, open: usize) -> Vec<Vec<u8>> {
    let text = |value| match value {
        Value::Text(raw) => Some(unescape(raw).into_owned()),
        _ => None,
    };
    tape.values(open).into_iter().filter_map(text).collect()
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::Text(raw) => Some(String::from_utf8_lossy(&unescape(raw)).into_owned()),
        _ => None,
    }
}

/// The argument `gpuprof` of one event.
#[derive(Default, Debug)]
pub struct Extra<'t> {
    fields: Vec<(&'t [u8], Value<'t>)>,
}

impl<'t> Extra<'t> {
    /// Finds it among the arguments of an event.
    pub fn of(tape: Tape<'t>, args: Value<'t>) -> Extra<'t> {
        let Value::Nested(open) = args else { return Extra::default() };
        let own = tape.fields(open).find(|(key, _)| *key == b"gpuprof");
        match own {
            Some((_, Value::Nested(open))) => Extra { fields: tape.fields(open).collect() },
            _ => Extra::default(),
        }
    }

    /// The value of a column; [`Value::Missing`] if the event does not have it.
    pub fn get(&self, key: &str) -> Value<'t> {
        let found = self.fields.iter().find(|(k, _)| *k == key.as_bytes());
        found.map_or(Value::Missing, |(_, value)| *value)
    }

    /// Whether the event has it, be it null.
    pub fn has(&self, key: &str) -> bool {
        self.get(key) != Value::Missing
    }

    /// A signed number.
    pub fn number(&self, key: &str) -> Option<i64> {
        integer(self.get(key))
    }

    /// An id or code.
    pub fn id(&self, key: &str) -> Option<u32> {
        id(self.get(key))
    }

    /// The number if the event has it, null included, and otherwise what its own fields say.
    pub fn or<T: TryFrom<i64>>(&self, key: &str, otherwise: Option<T>) -> Option<T> {
        if self.has(key) { id(self.get(key)) } else { otherwise }
    }
}

/// An unsigned number, all 64 bits of it.
pub fn unsigned(value: Value) -> Option<u64> {
    match value {
        Value::Bare(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        _ => None,
    }
}

/// A floating-point number, as a number or in quotes.
pub fn float(value: Value) -> Option<f64> {
    let (Value::Bare(text) | Value::Text(text)) = value else { return None };
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Exact bytes: a string, or `{"hex":"…"}`.
pub fn bytes(tape: Tape, value: Value) -> Option<Vec<u8>> {
    match value {
        Value::Text(raw) => Some(unescape(raw).into_owned()),
        Value::Nested(open) => match tape.fields(open).next()? {
            (b"hex", Value::Text(digits)) => hex(digits),
            _ => None,
        },
        Value::Missing | Value::Bare(_) => None,
    }
}

/// The bytes that hexadecimal digits stand for.
pub fn hex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |d: u8| char::from(d).to_digit(16).map(|d| d as u8);
    digits.chunks(2).map(|pair| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::kineto::index::Indexer;

    fn with<T>(text: &str, check: impl FnOnce(Tape) -> T) -> T {
        let mut indexer = Indexer::default();
        indexer.index(text.as_bytes(), 0, true);
        check(Tape { text: text.as_bytes(), tokens: indexer.tokens() })
    }

    #[test]
    fn a_header_of_another_version_is_none_of_ours() {
        assert!(with(r#"{"version":2,"processes":[]}"#, |tape| GpuprofFields::read(tape, 0)).is_none());
        let text =
            r#"{"version":1,"zero_ns":-5,"processes":[{"json_pid":7,"pid":null,"offset_ns":3}],"notes":["a","b"]}"#;
        let own = with(text, |tape| GpuprofFields::read(tape, 0)).expect("ours");
        assert_eq!((own.zero_ns, own.processes[0].json_pid, own.processes[0].pid), (-5, Some(7), None));
        assert_eq!(own.notes, [b"a".to_vec(), b"b".to_vec()]);
    }

    #[test]
    fn null_is_a_value_and_a_missing_key_is_not() {
        with(r#"{"a":1,"gpuprof":{"tid":null,"kind":7}}"#, |tape| {
            let extra = Extra::of(tape, Value::Nested(0));
            assert_eq!(extra.or("tid", Some(5u32)), None);
            assert_eq!(extra.or("kind", Some(5u32)), Some(7));
            assert_eq!(extra.or("flags", Some(5u32)), Some(5));
        });
    }

    #[test]
    fn exact_values_come_back() {
        assert_eq!(unsigned(Value::Bare(b"18446744073709551615")), Some(u64::MAX));
        assert_eq!(float(Value::Text(b"-inf")), Some(f64::NEG_INFINITY));
        assert_eq!(hex(b"00ff7"), None);
        assert_eq!(with(r#"{"hex":"00ff"}"#, |tape| bytes(tape, Value::Nested(0))), Some(vec![0, 255]));
    }
}
