//! What slices are called that have no name of their own. In files for viewers the words are Kineto's where it has some,
//! so that its readers know them; in pages they are nvprof's, as in reports.

use crate::cupti::operation::{self, memory_kind};
use std::borrow::Cow;
use trace_format::columns::Batch;
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::{any, event, graph, memcpy, memory, memset};
use trace_format::vocabulary::{
    Vocabulary, memcpy_kind, memory_operation, openacc_kind, overhead_kind, sync_kind, uvm_kind,
};

/// Kineto's word for a copy, and whether it stands for this kind alone.
pub fn copy_word(kind: u32) -> (&'static str, bool) {
    match memcpy_kind::plain(kind) {
        memcpy_kind::UNKNOWN => ("Unknown", true),
        // Migrations of unified memory, as nsys has them, share the words of copies.
        plain => memcpy_kind::VOCABULARY.word(plain).map_or(("Unknown", false), |word| (word, plain == kind)),
    }
}

/// Kineto's word for a synchronisation.
pub fn sync_word(kind: u32) -> Option<&'static str> {
    sync_kind::KINETO.word(kind)
}

/// Kineto's word for an overhead.
pub fn overhead_word(kind: u32) -> Option<&'static str> {
    overhead_kind::KINETO.word(kind)
}

/// What a synchronisation of an unknown kind is called.
pub const UNKNOWN_SYNC: &str = "Synchronization";

/// What overhead of an unknown kind is called.
pub const UNKNOWN_OVERHEAD: &str = "Overhead";

/// Category and name of a row that has no name.
pub fn described(rows: &Batch, i: usize) -> (&'static [u8], Cow<'static, str>) {
    let number = |column| rows.get_if_any(column).get(i).unwrap_or(0);
    let of = |vocabulary: &Vocabulary, prefix: &str| match vocabulary.word(number(any::KIND)) {
        Some(word) => Cow::Owned(format!("{prefix}{word}")),
        None => Cow::Owned(format!("{prefix}{}", number(any::KIND))),
    };
    match rows.table.name {
        "memcpy" => {
            let (word, _) = copy_word(number(any::KIND));
            let [from, to] = [memcpy::SRC_KIND, memcpy::DST_KIND].map(|column| memory_kind(number(column)));
            (b"gpu_memcpy", Cow::Owned(format!("Memcpy {word} ({from} -> {to})")))
        }
        "memset" => (b"gpu_memset", Cow::Owned(format!("Memset ({})", memory_kind(number(memset::MEM_KIND))))),
        "sync" => (b"cuda_sync", sync_word(number(any::KIND)).unwrap_or(UNKNOWN_SYNC).into()),
        "overhead" => (b"overhead", overhead_word(number(any::KIND)).unwrap_or(UNKNOWN_OVERHEAD).into()),
        "graph" => (b"cuda_graph", Cow::Owned(format!("CUDA graph {}", number(graph::GRAPH_ID)))),
        "uvm" => (b"unified_memory", of(&uvm_kind::VOCABULARY, "Unified memory: ")),
        "memory" => (
            b"memory",
            memory_operation::VOCABULARY.word(number(memory::OPERATION)).unwrap_or("memory pool operation").into(),
        ),
        "event" => (b"cuda_event", Cow::Owned(format!("CUDA event {}", number(event::EVENT)))),
        "jit" => (b"jit", Cow::Borrowed("just-in-time compilation")),
        "openacc" => (b"openacc", of(&openacc_kind::VOCABULARY, "acc_")),
        "openmp" => (b"openmp", operation::openmp_name(number(any::KIND)).into()),
        other => (b"other", other.into()),
    }
}

/// What pages call a row of `table` that has no name of its own and is of this kind; the kind does not matter for fills
/// and graphs.
pub fn page_name(table: &TableSpec, kind: u32) -> Cow<'static, str> {
    let word = |vocabulary: &Vocabulary, what: &str| match vocabulary.word(kind) {
        Some(word) => Cow::Borrowed(word),
        None => Cow::Owned(format!("{what} {kind}")),
    };
    match table {
        table if table == &tables::MEMCPY => operation::memcpy_name(kind).into(),
        table if table == &tables::MEMSET => operation::MEMSET.into(),
        table if table == &tables::GRAPH => operation::GRAPH.into(),
        table if table == &tables::OPENMP => operation::openmp_name(kind).into(),
        table if table == &tables::OPENACC => {
            format!("acc_{}", openacc_kind::VOCABULARY.word(kind).unwrap_or("unknown")).into()
        }
        table if table == &tables::OVERHEAD => word(&overhead_kind::VOCABULARY, "overhead"),
        table if table == &tables::SYNC => word(&sync_kind::VOCABULARY, "synchronisation"),
        table if table == &tables::UVM => word(&uvm_kind::VOCABULARY, "unified memory event"),
        other => other.name.into(),
    }
}
