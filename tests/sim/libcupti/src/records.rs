//! Records: what happened, laid out as this version lays it out. Offsets hold from 11.7 to 13.5; a field is written
//! only where the version's record is long enough for it.

use crate::abi::{ApiCall, Resource, Work, resource as cb, work};
use crate::faults::{nth, wishes};
use crate::settings::{self, word};
use crate::subscribers::{MOST, places};
use crate::version::since;
use crate::{attributes, buffers, callbacks, driver, subscribers};
use std::ffi::c_char;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Kinds that are on, by subscriber.
static ON: [[AtomicU8; 128]; MOST] = [const { [const { AtomicU8::new(0) }; 128] }; MOST];
/// A bit per id of the driver's and of the runtime's calls.
type Calls = [[AtomicU64; 16]; 2];
/// Calls without records.
static MUTED: [Calls; MOST] = [const { [const { [const { AtomicU64::new(0) }; 16] }; 2] }; MOST];
/// Calls that have records although their kind is off.
static SINGLE: [Calls; MOST] = [const { [const { [const { AtomicU64::new(0) }; 16] }; 2] }; MOST];

/// Whether a subscriber wants a kind.
#[inline]
pub fn on_at(place: usize, kind: u32) -> bool {
    ON[place].get(kind as usize).is_some_and(|on| on.load(Ordering::Relaxed) != 0)
}

/// Whether anybody wants a kind.
#[inline]
pub fn on(kind: u32) -> bool {
    places().any(|place| on_at(place, kind))
}

/// Whether anybody wants anything.
pub fn any_on() -> bool {
    places().any(|place| ON[place].iter().any(|on| on.load(Ordering::Relaxed) != 0))
}

fn is_set(bits: &Calls, domain: u32, cbid: u32) -> bool {
    let words = bits.get(domain.wrapping_sub(1) as usize);
    let word = words.and_then(|ids| ids.get(cbid as usize / 64));
    word.is_some_and(|word| word.load(Ordering::Relaxed) >> (cbid % 64) & 1 != 0)
}

/// Switches a kind. Choices of single calls are forgotten, whichever way it goes (docs/hardware).
pub fn switch(place: usize, kind: u32, to: bool) {
    if let 4 | 5 = kind
        && let Some((muted, single)) = MUTED[place].get(kind as usize - 4).zip(SINGLE[place].get(kind as usize - 4))
    {
        muted.iter().chain(single).for_each(|word| word.store(0, Ordering::Relaxed));
    }
    if let Some(on) = ON[place].get(kind as usize) {
        on.store(to as u8, Ordering::Relaxed);
    }
}

/// A subscriber wants nothing any more.
pub fn forget(place: usize) {
    (0..128).for_each(|kind| switch(place, kind, false));
}

/// Switches the records of one call. Where the kind is off, that is one which is on by itself; but if nothing of the API
/// was on when a context was made, it stays without effect.
pub fn switch_call(place: usize, domain: u32, cbid: u32, to: bool) -> bool {
    let is_kind_on = on_at(place, if domain == 1 { 4 } else { 5 });
    let bits = if is_kind_on { &MUTED[place] } else { &SINGLE[place] };
    let Some(words) = bits.get(domain.wrapping_sub(1) as usize) else { return false };
    let Some(word) = words.get(cbid as usize / 64) else { return false };
    let is_deaf = || words.iter().all(|word| word.load(Ordering::Relaxed) == 0) && callbacks::contexts() > 0;
    if !is_kind_on && to && is_deaf() {
        return true;
    }
    if to == is_kind_on {
        word.fetch_and(!(1 << (cbid % 64)), Ordering::Relaxed);
    } else {
        word.fetch_or(1 << (cbid % 64), Ordering::Relaxed);
    }
    true
}

/// Whether the library looks for a subscriber at a call when it begins and ends: all of a kind that is on, be they muted or
/// not, or a call that is on by itself.
#[inline]
pub fn is_intercepted(place: usize, kind: u32, domain: u32, cbid: u32) -> bool {
    on_at(place, kind) || is_set(&SINGLE[place], domain, cbid)
}

#[inline]
pub fn api_wanted(place: usize, kind: u32, domain: u32, cbid: u32) -> bool {
    if on_at(place, kind) { !is_set(&MUTED[place], domain, cbid) } else { is_set(&SINGLE[place], domain, cbid) }
}

/// The bytes of one record.
pub struct Record {
    start: *mut u8,
    bytes: usize,
    /// Whose buffer it lies in.
    pub place: usize,
}

impl Record {
    pub fn new(start: *mut u8, bytes: usize, place: usize) -> Record {
        Record { start, bytes, place }
    }

