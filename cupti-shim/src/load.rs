//! What happens when the library is mapped into a program: settings are read, and the driver is told where to find us.
//!
//! Runs before `main`, in programs that may have nothing to do with CUDA, beside other preloaded libraries: nothing
//! here starts a thread, opens a file (one line of `seen.jsonl` apart), or calls a function that a program may have
//! replaced (bash has a `setenv` of its own, which crashes before its `main`). Every process below a preloaded one pays
//! for it, so what lies far apart in this library is not touched unless a setting asks for it: each part of 64 KiB that
//! is used first costs more than the work itself.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use shim_config::find::own_proc;
use shim_config::seen::SeenLine;
use shim_config::{Cause, Problem, Settings};

use crate::{log, sys};

/// How the driver finds an injection library.
const CUDA_INJECTION: &[u8] = b"CUDA_INJECTION64_PATH";
/// How NVTX finds one.
const NVTX_INJECTION: &[u8] = b"NVTX_INJECTION64_PATH";
/// What is obeyed before `main`; all other settings wait until CUDA or NVTX asks.
const OBEYED_AT_LOAD: [&[u8]; 6] = [
    b"GPUPROF_DISABLE",
    b"GPUPROF_NVTX",
    b"GPUPROF_NVTX_CHAIN",
    b"GPUPROF_SEEN",
    b"GPUPROF_PROCESSES",
    b"GPUPROF_VERBOSE",
];
/// Set once the line about a foreign injection was printed, so that child processes do not repeat it.
const SAID: &[u8] = b"_GPUPROF_SAID";

/// What is known from the moment of loading.
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// What was wrong with the variables.
    pub problems: Vec<Problem>,
    /// The environment at load, for names of outputs and for the trace.
    pub environment: Vec<(Vec<u8>, Vec<u8>)>,
    /// The program's file.
    pub exe: Vec<u8>,
    /// The command line, arguments ended by zeros.
    pub cmdline: Vec<u8>,
    /// CLOCK_REALTIME at load.
    pub start_unix_ns: i64,
    /// Which process this was known in, and whether it is one of those that are recorded.
    pid: u32,
    is_chosen: bool,
}

impl Loaded {
    /// The value of an environment variable as it was at load.
    pub fn var(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.environment.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone())
    }

    /// Why this process is not recorded, if so. Memory that a fork has copied tells of the parent, so a child that runs
    /// on in it is judged for itself.
    pub fn inert(&self) -> Option<Cause> {
        let is_chosen = match self.pid == sys::getpid() {
            // The process that started it may have ended since.
            true => self.is_chosen,
            false => {
                // SAFETY: cannot fail.
                let parent = unsafe { libc::getppid() }.cast_unsigned();
                self.settings.processes.wants(file_name(&self.exe), parent)
            }
        };
        (!is_chosen).then_some(Cause::NotChosen)
    }
}

/// What was found before `main`, as it was found. Nearly all programs that the library is mapped into have nothing to do
/// with CUDA: what it means is worked out only if somebody asks ([`loaded`]), which costs more than all of this.
struct Snapshot {
    /// `NAME=value`, each ended by a zero.
    environment: Vec<u8>,
    /// The command line, arguments ended by zeros; none: to be read from `/proc`.
    cmdline: Option<Vec<u8>>,
    exe: Vec<u8>,
    /// This library's file, if it could be resolved.
    path: Option<CString>,
    start_unix_ns: i64,
    pid: u32,
    parent: u32,
}

/// Both null or a leaked box. No `OnceLock`: a child that is forked while a thread of its parent is at it would wait for
/// ever.
static SNAPSHOT: AtomicPtr<Snapshot> = AtomicPtr::new(null_mut());
static LOADED: AtomicPtr<Loaded> = AtomicPtr::new(null_mut());

/// What is in `slot`; made now if there is nothing.
fn once<T>(slot: &'static AtomicPtr<T>, make: impl FnOnce() -> T) -> &'static T {
    let mut found = slot.load(Ordering::Acquire);
    if found.is_null() {
        let fresh = Box::into_raw(Box::new(make()));
        found = match slot.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fresh,
            Err(theirs) => {
                // SAFETY: made above, and nobody has seen it.
                drop(unsafe { Box::from_raw(fresh) });
                theirs
            }
        };
    }
    // SAFETY: a leaked box, stored above or by somebody else.
    unsafe { &*found }
}

