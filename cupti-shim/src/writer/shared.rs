//! What the callbacks, the gate, the flush thread and the writer thread share. Nobody here waits for anybody.

use std::sync::OnceLock;

use shim_config::Settings;

use crate::buffers::{DROP_BLOCK_BYTES, Owner, Pool};
use crate::decode::names::{drop_block, intern_block};
use crate::messages::Message;
use crate::names::{NAMES, Names};
use crate::strides::Strides;
use crate::sync::ArrayQueue;
use crate::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use crate::sys;

/// Messages that wait at most. A gate that opens and closes a thousand times while the disk stalls stays within.
const MESSAGES: usize = 2_048;
/// The first CUPTI that takes NULL for an answer to a buffer request (12.9); older ones may crash on it.
const TAKES_NULL: u32 = 27;

/// A block that CUPTI has filled; its names are interned already.
pub struct Completed {
    pub(super) ptr: *mut u8,
    pub(super) valid_bytes: usize,
    /// The records were made here.
    pub(super) is_own: bool,
}

// SAFETY: whoever has the `Completed` has the block; it moves from the callback's thread to the writer.
unsafe impl Send for Completed {}

/// What happened to records that never reached the writer thread, since it last asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Records.
    pub records: u64,
    /// Earliest start; more than `last_ns` where none had a time.
    pub first_ns: i64,
    /// Latest end.
    pub last_ns: i64,
}

/// How far the writer has come, for whoever asks. Each number is right for itself; together they may be of two moments.
pub struct Progress {
    pub(super) written: AtomicU64,
    pub(super) excluded: AtomicU64,
    pub(super) activity: AtomicU64,
    pub(super) outside: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) ranges: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) devices: AtomicU64,
    pub(super) work: AtomicU64,
    pub(super) runtime_calls: AtomicU64,
    pub(super) driver_calls: AtomicU64,
}

impl Progress {
    const fn new() -> Progress {
        let [written, excluded, activity, outside] = [const { AtomicU64::new(0) }; 4];
        let [lost, ranges, bytes, devices] = [const { AtomicU64::new(0) }; 4];
        let [work, runtime_calls, driver_calls] = [const { AtomicU64::new(0) }; 3];
        Progress {
            written,
            excluded,
            activity,
            outside,
            lost,
            ranges,
            bytes,
            devices,
            work,
            runtime_calls,
            driver_calls,
        }
    }

    /// Records that are in the trace, or wait to be written.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// Calls and GPU work that are in the trace; what only defines devices, contexts and streams is not counted.
    pub fn activity(&self) -> u64 {
        self.activity.load(Ordering::Relaxed)
    }

    /// Records of the program that lay outside all windows.
    pub fn outside(&self) -> u64 {
        self.outside.load(Ordering::Relaxed)
    }

    /// Records outside the windows, and of kinds that have no table.
    pub fn excluded(&self) -> u64 {
        self.excluded.load(Ordering::Relaxed)
    }

    /// Records that are missing.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Rows of NVTX ranges.
    pub fn ranges(&self) -> u64 {
        self.ranges.load(Ordering::Relaxed)
    }

    /// Size of the trace.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Records of kernels, copies, fills and whole graphs of the program, kept or not, unless the gate was open from the
    /// first call on.
    pub fn work(&self) -> u64 {
        self.work.load(Ordering::Relaxed)
    }

    /// Records of calls of the runtime API, likewise.
    pub fn runtime_calls(&self) -> u64 {
        self.runtime_calls.load(Ordering::Relaxed)
    }

    /// Records of calls of the driver API, likewise.
    pub fn driver_calls(&self) -> u64 {
        self.driver_calls.load(Ordering::Relaxed)
    }

    /// Devices with a context of this process, as bits; those from 64 on are left out.
    pub fn devices(&self) -> u64 {
        self.devices.load(Ordering::Relaxed)
    }
}

/// What one process shares. One per process, a few KiB until CUDA is used; a forked child that records gets its own.
pub struct Shared {
    /// Blocks for CUPTI.
    pub pool: Pool,
    /// Names of kernels and NVTX.
    pub names: &'static Names,
    /// How far the writer has come.
    pub progress: Progress,
    done: OnceLock<ArrayQueue<Completed>>,
    messages: OnceLock<ArrayQueue<Message>>,
    messages_lost: AtomicU64,
    /// Blocks that CUPTI returned and that were not ours: another tool's, left untouched.
    foreign_blocks: AtomicU64,
    dropped: AtomicU64,
    dropped_first: AtomicI64,
    dropped_last: AtomicI64,
    takes_null: AtomicBool,
    /// Whether somebody takes from the queues: see [`Phase`].
    phase: AtomicU8,
    /// Counts what was queued; the writer sleeps on it.
    wake: AtomicU32,
    asleep: AtomicBool,
    next_ticket: AtomicU32,
    answered: AtomicU32,
    /// Counts answers and changes of the phase; who waits for an answer sleeps on it.
    told: AtomicU32,
}

/// The life of the writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Not yet; what is queued will be found.
    Waiting,
    /// It takes from the queues.
    Running,
    /// Nobody will ever take anything: blocks go straight back.
    Ended,
}

