//! Which columns of the registry hold codes, and what the column beside each is called that holds the words.

use super::codes::{self, Codes};
use super::{MPI, OS_RUNTIME};

/// `range.style`.
static RANGE_STYLE: &Codes =
    &[(0, "push/pop"), (1, "start/end"), (2, "mark"), (3, "operator"), (4, "annotation"), (5, "Python function")];

/// `api.domain`.
static API_DOMAIN: &Codes = &[(0, "runtime"), (1, "driver")];

/// `host_call.domain`, whose numbers go on from those of `api.domain`.
static HOST_CALL_DOMAIN: &Codes = &[(OS_RUNTIME, "OS runtime"), (MPI, "MPI")];

/// `host_call.kind`.
static MPI_KIND: &Codes = &[(1, "p2p"), (2, "collectives"), (3, "start/wait"), (4, "other")];

/// `loss.cause`.
static LOSS_CAUSE: &Codes = &[
    (1, "queue full"),
    (2, "CUPTI dropped them"),
    (3, "unknown record kind"),
    (4, "names full"),
    (5, "disk full"),
    (6, "size limit"),
    (7, "CUPTI taken over"),
    (8, "flush deadline missed"),
];

/// The word for a `host_call.kind`.
pub fn mpi_kind(kind: u32) -> Option<&'static str> {
    codes::word(MPI_KIND, kind)
}

/// The column of words for `column` of `table`: its name, the words by code, and one line of documentation.
pub fn coded(table: &str, column: &str) -> Option<(&'static str, &'static Codes, &'static str)> {
    let word = |name, codes, doc| Some((name, codes, doc));
    match (table, column) {
        ("memcpy", "kind") => word("kind_name", codes::MEMCPY_KIND, "Direction in a word, e.g. `HtoD`."),
        (_, "src_kind") => word("src_kind_name", codes::MEMORY_KIND, "Kind of the source memory, e.g. `pinned`."),
        (_, "dst_kind") => word("dst_kind_name", codes::MEMORY_KIND, "Kind of the destination memory."),
        (_, "mem_kind") => word("mem_kind_name", codes::MEMORY_KIND, "Kind of memory, e.g. `device`."),
        ("sync", "kind") => word("kind_name", codes::SYNC_TYPE, "What was waited for, e.g. `stream`."),
        ("overhead", "kind") => word("kind_name", codes::OVERHEAD_KIND, "What took the time."),
        ("uvm", "kind") => word("kind_name", codes::UVM_COUNTER_KIND, "What was counted."),
        ("memory", "operation") => word("operation_name", codes::MEMORY_OPERATION, "What was done."),
        ("openacc", "kind") => word("kind_name", codes::OPENACC_EVENT_KIND, "What the region is."),
        ("openacc", "parent_construct") => {
            word("parent_construct_name", codes::OPENACC_CONSTRUCT_KIND, "The enclosing construct.")
        }
        ("openmp", "kind") => word("kind_name", codes::OPENMP_EVENT_KIND, "What the region is."),
        ("external", "external_kind") => word("external_kind_name", codes::EXTERNAL_KIND, "Whose id it is."),
        ("range", "style") => word("style_name", RANGE_STYLE, "Style in a word."),
        ("api", "domain") => word("domain_name", API_DOMAIN, "Runtime or driver API."),
        ("host_call", "domain") => word("domain_name", HOST_CALL_DOMAIN, "OS runtime or MPI."),
        ("host_call", "kind") => word("kind_name", MPI_KIND, "What a call of MPI is about."),
        ("stream", "flag") => word("flag_name", codes::STREAM_FLAG, "Flag in a word."),
        ("loss", "cause") => word("cause_name", LOSS_CAUSE, "Cause in words."),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted_so_that_words_are_found() {
        for codes in [RANGE_STYLE, API_DOMAIN, HOST_CALL_DOMAIN, MPI_KIND, LOSS_CAUSE] {
            assert!(codes.is_sorted_by_key(|&(value, _)| value));
        }
    }
}
