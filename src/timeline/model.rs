//! The records of a timeline in columns, each kind in one store and in order of start.

use super::column::Column;
use super::field::{self, FieldName};
use super::names::{Naming, PageNames, PageShapes};
use super::names_and_fields;
use super::read::{Ends, Raw, Take};
use super::stacks;
use crate::analysis::labels::Labels;
use crate::error::{Error, Result};
use crate::trace::select::Filter;
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::{any, kernel, memcpy, memset, openacc, range, sync, uvm};

/// Longest stretch of time that JavaScript counts in whole nanoseconds: 104 days.
const LONGEST_NS: u64 = (1 << 53) - 1;

/// The stores of a [`Model`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreKind {
    /// Kernels, copies, fills and whole graphs.
    Gpu,
    /// Calls of the runtime and the driver API, of the operating system and of MPI.
    Api,
    /// Ranges and marks of the program.
    Range,
    /// OpenACC and OpenMP regions.
    Directive,
    /// Time that the driver and CUPTI took.
    Overhead,
    /// Synchronisations.
    Sync,
    /// Unified memory events.
    Uvm,
    /// Functions that CPU samples saw.
    Stack,
}

/// All stores, in the order of [`Model::stores`].
pub const KEPT: [StoreKind; 8] = [
    StoreKind::Gpu,
    StoreKind::Api,
    StoreKind::Range,
    StoreKind::Directive,
    StoreKind::Overhead,
    StoreKind::Sync,
    StoreKind::Uvm,
    StoreKind::Stack,
];

/// Where pages show a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The field is shown in all rows of the record.
    Always,
    /// In the row that counts the record: its numbers hardly repeat, and would take room in every row.
    Once,
    /// Nowhere: it says which row a record belongs to.
    Never,
}

/// A column that pages show beside times and names.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: FieldName,
    /// Where pages show it.
    pub shown: Shown,
    /// Its numbers.
    pub values: Column,
}

/// Records of one kind.
#[derive(Debug, Default)]
pub struct Store {
    /// Start, from the start of the timeline.
    pub start_ns: Vec<u64>,
    /// Duration; none: not finished.
    pub duration_ns: Column,
    /// Name, as an id of the page.
    pub name: Column,
    /// Ordinal of the process.
    pub process: Column,
    /// Everything else.
    pub fields: Vec<Field>,
    /// When records end that were not finished: with the timeline.
    pub last_ns: u64,
}

impl Store {
    /// Number of records.
    pub fn len(&self) -> usize {
        self.start_ns.len()
    }

    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.start_ns.is_empty()
    }

    /// When record `i` begins and ends.
    #[inline]
    pub fn span(&self, i: usize) -> (u64, u64) {
        let start = self.start_ns[i];
        (start, self.duration_ns.get(i).map_or(self.last_ns.max(start), |ns| start + ns))
    }

    /// The field of this name; one without numbers if there is none.
    pub fn field(&self, name: FieldName) -> &Column {
        static NONE: Column = Column::none();
        self.fields.iter().find(|field| field.name == name).map_or(&NONE, |field| &field.values)
    }

    /// Adds a field.
    pub(super) fn add_field(&mut self, name: FieldName, shown: Shown, values: Column) {
        self.fields.push(Field { name, shown, values });
    }
}

/// Everything that is drawn.
pub struct Model {
    /// When the timeline begins: Unix nanoseconds where the traces have an epoch.
    pub start_ns: i64,
    /// Nanoseconds from there to the last end.
    pub duration_ns: u64,
    /// Texts.
    pub names: PageNames,
    /// Launch shapes.
    pub shapes: PageShapes,
    /// The records, in the order of [`KEPT`].
    pub stores: [Store; KEPT.len()],
    /// Records that are not drawn because their times are impossible.
    pub undrawn: u64,
}

