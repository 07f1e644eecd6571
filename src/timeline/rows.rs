//! A row: which records it shows, in which lanes, and how it looks from afar.

use super::column::Column;
use super::lanes::lanes;
use super::levels::{self, Bin, Scale, Slice, Spans};
use super::model::{Field, Kept, Model, Shown, Store};
use super::records::links_grow;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{Read, Write};

/// Records of a tile of level 0.
pub const RECORDS_PER_TILE: usize = 4096;
/// A row of no more tiles of records has none of bins: pages draw so few records as they are.
const TILES_AS_RECORDS: usize = 2;

/// What a row shows; named as nvvp named its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Heading: a process.
    Process,
    /// Heading: a thread of the program.
    Thread,
    /// Calls of the runtime API.
    Runtime,
    /// Calls of the driver API.
    Driver,
    /// Calls of the operating system or of MPI.
    HostCalls,
    /// Ranges of the program.
    Nvtx,
    /// Marks of the program.
    Markers,
    /// OpenACC and OpenMP regions.
    Directives,
    /// Functions of the CPU, from samples.
    Functions,
    /// What the driver and CUPTI took.
    Overhead,
    /// Synchronisations.
    Sync,
    /// Heading: a GPU.
    Device,
    /// Unified memory events.
    Migration,
    /// Heading: a context.
    Context,
    /// Copies in one direction.
    Memcpy,
    /// Fills.
    Memset,
    /// Whole CUDA graphs.
    Graph,
    /// All kernels.
    Compute,
    /// Kernels of one name.
    Kernel,
    /// Heading: all streams.
    Streams,
    /// What ran in one stream.
    Stream,
    /// A quantity over time.
    Counter,
}

impl Kind {
    /// The word for it in the page, and the set of colours it is drawn in.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Kind::Process => ("process", "other"),
            Kind::Thread => ("thread", "other"),
            Kind::Runtime => ("runtime", "runtime"),
            Kind::Driver => ("driver", "driver"),
            Kind::HostCalls => ("host_calls", "functions"),
            Kind::Nvtx => ("nvtx", "nvtx"),
            Kind::Markers => ("markers", "nvtx"),
            Kind::Directives => ("directives", "nvtx"),
            Kind::Functions => ("functions", "functions"),
            Kind::Overhead => ("overhead", "overhead"),
            Kind::Sync => ("sync", "sync"),
            Kind::Device => ("device", "kernel"),
            Kind::Migration => ("migration", "migration"),
            Kind::Context => ("context", "kernel"),
            Kind::Memcpy => ("memcpy", "memcpy"),
            Kind::Memset => ("memset", "memset"),
            Kind::Graph => ("graph", "kernel"),
            Kind::Compute => ("compute", "kernel"),
            Kind::Kernel => ("kernel", "kernel"),
            Kind::Streams => ("streams", "kernel"),
            Kind::Stream => ("stream", "kernel"),
            Kind::Counter => ("counter", "other"),
        }
    }
}

/// What a counter row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// How much of the time the GPU was busy.
    Busy,
    /// Kernels that were launched and have not ended.
    Queue,
    /// How fast copies are.
    Copies,
    /// Memory in use.
    Memory,
    /// A metric that was sampled; the row's label names it.
    Sample {
        /// Its unit.
        unit: &'static str,
    },
}

impl Quantity {
    /// Its name and unit.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Quantity::Busy => ("GPU busy", "%"),
            Quantity::Queue => ("Queue length", "kernels"),
            Quantity::Copies => ("Copies", "GB/s"),
            Quantity::Memory => ("Memory in use", "bytes"),
            Quantity::Sample { unit } => ("Sample", unit),
        }
    }
}

/// One row.
#[derive(Debug)]
pub struct Row {
    /// What it shows.
    pub kind: Kind,
    /// The row it is below of.
    pub parent: Option<usize>,
    /// What it is called.
    pub label: String,
    /// The table its records count for, or what they are called where they are in no table; none where they are shown
    /// a second time.
    pub table: Option<&'static str>,
    /// Whether what it shows belongs to what its parent shows while that is closed.
    pub adds_up: bool,
    /// Where its records are.
    pub kept: Option<Kept>,
    /// Its records, in order of start.
    pub members: Vec<u32>,
    /// Lanes of its records; nothing where all are in lane 0.
    pub lanes: Column,
    /// How many lanes there are.
    pub lane_count: u32,
    /// Fields that some of its records have, as places in [`Store::fields`], and whether they grow.
    pub fields: Vec<(usize, bool)>,
    /// Whether the other side of any of its records is known: the call, or the work that a call launched.
    pub linked: bool,
    /// Whether the other sides are all in one row and follow each other as the records do.
    pub links_grow: bool,
    /// How long anything of it was running.
    pub busy_ns: u64,
    /// Its longest record.
    pub max_duration_ns: u64,
    /// First start and last end of each tile of records.
    pub tile_spans: Vec<(u64, u64)>,
    /// The coarsest level; 0 where there are only records.
    pub levels: u32,
    /// Tiles of bins by level, from 1 on.
    pub tiles: Vec<Vec<(u64, Packed)>>,
    /// What a counter counts.
    pub counter: Option<Quantity>,
    /// The largest value of a counter, in thousandths.
    pub max_thousandths: i64,
}

