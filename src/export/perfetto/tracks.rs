//! Descriptors of tracks: what a viewer shows on the left.

use super::schema::{packet, track};
use super::wire;
use crate::lines::line::Line;
use crate::lines::naming::Naming;
use crate::lines::place::Track;
use hashbrown::{HashMap, HashSet};

/// A counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Counter {
    /// Whether a GPU works: 0 or 1.
    Busy(u32, u32),
    /// Launches of a process whose work has not begun.
    Queue(u32),
    /// Throughput of copies of one kind (`CUpti_ActivityMemcpyKind`) on a GPU.
    Copies(u32, u32, u32),
    /// Allocated memory of a GPU.
    Memory(u32, u32),
    /// A measurement: process of the trace, device, process that was measured, metric.
    Sample(u32, Option<u32>, Option<u32>, u32),
}

/// Gives out tracks and describes them.
pub struct Tracks<'a, 'n> {
    naming: &'n mut Naming<'a>,
    /// What every packet has.
    prefix: Vec<u8>,
    base: u64,
    count: u64,
    pids: Vec<u32>,
    processes: HashMap<u32, u64>,
    threads: HashMap<(u32, u32), u64>,
    devices: HashMap<(u32, u32), u64>,
    contexts: HashMap<(u32, u32, u32), u64>,
    counters: HashMap<Counter, u32>,
    /// Tracks of slices, by the number that placing gave them.
    pub slices: Vec<u64>,
    /// Tracks of counters.
    pub counter_uuids: Vec<u64>,
}

impl<'a, 'n> Tracks<'a, 'n> {
    /// No tracks yet; ids begin above `base`, and every packet begins with `prefix`.
    pub fn new(naming: &'n mut Naming<'a>, base: u64, prefix: Vec<u8>) -> Self {
        let mut taken = HashSet::new();
        let processes = naming.labels.frames().processes.iter().enumerate();
        // Perfetto tells processes apart by a signed 32-bit number alone.
        let pids = processes.map(|(ordinal, process)| {
            let pid = process.info.pid.filter(|&pid| pid < 1 << 30 && taken.insert(pid));
            pid.unwrap_or((1 << 30) + ordinal as u32)
        });
        let pids = pids.collect();
        Tracks {
            naming,
            prefix,
            base,
            count: 0,
            pids,
            processes: HashMap::new(),
            threads: HashMap::new(),
            devices: HashMap::new(),
            contexts: HashMap::new(),
            counters: HashMap::new(),
            slices: Vec::new(),
            counter_uuids: Vec::new(),
        }
    }

    /// The process id that viewers see.
    pub fn pid(&self, process: u32) -> u32 {
        self.pids.get(process as usize).copied().unwrap_or(0)
    }

    /// What the hardware queue behind a stream is called.
    pub fn queue_name(&self, line: Line) -> String {
        self.naming.in_context(line)
    }

    /// Writes a descriptor; the id of its track.
    fn describe(&mut self, out: &mut Vec<u8>, parent: Option<u64>, write: impl FnOnce(&mut Vec<u8>)) -> u64 {
        self.count += 1;
        let uuid = self.base + self.count;
        super::writer::packet(out, &self.prefix, None, |out| {
            wire::message(out, packet::TRACK_DESCRIPTOR, |out| {
                wire::unsigned(out, track::UUID, uuid);
                if let Some(parent) = parent {
                    wire::unsigned(out, track::PARENT, parent);
                }
                write(out);
            });
        });
        uuid
    }

    /// A track with a name and a place among its siblings.
    fn named(&mut self, out: &mut Vec<u8>, parent: u64, name: &str, rank: u64, is_parent: bool) -> u64 {
        self.describe(out, Some(parent), |out| {
            wire::string(out, track::NAME, name);
            wire::unsigned(out, track::RANK, rank.min(i32::MAX as u64));
            if is_parent {
                wire::unsigned(out, track::CHILD_ORDERING, 3);
            }
        })
    }

    fn process(&mut self, out: &mut Vec<u8>, process: u32) -> u64 {
        if let Some(&uuid) = self.processes.get(&process) {
            return uuid;
        }
        let (pid, name) = (self.pid(process), self.naming.labels.process(process));
        let uuid = self.describe(out, None, |out| {
            wire::message(out, track::PROCESS, |out| {
                wire::unsigned(out, 1, pid.into());
                wire::string(out, 6, &name);
            });
        });
        self.processes.insert(process, uuid);
        uuid
    }

