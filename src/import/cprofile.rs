//! cProfile dumps (`python -m cProfile -o FILE`): a marshalled dict of functions, of any Python from 2.7 on.

mod marshal;

use self::marshal::{Arena, Node};
use super::kineto::unpack;
use super::{Head, Importer};
use crate::demangle::readable;
use crate::error::{Error, Result};
use crate::numbers::items;
use crate::trace::sink::{Need, Sink};
use crate::trace::summaries::{Content, FunctionRow, Summary};
use std::path::Path;

/// Reads cProfile dumps.
pub struct CProfile;

/// The largest dump that is read. Entries refer to earlier ones, so all of it has to be held.
const LIMIT: usize = 64 << 20;

impl Importer for CProfile {
    fn name(&self) -> &'static str {
        "cprofile"
    }

    fn describes(&self) -> &'static str {
        "cProfile dump of a Python program"
    }

    fn sniff(&self, head: &Head) -> bool {
        // A dict whose first key is a tuple; JSON never has a bracket there.
        match head.text[..] {
            [b'{' | 0xfb, b'0'] => true,
            [b'{' | 0xfb, key, count, ..] => match key & 0x7f {
                b'(' => head.text.get(2..6) == Some(&[3, 0, 0, 0]),
                b')' => count == 3,
                _ => false,
            },
            _ => false,
        }
    }

    fn read(&self, path: &Path, _: &Need, sink: &mut Sink) -> Result<()> {
        let (bytes, failure) = unpack::with_bytes(path, |source| {
            let mut bytes = Vec::new();
            while bytes.len() <= LIMIT && source(&mut bytes) {}
            bytes
        })?;
        if bytes.len() > LIMIT {
            return Err(Error::at(path, format_args!("a cProfile dump of more than {} MiB", LIMIT >> 20))
                .remedy("open it with Python's pstats"));
        }
        let mut arena = Arena::new(&bytes);
        let entries = arena.top_dict();
        let (mut functions, mut unusable) = (Vec::new(), 0u64);
        for (key, value) in entries.pairs {
            match function(&arena, key, value) {
                Some(function) => functions.push(function),
                None => unusable += 1,
            }
        }
        if let (Some(stop), true) = (&entries.stop, functions.is_empty()) {
            return Err(Error::at(path, format_args!("a cProfile dump that cannot be read: {stop}"))
                .remedy("dump the profile again"));
        }
        if functions.is_empty() && unusable > 0 {
            return Err(Error::at(path, "data marshalled by Python, but no profile of cProfile")
                .remedy("profiles are written by `python -m cProfile -o FILE`"));
        }
        let shown = path.display();
        if let Some(failure) = failure {
            sink.note(
                "damaged",
                format!("{shown}: the file is damaged ({}); what came before is read", failure.reason),
            );
        }
        if let Some(stop) = entries.stop {
            let read = items(functions.len() as u64, "function before it is", "functions before it are");
            sink.note("cut-off", format!("{shown}: {stop}; {read} read"));
        }
        if unusable > 0 {
            sink.note(
                "left-out",
                format!(
                    "{shown}: {} left out",
                    items(
                        unusable,
                        "entry is not a function with calls and times, and is",
                        "entries are not functions with calls and times, and are"
                    )
                ),
            );
        }
        sink.note(
            "functions-only",
            format!("{shown}: holds calls and times of Python functions by name: no times of single calls, no threads and nothing of a GPU"),
        );
        sink.origin = "cProfile dump".to_owned();
        sink.summary(Summary { maker: "cProfile", pid: None, content: Content::Functions(functions) });
        Ok(())
    }
}

/// The function of one entry: `(file, line, name): (primitive calls, calls, own time, total time, callers)`.
fn function(arena: &Arena, key: u32, value: u32) -> Option<FunctionRow> {
    let (Node::Tuple(key), Node::Tuple(value)) = (arena.get(key)?, arena.get(value)?) else { return None };
    let (&[file, line, name], &[primitive, calls, own, total, ..]) = (&key[..], &value[..]) else { return None };
    let text = |at| match arena.get(at)? {
        Node::Text(text) => Some(readable(text).into_owned()),
        _ => None,
    };
    let integer = |at| match arena.get(at)? {
        Node::Integer(value) => Some(*value),
        _ => None,
    };
    let seconds = |at| match arena.get(at)? {
        Node::Float(value) if value.is_finite() => Some(*value),
        Node::Integer(value) => Some(*value as f64),
        _ => None,
    };
    Some(FunctionRow {
        file: text(file)?,
        line: integer(line)?,
        function: text(name)?,
        primitive_calls: integer(primitive)?,
        calls: integer(calls)?,
        own_s: seconds(own)?,
        total_s: seconds(total)?,
    })
}
