//! Rows of `nsys stats` traces to records.

use super::Row;
use crate::trace::sink::{Need, ProcessInfo, ProcessIx, Sink, valid_duration};
use std::collections::{HashMap, HashSet};
use trace_format::tables::{self, *};
use trace_format::vocabulary::{api_domain, memcpy_kind, memory_kind};

/// Makes records of rows and pushes them.
pub struct Records<'n> {
    need: &'n Need,
    processes: HashMap<Option<u32>, ProcessIx>,
    devices: HashSet<(usize, u32)>,
    contexts: HashSet<(usize, u32)>,
    threads: HashSet<(usize, u32)>,
    launches: u64,
    /// A device without a number was met.
    pub devices_lost: bool,
}

/// Processes told apart at most; a process costs memory even without rows.
const PROCESSES: usize = 1000;

/// Devices, contexts and threads listed at most.
const LISTED: usize = 1_000_000;

impl<'n> Records<'n> {
    /// Makes the records that `need` wants.
    pub fn new(need: &'n Need) -> Self {
        Records {
            need,
            processes: HashMap::new(),
            devices: HashSet::new(),
            contexts: HashSet::new(),
            threads: HashSet::new(),
            launches: 0,
            devices_lost: false,
        }
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

    /// A table of GPU work does not say whose it is. If other tables know of one process alone, it is that one's.
    pub fn finish(&mut self, sink: &mut Sink) {
        let unnamed = self.processes.remove(&None);
        let mut named = self.processes.values();
        if let (Some(ProcessIx(unnamed)), Some(&ProcessIx(named)), None) = (unnamed, named.next(), named.next()) {
            sink.finish();
            let kept = std::mem::take(&mut sink.processes[unnamed].kept);
            sink.processes[named].kept.extend(kept);
            sink.processes.remove(unnamed);
        }
    }

    /// The device called e.g. `Tesla T4 (0)`.
    fn device(&mut self, sink: &mut Sink, process: ProcessIx, label: Option<&[u8]>) -> u32 {
        let Some(label) = label else { return 0 };
        let split = label.strip_suffix(b")").and_then(|rest| {
            let open = rest.windows(2).rposition(|pair| pair == b" (")?;
            let number = std::str::from_utf8(&rest[open + 2..]).ok()?.parse().ok()?;
            Some((&rest[..open], number))
        });
        self.devices_lost |= split.is_none();
        let (name, device) = split.unwrap_or((label, 0));
        if self.devices.len() < LISTED && self.devices.insert((process.0, device)) {
            let name_id = sink.name(name);
            sink.push(process, DeviceRow { device, name_id, ..DeviceRow::default() });
        }
        device
    }

    /// A row of `cuda_gpu_trace`; `None` if it is none.
    pub fn gpu(&mut self, sink: &mut Sink, row: &Row) -> Option<()> {
        let (start_ns, duration_ns) = times(row, "start", "duration")?;
        let name = row.text("name")?;
        // The table has no process; ids of correlation are only unique within one.
        let process = self.process(sink, row.id("pid"))?;
        let device = self.device(sink, process, row.text("device"));
        let context = row.id("ctx").unwrap_or(0);
        let stream = row.id("strm").unwrap_or(0);
        if self.contexts.len() < LISTED && row.text("ctx").is_some() && self.contexts.insert((process.0, context)) {
            let row = ContextRow { context, device, api_kind: None, null_stream: None, parent_context: None };
            sink.push(process, row);
        }
        let correlation = row.id("corrid").unwrap_or(0);
        let bytes = row.bytes("bytes").unwrap_or(0);
        let (src_kind, dst_kind) = (memory(row.text("srcmemkd")), memory(row.text("dstmemkd")));
        if let Some(kind) = name.strip_prefix(b"[CUDA memcpy ") {
            if self.need.wants(&tables::MEMCPY) {
                let kind = copy(kind.strip_suffix(b"]").unwrap_or(kind));
                let row = MemcpyRow {
                    start_ns,
                    duration_ns,
                    kind,
                    src_kind,
                    dst_kind,
                    bytes,
                    device,
                    context,
                    stream,
                    correlation,
                    ..MemcpyRow::default()
                };
                sink.push(process, row);
            }
        } else if name.starts_with(b"[CUDA memset") {
            if self.need.wants(&tables::MEMSET) {
                let row = MemsetRow {
                    start_ns,
                    duration_ns,
                    bytes,
                    mem_kind: src_kind.max(dst_kind),
                    device,
                    context,
                    stream,
                    correlation,
                    ..MemsetRow::default()
                };
                sink.push(process, row);
            }
        } else if self.need.wants(&tables::KERNEL) {
            let name_id = sink.name(name);
            let shape_id = sink.shape(ShapeRow {
                name_id,
                grid_x: row.integer("grdx"),
                grid_y: row.integer("grdy"),
                grid_z: row.integer("grdz"),
                block_x: row.integer("blkx"),
                block_y: row.integer("blky"),
                block_z: row.integer("blkz"),
                registers: row.integer("reg/trd"),
                static_smem_bytes: row.bytes("stcsmem"),
                dynamic_smem_bytes: row.bytes("dymsmem"),
                demangled_id: Some(name_id),
                ..ShapeRow::default()
            });
            let row = KernelRow {
                start_ns,
                duration_ns,
                shape_id,
                device,
                context,
                stream,
                correlation,
                ..KernelRow::default()
            };
            sink.push(process, row);
        }
        Some(())
    }

    /// A row of `cuda_api_trace`.
    pub fn call(&mut self, sink: &mut Sink, row: &Row) -> Option<()> {
        let (start_ns, duration_ns) = times(row, "start", "duration")?;
        let name = row.text("name")?;
        let process = self.process(sink, row.id("pid"))?;
        let tid = row.id("tid").unwrap_or(0);
        if let Some(thread) = row.text("threadname")
            && self.threads.len() < LISTED
            && self.threads.insert((process.0, tid))
        {
            let name_id = sink.name(thread);
            sink.push(process, ThreadRow { tid, name_id });
        }
        if self.need.wants(&tables::API) {
            let correlation = row.id("corrid").unwrap_or(0);
            let call = Call { name, start_ns, duration_ns, tid, correlation, result: row.id("result") };
            self.push_call(sink, process, &call);
        }
        Some(())
    }

    fn push_call(&self, sink: &mut Sink, process: ProcessIx, call: &Call) {
        let &Call { name, start_ns, duration_ns, tid, correlation, result } = call;
        let name_id = sink.name(name);
        let domain = api_domain::of_call(name);
        let row = ApiRow { start_ns, duration_ns, domain, cbid: 0, name_id, tid, correlation, result };
        sink.push(process, row);
    }

    /// A row of `cuda_kern_exec_trace`: a call and the kernel that it launched. The table does not say their
    /// correlation id, so they get one of their own.
    pub fn launch(&mut self, sink: &mut Sink, row: &Row) -> Option<()> {
        let (call_start, call_duration) = times(row, "apistart", "apidur")?;
        let (start_ns, duration_ns) = times(row, "kernelstart", "kerneldur")?;
        let (call, name) = (row.text("apifunction")?, row.text("kernelname")?);
        let process = self.process(sink, row.id("pid"))?;
        self.launches += 1;
        let correlation = self.launches;
        if self.need.wants(&tables::API) {
            let tid = row.id("tid").unwrap_or(0);
            let call = Call {
                name: call,
                start_ns: call_start,
                duration_ns: call_duration,
                tid,
                correlation,
                result: None,
            };
            self.push_call(sink, process, &call);
        }
        if self.need.wants(&tables::KERNEL) {
            let name_id = sink.name(name);
            let [grid_x, grid_y, grid_z] = sides(row.text("gridxyz"));
            let [block_x, block_y, block_z] = sides(row.text("blockxyz"));
            let demangled_id = Some(name_id);
            let shape_id = sink.shape(ShapeRow {
                name_id,
                grid_x,
                grid_y,
                grid_z,
                block_x,
                block_y,
                block_z,
                demangled_id,
                ..ShapeRow::default()
            });
            let device = row.id("devid").unwrap_or(0);
            sink.push(
                process,
                KernelRow { start_ns, duration_ns, shape_id, device, correlation, ..KernelRow::default() },
            );
        }
        Some(())
    }

    /// A row of `nvtx_pushpop_trace`.
    pub fn range(&mut self, sink: &mut Sink, row: &Row) -> Option<()> {
        let (start_ns, end_ns) = (row.nanoseconds("start")?, row.nanoseconds("end"));
        let name = row.text("name").unwrap_or_default();
        let process = self.process(sink, row.id("pid"))?;
        if self.need.wants(&tables::RANGE) {
            // `domain:text`, and `:text` or the text alone in the default domain; text may hold colons too.
            let name_id = sink.name(name.strip_prefix(b":").unwrap_or(name));
            let range_id = row.id("rangeid").unwrap_or(0);
            let tid = row.id("tid").unwrap_or(0);
            sink.push(process, RangeRow { start_ns, end_ns, name_id, range_id, tid, ..RangeRow::default() });
        }
        Some(())
    }
}

struct Call<'r> {
    name: &'r [u8],
    start_ns: i64,
    duration_ns: Option<i64>,
    tid: u32,
    correlation: u64,
    result: Option<u32>,
}

