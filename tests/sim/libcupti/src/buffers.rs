//! Activity buffers: asked of the tool, filled on the application's threads, given back by the worker or by a flush.
//!
//! As in CUPTI: a buffer belongs to CUPTI from request to completion; a plain flush withholds every buffer that holds
//! one unfinished record; names live only until the completed callback returns; one lock is held around both callbacks
//! and inside `cuptiActivityGetNumDroppedRecords`.

mod forget;
mod worker;

pub use forget::{forget, forget_unfinished};

use crate::faults::{nth, wishes};
use crate::names::Names;
use crate::records::Record;
use crate::settings::{self, word};
use crate::subscribers::{MOST, places};
use crate::version::{stride, version};
use crate::{attributes, callbacks, driver, records, subscribers};
use std::cell::Cell;
use std::collections::{HashSet, VecDeque};
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

type Request = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
type Complete = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);
/// Registered with a handle: the same with more to say behind it.
type RequestByHandle = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize, *mut usize);
/// Likewise, without context and stream.
type CompleteByHandle = unsafe extern "C" fn(*mut u8, usize, usize, *mut CompleteInfo);

/// `CUpti_BufferCallbackCompleteInfo`.
#[repr(C)]
struct CompleteInfo {
    size: usize,
    thread: u64,
    layouts: *mut c_void,
    layout_count: usize,
}

static REQUEST: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
static COMPLETE: [AtomicUsize; MOST] = [const { AtomicUsize::new(0) }; MOST];
/// Which of the two types those have.
static BY_HANDLE: [AtomicBool; MOST] = [const { AtomicBool::new(false) }; MOST];
static DROPPED: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
static FLUSHING: AtomicBool = AtomicBool::new(false);
static EVER_REQUESTED: AtomicBool = AtomicBool::new(false);

struct Buffer {
    /// Whose it is.
    place: usize,
    start: *mut u8,
    bytes: usize,
    used: usize,
    records: usize,
    max_records: usize,
    /// When the last of its records is finished.
    finished_ns: u64,
    names: Names,
}

// SAFETY: a buffer is owned by one place at a time: a slot, the list of full ones, or the thread that delivers it.
unsafe impl Send for Buffer {}

impl Buffer {
    fn fits(&self, bytes: usize) -> bool {
        self.used + bytes <= self.bytes && (self.max_records == 0 || self.records < self.max_records)
    }

    /// Offsets, kinds and strides of its records.
    fn walk(&self) -> Vec<(usize, u32, usize)> {
        let (mut at, mut list) = (0, Vec::with_capacity(self.records));
        while at + 4 <= self.used {
            // SAFETY: inside what was written.
            let kind = unsafe { self.start.add(at).cast::<u32>().read() };
            let bytes = match stride(kind) {
                0 => unknown_bytes(kind),
                bytes => bytes,
            };
            if bytes == 0 {
                break;
            }
            list.push((at, kind, bytes));
            at += bytes;
        }
        list
    }

    fn end_of(&self, at: usize, kind: u32) -> u64 {
        let Some(offset) = end_offset(kind) else { return 0 };
        // SAFETY: inside the record.
        unsafe { self.start.add(at + offset).cast::<u64>().read() }
    }
}

/// A kind that not even the walker knows still has bytes in the buffer.
fn unknown_bytes(kind: u32) -> usize {
    if wishes().unknown.is_some_and(|(unknown, bytes)| unknown == kind && bytes == 0) { 40 } else { 0 }
}

/// Where records of work on the device have their end.
fn end_offset(kind: u32) -> Option<usize> {
    match kind {
        1 | 2 | 3 | 10 | 22 => Some(24),
        51 => Some(16),
        _ => None,
    }
}

struct Slot {
    buffer: Mutex<Option<Buffer>>,
    /// Whose records are in it.
    place: usize,
    /// Where its records are counted.
    stripe: usize,
}

impl Slot {
    const fn new(place: usize, stripe: usize) -> Slot {
        Slot { buffer: Mutex::new(None), place, stripe }
    }
}

