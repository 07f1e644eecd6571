//! The machine and the program's processes, as the kernel tells.

use super::paced::Paced;
use super::procfs::{self, CpuTicks};
use crate::launch::companion::processes::Stat;
use crate::launch::companion::{Member, Processes, Recorder, Sampler};
use crate::metrics::name;
use crate::os::{clock, limits};
use std::collections::HashMap;
use std::time::Duration;
use trace_format::tables::SampleRow;

/// The sampler.
pub struct Host {
    period: Duration,
    cpu: Paced,
    ticks: Option<(i64, CpuTicks)>,
    network: Option<(i64, [u64; 2])>,
    processes: HashMap<(u32, u64), Process>,
    rows: Vec<SampleRow>,
    last_ns: Option<i64>,
    samples: u64,
}

/// What is remembered of a process from one sample to the next.
struct Process {
    cpu_clock: CpuClock,
    /// When it was read, and nanoseconds on CPUs until then.
    cpu: (i64, u64),
    /// The same of its bytes; `None`: it does not tell.
    io: Option<(i64, [u64; 4])>,
    is_here: bool,
}

/// Where a process's time on CPUs is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CpuClock {
    /// The kernel's clock for it: to the nanosecond.
    Clock,
    /// Its line in `/proc`: to a tick, 10 ms as a rule.
    Ticks,
}

impl Host {
    /// Samples every `period`.
    pub fn new(period: Duration) -> Host {
        Host {
            period,
            cpu: Paced::default(),
            ticks: None,
            network: None,
            processes: HashMap::new(),
            rows: Vec::new(),
            last_ns: None,
            samples: 0,
        }
    }

    fn put(&mut self, into: &Recorder, metric: &str, of_pid: Option<u32>, start_ns: i64, value: f64) {
        let metric_id = into.name(metric.as_bytes());
        self.rows.push(SampleRow { start_ns, metric_id, device: None, value, of_pid });
    }

    fn machine(&mut self, into: &Recorder) {
        let now_ns = into.now_ns();
        // On machines with many CPUs and interrupts the kernel takes a millisecond for it.
        if let Some(ticks) = self.cpu.read(CpuTicks::read) {
            let before = self.ticks.replace((now_ns, ticks));
            let busy = before.and_then(|(since_ns, before)| Some((since_ns, ticks.busy_percent_since(&before)?)));
            match (busy, before) {
                (Some((since_ns, percent)), _) => {
                    self.put(into, name::host_cpu_busy_percent, None, since_ns, percent);
                }
                // No tick has passed: the next reading covers this time too.
                (None, Some(before)) if before.1 == ticks => self.ticks = Some(before),
                _ => {}
            }
        }
        if let Some(load) = procfs::load_1min() {
            self.put(into, name::host_load_1min_tasks, None, now_ns, load);
        }
        if let Some(bytes) = procfs::memory_used_bytes() {
            self.put(into, name::host_memory_used_bytes, None, now_ns, bytes as f64);
        }
        let now_ns = into.now_ns();
        if let Some(bytes) = procfs::network_bytes()
            && let Some((since_ns, before)) = self.network.replace((now_ns, bytes))
        {
            let names = [name::host_network_receive_bytes_per_s, name::host_network_send_bytes_per_s];
            for (metric, rate) in names.into_iter().zip(rates(before, bytes, now_ns - since_ns)) {
                if let Some(rate) = rate {
                    self.put(into, metric, None, since_ns, rate);
                }
            }
        }
    }

