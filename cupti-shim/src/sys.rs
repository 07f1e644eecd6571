//! The few things of the operating system that the collector needs, as plain calls: ids, clocks, futex, threads.
//!
//! Sandboxed programs kill a process for a system call they did not expect, so nothing here is called that the C
//! library or CUDA would not call as well.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use crate::log;

/// CLOCK_REALTIME is CUPTI's own clock on Linux unless somebody registers another.
pub use at_load::realtime_ns;

/// The kernel's thread id of the caller; what CUPTI reports after `cuptiSetThreadIdType(1)`.
pub fn gettid() -> u32 {
    // SAFETY: takes no arguments, cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as u32 }
}

/// The process id. A system call: a cached value would be the parent's after `clone`.
pub fn getpid() -> u32 {
    // SAFETY: takes no arguments, cannot fail.
    unsafe { libc::syscall(libc::SYS_getpid) as u32 }
}

/// CLOCK_MONOTONIC, nanoseconds since some moment.
pub fn monotonic_ns() -> i64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// CPU time that the calling thread has taken since it began, in nanoseconds.
pub fn thread_cpu_ns() -> i64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn clock(id: libc::clockid_t) -> i64 {
    let mut t = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: `t` is writable and of the right type; on failure it stays zero, which is a valid value.
    let t = unsafe {
        libc::clock_gettime(id, t.as_mut_ptr());
        t.assume_init()
    };
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

/// Sleeps until `word` is woken, unless it no longer holds `expected`; `timeout_ns` none: for ever.
///
/// May return early; callers look at what they wait for in a loop.
pub fn futex_wait(word: &AtomicU32, expected: u32, timeout_ns: Option<i64>) {
    let t = timeout_ns.map(|ns| libc::timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 });
    let timeout = t.as_ref().map_or(null(), std::ptr::from_ref);
    let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: `word` and `timeout` outlive the call; the kernel only reads them.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        libc::syscall(libc::SYS_futex, word.as_ptr(), op, expected, timeout);
        *errno = saved;
    }
}

/// Sleeps for about so long.
pub fn pause(ns: i64) {
    futex_wait(&AtomicU32::new(0), 0, Some(ns));
}

/// Wakes one or all who wait on `word`.
pub fn futex_wake(word: &AtomicU32, all: bool) {
    let count = if all { i32::MAX } else { 1 };
    let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel uses the address as a key only.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, count) };
}

/// Adds one to `word` and wakes all who wait on it.
pub fn signal(word: &AtomicU32) {
    word.fetch_add(1, Ordering::Release);
    futex_wake(word, true);
}

/// A page that the kernel empties in every forked child: its first word is the pid while it is ours.
static OWNER: AtomicPtr<AtomicU32> = AtomicPtr::new(null_mut());
/// In that word: somebody is just preparing to own the process.
const CLAIMING: u32 = u32::MAX;

fn owner() -> u32 {
    let page = OWNER.load(Ordering::Acquire);
    // SAFETY: the page is mapped for good, aligned, and only ever accessed as this atomic.
    if page.is_null() { 0 } else { unsafe { (*page).load(Ordering::Acquire) } }
}

fn page() -> Option<&'static AtomicU32> {
    let mut page = OWNER.load(Ordering::Acquire);
    if page.is_null() {
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping touches nothing that exists.
        let fresh = unsafe { libc::mmap(null_mut(), 4096, protection, flags, -1, 0) };
        if fresh == libc::MAP_FAILED {
            return None;
        }
        // Kernels before 4.14 refuse this; `is_owner` then still compares the pid. Never unmapped.
        // SAFETY: the page was mapped just above and is ours.
        unsafe { libc::madvise(fresh, 4096, libc::MADV_WIPEONFORK) };
        let (done, failed) = (Ordering::AcqRel, Ordering::Acquire);
        page = match OWNER.compare_exchange(null_mut(), fresh.cast(), done, failed) {
            Ok(_) => fresh.cast(),
            // Another thread was first. Its page serves; ours is not worth unmapping.
            Err(theirs) => theirs,
        };
    }
    // SAFETY: mapped for good, zeroed, aligned.
    Some(unsafe { &*page })
}

