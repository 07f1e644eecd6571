//! One recording of one process: from the driver's call in `cuInit` to the end of the program.
//!
//! [`attach`] runs on the thread that initialises CUDA: it finds a libcupti that this process can bear, takes the
//! subscriber slot, and switches on what the capture mode asks for. Threads and the file come with the first context,
//! in [`Session::start`], so that launchers which only ask whether there is a GPU leave nothing behind.

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cupti_sys::{
    CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE,
    CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
    CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_NAME, CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, CUPTI_API_ENTER, CUPTI_API_EXIT,
    CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
    CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, CUpti_CallbackData, cbid,
};
use shim_config::find::{self, Facts};
use shim_config::{Cause, Graph, Prepare, Settings};

use crate::cupti::{Cupti, CuptiError, Subscriber};
use crate::driver::Driver;
use crate::gate::GATE;
use crate::load::{self, Loaded};
use crate::strides::Strides;
use crate::writer::{self, Shared};
use crate::{chatter, exit, flush, guard, log, nvtx, process, sys};

/// Kinds that are on from the start whatever the gate does: they are few, and never come when switched on later.
const DEFINING_KINDS: [u32; 4] =
    [CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_NAME];

/// Kinds whose records come when the GPU is done, so that they stay on while a window drains.
const GPU_KINDS: [u32; 5] = [
    cupti_sys::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    cupti_sys::CUPTI_ACTIVITY_KIND_MEMCPY,
    cupti_sys::CUPTI_ACTIVITY_KIND_MEMCPY2,
    cupti_sys::CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
];

/// `cuDeviceGetCount`: a cheap call that needs no context, changes nothing and is never muted. (CUPTI shows no
/// `cuDriverGetVersion`: docs/hardware.)
const CBID_DEVICE_GET_COUNT: u32 = 4;

/// A kind that could not be switched on.
#[derive(Clone, Copy, Debug)]
pub struct Denied {
    /// The kind.
    pub kind: u32,
    /// What CUPTI said.
    pub code: u32,
}

/// One recording.
pub struct Session {
    /// The settings.
    pub settings: &'static Settings,
    /// What was known at load.
    pub loaded: &'static Loaded,
    /// The library that records.
    pub cupti: Cupti,
    /// Its version, as `cuptiGetVersion` says.
    pub cupti_version: u32,
    /// The driver that called us.
    pub driver: Driver,
    /// Sizes of this library's records.
    pub strides: Strides,
    /// What the buffer callbacks, the gate and the writer share.
    pub shared: &'static Shared,
    /// When the process made its first CUDA call, monotonic.
    pub attached_ns: i64,
    /// Whether buffers belong to threads (attribute 9), as far as is known.
    pub per_thread_buffers: bool,
    /// Kinds that could not be switched on.
    pub denied: Mutex<Vec<Denied>>,
    /// They were named on standard error.
    told_denied: AtomicBool,
    /// Where the trace is, once it was begun.
    pub trace: Mutex<Option<PathBuf>>,
    subscriber: AtomicPtr<c_void>,
    gpu_kinds: Vec<u32>,
    api_kinds: Vec<u32>,
    /// The first context exists: threads run, and there is a file.
    started: AtomicBool,
    /// Woken when the flush thread has something to do.
    pub flush_word: AtomicU32,
    /// The thread that makes a driver call of our own; 0: none does.
    probe_thread: AtomicU32,
    /// The correlation id that this call was given; 0: it was not seen.
    probe_id: AtomicU32,
    /// Names of calls that CUPTI leaves out for us.
    pub muted: Mutex<Vec<&'static str>>,
    /// Contexts created so far.
    pub contexts: AtomicU64,
}

static SESSION: AtomicPtr<Session> = AtomicPtr::new(std::ptr::null_mut());

/// Why nothing is recorded in this process, with what can be said about it.
pub static FAILURE: Mutex<Option<(Cause, String)>> = Mutex::new(None);

