//! From which Python line each kernel was launched (`GPUPROF_LAUNCH_STACKS`).
//!
//! Read inside CUPTI's callback at the entry of each launch call, on the thread that launches, so the rules of that
//! place hold: the program must not notice.
//!
//! The interpreter's lock is never acquired, no Python code runs, no exception is set or cleared, no reference is
//! counted and nothing is allocated, by Python or by us: frames are read where they lie, as a debugger reads them
//! ([`layout`]). Python's own functions would not do. `PyEval_GetFrame` makes a frame object (3.11 and later), which in
//! 3.11 may start a garbage collection, which runs Python code; `PyGILState_Check` always says yes once there was a
//! second interpreter; and nearly all that is called needs the lock, which PyTorch, Triton and CuPy have given back when
//! they launch.
//!
//! What makes it safe to read:
//! - a thread reads its own frames while it is inside a call. Nobody else changes the chain of frames of a thread; what
//!   they refer to (code objects, their names and tables of lines) is held by them and does not change;
//! - it holds the interpreter's lock, or it is the first thread of the process: the one that ends the interpreter, so
//!   that its state cannot be taken away meanwhile, as can that of a daemon thread;
//! - there is one interpreter (no second one now), it is not ending, and the build is not a free-threaded one;
//! - the version is one whose layout is known, and the types of what is read prove it: the first launch is read through
//!   the kernel, which knows bad addresses, and if anything is not what it should be the whole is off ([`memory`]);
//! - the names that are remembered of a code object are those of the object that is there now ([`walk`]).
//!
//! Launches from other threads without the lock are counted and go without. All this may take 20 ms of each second
//! ([`budget`]); launches beyond are counted too.

mod api;
mod budget;
mod layout;
mod memory;
mod table;
mod walk;

use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;
use cupti_sys::CUPTI_CB_DOMAIN_DRIVER_API;
use serde_json::{Value, json};

use crate::session::Session;
use crate::{log, sys, writer};
use api::{Api, FoundPython};
use budget::Budget;
pub use table::{FrameDef, StackDef};
use table::{Frames, Stacks};
use walk::{Codes, Walked};

/// Driver calls that launch kernels or graphs. Below a runtime call the driver's has the same correlation id
/// (docs/hardware), so these are enough. (Ids that a CUPTI does not know are refused, which is no harm.)
const LAUNCHES: [u32; 11] = [115, 116, 117, 307, 442, 477, 478, 514, 515, 652, 653];
/// Launches that wait for the writer at most: 8 bytes each.
const CAPACITY: usize = 1 << 16;
/// Frames kept of a launch at most, whatever was asked for.
pub const MOST_DEPTH: usize = 64;
/// How often a thread looks whether another one is done before it goes on without: two threads launch at one moment
/// only where one of them has given the interpreter's lock back.
const SPINS: u32 = 200;

/// A launch and where it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The call's correlation id, of 32 bits as CUPTI counts.
    pub correlation: u32,
    /// Its stack.
    pub stack: u32,
}

/// What became of the launches.
#[derive(Default)]
struct Counts {
    kept: AtomicU64,
    /// The thread runs no Python, or has given the lock back and is not the first one.
    without_lock: AtomicU64,
    /// There was a second interpreter, or Python was ending.
    unsuitable: AtomicU64,
    /// The time of this second was used up.
    over_budget: AtomicU64,
    /// The queue or a table was full, another thread was at it, or the layout is not known.
    lost: AtomicU64,
    /// Time spent, all launches together.
    spent_ns: AtomicU64,
}

/// Touched by whoever has set `busy`.
struct Locked {
    codes: Codes,
    budget: Budget,
}

struct State {
    depth: usize,
    api: AtomicPtr<Api>,
    /// Nothing more is looked for: found, or such that it cannot be used.
    settled: AtomicBool,
    frames: Frames,
    stacks: Stacks,
    queue: ArrayQueue<Launch>,
    busy: AtomicBool,
    locked: UnsafeCell<Locked>,
    counts: Counts,
    /// What the writer has taken; its thread's alone.
    taken: [AtomicU64; 2],
}

// SAFETY: `locked` is touched only by the thread that has set `busy`.
unsafe impl Sync for State {}

/// Made with the session, never freed.
static STATE: AtomicPtr<State> = AtomicPtr::new(null_mut());

fn state() -> Option<&'static State> {
    // SAFETY: null or a leaked box.
    unsafe { STATE.load(Ordering::Acquire).as_ref() }
}

/// Begins to listen to launches, if the settings want it.
pub fn listen(session: &Session, enable: impl Fn(u32, u32)) {
    let depth = usize::try_from(session.settings.launch_stacks).unwrap_or(MOST_DEPTH).min(MOST_DEPTH);
    if depth == 0 {
        return;
    }
    let state = State {
        depth,
        api: AtomicPtr::new(null_mut()),
        settled: AtomicBool::new(false),
        frames: Frames::new(),
        stacks: Stacks::new(),
        queue: ArrayQueue::new(CAPACITY),
        busy: AtomicBool::new(false),
        locked: UnsafeCell::new(Locked { codes: Codes::new(), budget: Budget::default() }),
        counts: Counts::default(),
        taken: [AtomicU64::new(0), AtomicU64::new(0)],
    };
    STATE.store(Box::into_raw(Box::new(state)), Ordering::Release);
    look();
    LAUNCHES.iter().for_each(|id| enable(CUPTI_CB_DOMAIN_DRIVER_API, *id));
}

