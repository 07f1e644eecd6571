//! Where importers put what they read: typed rows in, column batches out.

use super::kept::{BATCH_ROWS, Overflow, Piece};
use super::names::{Names, Shapes};
use super::summaries::Summary;
use crate::error::Error;
pub use crate::note::Note;
use shim_config::Budget;
use trace_format::columns::{Batch, Values};
use trace_format::schema::{Row, RowBuilder, TableSpec};
use trace_format::tables::{self, *};

/// How much of each record a reader is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// How many rows there are and when, of activities; everything of other tables. A reader for which more costs nothing
    /// gives more.
    Counts,
    /// Times, names, device, context, stream and what tells kinds of records apart: enough for any summary.
    /// A reader may leave out launch shapes (except the name), correlation, results and the like.
    Totals,
    /// Everything the file holds.
    Full,
}

/// What the caller wants to know, so that a reader of a foreign format can skip the rest.
#[derive(Clone, Debug)]
pub struct Need {
    /// Tables to fill; defining tables are always filled.
    pub tables: Vec<&'static TableSpec>,
    /// How much of each row.
    pub detail: Detail,
    /// Whether table `range` is to hold operators, annotations and Python functions of other profilers (styles 3 to
    /// 5) beside NVTX ranges. They are four fifths of many PyTorch traces.
    pub operators: bool,
}

impl Need {
    /// Everything.
    pub fn all() -> Self {
        Need { tables: tables::ALL.to_vec(), detail: Detail::Full, operators: true }
    }

    /// Numbers of rows and times of all tables.
    pub fn counts() -> Self {
        Need { detail: Detail::Counts, ..Need::all() }
    }

    /// Times, names and places of some tables.
    pub fn totals(tables: &[&'static TableSpec]) -> Self {
        Need { tables: tables.to_vec(), detail: Detail::Totals, operators: false }
    }

    /// Everything of some tables, operators apart.
    pub fn full(tables: &[&'static TableSpec]) -> Self {
        Need { detail: Detail::Full, ..Need::totals(tables) }
    }

    /// Widens this to what `other` needs too.
    pub fn add(&mut self, other: &Need) {
        for table in &other.tables {
            if !self.wants(table) {
                self.tables.push(table);
            }
        }
        self.detail = self.detail.max(other.detail);
        self.operators |= other.operators;
    }

    /// Whether rows of `table` are wanted.
    pub fn wants(&self, table: &TableSpec) -> bool {
        self.tables.contains(&table)
    }
}

/// One process that was recorded, as far as the file says. Environments, host names and users of foreign files
/// are not copied here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessInfo {
    /// Process id.
    pub pid: Option<u32>,
    /// Rank in a distributed job.
    pub rank: Option<u32>,
    /// Number of ranks.
    pub world_size: Option<u32>,
    /// Host, from native traces alone; tells equal pids apart.
    pub host: Option<String>,
    /// What the trace calls it, never a command line: `python3.10`, `pyper:trainer:0:0`.
    pub name: Option<String>,
    /// What to add to this process's times to get Unix nanoseconds; null: the trace has no epoch.
    pub unix_offset_ns: Option<i64>,
    /// What to add instead, where people want every trace to begin at 0; times count from there then.
    pub aligned_ns: Option<i64>,
    /// It is no process of the program but the launcher, which measured from outside.
    pub is_launcher: bool,
    /// Only some of the program's steps were recorded: which, and how many there were.
    pub steps: Option<Steps>,
    /// Only as much was recorded as a budget allowed.
    pub budget: Option<Budgeted>,
}

impl ProcessInfo {
    /// Whether only some of what the process did was recorded, and stands for all of it.
    pub fn is_sample(&self) -> bool {
        self.steps.is_some() || self.budget.is_some()
    }

    /// What was added to this process's times to make them Unix nanoseconds; null: they count from elsewhere, because
    /// the trace has no epoch or was moved to begin at 0.
    pub fn epoch_ns(&self) -> Option<i64> {
        self.unix_offset_ns.filter(|_| self.aligned_ns.is_none())
    }
}

/// Of which steps of a program the recording has some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// So many of `every` steps were recorded, one after the other.
    pub of_cycle: u32,
    /// After so many steps it began anew.
    pub every: u32,
    /// How many steps there were, recorded or not; null: the recording did not end as it should.
    pub all: Option<u64>,
}

/// What a budget (`--budget`) allowed to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgeted {
    /// Windows are whole steps of the program, else spans of time.
    pub is_steps: bool,
    /// When the recording began, in the times of the rows; null: windows before these are gone.
    pub began_ns: Option<i64>,
    /// When it ended; null: it did not end as it should.
    pub ended_ns: Option<i64>,
    /// How many steps there were, recorded or not; null: nobody has counted them, or windows are no steps.
    pub all_steps: Option<u64>,
    /// What the recording took by its own account, in nanoseconds of one core.
    pub spent_ns: Option<u64>,
    /// What it might take.
    pub budget: Budget,
}

