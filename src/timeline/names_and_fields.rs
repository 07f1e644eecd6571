//! What records are called, and which of their fields pages show.

use super::column::Column;
use super::field::{self, FieldName};
use super::model::{DIRECTIVE_TABLES, GPU_TABLES, Shown, Store, StoreKind};
use super::names::{EXTENTS, Naming, PageNames};
use super::read::{Raw, unzigzag};
use crate::lines::kind_names::page_name;
use trace_format::tables;
use trace_format::vocabulary::{Vocabulary, memory_kind, range_style, uvm_kind};

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
pub(super) fn names(raw: &Raw, kept: StoreKind, naming: &mut Naming) -> Column {
    let records = 0..raw.start_ns.len();
    let (kind, table) = (raw.field(field::KIND), raw.field(field::TABLE));
    let name_id = raw.field(field::NAME_ID);
    match kept {
        StoreKind::Gpu => {
            let shape = raw.field(field::SHAPE_ID);
            let mut name = |i: usize| match GPU_TABLES[table.id(i, 0) as usize % GPU_TABLES.len()] {
                t if t == &tables::KERNEL => naming.kernel(shape.id(i, u32::MAX)),
                t => naming.names.intern(&page_name(t, kind.id(i, 0))),
            };
            records.map(|i| Some(u64::from(name(i)))).collect()
        }
        StoreKind::Api => records.map(|i| Some(u64::from(naming.call(name_id.id(i, 0))))).collect(),
        StoreKind::Range => records.map(|i| Some(u64::from(naming.text(name_id.id(i, 0))))).collect(),
        StoreKind::Directive => {
            let variable = raw.field(field::VARIABLE_ID);
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
        StoreKind::Stack => {
            let function = |naming: &mut Naming, i| naming.function(kind.id(i, 0), name_id.id(i, 0));
            records.map(|i| Some(u64::from(function(naming, i)))).collect()
        }
        StoreKind::Overhead | StoreKind::Sync | StoreKind::Uvm => {
            let table = match kept {
                StoreKind::Overhead => &tables::OVERHEAD,
                StoreKind::Sync => &tables::SYNC,
                _ => &tables::UVM,
            };
            records.map(|i| Some(u64::from(naming.names.intern(&page_name(table, kind.id(i, 0)))))).collect()
        }
    }
}

/// Fields that are shown as they were read: from which field, and under which name.
fn plain_fields(kept: StoreKind) -> &'static [(FieldName, FieldName)] {
    match kept {
        StoreKind::Gpu => &[
            (field::CORRELATION, field::CORRELATION),
            (field::BYTES, field::BYTES),
            (field::VALUE, field::VALUE),
            (field::STREAM, field::STREAM),
            (field::CONTEXT, field::CONTEXT),
            (field::DEVICE, field::DEVICE),
            (field::SRC_DEVICE, field::SRC_DEVICE),
            (field::DST_DEVICE, field::DST_DEVICE),
            (field::GRAPH_ID, field::GRAPH),
            (field::GRAPH_NODE_ID, field::GRAPH_NODE),
            (field::QUEUED_NS, field::SINCE_QUEUED_NS),
            (field::SUBMITTED_NS, field::SINCE_SUBMITTED_NS),
        ],
        StoreKind::Api => {
            &[(field::CORRELATION, field::CORRELATION), (field::TID, field::TID), (field::RESULT, field::RESULT)]
        }
        StoreKind::Range => {
            &[(field::TID, field::TID), (field::CATEGORY, field::CATEGORY), (field::COLOR, field::COLOR)]
        }
        StoreKind::Directive => &[
            (field::TID, field::TID),
            (field::BYTES, field::BYTES),
            (field::STREAM, field::STREAM),
            (field::CONTEXT, field::CONTEXT),
            (field::DEVICE, field::DEVICE),
        ],
        StoreKind::Overhead => &[(field::TID, field::TID), (field::CORRELATION, field::CORRELATION)],
        StoreKind::Sync => &[
            (field::CORRELATION, field::CORRELATION),
            (field::STREAM, field::STREAM),
            (field::CONTEXT, field::CONTEXT),
            (field::EVENT, field::EVENT),
            (field::RESULT, field::RESULT),
        ],
        StoreKind::Uvm => &[
            (field::ADDRESS, field::ADDRESS),
            (field::SRC_DEVICE, field::SRC_DEVICE),
            (field::DST_DEVICE, field::DST_DEVICE),
            (field::STREAM, field::STREAM),
        ],
        StoreKind::Stack => &[(field::TID, field::TID), (field::SAMPLES, field::SAMPLES)],
    }
}

/// Fields by which rows of the page are chosen.
fn hidden_fields(kept: StoreKind) -> &'static [FieldName] {
    match kept {
        StoreKind::Gpu => &[field::TABLE, field::KIND],
        StoreKind::Api => &[field::DOMAIN],
        StoreKind::Range => &[field::STYLE],
        StoreKind::Directive => &[field::TABLE],
        StoreKind::Uvm => &[field::KIND],
        StoreKind::Stack => &[field::UNTRACED_PID],
        StoreKind::Overhead | StoreKind::Sync => &[],
    }
}