impl Row {
    /// A row without records.
    pub(super) fn heading(kind: Kind, parent: Option<usize>, label: String) -> Row {
        Row {
            kind,
            parent,
            label,
            table: None,
            adds_up: true,
            kept: None,
            members: Vec::new(),
            lanes: Column::default(),
            lane_count: 0,
            fields: Vec::new(),
            linked: false,
            links_grow: false,
            busy_ns: 0,
            max_duration_ns: 0,
            tile_spans: Vec::new(),
            levels: 0,
            tiles: Vec::new(),
            counter: None,
            max_thousandths: 0,
        }
    }

    /// The records of the row.
    pub fn store<'m>(&self, model: &'m Model) -> Option<&'m Store> {
        self.kept.map(|kept| model.store(kept))
    }

    /// The place of a record in this row.
    pub fn position(&self, record: u32) -> Option<u64> {
        self.members.binary_search(&record).ok().map(|i| i as u64)
    }

    /// Finds lanes, spans of tiles and which fields are in use, and what the row looks like from afar.
    pub(super) fn prepare(&mut self, model: &Model, scale: Scale) -> (Vec<Bin>, Spans) {
        let Some(store) = self.store(model) else { return Default::default() };
        let spans = || self.members.iter().map(|&i| store.span(i as usize));
        let (lanes, lane_count) = lanes(spans());
        let tile_spans = self.members.chunks(RECORDS_PER_TILE).map(|tile| {
            let all = tile.iter().map(|&i| store.span(i as usize));
            all.reduce(|(start, a), (_, b)| (start, a.max(b))).unwrap_or_default()
        });
        let tile_spans = tile_spans.collect();
        let used = |values: &Column| {
            !values.is_all_null() && self.members.iter().any(|&i| values.get(i as usize).is_some())
        };
        // Most ids grow along a row, and take a third of the room as differences.
        let grows = |values: &Column| {
            let mut all = self.members.iter().map(|&i| values.get(i as usize));
            let mut last = Some(0);
            all.all(|value| value >= std::mem::replace(&mut last, value))
        };
        let shown = |field: &Field| match field.shown {
            Shown::Always => used(&field.values),
            Shown::Once => self.table.is_some() && used(&field.values),
            Shown::Never => false,
        };
        let fields = (0..store.fields.len()).filter(|&f| shown(&store.fields[f]));
        let fields = fields.map(|f| (f, grows(&store.fields[f].values))).collect();
        let linked = used(store.field("launch")) || used(store.field("gpu"));
        let links_grow = linked && links_grow(model, self);
        let max_duration_ns = spans().map(|(start, end)| end - start).max().unwrap_or(0);
        let slices = self.members.iter().map(|&i| {
            let (start_ns, end_ns) = store.span(i as usize);
            Slice { start_ns, end_ns, name: store.name.id(i as usize, 0) }
        });
        let (bins, busy) = levels::finest(slices, scale.base_bin_ns);
        (self.lanes, self.lane_count, self.tile_spans) = (lanes, lane_count, tile_spans);
        (self.fields, self.linked, self.links_grow) = (fields, linked, links_grow);
        self.max_duration_ns = max_duration_ns;
        (bins, busy)
    }

    /// Makes all tiles of bins from the finest level.
    pub(super) fn pack(&mut self, finest: &[Bin], busy: &Spans, scale: Scale) {
        self.busy_ns = busy.iter().map(|(start, end)| end - start).sum();
        if self.kept.is_some() && self.tile_spans.len() <= TILES_AS_RECORDS {
            return;
        }
        self.levels = scale.levels;
        let pack =
            |bins: &[Bin]| levels::tiles(bins).into_iter().map(|(i, bytes)| (i, Packed::new(bytes))).collect();
        self.tiles = vec![pack(finest)];
        let mut bins = levels::coarser(finest);
        for level in 2..=scale.levels {
            self.tiles.push(pack(&bins));
            if level < scale.levels {
                bins = levels::coarser(&bins);
            }
        }
    }

    /// A tile of bins; nothing where it has none.
    pub fn bins_tile(&self, level: u32, index: u64) -> Option<Vec<u8>> {
        let tiles = self.tiles.get((level as usize).checked_sub(1)?)?;
        let at = tiles.binary_search_by_key(&index, |(i, _)| *i).ok()?;
        Some(tiles[at].1.unpack())
    }
}

/// A tile at rest. A row that one long record covers has tiles that are nearly all the same byte.
#[derive(Debug)]
pub enum Packed {
    /// As it is.
    Plain(Box<[u8]>),
    /// Deflated.
    Deflated(Box<[u8]>),
}

/// Deflating a smaller tile takes longer than it is worth.
const WORTH_DEFLATING_BYTES: usize = 1024;

impl Packed {
    pub(super) fn new(bytes: Vec<u8>) -> Packed {
        if bytes.len() < WORTH_DEFLATING_BYTES {
            return Packed::Plain(bytes.into());
        }
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        match encoder.write_all(&bytes).and_then(|()| encoder.finish()) {
            Ok(deflated) => Packed::Deflated(deflated.into()),
            Err(_) => Packed::Plain(bytes.into()),
        }
    }

    fn unpack(&self) -> Vec<u8> {
        match self {
            Packed::Plain(bytes) => bytes.to_vec(),
            Packed::Deflated(deflated) => {
                let mut bytes = Vec::new();
                // What was deflated into memory here inflates; there is nobody to tell if it did not.
                let _ = DeflateDecoder::new(&**deflated).read_to_end(&mut bytes);
                bytes
            }
        }
    }
}