/// Makes this process the one that is recorded: the winner of all threads that try runs `prepare` first.
///
/// A forked child is not ours until it claims for itself. True: it is ours now. False: no page could be had, `prepare`
/// refused, or another thread prepares for longer than 100 ms; the collector must then stay inert.
pub fn claim(prepare: impl FnOnce() -> bool) -> bool {
    let (pid, Some(word)) = (getpid(), page()) else { return false };
    // A pid that is not ours: a child of `vfork`, whose memory is its parent's and must stay as it is.
    let before = word.load(Ordering::Acquire);
    if before != 0 && before != CLAIMING {
        return before == pid;
    }
    let claimed = before == 0 && word.compare_exchange(0, CLAIMING, Ordering::AcqRel, Ordering::Acquire).is_ok();
    if claimed {
        let prepared = prepare();
        word.store(if prepared { pid } else { 0 }, Ordering::Release);
        return prepared;
    }
    for _ in 0..100 {
        if word.load(Ordering::Acquire) == pid {
            return true;
        }
        futex_wait(word, CLAIMING, Some(1_000_000));
    }
    false
}

/// Whether this process claimed: false in a child of any kind of fork that the kernel knows. Costs two loads.
pub fn is_ours() -> bool {
    !matches!(owner(), 0 | CLAIMING)
}

/// As [`is_ours`], and sure of it after vfork too, whose child shares its parent's memory. Costs a system call.
pub fn is_owner() -> bool {
    owner() == getpid()
}

/// What the child handler of fork does where the kernel did not empty the page.
pub fn disown() {
    let page = OWNER.load(Ordering::Acquire);
    if !page.is_null() {
        // SAFETY: see `page`.
        unsafe { (*page).store(0, Ordering::Release) };
    }
}

/// The processors this process was given at load: a program may pin the thread that initialises CUDA, and our
/// threads must not be pinned with it.
static AFFINITY: AtomicPtr<libc::cpu_set_t> = AtomicPtr::new(null_mut());

/// Remembers these processors as those of the process. The first that are known count.
pub fn remember_affinity(processors: Option<libc::cpu_set_t>) {
    if AFFINITY.load(Ordering::Acquire).is_null()
        && let Some(set) = processors
    {
        let set = Box::into_raw(Box::new(set));
        let (relaxed, release) = (Ordering::Relaxed, Ordering::Release);
        let _ = AFFINITY.compare_exchange(null_mut(), set, release, relaxed);
    }
}

fn restore_affinity() {
    // SAFETY: set once from a leaked box.
    let Some(wanted) = (unsafe { AFFINITY.load(Ordering::Acquire).as_ref() }) else { return };
    // SAFETY: both are whole sets.
    if at_load::processors().is_some_and(|now| !unsafe { libc::CPU_EQUAL(&now, wanted) }) {
        // SAFETY: the kernel only reads the set.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), wanted) };
    }
}

struct Start {
    name: &'static CStr,
    body: Box<dyn FnOnce() + Send>,
}

/// Threads of ours: what they call leaves records like any call, which do not belong into the trace. 0: none.
static OWN_THREADS: [AtomicU32; 8] = [const { AtomicU32::new(0) }; 8];

/// Whether this is one of our threads. They are not forgotten when they end: the last of their records come after that.
pub fn is_own_thread(tid: u32) -> bool {
    OWN_THREADS.iter().map(|slot| slot.load(Ordering::Relaxed)).take_while(|own| *own != 0).any(|own| own == tid)
}

