//! `CUpti_OpenMpEventKind`.

use super::Wording;

crate::vocabulary! {
    "What the region is.";
    /// `invalid`.
    INVALID = 0, "invalid";
    /// `parallel`.
    PARALLEL = 1, "parallel";
    /// `task`.
    TASK = 2, "task";
    /// `thread`.
    THREAD = 3, "thread";
    /// `idle`.
    IDLE = 4, "idle";
    /// `wait barrier`.
    WAIT_BARRIER = 5, "wait barrier";
    /// `wait taskwait`.
    WAIT_TASKWAIT = 6, "wait taskwait";
}

/// What nvprof calls such a region.
pub static NVPROF: Wording = Wording(&[
    (PARALLEL, "omp_parallel"),
    (TASK, "omp_task"),
    (THREAD, "omp_thread"),
    (IDLE, "omp_idle"),
    (WAIT_BARRIER, "omp_wait_barrier"),
    (WAIT_TASKWAIT, "omp_wait_taskwait"),
]);