/// The recording of this process, if there is one. None in a forked child.
pub fn current() -> Option<&'static Session> {
    if !sys::is_ours() {
        return None;
    }
    // SAFETY: set once from a leaked box.
    unsafe { SESSION.load(Ordering::Acquire).as_ref() }
}

/// Says once why nothing will be recorded, and keeps it for the file and the list of processes.
pub fn fail(loaded: &Loaded, cause: Cause, detail: String) {
    let remedy = cause.remedy();
    let (colon, semicolon) = (if detail.is_empty() { "" } else { ": " }, if remedy.is_empty() { "" } else { "; " });
    log::line(1, format_args!("nothing is recorded: {cause}{colon}{detail}{semicolon}{remedy}"));
    load::note_seen(loaded, true, None, Some(cause.clone()), Some(detail.clone().into_bytes()));
    *FAILURE.lock().unwrap_or_else(PoisonError::into_inner) = Some((cause, detail));
}

/// Begins the recording of this process. Called by the driver inside the first `cuInit`.
pub fn attach() {
    if load::is_privileged() || sys::is_owner() && !SESSION.load(Ordering::Acquire).is_null() {
        return;
    }
    let loaded = load::loaded();
    if loaded.settings.disable {
        return;
    }
    if loaded.inert.is_some() {
        load::note_seen(loaded, true, None, loaded.inert.clone(), None);
        return;
    }
    sys::remember_affinity();
    if !arm() {
        return;
    }
    for problem in &loaded.problems {
        log::line(1, format_args!("{problem}"));
    }
    exit::register();
    let settings = &loaded.settings;
    let (cupti, subscriber) = match choose(loaded) {
        Ok(chosen) => chosen,
        Err((cause, detail)) => return fail(loaded, cause, detail),
    };
    let session = match Session::new(loaded, cupti, subscriber) {
        Ok(session) => session,
        Err(cause) => return fail(loaded, cause, String::new()),
    };
    let session: &'static Session = Box::leak(Box::new(session));
    SESSION.store(std::ptr::from_ref(session).cast_mut(), Ordering::Release);
    if let Err(cause) = session.begin() {
        // Without a session every entry does nothing from here on; the slot is free for the program's own tools.
        SESSION.store(std::ptr::null_mut(), Ordering::Release);
        session.cupti.unsubscribe(session.subscriber.load(Ordering::Relaxed));
        return fail(loaded, cause, session.cupti.path.display().to_string());
    }
    load::note_seen(loaded, true, None, None, None);
    log::line(
        2,
        format_args!(
            "recording with {} (version {}), capture {}",
            session.cupti.path.display(),
            session.cupti_version,
            settings.capture
        ),
    );
}

/// Makes this process the recorded one; a child of a recorded process begins anew. False: it cannot be done.
pub fn arm() -> bool {
    /// Whether this memory has belonged to a recorded process: then what it holds is a parent's.
    static USED: AtomicBool = AtomicBool::new(false);
    sys::claim(|| {
        if !USED.swap(true, Ordering::AcqRel) {
            // SAFETY: the handler only stores a number.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            return true;
        }
        SESSION.store(std::ptr::null_mut(), Ordering::Release);
        exit::reset();
        nvtx::start_over();
        writer::renew();
        GATE.reset()
    })
}

extern "C" fn in_child() {
    // Kernels before 4.14 do not empty the page for us.
    sys::disown();
}

impl From<CuptiError> for Cause {
    fn from(error: CuptiError) -> Cause {
        Cause::CuptiError { code: error.code, function: error.function.into() }
    }
}

