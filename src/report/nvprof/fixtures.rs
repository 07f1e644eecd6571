//! What the tests of this folder share: names, a device or two, and activities cut from real traces.

use crate::analysis::activity::{ActivityKind, ApiCall, GpuActivity, OpenaccRegion};

use super::{Labels, Options, TimeUnit};
use trace_format::tables::ShapeRow;

/// Names by index, as the tests below use them.
const NAMES: [&str; 8] = [
    "",
    "cuDeviceGetCount",
    "cudaLaunchKernel",
    "/home/x/nbody.cpp",
    "_Z3fooPfi",
    "C:\\x\\a \"b\".c",
    "cudaGraphLaunch",
    "X[:n]",
];

/// Two kernels, one of which another tool recorded without launch details, and one device with a name.
pub struct Names {
    shapes: [ShapeRow; 2],
}

impl Names {
    pub fn new() -> Names {
        let full = ShapeRow {
            grid_x: Some(152),
            grid_y: Some(1),
            grid_z: Some(1),
            block_x: Some(32),
            block_y: Some(4),
            block_z: Some(1),
            registers: Some(29),
            static_smem_bytes: Some(0),
            dynamic_smem_bytes: Some(1024),
            ..ShapeRow::default()
        };
        Names { shapes: [full, ShapeRow { id: 1, ..ShapeRow::default() }] }
    }
}

impl Labels for Names {
    fn kernel(&self, shape: u32) -> &str {
        if shape == 0 { "foo(float*, int)" } else { "triton_red_0" }
    }
    fn shape(&self, shape: u32) -> Option<ShapeRow> {
        self.shapes.get(shape as usize).cloned()
    }
    fn api(&self, name: u32) -> &str {
        NAMES[name as usize]
    }
    fn text(&self, name: u32) -> &str {
        NAMES[name as usize]
    }
    fn device(&self, _: u32, device: u32) -> &str {
        if device == 0 { "Tesla V100-SXM2-32GB" } else { "" }
    }
}

pub fn gpu(start_ns: i64, duration_ns: impl Into<Option<i64>>, what: ActivityKind) -> GpuActivity {
    GpuActivity {
        start_ns,
        duration_ns: duration_ns.into(),
        process: 0,
        device: 0,
        context: 1,
        stream: 14,
        correlation: 219,
        graph_node: None,
        what,
    }
}

pub fn copy(peer: Option<[u32; 4]>) -> ActivityKind {
    ActivityKind::Memcpy {
        kind: if peer.is_some() { 10 } else { 2 },
        src_kind: 3,
        dst_kind: 2,
        bytes: 77_824,
        peer,
    }
}

pub fn uvm(
    kind: u32,
    value: i64,
    src_device: Option<u32>,
    dst_device: Option<u32>,
    pc: Option<u64>,
) -> ActivityKind {
    ActivityKind::Uvm { kind, value, address: 0x7f8c_c008_0000, src_device, dst_device, pc, flags: 0 }
}

pub fn call(start_ns: i64, duration_ns: impl Into<Option<i64>>, name: u32, correlation: u64) -> ApiCall {
    ApiCall {
        start_ns,
        duration_ns: duration_ns.into(),
        process: 0,
        tid: 1,
        correlation,
        name,
        domain: 0,
        result: None,
    }
}

pub fn region(start_ns: i64, duration_ns: i64, kind: u32, file: u32, variable: u32) -> OpenaccRegion {
    OpenaccRegion {
        start_ns,
        duration_ns: Some(duration_ns),
        process: 0,
        tid: 1,
        kind,
        line: Some(101),
        file,
        variable,
        bytes: (kind == 13).then_some(77_824),
        place: Some((0, 1, 14)),
    }
}

pub const TEXT: Options = Options { csv: false, unit: TimeUnit::Auto, origin_ns: None };
pub const CSV: Options = Options { csv: true, ..TEXT };

/// What `write` writes.
pub fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}