    /// Writes a field, if this version has it.
    #[inline]
    pub fn put<T: Copy>(&mut self, offset: usize, value: T) {
        if offset + size_of::<T>() <= self.bytes {
            // SAFETY: inside the record.
            unsafe { self.start.add(offset).cast::<T>().write_unaligned(value) };
        }
    }
}

const NO_NAME: (u64, *const c_char) = (0, std::ptr::null());

/// An API call's record, for the places whose bits are set.
pub fn api(kind: u32, call: &ApiCall, wanted: u32) {
    let shift = attributes::clock_shift();
    buffers::emit_to(wanted, kind, 0, NO_NAME, |record, _| {
        record.put(4, call.cbid);
        record.put(8, call.start_ns.wrapping_add(shift));
        record.put(16, call.end_ns.wrapping_add(shift));
        record.put(24, settings::process_id());
        record.put(28, attributes::thread_id(record.place));
        record.put(32, call.correlation);
        record.put(36, call.result);
    });
}

pub unsafe extern "C" fn recording() -> u32 {
    let is_graph_level = if subscribers::are_several() { attributes::graph_level() } else { on(51) };
    is_graph_level as u32 | ((on(10) || on(3)) as u32) << 1
}

pub unsafe extern "C" fn work(work: *const Work) {
    let work = &*work;
    let is_recorded = match work.what {
        work::KERNEL => on(10) || on(3),
        work::MEMCPY => on(1),
        work::MEMSET => on(2),
        _ => false,
    };
    if is_recorded {
        static COST_NS: OnceLock<u64> = OnceLock::new();
        settings::cost(*COST_NS.get_or_init(|| settings::number(c"SIM_WORK_COST_NS", 0)));
    }
    match work.what {
        work::KERNEL => kernel(work),
        work::MEMCPY => memcpy(work),
        work::PEER_COPY => peer_copy(work),
        work::MEMSET => memset(work),
        work::SYNC => sync(work),
        work::EVENT => event(work),
        work::MEMORY => memory(work),
        work::GRAPH => graph(work),
        work::JIT => jit(work),
        work::UVM => uvm(work),
        _ => {}
    }
}

fn unknown_or(value: u32) -> u8 {
    if wishes().unknown_enums { 200 } else { value as u8 }
}

fn kernel(work: &Work) {
    let kind = if on(10) {
        10
    } else if on(3) {
        3
    } else {
        return;
    };
    static COUNT: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
    let shift = attributes::clock_shift();
    let (mut start, mut end) = (work.start_ns.wrapping_add(shift), work.end_ns.saturating_add(shift));
    let mut finished = work.end_ns;
    if nth(&COUNT[0], wishes().zero_times) {
        (start, end, finished) = (0, 0, 0);
        settings::add(word::ZERO_TIMES, 1);
    } else if nth(&COUNT[1], wishes().bad_times) {
        (start, end, finished) = (end, start, 0);
    }
    buffers::emit(kind, finished, (work.name_key, work.name), |record, name| {
        record.put(6, work.registers as u16);
        record.put(16, start);
        record.put(24, end);
        record.put(40, work.device);
        record.put(44, work.context);
        record.put(48, work.stream);
        for (i, side) in work.grid.iter().chain(&work.block).enumerate() {
            record.put(52 + 4 * i, *side);
        }
        record.put(76, work.static_shared);
        record.put(80, work.dynamic_shared);
        record.put(84, work.local_per_thread);
        record.put(88, work.local_total as u32);
        record.put(92, work.correlation);
        record.put(96, work.serial);
        record.put(104, name);
        if attributes::latency_timestamps(record.place) {
            record.put(120, work.queued_ns.wrapping_add(shift));
            record.put(128, work.submitted_ns.wrapping_add(shift));
        }
        record.put(136, unknown_or(0));
        record.put(144, work.graph_node);
        record.put(156, work.graph);
        record.put(168, work.stream % 8);
        record.put(172, 1u32);
        for (i, side) in work.cluster.iter().enumerate() {
            record.put(176 + 4 * i, *side);
        }
        record.put(192, work.local_total);
        record.put(216, work.priority);
        record.put(232, work.value);
        record.put(
            240,
            if work.graph == 0 { 0 } else { u64::from(work.value) << 32 | work.graph_node & 0xffff_ffff },
        );
    });
    if wishes().overhead > 0 && u64::from(work.correlation).is_multiple_of(wishes().overhead) {
        overhead(6 << 16, work.queued_ns, work.submitted_ns, true);
    }
}

