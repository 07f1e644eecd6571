//! `ptrace`: what is asked of a thread that stands still. Threads are named by number, and whatever is wrong about one is an
//! answer of the kernel: nothing of this process is touched but what is returned.

/// `PTRACE_EVENT_STOP`, as the upper byte of `si_code`.
const EVENT_STOP: i32 = 128;

/// `NT_PRSTATUS`: the set of general registers.
const NT_PRSTATUS: libc::c_long = 1;

/// Makes a thread ours to stop, without stopping it.
///
/// # Errors
/// Fails with the number of the error.
pub fn seize(tid: libc::pid_t) -> Result<(), i32> {
    ask(libc::PTRACE_SEIZE, tid)
}

/// Asks a thread that was seized to stop, which it does a little later.
///
/// # Errors
/// Fails with the number of the error.
pub fn interrupt(tid: libc::pid_t) -> Result<(), i32> {
    ask(libc::PTRACE_INTERRUPT, tid)
}

fn ask(request: libc::c_uint, tid: libc::pid_t) -> Result<(), i32> {
    // SAFETY: both requests take plain numbers; no options are set.
    match unsafe { libc::ptrace(request, tid, 0_usize, 0_usize) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EPERM)),
    }
}

/// Registers of a thread that has stopped; none if it was killed meanwhile.
pub fn registers(tid: libc::pid_t) -> Option<libc::user_regs_struct> {
    let mut all = std::mem::MaybeUninit::<libc::user_regs_struct>::zeroed();
    let mut piece = libc::iovec { iov_base: all.as_mut_ptr().cast(), iov_len: size_of::<libc::user_regs_struct>() };
    // SAFETY: the kernel writes at most `iov_len` bytes to `all`, of which all zeros is a valid value.
    let (outcome, all) = unsafe {
        let outcome = libc::ptrace(libc::PTRACE_GETREGSET, tid, NT_PRSTATUS, &raw mut piece);
        (outcome, all.assume_init())
    };
    (outcome == 0).then_some(all)
}

/// Lets a thread that has stopped run on; a signal that it was about to get is delivered (0: none). False: it has not
/// stopped.
pub fn detach(tid: libc::pid_t, signal: i32) -> bool {
    // SAFETY: plain numbers.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, tid, 0, libc::c_long::from(signal)) == 0 }
}

/// The signal that a stopped thread is about to get; 0: none. `None`: it has not stopped.
pub fn signal_of_stop(tid: libc::pid_t) -> Option<i32> {
    let mut information = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: the kernel writes one `siginfo_t`, of which all zeros is a valid value.
    let (outcome, information) = unsafe {
        let outcome = libc::ptrace(libc::PTRACE_GETSIGINFO, tid, 0_usize, information.as_mut_ptr());
        (outcome, information.assume_init())
    };
    if outcome != 0 {
        return None;
    }
    // Our own stop, or that of a group that has been stopped: no signal to hand on, and the latter stays stopped.
    Some(if information.si_code >> 8 == EVENT_STOP { 0 } else { information.si_signo })
}

/// Whether the thread has ended, without taking notice of it. (Of a thread that is ours the kernel tells stops too,
/// whatever is asked for.)
pub fn has_ended(tid: libc::pid_t) -> bool {
    let mut information = std::mem::MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: the kernel writes one `siginfo_t`; all zeros is a valid value, and means that nothing happened.
    unsafe {
        let outcome = libc::waitid(libc::P_PID, tid.cast_unsigned(), information.as_mut_ptr(), flags);
        let information = information.assume_init();
        let ends = [libc::CLD_EXITED, libc::CLD_KILLED, libc::CLD_DUMPED];
        outcome != 0 || (information.si_pid() != 0 && ends.contains(&information.si_code))
    }
}

/// Takes notice of the end of a thread that was seized. False: it has not ended.
pub fn reap(tid: libc::pid_t) -> bool {
    // SAFETY: the status is not wanted; without WUNTRACED only ends are taken.
    unsafe { libc::waitpid(tid, std::ptr::null_mut(), libc::WNOHANG | libc::__WALL) != 0 }
}
