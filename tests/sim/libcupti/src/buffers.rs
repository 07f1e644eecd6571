//! Activity buffers: asked of the tool, filled on the application's threads, given back by the worker or by a flush.
//!
//! As in CUPTI: a buffer belongs to CUPTI from request to completion; a plain flush withholds every buffer that holds
//! one unfinished record; names live only until the completed callback returns; one lock is held around both callbacks
//! and inside `cuptiActivityGetNumDroppedRecords`.

use crate::faults::{nth, wishes};
use crate::names::Names;
use crate::records::Record;
use crate::settings::{self, word};
use crate::version::{stride, version};
use crate::{attributes, callbacks, driver};
use std::cell::Cell;
use std::collections::{HashSet, VecDeque};
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

pub type Request = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
pub type Complete = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

static REQUEST: AtomicUsize = AtomicUsize::new(0);
static COMPLETE: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicU64 = AtomicU64::new(0);
static FLUSHING: AtomicBool = AtomicBool::new(false);
static EVER_REQUESTED: AtomicBool = AtomicBool::new(false);

struct Buffer {
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
    /// Where its records are counted.
    stripe: usize,
}

impl Slot {
    const fn new(stripe: usize) -> Slot {
        Slot { buffer: Mutex::new(None), stripe }
    }
}