fn memcpy(work: &Work) {
    if !on(1) {
        return;
    }
    let shift = attributes::clock_shift();
    buffers::emit(1, work.end_ns, NO_NAME, |record, _| {
        record.put(4, unknown_or(work.kind));
        record.put(5, work.src_kind as u8);
        record.put(6, work.dst_kind as u8);
        record.put(7, work.flags as u8);
        record.put(8, work.bytes);
        record.put(16, work.start_ns.wrapping_add(shift));
        record.put(24, work.end_ns.saturating_add(shift));
        record.put(32, work.device);
        record.put(36, work.context);
        record.put(40, work.stream);
        record.put(44, work.correlation);
        record.put(64, work.graph_node);
        record.put(72, work.graph);
        record.put(76, work.stream % 8);
        record.put(80, 2u32);
        record.put(88, 1u64);
        record.put(96, work.value);
    });
}

fn peer_copy(work: &Work) {
    if !on(22) {
        return;
    }
    let shift = attributes::clock_shift();
    buffers::emit(22, work.end_ns, NO_NAME, |record, _| {
        record.put(4, work.kind as u8);
        record.put(5, work.src_kind as u8);
        record.put(6, work.dst_kind as u8);
        record.put(7, work.flags as u8);
        record.put(8, work.bytes);
        record.put(16, work.start_ns.wrapping_add(shift));
        record.put(24, work.end_ns.saturating_add(shift));
        record.put(32, work.device);
        record.put(36, work.context);
        record.put(40, work.stream);
        record.put(44, work.src_device);
        record.put(48, work.src_context);
        record.put(52, work.dst_device);
        record.put(56, work.dst_context);
        record.put(60, work.correlation);
        record.put(72, work.graph_node);
        record.put(80, work.graph);
    });
}

fn memset(work: &Work) {
    if !on(2) {
        return;
    }
    let shift = attributes::clock_shift();
    buffers::emit(2, work.end_ns, NO_NAME, |record, _| {
        record.put(4, work.value);
        record.put(8, work.bytes);
        record.put(16, work.start_ns.wrapping_add(shift));
        record.put(24, work.end_ns.saturating_add(shift));
        record.put(32, work.device);
        record.put(36, work.context);
        record.put(40, work.stream);
        record.put(44, work.correlation);
        record.put(48, work.flags as u16);
        record.put(50, work.dst_kind as u16);
        record.put(64, work.graph_node);
        record.put(72, work.graph);
        record.put(88, work.src_device);
    });
}

fn sync(work: &Work) {
    if !on(38) {
        return;
    }
    let shift = attributes::clock_shift();
    buffers::emit(38, 0, NO_NAME, |record, _| {
        record.put(4, work.kind);
        record.put(8, work.start_ns.wrapping_add(shift));
        record.put(16, work.end_ns.wrapping_add(shift));
        record.put(24, work.correlation);
        record.put(28, work.context);
        record.put(32, work.stream);
        record.put(36, work.event);
        record.put(40, work.event_sync);
        record.put(48, work.result);
    });
}

fn event(work: &Work) {
    if !on(36) {
        return;
    }
    buffers::emit(36, 0, NO_NAME, |record, _| {
        record.put(4, work.correlation);
        record.put(8, work.context);
        record.put(12, work.stream);
        record.put(16, work.event);
        record.put(24, work.device);
        record.put(48, work.event_sync);
    });
}

fn memory(work: &Work) {
    if !on(49) {
        return;
    }
    let shift = attributes::clock_shift();
    buffers::emit(49, 0, NO_NAME, |record, _| {
        record.put(4, work.kind);
        record.put(8, work.src_kind);
        record.put(12, work.correlation);
        record.put(16, work.address);
        record.put(24, work.bytes);
        record.put(32, work.start_ns.wrapping_add(shift));
        record.put(48, settings::process_id());
        record.put(52, work.device);
        record.put(56, work.context);
        record.put(60, work.stream);
        record.put(72, work.flags);
    });
}

fn graph(work: &Work) {
    if !on(51) {
        return;
    }
    let shift = attributes::clock_shift();
    buffers::emit(51, work.end_ns, NO_NAME, |record, _| {
        record.put(4, work.correlation);
        record.put(8, work.start_ns.wrapping_add(shift));
        record.put(16, work.end_ns.saturating_add(shift));
        record.put(24, work.device);
        record.put(28, work.graph);
        record.put(32, work.context);
        record.put(36, work.stream);
        record.put(48, work.device);
        record.put(52, work.context);
    });
}

