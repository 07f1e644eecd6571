//! The numbers of a window: what [`State`] has kept, as rates and shares.

use super::bins::{BIN_NS, Copies, Counts, Kernels, OTHERS};
use super::names::Label;
use super::state::State;
use crate::live::recording::{Fate, Recording};
use hashbrown::HashMap;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use trace_format::vocabulary::memcpy_kind;

/// A trace that is written every half second may still be silent for so long while little happens: the collector
/// stretches its interval to five seconds. Only beyond that is silence told apart from idleness.
const SILENCE_NS: i64 = 6_500_000_000;

/// A process as the screen and scripts get it. Times and sizes are in base units, as the names say.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// The trace.
    pub path: PathBuf,
    /// `live`, `closed` or `not-closed`.
    pub state: &'static str,
    /// Process id.
    pub pid: Option<u64>,
    /// Rank in a distributed job.
    pub rank: Option<u64>,
    /// Host.
    pub host: Option<String>,
    /// The program, without its folder.
    pub program: Option<String>,
    /// Its command line.
    pub command: Option<String>,
    /// Length of the window: shorter than asked for where the trace is.
    pub window_ns: i64,
    /// Begin of the window, on the trace clock.
    pub from_ns: Option<i64>,
    /// End of the window, on the trace clock.
    pub to_ns: Option<i64>,
    /// Begin of the window in Unix time, if the trace has an epoch.
    pub from_unix_ns: Option<i64>,
    /// End of the window in Unix time, if the trace has an epoch.
    pub to_unix_ns: Option<i64>,
    /// How far the newest record lies behind the clock, of a trace that grows.
    pub lag_ns: Option<i64>,
    /// Interval at which the collector writes, if the trace says.
    pub flush_interval_ns: Option<i64>,
    /// Size of the trace on disk.
    pub file_bytes: u64,
    /// How fast it grows; null: not measured yet.
    pub file_bytes_per_s: Option<f64>,
    /// Records of the whole trace.
    pub records: u64,
    /// Records that started in the window.
    pub window_records: u64,
    /// Records per second.
    pub records_per_s: f64,
    /// API calls per second; null: not recorded.
    pub calls_per_s: Option<f64>,
    /// Calls in the window that launch kernels or graphs; null: not recorded.
    pub launches: Option<u64>,
    /// Launches per second.
    pub launches_per_s: Option<f64>,
    /// Calls in the window that returned an error; null: not recorded.
    pub failed_calls: Option<u64>,
    /// Kernels that were launched and not finished, on average; null: which call launched which kernel is not known.
    pub queue: Option<f64>,
    /// From the start of the call to the start of the kernel, on average.
    pub launch_to_start_mean_ns: Option<f64>,
    /// The longest of them.
    pub launch_to_start_max_ns: Option<u64>,
    /// Records known to be lost, in the whole trace.
    pub lost_records: u64,
    /// Records known to be lost in the window.
    pub window_lost_records: u64,
    /// Rows of the trace that cannot be read.
    pub damaged_rows: u64,
    /// Records without possible times: they are in no sum.
    pub records_without_times: u64,
    /// Its devices.
    pub devices: Vec<Device>,
    /// Kernels of the window, the longest together first.
    pub kernels: Vec<Kernel>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// A device in the window.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// CUDA's index of it in this process.
    pub device: u32,
    /// Its name.
    pub name: Option<String>,
    /// Its UUID.
    pub uuid: Option<String>,
    /// Share of the window in which a kernel, a copy or a fill ran: 0 to 1.
    pub busy_share: f64,
    /// The time in which it was busy, in nanoseconds.
    pub busy_ns: u64,
    /// Kernels that started.
    pub kernels: u64,
    /// Their durations together: more than the window where they ran beside each other.
    pub kernel_ns: u64,
    /// Copies by direction.
    pub copies: Vec<Transfers>,
}

/// Copies of one direction in the window.
#[derive(Clone, Debug, Serialize)]
pub struct Transfers {
    /// `HtoD` and so on; a number where it is not known.
    pub direction: String,
    /// How many started.
    pub count: u64,
    /// Bytes.
    pub bytes: u64,
    /// Bytes per second of the window.
    pub bytes_per_s: f64,
    /// Durations together.
    pub total_ns: u64,
}

/// Kernels of one name on one device in the window.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// CUDA's index of the device in this process.
    pub device: u32,
    /// The name without namespaces, arguments and parameters.
    pub short_name: String,
    /// The name for little room, with its template arguments shortened; programs have the other two.
    #[serde(skip)]
    pub brief_name: String,
    /// The whole name, demangled.
    pub name: String,
    /// How many started.
    pub count: u64,
    /// Durations together.
    pub total_ns: u64,
    /// Mean duration.
    pub mean_ns: f64,
    /// Longest duration.
    pub max_ns: u64,
    /// Durations together as a share of the window: more than 1 where they ran beside each other.
    pub window_share: f64,
}