/// Columns of GPU work; a table that lacks one has nothing there.
const GPU: &[Take] = &[
    Take::Plain(any::DEVICE),
    Take::Plain(any::CONTEXT),
    Take::Plain(any::STREAM),
    Take::Plain(any::CORRELATION),
    Take::Plain(kernel::SHAPE_ID),
    Take::Plain(any::KIND),
    Take::Plain(memcpy::SRC_KIND),
    Take::Plain(memcpy::DST_KIND),
    Take::Plain(memset::MEM_KIND),
    Take::Plain(any::BYTES),
    Take::Plain(memset::VALUE),
    Take::Plain(any::SRC_DEVICE),
    Take::Plain(any::DST_DEVICE),
    Take::Plain(any::GRAPH_ID),
    Take::Plain(any::GRAPH_NODE_ID),
    Take::Before(kernel::QUEUED_NS),
    Take::Before(kernel::SUBMITTED_NS),
];
const API: &[Take] = &[
    Take::Plain(any::TID),
    Take::Plain(any::DOMAIN),
    Take::Plain(any::CORRELATION),
    Take::Plain(any::RESULT),
    Take::Plain(any::NAME_ID),
];
const RANGE: &[Take] = &[
    Take::Plain(any::TID),
    Take::Plain(range::STYLE),
    Take::Plain(range::RANGE_ID),
    Take::Plain(range::DOMAIN_ID),
    Take::Plain(any::NAME_ID),
    Take::Plain(range::CATEGORY),
    Take::Plain(range::COLOR),
    Take::Signed(range::PAYLOAD_I64),
    Take::Plain(range::PAYLOAD_F64),
];
const OVERHEAD: &[Take] = &[Take::Plain(any::KIND), Take::Plain(any::TID), Take::Plain(any::CORRELATION)];
const SYNC: &[Take] = &[
    Take::Plain(any::KIND),
    Take::Plain(any::CONTEXT),
    Take::Plain(any::STREAM),
    Take::Plain(sync::EVENT),
    Take::Plain(any::CORRELATION),
    Take::Plain(any::RESULT),
];
const UVM: &[Take] = &[
    Take::Plain(any::KIND),
    Take::Plain(uvm::VALUE),
    Take::Plain(uvm::ADDRESS),
    Take::Plain(any::SRC_DEVICE),
    Take::Plain(any::DST_DEVICE),
    Take::Plain(any::STREAM),
];
const DIRECTIVE: &[Take] = &[
    Take::Plain(any::KIND),
    Take::Plain(any::TID),
    Take::Plain(openacc::VARIABLE_ID),
    Take::Plain(openacc::FILE_ID),
    Take::Plain(openacc::LINE),
    Take::Plain(any::BYTES),
    Take::Plain(any::DEVICE),
    Take::Plain(any::CONTEXT),
    Take::Plain(any::STREAM),
];

/// Tables of GPU work, by the number that field `table` of their records has.
pub static GPU_TABLES: [&TableSpec; 4] = [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH];
/// Tables of calls; field `domain` says whose a call is.
static CALL_TABLES: [&TableSpec; 2] = [&tables::API, &tables::HOST_CALL];
/// Tables of directives, by the number that field `table` of their records has.
pub static DIRECTIVE_TABLES: [&TableSpec; 2] = [&tables::OPENACC, &tables::OPENMP];

impl Model {
    /// Reads the records that pass.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read, or if records are too far apart for one timeline.
    pub fn read(labels: &Labels, filter: &Filter) -> Result<Model> {
        let frames = labels.frames();
        let read = |table, takes, ends| Raw::read(frames, filter, table, takes, ends);
        let several = |tables: &[&'static TableSpec], takes: &[Take]| -> Result<Raw> {
            let mut all = Raw::read(frames, filter, tables[0], takes, Ends::Duration)?;
            let mut table: Column = all.start_ns.iter().map(|_| Some(0)).collect();
            for (number, other) in tables.iter().enumerate().skip(1) {
                let more = Raw::read(frames, filter, other, takes, Ends::Duration)?;
                more.start_ns.iter().for_each(|_| table.push(Some(number as u64)));
                all.append(&more);
            }
            all.fields.push((field::TABLE, table));
            Ok(all)
        };
        let mut ranges = read(&tables::RANGE, RANGE, Ends::End)?;
        without_reopened(&mut ranges);
        let mut raws = [
            several(&GPU_TABLES, GPU)?,
            several(&CALL_TABLES, API)?,
            ranges,
            several(&DIRECTIVE_TABLES, DIRECTIVE)?,
            read(&tables::OVERHEAD, OVERHEAD, Ends::Duration)?,
            read(&tables::SYNC, SYNC, Ends::Duration)?,
            read(&tables::UVM, UVM, Ends::Instant)?,
            stacks::read(frames, filter)?,
        ];
        let undrawn = raws.iter().map(|raw| raw.undrawn).sum();
        for (raw, kept) in raws.iter_mut().zip(KEPT) {
            raw.sort(!matches!(kept, StoreKind::Gpu | StoreKind::Uvm))?;
        }
        let (start_ns, duration_ns) = extent(&raws)?;
        let mut naming = Naming::new(labels);
        let mut raws = raws.into_iter();
        let stores = KEPT.map(|kept| {
            let mut store = raws.next().map(|raw| store(raw, kept, &mut naming)).unwrap_or_default();
            store.last_ns = duration_ns;
            store
        });
        let mut model =
            Model { start_ns, duration_ns, names: naming.names, shapes: naming.shapes, stores, undrawn };
        model.rebase();
        Ok(model)
    }