/// The state at load; read now if the library's constructor has not run or was not allowed to.
pub fn loaded() -> &'static Loaded {
    // SAFETY: `environ` is the C library's, valid once the process runs.
    once(&LOADED, || read(once(&SNAPSHOT, || unsafe { take(libc_environ()) })))
}

unsafe extern "C" {
    // The C library's own name: a program may define a variable `environ` for itself.
    #[link_name = "__environ"]
    static mut environ: *mut *mut c_char;
}

fn libc_environ() -> *const *mut c_char {
    // SAFETY: a plain read of the pointer.
    unsafe { environ }
}

/// Takes down what a program may change before it calls CUDA. `list`: the environment, null-terminated.
unsafe fn take(list: *const *mut c_char) -> Snapshot {
    // SAFETY: passed on from the caller; the buffer is as long as said. Not `own_proc`: before `main` there is but one
    // thread, and where that has ended its program's file is of no more use.
    unsafe {
        log::remember_stderr();
        let mut exe = [0u8; libc::PATH_MAX as usize];
        let length = libc::readlink(c"/proc/self/exe".as_ptr(), exe.as_mut_ptr().cast(), exe.len());
        let exe = exe.get(..usize::try_from(length).unwrap_or(0)).unwrap_or_default().to_vec();
        Snapshot {
            environment: joined(list),
            cmdline: None,
            exe,
            path: own_path(),
            start_unix_ns: sys::realtime_ns(),
            pid: sys::getpid(),
            parent: libc::getppid().cast_unsigned(),
        }
    }
}

/// The strings of a null-terminated list, each ended by a zero.
unsafe fn joined(list: *const *mut c_char) -> Vec<u8> {
    // SAFETY: a null-terminated array of C strings, as the kernel and the C library keep it.
    unsafe {
        let entries = || {
            let at = |i| (!list.is_null()).then(|| *list.add(i)).filter(|entry| !entry.is_null());
            (0..).map_while(at).map(|entry| CStr::from_ptr(entry).to_bytes_with_nul())
        };
        let mut joined = Vec::with_capacity(entries().map(<[u8]>::len).sum());
        entries().for_each(|entry| joined.extend_from_slice(entry));
        joined
    }
}

impl Snapshot {
    /// The variables, in their order.
    fn variables(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.environment.split(|byte| *byte == 0).filter_map(|entry| {
            let equals = entry.iter().position(|byte| *byte == b'=')?;
            Some((entry.get(..equals)?, entry.get(equals + 1..)?))
        })
    }

    fn var(&self, name: &[u8]) -> Option<&[u8]> {
        self.variables().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    /// Whether LD_PRELOAD names this library, so that this is the time before `main`.
    fn is_preloaded(&self) -> bool {
        let own = self.path.as_ref().map_or(&b""[..], |path| file_name(path.to_bytes()));
        let is_between = |byte: &u8| matches!(byte, b':' | b' ');
        self.var(b"LD_PRELOAD").is_some_and(|list| list.split(is_between).any(|entry| file_name(entry) == own))
    }

    /// Whether nothing is set that has a say in what is done before `main`.
    fn is_plain(&self) -> bool {
        let own = self.path.as_ref().map(|path| path.to_bytes());
        self.variables().all(|(name, value)| match name {
            CUDA_INJECTION | NVTX_INJECTION => value.is_empty() || Some(value) == own,
            name => !OBEYED_AT_LOAD.contains(&name),
        })
    }
}

/// Works out what was found.
fn read(found: &Snapshot) -> Loaded {
    let environment: Vec<_> = found.variables().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
    let (settings, problems) = shim_config::from_env(found.variables());
    log::set_verbosity(settings.verbose);
    let cmdline = found.cmdline.clone().or_else(|| {
        let path = CString::new(own_proc("cmdline").into_os_string().into_vec()).ok()?;
        sys::read_file(&path)
    });
    let is_chosen = settings.processes.wants(file_name(&found.exe), found.parent);
    Loaded {
        settings,
        problems,
        environment,
        exe: found.exe.clone(),
        cmdline: cmdline.unwrap_or_default(),
        start_unix_ns: found.start_unix_ns,
        pid: found.pid,
        is_chosen,
    }
}

/// The file name of the running program.
pub fn program_name() -> Vec<u8> {
    file_name(&loaded().exe).to_vec()
}

/// What follows the last slash of a path.
pub fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|b| *b == b'/').next().unwrap_or(path)
}

