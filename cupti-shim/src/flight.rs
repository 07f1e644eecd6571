//! The flight recorder: a ring on disk holds the latest of a recording, and a dump keeps it.
//!
//! ```text
//! control thread ─ dump() ──────┐
//! signal ─ ask ─────────────────┼─▶ Requests ─▶ flush thread: flush CUPTI ─▶ writer: close the segment, link, go on
//! writer: a rule fires ─ ask ───┘
//! ```
//!
//! Nobody waits in there but who called [`dump`]: requests are marked as flushed by the flush thread, which alone may
//! flush, and carried out by the writer, which alone touches files. If CUPTI does not come back, the writer goes ahead
//! without it: that is when a dump is wanted most.

mod requests;
pub mod rules;
pub mod signal;

use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

pub use requests::{Request, Requests};

use crate::session;
use crate::writer::Phase;

/// How long a caller waits for its dump: two seconds for CUPTI, the rest for a slow disk.
const WAIT_NS: i64 = 20_000_000_000;

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

/// A forked child begins anew.
pub fn renew() {
    REQUESTS.store(null_mut(), Ordering::Release);
    signal::renew();
}

/// Keeps what the ring holds as a trace of its own, and says where it is. Recording goes on.
///
/// For threads of ours that may wait, such as that of the control socket: never for the program's, for the flush thread
/// or the writer. Errors: why there is no dump, as a sentence.
#[allow(dead_code, reason = "called by the control socket's thread")]
pub fn dump(reason: &str) -> Result<PathBuf, String> {
    let Some(session) = session::current() else {
        return Err("nothing is recorded in this process".to_owned());
    };
    if session.settings.ring.is_none() {
        return Err("this recording has no ring; start the program with --ring 30s (or GPUPROF_RING)".to_owned());
    }
    if !session.is_started() || session.shared.phase() != Phase::Running {
        return Err("nothing is being recorded now, so there is nothing to dump".to_owned());
    }
    let id = requests().ask(reason, "asked for").ok_or("too many dumps are being made already")?;
    session.wake_flush_thread();
    let has_ended = || session.shared.phase() == Phase::Ended;
    requests()
        .wait(id, WAIT_NS, has_ended)
        .unwrap_or_else(|| Err("the dump was not made in time: CUPTI or the disk does not answer".to_owned()))
}