static SHARED: [Slot; MOST] = [Slot::new(0, 0), Slot::new(1, 0), Slot::new(2, 0), Slot::new(3, 0)];
static SLOTS: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());
thread_local!(static SLOT: Cell<[Option<&'static Slot>; MOST]> = const { Cell::new([None; MOST]) });

/// All slots that there are.
fn all_slots() -> impl Iterator<Item = &'static Slot> {
    let slots = SLOTS.lock().map(|slots| slots.clone()).unwrap_or_default();
    SHARED.iter().chain(slots)
}

/// Full buffers, oldest first.
static FULL: Mutex<VecDeque<Buffer>> = Mutex::new(VecDeque::new());
static NEWS: Condvar = Condvar::new();
/// What a flush has sealed and the worker hands over later, oldest first.
static SEALED: Mutex<VecDeque<Sealed>> = Mutex::new(VecDeque::new());

struct Sealed {
    buffer: Buffer,
    forced: bool,
    due: Instant,
}

/// The oldest sealed buffer, if it is time to hand it over.
fn take_sealed() -> Option<Sealed> {
    let mut sealed = SEALED.lock().ok()?;
    sealed.pop_front_if(|sealed| sealed.due <= Instant::now())
}
/// Held while finished buffers are given back: a flush returns only when all of them are.
static DELIVERY: Mutex<()> = Mutex::new(());
/// Buffers that CUPTI holds.
static OWNED: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

fn slot(place: usize) -> &'static Slot {
    if !attributes::per_thread() {
        return &SHARED[place];
    }
    SLOT.with(|slot| match slot.get()[place] {
        Some(slot) => slot,
        None => {
            // Threads come and go; their slots stay, for what they leave in them.
            let Ok(mut slots) = SLOTS.lock() else { return &SHARED[place] };
            let new: &'static Slot = Box::leak(Box::new(Slot::new(place, slots.len() % word::STRIPES)));
            let mut own = slot.get();
            own[place] = Some(new);
            slot.set(own);
            slots.push(new);
            new
        }
    })
}

/// CUPTI's own lock: a thread that has it may take it again.
static LOCK: Mutex<()> = Mutex::new(());
static LOCK_OWNER: AtomicU32 = AtomicU32::new(0);

pub fn with_lock<T>(f: impl FnOnce() -> T) -> T {
    let me = settings::thread_id();
    if LOCK_OWNER.load(Ordering::Acquire) == me {
        return f();
    }
    let guard = LOCK.lock();
    LOCK_OWNER.store(me, Ordering::Release);
    let value = f();
    LOCK_OWNER.store(0, Ordering::Release);
    drop(guard);
    value
}

pub fn register(place: usize, request: usize, complete: usize, by_handle: bool) {
    BY_HANDLE[place].store(by_handle, Ordering::Release);
    COMPLETE[place].store(complete, Ordering::Release);
    REQUEST[place].store(request, Ordering::Release);
}

pub fn take_dropped(place: usize) -> u64 {
    with_lock(|| DROPPED[place].swap(0, Ordering::AcqRel))
}

/// Adds to the totals, unless they leave out what this subscriber gets.
fn count(place: usize, word: usize, n: u64) {
    if subscribers::is_counted(place) {
        settings::add(word, n);
    }
}

fn drop_record(place: usize, kind: u32) {
    DROPPED[place].fetch_add(1, Ordering::Relaxed);
    count(place, word::DROPPED, 1);
    count(place, word::DROPPED_OF + (kind as usize).min(127), 1);
}

