//! `SIM_*` variables, the log and the table of totals. Included by path into the simulator's crates.

use std::ffi::{CStr, CString, c_char};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// An environment variable as text. Read with `getenv`: the program may have changed its environment since it began.
pub fn text(name: &CStr) -> Option<String> {
    // SAFETY: `name` is NUL-terminated; the answer is copied at once.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: getenv gives NUL-terminated text.
    Some(unsafe { CStr::from_ptr(value) }.to_string_lossy().into_owned()).filter(|text| !text.is_empty())
}

/// A whole number, else the default.
pub fn number(name: &CStr, default: u64) -> u64 {
    text(name).and_then(|text| text.replace('_', "").parse().ok()).unwrap_or(default)
}

/// Writes all bytes to a descriptor; what cannot be written is lost.
pub fn write_all(fd: i32, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: the pointer and length are those of a slice.
        let n = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
        if n <= 0 {
            return;
        }
        bytes = bytes.get(n as usize..).unwrap_or_default();
    }
}

/// Says what went wrong on stderr and ends the process: the program under test did what no program may do.
pub fn fatal(message: &str) -> ! {
    write_all(2, format!("sim: FATAL: {message}\n").as_bytes());
    log(&format!("FATAL {message}"));
    // SAFETY: ends the process.
    unsafe { libc::abort() }
}

/// Something real CUPTI would answer with a crash or a deadlock. Ends the process unless SIM_VIOLATIONS=count.
pub fn violation(message: &str) {
    add(word::VIOLATIONS, 1);
    static COUNT: OnceLock<bool> = OnceLock::new();
    if *COUNT.get_or_init(|| text(c"SIM_VIOLATIONS").as_deref() == Some("count")) {
        log(&format!("VIOLATION {message}"));
        return;
    }
    fatal(&format!("violation: {message}"))
}

/// One line to the file SIM_LOG, opened anew each time: programs close all descriptors and use their numbers again.
pub fn log(line: &str) {
    static PATH: OnceLock<Option<CString>> = OnceLock::new();
    let path = PATH.get_or_init(|| text(c"SIM_LOG").and_then(|path| CString::new(path).ok()));
    let Some(path) = path else { return };
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain system calls on values that live here. A file size limit would end the process by SIGXFSZ.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) != 0 || limit.rlim_cur != libc::RLIM_INFINITY {
            return;
        }
        let errno = *libc::__errno_location();
        let fd =
            libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC, 0o644);
        if fd >= 0 {
            write_all(fd, format!("{} {} {line}\n", libc::getpid(), libc::syscall(libc::SYS_gettid)).as_bytes());
            libc::close(fd);
        }
        *libc::__errno_location() = errno;
    }
}

/// True if lines are kept at all: saves making them.
pub fn logs() -> bool {
    static LOGS: OnceLock<bool> = OnceLock::new();
    *LOGS.get_or_init(|| text(c"SIM_LOG").is_some())
}

/// Words of a process's slot in the table of totals (`SIM_TOTALS`).
pub mod word {
    pub const PID: usize = 0;
    pub const REQUESTED: usize = 1;
    pub const COMPLETED: usize = 2;
    pub const HANDED: usize = 3;
    pub const DELIVERED: usize = 4;
    pub const DELIVERED_BYTES: usize = 5;
    pub const DROPPED: usize = 6;
    pub const NULL_BUFFERS: usize = 7;
    pub const FLUSHES: usize = 8;
    pub const CALLBACKS: usize = 11;
    pub const VIOLATIONS: usize = 12;
    pub const SUBSCRIBES: usize = 13;
    pub const UNFINISHED: usize = 15;
    pub const ZERO_TIMES: usize = 16;
    pub const LAUNCHED: usize = 17;
    pub const INTRUDED: usize = 18;
    pub const CALLS: usize = 19;
    pub const FAILED_CALLS: usize = 20;
    pub const WITHHELD_FLUSHES: usize = 21;
    pub const BYTES_OWNED_PEAK: usize = 22;
    pub const BUFFERS_OWNED: usize = 23;
    pub const INTERCEPTED: usize = 24;
    pub const COST_NS: usize = 25;
    /// Of kind k: word `DELIVERED_OF + k`.
    pub const DELIVERED_OF: usize = 64;
    pub const DROPPED_OF: usize = 320;
    /// Records made, of kind k: the sum of `GENERATED_OF + 128 * stripe + k` over the stripes. Threads have different
    /// stripes, lest counting costs more than what is counted.
    pub const GENERATED_OF: usize = 1024;
    pub const STRIPES: usize = 8;
    pub const COUNT: usize = 2048;
}

