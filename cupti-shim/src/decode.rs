//! CUPTI's records to rows of the trace's tables.
//!
//! Two passes over a block. The first, [`names::intern_block`], runs inside CUPTI's completed callback, where the
//! pointers to names are still good, and puts ids in their place. The second, [`Decoder::block`], runs in the writer
//! thread and fills the column builders of [`Tables`].
//!
//! A new kind of record is a file here and a line in [`KINDS`]; `docs/extending.md` has all steps. Records are walked
//! by the strides that the running library was asked for, every field is read only if it ends inside its record, and
//! numbers that nobody knows yet pass through: a newer CUPTI than any we have seen is read as far as it agrees with the
//! ones we have.

mod api;
mod cdp;
mod context;
mod device;
mod environment;
mod event;
mod external;
mod graph;
mod jit;
mod kernel;
mod memcpy;
mod memory;
mod memory_pool;
mod memset;
mod name;
pub mod names;
mod openacc;
mod openmp;
mod overhead;
mod record;
mod shapes;
mod stream;
mod sync;
mod tables;
mod uvm;

#[cfg(test)]
mod expected;
#[cfg(test)]
mod hardware;
#[cfg(test)]
mod pace;
#[cfg(test)]
mod real_cupti;
#[cfg(test)]
mod synthetic;
#[cfg(test)]
mod tests;

use cupti_sys::Field;
use cupti_sys::fields::{driver, runtime};

use crate::correlation::Correlation;
use crate::strides::Strides;
pub use api::{BYTES as CALL_BYTES, Call, each_call, record_of_call};
use record::Record;
pub use record::duration;
pub use tables::Tables;

/// What a filter may want to know of one record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// CUPTI's activity kind.
    pub kind: u32,
    /// The call that caused it; `None` where CUPTI names none.
    pub correlation: Option<u64>,
    /// Start on CUPTI's clock, as recorded, even where it is impossible; 0 where the kind has no time.
    pub start_ns: i64,
    /// End, likewise; the start where the kind has one time only.
    pub end_ns: i64,
    /// The thread that made the call; 0 where the record is of something else.
    pub tid: u32,
}

/// What came of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// Whole records of known kinds: `kept + excluded + ignored`.
    pub records: u64,
    /// Those whose rows are in the tables now.
    pub kept: u64,
    /// Those that the filter did not keep.
    pub excluded: u64,
    /// Those of kinds that have no table here (such as CUPTI's own markers: ours come from NVTX itself).
    pub ignored: u64,
    /// Bytes behind the last whole record of a known kind. Not 0: something was lost.
    pub unknown_bytes: usize,
    /// The kind at which the walk ended, unless it came to the end or to a record that was cut off.
    pub unknown_kind: Option<u32>,
    /// Earliest start of all records with possible times; more than `last_ns` where there is none.
    pub first_ns: i64,
    /// Latest end.
    pub last_ns: i64,
}

impl Walk {
    /// Nothing walked.
    pub const EMPTY: Walk = Walk {
        records: 0,
        kept: 0,
        excluded: 0,
        ignored: 0,
        unknown_bytes: 0,
        unknown_kind: None,
        first_ns: i64::MAX,
        last_ns: i64::MIN,
    };

    #[inline(always)]
    fn saw(&mut self, start: u64, end: u64) {
        if start != 0 && duration(start, end).is_some() {
            self.first_ns = self.first_ns.min(start as i64);
            self.last_ns = self.last_ns.max(end as i64);
        }
    }
}

/// Where strings that are not in the records come from. The ids are of the same space as those of `Names`.
pub trait Own {
    /// The id of the name of a call. `domain` is CUPTI's: 1 driver, 2 runtime. Asked once per call id.
    fn api_name(&mut self, domain: u32, cbid: u32) -> u32;
    /// The id of a text of ours, such as the name of a metric.
    fn text(&mut self, text: &'static str) -> u32;
}

/// One kind of record.
struct Kind {
    id: u32,
    start: Field,
    end: Field,
    correlation: Field,
    /// Pointers to names.
    names: &'static [Field],
    /// Devices, contexts and the like: every row is kept, for rows of activity refer to them.
    defines: bool,
    decode: fn(Record, &Facts, &mut Out),
}

/// A field that the kind does not have.
const NONE: Field = Field::new(u16::MAX, 0, 0, 0);

/// Every kind that has a table.
const KINDS: &[&Kind] = &[
    &kernel::CONCURRENT,
    &kernel::SERIALISED,
    &cdp::KIND,
    &memcpy::KIND,
    &memcpy::PEER,
    &memset::KIND,
    &api::RUNTIME,
    &api::DRIVER,
    &sync::KIND,
    &overhead::KIND,
    &device::KIND,
    &context::KIND,
    &stream::KIND,
    &name::KIND,
    &graph::KIND,
    &graph::DEVICE_LAUNCHED,
    &memory::KIND,
    &memory::OPERATION,
    &memory_pool::KIND,
    &uvm::KIND,
    &external::KIND,
    &event::KIND,
    &jit::KIND,
    &openacc::DATA,
    &openacc::LAUNCH,
    &openacc::OTHER,
    &openmp::KIND,
    &environment::KIND,
];

/// Every kind that has a table, by its number.
static BY_ID: [Option<&Kind>; 64] = {
    let mut by_id = [None; 64];
    let mut i = 0;
    while i < KINDS.len() {
        by_id[KINDS[i].id as usize] = Some(KINDS[i]);
        i += 1;
    }
    by_id
};

fn kind_of(id: u32) -> Option<&'static Kind> {
    BY_ID.get(id as usize).copied().flatten()
}

