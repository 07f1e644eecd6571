//! The program and everything it has started, found from outside.
//!
//! A process belongs to the run if it is the program, if its parent belonged to it when the process was first seen,
//! or if its environment has the run's mark: a daemon whose parents have ended before anybody looked has that still.
//! Once it belongs, it does so for as long as it lives, whoever its parent becomes. A process is its number and the
//! time at which it started, so that a number which is used again is another process. What is missed: a daemon that
//! was orphaned between two looks and was started with an environment of its own.

use crate::os::clock::thread_cpu;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::DirEntryExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Looking is repeated no sooner than this…
const LEAST_PAUSE: Duration = Duration::from_millis(200);
/// …and no sooner than this many times as long as it took: on machines with thousands of processes it must not become
/// a load of its own.
const PAUSE_PER_COST: u32 = 200;
/// But at least this often.
const MOST_PAUSE: Duration = Duration::from_secs(1);

/// One process of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Process id.
    pub pid: u32,
    /// Its parent when it was first seen.
    pub ppid: u32,
    /// When it started, in clock ticks since the machine did: tells it from another with the same number.
    pub start_ticks: u64,
    /// The name of its program as the kernel has it, 15 bytes at most, as it was when it was first seen.
    pub name: Vec<u8>,
}

/// The processes of one run.
pub struct Processes {
    root: u32,
    mark: Vec<u8>,
    /// Where the system lists processes.
    list: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Number and inode of each entry of the list that has been looked at. A process that takes an old number has
    /// another inode.
    seen: HashMap<u32, u64>,
    members: BTreeMap<u32, Member>,
    due: Option<Instant>,
}

impl Processes {
    /// Those that descend from process `root`. `mark`: the variable `NAME=VALUE` that only they have; empty: none.
    pub fn of(root: u32, mark: Vec<u8>) -> Processes {
        Processes::in_list(PathBuf::from("/proc"), root, mark)
    }

    fn in_list(list: PathBuf, root: u32, mark: Vec<u8>) -> Processes {
        Processes { root, mark, list, state: Mutex::default() }
    }

    /// The program that was launched.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// Those that lived when they were last looked for, by number; looks again if it is time. Whoever reads more about
    /// one of them compares the time at which it started ([`Stat::read`]).
    pub fn members(&self) -> Vec<Member> {
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        let now = Instant::now();
        if state.due.is_none_or(|due| now >= due) {
            // The first look reads about every process there is, which none does again.
            let is_first = state.due.is_none();
            let before = thread_cpu();
            self.look(&mut state);
            let cost = if is_first { Duration::ZERO } else { thread_cpu().saturating_sub(before) };
            state.due = Some(now + (cost * PAUSE_PER_COST).clamp(LEAST_PAUSE, MOST_PAUSE));
        }
        state.members.values().cloned().collect()
    }

    fn look(&self, state: &mut State) {
        let Ok(entries) = fs::read_dir(&self.list) else { return };
        let mut now = HashMap::with_capacity(state.seen.len());
        let mut new = Vec::new();
        for entry in entries.flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
            now.insert(pid, entry.ino());
            if state.seen.get(&pid) != Some(&entry.ino()) {
                new.extend(Stat::read_in(&self.list, pid));
            }
        }
        state.members.retain(|pid, member| {
            let is_another = |stat: &Stat| stat.pid == *pid && stat.start_ticks != member.start_ticks;
            now.contains_key(pid) && !new.iter().any(is_another)
        });
        state.seen = now;
        new.retain(|stat| !state.members.contains_key(&stat.pid));
        self.admit(&mut state.members, &mut new, |stat| stat.pid == self.root);
        if !self.mark.is_empty() {
            self.admit(&mut state.members, &mut new, |stat| self.is_marked(stat.pid));
        }
    }

    /// Takes in those of `new` that `belongs` says yes to, and then their descendants.
    fn admit(&self, members: &mut BTreeMap<u32, Member>, new: &mut Vec<Stat>, belongs: impl Fn(&Stat) -> bool) {
        let mut admit = |new: &mut Vec<Stat>, belongs: &dyn Fn(&Stat, &BTreeMap<u32, Member>) -> bool| {
            let before = members.len();
            new.retain(|stat| {
                let admitted = belongs(stat, members);
                if admitted {
                    let Stat { pid, ppid, start_ticks, name, .. } = stat.clone();
                    members.insert(pid, Member { pid, ppid, start_ticks, name });
                }
                !admitted
            });
            members.len() > before
        };
        admit(new, &|stat, _| belongs(stat));
        while admit(new, &|stat, members| members.contains_key(&stat.ppid)) {}
    }

    fn is_marked(&self, pid: u32) -> bool {
        // Nobody may read the environment of somebody else's process; that one is none of ours.
        let environment = fs::read(self.list.join(pid.to_string()).join("environ")).unwrap_or_default();
        environment.split(|b| *b == 0).any(|variable| variable == self.mark)
    }
}

/// What the system says about a process in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Process id.
    pub pid: u32,
    /// Parent.
    pub ppid: u32,
    /// Name of its program, 15 bytes at most.
    pub name: Vec<u8>,
    /// `R`, `S`, `Z` (ended, and nobody has asked how yet)…
    pub state: u8,
    /// Time on a CPU in the program and in the kernel for it, clock ticks.
    pub cpu_ticks: u64,
    /// Threads.
    pub threads: u64,
    /// When it started, clock ticks since the machine did.
    pub start_ticks: u64,
    /// Memory that is in RAM, pages.
    pub rss_pages: u64,
}