/// Moves what rows are chosen by and what pages show into `store`.
pub(super) fn add_fields(raw: &mut Raw, kept: StoreKind, naming: &mut Naming, store: &mut Store) {
    match kept {
        StoreKind::Gpu => add_work(raw, naming, store),
        StoreKind::Range => add_range(raw, naming, store),
        StoreKind::Directive => add_directive(raw, naming, store),
        StoreKind::Uvm => add_uvm(raw, store),
        StoreKind::Stack => {
            let file = named(raw, field::FILE_ID, |value| naming.text(value));
            store.add_field(field::FILE, Shown::Always, file);
        }
        StoreKind::Api | StoreKind::Overhead | StoreKind::Sync => {}
    }
    for &(from, to) in plain_fields(kept) {
        store.add_field(to, Shown::Always, raw.take(from));
    }
    for &name in hidden_fields(kept) {
        store.add_field(name, Shown::Never, raw.take(name));
    }
}

/// The numbers of a field as names of the page.
fn named(raw: &Raw, field: FieldName, mut name: impl FnMut(u32) -> u32) -> Column {
    let values = raw.field(field);
    if values.is_all_null() {
        return Column::default();
    }
    let one = |i: usize| values.get(i).map(|value| u64::from(name(value as u32)));
    (0..raw.start_ns.len()).map(one).collect()
}

/// Kinds of memory and launch shapes.
fn add_work(raw: &Raw, naming: &mut Naming, store: &mut Store) {
    let records = || 0..raw.start_ns.len();
    let mut memory =
        |field| named(raw, field, |v| word(&mut naming.names, &memory_kind::VOCABULARY, v, "memory kind"));
    let (source, target) = (memory(field::SRC_KIND), memory(field::DST_KIND));
    let filled = memory(field::MEM_KIND);
    store.add_field(field::SRC_KIND, Shown::Always, source);
    // What a fill writes to is its destination.
    let target = records().map(|i| target.get(i).or(filled.get(i))).collect();
    store.add_field(field::DST_KIND, Shown::Always, target);
    let shape = raw.field(field::SHAPE_ID);
    let shapes = || records().map(|i| shape.get(i));
    match naming.shapes(shapes()) {
        Some(column) => store.add_field(field::SHAPE, Shown::Always, column),
        None => {
            let columns = EXTENTS.into_iter().zip(naming.extents(shapes()));
            columns.for_each(|(name, column)| store.add_field(name, Shown::Once, column));
        }
    }
}

/// Domains and payloads.
fn add_range(raw: &Raw, naming: &mut Naming, store: &mut Store) {
    let domain = named(raw, field::DOMAIN_ID, |value| naming.text(value));
    store.add_field(field::DOMAIN, Shown::Always, domain);
    let (whole, real) = (raw.field(field::PAYLOAD_I64), raw.field(field::PAYLOAD_F64));
    let payload = |i: usize| {
        let whole = whole.get(i).map(|v| unzigzag(v).to_string());
        let text = whole.or_else(|| real.get(i).map(|bits| f64::from_bits(bits).to_string()))?;
        Some(u64::from(naming.names.intern(&text)))
    };
    store.add_field(field::PAYLOAD, Shown::Always, (0..raw.start_ns.len()).map(payload).collect());
}

/// Where in the program, as a text.
fn add_directive(raw: &Raw, naming: &mut Naming, store: &mut Store) {
    let (file, line) = (raw.field(field::FILE_ID), raw.field(field::LINE));
    let place = |i: usize| {
        let file = file.get(i).map(|id| naming.labels.text(id as u32)).filter(|name| !name.is_empty())?;
        let text = line.get(i).map_or_else(|| file.to_owned(), |line| format!("{file}:{line}"));
        Some(u64::from(naming.names.intern(&text)))
    };
    store.add_field(field::PAYLOAD, Shown::Always, (0..raw.start_ns.len()).map(place).collect());
}

/// What the number counts, which depends on the kind: bytes moved or concerned, or faults.
fn add_uvm(raw: &Raw, store: &mut Store) {
    let (kind, value) = (raw.field(field::KIND), raw.field(field::VALUE));
    let is = |i: usize, code: u32| kind.get(i) == Some(u64::from(code));
    let faults = |i: usize| is(i, uvm_kind::CPU_PAGE_FAULTS) || is(i, uvm_kind::GPU_PAGE_FAULTS);
    let those = |of_faults: bool| {
        let one = |i: usize| value.get(i).filter(|_| faults(i) == of_faults);
        (0..raw.start_ns.len()).map(one).collect()
    };
    store.add_field(field::BYTES, Shown::Always, those(false));
    store.add_field(field::VALUE, Shown::Always, those(true));
}