fn jit(work: &Work) {
    let shift = attributes::clock_shift();
    if on(52) {
        buffers::emit(52, 0, (u64::MAX - 100, work.name), |record, name| {
            record.put(4, 1u32);
            record.put(8, work.kind);
            record.put(12, work.device);
            record.put(16, work.start_ns.wrapping_add(shift));
            record.put(24, work.end_ns.wrapping_add(shift));
            record.put(32, work.correlation);
            record.put(40, work.serial);
            record.put(48, work.bytes);
            record.put(56, name);
            record.put(64, settings::process_id());
            record.put(68, attributes::thread_id(record.place));
        });
    }
    overhead(1, work.start_ns, work.end_ns, false);
}

fn uvm(work: &Work) {
    if !on(25) {
        return;
    }
    let shift = attributes::clock_shift();
    buffers::emit(25, 0, NO_NAME, |record, _| {
        record.put(4, work.kind);
        record.put(8, work.bytes);
        record.put(16, work.start_ns.wrapping_add(shift));
        record.put(24, work.end_ns.wrapping_add(shift));
        record.put(32, work.address);
        record.put(40, work.src_device);
        record.put(44, work.dst_device);
        record.put(48, work.stream);
        record.put(52, settings::process_id());
    });
}

/// What CUPTI or the driver did beside the program's work. With `data`: a heap block that the tool must free (12.4+).
pub fn overhead(kind: u32, start_ns: u64, end_ns: u64, data: bool) {
    if !on(17) {
        return;
    }
    let shift = attributes::clock_shift();
    buffers::emit(17, 0, NO_NAME, |record, _| {
        record.put(4, kind);
        record.put(8, 2u32);
        record.put(12, settings::process_id());
        record.put(16, attributes::thread_id(record.place));
        record.put(24, start_ns.wrapping_add(shift));
        record.put(32, end_ns.wrapping_add(shift));
        if data && since(1204) {
            // SAFETY: three numbers in a block from malloc; the tool frees it, as the header says.
            unsafe {
                let block = libc::malloc(12).cast::<u32>();
                for i in 0..3 {
                    block.add(i).write(i as u32 + 1);
                }
                record.put(48, block as u64);
            }
        }
    });
}

/// Records of what exists: devices, contexts, streams. `again`: for a dump, of that kind alone.
pub fn resource(resource: &Resource, again: bool) {
    match resource.cbid {
        cb::CONTEXT_CREATED => {
            if resource.first_of_device != 0 {
                device(resource.device);
            }
            context(resource);
            stream(resource, 1);
        }
        cb::STREAM_CREATED => stream(resource, if resource.stream_flags & 1 != 0 { 2 } else { 1 }),
        _ => {}
    }
    let _ = again;
}

pub fn context(resource: &Resource) {
    if !on(9) {
        return;
    }
    buffers::emit(9, 0, NO_NAME, |record, _| {
        record.put(4, resource.context_uid);
        record.put(8, resource.device);
        record.put(12, 1u16);
        record.put(14, 7u16);
        record.put(22, 132u16);
        record.put(32, u64::from(settings::process_id()));
    });
}

pub fn stream(resource: &Resource, flag: u32) {
    if !on(37) {
        return;
    }
    buffers::emit(37, 0, NO_NAME, |record, _| {
        record.put(4, resource.context_uid);
        record.put(8, resource.stream_uid);
        record.put(12, resource.priority);
        record.put(16, flag);
        record.put(20, resource.correlation);
    });
}

pub fn device(index: u32) {
    if !on(8) {
        return;
    }
    let Some(facts) = driver::device(index) else { return };
    buffers::emit(8, 0, (u64::MAX - 200 - u64::from(index), facts.name), |record, name| {
        record.put(4, 1u32);
        record.put(8, 3_352_000_000u64);
        record.put(16, facts.memory_bytes);
        record.put(24, 65536u32);
        record.put(28, 50u32 << 20);
        record.put(32, 32u32);
        record.put(36, facts.clock_khz);
        record.put(40, 3u32);
        record.put(44, facts.multiprocessors);
        record.put(48, 4u32);
        record.put(52, 64u32);
        record.put(56, 32u32);
        record.put(60, 233_472u32);
        record.put(64, 65536u32);
        record.put(68, 65536u32);
        record.put(72, 49152u32);
        record.put(76, 1024u32);
        record.put(80, [1024u32, 1024, 64]);
        record.put(92, [i32::MAX as u32, 65535, 65535]);
        record.put(104, facts.major);
        record.put(108, facts.minor);
        record.put(112, index);
        record.put(116, 1u32);
        record.put(120, facts.uuid);
        record.put(136, name);
        record.put(144, 1u8);
        record.put(152, u32::MAX);
        record.put(156, u32::MAX);
        record.put(184, 66u32);
    });
}
