//! The flight recorder: a ring on disk holds the latest of a recording, and a dump keeps it.
//!
//! ```text
//! control thread ─ ask ─────────┐
//! signal ─ ask ─────────────────┼─▶ Requests ─▶ flush thread: flush CUPTI ─▶ writer: close the segment, link, go on
//! writer: a rule fires ─ ask ───┘
//! ```
//!
//! Nobody waits in there: requests are marked as flushed by the flush thread, which alone may
//! flush, and carried out by the writer, which alone touches files. If CUPTI does not come back, the writer goes ahead
//! without it: that is when a dump is wanted most.

mod requests;
pub mod rules;
pub mod signal;

use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

pub use requests::{Request, Requests};

use crate::session::Session;
use crate::writer::Phase;

/// Made at the first use and never freed. A forked child gets its own: a thread of the parent may have held the lock.
static REQUESTS: AtomicPtr<Requests> = AtomicPtr::new(null_mut());

/// The requests of this process.
pub fn requests() -> &'static Requests {
    // SAFETY: null or a leaked box.
    if let Some(requests) = unsafe { REQUESTS.load(Ordering::Acquire).as_ref() } {
        return requests;
    }
    let fresh = Box::into_raw(Box::new(Requests::new()));
    match REQUESTS.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
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

/// Asks for the dump of a signal that came. Called by the flush thread and by the writer, whichever sees it first.
pub fn ask_for_signal() {
    if signal::take() {
        // One that comes while such a dump is being made is a dump of its own.
        let _ = requests().ask("signal", "a signal asked for it");
    }
}

/// What a forked child forgets ([`crate::fork`]): the dumps that its parent was asked for, by requests and by a signal.
pub fn forget() {
    REQUESTS.store(null_mut(), Ordering::Release);
    signal::forget();
}

/// Asks for what the ring holds to be kept as a trace of its own, while recording goes on. Returns the number under which
/// [`made`] knows the dump.
///
/// Errors: why there is no dump, as a sentence.
pub fn ask(session: &Session, reason: &str) -> Result<u32, String> {
    if session.settings.ring.is_none() {
        return Err("this recording has no ring; start the program with --ring 30s (or GPUPROF_RING)".to_owned());
    }
    if !session.is_started() || session.shared.phase() != Phase::Running {
        return Err("nothing is being recorded now, so there is nothing to dump".to_owned());
    }
    let id = requests().ask(reason, "asked for").ok_or("too many dumps are being made already")?;
    session.wake_flush_thread();
    Ok(id)
}

/// Where the dump is, or why there is none; `None`: it is being made.
pub fn made(session: &Session, id: u32) -> Option<Result<PathBuf, String>> {
    let has_ended = session.shared.phase() == Phase::Ended;
    let unmade = || "the recording ended before the dump was made".to_owned();
    requests().take_answer(id).or_else(|| has_ended.then(|| Err(unmade())))
}
