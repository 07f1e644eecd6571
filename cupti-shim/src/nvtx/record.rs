//! What each call means: an event for the writer, a level for the program, a word to the gate.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::abi::{self, NO_TRACKING};
use super::event::{Event, EventKind, Payload, UNTRACKED};
use super::handles::Domain;
use super::text::{Attributes, Text};
use super::{COUNTS, queue, thread};
#[cfg(not(test))]
use crate::gate;
#[cfg(test)]
use crate::nvtx::tests::gate;
use crate::sys;

/// The newest range id given to the program. 0 is "no range" in NVTX.
static NEWEST_ID: AtomicU64 = AtomicU64::new(0);

/// Ids of start/end ranges that opened the gate and have not ended; 0: free. Any thread may end them, and a program
/// may end one twice, so a flag in the id would not do.
static MATCHED: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];
/// Some entry of [`MATCHED`] may be taken.
static ANY_MATCHED: AtomicBool = AtomicBool::new(false);
/// Taken for a range whose id is still being decided.
const RESERVED: u64 = u64::MAX;

/// Whether calls are recorded: not in a forked child, which stays silent until it is recorded in its own right.
fn is_live() -> bool {
    sys::is_ours()
}

/// Runs our part of a call; after a panic of ours there is none, and the program runs on.
pub fn guarded<R>(otherwise: R, body: impl FnOnce() -> R) -> R {
    let mut answer = otherwise;
    crate::guard("an NVTX call", || answer = body());
    answer
}

/// What a forked child forgets ([`crate::fork`]): which ranges had opened the gate of its parent and have not ended.
pub(super) fn forget() {
    for slot in &MATCHED {
        slot.store(0, Ordering::Relaxed);
    }
}

#[inline]
fn queued(thread: &thread::Thread, event: Event) {
    queue::push(event);
    if thread.is_time_to_check() {
        queue::relieve();
    }
}

#[inline]
fn event(kind: EventKind, tid: u32, domain: Domain) -> Event {
    Event {
        time_ns: 0,
        pair: 0,
        payload: Payload::None,
        domain: domain.name,
        domain_key: domain.key,
        name: 0,
        category: 0,
        color: None,
        tid,
        kind,
    }
}

#[inline]
fn described(kind: EventKind, tid: u32, domain: Domain, a: &Attributes, name: u32) -> Event {
    Event { name, category: a.category, color: a.color, payload: a.payload, ..event(kind, tid, domain) }
}

/// Begins a range of the calling thread. Returns its level, from 0.
pub fn push(domain: Domain, attributes: &Attributes, text: Text<'_>) -> c_int {
    if !is_live() {
        return NO_TRACKING;
    }
    let name = text.id();
    thread::with(|thread| {
        // A range that is not tracked could not tell its end from another one's, so it is not shown to the gate.
        let matched = gate::nvtx_wants() && thread.has_room() && gate::nvtx_begin(domain.bytes(), text.bytes());
        let frame = thread.push(domain.key, matched);
        let pair = Event::nested(frame.level, frame.serial);
        let event = described(EventKind::Push, thread.tid(), domain, attributes, name);
        queued(thread, Event { pair, time_ns: sys::realtime_ns(), ..event });
        if frame.level == UNTRACKED {
            COUNTS.untracked();
            return NO_TRACKING;
        }
        c_int::from(frame.level)
    })
    .unwrap_or(NO_TRACKING)
}

/// Ends the newest range of the calling thread in a domain. Returns its level.
pub fn pop(domain: Domain) -> c_int {
    if !is_live() {
        return NO_TRACKING;
    }
    let time_ns = sys::realtime_ns();
    thread::with(|thread| {
        let Some(frame) = thread.pop(domain.key) else {
            COUNTS.pop_without_push();
            return NO_TRACKING;
        };
        let pair = Event::nested(frame.level, frame.serial);
        queued(thread, Event { pair, time_ns, ..event(EventKind::Pop, thread.tid(), domain) });
        if frame.matched {
            gate::nvtx_end();
        }
        if frame.level == UNTRACKED { NO_TRACKING } else { c_int::from(frame.level) }
    })
    .unwrap_or(NO_TRACKING)
}

/// Begins a range that any thread may end. Returns the id to end it by; `theirs` if another tool gave one already.
pub fn start(domain: Domain, attributes: &Attributes, text: Text<'_>, theirs: Option<u64>) -> u64 {
    if !is_live() {
        return theirs.unwrap_or(0);
    }
    let name = text.id();
    let id = theirs.filter(|&id| id != 0).unwrap_or_else(|| NEWEST_ID.fetch_add(1, Ordering::Relaxed) + 1);
    if gate::nvtx_wants() {
        match_started(id, domain.bytes(), text.bytes());
    }
    thread::with(|thread| {
        let event = described(EventKind::Start, thread.tid(), domain, attributes, name);
        queued(thread, Event { pair: id, time_ns: sys::realtime_ns(), ..event });
    });
    id
}