static SHARED: Slot = Slot::new(0);
static SLOTS: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());
thread_local!(static SLOT: Cell<Option<&'static Slot>> = const { Cell::new(None) });

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

fn slot() -> &'static Slot {
    if !attributes::per_thread() {
        return &SHARED;
    }
    SLOT.with(|slot| match slot.get() {
        Some(slot) => slot,
        None => {
            // Threads come and go; their slots stay, for what they leave in them.
            let Ok(mut slots) = SLOTS.lock() else { return &SHARED };
            let new: &'static Slot = Box::leak(Box::new(Slot::new(slots.len() % word::STRIPES)));
            slot.set(Some(new));
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

pub fn register(request: usize, complete: usize) {
    REQUEST.store(request, Ordering::Release);
    COMPLETE.store(complete, Ordering::Release);
}

pub fn take_dropped() -> u64 {
    with_lock(|| DROPPED.swap(0, Ordering::AcqRel))
}

fn drop_record(kind: u32) {
    DROPPED.fetch_add(1, Ordering::Relaxed);
    settings::add(word::DROPPED, 1);
    settings::add(word::DROPPED_OF + (kind as usize).min(127), 1);
}

/// Asks the tool for a buffer.
fn request() -> Option<Buffer> {
    let callback = REQUEST.load(Ordering::Acquire);
    if callback == 0 {
        return None;
    }
    EVER_REQUESTED.store(true, Ordering::Relaxed);
    start_worker();
    let (mut start, mut bytes, mut max_records) = (std::ptr::null_mut::<u8>(), 0usize, 0usize);
    // SAFETY: what the tool registered has this type.
    with_lock(|| {
        callbacks::inside(callbacks::BUFFER, || unsafe {
            let callback: Request = std::mem::transmute(callback);
            callback(&mut start, &mut bytes, &mut max_records);
        });
    });
    settings::add(word::REQUESTED, 1);
    if start.is_null() {
        settings::add(word::NULL_BUFFERS, 1);
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
        settings::add(word::BUFFERS_OWNED, 1);
    }
    if settings::logs() {
        settings::log(&format!("requested {start:p} {bytes}"));
    }
    Some(Buffer { start, bytes, used: 0, records: 0, max_records, finished_ns: 0, names: Names::new() })
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
            None => *guard = Some(request()?),
        }
    }
    None
}

/// Puts one record into the buffers. `finished_ns`: when the work it tells of is done; 0 for what is done already.
pub fn emit(
    kind: u32,
    finished_ns: u64,
    name: (u64, *const c_char),
    fill: impl FnOnce(&mut Record, *const c_char),
) {
    let bytes = stride(kind);
    let deaf = REQUEST.load(Ordering::Relaxed) == 0 || driver::forked() || driver::gone();
    if bytes == 0 || deaf || !crate::info::knows_device() {
        return;
    }
    put(kind, bytes, finished_ns, name, fill);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if let Some((unknown, bytes)) = wishes().unknown
        && nth(&COUNT, 10)
    {
        let bytes = if bytes == 0 { 40 } else { bytes as usize };
        put(unknown, bytes, 0, (0, std::ptr::null()), |_, _| {});
    }
}

fn put(
    kind: u32,
    bytes: usize,
    finished_ns: u64,
    name: (u64, *const c_char),
    fill: impl FnOnce(&mut Record, *const c_char),
) {
    let slot = slot();
    settings::add(word::GENERATED_OF + 128 * slot.stripe + (kind as usize).min(127), 1);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    if wishes().drop > 0 && nth(&COUNT, wishes().drop) {
        return drop_record(kind);
    }
    let Some(mut guard) = room(slot, bytes) else { return drop_record(kind) };
    let Some(buffer) = guard.as_mut() else { return drop_record(kind) };
    // SAFETY: `room` made sure that the bytes are inside the buffer.
    unsafe {
        let start = buffer.start.add(buffer.used);
        start.cast::<u32>().write(kind);
        let name = buffer.names.copy(name.0, name.1);
        fill(&mut Record::new(start, bytes), name);
    }
    buffer.used += bytes;
    buffer.records += 1;
    let late = if finished_ns > 0 { wishes().late_ns } else { 0 };
    buffer.finished_ns = buffer.finished_ns.max(finished_ns.saturating_add(late));
}

/// Gives a buffer back. `forced`: with whatever is unfinished, whose end is then 0.
fn deliver(mut buffer: Buffer, forced: bool) {
    let now = driver::now();
    let mut list = buffer.walk();
    if forced && buffer.finished_ns > now {
        for &(at, kind, _) in &list {
            if buffer.end_of(at, kind) > now {
                let Some(offset) = end_offset(kind) else { continue };
                // SAFETY: inside the record.
                unsafe { buffer.start.add(at + offset).cast::<u64>().write(0) };
                settings::add(word::UNFINISHED, 1);
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
            "handing {:p} {} of {} {}",
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
    settings::subtract(word::BUFFERS_OWNED, 1);
    settings::add(word::HANDED, 1);
    let callback = COMPLETE.load(Ordering::Acquire);
    with_lock(|| {
        if callback != 0 {
            // SAFETY: what the tool registered has this type.
            callbacks::inside(callbacks::BUFFER, || unsafe {
                let callback: Complete = std::mem::transmute(callback);
                callback(std::ptr::null_mut(), 0, buffer.start, buffer.bytes, buffer.used);
            });
        }
    });
    settings::add(word::COMPLETED, 1);
    settings::add(word::DELIVERED, list.len() as u64);
    settings::add(word::DELIVERED_BYTES, buffer.used as u64);
    for (kind, &n) in of_kind.iter().enumerate() {
        if n > 0 {
            settings::add(word::DELIVERED_OF + kind, n);
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
    if FLUSHING.swap(true, Ordering::AcqRel) {
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
    let slots = SLOTS.lock().map(|slots| slots.clone()).unwrap_or_default();
    for slot in std::iter::once(&SHARED).chain(slots) {
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
        crate::records::overhead(1 << 16, start, driver::now(), false);
    }
    0
}

/// Disabling a kind forgets what is still running of it.
pub fn forget_unfinished(kind: u32) {
    if end_offset(kind).is_none() || wishes().keep_on_disable {
        return;
    }
    let now = driver::now();
    let slots = SLOTS.lock().map(|slots| slots.clone()).unwrap_or_default();
    for slot in std::iter::once(&SHARED).chain(slots) {
        if let Ok(mut guard) = slot.buffer.lock()
            && let Some(buffer) = guard.as_mut()
        {
            forget(buffer, kind, now);
        }
    }
    if let Ok(mut full) = FULL.lock() {
        for buffer in full.iter_mut() {
            forget(buffer, kind, now);
        }
    }
}

fn forget(buffer: &mut Buffer, kind: u32, now: u64) {
    if buffer.finished_ns <= now {
        return;
    }
    let list = buffer.walk();
    let (mut to, mut records, mut finished) = (0, 0, 0);
    for (at, of, bytes) in list {
        let end = buffer.end_of(at, of);
        if of == kind && end > now {
            settings::add(word::DROPPED_OF + (kind as usize).min(127), 1);
            continue;
        }
        // SAFETY: both inside the buffer; `to` is never after `at`.
        unsafe { std::ptr::copy(buffer.start.add(at), buffer.start.add(to), bytes) };
        to += bytes;
        records += 1;
        finished = finished.max(end);
    }
    // SAFETY: the rest of what was written: a tool that promised zeroes gets zeroes behind the last record.
    unsafe { std::ptr::write_bytes(buffer.start.add(to), 0, buffer.used - to) };
    (buffer.used, buffer.records, buffer.finished_ns) = (to, records, finished);
}

fn start_worker() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::AcqRel) {
        return;
    }
    // SAFETY: masks live here; CUPTI's thread takes no signals.
    unsafe {
        let (mut all, mut old): (libc::sigset_t, libc::sigset_t) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old);
        // Not by the standard library, which waits for the loader's lock: this is called while a context is made.
        let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
        let mut thread: libc::pthread_t = std::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        libc::pthread_attr_setstacksize(&mut attributes, 256 << 10);
        libc::pthread_attr_setdetachstate(&mut attributes, libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_create(&mut thread, &attributes, run_worker, std::ptr::null_mut());
        libc::pthread_attr_destroy(&mut attributes);
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
    }
}

extern "C" fn run_worker(_: *mut c_void) -> *mut c_void {
    // SAFETY: a terminated name.
    unsafe { libc::prctl(libc::PR_SET_NAME, c"cupti-worker".as_ptr()) };
    worker();
    std::ptr::null_mut()
}

/// CUPTI's own thread: gives back full buffers when their records are finished.
fn worker() {
    loop {
        let delivery = DELIVERY.lock();
        let mut idle = true;
        // What was sealed while there was a driver comes, though that may be gone by now.
        while let Some(sealed) = take_sealed() {
            deliver(sealed.buffer, sealed.forced);
            idle = false;
        }
        let awaits = SEALED.lock().is_ok_and(|sealed| !sealed.is_empty());
        if driver::gone() && !awaits {
            return;
        }
        let ready = if driver::gone() { Vec::new() } else { take_full(false, driver::now()) };
        idle &= ready.is_empty();
        for buffer in ready {
            deliver(buffer, false);
        }
        drop(delivery);
        if idle {
            let Ok(full) = FULL.lock() else { return };
            let timeout = if full.is_empty() && !awaits { 50 } else { 1 };
            let _ = NEWS.wait_timeout(full, Duration::from_millis(timeout));
        }
    }
}
