//! The named tables. Each file holds one report or a family that shares its rows; a view is one [`Named`] value and
//! one line in [`VIEWS`].

use super::View;
use crate::trace::sink::Need;
use trace_format::tables;

mod allocations;
mod api;
mod by_class;
mod copies;
mod copy_calls;
mod critical_path;
pub(crate) mod from_sums;
mod functions;
mod gaps;
mod gpu;
mod gpu_trace;
mod graph_replays;
mod host_calls;
mod host_stacks;
mod idle_breakdown;
mod insights;
mod kernel_launches;
mod kernels;
mod launch_stats;
mod lines;
mod low_use;
mod memory;
mod named;
mod nsys_names;
mod occupancy;
mod queues;
mod ranges;
mod ranges_on_gpu;
mod regions;
mod steps;
mod sync_calls;
mod system;
mod tensor_cores;
mod time_breakdown;
mod unified_memory;
mod util_map;

pub use named::Named;

/// Every view, in the order of help and error messages.
pub static VIEWS: &[&dyn View] = &[
    &kernels::CUDA_GPU_KERN_SUM,
    &kernels::CUDA_GPU_KERN_GB_SUM,
    &memory::CUDA_GPU_MEM_TIME_SUM,
    &memory::CUDA_GPU_MEM_SIZE_SUM,
    &gpu::CUDA_GPU_SUM,
    &gpu_trace::CUDA_GPU_TRACE,
    &api::CUDA_API_SUM,
    &api::CUDA_API_TRACE,
    &gpu::CUDA_API_GPU_SUM,
    &kernel_launches::CUDA_KERN_EXEC_SUM,
    &kernel_launches::CUDA_KERN_EXEC_TRACE,
    &ranges::NVTX_SUM,
    &ranges::NVTX_PUSHPOP_SUM,
    &ranges::NVTX_STARTEND_SUM,
    &ranges::NVTX_PUSHPOP_TRACE,
    &ranges_on_gpu::NVTX_GPU_PROJ_SUM,
    &ranges_on_gpu::NVTX_GPU_PROJ_TRACE,
    &ranges_on_gpu::NVTX_KERN_SUM,
    &functions::FUNCTIONS,
    &host_calls::OSRT_SUM,
    &host_calls::MPI_EVENT_SUM,
    &regions::OPENACC_SUM,
    &regions::OPENMP_SUM,
    &unified_memory::UM_SUM,
    &unified_memory::UM_TOTAL_SUM,
    &unified_memory::UM_CPU_PAGE_FAULTS_SUM,
    &host_stacks::CProfile,
    &host_stacks::CPU_LINES,
    &host_stacks::PYTHON_LINES,
    &system::SYSTEM,
    &insights::Insights,
    &sync_calls::CUDA_API_SYNC,
    &copy_calls::CUDA_MEMCPY_ASYNC,
    &copy_calls::CUDA_MEMCPY_SYNC,
    &copy_calls::CUDA_MEMSET_SYNC,
    &low_use::GPU_GAPS,
    &low_use::GPU_TIME_UTIL,
    &util_map::CUDA_GPU_TIME_UTIL_MAP,
    &gaps::GPU_GAP_CAUSES,
    &time_breakdown::GPU_TIME_BREAKDOWN,
    &launch_stats::CUDA_LAUNCH_STATS,
    &steps::STEPS,
    &steps::STEPS_SUM,
    &steps::STEPS_SLOW,
    &by_class::GPU_CLASS_OVERLAP,
    &by_class::GPU_CLASS_SUM,
    &by_class::HTA_TEMPORAL_BREAKDOWN,
    &tensor_cores::GPU_TENSOR_CORE_GUESS,
    &idle_breakdown::GPU_IDLE_BREAKDOWN,
    &copies::GPU_HIDDEN_COPIES,
    &copies::GPU_COALESCABLE,
    &queues::GPU_QUEUE_LENGTH,
    &queues::GPU_COPY_BANDWIDTH,
    &occupancy::GPU_OCCUPANCY,
    &graph_replays::CUDA_GRAPH_REPLAYS,
    &allocations::CUDA_MEM_ALLOC_SUM,
    &critical_path::CRITICAL_PATH,
    &critical_path::CRITICAL_PATH_SUM,
];

/// The argument that puts the innermost enclosing range before a kernel's name.
const NVTX_NAME: &str = "nvtx-name";

/// What has to be read for a view with these arguments: a range before a kernel's name costs reading the calls and
/// the ranges, which the view alone does not need.
pub fn need(view: &dyn View, arguments: &[String]) -> Need {
    let mut need = view.need();
    if arguments.iter().any(|argument| argument == NVTX_NAME) {
        need.add(&Need { operators: true, ..Need::full(&[&tables::API, &tables::RANGE]) });
    }
    need
}