fn match_started(id: u64, domain: &[u8], message: &[u8]) {
    let take = |slot: &&AtomicU64| slot.compare_exchange(0, RESERVED, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    // 64 such ranges open at once is more than a gate can make sense of; those beyond do not count.
    let Some(slot) = MATCHED.iter().find(take) else { return };
    let matched = gate::nvtx_begin(domain, message);
    slot.store(if matched { id } else { 0 }, Ordering::Release);
    if matched {
        ANY_MATCHED.store(true, Ordering::Release);
    }
}

/// Ends a range that [`start`] began.
pub fn end(domain: Domain, id: u64) {
    if !is_live() || id == 0 {
        return;
    }
    let time_ns = sys::realtime_ns();
    thread::with(|thread| {
        queued(thread, Event { pair: id, time_ns, ..event(EventKind::End, thread.tid(), domain) });
    });
    if ANY_MATCHED.load(Ordering::Acquire) {
        let free = |slot: &AtomicU64| slot.compare_exchange(id, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if MATCHED.iter().any(free) {
            gate::nvtx_end();
        }
    }
}

/// A moment.
pub fn mark(domain: Domain, attributes: &Attributes, text: Text<'_>) {
    if !is_live() {
        return;
    }
    let name = text.id();
    thread::with(|thread| {
        let event = described(EventKind::Mark, thread.tid(), domain, attributes, name);
        queued(thread, Event { time_ns: sys::realtime_ns(), ..event });
    });
}

/// A thread, by the kernel's id, has a name.
pub fn name_thread(tid: u32, text: Text<'_>) {
    if !is_live() {
        return;
    }
    let name = text.id();
    thread::with(|thread| {
        let event = event(EventKind::Thread, tid, Domain::DEFAULT);
        queued(thread, Event { name, time_ns: sys::realtime_ns(), ..event });
    });
}

/// A category of a domain has a name. The file has no table for that, so it becomes a sentence for a note.
pub fn name_category(domain: Domain, category: u32, text: Text<'_>) {
    if !is_live() {
        return;
    }
    let mut sentence = Sentence::new(b"NVTX category ");
    sentence.add_number(u64::from(category), 10);
    if domain.key != 0 {
        sentence.add(b" of domain ");
        sentence.add(domain.bytes());
    }
    sentence.add(b": ");
    sentence.add(text.bytes());
    let name = sentence.id();
    thread::with(|thread| {
        let event = event(EventKind::Category, thread.tid(), domain);
        queued(thread, Event { name, category, time_ns: sys::realtime_ns(), ..event });
    });
}

/// A CUDA object has a name; `handle` is the pointer or number that the program knows it by.
pub fn name_object(kind: EventKind, handle: u64, text: Text<'_>) {
    if !is_live() {
        return;
    }
    let name = text.id();
    let (what, base): (&[u8], u64) = match kind {
        EventKind::Device => (b"device ", 10),
        EventKind::Context => (b"context 0x", 16),
        EventKind::Stream => (b"stream 0x", 16),
        _ => (b"event 0x", 16),
    };
    let mut sentence = Sentence::new(b"NVTX name of CUDA ");
    sentence.add(what);
    sentence.add_number(handle, base);
    sentence.add(b": ");
    sentence.add(text.bytes());
    let category = sentence.id();
    thread::with(|thread| {
        let event = event(kind, thread.tid(), Domain::DEFAULT);
        queued(thread, Event { name, category, pair: handle, time_ns: sys::realtime_ns(), ..event });
    });
}

/// What kind of object a resource is, if it is one that a trace can name.
pub fn resource_kind(kind: i32) -> Option<EventKind> {
    Some(match kind {
        abi::RESOURCE_THREAD => EventKind::Thread,
        abi::RESOURCE_CU_DEVICE | abi::RESOURCE_CUDA_DEVICE => EventKind::Device,
        abi::RESOURCE_CU_CONTEXT => EventKind::Context,
        abi::RESOURCE_CU_STREAM | abi::RESOURCE_CUDA_STREAM => EventKind::Stream,
        abi::RESOURCE_CU_EVENT | abi::RESOURCE_CUDA_EVENT => EventKind::CudaEvent,
        _ => return None,
    })
}

/// On the stack of a thread of the program, which may be small.
const SENTENCE_BYTES: usize = 1024;

/// A text put together on the stack; what does not fit is cut.
struct Sentence {
    bytes: [u8; SENTENCE_BYTES],
    len: usize,
}

impl Sentence {
    fn new(beginning: &[u8]) -> Sentence {
        let mut sentence = Sentence { bytes: [0; SENTENCE_BYTES], len: 0 };
        sentence.add(beginning);
        sentence
    }

    fn add(&mut self, text: &[u8]) {
        for (to, from) in self.bytes.iter_mut().skip(self.len).zip(text) {
            *to = *from;
            self.len += 1;
        }
    }

    fn add_number(&mut self, number: u64, base: u64) {
        let mut digits = [0u8; 20];
        let mut rest = number;
        let mut first = digits.len();
        for (i, digit) in digits.iter_mut().enumerate().rev() {
            let value = (rest % base) as u8;
            *digit = if value < 10 { b'0' + value } else { b'a' + value - 10 };
            rest /= base;
            first = i;
            if rest == 0 {
                break;
            }
        }
        self.add(digits.get(first..).unwrap_or_default());
    }

    fn id(&self) -> u32 {
        super::intern(self.bytes.get(..self.len).unwrap_or_default())
    }
}