/// Index of a process within one sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessIx(pub usize);

macro_rules! builders {
    ($($field:ident : $row:ty),+ $(,)?) => {
        /// One open builder per table.
        #[derive(Default)]
        struct Builders { $($field: <$row as Row>::Builder,)+ }

        $(impl SinkRow for $row {
            fn builder(process: &mut SinkProcess) -> &mut Self::Builder {
                &mut process.builders.$field
            }
        })+

        impl SinkProcess {
            fn flush(&mut self) {
                $(if !self.builders.$field.is_empty() {
                    self.kept.push(Piece::Here(self.builders.$field.take()));
                })+
            }
        }
    };
}

/// A row that importers may push. Strings and shapes are interned instead (see [`Sink::name`], [`Sink::shape`]).
pub trait SinkRow: Row {
    #[doc(hidden)]
    fn builder(process: &mut SinkProcess) -> &mut Self::Builder;
}

builders! {
    device: DeviceRow,
    context: ContextRow,
    stream: StreamRow,
    thread: ThreadRow,
    kernel: KernelRow,
    memcpy: MemcpyRow,
    memset: MemsetRow,
    api: ApiRow,
    sync: SyncRow,
    overhead: OverheadRow,
    graph: GraphRow,
    memory: MemoryRow,
    uvm: UvmRow,
    event: EventRow,
    external: ExternalRow,
    jit: JitRow,
    openacc: OpenaccRow,
    openmp: OpenmpRow,
    range: RangeRow,
    capture: CaptureRow,
    loss: LossRow,
    note: NoteRow,
    sample: SampleRow,
    frame: FrameRow,
    stack: StackRow,
    cpu_sample: CpuSampleRow,
    launch_stack: LaunchStackRow,
    host_call: HostCallRow,
    foreign: ForeignRow,
    details: DetailsRow,
}

/// One process of the file being read: who it is and its rows so far.
#[derive(Default)]
pub struct SinkProcess {
    /// Who it is; importers complete this whenever they learn more, at the end at the latest.
    pub info: ProcessInfo,
    builders: Builders,
    /// Finished batches; more are added by [`Sink::keep`]. Name and shape ids in them are ids of the shared [`Names`] and
    /// [`Shapes`].
    pub kept: Vec<Piece>,
}

impl SinkProcess {
    /// Lets times count from `unix_offset_ns` after 1970, and not from where they do. What was written by an export says
    /// from where the original counted, and listings that print its times as they are must print the same.
    pub fn count_from(&mut self, unix_offset_ns: i64) {
        if let Some(before) = self.info.unix_offset_ns.replace(unix_offset_ns) {
            self.move_times(before.saturating_sub(unix_offset_ns));
        }
    }

    /// The batches of a sink that keeps all of them in memory.
    pub fn into_batches(self) -> Vec<Batch> {
        let in_memory = |piece| match piece {
            Piece::Here(batch) => batch,
            Piece::Away(_) => unreachable!("this sink has no temporary file"),
        };
        self.kept.into_iter().map(in_memory).collect()
    }

    /// Adds this to all times of the rows so far.
    pub fn move_times(&mut self, shift_ns: i64) {
        if shift_ns == 0 {
            return;
        }
        if let Some(budget) = &mut self.info.budget {
            for time in [&mut budget.began_ns, &mut budget.ended_ns].into_iter().flatten() {
                *time = time.saturating_add(shift_ns);
            }
        }
        self.flush();
        self.kept.iter_mut().for_each(|piece| piece.move_times(shift_ns));
    }
}

/// Collects what one foreign file holds.
pub struct Sink<'a> {
    names: &'a mut Names,
    shapes: &'a mut Shapes,
    /// The processes met so far.
    pub processes: Vec<SinkProcess>,
    /// What is partial or remarkable.
    pub notes: Vec<Note>,
    /// What the file is and which version of what wrote it, for `info`, e.g. `nsys SQLite export, schema 3.13.2`.
    pub origin: String,
    /// What the file holds that is no record: sums that another tool made, and CPU profiles.
    pub summaries: Vec<Summary>,
    pub(super) overflow: Overflow,
}

impl<'a> Sink<'a> {
    /// An empty sink that interns into `names` and `shapes`, and keeps all rows in memory.
    pub fn new(names: &'a mut Names, shapes: &'a mut Shapes) -> Self {
        Sink {
            names,
            shapes,
            processes: Vec::new(),
            notes: Vec::new(),
            origin: String::new(),
            summaries: Vec::new(),
            overflow: Overflow::default(),
        }
    }

