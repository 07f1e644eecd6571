//! Which process and which threads a trace is of.

use super::event::{Category, Event};
use super::number::integer;
use super::tape::Value;
use std::collections::HashMap;

/// Events by the process they name. Kineto names the device instead on GPU rows, 0 on Python's and -1 on its own,
/// so only calls and operators tell.
#[derive(Default)]
pub struct Pids {
    seen: Vec<Pid>,
    index: HashMap<Vec<u8>, usize>,
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
            self.last = *self.index.entry(text.to_vec()).or_insert(self.seen.len());
            if self.last == self.seen.len() {
                self.seen.push(Pid { text: text.to_vec(), calls: 0, operators: 0 });
            }
        }
        let seen = &mut self.seen[self.last];
        *(if is_call { &mut seen.calls } else { &mut seen.operators }) += 1;
    }

    /// The process with the most calls, or operators if nobody called.
    pub fn main(&self) -> Option<u32> {
        // `max_by_key` takes the last of equals, and the first is to win.
        let main = self.seen.iter().rev().max_by_key(|p| (p.calls, p.operators))?;
        integer(Value::Bare(&main.text))?.try_into().ok()
    }

    /// How many processes made calls.
    pub fn with_calls(&self) -> usize {
        self.seen.iter().filter(|p| p.calls > 0).count()
    }

    fn contains(&self, pid: &[u8]) -> bool {
        self.index.contains_key(pid)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_ids_are_stable_and_fit() {
        assert_eq!(thread_id(Value::Bare(b"2919752")), 2_919_752);
        assert_eq!(thread_id(Value::Text(b"4093687616")), 4_093_687_616);
        assert_eq!(thread_id(Value::Bare(b"-549452224")), 3_745_515_072);
        assert_eq!(thread_id(Value::Bare(b"139960515115904")), 139_960_515_115_904u64 as u32 ^ 32_587);
        assert_eq!(thread_id(Value::Text(b"PyTorch Profiler")), thread_id(Value::Text(b"PyTorch Profiler")));
        assert_ne!(thread_id(Value::Text(b"a")), thread_id(Value::Text(b"b")));
        assert_eq!(thread_id(Value::Missing), 0);
    }

    #[test]
    fn the_process_with_most_calls_is_the_one() {
        let mut pids = Pids::default();
        assert_eq!(pids.main(), None);
        for (category, pid) in [
            (Category::Operator, "1"),
            (Category::Operator, "1"),
            (Category::Runtime, "2"),
            (Category::Driver, "3"),
            (Category::Runtime, "3"),
            (Category::Kernel, "0"),
            (Category::Python, "0"),
        ] {
            pids.count(category, Value::Bare(pid.as_bytes()));
        }
        assert_eq!((pids.main(), pids.with_calls()), (Some(3), 2));
        pids.count(Category::Runtime, Value::Text(b"2"));
        assert_eq!(pids.main(), Some(2), "the first of equals");
    }

    #[test]
    fn the_last_name_of_a_thread_counts_and_lanes_of_the_gpu_are_no_threads() {
        let mut pids = Pids::default();
        pids.count(Category::Operator, Value::Bare(b"42"));
        let mut threads = Threads::default();
        for (pid, tid, name) in [("0", "7", "stream 7"), ("42", "43", "thread 43"), ("42", "43", "autograd")] {
            let (pid, tid) = (Value::Bare(pid.as_bytes()), Value::Bare(tid.as_bytes()));
            threads.name(&Event { pid, tid, ..Event::default() }, name.into());
        }
        assert_eq!(threads.named(&pids), [(43, b"autograd".to_vec())]);
    }
}