fn remember_own_thread() {
    let free = |slot: &&AtomicU32| slot.compare_exchange(0, gettid(), Ordering::Relaxed, Ordering::Relaxed).is_ok();
    let _ = OWN_THREADS.iter().find(free);
}

/// What a forked child forgets ([`crate::fork`]): which threads were gpuprof's own. They do not exist in the child.
pub fn forget() {
    OWN_THREADS.iter().for_each(|slot| slot.store(0, Ordering::Relaxed));
}

extern "C" fn run(argument: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `spawn` made this box and gave it away.
    let start = unsafe { Box::from_raw(argument.cast::<Start>()) };
    // SAFETY: a valid, terminated name.
    unsafe { libc::prctl(libc::PR_SET_NAME, start.name.as_ptr()) };
    restore_affinity();
    remember_own_thread();
    let body = start.body;
    // A panic of ours must not end the program; `body` says itself what it was busy with.
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
    null_mut()
}

/// What the C library takes from a thread's stack before the thread begins: the program's thread-local storage lies
/// there too, and can be larger than all that we need.
///
/// 0: not asked yet.
static STACK_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Asks for what [`spawn`] must know. To be called where the loader's lock may be waited for: [`spawn`] is called where the
/// driver holds locks of its own, and a thread that loads a library may be waiting for these.
pub fn prepare_to_spawn() {
    if STACK_BYTES.load(Ordering::Relaxed) == 0 {
        STACK_BYTES.store(minimal_stack_bytes(), Ordering::Relaxed);
    }
}

fn minimal_stack_bytes() -> usize {
    // SAFETY: a function of the C library since 2.15, looked up because it is not meant for everybody; on absence a
    // generous guess takes its place.
    unsafe {
        let symbol = libc::dlsym(libc::RTLD_DEFAULT, c"__pthread_get_minstack".as_ptr());
        if symbol.is_null() {
            return 1 << 20;
        }
        let minstack: unsafe extern "C" fn(*const libc::pthread_attr_t) -> usize = std::mem::transmute(symbol);
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        if libc::pthread_attr_init(attributes.as_mut_ptr()) != 0 {
            return 1 << 20;
        }
        let bytes = minstack(attributes.as_ptr());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        bytes.next_multiple_of(4096)
    }
}

/// The whole of a small file, such as those of `/proc`; none where it cannot be read.
///
/// Not `std::fs::read`, which asks for the size with `statx`: a sandbox may kill for that.
pub fn read_file(path: &CStr) -> Option<Vec<u8>> {
    // SAFETY: a terminated path; the descriptor is closed again; the buffer is as long as said.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        // A program that closes all descriptors, from another thread, may open one of its own under this number.
        let ours = log::identity(fd);
        let (mut bytes, mut chunk) = (Vec::new(), [0u8; 4096]);
        loop {
            if ours.is_none() || log::identity(fd) != ours {
                return None;
            }
            let n = libc::read(fd, chunk.as_mut_ptr().cast(), chunk.len());
            match usize::try_from(n) {
                Ok(0) => break,
                Ok(n) => bytes.extend_from_slice(&chunk[..n]),
                Err(_) if *libc::__errno_location() == libc::EINTR => {}
                Err(_) => break,
            }
        }
        if log::identity(fd) == ours {
            libc::close(fd);
        }
        Some(bytes)
    }
}