static SHARED: AtomicPtr<Shared> = AtomicPtr::new(std::ptr::null_mut());

/// What this process shares.
pub fn shared() -> &'static Shared {
    // SAFETY: null or a leaked box.
    if let Some(shared) = unsafe { SHARED.load(Ordering::Acquire).as_ref() } {
        return shared;
    }
    let fresh = Box::into_raw(Box::new(Shared::new(&NAMES)));
    match SHARED.compare_exchange(std::ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: the box just leaked.
        Ok(_) => unsafe { &*fresh },
        Err(theirs) => {
            // SAFETY: nobody else has seen ours; theirs is never freed.
            unsafe {
                drop(Box::from_raw(fresh));
                &*theirs
            }
        }
    }
}

/// What a forked child forgets ([`crate::fork`]): all that the parent's threads share with its writer, such as queues,
/// buffers and counts. The child gets a new one. The old one is neither used nor freed, because a thread of the parent
/// may have been in the middle of a push.
pub fn forget() {
    if !SHARED.load(Ordering::Acquire).is_null() {
        SHARED.store(Box::into_raw(Box::new(Shared::new(&NAMES))), Ordering::Release);
    }
}

impl Shared {
    /// Nothing queued, nothing allocated.
    pub const fn new(names: &'static Names) -> Shared {
        Shared {
            pool: Pool::new(),
            names,
            progress: Progress::new(),
            done: OnceLock::new(),
            messages: OnceLock::new(),
            messages_lost: AtomicU64::new(0),
            foreign_blocks: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            dropped_first: AtomicI64::new(i64::MAX),
            dropped_last: AtomicI64::new(i64::MIN),
            takes_null: AtomicBool::new(false),
            phase: AtomicU8::new(Phase::Waiting as u8),
            wake: AtomicU32::new(0),
            asleep: AtomicBool::new(false),
            next_ticket: AtomicU32::new(0),
            answered: AtomicU32::new(0),
            told: AtomicU32::new(0),
        }
    }

    /// Makes blocks and queues, before CUPTI is told to ask for them. `cupti_version`: as `cuptiGetVersion` says.
    ///
    /// Errors: false, there was no memory for a single block.
    pub fn prepare(&self, settings: &Settings, cupti_version: u32) -> bool {
        let bytes = |n: u64| usize::try_from(n).unwrap_or(usize::MAX / 2);
        self.prepare_pool(bytes(settings.block_bytes), bytes(settings.memory_bytes), cupti_version >= TAKES_NULL)
    }

    pub(super) fn prepare_pool(&self, block_bytes: usize, memory_bytes: usize, takes_null: bool) -> bool {
        self.takes_null.store(takes_null, Ordering::Relaxed);
        self.messages.get_or_init(|| ArrayQueue::new(MESSAGES));
        if !self.pool.prepare(block_bytes, memory_bytes, !takes_null) {
            return false;
        }
        // Every block fits in at once: it cannot be full.
        self.done.get_or_init(|| ArrayQueue::new(self.pool.blocks().max(1)));
        true
    }

    /// A block for CUPTI and its size. For the buffer-requested callback.
    pub fn request(&self) -> (*mut u8, usize) {
        if !self.takes_null.load(Ordering::Relaxed) {
            return self.pool.take_or_drop();
        }
        let block = self.pool.take();
        (block, if block.is_null() { 0 } else { self.pool.block_bytes() })
    }