    /// The records of one kind.
    pub fn store(&self, kept: StoreKind) -> &Store {
        &self.stores[kept as usize]
    }

    /// The records of one kind.
    pub(super) fn store_mut(&mut self, kept: StoreKind) -> &mut Store {
        &mut self.stores[kept as usize]
    }

    /// All records.
    pub fn records(&self) -> u64 {
        self.stores.iter().map(|store| store.len() as u64).sum()
    }

    /// Stores hold starts as the trace counts them until all are known.
    fn rebase(&mut self) {
        for start in self.stores.iter_mut().flat_map(|store| &mut store.start_ns) {
            *start = start.wrapping_sub(self.start_ns as u64);
        }
    }
}

/// The first start, and from there to the last end; the start is 0 if there is nothing.
fn extent(raws: &[Raw]) -> Result<(i64, u64)> {
    let Some(first) = raws.iter().filter_map(|raw| raw.start_ns.first().copied()).min() else { return Ok((0, 0)) };
    let mut last = first;
    for raw in raws {
        for (i, &start) in raw.start_ns.iter().enumerate() {
            let duration = raw.duration_ns.get(i).and_then(|ns| i64::try_from(ns).ok()).unwrap_or(0);
            last = last.max(start.saturating_add(duration));
        }
    }
    let duration = last.abs_diff(first);
    if duration > LONGEST_NS {
        let days = duration / 86_400_000_000_000;
        return Err(Error::new(format!("the records span {days} days, and a page can show 104 at most"))
            .remedy("choose a part of them with --from and --to"));
    }
    Ok((first, duration))
}

/// Leaves out ranges that were written while they were open and again when they were closed.
fn without_reopened(ranges: &mut Raw) {
    let id = |raw: &Raw, i: usize| {
        let id = raw.field(field::RANGE_ID).get(i).filter(|&id| id != 0)?;
        Some((raw.process.get(i), id))
    };
    let closed: hashbrown::HashSet<_> = (0..ranges.start_ns.len())
        .filter(|&i| ranges.duration_ns.get(i).is_some())
        .filter_map(|i| id(ranges, i))
        .collect();
    ranges.retain(|raw, i| raw.duration_ns.get(i).is_some() || id(raw, i).is_none_or(|id| !closed.contains(&id)));
}

/// Names and fields as the page has them.
fn store(mut raw: Raw, kept: StoreKind, naming: &mut Naming) -> Store {
    let mut store = Store {
        // Signed until `Model::rebase`.
        start_ns: raw.start_ns.iter().map(|&start| start as u64).collect(),
        name: names_and_fields::names(&raw, kept, naming),
        ..Store::default()
    };
    if kept == StoreKind::Range {
        // A mark is a point in time.
        let style = raw.field(field::STYLE);
        let marks =
            |i: usize| raw.duration_ns.get(i).or((style.get(i) == Some(names_and_fields::MARK)).then_some(0));
        store.duration_ns = (0..raw.start_ns.len()).map(marks).collect();
    } else {
        store.duration_ns = std::mem::take(&mut raw.duration_ns);
    }
    names_and_fields::add_fields(&mut raw, kept, naming, &mut store);
    store.process = raw.process;
    store
}
