//! Numbers out of files in `/proc`.

use std::fs;

/// Ticks of all CPUs since the machine started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CpuTicks {
    /// All.
    pub total: u64,
    /// Those spent idle or waiting for disks.
    pub idle: u64,
}

impl CpuTicks {
    pub(super) fn read() -> Option<CpuTicks> {
        CpuTicks::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// `cpu  user nice system idle iowait irq softirq steal guest guest_nice`; guests' time is in the first two already.
    fn parse(text: &str) -> Option<CpuTicks> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<u64> = line.split_ascii_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
        let idle = ticks.get(3)? + ticks.get(4).copied().unwrap_or(0);
        Some(CpuTicks { total: ticks.iter().sum(), idle })
    }

    /// Percent of the time since `before` that was busy; `None` if no tick has passed, or counters ran backwards.
    pub(super) fn busy_percent_since(&self, before: &CpuTicks) -> Option<f64> {
        let total = self.total.checked_sub(before.total).filter(|ticks| *ticks > 0)?;
        // The kernel lets idle time go back a little now and then.
        let idle = self.idle.saturating_sub(before.idle).min(total);
        Some((total - idle) as f64 * 100.0 / total as f64)
    }
}

/// The load of the last minute.
pub(super) fn load_1min() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_ascii_whitespace().next()?.parse().ok()
}

/// Memory in use, bytes.
pub(super) fn memory_used_bytes() -> Option<u64> {
    memory_used(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn memory_used(text: &str) -> Option<u64> {
    let bytes = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
    };
    bytes("MemTotal")?.checked_sub(bytes("MemAvailable")?)
}

/// Bytes received and sent through all interfaces but the loopback.
pub(super) fn network_bytes() -> Option<[u64; 2]> {
    network(&fs::read_to_string("/proc/net/dev").ok()?)
}

fn network(text: &str) -> Option<[u64; 2]> {
    let mut sum = [0_u64; 2];
    // Two lines of headings.
    for line in text.lines().skip(2) {
        let (name, numbers) = line.split_once(':')?;
        if name.trim() == "lo" {
            continue;
        }
        let fields: Vec<u64> = numbers.split_ascii_whitespace().map_while(|n| n.parse().ok()).collect();
        sum[0] = sum[0].wrapping_add(*fields.first()?);
        sum[1] = sum[1].wrapping_add(*fields.get(8)?);
    }
    Some(sum)
}

/// Bytes that a process has read and written by system calls, and from and to disks. `None`: it has ended, or is
/// somebody else's.
pub(super) fn io_bytes(pid: u32) -> Option<[u64; 4]> {
    io(&fs::read_to_string(format!("/proc/{pid}/io")).ok()?)
}

fn io(text: &str) -> Option<[u64; 4]> {
    let number = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        line.trim().parse().ok()
    };
    Some([number("rchar")?, number("wchar")?, number("read_bytes")?, number("write_bytes")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_all_but_idle_and_waiting() {
        let before = CpuTicks::parse("cpu  100 0 50 800 50 0 0 0 7 0\ncpu0 1 2\n").unwrap();
        assert_eq!(before, CpuTicks { total: 1000, idle: 850 });
        let after = CpuTicks::parse("cpu  150 0 75 860 65 0 0 0 9 0\n").unwrap();
        assert_eq!(after.busy_percent_since(&before), Some(50.0));
        assert_eq!(before.busy_percent_since(&before), None);
        assert_eq!(before.busy_percent_since(&after), None);
        assert_eq!(CpuTicks::parse("intr 1\n"), None);
    }

    #[test]
    fn memory_in_use_is_what_is_not_available() {
        let text = "MemTotal:       1000 kB\nMemFree:  1 kB\nMemAvailable:    400 kB\n";
        assert_eq!(memory_used(text), Some(600 * 1024));
        assert_eq!(memory_used("MemTotal: 3 kB\n"), None);
    }

    #[test]
    fn the_loopback_is_no_network() {
        let text = "Inter-|   Receive\n face |bytes\n    lo: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n  eth0: 5 1 0 0 0 0 0 0 7 \
                    1 0 0 0 0 0 0\nib0:100 1 0 0 0 0 0 0 200 1 0 0 0 0 0 0\n";
        assert_eq!(network(text), Some([105, 207]));
    }

    #[test]
    fn bytes_of_a_process_are_found_by_name() {
        let text = "rchar: 10\nwchar: 20\nsyscr: 1\nsyscw: 1\nread_bytes: 30\nwrite_bytes: 40\ncancelled: 0\n";
        assert_eq!(io(text), Some([10, 20, 30, 40]));
        assert_eq!(io("rchar: 10\n"), None);
    }
}