/// Processes that fit into the table.
pub const SLOTS: usize = 256;

static SLOT: AtomicU64 = AtomicU64::new(0);
static SLOT_PID: AtomicU64 = AtomicU64::new(0);

/// Adds to a word of this process's totals. They are a shared mapping: no kill, closed descriptor or full disk can
/// take from them, which is why the laws are checked against them and not against the log.
pub fn add(word: usize, n: u64) {
    let base = SLOT.load(Ordering::Relaxed) as *const AtomicU64;
    if !base.is_null() && word < word::COUNT {
        // SAFETY: `base` is a slot of `word::COUNT` words in a mapping that is never taken away.
        unsafe { (*base.add(word)).fetch_add(n, Ordering::Relaxed) };
    }
}

/// Takes away from a word.
pub fn subtract(word: usize, n: u64) {
    add(word, n.wrapping_neg());
}

/// Claims this process's slot, once per process. Every library of the simulator has a mapping of its own but finds the
/// slot of the same pid.
pub fn claim_totals() {
    // SAFETY: plain system calls; the mapping is checked and kept for ever.
    unsafe {
        let pid = libc::getpid() as u64;
        if SLOT_PID.swap(pid, Ordering::Relaxed) == pid {
            return;
        }
        SLOT.store(0, Ordering::Relaxed);
        let Some(path) = text(c"SIM_TOTALS").and_then(|path| CString::new(path).ok()) else { return };
        let fd = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if fd < 0 {
            return;
        }
        let bytes = SLOTS * word::COUNT * 8;
        let mut stat: libc::stat = std::mem::zeroed();
        let whole = libc::fstat(fd, &mut stat) == 0 && stat.st_size as usize >= bytes;
        let flags = libc::PROT_READ | libc::PROT_WRITE;
        let base = if whole {
            libc::mmap(std::ptr::null_mut(), bytes, flags, libc::MAP_SHARED, fd, 0)
        } else {
            libc::MAP_FAILED
        };
        libc::close(fd);
        if base == libc::MAP_FAILED {
            return;
        }
        for slot in 0..SLOTS {
            let slot = base.cast::<AtomicU64>().add(slot * word::COUNT);
            let owner = (*slot).compare_exchange(0, pid, Ordering::AcqRel, Ordering::Acquire);
            if owner.is_ok() || owner == Err(pid) {
                SLOT.store(slot as u64, Ordering::Relaxed);
                return;
            }
        }
    }
}

/// Keeps this thread busy for `ns` of its own CPU time, and counts them: what recording is made to cost here.
pub fn cost(ns: u64) {
    let cpu_ns = || {
        // SAFETY: a plain struct of numbers, which the call fills.
        unsafe {
            let mut time: libc::timespec = std::mem::zeroed();
            libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time);
            time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
        }
    };
    if ns > 0 {
        let begin = cpu_ns();
        while cpu_ns() - begin < ns {}
        add(word::COST_NS, ns);
    }
}

/// This thread's id as the kernel knows it; kept, because asking costs more than a record. Forked children start anew.
pub fn thread_id() -> u32 {
    thread_local!(static ID: std::cell::Cell<(u32, u32)> = const { std::cell::Cell::new((0, 0)) });
    let pid = PROCESS.load(Ordering::Relaxed) as u32;
    ID.with(|id| {
        let (of, tid) = id.get();
        if of == pid && tid != 0 {
            return tid;
        }
        // SAFETY: takes nothing.
        let tid = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        id.set((pid, tid));
        tid
    })
}

static PROCESS: AtomicU64 = AtomicU64::new(0);

/// This process's id, kept and renewed after a fork.
pub fn process_id() -> u32 {
    let pid = PROCESS.load(Ordering::Relaxed) as u32;
    if pid != 0 {
        return pid;
    }
    extern "C" fn child() {
        // SAFETY: takes nothing.
        PROCESS.store(unsafe { libc::getpid() } as u64, Ordering::Relaxed);
    }
    // SAFETY: the handler only stores to a static.
    unsafe { libc::pthread_atfork(None, None, Some(child)) };
    child();
    PROCESS.load(Ordering::Relaxed) as u32
}

/// NUL-terminated text that lives for ever.
pub fn forever(text: &str) -> *const c_char {
    CString::new(text.replace('\0', "")).unwrap_or_default().into_raw()
}
