//! One recording of one process: from the driver's call in `cuInit` to the end of the program.
//!
//! [`attach`] runs on the thread that initialises CUDA: it finds a libcupti that this process can bear, takes the
//! subscriber slot, and switches on what the capture mode asks for. Threads and the file come with the first context,
//! in [`Session::start`], so that launchers which only ask whether there is a GPU leave nothing behind.

mod attach;
mod callbacks;

use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cupti_sys::{
    CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE,
    CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
    CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_DRIVER,
    CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_NAME, CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER, CUPTI_CB_DOMAIN_DRIVER_API,
    CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
    CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, cbid,
};
use shim_config::kinds::LATENCY;
use shim_config::{ApiCalls, Cause, DumpRule, Graph, Prepare, Settings};

use crate::cupti::{Cupti, CuptiError, Subscriber};
use crate::decode::CALL_BYTES;
use crate::driver::Driver;
use crate::gate::{Account, GATE};
use crate::load::{self, Loaded};
use crate::strides::Strides;
use crate::writer::{self, Shared};
use crate::{calls, chatter, control, cupti, directives, exit, flight, flush, log, process, python, sys};
use attach::measure;
use callbacks::Blocks;

pub use attach::{arm, attach, fail, holder};

/// Kinds that are on from the start whatever the gate does: they are few, and never come when switched on later.
const DEFINING_KINDS: [u32; 4] =
    [CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_NAME];

/// Kinds whose records come when the GPU is done, so that they stay on while a window drains.
pub(crate) const GPU_KINDS: [u32; 5] = [
    cupti_sys::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    cupti_sys::CUPTI_ACTIVITY_KIND_MEMCPY,
    cupti_sys::CUPTI_ACTIVITY_KIND_MEMCPY2,
    cupti_sys::CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
];

/// `cuDeviceGetCount`: a cheap call that needs no context, changes nothing and is never muted. (CUPTI shows no
/// `cuDriverGetVersion`: docs/hardware.)
pub(crate) const CBID_DEVICE_GET_COUNT: u32 = 4;

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
    /// Kinds that a rule of the flight recorder judges: on for good, whatever the gate does.
    watched_kinds: Vec<u32>,
    /// Calls are switched one by one, and their kinds stay off: as CUPTI's records, or as callbacks ([`calls`]).
    is_by_call: AtomicBool,
    /// The first context exists: threads run, and there is a file.
    started: AtomicBool,
    /// Woken when the flush thread has something to do.
    pub flush_word: AtomicU32,
    /// The thread that makes a driver call of our own; 0: none does.
    probe_thread: AtomicU32,
    /// The correlation id that this call was given; 0: it was not seen.
    probe_id: AtomicU32,
    /// What a driver call of our own said last: devices and 1; 0: nothing.
    device_count: AtomicU32,
    /// Names of calls that CUPTI leaves out for us.
    pub muted: Mutex<Vec<&'static str>>,
    /// Contexts created so far.
    pub contexts: AtomicU64,
}

/// The domain of the calls that records of a kind tell of. None: it tells of none.
fn domain_of(kind: u32) -> Option<u32> {
    match kind {
        CUPTI_ACTIVITY_KIND_DRIVER => Some(CUPTI_CB_DOMAIN_DRIVER_API),
        CUPTI_ACTIVITY_KIND_RUNTIME => Some(CUPTI_CB_DOMAIN_RUNTIME_API),
        _ => None,
    }
}

static SESSION: AtomicPtr<Session> = AtomicPtr::new(std::ptr::null_mut());

/// See [`crate::fork`].
pub fn forget() {
    SESSION.store(std::ptr::null_mut(), Ordering::Release);
}