/// The window of a recording: its first and last bin, its begin and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    first: i64,
    last: i64,
    from_ns: i64,
    to_ns: i64,
}

/// The last `length_ns` that the recording tells of. Its end is the newest record of a finished trace; of one that
/// grows it moves on with the clock when nothing has come for longer than the collector ever waits. It begins where a
/// bin does, or with the trace.
fn window(state: &State, fate: Fate, silent_ns: i64, length_ns: i64) -> Option<Window> {
    let to_ns = match fate {
        Fate::Live => state.horizon_ns()?.saturating_add((silent_ns - patience_ns(&state.process)).max(0)),
        Fate::Closed | Fate::NotClosed => state.newest_ns?,
    };
    let bins = &state.bins;
    let wanted_ns = to_ns.saturating_sub(length_ns);
    let mut first = bins.number(wanted_ns);
    if bins.begin_ns(first) < wanted_ns {
        first += 1;
    }
    let from_ns = bins.begin_ns(first).max(state.oldest_ns.unwrap_or(i64::MIN)).min(to_ns);
    Some(Window { first, last: bins.number(to_ns), from_ns, to_ns })
}

/// The numbers of a recording's last `length_ns`. `bytes_per_s`: how fast its file grows.
pub fn process(
    recording: &Recording,
    state: &State,
    length_ns: i64,
    now: SystemTime,
    bytes_per_s: Option<f64>,
) -> Process {
    let fate = recording.fate();
    let silent_ns =
        now.duration_since(recording.grew()).map_or(0, |d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX));
    let window = window(state, fate, silent_ns, length_ns);
    let length_ns = window.map_or(0, |w| w.to_ns.saturating_sub(w.from_ns));
    let sums = window.map(|w| Sums::of(state, w)).unwrap_or_default();
    let per_s = |count: u64| if length_ns > 0 { count as f64 * 1e9 / length_ns as f64 } else { 0.0 };
    let text = |key: &str| state.process.get(key).and_then(Value::as_str).map(str::to_owned);
    let argv: Vec<&str> = state
        .process
        .get("argv")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let offset_ns = state.unix_offset_ns();
    let unix = |time_ns: Option<i64>| time_ns.zip(offset_ns).map(|(time, offset)| time.saturating_add(offset));
    let now_unix_ns = now.duration_since(UNIX_EPOCH).ok().and_then(|d| i64::try_from(d.as_nanos()).ok());
    let lag_ns = unix(state.newest_ns).zip(now_unix_ns).map(|(newest, now)| (now - newest).max(0));
    let Counts { records, calls, launches, failed, lost, waits } = sums.counts;
    let with_calls = |value: u64| state.has_calls.then_some(value);
    let has_waits = waits.count > 0 && length_ns > 0;
    let mut view = Process {
        path: recording.path.clone(),
        state: match fate {
            Fate::Live => "live",
            Fate::Closed => "closed",
            Fate::NotClosed => "not-closed",
        },
        pid: state.process.get("pid").and_then(Value::as_u64),
        rank: state.process.get("rank").and_then(Value::as_u64),
        host: text("host"),
        program: argv.first().map(|path| file_name(path).to_owned()),
        command: (!argv.is_empty()).then(|| argv.join(" ")),
        window_ns: length_ns,
        from_ns: window.map(|w| w.from_ns),
        to_ns: window.map(|w| w.to_ns),
        from_unix_ns: unix(window.map(|w| w.from_ns)),
        to_unix_ns: unix(window.map(|w| w.to_ns)),
        lag_ns: lag_ns.filter(|_| fate == Fate::Live),
        flush_interval_ns: flush_interval_ns(&state.process),
        file_bytes: recording.len_bytes(),
        file_bytes_per_s: bytes_per_s.filter(|_| fate == Fate::Live),
        records: state.records,
        window_records: records,
        records_per_s: per_s(records),
        calls_per_s: with_calls(calls).map(per_s),
        launches: with_calls(launches),
        launches_per_s: with_calls(launches).map(per_s),
        failed_calls: with_calls(failed),
        queue: has_waits.then(|| waits.open_ns as f64 / length_ns as f64),
        launch_to_start_mean_ns: has_waits.then(|| waits.total_ns as f64 / waits.count as f64),
        launch_to_start_max_ns: has_waits.then_some(waits.max_ns),
        lost_records: state.lost,
        window_lost_records: lost,
        damaged_rows: state.damaged,
        records_without_times: state.timeless,
        devices: sums.devices(state, length_ns),
        kernels: sums.kernels(state, length_ns),
        notes: recording.remarks.clone(),
    };
    view.notes.extend(notes(&view, silent_ns, &state.process));
    view
}

