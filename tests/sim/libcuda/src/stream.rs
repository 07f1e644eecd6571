//! Streams and events: queues of work on the virtual clock. When work is given to a stream its times are known at
//! once, because durations are; it is unfinished as long as the clock has not come that far.

use crate::abi::Resource;
use crate::context::{self, Context};
use crate::graph::Capture;
use crate::{clock, settings};
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

pub struct Stream {
    pub uid: u32,
    pub context: *mut Context,
    pub priority: i32,
    /// 1: does not wait for the null stream.
    pub flags: u32,
    pub alive: AtomicBool,
    pub tail_ns: AtomicU64,
    pub capturing: AtomicBool,
    pub capture: Mutex<Option<Arc<Mutex<Capture>>>>,
}

impl Stream {
    pub const fn new(uid: u32, context: *mut Context, priority: i32, flags: u32) -> Stream {
        Stream {
            uid,
            context,
            priority,
            flags,
            alive: AtomicBool::new(true),
            tail_ns: AtomicU64::new(0),
            capturing: AtomicBool::new(false),
            capture: Mutex::new(None),
        }
    }

    pub fn context(&self) -> &'static Context {
        // SAFETY: contexts are never freed and every stream has one.
        unsafe { &*self.context }
    }

    fn is_null_stream(&self) -> bool {
        std::ptr::eq(self, &self.context().null_stream)
    }

    pub fn handle(&self) -> *mut c_void {
        let this: *const Stream = self;
        if self.is_null_stream() { std::ptr::null_mut() } else { this.cast_mut().cast() }
    }

    pub fn describe(&self) -> Resource {
        Resource {
            stream_uid: self.uid,
            stream: self.handle(),
            priority: self.priority,
            stream_flags: self.flags,
            ..context::describe(self.context())
        }
    }

    /// The capture that this stream takes part in.
    pub fn capture(&self) -> Option<Arc<Mutex<Capture>>> {
        if !self.capturing.load(Ordering::Acquire) {
            return None;
        }
        self.capture.lock().ok()?.clone()
    }

    /// Gives the stream work of this duration, from `earliest_ns` on; `engine` does one thing at a time. Returns start
    /// and end.
    pub fn enqueue(&self, earliest_ns: u64, duration_ns: u64, engine: Option<&AtomicU64>) -> (u64, u64) {
        let context = self.context();
        let mut earliest = earliest_ns;
        if self.is_null_stream() {
            earliest = earliest.max(context.blocking_tail_ns.load(Ordering::Relaxed));
        } else if self.flags & 1 == 0 {
            earliest = earliest.max(context.null_stream.tail_ns.load(Ordering::Relaxed));
        }
        let mut tail = self.tail_ns.load(Ordering::Relaxed);
        let (start, end) = loop {
            let mut start = earliest.max(tail);
            if let Some(engine) = engine {
                start = start.max(engine.load(Ordering::Relaxed));
            }
            let end = start.saturating_add(duration_ns);
            match self.tail_ns.compare_exchange_weak(tail, end, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break (start, end),
                Err(now) => tail = now,
            }
        };
        if let Some(engine) = engine {
            engine.fetch_max(end, Ordering::Relaxed);
        }
        if self.flags & 1 == 0 {
            context.blocking_tail_ns.fetch_max(end, Ordering::Relaxed);
        }
        context.tail_ns.fetch_max(end, Ordering::Relaxed);
        (start, end)
    }
}

/// From the call to the first moment at which the device could begin (`SIM_LATENCY_NS`, 2000).
pub fn latency_ns() -> u64 {
    static LATENCY: OnceLock<u64> = OnceLock::new();
    *LATENCY.get_or_init(|| settings::number(c"SIM_LATENCY_NS", 2000))
}

/// The stream that a handle means: null and 1 the null stream, 2 the thread's (here the same).
pub fn of_handle(handle: *mut c_void) -> Option<&'static Stream> {
    if (handle as usize) < 3 {
        return context::current().map(|context| &context.null_stream);
    }
    // SAFETY: streams are never freed; a program that passes anything else has no right to an answer.
    unsafe { handle.cast::<Stream>().as_ref() }.filter(|stream| stream.alive.load(Ordering::Relaxed))
}

pub struct Event {
    pub uid: u32,
    pub context: *mut Context,
    pub time_ns: AtomicU64,
    pub recorded: AtomicBool,
    pub alive: AtomicBool,
    pub syncs: AtomicU64,
    pub timing: bool,
    pub captured: Mutex<Option<Arc<Mutex<Capture>>>>,
}

pub fn new_event(flags: u32) -> *mut Event {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let (context, _) = context::current_handle();
    Box::into_raw(Box::new(Event {
        uid: NEXT.fetch_add(1, Ordering::Relaxed),
        context: context.cast(),
        time_ns: AtomicU64::new(0),
        recorded: AtomicBool::new(false),
        alive: AtomicBool::new(true),
        syncs: AtomicU64::new(0),
        timing: flags & 2 == 0,
        captured: Mutex::new(None),
    }))
}

pub fn event_of_handle(handle: *mut c_void) -> Option<&'static Event> {
    // SAFETY: events are never freed.
    unsafe { handle.cast::<Event>().as_ref() }.filter(|event| event.alive.load(Ordering::Relaxed))
}

/// True if everything given to the stream so far is done.
pub fn idle(stream: &Stream) -> bool {
    stream.tail_ns.load(Ordering::Acquire) <= clock::now()
}