/// What a kind's `decode` writes to.
struct Out<'a> {
    tables: &'a mut Tables,
    known: &'a mut Known,
    own: &'a mut dyn Own,
}

/// What has been seen before.
#[derive(Default)]
struct Known {
    shapes: shapes::Shapes,
    streams: stream::Streams,
    api_names: api::ApiNames,
    /// Devices that have a context, as bits.
    devices: u64,
}

/// Fills tables from blocks of records. One per writer; no thread shares it.
pub struct Decoder {
    /// The rows so far.
    pub tables: Tables,
    strides: Strides,
    correlation: Correlation,
    known: Known,
}

impl Decoder {
    /// For the records of a library with these strides.
    pub fn new(strides: Strides) -> Self {
        Decoder { tables: Tables::default(), strides, correlation: Correlation::default(), known: Known::default() }
    }

    /// How far the counter of correlation ids has come: what makes an id from a callback comparable with those in
    /// [`Facts`].
    pub fn correlation(&self) -> Correlation {
        self.correlation
    }

    /// Devices that have a context of this process, as bits; those from 64 on are left out.
    pub fn devices(&self) -> u64 {
        self.known.devices
    }

    /// Sizes of this library's records.
    pub fn strides(&self) -> &Strides {
        &self.strides
    }

    /// Decodes the records of one block, whose pointers to names [`names::intern_block`] has replaced by ids.
    ///
    /// `keep` is asked for every record of activity; what it refuses is counted and leaves no row.
    pub fn block(&mut self, block: &[u8], own: &mut dyn Own, keep: &mut impl FnMut(&Facts) -> bool) -> Walk {
        let mut walk = Walk::EMPTY;
        let mut records = Records { rest: block, strides: &self.strides };
        let mut out = Out { tables: &mut self.tables, known: &mut self.known, own };
        while let Some((id, bytes)) = records.next() {
            walk.records += 1;
            let Some(kind) = kind_of(id) else {
                walk.ignored += 1;
                continue;
            };
            let record = Record(bytes);
            let (start, end) = (record.u64(kind.start), record.u64(kind.end));
            let correlation = self.correlation.see(record.u32(kind.correlation));
            walk.saw(start, end);
            let facts = Facts {
                kind: id,
                correlation: Some(correlation).filter(|&id| id != 0),
                start_ns: start as i64,
                end_ns: end as i64,
                tid: match id {
                    driver::KIND | runtime::KIND => record.u32(driver::THREAD_ID),
                    _ => 0,
                },
            };
            if kind.defines || keep(&facts) {
                walk.kept += 1;
                (kind.decode)(record, &facts, &mut out);
            } else {
                walk.excluded += 1;
            }
        }
        (walk.unknown_bytes, walk.unknown_kind) = records.left();
        walk
    }
}

/// The records in a block, by our own walker.
struct Records<'a> {
    rest: &'a [u8],
    strides: &'a Strides,
}

impl<'a> Records<'a> {
    fn kind(&self) -> Option<u32> {
        self.rest.first_chunk().map(|&bytes| u32::from_le_bytes(bytes))
    }

    /// The next record and its kind; `None` at the end, at a record that is cut off and at a kind that is not known.
    #[inline(always)]
    fn next(&mut self) -> Option<(u32, &'a [u8])> {
        let kind = self.kind()?;
        let stride = self.strides.of(kind);
        if stride == 0 {
            return None;
        }
        let (record, rest) = self.rest.split_at_checked(stride)?;
        self.rest = rest;
        Some((kind, record))
    }

    /// After the end: bytes left over, and the kind they begin with if that is why.
    fn left(&self) -> (usize, Option<u32>) {
        (self.rest.len(), self.kind().filter(|&kind| self.strides.of(kind) == 0))
    }
}
