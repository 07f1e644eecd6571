//! Words for the values of CUPTI's enumerations, in the numbering of the trace format. Unknown numbers are legal in
//! a trace: [`word`] has no answer for them and reports print the number.

/// One enumeration: values and words, by value.
pub type Codes = [(u32, &'static str)];

/// The word for `value`.
pub fn word(codes: &Codes, value: u32) -> Option<&'static str> {
    codes.binary_search_by_key(&value, |&(v, _)| v).ok().map(|i| codes[i].1)
}

/// `CUpti_ActivityMemoryKind`: where a copy comes from or goes to.
pub static MEMORY_KIND: &Codes = &[
    (0, "unknown"),
    (1, "pageable"),
    (2, "pinned"),
    (3, "device"),
    (4, "array"),
    (5, "managed"),
    (6, "device static"),
    (7, "managed static"),
];

/// `CUpti_ActivityMemcpyKind`; 11 to 13 are nsys's migrations of unified memory.
pub static MEMCPY_KIND: &Codes = &[
    (0, "unknown"),
    (1, "HtoD"),
    (2, "DtoH"),
    (3, "HtoA"),
    (4, "AtoH"),
    (5, "AtoA"),
    (6, "AtoD"),
    (7, "DtoA"),
    (8, "DtoD"),
    (9, "HtoH"),
    (10, "PtoP"),
    (11, "unified HtoD"),
    (12, "unified DtoH"),
    (13, "unified DtoD"),
];

/// `CUpti_ActivitySynchronizationType`.
pub static SYNC_TYPE: &Codes =
    &[(0, "unknown"), (1, "event"), (2, "stream wait event"), (3, "stream"), (4, "context")];

/// `CUpti_ActivityOverheadKind`.
pub static OVERHEAD_KIND: &Codes = &[
    (0, "unknown"),
    (1, "driver compiler"),
    (65_536, "buffer flush"),
    (131_072, "instrumentation"),
    (196_608, "resource"),
    (262_144, "module loading"),
    (327_680, "lazy function loading"),
    (393_216, "command buffer full"),
    (458_752, "activity buffer request"),
    (524_288, "unified memory activity"),
];

/// `CUpti_ActivityUnifiedMemoryCounterKind`.
pub static UVM_COUNTER_KIND: &Codes = &[
    (0, "unknown"),
    (1, "bytes HtoD"),
    (2, "bytes DtoH"),
    (3, "CPU page faults"),
    (4, "GPU page faults"),
    (5, "thrashing"),
    (6, "throttling"),
    (7, "remote map"),
    (8, "bytes DtoD"),
];

/// `CUpti_ActivityMemoryOperationType`.
pub static MEMORY_OPERATION: &Codes = &[(0, "invalid"), (1, "allocation"), (2, "release")];

/// `CUpti_ActivityStreamFlag`.
pub static STREAM_FLAG: &Codes = &[(0, "unknown"), (1, "default"), (2, "non-blocking"), (3, "null")];

/// `CUpti_OpenAccEventKind`, in the words nvprof prints after `acc_`.
pub static OPENACC_EVENT_KIND: &Codes = &[
    (0, "invalid"),
    (1, "device_init"),
    (2, "device_shutdown"),
    (3, "runtime_shutdown"),
    (4, "enqueue_launch"),
    (5, "enqueue_upload"),
    (6, "enqueue_download"),
    (7, "wait"),
    (8, "implicit_wait"),
    (9, "compute_construct"),
    (10, "update"),
    (11, "enter_data"),
    (12, "exit_data"),
    (13, "create"),
    (14, "delete"),
    (15, "alloc"),
    (16, "free"),
];

/// `CUpti_OpenAccConstructKind`.
pub static OPENACC_CONSTRUCT_KIND: &Codes = &[
    (0, "unknown"),
    (1, "parallel"),
    (2, "kernels"),
    (3, "loop"),
    (4, "data"),
    (5, "enter data"),
    (6, "exit data"),
    (7, "host data"),
    (8, "atomic"),
    (9, "declare"),
    (10, "init"),
    (11, "shutdown"),
    (12, "set"),
    (13, "update"),
    (14, "routine"),
    (15, "wait"),
    (16, "runtime api"),
];

/// `CUpti_OpenMpEventKind`.
pub static OPENMP_EVENT_KIND: &Codes = &[
    (0, "invalid"),
    (1, "parallel"),
    (2, "task"),
    (3, "thread"),
    (4, "idle"),
    (5, "wait barrier"),
    (6, "wait taskwait"),
];

/// `CUpti_ExternalCorrelationKind`.
pub static EXTERNAL_KIND: &Codes =
    &[(0, "invalid"), (1, "unknown"), (2, "openacc"), (3, "custom 0"), (4, "custom 1"), (5, "custom 2")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_sorted_so_that_words_are_found() {
        for codes in [
            MEMORY_KIND,
            MEMCPY_KIND,
            SYNC_TYPE,
            OVERHEAD_KIND,
            UVM_COUNTER_KIND,
            MEMORY_OPERATION,
            STREAM_FLAG,
            OPENACC_EVENT_KIND,
            OPENACC_CONSTRUCT_KIND,
            OPENMP_EVENT_KIND,
            EXTERNAL_KIND,
        ] {
            assert!(codes.is_sorted_by_key(|&(value, _)| value));
            for &(value, name) in codes {
                assert_eq!(word(codes, value), Some(name));
            }
        }
    }

    #[test]
    fn an_unknown_number_has_no_word() {
        assert_eq!(word(OVERHEAD_KIND, 2), None);
        assert_eq!(word(MEMCPY_KIND, u32::MAX), None);
    }
}