/// The recording of this process, if there is one. None in a forked child.
pub fn current() -> Option<&'static Session> {
    if !sys::is_ours() {
        return None;
    }
    // SAFETY: set once from a leaked box.
    unsafe { SESSION.load(Ordering::Acquire).as_ref() }
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
        // Another subscriber may have decided so before us: the nodes' own records would then be waited for in vain.
        let is_graph_level = settings.graph == Graph::Graph || cupti.is_graph_level();
        kinds.set(&[CUPTI_ACTIVITY_KIND_GRAPH_TRACE], is_graph_level);
        let gpu_kinds: Vec<u32> = GPU_KINDS.into_iter().filter(|k| kinds.contains(*k)).collect();
        // Unified memory waits for the driver, see `driver_is_ready`.
        let later = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER;
        let skip = |k: &u32| GPU_KINDS.contains(k) || DEFINING_KINDS.contains(k) || *k == later;
        let api_kinds = kinds.iter().filter(|k| !skip(k)).collect();
        let watches = settings.ring.is_some() && settings.dump_on.contains(&DumpRule::Error);
        let watched_kinds: &[u32] =
            if watches { &[CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER] } else { &[] };
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
            watched_kinds: watched_kinds.to_vec(),
            is_by_call: AtomicBool::new(settings.mute && settings.api_calls == ApiCalls::ByCall),
            started: AtomicBool::new(false),
            flush_word: AtomicU32::new(0),
            probe_thread: AtomicU32::new(0),
            probe_id: AtomicU32::new(0),
            device_count: AtomicU32::new(0),
            muted: Mutex::new(Vec::new()),
            contexts: AtomicU64::new(0),
        })
    }

    /// Switches on what belongs to the capture mode.
    fn begin(&'static self) -> Result<(), Cause> {
        if !self.shared.prepare(self.settings, self.cupti_version) {
            return Err(CuptiError { function: "aligned_alloc", code: cupti_sys::CUPTI_ERROR_OUT_OF_MEMORY }.into());
        }
        self.cupti.register::<Blocks>()?;
        let subscriber = self.subscriber.load(Ordering::Relaxed);
        let (resource, driver) = (CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_DRIVER_API);
        self.cupti.enable_callback(subscriber, resource, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, true)?;
        // Without it unified memory is not recorded, and one exit handler is registered early; all else works.
        let _ = self.cupti.enable_callback(subscriber, resource, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, true);
        for id in [cbid::driver::PROFILER_START, cbid::driver::PROFILER_STOP] {
            self.cupti.enable_callback(subscriber, driver, id, true)?;
        }
        if self.settings.kinds.contains(LATENCY)
            && let Err(error) = self.cupti.use_latency_timestamps()
        {
            log::line(1, format_args!("when kernels were queued and submitted is not available: {error}"));
        }
        let wanted = DEFINING_KINDS.into_iter().filter(|k| self.settings.kinds.contains(*k));
        wanted.for_each(|kind| self.enable_kind(kind));
        self.choose_how();
        self.watched_kinds.iter().for_each(|kind| self.switch_api_kind(*kind, true));
        if !self.watched_kinds.is_empty() {
            self.mute_questions();
        }
        if self.settings.prepare == Prepare::On {
            self.gpu_kinds.iter().for_each(|kind| self.enable_kind(*kind));
        }
        GATE.arm(self);
        python::listen(self, |domain, id| {
            // One that this CUPTI does not know cannot be called either.
            let _ = self.cupti.enable_callback(subscriber, domain, id, true);
        });
        directives::hand_over(self);
        self.tell_denied();
        if let (Some(number), true) = (self.settings.dump_signal, self.settings.ring.is_some()) {
            flight::signal::install(number);
        }
        Ok(())
    }

    fn enable_kind(&self, kind: u32) {
        if !cupti::may_call() {
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
        // The end of the program asks for the list too, and whoever reads standard error may not be reading.
        drop(denied);
        log::line(1, format_args!("records of {names} are not available: {error}; all others are kept"));
    }

    fn disable_kind(&self, kind: u32) {
        // After another tool took CUPTI over, its kinds are not ours to switch off.
        if cupti::may_call() {
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
        for &kind in self.api_kinds.iter().filter(|kind| !self.watched_kinds.contains(kind)) {
            self.switch_api_kind(kind, on);
        }
        if on {
            self.mute_questions();
        }
        self.tell_denied();
    }

    fn switch_api_kind(&self, kind: u32, on: bool) {
        match domain_of(kind).filter(|_| self.is_by_call.load(Ordering::Relaxed)) {
            Some(domain) if calls::are_heard() => self.switch_callbacks(domain, on),
            Some(domain) => self.switch_calls(domain, on),
            None if on => self.enable_kind(kind),
            None => self.disable_kind(kind),
        }
    }

    /// Finds out how this CUPTI switches calls one by one, where that is asked for, before there is a context.
    fn choose_how(&self) {
        if !self.is_by_call.load(Ordering::Relaxed) {
            return;
        }
        let is_on = |domain: u32| {
            let mut kinds = self.api_kinds.iter().chain(&self.watched_kinds);
            kinds.any(|kind| domain_of(*kind) == Some(domain))
        };
        let rare = || chatter::RARE.iter().filter(|(domain, ..)| is_on(*domain));
        if self.cupti.can_mute() && rare().all(|(domain, id, _)| self.cupti.switch_call(*domain, *id, true)) {
            return;
        }
        // Where it refused the second of them, the first would go on to have records of CUPTI's.
        rare().for_each(|(domain, id, _)| _ = self.cupti.switch_call(*domain, *id, false));
        let domains = [CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_CB_DOMAIN_RUNTIME_API].into_iter();
        let domains: Vec<u32> = domains.filter(|domain| is_on(*domain)).collect();
        if !domains.is_empty()
            && let Err(error) = self.hear_calls(&domains)
        {
            self.is_by_call.store(false, Ordering::Relaxed);
            log::line(
                1,
                format_args!("GPUPROF_API_CALLS=by-call cannot be had: {error}; calls are switched by kind"),
            );
        }
    }

    /// Has CUPTI call us back for single calls, which it cannot record by itself. Errors: it does not do that either.
    fn hear_calls(&self, domains: &[u32]) -> Result<(), CuptiError> {
        let name_of = |domain, id| self.cupti.callback_name(domain, id);
        let (wanted, others) = calls::choose(domains, !self.watched_kinds.is_empty(), name_of);
        let subscriber = self.subscriber.load(Ordering::Relaxed);
        let not_supported = |function| CuptiError { function, code: cupti_sys::CUPTI_ERROR_NOT_SUPPORTED };
        // The records are laid out as those of all releases so far.
        let kinds = [CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME];
        if kinds.iter().any(|kind| self.strides.of(*kind) != CALL_BYTES) {
            return Err(not_supported("cuptiActivityGetNextRecord"));
        }
        for domain in domains {
            // One tells of all: they are bits of one table.
            let Some(id) = wanted.ids(*domain).first() else { return Err(not_supported("cuptiGetCallbackName")) };
            self.cupti.enable_callback(subscriber, *domain, *id, true)?;
            self.cupti.enable_callback(subscriber, *domain, *id, false)?;
        }
        *self.muted.lock().unwrap_or_else(PoisonError::into_inner) = others;
        calls::listen(wanted);
        Ok(())
    }

    /// Switches the callbacks of the calls of a domain that are heard.
    fn switch_callbacks(&self, domain: u32, on: bool) {
        let subscriber = self.subscriber.load(Ordering::Relaxed);
        calls::switch(domain, on, |id| {
            // Stacks of launches stay listened to, and look at the gate themselves.
            let is_kept = !on && domain == CUPTI_CB_DOMAIN_DRIVER_API && python::is_launch(id);
            if !is_kept && cupti::may_call() {
                let _ = self.cupti.enable_callback(subscriber, domain, id, on);
            }
        });
    }

    /// Whether records of API calls are made here, at once, and not by CUPTI.
    pub fn hears_calls(&self) -> bool {
        calls::are_heard()
    }

    /// How API calls come to be recorded.
    pub fn api_calls(&self) -> &'static str {
        match self.is_by_call.load(Ordering::Relaxed) {
            true if calls::are_heard() => "callbacks",
            true => "by-call",
            false => "by-kind",
        }
    }

    /// Switches each call of a domain that is no question. One stays on: see [`chatter::RARE`].
    fn switch_calls(&self, domain: u32, on: bool) {
        /// No API has more.
        const MOST: u32 = 4096;
        let is_among = |calls: &[(u32, u32, &str)], id| calls.iter().any(|call| (call.0, call.1) == (domain, id));
        let ids = (1..MOST).take_while(|id| self.cupti.callback_name(domain, *id).is_some());
        for id in ids.filter(|id| !is_among(chatter::CALLS, *id) && !is_among(&chatter::RARE, *id)) {
            if !cupti::may_call() {
                return;
            }
            self.cupti.switch_call(domain, id, on);
        }
    }

    /// Switches off records of calls that only ask a question, where that is wanted and can be done; must follow the
    /// switching on of their kind.
    fn mute_questions(&self) {
        // Where calls are heard, who is left out was settled with the choice.
        if !self.settings.mute || !self.cupti.can_mute() || calls::are_heard() || !cupti::may_call() {
            return;
        }
        // The lock is not held while CUPTI is called, which may hang: the end of the program asks for the list.
        let mut muted = Vec::new();
        for &(domain, id, name) in chatter::CALLS {
            let is_here = |kinds: &[u32]| kinds.iter().any(|kind| domain_of(*kind) == Some(domain));
            let is_on = is_here(&self.api_kinds) || is_here(&self.watched_kinds);
            // Called one by one, it was never switched on.
            let is_out = || match self.is_by_call.load(Ordering::Relaxed) {
                true => self.cupti.callback_name(domain, id).is_some(),
                false => self.cupti.switch_call(domain, id, false),
            };
            if is_on && is_out() {
                muted.push(name);
            }
        }
        *self.muted.lock().unwrap_or_else(PoisonError::into_inner) = muted;
    }

    /// `cuInit` is over: what needs an initialised driver can be switched on.
    fn driver_is_ready(&self) {
        // Exit handlers run last-registered-first, and the driver has registered its own by now.
        exit::register();
        if !self.settings.kinds.contains(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER) {
            return;
        }
        for device in 0..self.devices() {
            if let Err(error) = self.cupti.configure_unified_memory(device) {
                log::line(1, format_args!("unified memory of device {device} cannot be recorded: {error}"));
            }
        }
        // Its records carry times alone, so the windows sort them out; on for good, as migrations are few.
        self.enable_kind(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
        self.tell_denied();
    }

    /// How many devices there are. The question is a driver call of our own, among the program's on its thread, so it is
    /// made as one that leaves no row.
    fn devices(&self) -> u32 {
        let asked =
            GATE.call(self, 1, || true).and_then(|()| self.device_count.load(Ordering::Relaxed).checked_sub(1));
        asked.or_else(|| u32::try_from(self.driver.device_count()?).ok()).unwrap_or(0)
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
        if !cupti::may_call() {
            return None;
        }
        let (subscriber, driver) = (self.subscriber.load(Ordering::Relaxed), CUPTI_CB_DOMAIN_DRIVER_API);
        self.probe_thread.store(sys::gettid(), Ordering::Release);
        self.cupti.enable_callback(subscriber, driver, CBID_DEVICE_GET_COUNT, true).ok()?;
        let (mut made, mut id) = (0, 1);
        while made < most && id != 0 {
            self.probe_id.store(0, Ordering::Release);
            let devices = self.driver.device_count().and_then(|n| u32::try_from(n).ok());
            self.device_count.store(devices.map_or(0, |n| n.saturating_add(1)), Ordering::Relaxed);
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
            Ok(()) => {
                flush::start(self);
                control::start(self);
            }
            Err(error) => {
                // No thread, no file: nothing that CUPTI delivers would be kept.
                exit::flush_thread_is_gone();
                self.switch_api_kinds(false);
                self.switch_gpu_kinds(false);
                cupti::mute();
                fail(self.loaded, Cause::Disk, error.to_string());
            }
        }
    }

    /// Whether a driver call made now leaves a record of CUPTI's.
    pub fn records_driver_calls(&self) -> bool {
        let denied = || self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        self.api_kinds.contains(&CUPTI_ACTIVITY_KIND_DRIVER)
            && !calls::are_heard()
            && GATE.is_open()
            && !denied().iter().any(|denied| denied.kind == CUPTI_ACTIVITY_KIND_DRIVER)
    }

    /// Wakes the flush thread before its time.
    pub fn wake_flush_thread(&self) {
        sys::signal(&self.flush_word);
    }

    /// What the process table says, see [`process::describe`].
    pub fn describe(
        &self,
        cause: Option<(&Cause, &str)>,
        steps: Option<u64>,
        account: Option<&Account>,
    ) -> serde_json::Value {
        process::describe(self.loaded, Some(self), cause, steps, account)
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