    fn device(&mut self, out: &mut Vec<u8>, process: u32, device: u32) -> u64 {
        if let Some(&uuid) = self.devices.get(&(process, device)) {
            return uuid;
        }
        // No `process` in it: hints about order are ignored below such tracks.
        let name = self.naming.device(process, device);
        let uuid = self.describe(out, None, |out| {
            wire::string(out, track::NAME, &name);
            wire::unsigned(out, track::CHILD_ORDERING, 3);
        });
        self.devices.insert((process, device), uuid);
        uuid
    }

    fn context(&mut self, out: &mut Vec<u8>, process: u32, device: u32, context: u32) -> u64 {
        if let Some(&uuid) = self.contexts.get(&(process, device, context)) {
            return uuid;
        }
        let parent = self.device(out, process, device);
        // Counters stand above contexts.
        let uuid = self.named(out, parent, &format!("context {context}"), 1000 + u64::from(context), true);
        self.contexts.insert((process, device, context), uuid);
        uuid
    }

    /// Describes the next track of slices.
    pub fn open(&mut self, placed: &Track, out: &mut Vec<u8>) {
        let line = placed.line;
        let process = line.process();
        let uuid = if let Line::Thread { tid, .. } = line {
            match self.threads.get(&(process, tid)) {
                None => self.thread(out, process, tid),
                Some(&thread) => {
                    let name = self.naming.in_context(line);
                    self.named(out, thread, &name, placed.lane.into(), false)
                }
            }
        } else {
            let parent = match (line.device(), line.context()) {
                (Some(device), Some(context)) => self.context(out, process, device, context),
                (Some(device), None) => self.device(out, process, device),
                (None, _) => self.process(out, process),
            };
            let parent = match line {
                // Beside the thread's own slices, where it has some.
                Line::Stacks { tid, .. } => self.threads.get(&(process, tid)).copied().unwrap_or(parent),
                _ => parent,
            };
            // Lanes of one line have one name: viewers merge such siblings into one row.
            let name = self.naming.in_context(line);
            self.named(out, parent, &name, line.rank(), false)
        };
        self.slices.push(uuid);
    }

    fn thread(&mut self, out: &mut Vec<u8>, process: u32, tid: u32) -> u64 {
        let parent = self.process(out, process);
        let pid = self.pid(process);
        let name = self.naming.in_context(Line::Thread { process, tid });
        let uuid = self.describe(out, Some(parent), |out| {
            wire::message(out, track::THREAD, |out| {
                wire::unsigned(out, 1, pid.into());
                wire::unsigned(out, 2, tid.into());
                wire::string(out, 5, &name);
            });
        });
        self.threads.insert((process, tid), uuid);
        uuid
    }

    /// The number of a counter, described if it is new.
    pub fn counter(&mut self, counter: Counter, out: &mut Vec<u8>) -> u32 {
        if let Some(&number) = self.counters.get(&counter) {
            return number;
        }
        let (parent, name, unit, rank) = match counter {
            Counter::Busy(process, device) => (self.device(out, process, device), "busy".to_owned(), "", 0),
            Counter::Queue(process) => (self.process(out, process), "launched and not begun".to_owned(), "", 1),
            Counter::Copies(process, device, kind) => {
                let (word, _) = crate::lines::kind_names::copy_word(kind);
                (self.device(out, process, device), format!("copies {word}"), "GB/s", 2 + u64::from(kind))
            }
            Counter::Memory(process, device) => {
                (self.device(out, process, device), "allocated memory".to_owned(), "bytes", 1)
            }
            Counter::Sample(process, device, pid, metric) => {
                let parent = match device {
                    Some(device) => self.device(out, process, device),
                    None => self.process(out, process),
                };
                let of = pid.map(|pid| format!(" of process {pid}")).unwrap_or_default();
                (parent, format!("{}{of}", self.naming.labels.text(metric)), "", 500)
            }
        };
        let uuid = self.describe(out, Some(parent), |out| {
            wire::string(out, track::NAME, &name);
            wire::unsigned(out, track::RANK, rank.min(900));
            wire::message(out, track::COUNTER, |out| {
                if !unit.is_empty() {
                    wire::string(out, 6, unit);
                }
            });
        });
        let number = self.counter_uuids.len() as u32;
        self.counter_uuids.push(uuid);
        self.counters.insert(counter, number);
        number
    }
}
