//! SQLite databases in the schema of nsys: what is only in those that gpuprof wrote.

use trace_format::vocabulary::range_style::{ANNOTATION, OPERATOR, PYTHON};

/// What these databases call the program that wrote them; the importer knows its own files by it.
pub const PRODUCT: &str = "gpuprof";

/// The entry of the table about the export that says from where the original counted, in nanoseconds since 1970: sessions
/// of nsys begin near their records.
pub const ORIGIN: &str = "GPUPROF_ORIGIN_NS";

/// Styles of ranges that are not NVTX's, and the domains they are put into: nsys knows no other kind of range, and
/// readers that do not care find them where PyTorch's own NVTX would be.
pub const FOREIGN_DOMAINS: [(u32, &str); 3] =
    [(OPERATOR, "PyTorch operators"), (ANNOTATION, "PyTorch annotations"), (PYTHON, "Python functions")];

/// Types of the rows of NVTX_EVENTS.
pub mod event_type {
    /// A moment.
    pub const MARK: u32 = 34;
    /// A range of one thread that nests.
    pub const PUSH_POP: u32 = 59;
    /// A range that may end on another thread.
    pub const START_END: u32 = 60;
    /// The name of a domain.
    pub const DOMAIN: u32 = 75;
}

/// Event classes, in tables that have such a column.
pub mod event_class {
    /// A call of the runtime API.
    pub const RUNTIME: u32 = 0;
    /// A call of the driver API.
    pub const DRIVER: u32 = 1;
}

/// `ompt_sync_region_t` of OpenMP waits.
pub mod openmp_wait {
    /// At a barrier.
    pub const BARRIER: u32 = 1;
    /// For a task group.
    pub const TASKWAIT: u32 = 5;
}

/// `CUpti_ActivityMemoryKind` in nsys's numbers, which leave out "unknown" at the front and have it at the back.
pub mod memory_kind {
    use trace_format::vocabulary::memory_kind::{MANAGED_STATIC, PAGEABLE, UNKNOWN};

    /// nsys's number for "unknown".
    const NSYS_UNKNOWN: u32 = 7;

    /// nsys's number.
    pub fn to_nsys(kind: u32) -> u32 {
        if (PAGEABLE..=MANAGED_STATIC).contains(&kind) { kind - PAGEABLE } else { NSYS_UNKNOWN }
    }

    /// The number of nsys's; unknown where a database says nothing or what no nsys says.
    pub fn from_nsys(nsys: Option<u32>) -> u32 {
        nsys.filter(|&nsys| nsys < NSYS_UNKNOWN).map_or(UNKNOWN, |nsys| nsys + PAGEABLE)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn every_kind_comes_back() {
            assert_eq!([0, 1, 3, 7, 99].map(to_nsys), [7, 0, 2, 6, 7]);
            assert_eq!([Some(0), Some(6), Some(7), Some(8), None].map(from_nsys), [1, 7, 0, 0, 0]);
            for kind in UNKNOWN..=MANAGED_STATIC {
                assert_eq!(from_nsys(Some(to_nsys(kind))), kind);
            }
        }
    }
}
