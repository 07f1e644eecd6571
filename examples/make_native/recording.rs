//! A trace being written: what the collector would do with the same records.

use crate::Result;
use crate::lines::Lines;
use crate::random::Random;
use serde_json::json;
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use trace_format::header::FileHeader;
use trace_format::schema::RowBuilder;
use trace_format::tables::{
    self, ApiRow, ClockRow, ContextRow, DeviceRow, KernelRow, MemcpyRow, MemsetRow, ShapeRow, StringRow,
};
use trace_format::write::{TraceWriter, WriteOptions};

/// What is recorded.
#[derive(Clone, Copy)]
pub struct Program {
    pub argv: &'static [&'static str],
    pub device: &'static str,
    pub capability: (u32, u32),
    pub multiprocessors: i64,
    pub memory_bytes: i64,
    pub devices: u32,
}

/// The made-up training job.
pub const BENCH: Program = Program {
    argv: &["python3", "train.py"],
    device: "NVIDIA H100 80GB HBM3",
    capability: (9, 0),
    multiprocessors: 132,
    memory_bytes: 85_028_765_696,
    devices: 2,
};

pub const PID: u32 = 4_242;
/// When recording began, Unix time.
const BEGIN_UNIX_NS: i64 = 1_700_000_000_000_000_000;
/// The clock of the trace at that moment.
pub const BEGIN_NS: i64 = 1_000_000;

/// An API call: name with its version, domain (0 runtime, 1 driver), callback id.
#[derive(Clone, Copy)]
pub struct Call {
    pub name: &'static str,
    pub domain: u32,
    pub cbid: u32,
}

impl Call {
    /// The name as programs write it.
    pub fn plain_name(&self) -> &'static str {
        match (self.domain, self.name.rsplit_once("_v")) {
            (0, Some((name, version))) if version.len() >= 4 => name,
            (1, Some((name, _))) => name,
            _ => self.name,
        }
    }
}

const fn runtime(name: &'static str, cbid: u32) -> Call {
    Call { name, domain: 0, cbid }
}

const fn driver(name: &'static str, cbid: u32) -> Call {
    Call { name, domain: 1, cbid }
}

/// The API calls of the bench; the first six launch work, the first three kernels.
pub const CALLS: [Call; 40] = [
    runtime("cudaLaunchKernel_v7000", 211),
    driver("cuLaunchKernel", 307),
    runtime("cudaLaunchKernelExC_v11060", 430),
    runtime("cudaMemcpyAsync_v3020", 41),
    runtime("cudaMemcpy_v3020", 31),
    runtime("cudaMemsetAsync_v3020", 51),
    runtime("cudaStreamSynchronize_v3020", 131),
    runtime("cudaDeviceSynchronize_v3020", 165),
    runtime("cudaEventRecord_v3020", 135),
    runtime("cudaEventQuery_v3020", 138),
    runtime("cudaEventSynchronize_v3020", 137),
    runtime("cudaStreamWaitEvent_v3020", 147),
    runtime("cudaEventCreateWithFlags_v3020", 134),
    runtime("cudaEventDestroy_v3020", 136),
    runtime("cudaMalloc_v3020", 20),
    runtime("cudaFree_v3020", 22),
    runtime("cudaMallocAsync_v11020", 373),
    runtime("cudaFreeAsync_v11020", 375),
    runtime("cudaHostAlloc_v3020", 27),
    runtime("cudaFreeHost_v3020", 26),
    runtime("cudaGetDevice_v3020", 17),
    runtime("cudaSetDevice_v3020", 16),
    runtime("cudaDeviceGetAttribute_v5000", 200),
    runtime("cudaFuncGetAttributes_v3020", 15),
    runtime("cudaFuncSetAttribute_v9000", 273),
    runtime("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags_v7000", 251),
    runtime("cudaStreamIsCapturing_v10000", 317),
    runtime("cudaStreamCreateWithPriority_v5050", 202),
    runtime("cudaStreamGetCaptureInfo_v2_v11030", 409),
    runtime("cudaGraphLaunch_v10000", 311),
    runtime("cudaGraphInstantiate_v10000", 310),
    runtime("cudaPointerGetAttributes_v4000", 151),
    runtime("cudaPeekAtLastError_v3020", 11),
    runtime("cudaGetLastError_v3020", 10),
    driver("cuModuleLoadData", 19),
    driver("cuModuleGetFunction", 23),
    driver("cuCtxGetCurrent", 304),
    driver("cuDeviceGetAttribute", 9),
    driver("cuMemGetInfo_v2", 242),
    runtime("cudaStreamDestroy_v5050", 201),
];

/// Rows on their way into the file, one builder per table.
pub struct Recording {
    writer: TraceWriter<File>,
    names: HashMap<Vec<u8>, u32>,
    shapes: HashMap<[i64; 7], u32>,
    strings: tables::string::StringBuilder,
    new_shapes: tables::shape::ShapeBuilder,
    kernels: tables::kernel::KernelBuilder,
    copies: tables::memcpy::MemcpyBuilder,
    fills: tables::memset::MemsetBuilder,
    calls: tables::api::ApiBuilder,
    devices: u32,
    rows_per_frame: usize,
    /// What a summary must say, where that is asked for.
    pub lines: Option<Lines>,
}

