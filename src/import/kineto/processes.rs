//! The process that was traced, and its threads.

use super::event::{Category, Event};
use super::json_tokens::Value;
use super::number::integer;
use super::text::unescape;
use std::collections::HashMap;

/// Events by the process they name. Kineto names the device instead on GPU rows, 0 on Python's and -1 on its own,
/// so only calls and operators tell.
#[derive(Default)]
pub struct Pids {
    seen: Vec<Pid>,
    index: HashMap<Vec<u8>, usize>,
    last: usize,
    /// Names of processes by what the events about them name.
    names: Vec<(Vec<u8>, String)>,
}

struct Pid {
    /// The text as it is written in the file, without quotes.
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

    /// Takes note of a `process_name` event.
    pub fn name(&mut self, event: &Event, name: &[u8]) {
        if let Value::Bare(pid) | Value::Text(pid) = event.pid
            && self.names.len() < NAMES
        {
            let name = String::from_utf8_lossy(&unescape(name)).trim_end().to_owned();
            self.names.push((pid.to_vec(), name));
        }
    }

    fn main_pid(&self) -> Option<&Pid> {
        // `max_by_key` takes the last of equals, and the first is to win.
        self.seen.iter().rev().max_by_key(|p| (p.calls, p.operators))
    }

    /// The process with the most calls, or operators if nobody called.
    pub fn main(&self) -> Option<u32> {
        integer(Value::Bare(&self.main_pid()?.text))?.try_into().ok()
    }

    /// What that process is called.
    pub fn main_name(&self) -> Option<String> {
        let main = self.main_pid()?;
        let (_, name) = self.names.iter().rev().find(|(pid, _)| *pid == main.text)?;
        Some(name.clone()).filter(|name| !name.is_empty())
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
    /// Takes note of a `thread_name` event about the thread with this id.
    pub fn name(&mut self, event: &Event, tid: u32, name: Vec<u8>) {
        if let Value::Bare(pid) | Value::Text(pid) = event.pid
            && self.names.len() < NAMES
        {
            self.names.push((pid.to_vec(), tid, name));
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

#[cfg(test)]
mod tests {
    use super::*;

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
        for (pid, tid, name) in [("0", 7, "stream 7"), ("42", 43, "thread 43"), ("42", 43, "autograd")] {
            let pid = Value::Bare(pid.as_bytes());
            threads.name(&Event { pid, ..Event::default() }, tid, name.into());
        }
        assert_eq!(threads.named(&pids), [(43, b"autograd".to_vec())]);
    }
}
