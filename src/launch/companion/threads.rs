//! One thread for each sampler, and one that writes.

use super::{Processes, Recorder, Sampled, Sampler};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Says to all threads that it is over.
#[derive(Default)]
pub(super) struct Stop {
    is_over: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Waits until `deadline`; true: it is over, now.
    fn wait_until(&self, deadline: Instant) -> bool {
        let mut is_over = self.is_over.lock().unwrap_or_else(|e| e.into_inner());
        loop {
            let now = Instant::now();
            if *is_over || now >= deadline {
                return *is_over;
            }
            let waited = self.changed.wait_timeout(is_over, deadline - now);
            is_over = waited.unwrap_or_else(|e| e.into_inner()).0;
        }
    }

    fn say(&self) {
        *self.is_over.lock().unwrap_or_else(|e| e.into_inner()) = true;
        self.changed.notify_all();
    }
}

/// What a sampler's thread has done so far, and whether it has ended.
#[derive(Default)]
struct Progress {
    samples: u64,
    missed: u64,
    has_ended: bool,
}

struct Running {
    name: &'static str,
    period: Duration,
    progress: Arc<(Mutex<Progress>, Condvar)>,
}

/// All threads of the launcher's trace.
pub(super) struct Threads {
    stop: Arc<Stop>,
    recorder: Arc<Recorder>,
    samplers: Vec<Running>,
    writer: Option<JoinHandle<()>>,
}

impl Threads {
    /// Starts the thread that writes, every `flush`.
    pub(super) fn new(stop: Arc<Stop>, recorder: Arc<Recorder>, flush: Duration) -> Threads {
        let (to, when) = (recorder.clone(), stop.clone());
        let write = move || {
            while !when.wait_until(Instant::now() + flush) {
                to.flush();
            }
        };
        // Without it everything is written at the end, or when a frame is full.
        let writer = thread::Builder::new().name("gpuprof:writer".to_owned()).spawn(write).ok();
        Threads { stop, recorder, samplers: Vec::new(), writer }
    }

    /// Starts the thread of a sampler.
    pub(super) fn add(&mut self, sampler: Box<dyn Sampler>, processes: Arc<Processes>) {
        let (name, period) = (sampler.name(), sampler.period().max(Duration::from_micros(100)));
        let progress = Arc::new((Mutex::new(Progress::default()), Condvar::new()));
        let (stop, recorder, theirs) = (self.stop.clone(), self.recorder.clone(), progress.clone());
        let run = move || {
            let guard = Ending(theirs);
            sample_until(&stop, sampler, period, &processes, &recorder, &guard.0.0);
        };
        match thread::Builder::new().name(format!("gpuprof:{name}")).spawn(run) {
            Ok(_) => self.samplers.push(Running { name, period, progress }),
            Err(e) => {
                self.recorder.remark(&format!("no samples of {name}: the system has no thread for them: {e}"))
            }
        }
    }

    /// Ends all threads; one that does not end within `patience` is left behind, with a remark.
    pub(super) fn end(self, patience: Duration) -> Vec<Sampled> {
        self.stop.say();
        let deadline = Instant::now() + patience;
        let ended = self.samplers.iter().map(|running| {
            let (progress, changed) = &*running.progress;
            let mut progress = progress.lock().unwrap_or_else(|e| e.into_inner());
            while !progress.has_ended {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    self.recorder.remark(&format!(
                        "the sampler {} did not end in time and was left behind: its last samples may be missing",
                        running.name
                    ));
                    break;
                }
                progress = changed.wait_timeout(progress, left).unwrap_or_else(|e| e.into_inner()).0;
            }
            let Progress { samples, missed, .. } = *progress;
            Sampled { name: running.name, period: running.period, samples, missed }
        });
        let ended = ended.collect();
        if let Some(writer) = self.writer {
            let _ = writer.join();
        }
        ended
    }
}

/// Says that a thread has ended, however it did.
struct Ending(Arc<(Mutex<Progress>, Condvar)>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.0.lock().unwrap_or_else(|e| e.into_inner()).has_ended = true;
        self.0.1.notify_all();
    }
}

fn sample_until(
    stop: &Stop,
    mut sampler: Box<dyn Sampler>,
    period: Duration,
    processes: &Processes,
    recorder: &Recorder,
    progress: &Mutex<Progress>,
) {
    if !sampler.begin(processes, recorder) {
        return;
    }
    let update = |samples: u64, missed: u64| {
        let mut progress = progress.lock().unwrap_or_else(|e| e.into_inner());
        (progress.samples, progress.missed) = (samples, missed);
    };
    let (mut samples, mut missed) = (0, 0);
    let mut deadline = Instant::now();
    while !stop.wait_until(deadline) {
        sampler.sample(processes, recorder);
        samples += 1;
        deadline += period;
        // Deadlines that have passed meanwhile are not made up: two samples at one moment say no more than one.
        let late = Instant::now().saturating_duration_since(deadline);
        let passed = u32::try_from(late.as_nanos() / period.as_nanos().max(1)).unwrap_or(u32::MAX);
        if passed > 0 {
            missed += u64::from(passed);
            deadline += period.saturating_mul(passed);
        }
        update(samples, missed);
    }
    sampler.closing(processes, recorder, missed);
}
