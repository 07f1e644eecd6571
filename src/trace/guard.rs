//! Calls into decoders that may panic on hostile input.
//!
//! Checksums keep accidental damage away from the Parquet decoder, but a file made to harm can carry right checksums,
//! and Polars' decoder panics on some malformed payloads. Such a frame is then unreadable like any other.

use polars::prelude::*;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `decode`; a panic inside it becomes an error text and is not printed.
///
/// # Errors
/// Fails if `decode` panics, with the message of the panic.
pub fn guarded<T>(decode: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !GUARDED.get() {
                usual(info);
            }
        }));
    });
    let before = GUARDED.replace(true);
    // Nothing outlives a failed call: what was being decoded is dropped, scratch buffers are overwritten.
    let outcome = panic::catch_unwind(AssertUnwindSafe(decode));
    GUARDED.set(before);
    outcome.map_err(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        text.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()))
            .unwrap_or_else(|| "no message".into())
    })
}

/// As [`guarded`], of a decoder of Polars, whose panics are then errors like its others.
///
/// # Errors
/// Fails as `decode` does, and if it panics.
pub fn decoded<T>(decode: impl FnOnce() -> PolarsResult<T>) -> PolarsResult<T> {
    guarded(decode).unwrap_or_else(|panic| Err(polars_err!(ComputeError: "the decoder gave up: {panic}")))
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn a_panic_becomes_an_error_and_the_next_call_works() {
        assert_eq!(guarded(|| -> u32 { panic!("bad {}", 7) }), Err("bad 7".to_owned()));
        assert_eq!(guarded(|| 5), Ok(5));
    }
}
