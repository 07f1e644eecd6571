//! Numbers for processes and threads. Viewers and readers want small integers, unique, and every lane its own thread.

use super::json;
use crate::lines::line::Line;
use crate::lines::naming::Naming;
use crate::lines::place::Track;
use hashbrown::{HashMap, HashSet};

/// What all events of a track have in common.
pub struct Head {
    /// Process and thread as every event of it begins: `"pid":0,"tid":7,"ts":`.
    pub ids: Vec<u8>,
    /// Device, context and stream as arguments, each with a comma behind it.
    pub place: Vec<u8>,
    /// The number of its thread.
    pub tid: u32,
}

/// Gives numbers.
pub struct Numbering<'a, 'n> {
    naming: &'n mut Naming<'a>,
    /// The numbers of the traced processes.
    processes: Vec<u32>,
    /// The numbers of their GPUs, which count as processes of their own.
    devices: HashMap<(u32, u32), u32>,
    numbers: Numbers,
    /// The tracks, by number.
    pub heads: Vec<Head>,
}

/// Where numbers begin that stand for what has none. Ids of threads are rarely as large, and signed 32-bit numbers are all
/// that some viewers read.
const INVENTED: u32 = 1_000_000_000;

/// Stands for no process: what numbers of processes are unique among.
const PROCESSES: u32 = u32::MAX;

/// Unique numbers.
struct Numbers {
    /// Threads by the process they are unique in.
    taken: HashSet<(u32, u32)>,
    invented: u32,
}

impl Numbers {
    /// The wanted number, unless another one has it.
    fn give(&mut self, among: u32, wanted: Option<u32>) -> u32 {
        if let Some(wanted) = wanted
            && self.taken.insert((among, wanted))
        {
            return wanted;
        }
        loop {
            self.invented = self.invented.saturating_add(1);
            if self.taken.insert((among, self.invented)) || self.invented == u32::MAX {
                return self.invented;
            }
        }
    }
}

/// GPUs stand below all processes.
const DEVICE_SORT_INDEX: u64 = 1_000_000;

impl<'a, 'n> Numbering<'a, 'n> {
    /// Numbers the processes.
    pub fn new(naming: &'n mut Naming<'a>) -> Self {
        let mut numbers = Numbers { taken: HashSet::new(), invented: INVENTED };
        let processes = naming.labels.frames().processes.iter();
        let processes = processes.map(|p| numbers.give(PROCESSES, p.info.pid)).collect();
        Numbering { naming, processes, devices: HashMap::new(), numbers, heads: Vec::new() }
    }

    /// The number of a traced process.
    pub fn pid(&self, process: u32) -> u32 {
        self.processes.get(process as usize).copied().unwrap_or(0)
    }

    /// Writes what viewers show about the traced processes.
    pub fn describe_processes(&self, out: &mut Vec<u8>) {
        for (process, &pid) in self.processes.iter().enumerate() {
            let known = self.naming.labels.frames().processes.get(process);
            let name = known.and_then(|process| process.info.name.clone());
            let name = name.unwrap_or_else(|| self.naming.labels.process(process as u32));
            describe_process(out, pid, &name, "CPU", process as u64);
        }
    }

    /// Numbers a track, and writes what viewers show about it.
    pub fn open(&mut self, track: &Track, out: &mut Vec<u8>) {
        let pid = self.pid_of(track.line, out);
        let name = self.naming.in_device(track.line);
        let wanted = match track.line {
            Line::Stream { stream, .. } => Some(stream),
            Line::Thread { tid, .. } => Some(tid),
            _ => None,
        };
        let tid = self.numbers.give(pid, wanted.filter(|_| track.lane == 0));
        let name = if track.lane == 0 { name } else { format!("{name} ({})", track.lane + 1) };
        describe(out, "thread_name", pid, tid, |out| {
            out.extend_from_slice(b"\"name\":");
            json::string(out, name.as_bytes());
        });
        describe(out, "thread_sort_index", pid, tid, |out| {
            out.extend_from_slice(b"\"sort_index\":");
            json::unsigned(out, track.line.rank().min(i32::MAX as u64));
        });
        self.heads.push(Head { ids: ids(pid, tid), place: place(track.line), tid });
    }

    fn pid_of(&mut self, line: Line, out: &mut Vec<u8>) -> u32 {
        let process = line.process();
        let Some(device) = line.device() else { return self.pid(process) };
        self.device(process, device, out)
    }

    /// Whether a thread of a process has this number.
    pub fn is_taken(&self, lane: (u32, u32)) -> bool {
        self.numbers.taken.contains(&lane)
    }

    /// The number of a GPU of a process. Writes what viewers show about it when it is new.
    pub fn device(&mut self, process: u32, device: u32, out: &mut Vec<u8>) -> u32 {
        if let Some(&pid) = self.devices.get(&(process, device)) {
            return pid;
        }
        // The device's own number, as Kineto has it.
        let pid = self.numbers.give(PROCESSES, Some(device));
        self.devices.insert((process, device), pid);
        let name = self.naming.device(process, device);
        let index = DEVICE_SORT_INDEX + u64::from(process) * 1000 + u64::from(device);
        describe_process(out, pid, &name, &format!("GPU {device}"), index.min(i32::MAX as u64));
        pid
    }
}

fn ids(pid: u32, tid: u32) -> Vec<u8> {
    format!("\"pid\":{pid},\"tid\":{tid},\"ts\":").into_bytes()
}

fn place(line: Line) -> Vec<u8> {
    let text = match line {
        Line::Stream { device, context, stream, .. } | Line::Graphs { device, context, stream, .. } => {
            format!("\"device\":{device},\"context\":{context},\"stream\":{stream},")
        }
        // What is not about a stream says so as Kineto does.
        Line::Sync { device, context, stream, .. } => {
            let stream = stream.map_or(-1, i64::from);
            format!("\"device\":{device},\"context\":{context},\"stream\":{stream},")
        }
        Line::UnifiedMemory { device: Some(device), .. } | Line::Memory { device, .. } => {
            format!("\"device\":{device},")
        }
        _ => String::new(),
    };
    text.into_bytes()
}

fn describe_process(out: &mut Vec<u8>, pid: u32, name: &str, label: &str, sort_index: u64) {
    let texts = [("process_name", "name", name), ("process_labels", "labels", label)];
    for (what, key, text) in texts {
        describe(out, what, pid, 0, |out| {
            out.push(b'"');
            out.extend_from_slice(key.as_bytes());
            out.extend_from_slice(b"\":");
            json::string(out, text.as_bytes());
        });
    }
    describe(out, "process_sort_index", pid, 0, |out| {
        out.extend_from_slice(b"\"sort_index\":");
        json::unsigned(out, sort_index);
    });
}

/// Writes one event about an event's process or thread.
pub fn describe(out: &mut Vec<u8>, what: &str, pid: u32, tid: u32, args: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b",\n{\"ph\":\"M\",\"name\":\"");
    out.extend_from_slice(what.as_bytes());
    out.extend_from_slice(b"\",");
    out.extend_from_slice(&ids(pid, tid));
    out.extend_from_slice(b"0.000,\"args\":{");
    args(out);
    out.extend_from_slice(b"}}");
}
