//! What happens while the application runs: processes are announced when they call CUDA, and stopped when their time is
//! up.

use super::live::{command_of, joined};
use super::log::Log;
use super::request::Request;
use crate::os::process::ProcessHandle;
use crate::report::nvprof::messages::Message;
use shim_config::seen::{self, SeenLine};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often the list of processes is looked at.
const INTERVAL: Duration = Duration::from_millis(20);
/// How long an application that was asked to end may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// A thread that watches.
pub struct Watch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Watches the processes that append themselves to `list`; `launched`: only that one is announced, unless its
    /// children are profiled too.
    pub fn begin(request: &Request, log: Arc<Log>, list: PathBuf, launched: Option<u32>) -> Watch {
        let stop = Arc::new(AtomicBool::new(false));
        let timeout = request.timeout_s.map(Duration::from_secs);
        let timer = launched.zip(timeout).and_then(|(pid, timeout)| Timer::new(pid, timeout));
        if timeout.is_some() && timer.is_none() {
            let text = "The option --timeout has no effect: it needs Linux 5.3 and an application; use timeout(1).";
            // A log that cannot be written is found out when the results are.
            let _ = log.remark(launched, text);
        }
        let mut watcher = Watcher {
            log,
            list,
            launched,
            command: command_of(request),
            only_launched: !request.children && !request.all_processes,
            announced: BTreeSet::new(),
            size: 0,
            timer,
        };
        let stopped = Arc::clone(&stop);
        let body = move || {
            loop {
                let is_last = stopped.load(Ordering::Acquire);
                watcher.look();
                if is_last {
                    return;
                }
                std::thread::sleep(INTERVAL);
            }
        };
        // Without the thread nothing is announced, and all is printed at the end.
        let thread = std::thread::Builder::new().name("nvprof-watch".to_owned()).spawn(body).ok();
        Watch { stop, thread }
    }

    /// Ends it, after a last look.
    pub fn end(mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A panic there was printed; the results are still to come.
            let _ = thread.join();
        }
    }
}

struct Watcher {
    log: Arc<Log>,
    list: PathBuf,
    launched: Option<u32>,
    command: String,
    only_launched: bool,
    announced: BTreeSet<(u32, i64)>,
    size: u64,
    timer: Option<Timer>,
}

impl Watcher {
    fn look(&mut self) {
        let size = std::fs::metadata(&self.list).map_or(0, |data| data.len());
        if std::mem::replace(&mut self.size, size) != size {
            let (processes, _) = seen::processes(&std::fs::read(&self.list).unwrap_or_default());
            processes.iter().filter(|line| line.cuda).for_each(|line| self.announce(line));
        }
        if let Some(timer) = &mut self.timer {
            timer.check(&self.log);
        }
    }

    fn announce(&mut self, line: &SeenLine) {
        let is_launched = Some(line.pid) == self.launched;
        if (self.only_launched && !is_launched) || !self.announced.insert((line.pid, line.start_unix_ns)) {
            return;
        }
        let command = match is_launched {
            true => self.command.clone(),
            false => joined(line.argv.iter().map(Vec::as_slice)),
        };
        // A log that cannot be written is found out when the results are.
        let _ = self.log.say(Some(line.pid), &Message::IsProfiling(line.pid, &command));
        if let Some(timer) = self.timer.as_mut().filter(|_| is_launched) {
            timer.begin();
        }
    }
}

/// `--timeout`: counts from the application's first CUDA call.
struct Timer {
    pid: u32,
    /// A descriptor of the process: its number may be another's by the time it is signalled.
    process: ProcessHandle,
    timeout: Duration,
    stage: Stage,
}

enum Stage {
    Waiting,
    Running(Instant),
    Asked(Instant),
    Done,
}

impl Timer {
    fn new(pid: u32, timeout: Duration) -> Option<Timer> {
        // Before Linux 5.3 there is none, and no safe way to signal a process that may be gone.
        Some(Timer { pid, process: ProcessHandle::open(pid)?, timeout, stage: Stage::Waiting })
    }

    fn begin(&mut self) {
        if matches!(self.stage, Stage::Waiting) {
            self.stage = Stage::Running(Instant::now());
        }
    }

    fn check(&mut self, log: &Log) {
        match self.stage {
            Stage::Running(since) if since.elapsed() >= self.timeout => {
                let _ = log.say(Some(self.pid), &Message::Timeout);
                self.process.signal(libc::SIGTERM);
                self.stage = Stage::Asked(Instant::now());
            }
            Stage::Asked(since) if since.elapsed() >= PATIENCE => {
                self.process.signal(libc::SIGKILL);
                self.stage = Stage::Done;
            }
            _ => {}
        }
    }
}
