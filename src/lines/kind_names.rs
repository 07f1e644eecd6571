//! What slices are called that have no name of their own. In files for viewers the words are Kineto's where it has some,
//! so that its readers know them; in pages they are nvprof's, as in reports.

use crate::cupti::operation::{self, memory_kind};
use std::borrow::Cow;
use trace_format::columns::Batch;
use trace_format::schema::{TableSpec, TypedColumn};
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

/// The category of what nobody knows.
pub const OTHER: &str = "other";

/// What gives the number in a column of some row.
type Number<'a> = &'a dyn Fn(&'static TypedColumn<u32>) -> u32;

/// The rows of a table that have no name of their own.
struct Nameless {
    table: &'static TableSpec,
    category: &'static str,
    /// What a row with these numbers is called.
    name: fn(Number) -> Cow<'static, str>,
}

static NAMELESS: &[Nameless] = &[
    Nameless {
        table: &tables::MEMCPY,
        category: "gpu_memcpy",
        name: |number| {
            let (word, _) = copy_word(number(any::KIND));
            let [from, to] = [memcpy::SRC_KIND, memcpy::DST_KIND].map(|column| memory_kind(number(column)));
            format!("Memcpy {word} ({from} -> {to})").into()
        },
    },
    Nameless {
        table: &tables::MEMSET,
        category: "gpu_memset",
        name: |number| format!("Memset ({})", memory_kind(number(memset::MEM_KIND))).into(),
    },
    Nameless {
        table: &tables::SYNC,
        category: "cuda_sync",
        name: |number| sync_word(number(any::KIND)).unwrap_or(UNKNOWN_SYNC).into(),
    },
    Nameless {
        table: &tables::OVERHEAD,
        category: "overhead",
        name: |number| overhead_word(number(any::KIND)).unwrap_or(UNKNOWN_OVERHEAD).into(),
    },
    Nameless {
        table: &tables::GRAPH,
        category: "cuda_graph",
        name: |number| format!("CUDA graph {}", number(graph::GRAPH_ID)).into(),
    },
    Nameless {
        table: &tables::UVM,
        category: "unified_memory",
        name: |number| format!("Unified memory: {}", uvm_kind::VOCABULARY.text(number(any::KIND))).into(),
    },
    Nameless {
        table: &tables::MEMORY,
        category: "memory",
        name: |number| {
            let word = memory_operation::VOCABULARY.word(number(memory::OPERATION));
            word.unwrap_or("memory pool operation").into()
        },
    },
    Nameless {
        table: &tables::EVENT,
        category: "cuda_event",
        name: |number| format!("CUDA event {}", number(event::EVENT)).into(),
    },
    Nameless { table: &tables::JIT, category: "jit", name: |_| "just-in-time compilation".into() },
    Nameless {
        table: &tables::OPENACC,
        category: "openacc",
        name: |number| format!("acc_{}", openacc_kind::VOCABULARY.text(number(any::KIND))).into(),
    },
    Nameless {
        table: &tables::OPENMP,
        category: "openmp",
        name: |number| operation::openmp_name(number(any::KIND)).into(),
    },
];

fn nameless(table: &TableSpec) -> Option<&'static Nameless> {
    NAMELESS.iter().find(|known| known.table == table)
}

/// The category of the rows of `table`, if they have no names of their own.
pub fn category(table: &TableSpec) -> Option<&'static str> {
    nameless(table).map(|known| known.category)
}

/// Category and name of a row that has no name.
pub fn described(rows: &Batch, i: usize) -> (&'static [u8], Cow<'static, str>) {
    match nameless(rows.table) {
        Some(known) => {
            let name = (known.name)(&|column| rows.get_if_any(column).get(i).unwrap_or(0));
            (known.category.as_bytes(), name)
        }
        None => (OTHER.as_bytes(), rows.table.name.into()),
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables that are drawn and whose rows have names: those of functions, of ranges, of what was measured.
    const NAMED: &[&TableSpec] =
        &[&tables::KERNEL, &tables::API, &tables::HOST_CALL, &tables::RANGE, &tables::SAMPLE];

    #[test]
    fn rows_that_are_drawn_have_a_name_or_are_called_something() {
        for table in crate::lines::DRAWN {
            let place = "put it into NAMELESS (src/lines/words.rs), or into NAMED here, and not into both";
            assert_ne!(nameless(table).is_some(), NAMED.contains(table), "table {}: {place}", table.name);
        }
    }
}
