//! One line on standard error, or nothing: only while it is still the one seen at load, and never a signal.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::sys;

pub use at_load::identity;

/// Longest line; what does not fit is cut. On the stack: it is written from callbacks too.
const LINE_BYTES: usize = 1024;

static SEEN: AtomicBool = AtomicBool::new(false);
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);
static VERBOSITY: AtomicU8 = AtomicU8::new(1);

/// Remembers which file standard error is. The first call counts.
pub fn remember_stderr(identity: Option<(u64, u64)>) {
    if let Some((device, inode)) = identity
        && !SEEN.load(Ordering::Acquire)
    {
        DEVICE.store(device, Ordering::Relaxed);
        INODE.store(inode, Ordering::Relaxed);
        SEEN.store(true, Ordering::Release);
    }
}

/// How much is said: 0 nothing, 1 what the user must know, 2 and 3 more.
pub fn set_verbosity(verbosity: u8) {
    VERBOSITY.store(verbosity, Ordering::Relaxed);
}

struct Line {
    bytes: [u8; LINE_BYTES],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        // One byte stays free for the line feed.
        let room = (LINE_BYTES - 1).saturating_sub(self.len);
        let n = s.len().min(room);
        self.bytes[self.len..self.len + n].copy_from_slice(&s.as_bytes()[..n]);
        self.len += n;
        Ok(())
    }
}

/// Writes `gpuprof: ` and `args` as one line if `verbosity` is asked for. Takes no memory, raises no signal.
pub fn line(verbosity: u8, args: fmt::Arguments<'_>) {
    if VERBOSITY.load(Ordering::Relaxed) < verbosity || !SEEN.load(Ordering::Acquire) {
        return;
    }
    // A program that closed its standard error may have opened a file of its own under that number.
    if identity(2) != Some((DEVICE.load(Ordering::Relaxed), INODE.load(Ordering::Relaxed))) {
        return;
    }
    let mut line = Line { bytes: [0; LINE_BYTES], len: 0 };
    let _ = line.write_str("gpuprof: ");
    let _ = line.write_fmt(args);
    line.bytes[line.len] = b'\n';
    sys::write_quietly(2, &line.bytes[..=line.len]);
}