/// Loads the first libcupti that this driver accepts.
fn choose(loaded: &Loaded) -> Result<(Cupti, Subscriber), (Cause, String)> {
    let environment = loaded.environment.iter().map(|(n, v)| (n.as_slice(), v.as_slice()));
    let found = find::search(&Facts::with_env(environment));
    let mut refused: Option<(CuptiError, PathBuf)> = None;
    let mut reasons = Vec::new();
    let mut tried: Vec<String> = Vec::new();
    for candidate in &found.candidates {
        // A second file under a name that is mapped already would be another library than the program gets.
        if candidate.soname.as_ref().is_some_and(|s| tried.contains(s)) {
            continue;
        }
        let cupti = match Cupti::load(&candidate.path) {
            Ok(cupti) => cupti,
            Err(why) => {
                reasons.push(format!("{}: {why}", candidate.path.display()));
                continue;
            }
        };
        tried.extend(candidate.soname.clone());
        // The first call of all: before it, a library that was taken by another tool must not be touched.
        match cupti.subscribe(on_callback) {
            Ok(subscriber) => return Ok((cupti, subscriber)),
            Err(error) => {
                log::line(2, format_args!("{}: {error}", cupti.path.display()));
                let taken = error.code == cupti_sys::CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
                refused = Some((error, cupti.path.clone()));
                if taken {
                    break;
                }
            }
        }
    }
    match refused {
        Some((error, path)) => {
            let mut detail = path.display().to_string();
            if let Some(holder) = holder() {
                detail.push_str(&format!(" (likely held by {holder})"));
            }
            Err((error.into(), detail))
        }
        None => Err((Cause::CuptiNotFound, reasons.join("; "))),
    }
}

/// Libraries whose purpose is CUPTI, by the beginning of their file names.
const HOLDERS: &[&str] = &[
    "libkineto",
    "libproton",
    "libToolsInjection",
    "libsanitizer-collection",
    "libcudadebugger",
    "libTreeLauncher",
    "libonnxruntime_providers_cuda",
    "libxla",
    "libtorch_cpu",
];

/// The mapped library that most likely uses CUPTI itself.
pub fn holder() -> Option<String> {
    // Without the environment: other threads may be changing it.
    let files = Facts::with_env(std::iter::empty()).mapped;
    HOLDERS.iter().find_map(|beginning| {
        let name = |p: &PathBuf| p.file_name().map(|n| n.to_string_lossy().into_owned());
        files.iter().filter_map(name).find(|n| n.starts_with(beginning))
    })
}

/// The sizes of this library's records. Errors: it does not say that of kernels, so nothing could be read.
fn measure(cupti: &Cupti, settings: &Settings) -> Result<Strides, CuptiError> {
    let mut strides = Strides::probe(cupti.walker());
    if settings.kinds.iter().any(|kind| strides.of(kind) == 0) {
        // Rather ask twice than lose what lies behind a record of unknown size.
        strides = Strides::probe(cupti.walker());
    }
    let kernel = cupti_sys::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    if strides.of(kernel) != 0 {
        return Ok(strides);
    }
    let (mut page, mut record) = ([u64::from(kernel); 512], std::ptr::null_mut());
    // SAFETY: as in the probe: the buffer is as long as is said, and the walker keeps nothing.
    let code = unsafe { (cupti.walker())(page.as_mut_ptr().cast(), size_of_val(&page), &mut record) };
    let code = if code == 0 { cupti_sys::CUPTI_ERROR_INVALID_KIND } else { code };
    Err(CuptiError { function: "cuptiActivityGetNextRecord", code })
}

