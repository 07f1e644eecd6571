//! The columns of a launch shape in flat records.

use crate::trace::sink::Sink;
use trace_format::tables::ShapeRow;

/// Names of the columns, names first, in the order of [`ShapeCells`].
pub const COLUMNS: [&str; 17] = [
    "mangled_name",
    "demangled_name",
    "base_name",
    "grid_x",
    "grid_y",
    "grid_z",
    "block_x",
    "block_y",
    "block_z",
    "cluster_x",
    "cluster_y",
    "cluster_z",
    "registers",
    "static_smem_bytes",
    "dynamic_smem_bytes",
    "local_mem_per_thread_bytes",
    "local_mem_total_bytes",
];

/// The three names.
pub const NAMES: usize = 3;

/// Interns the shape with these names and numbers, both in the order of [`COLUMNS`].
pub fn intern(sink: &mut Sink, names: [Option<u32>; NAMES], numbers: [Option<i64>; COLUMNS.len() - NAMES]) -> u32 {
    let [
        grid_x,
        grid_y,
        grid_z,
        block_x,
        block_y,
        block_z,
        cluster_x,
        cluster_y,
        cluster_z,
        registers,
        static_smem_bytes,
        dynamic_smem_bytes,
        local_mem_per_thread_bytes,
        local_mem_total_bytes,
    ] = numbers;
    sink.shape(ShapeRow {
        id: 0,
        name_id: names[0].unwrap_or(0),
        demangled_id: names[1],
        base_id: names[2],
        grid_x,
        grid_y,
        grid_z,
        block_x,
        block_y,
        block_z,
        cluster_x,
        cluster_y,
        cluster_z,
        registers,
        static_smem_bytes,
        dynamic_smem_bytes,
        local_mem_per_thread_bytes,
        local_mem_total_bytes,
    })
}
