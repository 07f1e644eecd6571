//! Ready views: what people ask of a trace most, with shares and exact percentiles. One file and one line each.

mod api_by_name;
mod columns;
mod copies_by_kind;
mod devices;
mod gaps;
mod gpu;
mod gpu_by_name;
mod kernels_by_name;
mod launches;
mod processes;
mod ranges;
mod ranges_by_name;
mod steps;
mod streams;
mod syncs_by_kind;

use super::source::Source;

/// The registry.
pub static VIEWS: &[&dyn Source] = &[
    &gpu::Gpu,
    &launches::Launches,
    &gaps::Gaps,
    &kernels_by_name::KernelsByName,
    &copies_by_kind::CopiesByKind,
    &gpu_by_name::GpuByName,
    &api_by_name::ApiByName,
    &ranges::Ranges,
    &ranges_by_name::RangesByName,
    &steps::Steps,
    &syncs_by_kind::SyncsByKind,
    &streams::Streams,
    &devices::Devices,
    &processes::Processes,
];
