//! What happens when the library is mapped into a program: settings are read, and the driver is told where to find us.
//!
//! Runs before `main`, in programs that may have nothing to do with CUDA, beside other preloaded libraries: nothing
//! here starts a thread, opens a file (one line of `seen.jsonl` apart), or calls a function that a program may have
//! replaced (bash has a `setenv` of its own, which crashes before its `main`).

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::OnceLock;

use shim_config::find::own_proc;
use shim_config::seen::SeenLine;
use shim_config::{Cause, Problem, Settings};

use crate::{log, sys};

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
    /// This library's file, if it could be resolved.
    pub path: Option<CString>,
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
            false => is_chosen(&self.settings, &self.exe),
        };
        (!is_chosen).then_some(Cause::NotChosen)
    }
}

fn is_chosen(settings: &Settings, exe: &[u8]) -> bool {
    // SAFETY: cannot fail.
    let parent = unsafe { libc::getppid() }.cast_unsigned();
    settings.processes.wants(file_name(exe), parent)
}

static LOADED: OnceLock<Loaded> = OnceLock::new();

/// The state at load; read now if the library's constructor has not run or was not allowed to.
pub fn loaded() -> &'static Loaded {
    // SAFETY: `environ` is the C library's, valid once the process runs.
    LOADED.get_or_init(|| unsafe { read(libc_environ()) })
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

/// Reads everything from a null-terminated list of `NAME=value` strings.
unsafe fn read(list: *const *mut c_char) -> Loaded {
    log::remember_stderr();
    // SAFETY: passed on from the caller.
    let environment = unsafe { variables(list) };
    let pairs = environment.iter().map(|(n, v)| (n.as_slice(), v.as_slice()));
    let (settings, problems) = shim_config::from_env(pairs);
    log::set_verbosity(settings.verbose);
    let exe = std::fs::read_link(own_proc("exe")).unwrap_or_default().into_os_string().into_vec();
    let (pid, is_chosen) = (sys::getpid(), is_chosen(&settings, &exe));
    // Read now: a program may give up the right to open files before it calls CUDA.
    let cmdline = std::ffi::CString::new(own_proc("cmdline").into_os_string().into_vec())
        .ok()
        .and_then(|path| sys::read_file(&path))
        .unwrap_or_default();
    let (path, start_unix_ns) = (own_path(), sys::realtime_ns());
    Loaded { settings, problems, environment, path, exe, cmdline, start_unix_ns, pid, is_chosen }
}

unsafe fn variables(list: *const *mut c_char) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut found = Vec::new();
    let mut at = list;
    // SAFETY: a null-terminated array of C strings, as the kernel and the C library keep it.
    unsafe {
        while !at.is_null() && !(*at).is_null() {
            let entry = CStr::from_ptr(*at).to_bytes();
            if let Some(equals) = entry.iter().position(|b| *b == b'=') {
                found.push((entry[..equals].to_vec(), entry[equals + 1..].to_vec()));
            }
            at = at.add(1);
        }
    }
    found
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
/// `envp` must be the environment that the loader passes to constructors.
unsafe fn on_load(envp: *const *mut c_char) {
    if is_privileged() {
        return;
    }
    sys::remember_affinity();
    let list = if envp.is_null() { libc_environ() } else { envp };
    // SAFETY: as promised by the caller.
    let loaded = LOADED.get_or_init(|| unsafe { read(list) });
    let Some(path) = &loaded.path else { return };
    if loaded.settings.disable || !is_preloaded(loaded) {
        // Mapped by the driver or by NVTX: whoever set the variables has set them, and other threads run by now.
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

/// Whether LD_PRELOAD names this library, so that this is the time before `main`.
fn is_preloaded(loaded: &Loaded) -> bool {
    let own = loaded.path.as_ref().map(|p| file_name(p.to_bytes()).to_vec()).unwrap_or_default();
    loaded
        .var(b"LD_PRELOAD")
        .is_some_and(|list| list.split(|b| matches!(b, b':' | b' ')).any(|entry| file_name(entry) == own))
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
pub unsafe extern "C" fn constructor(_argc: c_int, _argv: *const *mut c_char, envp: *const *mut c_char) {
    crate::quiet_panics();
    // SAFETY: errno is the thread's own. Programs may rely on it being zero when `main` begins.
    let saved = unsafe { *libc::__errno_location() };
    // SAFETY: passed on.
    crate::guard("the constructor", || unsafe { on_load(envp) });
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = saved };
}

/// Where the loader looks for it.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: unsafe extern "C" fn(c_int, *const *mut c_char, *const *mut c_char) = constructor;