/// Start and duration; the duration is null where the two cannot both be right.
fn times(row: &Row, start: &str, duration: &str) -> Option<(i64, Option<i64>)> {
    let start_ns = row.nanoseconds(start)?;
    let end_ns = row.nanoseconds(duration).and_then(|duration| start_ns.checked_add(duration));
    Some((start_ns, end_ns.and_then(|end_ns| valid_duration(start_ns, end_ns))))
}

/// `   1    1    1`, `[1, 2, 3]`, `1x2x3`: versions differ.
fn sides(text: Option<&[u8]>) -> [Option<i64>; 3] {
    let text = text.unwrap_or_default();
    let mut numbers = text.split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty());
    [(); 3].map(|()| std::str::from_utf8(numbers.next()?).ok()?.parse().ok())
}

/// CUPTI's number of a kind of copy, by its older or its newer name.
fn copy(name: &[u8]) -> u32 {
    let known = memcpy_kind::VOCABULARY.code(name).or_else(|| memcpy_kind::NSYS.code(name));
    known.unwrap_or(memcpy_kind::UNKNOWN)
}

/// `CUpti_ActivityMemoryKind`.
fn memory(name: Option<&[u8]>) -> u32 {
    memory_kind::NVPROF.code(name.unwrap_or_default()).unwrap_or(memory_kind::UNKNOWN)
}