/// Writes `bytes` with one call, without the signals that a write can raise (SIGPIPE, SIGXFSZ), and leaves errno alone.
///
/// For writes on the program's own threads: on ours all signals are blocked.
pub fn write_quietly(fd: i32, bytes: &[u8]) {
    // SAFETY: all sets are initialised before use; the caller's mask and errno are restored. A signal that was pending
    // before is left alone; one that our write raised is taken back before anybody sees it.
    unsafe {
        let errno = libc::__errno_location();
        let saved = *errno;
        let mut ours = MaybeUninit::<libc::sigset_t>::zeroed();
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        let mut pending = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigemptyset(ours.as_mut_ptr());
        libc::sigaddset(ours.as_mut_ptr(), libc::SIGPIPE);
        libc::sigaddset(ours.as_mut_ptr(), libc::SIGXFSZ);
        libc::sigpending(pending.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, ours.as_ptr(), before.as_mut_ptr());
        if libc::write(fd, bytes.as_ptr().cast(), bytes.len()) < 0 {
            let raised = match *errno {
                libc::EPIPE => libc::SIGPIPE,
                libc::EFBIG => libc::SIGXFSZ,
                _ => 0,
            };
            if raised != 0 && libc::sigismember(pending.as_ptr(), raised) == 0 {
                let mut one = MaybeUninit::<libc::sigset_t>::zeroed();
                libc::sigemptyset(one.as_mut_ptr());
                libc::sigaddset(one.as_mut_ptr(), raised);
                let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                libc::sigtimedwait(one.as_ptr(), null_mut(), &now);
            }
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
        *errno = saved;
    }
}

/// Starts a detached thread with all signals blocked, so that no handler of the program ever runs on it.
///
/// Not `std::thread`: a small stack of the given size, no join handle, and the mask is in place from its first
/// instruction. Errors: false, the thread could not be started.
pub fn spawn(name: &'static CStr, stack_bytes: usize, body: impl FnOnce() + Send + 'static) -> bool {
    let start = Box::into_raw(Box::new(Start { name, body: Box::new(body) }));
    prepare_to_spawn();
    let stack_bytes = stack_bytes + STACK_BYTES.load(Ordering::Relaxed);
    // SAFETY: every object passed is initialised by the call before; the mask of the caller is restored.
    let created = unsafe {
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        if libc::pthread_attr_init(attributes.as_mut_ptr()) != 0 {
            drop(Box::from_raw(start));
            return false;
        }
        let attributes = attributes.as_mut_ptr();
        libc::pthread_attr_setstacksize(attributes, stack_bytes);
        libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED);
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        let mut thread = MaybeUninit::<libc::pthread_t>::uninit();
        let rc = libc::pthread_create(thread.as_mut_ptr(), attributes, run, start.cast());
        libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), null_mut());
        libc::pthread_attr_destroy(attributes);
        rc == 0
    };
    if !created {
        // SAFETY: no thread took it.
        drop(unsafe { Box::from_raw(start) });
    }
    created
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_forked_child_is_not_ours_and_can_claim_for_itself() {
        assert!(claim(|| true) && is_ours() && is_owner());
        // SAFETY: the child only makes system calls and leaves with `_exit`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let inherited = is_ours() || is_owner();
            let own = claim(|| true) && is_ours() && is_owner();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(if !inherited && own { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: our own child.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
        assert!(is_ours());
    }

    #[test]
    fn our_threads_have_every_signal_blocked_and_survive_a_panic() {
        static DONE: AtomicU32 = AtomicU32::new(0);
        static BLOCKED: AtomicBool = AtomicBool::new(false);
        assert!(spawn(c"gpuprof-test", 64 << 10, || {
            // SAFETY: reads the mask of this thread.
            let blocked = unsafe {
                let mut now = MaybeUninit::<libc::sigset_t>::zeroed();
                libc::pthread_sigmask(libc::SIG_SETMASK, null(), now.as_mut_ptr());
                [libc::SIGTERM, libc::SIGINT, libc::SIGPROF, libc::SIGPIPE]
                    .iter()
                    .all(|s| libc::sigismember(now.as_ptr(), *s) == 1)
            };
            BLOCKED.store(blocked, Ordering::Relaxed);
            signal(&DONE);
            std::panic::resume_unwind(Box::new("of no consequence"));
        }));
        while DONE.load(Ordering::Acquire) == 0 {
            futex_wait(&DONE, 0, Some(1_000_000_000));
        }
        assert!(BLOCKED.load(Ordering::Relaxed));
    }
}
