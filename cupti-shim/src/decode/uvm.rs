//! Unified memory: migrations, faults, thrashing. `CUpti_ActivityUnifiedMemoryCounter2` and later.

use cupti_sys::fields::unified_memory_counter as f;
use trace_format::schema::RowBuilder as _;
use trace_format::tables::UvmRow;
use trace_format::vocabulary::uvm_kind::{CPU_PAGE_FAULTS, GPU_PAGE_FAULTS, REMOTE_MAP, THRASHING, THROTTLING};

use super::record::{Record, duration};
use super::{Facts, Kind, NONE, Out};

pub(super) const KIND: Kind =
    Kind { id: f::KIND, start: f::START, end: f::END, correlation: NONE, names: &[], defines: false, decode };

// Values of `CUpti_ActivityUnifiedMemoryCounterKind` for which some fields mean nothing or something else.

fn decode(record: Record, facts: &Facts, out: &mut Out) {
    let kind = record.u32(f::COUNTER_KIND);
    let value = record.bytes_count(f::VALUE);
    let is_moment = matches!(kind, CPU_PAGE_FAULTS | THRASHING | REMOTE_MAP);
    // Thrashing names the devices that fight as bits: not a source.
    let has_source = !matches!(kind, CPU_PAGE_FAULTS | THRASHING);
    let has_destination = has_source && !matches!(kind, GPU_PAGE_FAULTS | THROTTLING);
    out.tables.uvm.push(UvmRow {
        start_ns: facts.start_ns,
        duration_ns: duration(facts.start_ns as u64, facts.end_ns as u64).filter(|_| !is_moment),
        kind,
        // A fault of the CPU is one fault, and has the instruction in the place of a number.
        value: if kind == CPU_PAGE_FAULTS { 1 } else { value },
        address: record.u64(f::ADDRESS),
        src_device: record.applicable(f::SRC_ID).filter(|_| has_source),
        dst_device: record.applicable(f::DST_ID).filter(|_| has_destination),
        // CUPTI has the field and says that it is not valid.
        stream: None,
        flags: record.try_u32(f::FLAGS),
        pc: (kind == CPU_PAGE_FAULTS).then_some(value as u64),
    });
}