/// The absolute path of this library: it may have been preloaded by a relative one.
fn own_path() -> Option<CString> {
    // SAFETY: the address lies in this library; the strings are copied before anything else is called.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        let here = constructor as *const c_void;
        if libc::dladdr(here, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        let name = CStr::from_ptr(info.dli_fname);
        if name.to_bytes().starts_with(b"/") {
            return Some(name.to_owned());
        }
        let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
        CString::new(std::fs::canonicalize(path).ok()?.as_os_str().as_bytes()).ok()
    }
}

/// Device and inode of the file at a path.
fn identity(path: &[u8]) -> Option<(u64, u64)> {
    let path = CString::new(path).ok()?;
    // SAFETY: a terminated path; the descriptor is closed again. Not `stat`: see `sys::read_file`.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let found = log::identity(fd);
        libc::close(fd);
        found
    }
}

/// Whether two paths lead to the same file.
fn is_same_file(a: &[u8], b: &[u8]) -> bool {
    a == b || identity(a).is_some_and(|a| Some(a) == identity(b))
}

/// Whether the program runs with more rights than its caller: then nothing of the caller's environment is obeyed.
pub fn is_privileged() -> bool {
    // SAFETY: reads the auxiliary vector.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// The body of the constructor.
///
/// # Safety
/// The arguments must be those that the loader passes to constructors.
unsafe fn on_load(argv: *const *mut c_char, envp: *const *mut c_char) {
    if is_privileged() {
        return;
    }
    sys::remember_affinity();
    let list = if envp.is_null() { libc_environ() } else { envp };
    let found = once(&SNAPSHOT, || {
        // SAFETY: as promised by the caller.
        let mut found = unsafe { take(list) };
        if found.is_preloaded() {
            // SAFETY: as promised. Later a program may have changed the list.
            found.cmdline = Some(unsafe { joined(argv) });
        }
        found
    });
    let Some(path) = &found.path else { return };
    if !found.is_preloaded() {
        // Mapped by the driver or by NVTX: whoever set the variables has set them, and other threads run by now.
        return;
    }
    if found.is_plain() {
        let is_missing = |name: &&[u8]| found.var(name).is_none_or(|value| value != path.to_bytes());
        let missing = [CUDA_INJECTION, NVTX_INJECTION].into_iter().filter(is_missing);
        let wanted: Vec<_> = missing.map(|name| (name, path.to_bytes().to_vec())).collect();
        if !wanted.is_empty() {
            // SAFETY: preloaded libraries are constructed one after the other before `main`.
            unsafe { set_variables(&wanted) };
        }
        return;
    }
    crate::quiet_panics();
    let loaded = loaded();
    if loaded.settings.disable {
        return;
    }
    note_seen(loaded, false, None, loaded.inert(), None);
    let is_foreign = |p: &Vec<u8>| !p.is_empty() && !is_same_file(p, path.to_bytes());
    if let Some(other) = loaded.var(CUDA_INJECTION).filter(is_foreign) {
        if loaded.var(SAID).is_none() {
            log::line(
                1,
                format_args!(
                    "CUDA_INJECTION64_PATH names another tool ({}); it is left in place and nothing is recorded; \
                     unset it to record with gpuprof",
                    String::from_utf8_lossy(&other)
                ),
            );
            // SAFETY: before `main`.
            unsafe { set_variables(&[(SAID, b"1".to_vec())]) };
        }
        note_seen(loaded, false, None, Some(Cause::ForeignInjection), Some(other));
        return;
    }
    let mut wanted = vec![(CUDA_INJECTION, path.to_bytes().to_vec())];
    let other = loaded.var(NVTX_INJECTION).filter(is_foreign);
    // "./." is how NVTX is told that nobody listens. A process that is left out must not cost the other tool its NVTX.
    let keeps = other.as_deref() == Some(b"./.") || (loaded.inert().is_some() && other.is_some());
    if loaded.settings.nvtx && !keeps {
        wanted.push((NVTX_INJECTION, path.to_bytes().to_vec()));
        if let (Some(other), None) = (other, &loaded.settings.nvtx_chain) {
            if loaded.var(SAID).is_none() {
                log::line(
                    1,
                    format_args!(
                        "NVTX_INJECTION64_PATH named another tool, which is left out; GPUPROF_NVTX_CHAIN={} serves \
                         both",
                        String::from_utf8_lossy(&other)
                    ),
                );
            }
            wanted.push((SAID, b"1".to_vec()));
        }
    }
    wanted.retain(|(name, value)| loaded.var(name).as_ref() != Some(value));
    if !wanted.is_empty() {
        // SAFETY: preloaded libraries are constructed one after the other before `main`.
        unsafe { set_variables(&wanted) };
    }
}

/// Gives the process a new environment list with these variables.
///
/// # Safety
/// No other thread may read or change the environment.
unsafe fn set_variables(wanted: &[(&[u8], Vec<u8>)]) {
    let is_replaced = |entry: &[u8]| {
        wanted.iter().any(|(name, _)| entry.strip_prefix(*name).is_some_and(|rest| rest.first() == Some(&b'=')))
    };
    let mut list: Vec<*mut c_char> = Vec::new();
    // SAFETY: a null-terminated array of C strings; ours are leaked, as `putenv` would need them too.
    unsafe {
        let mut at = environ.cast_const();
        while !at.is_null() && !(*at).is_null() {
            if !is_replaced(CStr::from_ptr(*at).to_bytes()) {
                list.push(*at);
            }
            at = at.add(1);
        }
        for (name, value) in wanted {
            let entry = [name, &b"="[..], value].concat();
            if let Ok(entry) = CString::new(entry) {
                list.push(entry.into_raw());
            }
        }
        list.push(std::ptr::null_mut());
        // Not `setenv`: programs bring their own. The C library copies a list that it does not know when it must grow.
        environ = Box::leak(list.into_boxed_slice()).as_mut_ptr();
    }
}

/// Appends this process's line to the run's list of processes, if there is one.
pub fn note_seen(
    loaded: &Loaded,
    cuda: bool,
    trace: Option<Vec<u8>>,
    cause: Option<Cause>,
    detail: Option<Vec<u8>>,
) {
    let Some(list) = &loaded.settings.seen else { return };
    let line = SeenLine {
        pid: sys::getpid(),
        // SAFETY: cannot fail.
        ppid: unsafe { libc::getppid() as u32 },
        start_unix_ns: loaded.start_unix_ns,
        exe: loaded.exe.clone(),
        argv: loaded.cmdline.split(|b| *b == 0).filter(|a| !a.is_empty()).map(<[u8]>::to_vec).collect(),
        cuda,
        trace,
        cause,
        detail,
    }
    .to_json_line();
    let Ok(path) = CString::new(list.as_slice()) else { return };
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: a terminated path; the descriptor is closed again.
    unsafe {
        let fd = libc::open(path.as_ptr(), flags, 0o644);
        if fd >= 0 {
            // One write on an O_APPEND descriptor: lines of several processes do not mix.
            sys::write_quietly(fd, &line);
            libc::close(fd);
        }
    }
}

/// The library's constructor, called by the loader with the program's arguments and environment.
///
/// # Safety
/// Only for the loader.
pub unsafe extern "C" fn constructor(_argc: c_int, argv: *const *mut c_char, envp: *const *mut c_char) {
    // SAFETY: errno is the thread's own. Programs may rely on it being zero when `main` begins.
    let saved = unsafe { *libc::__errno_location() };
    // SAFETY: passed on.
    crate::guard("the constructor", || unsafe { on_load(argv, envp) });
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = saved };
}

/// Where the loader looks for it.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: unsafe extern "C" fn(c_int, *const *mut c_char, *const *mut c_char) = constructor;