/// Asks the tool for a buffer.
fn request(place: usize) -> Option<Buffer> {
    let callback = REQUEST[place].load(Ordering::Acquire);
    if callback == 0 {
        return None;
    }
    EVER_REQUESTED.store(true, Ordering::Relaxed);
    worker::start_worker();
    let (mut start, mut bytes, mut max_records) = (std::ptr::null_mut::<u8>(), 0usize, 0usize);
    // SAFETY: what the tool registered has this type.
    with_lock(|| {
        callbacks::inside(callbacks::BUFFER, || unsafe {
            if BY_HANDLE[place].load(Ordering::Acquire) {
                let callback: RequestByHandle = std::mem::transmute(callback);
                callback(&mut start, &mut bytes, &mut max_records, &mut size_of::<usize>());
            } else {
                let callback: Request = std::mem::transmute(callback);
                callback(&mut start, &mut bytes, &mut max_records);
            }
        });
    });
    count(place, word::REQUESTED, 1);
    if start.is_null() {
        count(place, word::NULL_BUFFERS, 1);
        if version().api < 27 {
            settings::fatal("a NULL buffer: CUPTI before API 27 crashes on it");
        }
        return None;
    }
    if !(start as usize).is_multiple_of(8) {
        settings::violation("a buffer is not aligned to 8 bytes");
    }
    // SAFETY: the tool gave this memory.
    unsafe {
        if attributes::zeroed_out() {
            let dirty = std::slice::from_raw_parts(start, bytes).iter().position(|&byte| byte != 0);
            if let Some(at) = dirty {
                settings::violation(&format!("ZEROED_OUT is set but byte {at} of a buffer is not zero"));
            }
        } else {
            std::ptr::write_bytes(start, 0, bytes);
        }
    }
    if let Ok(mut owned) = OWNED.lock() {
        let owned = owned.get_or_insert_with(HashSet::new);
        if !owned.insert(start as usize) {
            settings::violation("a buffer was given while CUPTI still had it");
        }
        count(place, word::BUFFERS_OWNED, 1);
    }
    if settings::logs() {
        settings::log(&format!("requested {start:p} {bytes} of {place}"));
    }
    Some(Buffer { place, start, bytes, used: 0, records: 0, max_records, finished_ns: 0, names: Names::new() })
}

/// Room for a record, in this thread's buffer; asks for one if needed. `None`: dropped.
fn room<'a>(slot: &'a Slot, bytes: usize) -> Option<MutexGuard<'a, Option<Buffer>>> {
    let mut guard = slot.buffer.lock().ok()?;
    for _ in 0..3 {
        match guard.as_mut() {
            Some(buffer) if buffer.fits(bytes) => return Some(guard),
            Some(buffer) if buffer.used == 0 => {
                // Too small for one record: back to the tool, and the record is lost.
                let buffer = guard.take()?;
                drop(guard);
                deliver(buffer, false);
                return None;
            }
            Some(_) => {
                let buffer = guard.take()?;
                if let Ok(mut full) = FULL.lock() {
                    full.push_back(buffer);
                }
                NEWS.notify_all();
            }
            None => *guard = Some(request(slot.place)?),
        }
    }
    None
}

/// Puts one record into the buffers of everybody whose kind is on. `finished_ns`: when the work it tells of is done; 0 for
/// what is done already.
pub fn emit(kind: u32, finished_ns: u64, name: (u64, *const c_char), fill: impl Fn(&mut Record, *const c_char)) {
    let wanted = places().filter(|place| records::on_at(*place, kind)).fold(0, |bits, place| bits | 1 << place);
    emit_to(wanted & ONLY.get(), kind, finished_ns, name, fill);
}

thread_local!(static ONLY: Cell<u32> = const { Cell::new(u32::MAX) });

/// What `f` emits comes to one subscriber alone.
pub fn only<T>(place: usize, f: impl FnOnce() -> T) -> T {
    ONLY.set(1 << place);
    let value = f();
    ONLY.set(u32::MAX);
    value
}