impl Recording {
    pub fn create(
        path: &Path,
        seed: u64,
        program: &Program,
        rows_per_frame: usize,
        lines: Option<Lines>,
    ) -> Result<Recording> {
        let mut random = Random(seed);
        let (a, b) = (random.next().to_le_bytes(), random.next().to_le_bytes());
        let file_id = std::array::from_fn(|i| if i < 8 { a[i] } else { b[i - 8] });
        let header = FileHeader { file_id, ..FileHeader::new("make_native", BEGIN_UNIX_NS) };
        let mut to = Recording {
            writer: TraceWriter::create(File::create(path)?, &header, WriteOptions::default())?,
            names: HashMap::new(),
            shapes: HashMap::new(),
            strings: Default::default(),
            new_shapes: Default::default(),
            kernels: Default::default(),
            copies: Default::default(),
            fills: Default::default(),
            calls: Default::default(),
            devices: program.devices,
            rows_per_frame,
            lines,
        };
        to.introduce(program)?;
        Ok(to)
    }

    /// Who is recorded, on what, and what time it is.
    fn introduce(&mut self, program: &Program) -> Result {
        let process = json!({
            "pid": PID, "ppid": 1, "argv": program.argv, "exe": format!("/usr/bin/{}", program.argv[0].trim_start_matches("./")),
            "host": "example", "start_unix_ns": BEGIN_UNIX_NS, "versions": {"gpuprof": "make_native"},
        });
        self.writer.write_json(&tables::PROCESS, &process)?;
        let mut devices = tables::device::DeviceBuilder::default();
        let mut contexts = tables::context::ContextBuilder::default();
        let name_id = self.name(program.device.as_bytes());
        for device in 0..program.devices {
            devices.push(DeviceRow {
                device,
                name_id,
                compute_major: Some(program.capability.0),
                compute_minor: Some(program.capability.1),
                multiprocessors: Some(program.multiprocessors),
                memory_bytes: Some(program.memory_bytes),
                ..Default::default()
            });
            contexts.push(ContextRow { context: device + 1, device, api_kind: Some(1), ..Default::default() });
        }
        let mut clocks = tables::clock::ClockBuilder::default();
        clocks.push(ClockRow {
            trace_ns: BEGIN_NS,
            unix_ns: BEGIN_UNIX_NS + BEGIN_NS,
            monotonic_ns: 77_000_000_000,
            provisional: false,
        });
        self.write_definitions()?;
        for batch in [devices.take(), contexts.take(), clocks.take()] {
            self.writer.write_batch(&batch)?;
        }
        Ok(())
    }

    /// GPUs of the recorded program.
    pub fn devices(&self) -> u32 {
        self.devices
    }

    /// The id of a name.
    pub fn name(&mut self, name: &[u8]) -> u32 {
        if let Some(&id) = self.names.get(name) {
            return id;
        }
        let id = self.names.len() as u32 + 1;
        self.names.insert(name.to_owned(), id);
        self.strings.push(StringRow { id, bytes: name.to_owned() });
        id
    }

    /// The id of a launch shape; `row.id` is ignored, and everything but its sizes belongs to the name.
    pub fn shape(&mut self, row: ShapeRow) -> u32 {
        let size = |s: Option<i64>| s.unwrap_or(-1);
        let grid = [size(row.grid_x), size(row.grid_y), size(row.grid_z)];
        let block = [size(row.block_x), size(row.block_y), size(row.block_z)];
        let key = [i64::from(row.name_id), grid[0], grid[1], grid[2], block[0], block[1], block[2]];
        let next = self.shapes.len() as u32 + 1;
        let id = *self.shapes.entry(key).or_insert(next);
        if id == next {
            self.new_shapes.push(ShapeRow { id, ..row });
        }
        id
    }

    pub fn kernel(&mut self, row: KernelRow) -> Result {
        self.kernels.push(row);
        if self.kernels.len() >= self.rows_per_frame {
            self.write_definitions()?;
            self.writer.write_batch(&self.kernels.take())?;
        }
        Ok(())
    }

    pub fn copy(&mut self, row: MemcpyRow) -> Result {
        self.copies.push(row);
        if self.copies.len() >= self.rows_per_frame {
            self.writer.write_batch(&self.copies.take())?;
        }
        Ok(())
    }

    pub fn fill(&mut self, row: MemsetRow) -> Result {
        self.fills.push(row);
        if self.fills.len() >= self.rows_per_frame {
            self.writer.write_batch(&self.fills.take())?;
        }
        Ok(())
    }

    pub fn call(&mut self, row: ApiRow) -> Result {
        self.calls.push(row);
        if self.calls.len() >= self.rows_per_frame {
            self.write_definitions()?;
            self.writer.write_batch(&self.calls.take())?;
        }
        Ok(())
    }

    /// Names and shapes before the rows that refer to them.
    fn write_definitions(&mut self) -> Result {
        for batch in [self.strings.take(), self.new_shapes.take()] {
            if batch.rows > 0 {
                self.writer.write_batch(&batch)?;
            }
        }
        Ok(())
    }

    /// Writes what is left and closes the file.
    pub fn finish(mut self) -> Result<Option<Lines>> {
        self.write_definitions()?;
        for batch in [self.kernels.take(), self.copies.take(), self.fills.take(), self.calls.take()] {
            if batch.rows > 0 {
                self.writer.write_batch(&batch)?;
            }
        }
        self.writer.finish(&json!({}))?;
        Ok(self.lines)
    }
}