/// What a forked child forgets ([`crate::fork`]): the frames, stacks and launches of its parent, because ids of names
/// are a child's own. Their memory is not freed.
pub fn forget() {
    STATE.store(null_mut(), Ordering::Release);
}

/// Whether a driver call with this id is a launch that somebody wants to hear of.
pub fn is_launch(id: u32) -> bool {
    LAUNCHES.contains(&id) && !STATE.load(Ordering::Relaxed).is_null()
}

/// Looks for Python among what is loaded: at the beginning, and again at intervals, for it may come later. Not from a
/// callback: the loader has a lock.
pub fn look() {
    let Some(state) = state() else { return };
    if state.settled.load(Ordering::Relaxed) {
        return;
    }
    match api::find() {
        FoundPython::Nothing => return,
        FoundPython::Usable(api) => state.api.store(Box::into_raw(Box::new(api)), Ordering::Release),
        FoundPython::Unusable(why) => off(&why),
    }
    state.settled.store(true, Ordering::Relaxed);
}

fn off(why: &str) {
    log::line(1, format_args!("--launch-stacks is off in this process: {why}"));
}

/// A launch call begins on this thread.
pub fn on_launch(correlation: u32) {
    let Some(state) = state() else { return };
    // SAFETY: null or a leaked box.
    if let Some(api) = unsafe { state.api.load(Ordering::Acquire).as_ref() } {
        state.launch(api, correlation);
    }
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl State {
    fn launch(&self, api: &Api, correlation: u32) {
        let Some(thread) = api.own_state() else { return count(&self.counts.without_lock) };
        if !api.is_suitable() {
            return count(&self.counts.unsuitable);
        }
        if !self.begin() {
            return count(&self.counts.lost);
        }
        // SAFETY: `begin` has set `busy`, which it gives to one thread at a time.
        let locked = unsafe { &mut *self.locked.get() };
        self.keep(api, locked, thread, correlation);
        self.busy.store(false, Ordering::Release);
    }

    /// Whether it is this thread's turn.
    fn begin(&self) -> bool {
        (0..SPINS).any(|_| {
            let mine = !self.busy.swap(true, Ordering::Acquire);
            if !mine {
                std::hint::spin_loop();
            }
            mine
        })
    }

    fn keep(&self, api: &Api, locked: &mut Locked, thread: usize, correlation: u32) {
        let start_ns = sys::monotonic_ns();
        if !locked.budget.has_some(start_ns) {
            return count(&self.counts.over_budget);
        }
        // SAFETY: this thread's own state, under the conditions that `own_state` and `is_suitable` have checked; the
        // tables are written by the thread that has set `busy`.
        let walked = unsafe { walk::stack(api, thread, self.depth, &mut locked.codes, &self.frames, &self.stacks) };
        match walked {
            Walked::Stack(stack) if self.queue.push(Launch { correlation, stack }).is_ok() => {
                count(&self.counts.kept);
                if self.queue.len() == CAPACITY / 2 {
                    writer::shared().nudge();
                }
            }
            Walked::Stack(_) | Walked::Full => count(&self.counts.lost),
            // C code that Python did not call: the thread has a state all the same.
            Walked::NoFrame => count(&self.counts.without_lock),
            Walked::Strange => {
                self.api.store(null_mut(), Ordering::Release);
                count(&self.counts.lost);
                off("its Python keeps frames in another way than is known of its version");
            }
        }
        let charged_ns = locked.budget.spend(sys::monotonic_ns() - start_ns);
        self.counts.spent_ns.fetch_add(charged_ns.cast_unsigned(), Ordering::Relaxed);
    }
}

/// Hands over what was kept since the last time: launches first, then all that they refer to. The writer thread's
/// alone to call.
pub fn drain(
    mut launch: impl FnMut(Launch),
    mut frame: impl FnMut(u32, FrameDef),
    mut stack: impl FnMut(u32, StackDef),
) {
    let Some(state) = state() else { return };
    for _ in 0..CAPACITY {
        let Some(one) = state.queue.pop() else { break };
        launch(one);
    }
    // What a launch refers to was there before it was queued.
    let [frames, stacks] = &state.taken;
    let from = |taken: &AtomicU64| u32::try_from(taken.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
    frames.store(state.frames.defs.each_from(from(frames), &mut frame).into(), Ordering::Relaxed);
    stacks.store(state.stacks.defs.each_from(from(stacks), &mut stack).into(), Ordering::Relaxed);
}

/// What the closing frame says; null where launches were not listened to.
pub fn facts() -> Value {
    let Some(state) = state() else { return Value::Null };
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let counts = &state.counts;
    json!({
        "kept": get(&counts.kept),
        "without_lock": get(&counts.without_lock),
        "unsuitable": get(&counts.unsuitable),
        "over_budget": get(&counts.over_budget),
        "lost": get(&counts.lost),
        "spent_ns": get(&counts.spent_ns),
    })
}

/// Launches without a stack because there was no time or no room, for the note at the end.
pub fn skipped() -> u64 {
    state().map_or(0, |s| s.counts.over_budget.load(Ordering::Relaxed) + s.counts.lost.load(Ordering::Relaxed))
}
