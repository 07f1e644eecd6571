//! Rows of printed traces to records.

use super::table::Row;
use crate::import::units;
use crate::trace::sink::{Need, ProcessInfo, ProcessIx, Sink, valid_duration};
use std::collections::{BTreeSet, HashMap, HashSet};
use trace_format::tables::{self, *};
use trace_format::vocabulary::uvm_kind::{
    BYTES_DTOD, BYTES_HTOD, CPU_PAGE_FAULTS, GPU_PAGE_FAULTS, REMOTE_MAP, THRASHING, THROTTLING, UNKNOWN,
};
use trace_format::vocabulary::{api_domain, memcpy_kind, memory_kind, uvm_kind};

/// Makes records of rows and pushes them.
pub struct Traces<'n> {
    need: &'n Need,
    processes: HashMap<Option<u32>, ProcessIx>,
    devices: BTreeSet<(usize, u32)>,
    contexts: HashSet<(usize, u32)>,
    /// A device's name was cut off before its number.
    pub devices_cut: bool,
}

/// Processes told apart at most; a process costs memory even without rows.
const PROCESSES: usize = 1000;

impl<'n> Traces<'n> {
    /// Makes the records that `need` wants.
    pub fn new(need: &'n Need) -> Self {
        Traces {
            need,
            processes: HashMap::new(),
            devices: BTreeSet::new(),
            contexts: HashSet::new(),
            devices_cut: false,
        }
    }

    /// Takes one row; says whether it is an API call, and `None` if it is nothing at all.
    pub fn row(&mut self, sink: &mut Sink, pid: Option<u32>, row: &Row) -> Option<bool> {
        let start_ns = row.nanoseconds("Start")?;
        let name = row.value("Name")?;
        let duration = row.nanoseconds("Duration");
        let times = Times {
            start_ns,
            duration_ns: duration.and_then(|duration| {
                // A program's first record may well begin at 0 and last 0 ns.
                valid_duration(start_ns, start_ns.checked_add(duration)?)
                    .or(((start_ns, duration) == (0, 0)).then_some(0))
            }),
        };
        let process = self.process(sink, pid)?;
        if name.starts_with(b"[Unified Memory ") {
            self.unified_memory(sink, process, row, times, name);
        } else if let Some(rest) = name.strip_prefix(b"[CUDA memcpy ") {
            self.memcpy(sink, process, row, times, rest);
        } else if name == b"[CUDA memset]" {
            self.memset(sink, process, row, times);
        } else if row.value("Grid X").or(row.value("Grid Size")).is_some() {
            self.kernel(sink, process, row, times, name);
        } else if row.value("Device").is_some() {
            return None;
        } else {
            self.call(sink, process, row, times, name);
            return Some(true);
        }
        Some(false)
    }

    fn process(&mut self, sink: &mut Sink, pid: Option<u32>) -> Option<ProcessIx> {
        if let Some(&known) = self.processes.get(&pid) {
            return Some(known);
        }
        if self.processes.len() >= PROCESSES {
            return None;
        }
        let process = sink.process(ProcessInfo { pid, ..ProcessInfo::default() });
        self.processes.insert(pid, process);
        Some(process)
    }

    /// Device, context and stream of a row.
    fn place(&mut self, sink: &mut Sink, process: ProcessIx, row: &Row) -> (u32, u32, u32) {
        let device = row.value("Device").map_or(0, |label| self.device(sink, process, label));
        let number = |column| row.integer(column).and_then(|n| u32::try_from(n).ok());
        let (context, stream) = (number("Context"), number("Stream").unwrap_or(0));
        if let Some(context) = context
            && self.contexts.insert((process.0, context))
        {
            let row = ContextRow { context, device, api_kind: None, null_stream: None, parent_context: None };
            sink.push(process, row);
        }
        (device, context.unwrap_or(0), stream)
    }

    /// The device called e.g. `TITAN Xp (0)`. Text cuts the name after 15 characters, number and all.
    fn device(&mut self, sink: &mut Sink, process: ProcessIx, label: &[u8]) -> u32 {
        let split = label.strip_suffix(b")").and_then(|rest| {
            let open = rest.windows(2).rposition(|pair| pair == b" (")?;
            let number = std::str::from_utf8(&rest[open + 2..]).ok()?.parse().ok()?;
            Some((&rest[..open], number))
        });
        self.devices_cut |= split.is_none();
        let (name, device) = split.unwrap_or((label, 0));
        // So many devices no machine has; a file made to harm may.
        if self.devices.len() < 100_000 && self.devices.insert((process.0, device)) {
            let name_id = sink.name(name);
            sink.push(process, DeviceRow { device, name_id, ..DeviceRow::default() });
        }
        device
    }