/// The same, to the places whose bits are set.
pub fn emit_to(
    wanted: u32,
    kind: u32,
    finished_ns: u64,
    name: (u64, *const c_char),
    fill: impl Fn(&mut Record, *const c_char),
) {
    let bytes = stride(kind);
    if bytes == 0 || driver::forked() || driver::gone() || !crate::info::knows_device() {
        return;
    }
    for place in (0..MOST).filter(|place| wanted >> place & 1 != 0) {
        if REQUEST[place].load(Ordering::Relaxed) == 0 {
            continue;
        }
        put(place, kind, bytes, finished_ns, name, &fill);
        static COUNT: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
        if let Some((unknown, bytes)) = wishes().unknown
            && nth(&COUNT[place], 10)
        {
            let bytes = if bytes == 0 { 40 } else { bytes as usize };
            put(place, unknown, bytes, 0, (0, std::ptr::null()), &|_, _| {});
        }
    }
}

fn put(
    place: usize,
    kind: u32,
    bytes: usize,
    finished_ns: u64,
    name: (u64, *const c_char),
    fill: &impl Fn(&mut Record, *const c_char),
) {
    let slot = slot(place);
    count(place, word::GENERATED_OF + 128 * slot.stripe + (kind as usize).min(127), 1);
    static COUNT: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
    if wishes().drop > 0 && nth(&COUNT[place], wishes().drop) {
        return drop_record(place, kind);
    }
    let Some(mut guard) = room(slot, bytes) else { return drop_record(place, kind) };
    let Some(buffer) = guard.as_mut() else { return drop_record(place, kind) };
    // SAFETY: `room` made sure that the bytes are inside the buffer.
    unsafe {
        let start = buffer.start.add(buffer.used);
        start.cast::<u32>().write(kind);
        let name = buffer.names.copy(name.0, name.1);
        fill(&mut Record::new(start, bytes, place), name);
    }
    buffer.used += bytes;
    buffer.records += 1;
    let late = if finished_ns > 0 { wishes().late_ns } else { 0 };
    buffer.finished_ns = buffer.finished_ns.max(finished_ns.saturating_add(late));
}

/// Gives a buffer back. `forced`: with whatever is unfinished, whose end is then 0.
fn deliver(mut buffer: Buffer, forced: bool) {
    let place = buffer.place;
    let now = driver::now();
    let mut list = buffer.walk();
    if forced && buffer.finished_ns > now {
        for &(at, kind, _) in &list {
            if buffer.end_of(at, kind) > now {
                let Some(offset) = end_offset(kind) else { continue };
                // SAFETY: inside the record.
                unsafe { buffer.start.add(at + offset).cast::<u64>().write(0) };
                count(place, word::UNFINISHED, 1);
            }
        }
    }
    if wishes().shuffle {
        shuffle(&mut buffer, &mut list);
    }
    let mut of_kind = [0u64; 128];
    for &(_, kind, _) in &list {
        if let Some(n) = of_kind.get_mut((kind as usize).min(127)) {
            *n += 1;
        }
    }
    if settings::logs() {
        let kinds: Vec<String> =
            of_kind.iter().enumerate().filter(|(_, n)| **n > 0).map(|(kind, n)| format!("{kind}:{n}")).collect();
        settings::log(&format!(
            "handing {place}: {:p} {} of {} {}",
            buffer.start,
            buffer.used,
            buffer.bytes,
            kinds.join(" ")
        ));
    }
    if let Ok(mut owned) = OWNED.lock()
        && let Some(owned) = owned.as_mut()
    {
        owned.remove(&(buffer.start as usize));
    }
    if subscribers::is_counted(place) {
        settings::subtract(word::BUFFERS_OWNED, 1);
    }
    count(place, word::HANDED, 1);
    let callback = COMPLETE[place].load(Ordering::Acquire);
    with_lock(|| {
        if callback != 0 {
            // SAFETY: what the tool registered has this type.
            callbacks::inside(callbacks::BUFFER, || unsafe {
                if BY_HANDLE[place].load(Ordering::Acquire) {
                    let callback: CompleteByHandle = std::mem::transmute(callback);
                    let (size, layouts) = (size_of::<CompleteInfo>(), std::ptr::null_mut());
                    let mut info = CompleteInfo { size, thread: 0, layouts, layout_count: 0 };
                    callback(buffer.start, buffer.bytes, buffer.used, &mut info);
                } else {
                    let callback: Complete = std::mem::transmute(callback);
                    callback(std::ptr::null_mut(), 0, buffer.start, buffer.bytes, buffer.used);
                }
            });
        }
    });
    count(place, word::COMPLETED, 1);
    count(place, word::DELIVERED, list.len() as u64);
    count(place, word::DELIVERED_BYTES, buffer.used as u64);
    for (kind, &n) in of_kind.iter().enumerate() {
        if n > 0 {
            count(place, word::DELIVERED_OF + kind, n);
        }
    }
    // SAFETY: nobody may use the names any more.
    unsafe { buffer.names.die() };
    if settings::logs() {
        settings::log(&format!("completed {:p}", buffer.start));
    }
}

