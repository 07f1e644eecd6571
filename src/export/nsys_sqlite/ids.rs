//! nsys's ids of processes and threads: one number that holds, from the top, 8 bits of hardware, 8 of virtual machine,
//! 24 of process and 24 of thread id.

use crate::trace::frames::Frames;
use hashbrown::{HashMap, HashSet};

/// Bits of a process or thread id.
const ID_BITS: u32 = 24;
const ID_MASK: u32 = (1 << ID_BITS) - 1;
const UPPER_HALF: u32 = 1 << (ID_BITS - 1);

/// Numbers of virtual machines under one number of hardware; 0 is left out.
const MACHINES: usize = 255;

/// Ids given out so far.
pub(super) struct Ids {
    /// Ids of processes, by the ordinal of the process.
    processes: Vec<i64>,
    threads: HashMap<(u32, u32), i64>,
    used: HashSet<i64>,
    /// The thread asked for last, as rows of one thread come in rows.
    last: Option<((u32, u32), i64)>,
}

impl Ids {
    /// Numbers all processes. Those of one host share a machine, or of one file where no host is known, unless two of
    /// them have the same pid.
    pub(super) fn new(frames: &Frames) -> Ids {
        let mut machines: HashMap<String, usize> = HashMap::new();
        let mut taken: HashSet<i64> = HashSet::new();
        let mut next = 0;
        let processes = frames.processes.iter().map(|process| {
            let place = match &process.info.host {
                Some(host) => format!("host {host}"),
                None => format!("file {}", process.path.display()),
            };
            let pid = process.info.pid.unwrap_or(0) & ID_MASK;
            let mut new_machine = || {
                next += 1;
                next - 1
            };
            let machine = *machines.entry(place).or_insert_with(&mut new_machine);
            let mut id = global(machine, pid);
            while !taken.insert(id) {
                id = global(new_machine(), pid);
            }
            id
        });
        let processes = processes.collect();
        Ids { processes, threads: HashMap::new(), used: HashSet::new(), last: None }
    }

    /// The `globalPid` of a process.
    pub(super) fn process(&self, process: u32) -> i64 {
        self.processes.get(process as usize).copied().unwrap_or(global(0, 0))
    }

    /// The `globalTid` of a thread; an id of more than 24 bits is replaced by one that no thread has.
    pub(super) fn thread(&mut self, process: u32, tid: u32) -> i64 {
        let key = (process, tid);
        match self.last {
            Some((last, id)) if last == key => return id,
            _ => {}
        }
        let base = self.process(process);
        let used = &mut self.used;
        let id = *self.threads.entry(key).or_insert_with(|| {
            // Linux gives out 22 bits, so the upper half is free for ids of other kinds.
            let mut low = if tid > ID_MASK { tid & ID_MASK | UPPER_HALF } else { tid };
            while !used.insert(base | i64::from(low)) && used.len() <= ID_MASK as usize {
                low = (low + 1) & ID_MASK | UPPER_HALF;
            }
            base | i64::from(low)
        });
        self.last = Some((key, id));
        id
    }
}

/// The `globalPid` of a process of the `machine`th machine.
fn global(machine: usize, pid: u32) -> i64 {
    let hardware = (machine / MACHINES) as i64 & 0x7F;
    let virtual_machine = (machine % MACHINES) as i64 + 1;
    hardware << 56 | virtual_machine << 48 | i64::from(pid) << ID_BITS
}

/// The parts of a `globalPid` as some tables have them: hardware, virtual machine, process.
pub(super) fn parts(global: i64) -> [i64; 3] {
    [global >> 56 & 0xFF, global >> 48 & 0xFF, global >> ID_BITS & i64::from(ID_MASK)]
}

/// The machine of a `globalPid`, as tables about machines have it.
pub(super) fn machine(global: i64) -> i64 {
    global & !0xFFFF_FFFF_FFFF
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::frames::Process;
    use crate::trace::sink::ProcessInfo;

    fn frames(processes: &[(Option<u32>, Option<&str>, &str)]) -> Frames {
        let process = |&(pid, host, path): &(Option<u32>, Option<&str>, &str)| Process {
            info: ProcessInfo { pid, host: host.map(str::to_owned), ..Default::default() },
            path: path.into(),
        };
        let mut frames = Frames::default();
        frames.processes = processes.iter().map(process).collect();
        frames
    }

    #[test]
    fn the_first_machine_is_nsyss_own_and_equal_pids_stay_apart() {
        let ids = Ids::new(&frames(&[
            (Some(0x8981), Some("a"), "1"),
            (Some(0x8982), Some("a"), "2"),
            (Some(0x8981), Some("b"), "3"),
            (Some(0x8981), Some("a"), "4"),
            (None, None, "5"),
            (None, None, "5"),
        ]));
        assert_eq!(ids.process(0), 0x01_0089_8100_0000);
        assert_eq!(ids.process(1), 0x01_0089_8200_0000);
        assert_eq!(machine(ids.process(0)), machine(ids.process(1)));
        let all: HashSet<i64> = (0..6).map(|p| ids.process(p)).collect();
        assert_eq!(all.len(), 6);
        assert_eq!(parts(ids.process(2)), [0, 2, 0x8981]);
    }

    #[test]
    fn many_machines_stay_apart_and_positive() {
        let many: Vec<_> = (0..1000).map(|_| (Some(7), None, "x")).collect();
        let ids = Ids::new(&frames(&many));
        let all: HashSet<i64> = (0..1000).map(|p| ids.process(p)).collect();
        assert_eq!(all.len(), 1000);
        assert!(all.iter().all(|&id| id > 0 && id >> 48 & 0xFF != 0));
    }

    #[test]
    fn threads_of_other_tools_get_ids_that_fit_and_differ() {
        let mut ids = Ids::new(&frames(&[(Some(1), None, "x"), (Some(2), None, "x")]));
        let wide = ids.thread(0, 0xAB00_0005);
        assert_eq!(wide & 0xFF_FFFF, 0x80_0005);
        assert_eq!(ids.thread(0, 0xCD00_0005) & 0xFF_FFFF, 0x80_0006);
        assert_eq!(ids.thread(0, 5) & 0xFF_FFFF, 5);
        assert_eq!(ids.thread(0, 0xAB00_0005), wide);
        assert_eq!(ids.thread(1, 0xAB00_0005) & 0xFF_FFFF, 0x80_0005);
        assert_eq!(ids.thread(0, 4) - ids.process(0), 4);
    }
}