fn notes(view: &Process, silent_ns: i64, process: &Value) -> Vec<String> {
    let mut notes = Vec::new();
    if view.state == "not-closed" {
        notes.push("the trace was not closed: its program was killed or lies on another machine".to_owned());
    }
    if view.state == "live" && silent_ns > patience_ns(process) {
        let seconds = silent_ns / 1_000_000_000;
        notes.push(format!("nothing was written for {seconds} s: the program does nothing on the GPU, or hangs"));
    }
    if let Some(cause) = process.get("cause_text").and_then(Value::as_str) {
        notes.push(format!("nothing is recorded: {cause}"));
    }
    if view.lost_records > 0 {
        notes.push(format!("{} records are lost: see `gpuprof info`", view.lost_records));
    }
    if view.damaged_rows > 0 {
        notes.push(format!("{} rows of the file cannot be read", view.damaged_rows));
    }
    notes
}

/// Sums over the bins of a window.
#[derive(Default)]
struct Sums {
    counts: Counts,
    kernels: HashMap<(u32, u32), Kernels>,
    copies: HashMap<(u32, u32), Copies>,
    busy_ns: HashMap<u32, u64>,
}

impl Sums {
    fn of(state: &State, window: Window) -> Sums {
        let mut sums = Sums::default();
        for (number, bin) in state.bins.range(window.first, window.last) {
            sums.counts.add(&bin.counts);
            bin.kernels().for_each(|(key, kernels)| sums.kernels.entry(key).or_default().add(kernels));
            bin.copies().for_each(|(key, copies)| sums.copies.entry(key).or_default().add(copies));
            let until = (window.to_ns - state.bins.begin_ns(number)).clamp(0, BIN_NS) as u32;
            bin.busy_ns(until).for_each(|(device, ns)| *sums.busy_ns.entry(device).or_default() += ns);
        }
        sums
    }

    fn devices(&self, state: &State, length_ns: i64) -> Vec<Device> {
        let share = |ns: u64| if length_ns > 0 { ns as f64 / length_ns as f64 } else { 0.0 };
        let device = |known: &super::state::Device| {
            let of_device = |key: &(u32, u32)| key.0 == known.device;
            let kernels = self.kernels.iter().filter(|(key, _)| of_device(key)).map(|(_, kernels)| kernels);
            let (count, total_ns) =
                kernels.fold((0, 0u64), |(n, ns), k| (n + k.count, ns.saturating_add(k.total_ns)));
            let mut copies: Vec<(u32, Copies)> = self
                .copies
                .iter()
                .filter(|(key, _)| of_device(key))
                .map(|(key, copies)| (key.1, *copies))
                .collect();
            copies.sort_unstable_by_key(|(kind, _)| *kind);
            let copies = copies.into_iter().map(|(kind, copies)| Transfers {
                direction: memcpy_kind::VOCABULARY.text(kind).into_owned(),
                count: copies.count,
                bytes: copies.bytes,
                bytes_per_s: if length_ns > 0 { copies.bytes as f64 * 1e9 / length_ns as f64 } else { 0.0 },
                total_ns: copies.total_ns,
            });
            let busy_ns = self.busy_ns.get(&known.device).copied().unwrap_or(0);
            Device {
                device: known.device,
                name: known.name.clone(),
                uuid: known.uuid.clone(),
                busy_share: share(busy_ns),
                busy_ns,
                kernels: count,
                kernel_ns: total_ns,
                copies: copies.collect(),
            }
        };
        state.devices.iter().map(device).collect()
    }

    fn kernels(&self, state: &State, length_ns: i64) -> Vec<Kernel> {
        let kernel = |(&(device, group), kernels): (&(u32, u32), &Kernels)| {
            let Label { full, base, brief } = match group {
                OTHERS => Label::plain("(other kernels)"),
                _ => state.names.label(group).clone(),
            };
            Kernel {
                device,
                short_name: base,
                brief_name: brief,
                name: full,
                count: kernels.count,
                total_ns: kernels.total_ns,
                mean_ns: kernels.total_ns as f64 / kernels.count.max(1) as f64,
                max_ns: kernels.max_ns,
                window_share: if length_ns > 0 { kernels.total_ns as f64 / length_ns as f64 } else { 0.0 },
            }
        };
        let mut rows: Vec<Kernel> = self.kernels.iter().map(kernel).collect();
        rows.sort_by(|a, b| {
            b.total_ns.cmp(&a.total_ns).then_with(|| a.name.cmp(&b.name)).then_with(|| a.device.cmp(&b.device))
        });
        rows
    }
}

/// The interval at which the collector writes.
fn flush_interval_ns(process: &Value) -> Option<i64> {
    let text = process.get("configuration")?.get("GPUPROF_FLUSH_MS")?.as_str()?;
    let (digits, unit_ns) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1_000_000),
        None => (text.strip_suffix('s')?, 1_000_000_000),
    };
    digits.parse::<i64>().ok()?.checked_mul(unit_ns)
}

/// How long a trace may be silent though its program is busy.
fn patience_ns(process: &Value) -> i64 {
    SILENCE_NS.max(flush_interval_ns(process).unwrap_or(0).saturating_add(1_500_000_000))
}

fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}