    /// Lets rows that take too much memory go to a temporary file.
    pub(super) fn with_overflow(self, overflow: Overflow) -> Self {
        Sink { overflow, ..self }
    }

    /// Adds a process; rows are pushed to the index this returns.
    pub fn process(&mut self, info: ProcessInfo) -> ProcessIx {
        self.processes.push(SinkProcess { info, ..Default::default() });
        ProcessIx(self.processes.len() - 1)
    }

    /// The id of a name.
    pub fn name(&mut self, name: &[u8]) -> u32 {
        self.names.intern(name)
    }

    /// The id of a launch shape; the row's own `id` is ignored.
    pub fn shape(&mut self, shape: ShapeRow) -> u32 {
        self.shapes.intern(shape)
    }

    /// Adds one row to a process.
    #[inline]
    pub fn push<R: SinkRow>(&mut self, process: ProcessIx, row: R) {
        let builder = R::builder(&mut self.processes[process.0]);
        builder.push(row);
        if builder.len() >= BATCH_ROWS {
            let batch = builder.take();
            self.keep(process, batch);
        }
    }

    /// Adds rows to a process, with name and shape ids of this sink.
    pub fn keep(&mut self, process: ProcessIx, batch: Batch) {
        let too_many = self.overflow.add(&batch);
        self.processes[process.0].kept.push(Piece::Here(batch));
        if too_many {
            self.put_away();
        }
    }

    fn put_away(&mut self) {
        let kept = self.processes.iter_mut().map(|process| &mut process.kept);
        if let Err(error) = self.overflow.put_away(kept) {
            let why = Error::temporary(error);
            self.note(
                "rows-in-memory",
                format!("{why}; until then all rows are kept in memory, which may not suffice"),
            );
        }
    }

    /// Says that something about the file is partial or remarkable.
    pub fn note(&mut self, code: &'static str, text: impl Into<String>) {
        self.notes.push(Note { code, text: text.into() });
    }

    /// Adds something that is no record.
    pub fn summary(&mut self, summary: Summary) {
        self.summaries.push(summary);
    }

    /// Takes over what another sink has collected with names of its own, e.g. on another thread; it must be finished
    /// and must not hold launch shapes. `process` finds or makes the process of this sink that each of its is.
    pub fn absorb(
        &mut self,
        processes: Vec<SinkProcess>,
        notes: Vec<Note>,
        names: &Names,
        mut process: impl FnMut(&mut Self, ProcessInfo) -> ProcessIx,
    ) {
        let shared: Vec<u32> = (0..names.len() as u32).map(|id| self.names.intern(names.get(id))).collect();
        for other in processes {
            let mine = process(self, other.info.clone());
            for mut batch in other.into_batches() {
                for (spec, column) in batch.table.columns.iter().zip(&mut batch.columns) {
                    debug_assert!(!spec.unit.is_shape(), "shapes of another sink mean nothing here");
                    if let (true, Values::U32(ids)) = (spec.unit.is_name(), &mut column.values) {
                        ids.iter_mut().for_each(|id| *id = shared.get(*id as usize).copied().unwrap_or(0));
                    }
                }
                self.keep(mine, batch);
            }
        }
        // Both may have met the same trouble, in the catalogue say.
        let new = notes.into_iter().filter(|note| !self.notes.contains(note)).collect::<Vec<_>>();
        self.notes.extend(new);
    }

    /// Closes all open batches.
    pub fn finish(&mut self) {
        self.processes.iter_mut().for_each(SinkProcess::flush);
        let bytes = self.processes.iter().flat_map(|process| &process.kept).map(Piece::bytes_in_memory);
        if self.overflow.is_full_at_end(bytes) {
            self.put_away();
        }
    }
}

/// Times beyond this are no times: 2^62 ns is the year 2116 counted from 1970.
const IMPLAUSIBLE_NS: i64 = 1 << 62;

/// Whether this can be the distance between a trace's clock and 1970; with it, times that a clock can show stay so.
pub(crate) fn is_plausible(ns: i64) -> bool {
    ns > -IMPLAUSIBLE_NS && ns < IMPLAUSIBLE_NS
}

/// End minus start, or `None` where the two cannot both be right: 0/0 (CUPTI ran out of device buffers), end before
/// start, or magnitudes no clock shows (0x8000000000000000 was seen). Such records are counted and enter no sum.
#[inline]
pub fn valid_duration(start_ns: i64, end_ns: i64) -> Option<i64> {
    ((start_ns, end_ns) != (0, 0) && is_plausible(start_ns) && is_plausible(end_ns) && end_ns >= start_ns)
        .then(|| end_ns - start_ns)
}