/// CUPTI promises no order at all.
fn shuffle(buffer: &mut Buffer, list: &mut [(usize, u32, usize)]) {
    static SEED: AtomicU64 = AtomicU64::new(0);
    let mut state = wishes().seed.wrapping_add(SEED.fetch_add(1, Ordering::Relaxed));
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^ (z >> 27)
    };
    for i in (1..list.len()).rev() {
        list.swap(i, (next() % (i as u64 + 1)) as usize);
    }
    let mut bytes = Vec::with_capacity(buffer.used);
    for &(at, _, stride) in list.iter() {
        // SAFETY: inside what was written.
        bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(buffer.start.add(at), stride) });
    }
    // SAFETY: as many bytes as before.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.start, bytes.len()) };
}

/// Takes the slot's buffer if it can be given back now.
fn take(slot: &Slot, forced: bool, now: u64) -> Option<Buffer> {
    let mut guard = slot.buffer.lock().ok()?;
    let buffer = guard.as_ref().filter(|buffer| buffer.used > 0 || forced)?;
    if !forced && buffer.finished_ns > now {
        settings::add(word::WITHHELD_FLUSHES, 1);
        return None;
    }
    guard.take()
}

/// Full buffers whose records are all finished, or all.
fn take_full(forced: bool, now: u64) -> Vec<Buffer> {
    let Ok(mut full) = FULL.lock() else { return Vec::new() };
    let (ready, kept) = full.drain(..).partition(|buffer: &Buffer| forced || buffer.finished_ns <= now);
    *full = kept;
    ready.into()
}

pub fn flush(forced: bool) -> i32 {
    if callbacks::is_inside(callbacks::BUFFER) || callbacks::is_inside(callbacks::RESOURCE) {
        settings::violation("cuptiActivityFlushAll was called from a callback that must not flush");
        return 7;
    }
    // Two tools cannot know of each other's flushes, and a flush is everybody's: there the second waits.
    if FLUSHING.swap(true, Ordering::AcqRel) && !subscribers::are_several() {
        settings::violation("two threads called cuptiActivityFlushAll at once");
        return 7;
    }
    let result = flush_alone(forced);
    FLUSHING.store(false, Ordering::Release);
    result
}

fn flush_alone(forced: bool) -> i32 {
    settings::add(word::FLUSHES, 1);
    if driver::gone() {
        return 15;
    }
    if !EVER_REQUESTED.load(Ordering::Relaxed) && settings::text(c"SIM_EMPTY_FLUSH").as_deref() == Some("hang") {
        settings::log("flush without a buffer: hangs");
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
    let delivery = DELIVERY.lock();
    let now = driver::now();
    let mut ready = take_full(forced, now);
    for slot in all_slots() {
        ready.extend(take(slot, forced, now));
    }
    let start = driver::now();
    let any = ready.iter().any(|buffer| buffer.records > 1);
    match wishes().handover {
        None => ready.into_iter().for_each(|buffer| deliver(buffer, forced)),
        Some(late) => {
            let due = Instant::now() + late;
            if let Ok(mut sealed) = SEALED.lock() {
                sealed.extend(ready.into_iter().map(|buffer| Sealed { buffer, forced, due }));
            }
            NEWS.notify_all();
        }
    }
    drop(delivery);
    if any {
        records::overhead(1 << 16, start, driver::now(), false);
    }
    0
}
