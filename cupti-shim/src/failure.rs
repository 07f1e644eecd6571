//! Why nothing is recorded in this process, kept for the file that says so at its end.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use shim_config::Cause;

/// Null or a box. No lock: a child that is forked while a thread of its parent holds one could never take it.
static FAILURE: AtomicPtr<(Cause, String)> = AtomicPtr::new(null_mut());

/// Keeps the cause, and what can be said about it. The newest one counts.
pub fn keep(cause: Cause, detail: String) {
    replace(Box::into_raw(Box::new((cause, detail))));
}

/// The cause that was kept. Nobody gets it twice.
pub fn take() -> Option<(Cause, String)> {
    replace(null_mut()).map(|boxed| *boxed)
}

/// What a forked child forgets ([`crate::fork`]): the cause that its parent kept. Its memory is not freed.
pub fn forget() {
    FAILURE.store(null_mut(), Ordering::Release);
}

fn replace(with: *mut (Cause, String)) -> Option<Box<(Cause, String)>> {
    let before = FAILURE.swap(with, Ordering::AcqRel);
    // SAFETY: null or a box that was leaked here and that the swap gave to this caller alone.
    (!before.is_null()).then(|| unsafe { Box::from_raw(before) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_failure_is_taken_once() {
        keep(Cause::CuptiNotFound, "first".into());
        keep(Cause::Disk, "second".into());
        assert_eq!(take().map(|(_, detail)| detail).as_deref(), Some("second"));
        assert!(take().is_none());
        keep(Cause::Disk, "third".into());
        forget();
        assert!(take().is_none());
    }
}