impl Session {
    fn new(loaded: &'static Loaded, cupti: Cupti, subscriber: Subscriber) -> Result<Session, Cause> {
        let settings = &loaded.settings;
        let cupti_version = cupti.version().inspect_err(|_| cupti.unsubscribe(subscriber))?;
        let strides = measure(&cupti, settings).inspect_err(|_| cupti.unsubscribe(subscriber))?;
        // Without it thread ids are the lower half of `pthread_self`, which name nothing.
        cupti.use_gettid();
        // One buffer at a time for all threads: the same speed as one each, and 2 blocks instead of 66 with 64 threads
        // (docs/hardware). Unknown before 12.3.
        cupti.set_attribute_u8(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 0);
        let per_thread = cupti.attribute_u8(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER).unwrap_or(0) != 0;
        // Our blocks come cleared: else CUPTI clears them on the thread that launches.
        cupti.set_attribute_u8(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
        if let Some(buffers) = settings.device_buffers {
            let buffers = buffers as usize;
            cupti.set_attribute_usize(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE, buffers.min(3));
            cupti.set_attribute_usize(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, buffers);
        }
        let mut kinds = settings.kinds;
        kinds.set(&[CUPTI_ACTIVITY_KIND_GRAPH_TRACE], settings.graph == Graph::Graph);
        let gpu_kinds: Vec<u32> = GPU_KINDS.into_iter().filter(|k| kinds.contains(*k)).collect();
        // Unified memory waits for the driver, see `driver_is_ready`.
        let later = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
        let skip = |k: &u32| GPU_KINDS.contains(k) || DEFINING_KINDS.contains(k) || *k == later;
        let api_kinds = kinds.iter().filter(|k| !skip(k)).collect();
        Ok(Session {
            settings,
            loaded,
            cupti,
            cupti_version,
            driver: Driver::mapped(),
            strides,
            shared: writer::shared(),
            attached_ns: sys::monotonic_ns(),
            per_thread_buffers: per_thread,
            denied: Mutex::new(Vec::new()),
            told_denied: AtomicBool::new(false),
            trace: Mutex::new(None),
            subscriber: AtomicPtr::new(subscriber),
            gpu_kinds,
            api_kinds,
            started: AtomicBool::new(false),
            flush_word: AtomicU32::new(0),
            probe_thread: AtomicU32::new(0),
            probe_id: AtomicU32::new(0),
            muted: Mutex::new(Vec::new()),
            contexts: AtomicU64::new(0),
        })
    }

    /// Switches on what belongs to the capture mode.
    fn begin(&'static self) -> Result<(), Cause> {
        if !self.shared.prepare(self.settings, self.cupti_version) {
            return Err(CuptiError { function: "aligned_alloc", code: cupti_sys::CUPTI_ERROR_OUT_OF_MEMORY }.into());
        }
        self.cupti.register(buffer_requested, buffer_completed)?;
        let subscriber = self.subscriber.load(Ordering::Relaxed);
        let (resource, driver) = (CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_DRIVER_API);
        self.cupti.enable_callback(subscriber, resource, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, true)?;
        // Without it unified memory is not recorded, and one exit handler is registered early; all else works.
        let _ = self.cupti.enable_callback(subscriber, resource, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, true);
        for id in [cbid::driver::PROFILER_START, cbid::driver::PROFILER_STOP] {
            self.cupti.enable_callback(subscriber, driver, id, true)?;
        }
        let wanted = DEFINING_KINDS.into_iter().filter(|k| self.settings.kinds.contains(*k));
        wanted.for_each(|kind| self.enable_kind(kind));
        if self.settings.prepare == Prepare::On {
            self.gpu_kinds.iter().for_each(|kind| self.enable_kind(*kind));
        }
        GATE.arm(self);
        self.tell_denied();
        Ok(())
    }

    fn enable_kind(&self, kind: u32) {
        if !flush::may_call() {
            return;
        }
        if let Err(error) = self.cupti.enable(kind) {
            let mut denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
            if !denied.iter().any(|d| d.kind == kind) {
                denied.push(Denied { kind, code: error.code });
            }
        }
    }

    /// Says once which kinds cannot be had.
    fn tell_denied(&self) {
        let denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(first) = denied.first().filter(|_| !self.told_denied.load(Ordering::Relaxed)) else { return };
        self.told_denied.store(true, Ordering::Relaxed);
        let error = CuptiError { function: "cuptiActivityEnable", code: first.code };
        let names: Vec<&str> =
            denied.iter().map(|d| cupti_sys::kind_name(d.kind).unwrap_or("another kind")).collect();
        let names = names.join(", ");
        log::line(1, format_args!("records of {names} are not available: {error}; all others are kept"));
    }

    fn disable_kind(&self, kind: u32) {
        // After another tool took CUPTI over, its kinds are not ours to switch off.
        if flush::may_call() {
            let _ = self.cupti.disable(kind);
        }
    }

    /// Switches the kinds whose records the GPU completes.
    pub fn switch_gpu_kinds(&self, on: bool) {
        if self.settings.prepare == Prepare::On {
            return;
        }
        for &kind in &self.gpu_kinds {
            if on { self.enable_kind(kind) } else { self.disable_kind(kind) }
        }
    }

    /// Switches API calls and all else that is complete when it is recorded.
    pub fn switch_api_kinds(&self, on: bool) {
        for &kind in &self.api_kinds {
            if on { self.enable_kind(kind) } else { self.disable_kind(kind) }
        }
        if on && self.settings.mute && self.cupti.can_mute() && flush::may_call() {
            self.mute_questions();
        }
        self.tell_denied();
    }

    /// Switches off records of calls that only ask a question; must follow the switching on of their kind.
    fn mute_questions(&self) {
        let mut muted = self.muted.lock().unwrap_or_else(PoisonError::into_inner);
        muted.clear();
        for &(domain, id, name) in chatter::CALLS {
            let is_driver = domain == CUPTI_CB_DOMAIN_DRIVER_API;
            let kind = if is_driver { CUPTI_ACTIVITY_KIND_DRIVER } else { CUPTI_ACTIVITY_KIND_RUNTIME };
            if self.api_kinds.contains(&kind) && self.cupti.mute(domain, id) {
                muted.push(name);
            }
        }
    }

    /// `cuInit` is over: what needs an initialised driver can be switched on.
    fn driver_is_ready(&self) {
        // Exit handlers run last-registered-first, and the driver has registered its own by now.
        exit::register();
        if !self.settings.kinds.contains(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) {
            return;
        }
        for device in 0..self.driver.compute_capabilities().len() as u32 {
            if let Err(error) = self.cupti.configure_unified_memory(device) {
                log::line(1, format_args!("unified memory of device {device} cannot be recorded: {error}"));
            }
        }
        // Its records carry times alone, so the windows sort them out; on for good, as migrations are few.
        self.enable_kind(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
        self.tell_denied();
    }

    /// Waits for the GPU if the user asked for it at the edges of a window.
    pub fn synchronize_if_asked(&self) {
        if self.settings.sync_at_range {
            self.driver.synchronize();
        }
    }

    /// The correlation id that a call made now would follow: that of a cheap driver call of our own.
    ///
    /// None where the driver or CUPTI did not answer, or CUPTI did not show us the call. One at a time: under the lock
    /// of the gate.
    pub fn current_correlation(&self) -> Option<u32> {
        let mut found = None;
        self.call_numbered(1, |id| {
            found = Some(id);
            true
        })?;
        found
    }

    /// Makes cheap driver calls, `most` at most, and shows `is_enough` the correlation id of each. None, and one at a
    /// time: as above.
    pub fn call_numbered(&self, most: usize, mut is_enough: impl FnMut(u32) -> bool) -> Option<()> {
        if !flush::may_call() {
            return None;
        }
        let (subscriber, driver) = (self.subscriber.load(Ordering::Relaxed), CUPTI_CB_DOMAIN_DRIVER_API);
        self.probe_thread.store(sys::gettid(), Ordering::Release);
        self.cupti.enable_callback(subscriber, driver, CBID_DEVICE_GET_COUNT, true).ok()?;
        let (mut made, mut id) = (0, 1);
        while made < most && id != 0 {
            self.probe_id.store(0, Ordering::Release);
            self.driver.device_count();
            id = self.probe_id.load(Ordering::Acquire);
            made += 1;
            if id != 0 && is_enough(id) {
                break;
            }
        }
        let _ = self.cupti.enable_callback(subscriber, driver, CBID_DEVICE_GET_COUNT, false);
        self.probe_thread.store(0, Ordering::Release);
        (id != 0).then_some(())
    }

    /// Whether threads run and a file is being written.
    pub fn is_started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// Starts our threads, with the first context.
    fn start(&'static self) {
        if self.started.swap(true, Ordering::AcqRel) {
            return;
        }
        exit::register();
        match writer::start(self) {
            Ok(()) => flush::start(self),
            Err(error) => {
                // No thread, no file: nothing that CUPTI delivers would be kept.
                exit::flush_thread_is_gone();
                self.switch_api_kinds(false);
                self.switch_gpu_kinds(false);
                flush::mute();
                fail(self.loaded, Cause::Disk, error.to_string());
            }
        }
    }

    /// Whether a driver call made now leaves a record.
    pub fn records_driver_calls(&self) -> bool {
        self.api_kinds.contains(&CUPTI_ACTIVITY_KIND_DRIVER) && GATE.is_open()
    }

    /// Wakes the flush thread before its time.
    pub fn wake_flush_thread(&self) {
        sys::signal(&self.flush_word);
    }

    /// What the process table says, see [`process::describe`].
    pub fn describe(&self, cause: Option<(&Cause, &str)>) -> serde_json::Value {
        process::describe(self.loaded, Some(self), cause)
    }

    /// Where the trace is, once it was begun.
    pub fn trace_path(&self) -> Option<Vec<u8>> {
        use std::os::unix::ffi::OsStrExt;
        let trace = self.trace.lock().unwrap_or_else(PoisonError::into_inner);
        trace.as_ref().map(|p| p.as_os_str().as_bytes().to_vec())
    }

    /// Remembers where the trace is, and tells the run's list of processes.
    pub fn note_trace(&self, path: &Path) {
        use std::os::unix::ffi::OsStrExt;
        *self.trace.lock().unwrap_or_else(PoisonError::into_inner) = Some(path.to_path_buf());
        load::note_seen(self.loaded, true, Some(path.as_os_str().as_bytes().to_vec()), None, None);
    }
}

/// CUPTI's callback: API calls that the gate listens to, contexts.
unsafe extern "C" fn on_callback(_user: *mut c_void, domain: u32, id: u32, data: *const c_void) {
    guard("a CUPTI callback", || {
        let Some(session) = current() else { return };
        match domain {
            CUPTI_CB_DOMAIN_DRIVER_API if !data.is_null() => {
                // SAFETY: this domain's data is a CUpti_CallbackData, the same in all versions; unaligned is allowed.
                let call = unsafe { data.cast::<CUpti_CallbackData>().read_unaligned() };
                let (site, correlation) = (call.callbackSite, call.correlationId);
                match id {
                    cbid::driver::PROFILER_START if site == CUPTI_API_EXIT => {
                        GATE.profiler_start(session, correlation);
                    }
                    cbid::driver::PROFILER_STOP if site == CUPTI_API_ENTER => {
                        GATE.profiler_stop(session, correlation);
                    }
                    CBID_DEVICE_GET_COUNT
                        if site == CUPTI_API_ENTER
                            && session.probe_thread.load(Ordering::Acquire) == sys::gettid() =>
                    {
                        session.probe_id.store(correlation, Ordering::Release);
                    }
                    _ => {}
                }
            }
            CUPTI_CB_DOMAIN_RESOURCE if id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED => {
                session.contexts.fetch_add(1, Ordering::Relaxed);
                session.start();
            }
            CUPTI_CB_DOMAIN_RESOURCE if id == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED => session.driver_is_ready(),
            _ => {}
        }
    });
}

/// CUPTI wants a buffer.
unsafe extern "C" fn buffer_requested(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    // Whatever happened to us: before 12.9 CUPTI may crash on no buffer, so it gets one as long as there are any.
    // Nothing in here can panic: no index, no arithmetic that overflows, no allocation that fails loudly.
    let (ptr, bytes) = if sys::is_ours() { writer::shared().request() } else { (std::ptr::null_mut(), 0) };
    // SAFETY: CUPTI's own out pointers.
    unsafe {
        *buffer = ptr;
        *size = bytes;
        *most = 0;
    }
}

/// CUPTI gives a buffer back.
unsafe extern "C" fn buffer_completed(_ctx: *mut c_void, _stream: u32, buffer: *mut u8, size: usize, valid: usize) {
    guard("a completed buffer", || {
        if buffer.is_null() {
            return;
        }
        if let Some(session) = current() {
            // SAFETY: CUPTI hands over `buffer`, of `size` bytes, for good; its first `valid` bytes are records.
            unsafe { session.shared.complete(buffer, valid.min(size), &session.strides) };
        }
    });
}