impl Stat {
    /// Of a process that lives, or has ended and is still listed.
    pub fn read(pid: u32) -> Option<Stat> {
        Stat::read_in(Path::new("/proc"), pid)
    }

    fn read_in(list: &Path, pid: u32) -> Option<Stat> {
        Stat::parse(&fs::read(list.join(pid.to_string()).join("stat")).ok()?)
    }

    /// The name is in parentheses and may hold anything, parentheses too.
    fn parse(line: &[u8]) -> Option<Stat> {
        let open = line.iter().position(|b| *b == b'(')?;
        let close = line.iter().rposition(|b| *b == b')')?;
        let pid = std::str::from_utf8(line.get(..open)?).ok()?.trim().parse().ok()?;
        let name = line.get(open + 1..close)?.to_vec();
        let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
        // The third field is the first of these.
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<u64>().ok());
        Some(Stat {
            pid,
            ppid: u32::try_from(number(4)?).ok()?,
            name,
            state: fields.first()?.bytes().next()?,
            cpu_ticks: number(14)? + number(15)?,
            threads: number(20)?,
            start_ticks: number(22)?,
            rss_pages: number(24)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct List(PathBuf);

    impl List {
        fn new(name: &str) -> List {
            let path = std::env::temp_dir().join(format!("gpuprof-processes-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(path.join("sys")).unwrap();
            List(path)
        }

        fn put(&self, pid: u32, ppid: u32, start: u64, environment: &str) {
            let folder = self.0.join(pid.to_string());
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            let line = format!("{pid} (a (b) c) S {ppid} 1 1 0 -1 0 0 0 0 0 7 8 0 0 20 0 3 0 {start} 999 42 0\n");
            fs::write(folder.join("stat"), line).unwrap();
            fs::write(folder.join("environ"), environment).unwrap();
        }

        fn remove(&self, pid: u32) {
            fs::remove_dir_all(self.0.join(pid.to_string())).unwrap();
        }
    }

    impl Drop for List {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn pids(processes: &Processes) -> Vec<u32> {
        let mut state = processes.state.lock().unwrap();
        processes.look(&mut state);
        state.members.keys().copied().collect()
    }

    #[test]
    fn descendants_belong_whatever_the_order_of_their_numbers() {
        let list = List::new("descend");
        list.put(1, 0, 1, "");
        list.put(50, 1, 5, "");
        list.put(40, 50, 6, "");
        list.put(30, 40, 7, "");
        list.put(60, 1, 8, "");
        let processes = Processes::in_list(list.0.clone(), 50, Vec::new());
        assert_eq!(pids(&processes), [30, 40, 50]);
        assert_eq!(processes.members()[0].name, b"a (b) c");
    }

    #[test]
    fn an_orphan_that_was_seen_before_stays() {
        let list = List::new("orphan");
        list.put(50, 1, 5, "");
        list.put(51, 50, 6, "");
        let processes = Processes::in_list(list.0.clone(), 50, Vec::new());
        assert_eq!(pids(&processes), [50, 51]);
        list.put(51, 1, 6, "");
        list.remove(50);
        assert_eq!(pids(&processes), [51]);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let list = List::new("again");
        list.put(50, 1, 5, "");
        list.put(51, 50, 6, "");
        let processes = Processes::in_list(list.0.clone(), 50, Vec::new());
        assert_eq!(pids(&processes), [50, 51]);
        // The old folder is kept, so that the new one gets another inode.
        fs::rename(list.0.join("51"), list.0.join("old")).unwrap();
        list.put(51, 1, 900, "");
        assert_eq!(pids(&processes), [50]);
        assert_eq!(pids(&processes), [50]);
    }

    #[test]
    fn a_daemon_whose_parents_ended_unseen_is_known_by_its_mark() {
        let list = List::new("mark");
        list.put(50, 1, 5, "A=1\0RUN=x\0");
        list.put(70, 1, 9, "B=2\0RUN=x\0");
        list.put(71, 70, 9, "");
        list.put(80, 1, 9, "RUN=xy\0");
        let processes = Processes::in_list(list.0.clone(), 50, b"RUN=x".to_vec());
        assert_eq!(pids(&processes), [50, 70, 71]);
        let unmarked = Processes::in_list(list.0.clone(), 50, Vec::new());
        assert_eq!(pids(&unmarked), [50]);
    }

    #[test]
    fn a_line_of_the_system_is_read_field_by_field() {
        let line = b"12 (x) y) R 3 4 5 0 -1 4194304 1 2 3 4 100 23 7 8 20 0 6 0 777 1234 55 rest";
        let stat = Stat::parse(line).unwrap();
        assert_eq!(stat.name, b"x) y");
        assert_eq!((stat.pid, stat.ppid, stat.state, stat.cpu_ticks), (12, 3, b'R', 123));
        assert_eq!((stat.threads, stat.start_ticks, stat.rss_pages), (6, 777, 55));
        for broken in [b"".as_slice(), b"1 (", b"1 (a)", b"x (a) S 1", b"1 (a) S 1 2 3"] {
            assert_eq!(Stat::parse(broken), None);
        }
        let own = Stat::read(std::process::id()).unwrap();
        assert!(own.threads >= 1 && own.rss_pages > 0);
    }
}
