//! What happens when the library is mapped into a program: settings are read, and the driver is told where to find us.
//!
//! Before `main`, if it is preloaded itself or if the door in front of it asks (`libgpuprof_preload.so`, decision 025): in
//! programs that may have nothing to do with CUDA, beside other preloaded libraries. Nothing here then starts a thread,
//! opens a file (one line of `seen.jsonl` apart), or calls a function that a program may have replaced. What lies far
//! apart in this library is not touched unless a setting asks for it: each part of 64 KiB that is used first costs more
//! than the work itself.
//!
//! Otherwise when CUDA, NVTX or the runtime of a compiler asks. What the process was at its load has then been taken down
//! by the door, if it came through one.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use at_load::{AtLoad, Door, Variables};
use shim_config::find::own_proc;
use shim_config::seen::SeenLine;
use shim_config::{Cause, Problem, Settings};

use crate::{log, sys};

pub use at_load::{file_name, is_privileged};

/// How the driver finds an injection library.
const CUDA_INJECTION: &[u8] = b"CUDA_INJECTION64_PATH";
/// How NVTX finds one.
const NVTX_INJECTION: &[u8] = b"NVTX_INJECTION64_PATH";
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
    taken: &'static AtLoad,
    /// The door that the process came through, if it did.
    door: Option<&'static Door>,
    /// This library's file, if it could be resolved.
    path: Option<CString>,
    /// This is the time before `main`, and what the settings want done by then is ours to do.
    is_before_main: bool,
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
    // SAFETY: the C library's list, and no arguments.
    once(&LOADED, || read(once(&SNAPSHOT, || unsafe { find(at_load::list(), std::ptr::null()) })))
}

/// The door that this process came through, if it did.
pub fn door() -> Option<&'static Door> {
    // SAFETY: as above.
    once(&SNAPSHOT, || unsafe { find(at_load::list(), std::ptr::null()) }).door
}

/// Takes down what a program may change before it calls CUDA, unless the door has it already.
///
/// # Safety
/// Both lists are null or end with a null pointer. `list`: the environment. `argv`: the command line, if it is known.
unsafe fn find(list: *const *mut c_char, argv: *const *mut c_char) -> Snapshot {
    let path = own_path();
    // SAFETY: passed on from the caller.
    let is_preloaded = unsafe { path.as_ref().is_some_and(|path| at_load::is_preloaded(list, path.to_bytes())) };
    let door = at_load::door();
    let taken = door.and_then(Door::taken).unwrap_or_else(|| {
        // Later a program may have changed the list.
        let argv = if is_preloaded { argv } else { std::ptr::null() };
        // SAFETY: passed on from the caller.
        unsafe { AtLoad::take(list, argv) }.0
    });
    log::remember_stderr(taken.has_stderr.then_some((taken.stderr_device, taken.stderr_inode)));
    sys::remember_affinity(taken.has_processors.then_some(taken.processors));
    let is_asked = door.is_some_and(|door| door.asks.load(Ordering::Acquire));
    Snapshot { taken, door, path, is_before_main: is_preloaded || is_asked }
}

impl Snapshot {
    /// The variables, in their order.
    fn variables(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.taken.environment.get().split(|byte| *byte == 0).filter_map(|entry| {
            let equals = entry.iter().position(|byte| *byte == b'=')?;
            Some((entry.get(..equals)?, entry.get(equals + 1..)?))
        })
    }
}

/// Works out what was found.
fn read(found: &Snapshot) -> Loaded {
    let environment: Vec<_> = found.variables().map(|(n, v)| (n.to_vec(), v.to_vec())).collect();
    let (settings, problems) = shim_config::from_env(found.variables());
    log::set_verbosity(settings.verbose);
    let taken = found.taken;
    let cmdline = Some(taken.cmdline.get().to_vec()).filter(|line| !line.is_empty()).or_else(|| {
        let path = CString::new(own_proc("cmdline").into_os_string().into_vec()).ok()?;
        sys::read_file(&path)
    });
    let is_chosen = settings.processes.wants(file_name(taken.exe.get()), taken.parent);
    Loaded {
        settings,
        problems,
        environment,
        exe: taken.exe.get().to_vec(),
        cmdline: cmdline.unwrap_or_default(),
        start_unix_ns: taken.start_unix_ns,
        pid: taken.pid,
        is_chosen,
    }
}

/// The file name of the running program.
pub fn program_name() -> Vec<u8> {
    file_name(&loaded().exe).to_vec()
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

/// The body of the constructor.
///
/// # Safety
/// The arguments must be those that the loader passes to constructors.
unsafe fn on_load(argv: *const *mut c_char, envp: *const *mut c_char) {
    if is_privileged() {
        return;
    }
    let list = if envp.is_null() { at_load::list() } else { envp };
    // SAFETY: as promised by the caller.
    let found = once(&SNAPSHOT, || unsafe { find(list, argv) });
    let Some(path) = &found.path else { return };
    if !found.is_before_main {
        // Mapped by the driver or by NVTX: whoever set the variables has set them, and other threads run by now.
        return;
    }
    let door = found.door.map_or(&b""[..], Door::path);
    // SAFETY: as promised.
    let variables = unsafe { Variables::read(list, path.to_bytes(), door) };
    if variables.is_plain {
        if !variables.are_set {
            // SAFETY: preloaded libraries are constructed one after the other before `main`.
            unsafe { Variables::name_collector(path.to_bytes(), None) };
        }
        return;
    }
    crate::quiet_panics();
    let loaded = loaded();
    if loaded.settings.disable {
        return;
    }
    note_seen(loaded, false, None, loaded.inert(), None);
    let is_foreign = |p: &Vec<u8>| {
        let is_ours = is_same_file(p, path.to_bytes()) || !door.is_empty() && is_same_file(p, door);
        !p.is_empty() && !is_ours
    };
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
            unsafe { at_load::set(&[(SAID, b"1")], None) };
        }
        note_seen(loaded, false, None, Some(Cause::ForeignInjection), Some(other));
        return;
    }
    let mut wanted = vec![(CUDA_INJECTION, path.to_bytes())];
    let other = loaded.var(NVTX_INJECTION).filter(is_foreign);
    // "./." is how NVTX is told that nobody listens. A process that is left out must not cost the other tool its NVTX.
    let keeps = other.as_deref() == Some(b"./.") || (loaded.inert().is_some() && other.is_some());
    if loaded.settings.nvtx && !keeps {
        wanted.push((NVTX_INJECTION, path.to_bytes()));
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
            wanted.push((SAID, b"1"));
        }
    }
    wanted.retain(|(name, value)| loaded.var(name).as_deref() != Some(*value));
    if !wanted.is_empty() {
        // SAFETY: preloaded libraries are constructed one after the other before `main`.
        unsafe { at_load::set(&wanted, None) };
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
