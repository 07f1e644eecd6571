//! Calls of the runtime and of the driver. `CUpti_ActivityAPI`.

use cupti_sys::Field;
use cupti_sys::fields::{driver, runtime as f};
use cupti_sys::{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API};
use trace_format::schema::RowBuilder as _;
use trace_format::tables::ApiRow;

use super::record::{Record, duration};
use super::{Facts, Kind, Out, Own, Records};
use crate::calls::Heard;
use crate::strides::Strides;

pub(super) const RUNTIME: Kind = Kind {
    id: f::KIND,
    start: f::START,
    end: f::END,
    correlation: f::CORRELATION_ID,
    names: &[],
    defines: false,
    decode,
};

pub(super) const DRIVER: Kind = Kind { id: driver::KIND, ..RUNTIME };

/// The size of a record is the same in all releases.
pub const BYTES: usize = 40;

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    // A length that the compiler knows saves its checks; see `kernel`.
    match record.0.first_chunk::<BYTES>() {
        Some(whole) => push(Record(whole), facts, out),
        None => push(record, facts, out),
    }
}

#[inline(always)]
fn push(record: Record, facts: &Facts, out: &mut Out) {
    let cbid = record.u32(f::CBID);
    // CUPTI and the trace number the two differently.
    let (domain, cupti_domain) =
        if facts.kind == driver::KIND { (1, CUPTI_CB_DOMAIN_DRIVER_API) } else { (0, CUPTI_CB_DOMAIN_RUNTIME_API) };
    out.tables.api.push(ApiRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64),
        domain,
        cbid,
        name_id: out.known.api_names.id(cupti_domain, cbid, out.own),
        tid: record.u32(f::THREAD_ID),
        correlation: facts.correlation.unwrap_or(0),
        result: record.try_u32(f::RETURN_VALUE),
    });
}

/// What one record of a call says about how it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// CUPTI's: 1 driver, 2 runtime.
    pub domain: u32,
    /// CUPTI's id of the call.
    pub cbid: u32,
    /// Shared by a runtime call and the driver calls inside it.
    pub correlation: u32,
    /// What it returned.
    pub result: u32,
}

impl Call {
    /// Whether it is a call of the runtime.
    pub fn is_runtime(&self) -> bool {
        self.domain == CUPTI_CB_DOMAIN_RUNTIME_API
    }
}

/// Shows `f` every call that a block tells of, in its order.
pub fn each_call(block: &[u8], strides: &Strides, mut f: impl FnMut(Call)) {
    let mut records = Records { rest: block, strides };
    while let Some((kind, bytes)) = records.next() {
        let domain = match kind {
            f::KIND => CUPTI_CB_DOMAIN_RUNTIME_API,
            driver::KIND => CUPTI_CB_DOMAIN_DRIVER_API,
            _ => continue,
        };
        let record = Record(bytes);
        f(Call {
            domain,
            cbid: record.u32(f::CBID),
            correlation: record.u32(f::CORRELATION_ID),
            result: record.u32(f::RETURN_VALUE),
        });
    }
}

/// The record that CUPTI would have made of a call.
pub fn record_of_call(call: &Heard) -> [u8; BYTES] {
    let (start, end) = (call.start_ns.cast_unsigned(), call.end_ns.cast_unsigned());
    let mut record = [0; BYTES];
    let mut put = |field: Field, value: &[u8]| {
        let place = record.get_mut(usize::from(field.offset)..field.end());
        if let Some(place) = place.filter(|place| place.len() == value.len()) {
            place.copy_from_slice(value);
        }
    };
    put(f::KIND_FIELD, &call.kind.to_le_bytes());
    put(f::CBID, &call.cbid.to_le_bytes());
    put(f::START, &start.to_le_bytes());
    put(f::END, &end.to_le_bytes());
    put(f::THREAD_ID, &call.tid.to_le_bytes());
    put(f::CORRELATION_ID, &call.correlation.to_le_bytes());
    put(f::RETURN_VALUE, &call.result.to_le_bytes());
    record
}

/// Ids of the names of calls, by domain and call. CUPTI is asked for each name once.
#[derive(Default)]
pub(super) struct ApiNames([Vec<Option<u32>>; 2]);

impl ApiNames {
    /// Twice as many as there are in 13.5; names of calls beyond are asked for every time.
    const MOST: usize = 2048;

    #[inline(always)]
    fn id(&mut self, domain: u32, cbid: u32, own: &mut dyn Own) -> u32 {
        let names = &mut self.0[usize::from(domain == CUPTI_CB_DOMAIN_DRIVER_API)];
        match names.get(cbid as usize) {
            Some(&Some(id)) => id,
            _ => Self::ask(names, domain, cbid, own),
        }
    }

    #[cold]
    fn ask(names: &mut Vec<Option<u32>>, domain: u32, cbid: u32, own: &mut dyn Own) -> u32 {
        let id = own.api_name(domain, cbid);
        let at = cbid as usize;
        if at < Self::MOST {
            if names.len() <= at {
                names.resize(at + 1, None);
            }
            names[at] = Some(id);
        }
        id
    }
}
