//! Which process and which threads a trace is of.

use super::event::{Category, Event};
use super::number::integer;
use super::tape::Value;

/// Events by the process they name. Kineto names the device instead on GPU rows, 0 on Python's and -1 on its own,
/// so only calls and operators tell.
#[derive(Default)]
pub struct Pids {
    seen: Vec<Pid>,
    last: usize,
}

struct Pid {
    /// As written, without quotes.
    text: Vec<u8>,
    calls: u64,
    operators: u64,
}

impl Pids {
    /// Takes note of an event's process.
    #[inline]
    pub fn count(&mut self, category: Category, pid: Value) {
        let is_call = matches!(category, Category::Runtime | Category::Driver);
        if !is_call && category != Category::Operator {
            return;
        }
        let (Value::Bare(text) | Value::Text(text)) = pid else { return };
        if self.seen.get(self.last).is_none_or(|p| p.text != text) {
            self.last = self.seen.iter().position(|p| p.text == text).unwrap_or_else(|| {
                self.seen.push(Pid { text: text.to_vec(), calls: 0, operators: 0 });
                self.seen.len() - 1
            });
        }
        let seen = &mut self.seen[self.last];
        *(if is_call { &mut seen.calls } else { &mut seen.operators }) += 1;
    }

    /// The process with the most calls, or operators if nobody called.
    pub fn main(&self) -> Option<u32> {
        let main = self.seen.iter().max_by_key(|p| (p.calls, p.operators))?;
        integer(Value::Bare(&main.text))?.try_into().ok()
    }

    /// How many processes made calls.
    pub fn with_calls(&self) -> usize {
        self.seen.iter().filter(|p| p.calls > 0).count()
    }

    fn contains(&self, pid: &[u8]) -> bool {
        self.seen.iter().any(|p| p.text == pid)
    }
}

/// Names of lanes, some of which are threads.
#[derive(Default)]
pub struct Threads {
    names: Vec<(Vec<u8>, u32, Vec<u8>)>,
}

/// Names kept at most. No trace has as many threads, and each name costs memory until the end.
const NAMES: usize = 100_000;

impl Threads {
    /// Takes note of a `thread_name` event.
    pub fn name(&mut self, event: &Event, name: Vec<u8>) {
        if let Value::Bare(pid) | Value::Text(pid) = event.pid
            && self.names.len() < NAMES
        {
            self.names.push((pid.to_vec(), thread_id(event.tid), name));
        }
    }

    /// Threads of processes in `pids` with their names, by thread. Kineto writes some names twice, the second time
    /// as the program set it.
    pub fn named(&mut self, pids: &Pids) -> Vec<(u32, Vec<u8>)> {
        let mut threads: Vec<_> = std::mem::take(&mut self.names)
            .into_iter()
            .filter(|(pid, ..)| pids.contains(pid))
            .map(|(_, tid, name)| (tid, name))
            .collect();
        threads.reverse();
        threads.sort_by_key(|&(tid, _)| tid);
        threads.dedup_by_key(|&mut (tid, _)| tid);
        threads
    }
}

/// A stable 32-bit id for a thread. Traces of 2020 hold `pthread_self` cut to 32 bits, signed or not; what is wider
/// is folded, and what is no number is hashed (FNV-1a, so that it is the same in every run).
pub fn thread_id(tid: Value) -> u32 {
    match (integer(tid), tid) {
        (Some(id), _) if id >> 32 == 0 || i32::try_from(id).is_ok() => id as u32,
        (Some(id), _) => (id ^ (id >> 32)) as u32,
        (None, Value::Text(text) | Value::Bare(text)) => {
            text.iter().fold(0x811c_9dc5, |hash, &b| (hash ^ u32::from(b)).wrapping_mul(0x0100_0193))
        }
        (None, Value::Missing | Value::Nested(_)) => 0,
    }
}