    /// Takes a block back from CUPTI, its first `valid_bytes` full of records. For the buffer-completed callback:
    /// interns the names, queues the block, wakes the writer; allocates nothing and waits for nobody.
    ///
    /// # Safety
    /// CUPTI calls back with these very arguments on this thread now: the pointers in the records are followed.
    pub unsafe fn complete(&self, ptr: *mut u8, valid_bytes: usize, strides: &Strides) {
        let owner = self.pool.complete(ptr);
        if owner == Owner::Foreign {
            self.foreign_blocks.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let size = if owner == Owner::Block { self.pool.block_bytes() } else { DROP_BLOCK_BYTES };
        let valid_bytes = valid_bytes.min(size);
        // SAFETY: the block is ours, of that size, initialised from the start, and CUPTI has let go of it.
        let records = unsafe { std::slice::from_raw_parts_mut(ptr, valid_bytes) };
        let ended = self.phase() == Phase::Ended;
        if let (Owner::Block, false, Some(done)) = (owner, ended, self.done.get()) {
            // SAFETY: the caller's promise.
            unsafe { intern_block(records, strides, self.names) };
            if done.push(Completed { ptr, valid_bytes, is_own: false }).is_ok() {
                self.nudge();
                return;
            }
        }
        // SAFETY: the caller's promise. (Pointers of a block that is interned already are gone: nothing to follow.)
        let walk = unsafe { drop_block(records, strides) };
        // What nobody can read any more is one record at least.
        let unknown = u64::from(walk.unknown_bytes > 0);
        self.dropped_first.fetch_min(walk.first_ns, Ordering::Relaxed);
        self.dropped_last.fetch_max(walk.last_ns, Ordering::Relaxed);
        self.dropped.fetch_add(walk.records + unknown, Ordering::Release);
        self.pool.give_back(ptr, valid_bytes);
    }

    /// Queues a block of records that are made here: `fill` writes them from its beginning on, and says how many bytes
    /// they take. As in [`Shared::complete`], nothing is allocated and nobody is waited for. False: no block is left.
    pub fn queue_own(&self, fill: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let Some(done) = self.done.get().filter(|_| self.phase() != Phase::Ended) else { return false };
        let (ptr, size) = (self.pool.take_own(), self.pool.block_bytes());
        if ptr.is_null() {
            return false;
        }
        // SAFETY: the pool has just given this block of so many zeros to nobody else.
        let valid_bytes = fill(unsafe { std::slice::from_raw_parts_mut(ptr, size) }).min(size);
        let is_queued = done.push(Completed { ptr, valid_bytes, is_own: true }).is_ok();
        if is_queued {
            self.nudge();
        } else {
            self.pool.give_back(ptr, valid_bytes);
        }
        is_queued
    }

    /// Records dropped in callbacks since the last call.
    pub(super) fn take_dropped(&self) -> Option<Dropped> {
        let records = self.dropped.swap(0, Ordering::Acquire);
        (records > 0).then(|| Dropped {
            records,
            first_ns: self.dropped_first.swap(i64::MAX, Ordering::Relaxed),
            last_ns: self.dropped_last.swap(i64::MIN, Ordering::Relaxed),
        })
    }

    /// Tells the writer something. False: too much is waiting already, which is counted, or there is no queue yet.
    pub fn send(&self, message: Message) -> bool {
        let sent = self.messages.get().is_some_and(|m| m.push(message).is_ok());
        if sent {
            self.nudge();
        } else {
            self.messages_lost.fetch_add(1, Ordering::Relaxed);
        }
        sent
    }

    /// Asks for something that is answered: `make` puts the ticket into the message. None: it could not be sent.
    pub fn ask(&self, make: impl FnOnce(u32) -> Message) -> Option<u32> {
        let ticket = self.next_ticket.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        (self.phase() != Phase::Ended && self.send(make(ticket))).then_some(ticket)
    }

    /// Waits until a ticket is answered, at most `timeout_ns`. False: it was not; nor will it be if the writer ended.
    pub fn wait(&self, ticket: u32, timeout_ns: i64) -> bool {
        let until_ns = sys::monotonic_ns().saturating_add(timeout_ns);
        loop {
            // `told` counts the changes of `answered` and of the phase, so it is read before both. If one of them
            // changes in between, the futex returns at once.
            let told = self.told.load(Ordering::Acquire);
            let answered = self.answered.load(Ordering::Acquire);
            // Tickets are answered in any order up to the newest: see `answer`.
            if answered.wrapping_sub(ticket) as i32 >= 0 {
                return true;
            }
            let left_ns = until_ns - sys::monotonic_ns();
            if left_ns <= 0 || self.phase() == Phase::Ended {
                return false;
            }
            sys::futex_wait(&self.told, told, Some(left_ns));
        }
    }

    /// Answers a ticket, and with it all that were taken before: whatever was queued before *they* were taken was
    /// queued before this one, and has been written.
    pub(super) fn answer(&self, ticket: u32) {
        let newest = self.answered.load(Ordering::Relaxed);
        if ticket.wrapping_sub(newest) as i32 > 0 {
            self.answered.store(ticket, Ordering::Release);
        }
        sys::signal(&self.told);
    }

    /// Wakes the writer if it sleeps.
    pub fn nudge(&self) {
        // Sequentially consistent, with `sleep`: either this sees the writer asleep, or the writer sees the count.
        self.wake.fetch_add(1, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) {
            sys::futex_wake(&self.wake, false);
        }
    }

    /// To be read before the queues are looked at, and passed to [`Shared::sleep`] when they were empty.
    pub(super) fn wake_count(&self) -> u32 {
        self.wake.load(Ordering::SeqCst)
    }

    pub(super) fn sleep(&self, seen: u32, timeout_ns: Option<i64>) {
        self.asleep.store(true, Ordering::SeqCst);
        sys::futex_wait(&self.wake, seen, timeout_ns);
        self.asleep.store(false, Ordering::SeqCst);
    }

    pub(super) fn next_block(&self) -> Option<Completed> {
        self.done.get()?.pop()
    }

    pub(super) fn blocks_waiting(&self) -> usize {
        self.done.get().map_or(0, ArrayQueue::len)
    }

    pub(super) fn next_message(&self) -> Option<Message> {
        self.messages.get()?.pop()
    }

    /// Messages that found the queue full.
    pub(super) fn messages_lost(&self) -> u64 {
        self.messages_lost.load(Ordering::Relaxed)
    }

    /// Blocks that were not ours.
    pub(super) fn foreign_blocks(&self) -> u64 {
        self.foreign_blocks.load(Ordering::Relaxed)
    }

    /// Where the writer is in its life.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Waiting,
            1 => Phase::Running,
            _ => Phase::Ended,
        }
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
        // Whoever waits for an answer must see that none will come.
        sys::signal(&self.told);
    }
}
