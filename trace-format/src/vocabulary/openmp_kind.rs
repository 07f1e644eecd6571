//! `CUpti_OpenMpEventKind`.

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