    fn process(&mut self, member: &Member, into: &Recorder) {
        let pid = member.pid;
        let stat = Stat::read(pid).filter(|stat| stat.start_ticks == member.start_ticks);
        let Some(stat) = stat else { return };
        let key = (pid, member.start_ticks);
        let now_ns = into.now_ns();
        let clock = self.processes.get(&key).map(|process| process.cpu_clock);
        let read = match clock {
            None => Some(CpuClock::of(pid, &stat)),
            Some(clock) => clock.read(pid, &stat).map(|cpu_ns| (clock, cpu_ns)),
        };
        // It has ended meanwhile.
        let Some((cpu_clock, cpu_ns)) = read else { return };
        let has_ended = stat.state == b'Z';
        let asks_for_io = self.processes.get(&key).is_none_or(|process| process.io.is_some());
        let io_ns = into.now_ns();
        let io = if asks_for_io && !has_ended { procfs::io_bytes(pid) } else { None };
        let io = io.map(|bytes| (io_ns, bytes));
        let before = self.processes.insert(key, Process { cpu_clock, cpu: (now_ns, cpu_ns), io, is_here: true });
        if let Some(before) = &before {
            let (since_ns, before_ns) = before.cpu;
            let (wall_ns, used_ns) = (now_ns - since_ns, cpu_ns.saturating_sub(before_ns));
            if wall_ns > 0 {
                let percent = used_ns as f64 * 100.0 / wall_ns as f64;
                self.put(into, name::process_cpu_percent, Some(pid), since_ns, percent);
            }
        }
        if has_ended {
            // Its memory is gone, and there is no thread any more.
            return;
        }
        let rss = stat.rss_pages.saturating_mul(limits::page_bytes());
        self.put(into, name::process_rss_bytes, Some(pid), now_ns, rss as f64);
        self.put(into, name::process_threads, Some(pid), now_ns, stat.threads as f64);
        if let (Some((since_ns, before)), Some((now_ns, bytes))) = (before.and_then(|before| before.io), io) {
            let names = [
                name::process_read_bytes_per_s,
                name::process_write_bytes_per_s,
                name::process_disk_read_bytes_per_s,
                name::process_disk_write_bytes_per_s,
            ];
            for (metric, rate) in names.into_iter().zip(rates(before, bytes, now_ns - since_ns)) {
                if let Some(rate) = rate {
                    self.put(into, metric, Some(pid), since_ns, rate);
                }
            }
        }
    }
}

impl Sampler for Host {
    fn name(&self) -> &'static str {
        "system"
    }

    fn period(&self) -> Duration {
        self.period
    }

    fn sample(&mut self, processes: &Processes, into: &Recorder) {
        self.last_ns = Some(into.now_ns());
        self.samples += 1;
        self.machine(into);
        self.processes.values_mut().for_each(|process| process.is_here = false);
        for member in processes.members() {
            self.process(&member, into);
        }
        self.processes.retain(|_, process| process.is_here);
        into.push_all(self.rows.drain(..));
    }

    /// The time since the last sample belongs to the run too, unless it is too short to be measured.
    fn closing(&mut self, processes: &Processes, into: &Recorder, _missed: u64) {
        let since_ns = into.now_ns() - self.last_ns.unwrap_or(0);
        let half_ns = i64::try_from(self.period.as_nanos() / 2).unwrap_or(i64::MAX);
        if self.samples == 1 || since_ns > half_ns {
            self.sample(processes, into);
        }
    }
}

/// What counters have grown by per second; `None` for one that ran backwards.
fn rates<const N: usize>(before: [u64; N], after: [u64; N], wall_ns: i64) -> [Option<f64>; N] {
    std::array::from_fn(|i| {
        let grown = after[i].checked_sub(before[i]).filter(|_| wall_ns > 0)?;
        Some(grown as f64 * 1e9 / wall_ns as f64)
    })
}

impl CpuClock {
    /// The better way to ask, and what it says.
    fn of(pid: u32, stat: &Stat) -> (CpuClock, u64) {
        match CpuClock::Clock.read(pid, stat) {
            Some(ns) => (CpuClock::Clock, ns),
            None => (CpuClock::Ticks, ticks_ns(stat)),
        }
    }

    /// Nanoseconds on CPUs so far.
    fn read(self, pid: u32, stat: &Stat) -> Option<u64> {
        match self {
            CpuClock::Clock => clock_ns(pid),
            CpuClock::Ticks => Some(ticks_ns(stat)),
        }
    }
}

fn clock_ns(pid: u32) -> Option<u64> {
    u64::try_from(clock::process_cpu(pid)?.as_nanos()).ok()
}

fn ticks_ns(stat: &Stat) -> u64 {
    stat.cpu_ticks.saturating_mul(1_000_000_000 / limits::ticks_per_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_process_is_what_its_own_clock_says() {
        let pid = std::process::id();
        let began = std::time::Instant::now();
        let mut sum = 0_u64;
        while began.elapsed() < Duration::from_millis(50) {
            sum = std::hint::black_box(sum + 1);
        }
        let stat = Stat::read(pid).unwrap();
        let (clock, ns) = CpuClock::of(pid, &stat);
        assert!(ns > 0);
        if clock == CpuClock::Clock {
            // Both count the same, ticks in steps of 10 ms per thread.
            let ticks = ticks_ns(&stat);
            assert!(ns + 1_000_000_000 > ticks, "{ns} {ticks}");
        }
        assert_eq!(clock_ns(0x3f_fffe), None, "no process has that number");
    }

    #[test]
    fn counters_become_rates_unless_they_run_backwards() {
        assert_eq!(rates([10, 10], [30, 5], 2_000_000_000), [Some(10.0), None]);
        assert_eq!(rates([1], [2], 0), [None]);
    }
}