    fn kernel(&mut self, sink: &mut Sink, process: ProcessIx, row: &Row, times: Times, name: &[u8]) {
        let (device, context, stream) = self.place(sink, process, row);
        if !self.need.wants(&tables::KERNEL) {
            return;
        }
        let (name, correlation) = without_correlation(name);
        let [grid_x, grid_y, grid_z] = sides(row, ["Grid X", "Grid Y", "Grid Z"], "Grid Size");
        let [block_x, block_y, block_z] = sides(row, ["Block X", "Block Y", "Block Z"], "Block Size");
        let name_id = sink.name(name);
        let shape_id = sink.shape(ShapeRow {
            name_id,
            grid_x,
            grid_y,
            grid_z,
            block_x,
            block_y,
            block_z,
            registers: row.integer("Registers Per Thread").or(row.integer("Regs")),
            static_smem_bytes: row.bytes("Static SMem").or(row.bytes("SSMem")),
            dynamic_smem_bytes: row.bytes("Dynamic SMem").or(row.bytes("DSMem")),
            ..ShapeRow::default()
        });
        let Times { start_ns, duration_ns } = times;
        let correlation = id_of(row).or(correlation).unwrap_or(0);
        sink.push(
            process,
            KernelRow {
                start_ns,
                duration_ns,
                shape_id,
                device,
                context,
                stream,
                correlation,
                ..KernelRow::default()
            },
        );
    }

    fn memcpy(&mut self, sink: &mut Sink, process: ProcessIx, row: &Row, times: Times, kind: &[u8]) {
        let (device, context, stream) = self.place(sink, process, row);
        let mut peer = |column| row.value(column).map(|label| self.device(sink, process, label));
        let (src_device, dst_device) = (peer("Src Dev"), peer("Dst Dev"));
        if !self.need.wants(&tables::MEMCPY) {
            return;
        }
        let number = |column| row.integer(column).and_then(|n| u32::try_from(n).ok());
        let kind = kind.strip_suffix(b"]").and_then(|kind| memcpy_kind::VOCABULARY.code(kind));
        let Times { start_ns, duration_ns } = times;
        sink.push(
            process,
            MemcpyRow {
                start_ns,
                duration_ns,
                kind: kind.unwrap_or(memcpy_kind::UNKNOWN),
                src_kind: memory(row.value("SrcMemType")),
                dst_kind: memory(row.value("DstMemType")),
                bytes: row.bytes("Size").unwrap_or(0),
                device,
                context,
                stream,
                src_device,
                dst_device,
                src_context: number("Src Ctx"),
                dst_context: number("Dst Ctx"),
                correlation: id_of(row).unwrap_or(0),
                ..MemcpyRow::default()
            },
        );
    }

    fn memset(&mut self, sink: &mut Sink, process: ProcessIx, row: &Row, times: Times) {
        let (device, context, stream) = self.place(sink, process, row);
        if !self.need.wants(&tables::MEMSET) {
            return;
        }
        let Times { start_ns, duration_ns } = times;
        sink.push(
            process,
            MemsetRow {
                start_ns,
                duration_ns,
                bytes: row.bytes("Size").unwrap_or(0),
                mem_kind: memory(row.value("SrcMemType")),
                device,
                context,
                stream,
                correlation: id_of(row).unwrap_or(0),
                ..MemsetRow::default()
            },
        );
    }

    fn unified_memory(&mut self, sink: &mut Sink, process: ProcessIx, row: &Row, times: Times, name: &[u8]) {
        let label = row.value("Device");
        let places = label.map_or(Vec::new(), places);
        let places: Vec<Option<u32>> =
            places.into_iter().map(|place| place.map(|label| self.device(sink, process, label))).collect();
        if !self.need.wants(&tables::UVM) {
            return;
        }
        // Versions of nvprof differ in one name.
        let name: &[u8] =
            if name == b"[Unified Memory throttle]" { b"[Unified Memory page throttle]" } else { name };
        let kind = uvm_kind::NVPROF.code(name).unwrap_or(UNKNOWN);
        let cell = row.value("Unified Memory").unwrap_or_default();
        let pc = cell.strip_prefix(b"PC ").and_then(hexadecimal);
        let value = match kind {
            // One fault each; GPU faults come in groups whose size is printed, under a column of bytes in CSV.
            CPU_PAGE_FAULTS => Some(1),
            GPU_PAGE_FAULTS => {
                units::count(cell).and_then(|n| i64::try_from(n).ok()).or(row.bytes("Unified Memory"))
            }
            _ => row.bytes("Unified Memory"),
        };
        let Times { start_ns, duration_ns } = times;
        let cpu = places.contains(&None);
        let first = places.first().copied().flatten();
        let (src_device, dst_device) = match kind {
            BYTES_HTOD => (None, first),
            // A mask of the devices that take part; whether the CPU does is a flag.
            THRASHING => {
                let bits = places.iter().flatten().filter_map(|&device| 1u32.checked_shl(device));
                (Some(bits.fold(0, |mask, bit| mask | bit)), None)
            }
            REMOTE_MAP | BYTES_DTOD => (first, places.get(1).copied().flatten()),
            _ => (first, None),
        };
        sink.push(
            process,
            UvmRow {
                start_ns,
                duration_ns,
                kind,
                value: value.unwrap_or(0),
                address: row.value("Virtual Address").and_then(hexadecimal).unwrap_or(0),
                src_device,
                dst_device,
                stream: row.integer("Stream").and_then(|n| u32::try_from(n).ok()),
                flags: matches!(kind, THRASHING | THROTTLING).then_some(u32::from(cpu)),
                pc,
            },
        );
    }

