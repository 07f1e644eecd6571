//! What records are called, and which of their fields pages show.

use super::column::Column;
use super::model::{DIRECTIVE_TABLES, GPU_TABLES, Kept, Shown, Store};
use super::names::{EXTENTS, Naming, PageNames};
use super::read::{Raw, unzigzag};
use crate::lines::words::page_name;
use trace_format::tables;
use trace_format::vocabulary::{Vocabulary, memory_kind, range_style};

/// `range.style` of marks.
pub(super) const MARK: u64 = range_style::MARK as u64;

/// A word of an enumeration, or its number.
fn word(names: &mut PageNames, vocabulary: &Vocabulary, value: u32, what: &str) -> u32 {
    match vocabulary.word(value) {
        Some(word) => names.intern(word),
        None => names.intern(&format!("{what} {value}")),
    }
}

/// The name of every record.
pub(super) fn names(raw: &Raw, kept: Kept, naming: &mut Naming) -> Column {
    let records = 0..raw.start_ns.len();
    let (kind, table) = (raw.field("kind"), raw.field("table"));
    let name_id = raw.field("name_id");
    match kept {
        Kept::Gpu => {
            let shape = raw.field("shape_id");
            let mut name = |i: usize| match GPU_TABLES[table.id(i, 0) as usize % GPU_TABLES.len()] {
                t if t == &tables::KERNEL => naming.kernel(shape.id(i, u32::MAX)),
                t => naming.names.intern(&page_name(t, kind.id(i, 0))),
            };
            records.map(|i| Some(u64::from(name(i)))).collect()
        }
        Kept::Api => records.map(|i| Some(u64::from(naming.call(name_id.id(i, 0))))).collect(),
        Kept::Range => records.map(|i| Some(u64::from(naming.text(name_id.id(i, 0))))).collect(),
        Kept::Directive => {
            let variable = raw.field("variable_id");
            let mut name = |i: usize| {
                let table = DIRECTIVE_TABLES[usize::from(table.get(i) == Some(1))];
                let region = page_name(table, kind.id(i, 0));
                match naming.labels.text(variable.id(i, 0)) {
                    variable if table == &tables::OPENACC && !variable.is_empty() => {
                        naming.names.intern(&format!("{region} {variable}"))
                    }
                    _ => naming.names.intern(&region),
                }
            };
            records.map(|i| Some(u64::from(name(i)))).collect()
        }
        Kept::Stack => {
            let function = |naming: &mut Naming, i| naming.function(kind.id(i, 0), name_id.id(i, 0));
            records.map(|i| Some(u64::from(function(naming, i)))).collect()
        }
        Kept::Overhead | Kept::Sync | Kept::Uvm => {
            let table = match kept {
                Kept::Overhead => &tables::OVERHEAD,
                Kept::Sync => &tables::SYNC,
                _ => &tables::UVM,
            };
            records.map(|i| Some(u64::from(naming.names.intern(&page_name(table, kind.id(i, 0)))))).collect()
        }
    }
}

