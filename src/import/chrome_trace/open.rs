//! Ranges that have begun and not ended yet.

use super::super::kineto::event::Event;
use super::super::kineto::tape::{Tape, Value};
use hashbrown::HashMap;

/// A range that has begun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Open {
    /// When.
    pub start_ns: i64,
    /// Index of the process.
    pub process: usize,
    /// Its thread.
    pub tid: u32,
    /// What it is called.
    pub name_id: u32,
    /// `range.style`.
    pub style: u32,
    /// `range.range_id`.
    pub id: u64,
}

/// All of them: by thread, where the last to begin is the first to end, and by id.
#[derive(Default)]
pub struct OpenRanges {
    threads: HashMap<(usize, u32), Vec<Open>>,
    by_id: HashMap<Box<[u8]>, Vec<Open>>,
    count: usize,
}

/// Ranges kept open at most, so that a file of beginnings alone does not fill memory.
const OPEN: usize = 1 << 20;

impl OpenRanges {
    /// Takes a range of a thread; gives it back if there are too many.
    pub fn begin(&mut self, open: Open) -> Option<Open> {
        if self.count >= OPEN {
            return Some(open);
        }
        self.count += 1;
        self.threads.entry((open.process, open.tid)).or_default().push(open);
        None
    }

    /// The range that ends on this thread.
    pub fn end(&mut self, process: usize, tid: u32) -> Option<Open> {
        let open = self.threads.get_mut(&(process, tid))?;
        let ended = open.pop();
        self.count -= usize::from(ended.is_some());
        if open.is_empty() {
            self.threads.remove(&(process, tid));
        }
        ended
    }

    /// Takes a range with an id; gives it back if there are too many.
    pub fn begin_async(&mut self, key: Vec<u8>, open: Open) -> Option<Open> {
        if self.count >= OPEN {
            return Some(open);
        }
        self.count += 1;
        self.by_id.entry(key.into()).or_default().push(open);
        None
    }

    /// The range with this id that ends: the last to begin.
    pub fn end_async(&mut self, key: &[u8]) -> Option<Open> {
        let open = self.by_id.get_mut(key)?;
        let ended = open.pop();
        self.count -= usize::from(ended.is_some());
        if open.is_empty() {
            self.by_id.remove(key);
        }
        ended
    }

    /// What never ended, in order of its beginning.
    pub fn take_all(&mut self) -> Vec<Open> {
        let threads = std::mem::take(&mut self.threads).into_values();
        let by_id = std::mem::take(&mut self.by_id).into_values();
        let mut all: Vec<Open> = threads.chain(by_id).flatten().collect();
        all.sort_by_key(|open| (open.start_ns, open.process, open.tid, open.name_id));
        all
    }
}

/// What tells ranges with ids apart: category and id; ids called local belong to one process.
pub fn key(event: &Event, tape: Tape) -> Vec<u8> {
    let mut key = Vec::new();
    let mut add = |value: Value| {
        match value {
            Value::Bare(text) | Value::Text(text) => key.extend_from_slice(text),
            Value::Nested(open) => key.extend_from_slice(tape.inner(open)),
            Value::Missing => {}
        }
        key.push(0);
    };
    add(event.category);
    add(event.id);
    if let Value::Nested(_) = event.id {
        add(event.pid);
    }
    key
}