    fn call(&mut self, sink: &mut Sink, process: ProcessIx, row: &Row, times: Times, name: &[u8]) {
        if !self.need.wants(&tables::API) {
            return;
        }
        // A launch says what it launched: `cudaLaunchKernel (f(int*) [112])`. Long ones are cut, bracket and all.
        let (name, correlation) = match name.windows(2).position(|pair| pair == b" (") {
            Some(open) => {
                let launched = &name[open + 2..];
                (&name[..open], without_correlation(launched.strip_suffix(b")").unwrap_or(launched)).1)
            }
            None => without_correlation(name),
        };
        let Times { start_ns, duration_ns } = times;
        let name_id = sink.name(name);
        sink.push(
            process,
            ApiRow {
                start_ns,
                duration_ns,
                domain: api_domain::of_call(name),
                name_id,
                correlation: id_of(row).or(correlation).unwrap_or(0),
                ..ApiRow::default()
            },
        );
    }
}

#[derive(Clone, Copy)]
struct Times {
    start_ns: i64,
    duration_ns: Option<i64>,
}

fn id_of(row: &Row) -> Option<u64> {
    row.integer("Correlation_ID").and_then(|id| u64::try_from(id).ok())
}

/// A name and the correlation id that text and old CSV print behind it: `f(int*) [1130]`.
pub fn without_correlation(name: &[u8]) -> (&[u8], Option<u64>) {
    let split = name.strip_suffix(b"]").and_then(|rest| {
        let open = rest.windows(2).rposition(|pair| pair == b" [")?;
        let digits = &rest[open + 2..];
        let id =
            digits.iter().all(u8::is_ascii_digit).then(|| std::str::from_utf8(digits).ok()?.parse().ok())??;
        Some((&rest[..open], Some(id)))
    });
    split.unwrap_or((name, None))
}

/// The three numbers of three columns of CSV, or of one of text: `(32768 1 1)`.
fn sides(row: &Row, columns: [&str; 3], together: &str) -> [Option<i64>; 3] {
    if let Some(text) = row.value(together) {
        let inner = text.strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")")).unwrap_or(text);
        let mut numbers = inner.split(|&byte| byte == b' ').map(|n| std::str::from_utf8(n).ok()?.parse().ok());
        return [(); 3].map(|()| numbers.next().flatten());
    }
    columns.map(|column| row.integer(column))
}

/// `CUpti_ActivityMemoryKind`.
fn memory(name: Option<&[u8]>) -> u32 {
    memory_kind::NVPROF.code(name.unwrap_or_default()).unwrap_or(memory_kind::UNKNOWN)
}

fn hexadecimal(text: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(text.strip_prefix(b"0x")?).ok()?, 16).ok()
}

/// The places of an event of unified memory, `None` for the CPU: `CPU, TITAN Xp (0), TITAN Xp (1)`. Text may be cut.
fn places(label: &[u8]) -> Vec<Option<&[u8]>> {
    let mut places = Vec::new();
    let mut rest = label;
    while !rest.is_empty() {
        let next = match rest {
            b"CPU" => 3,
            _ if rest.starts_with(b"CPU,") => 3,
            _ => rest.windows(3).position(|three| three == b"), ").map_or(rest.len(), |at| at + 1),
        };
        let place = &rest[..next];
        let place = place.strip_suffix(b",").unwrap_or(place);
        places.push(Some(place).filter(|place| *place != b"CPU"));
        rest = rest[next..].strip_prefix(b",").unwrap_or(&rest[next..]).trim_ascii_start();
    }
    places
}