/// Moves what rows are chosen by and what pages show into `store`.
pub(super) fn add_fields(raw: &mut Raw, kept: Kept, naming: &mut Naming, store: &mut Store) {
    let records = 0..raw.start_ns.len();
    let plain: &[(&'static str, &'static str)] = match kept {
        Kept::Gpu => &[
            ("correlation", "correlation"),
            ("bytes", "bytes"),
            ("value", "value"),
            ("stream", "stream"),
            ("context", "context"),
            ("device", "device"),
            ("src_device", "src_device"),
            ("dst_device", "dst_device"),
            ("graph_id", "graph"),
            ("graph_node_id", "graph_node"),
            ("queued_ns", "since_queued_ns"),
            ("submitted_ns", "since_submitted_ns"),
        ],
        Kept::Api => &[("correlation", "correlation"), ("tid", "tid"), ("result", "result")],
        Kept::Range => &[("tid", "tid"), ("category", "category"), ("color", "color")],
        Kept::Directive => &[
            ("tid", "tid"),
            ("bytes", "bytes"),
            ("stream", "stream"),
            ("context", "context"),
            ("device", "device"),
        ],
        Kept::Overhead => &[("tid", "tid"), ("correlation", "correlation")],
        Kept::Sync => &[
            ("correlation", "correlation"),
            ("stream", "stream"),
            ("context", "context"),
            ("event", "event"),
            ("result", "result"),
        ],
        Kept::Uvm => &[
            ("address", "address"),
            ("src_device", "src_device"),
            ("dst_device", "dst_device"),
            ("stream", "stream"),
        ],
        Kept::Stack => &[("tid", "tid"), ("samples", "samples")],
    };
    let mut named = |field: &str, make: &mut dyn FnMut(&mut Naming, u32) -> u32| -> Column {
        let values = raw.field(field);
        if values.is_all_null() {
            return Column::default();
        }
        let one = |i: usize| values.get(i).map(|v| u64::from(make(naming, v as u32)));
        records.clone().map(one).collect()
    };
    match kept {
        Kept::Gpu => {
            let mut memory =
                |naming: &mut Naming, v| word(&mut naming.names, &memory_kind::VOCABULARY, v, "memory kind");
            let (source, target) = (named("src_kind", &mut memory), named("dst_kind", &mut memory));
            let filled = named("mem_kind", &mut memory);
            store.add_field("src_kind", Shown::Always, source);
            // What a fill writes to is its destination.
            let target = records.clone().map(|i| target.get(i).or(filled.get(i))).collect();
            store.add_field("dst_kind", Shown::Always, target);
            let shape = raw.field("shape_id");
            let shapes = || records.clone().map(|i| shape.get(i));
            match naming.shapes(shapes()) {
                Some(column) => store.add_field("shape", Shown::Always, column),
                None => {
                    let columns = EXTENTS.into_iter().zip(naming.extents(shapes()));
                    columns.for_each(|(name, column)| store.add_field(name, Shown::Once, column));
                }
            }
        }
        Kept::Range => {
            let domain = named("domain_id", &mut |naming, v| naming.text(v));
            store.add_field("domain", Shown::Always, domain);
            let (whole, real) = (raw.field("payload_i64"), raw.field("payload_f64"));
            let payload = |i: usize| {
                let whole = whole.get(i).map(|v| unzigzag(v).to_string());
                let text = whole.or_else(|| real.get(i).map(|bits| f64::from_bits(bits).to_string()))?;
                Some(u64::from(naming.names.intern(&text)))
            };
            store.add_field("payload", Shown::Always, records.clone().map(payload).collect());
        }
        Kept::Directive => {
            // Where in the program, as a text.
            let (file, line) = (raw.field("file_id"), raw.field("line"));
            let mut place = |i: usize| {
                let file = file.get(i).map(|id| naming.labels.text(id as u32)).filter(|name| !name.is_empty())?;
                let text = line.get(i).map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"));
                Some(u64::from(naming.names.intern(&text)))
            };
            store.add_field("payload", Shown::Always, records.clone().map(&mut place).collect());
        }
        Kept::Uvm => {
            // What the number counts depends on the kind: bytes moved or concerned, or faults.
            let (kind, value) = (raw.field("kind"), raw.field("value"));
            let faults = |i: usize| matches!(kind.get(i), Some(3 | 4));
            store.add_field(
                "bytes",
                Shown::Always,
                records.clone().map(|i| value.get(i).filter(|_| !faults(i))).collect(),
            );
            store.add_field(
                "value",
                Shown::Always,
                records.clone().map(|i| value.get(i).filter(|_| faults(i))).collect(),
            );
        }
        Kept::Stack => {
            let file = named("file_id", &mut |naming, v| naming.text(v));
            store.add_field("file", Shown::Always, file);
        }
        Kept::Api | Kept::Overhead | Kept::Sync => {}
    }
    for (from, to) in plain {
        store.add_field(to, Shown::Always, raw.take(from));
    }
    // What rows are chosen by.
    let hidden: &[&str] = match kept {
        Kept::Gpu => &["table", "kind"],
        Kept::Api => &["domain"],
        Kept::Range => &["style"],
        Kept::Directive => &["table"],
        Kept::Uvm => &["kind"],
        Kept::Stack => &["untraced_pid"],
        Kept::Overhead | Kept::Sync => &[],
    };
    for name in hidden {
        store.add_field(name, Shown::Never, raw.take(name));
    }
}
