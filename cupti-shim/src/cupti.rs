//! The functions of libcupti, found at run time, and what they answered.
//!
//! Every symbol is optional except the ten that nothing can be recorded without. Result codes are open integers:
//! newer libraries return numbers that no header of today knows.
//!
//! There are two families of functions: for the only subscriber, and for one of several ([`multiple`]). Which of them are called is
//! decided here, when we subscribe, and nobody else knows.

mod multiple;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use cupti_sys::{CUpti_Activity, result_name};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use shim_config::{Graph, Settings, Subscribers};

use crate::{log, sys};
use multiple::{Functions, Obstacle, Shared};

/// What a CUPTI function returns; 0 is success.
pub type Code = u32;
/// `CUpti_SubscriberHandle`.
pub type Subscriber = *mut c_void;
/// `CUpti_CallbackFunc`: user data, domain, callback id, data of the domain.
pub type Callback = unsafe extern "C" fn(*mut c_void, u32, u32, *const c_void);
/// `CUpti_BuffersCallbackRequestFunc`: buffer, size, most records.
type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize);
/// `CUpti_BuffersCallbackCompleteFunc`: context, stream, buffer, size, bytes that hold records.
type Completed = unsafe extern "C" fn(*mut c_void, u32, *mut u8, usize, usize);

/// Who gives CUPTI its buffers and takes them back. Called by CUPTI: nothing in here may panic.
pub trait Buffers {
    /// A buffer of so many bytes; null and 0: there is none.
    fn requested() -> (*mut u8, usize);

    /// CUPTI gives a buffer back.
    ///
    /// # Safety
    /// `buffer` has `size` bytes, is handed over for good, and its first `valid` bytes are records.
    unsafe fn completed(buffer: *mut u8, size: usize, valid: usize);
}

unsafe extern "C" fn requested<B: Buffers>(buffer: *mut *mut u8, size: *mut usize, most: *mut usize) {
    let (ptr, bytes) = B::requested();
    // SAFETY: CUPTI's own out pointers.
    unsafe {
        *buffer = ptr;
        *size = bytes;
        *most = 0;
    }
}

unsafe extern "C" fn completed<B: Buffers>(
    _ctx: *mut c_void,
    _stream: u32,
    buffer: *mut u8,
    size: usize,
    valid: usize,
) {
    // SAFETY: CUPTI hands over `buffer`.
    unsafe { B::completed(buffer, size, valid) };
}

/// CUPTI belongs to somebody else, or did not answer in time: it is never called again.
static MUTE: AtomicBool = AtomicBool::new(false);

/// No call of CUPTI from here on.
pub fn mute() {
    MUTE.store(true, Ordering::Release);
}

/// Whether CUPTI may still be called.
pub fn may_call() -> bool {
    !MUTE.load(Ordering::Acquire) && sys::is_ours()
}

/// What a forked child forgets ([`crate::fork`]): that its parent had stopped calling CUPTI. The child may call it.
pub fn forget() {
    MUTE.store(false, Ordering::Release);
}

/// A call that failed: which one, with what code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuptiError {
    /// The function.
    pub function: &'static str,
    /// Its result.
    pub code: Code,
}

impl std::fmt::Display for CuptiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} returned {} ({})", self.function, self.code, result_name(self.code).unwrap_or("unknown code"))
    }
}

/// Why a file could not become [`Cupti`].
#[derive(Debug)]
pub enum LoadError {
    /// The loader refused it.
    Loader(String),
    /// It is no CUPTI, or none that can trace.
    Missing(&'static str),
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LoadError::Loader(why) => write!(f, "{why}"),
            LoadError::Missing(symbol) => write!(f, "it has no function {symbol}"),
        }
    }
}

macro_rules! functions {
    (
        required { $($(#[doc = $doc:literal])+ $required:ident = $rname:literal ($($rarg:ty),*);)+ }
        optional { $($(#[doc = $odoc:literal])+ $optional:ident = $oname:literal ($($oarg:ty),*);)+ }
    ) => {
        /// One loaded libcupti. Never closed: it has pointers to us, and threads of its own.
        pub struct Cupti {
            /// Where it was found.
            pub path: PathBuf,
            /// The functions for one of several subscribers; or which of them is missing. Taken when we subscribe so.
            for_several: Result<Functions, &'static str>,
            /// We are one of several.
            shared: Option<Shared>,
            $($(#[doc = $doc])+ $required: unsafe extern "C" fn($($rarg),*) -> Code,)+
            $($(#[doc = $odoc])+ $optional: Option<unsafe extern "C" fn($($oarg),*) -> Code>,)+
        }

        impl Cupti {
            /// Opens `path`, which may be a bare name for the loader to search.
            pub fn load(path: &Path) -> Result<Cupti, LoadError> {
                // SAFETY: loading runs the library's constructors; CUPTI's do nothing that the program would see
                // (it loads the same library itself when it wants to profile).
                let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
                    .map_err(|e| LoadError::Loader(deepest(&e)))?;
                // SAFETY: the types are those of cupti.h, the same in all versions from 11.8 to 13.5.
                let cupti = unsafe {
                    Cupti {
                        path: path.to_path_buf(),
                        for_several: Functions::find(&library),
                        shared: None,
                        $($required: *library
                            .get(concat!($rname, "\0").as_bytes())
                            .map_err(|_| LoadError::Missing($rname))?,)+
                        $($optional: library.get(concat!($oname, "\0").as_bytes()).ok().map(|s| *s),)+
                    }
                };
                std::mem::forget(library);
                Ok(cupti)
            }
        }
    };
}

functions! {
    required {
        /// The one slot for a tool.
        subscribe = "cuptiSubscribe" (*mut Subscriber, Callback, *mut c_void);
        /// One callback id on or off.
        enable_callback = "cuptiEnableCallback" (u32, Subscriber, u32, u32);
        /// The version of the API.
        get_version = "cuptiGetVersion" (*mut u32);
        /// The trace clock.
        get_timestamp = "cuptiGetTimestamp" (*mut u64);
        /// Who gives and takes buffers.
        register_callbacks = "cuptiActivityRegisterCallbacks" (Requested, Completed);
        /// One kind on.
        enable = "cuptiActivityEnable" (u32);
        /// One kind off.
        disable = "cuptiActivityDisable" (u32);
        /// Hand over buffers.
        flush_all = "cuptiActivityFlushAll" (u32);
        /// Records that CUPTI had no buffer for.
        get_dropped = "cuptiActivityGetNumDroppedRecords" (*mut c_void, u32, *mut usize);
        /// The vendor's walker; only for the stride probe.
        next_record = "cuptiActivityGetNextRecord" (*mut u8, usize, *mut *mut CUpti_Activity);
    }
    optional {
        /// Give the slot back.
        unsubscribe = "cuptiUnsubscribe" (Subscriber);
        /// Thread ids as gettid.
        set_thread_id_type = "cuptiSetThreadIdType" (u32);
        /// Buffer behaviour.
        set_attribute = "cuptiActivitySetAttribute" (u32, *mut usize, *mut c_void);
        /// Buffer behaviour, read.
        get_attribute = "cuptiActivityGetAttribute" (u32, *mut usize, *mut c_void);
        /// The name of an API function.
        get_callback_name = "cuptiGetCallbackName" (u32, u32, *mut *const c_char);
        /// Whether this library knows GPUs of a compute capability.
        compute_capability_supported = "cuptiComputeCapabilitySupported" (c_int, c_int, *mut c_int);
        /// One runtime function's records on or off (12.5).
        enable_runtime_api = "cuptiActivityEnableRuntimeApi" (u32, u8);
        /// One driver function's records on or off (12.5).
        enable_driver_api = "cuptiActivityEnableDriverApi" (u32, u8);
        /// Which unified memory counters.
        configure_unified_memory = "cuptiActivityConfigureUnifiedMemoryCounter" (*mut c_void, u32);
        /// When kernels were queued and submitted.
        enable_latency_timestamps = "cuptiActivityEnableLatencyTimestamps" (u8);
        /// Listen to an OpenACC runtime: its functions to register, unregister and look up.
        openacc_initialize = "cuptiOpenACCInitialize" (*mut c_void, *mut c_void, *mut c_void);
        /// Listen to an OpenMP runtime: its function to look up, the number of the host device, the tool's data.
        openmp_initialize = "cuptiOpenMpInitialize_v2" (*mut c_void, c_int, *mut c_void);
    }
}

/// The loader's own words, without the layers that libloading puts around them.
fn deepest(error: &libloading::Error) -> String {
    let mut text = error.to_string();
    let mut inner: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(e) = inner {
        text = e.to_string();
        inner = e.source();
    }
    text
}

impl Cupti {
    fn check(function: &'static str, code: Code) -> Result<(), CuptiError> {
        if code == 0 { Ok(()) } else { Err(CuptiError { function, code }) }
    }

    /// Subscribes; must be the first call of all. Where settings ask for other subscribers beside us and that cannot be, one
    /// line says so, and we are the only one.
    pub fn subscribe(&mut self, callback: Callback, settings: &Settings) -> Result<Subscriber, CuptiError> {
        if settings.subscribers == Subscribers::Single {
            return self.subscribe_alone(callback);
        }
        let functions = std::mem::replace(&mut self.for_several, Err("cuptiSubscribe_v2"));
        match Shared::subscribe(functions, callback) {
            Ok(shared) => {
                if settings.graph == Graph::Graph {
                    shared.use_graph_level();
                } else if shared.is_graph_level() {
                    log::line(
                        1,
                        format_args!("graphs are recorded as a whole, as another profiler asked CUPTI before us"),
                    );
                }
                Ok(self.shared.insert(shared).handle)
            }
            Err(obstacle) => {
                let subscriber = self.subscribe_alone(callback)?;
                Self::tell(&obstacle);
                Ok(subscriber)
            }
        }
    }

    fn tell(obstacle: &Obstacle) {
        log::line(
            1,
            format_args!(
                "GPUPROF_SUBSCRIBERS=multiple {obstacle}: gpuprof is the only subscriber, and other profilers in the \
                 program (torch.profiler) get nothing from the GPU while it records"
            ),
        );
    }

    fn subscribe_alone(&self, callback: Callback) -> Result<Subscriber, CuptiError> {
        let mut subscriber = std::ptr::null_mut();
        // SAFETY: the out pointer is valid; `callback` lives as long as the process (`-z nodelete`).
        let code = unsafe { (self.subscribe)(&mut subscriber, callback, std::ptr::null_mut()) };
        Self::check("cuptiSubscribe", code).map(|()| subscriber)
    }

    /// Gives the slot back, so that the next candidate can have it.
    pub fn unsubscribe(&self, subscriber: Subscriber) {
        if let Some(f) = self.unsubscribe {
            // SAFETY: `subscriber` came from `subscribe` of the same library.
            unsafe { f(subscriber) };
        }
    }

    /// Switches one callback id of a domain.
    pub fn enable_callback(&self, s: Subscriber, domain: u32, id: u32, on: bool) -> Result<(), CuptiError> {
        // SAFETY: plain values.
        Self::check("cuptiEnableCallback", unsafe { (self.enable_callback)(u32::from(on), s, domain, id) })
    }

    /// `cuptiGetVersion`.
    pub fn version(&self) -> Result<u32, CuptiError> {
        let mut version = 0;
        // SAFETY: the out pointer is valid.
        let code = unsafe { (self.get_version)(&mut version) };
        Self::check("cuptiGetVersion", code).map(|()| version)
    }

    /// The trace clock, nanoseconds.
    pub fn timestamp_ns(&self) -> Option<i64> {
        let mut ns = 0;
        let code = match &self.shared {
            Some(shared) => shared.get_timestamp(&mut ns),
            // SAFETY: the out pointer is valid.
            None => unsafe { (self.get_timestamp)(&mut ns) },
        };
        (code == 0 && ns != 0).then_some(ns as i64)
    }

    /// Tells CUPTI who gives and takes buffers.
    pub fn register<B: Buffers>(&self) -> Result<(), CuptiError> {
        match &self.shared {
            Some(shared) => Self::check("cuptiActivityRegisterCallbacks_v2", shared.register::<B>()),
            // SAFETY: both live as long as the process.
            None => Self::check("cuptiActivityRegisterCallbacks", unsafe {
                (self.register_callbacks)(requested::<B>, completed::<B>)
            }),
        }
    }

    /// Switches one kind on.
    pub fn enable(&self, kind: u32) -> Result<(), CuptiError> {
        let code = match &self.shared {
            Some(shared) => shared.enable(kind),
            // SAFETY: a plain value; unknown kinds are refused with a code.
            None => unsafe { (self.enable)(kind) },
        };
        Self::check("cuptiActivityEnable", code)
    }

    /// Switches one kind off.
    pub fn disable(&self, kind: u32) -> Result<(), CuptiError> {
        let code = match &self.shared {
            Some(shared) => shared.disable(kind),
            // SAFETY: as `enable`.
            None => unsafe { (self.disable)(kind) },
        };
        Self::check("cuptiActivityDisable", code)
    }

    /// Hands over buffers. `forced`: also those that hold unfinished records. Where there are several subscribers it does so
    /// for all of them: there is no flush of one's own.
    pub fn flush(&self, forced: bool) -> Result<(), CuptiError> {
        // SAFETY: a plain value. Callers see to it that only one thread is in here.
        Self::check("cuptiActivityFlushAll", unsafe { (self.flush_all)(u32::from(forced)) })
    }

    /// Records dropped since the last question.
    pub fn dropped_records(&self) -> u64 {
        let mut dropped = 0;
        let code = match &self.shared {
            Some(shared) => shared.get_dropped(&mut dropped),
            // SAFETY: null context means all; the out pointer is valid.
            None => unsafe { (self.get_dropped)(std::ptr::null_mut(), 0, &mut dropped) },
        };
        if code == 0 { dropped as u64 } else { 0 }
    }

    /// Sets a one-byte attribute; false where this version does not know it or refuses.
    pub fn set_attribute_u8(&self, attribute: u32, value: u8) -> bool {
        let (mut size, mut value) = (1usize, value);
        self.put_attribute(attribute, &mut size, (&raw mut value).cast()) == Some(0)
    }

    /// Sets a `size_t` attribute; false where this version does not know it or refuses.
    pub fn set_attribute_usize(&self, attribute: u32, value: usize) -> bool {
        let (mut size, mut value) = (size_of::<usize>(), value);
        self.put_attribute(attribute, &mut size, (&raw mut value).cast()) == Some(0)
    }

    /// `size` bytes are readable at `value`. None: this version has no attributes.
    fn put_attribute(&self, attribute: u32, size: &mut usize, value: *mut c_void) -> Option<Code> {
        match &self.shared {
            Some(shared) => Some(shared.set_attribute(attribute, size, value)),
            // SAFETY: as said.
            None => self.set_attribute.map(|f| unsafe { f(attribute, size, value) }),
        }
    }

    /// A one-byte attribute as it stands.
    pub fn attribute_u8(&self, attribute: u32) -> Option<u8> {
        // Eight bytes of room: a version that thinks the attribute wider must not write past it.
        let (mut size, mut value) = (1usize, 0u64);
        let place = (&raw mut value).cast();
        let code = match &self.shared {
            Some(shared) => Some(shared.get_attribute(attribute, &mut size, place)),
            // SAFETY: at least `size` bytes are writable at `place`.
            None => self.get_attribute.map(|f| unsafe { f(attribute, &mut size, place) }),
        };
        (code == Some(0)).then_some(value as u8)
    }

    /// Whether graphs come as a whole because another subscriber has said so before us.
    pub fn is_graph_level(&self) -> bool {
        self.shared.as_ref().is_some_and(Shared::is_graph_level)
    }

    /// Thread ids as gettid gives them; false where this version cannot.
    pub fn use_gettid(&self) -> bool {
        let mut system = cupti_sys::CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM;
        match &self.shared {
            Some(shared) => {
                let (attribute, mut size) = (cupti_sys::CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE, size_of_val(&system));
                shared.set_attribute(attribute, &mut size, (&raw mut system).cast()) == 0
            }
            // SAFETY: a plain value.
            None => self.set_thread_id_type.is_some_and(|f| unsafe { f(system) } == 0),
        }
    }

    /// The name of function `id` in `domain` (1 driver, 2 runtime), in CUPTI's memory.
    pub fn callback_name(&self, domain: u32, id: u32) -> Option<&'static CStr> {
        let mut name: *const c_char = std::ptr::null();
        // SAFETY: the out pointer is valid.
        let code = self.get_callback_name.map(|f| unsafe { f(domain, id, &mut name) });
        // SAFETY: on success CUPTI gives a static string of its own; it is never unloaded.
        (code == Some(0) && !name.is_null()).then(|| unsafe { CStr::from_ptr(name) })
    }

    /// Whether this library can trace GPUs of compute capability `major`.`minor`; none: it cannot say.
    pub fn supports(&self, major: c_int, minor: c_int) -> Option<bool> {
        let mut supported = 0;
        // SAFETY: the out pointer is valid.
        let code = self.compute_capability_supported.map(|f| unsafe { f(major, minor, &mut supported) });
        (code == Some(0)).then_some(supported != 0)
    }

    /// Whether records of single functions can be switched (12.5 and later).
    pub fn can_mute(&self) -> bool {
        self.shared.is_some() || self.enable_runtime_api.is_some() && self.enable_driver_api.is_some()
    }

    /// Records of function `id` in `domain` on or off, whatever its kind; false where it was refused.
    pub fn switch_call(&self, domain: u32, id: u32, on: bool) -> bool {
        if let Some(shared) = &self.shared {
            return shared.switch_call(domain, id, on) == 0;
        }
        let f = if domain == cupti_sys::CUPTI_CB_DOMAIN_DRIVER_API {
            self.enable_driver_api
        } else {
            self.enable_runtime_api
        };
        // SAFETY: plain values.
        f.is_some_and(|f| unsafe { f(id, u8::from(on)) } == 0)
    }

    /// Switches the unified memory counters of `device` on (before the kind is enabled).
    pub fn configure_unified_memory(&self, device: u32) -> Result<(), CuptiError> {
        /// `CUpti_ActivityUnifiedMemoryCounterConfig`: scope, kind, device, enable.
        #[repr(C)]
        struct Config([u32; 4]);
        // Kinds: bytes to the device and to the host, CPU page faults, GPU page faults. Scope 1: single device.
        let mut configs: Vec<Config> = [1, 2, 3, 4].map(|kind| Config([1, kind, device, 1])).into();
        let Some(f) = self.configure_unified_memory else {
            return Err(CuptiError { function: "cuptiActivityConfigureUnifiedMemoryCounter", code: 27 });
        };
        // SAFETY: the array holds as many configurations as are announced.
        let code = unsafe { f(configs.as_mut_ptr().cast(), configs.len() as u32) };
        Self::check("cuptiActivityConfigureUnifiedMemoryCounter", code)
    }

    /// Has kernels' records say when each was queued and submitted.
    pub fn use_latency_timestamps(&self) -> Result<(), CuptiError> {
        let code = match &self.shared {
            Some(shared) => {
                let (mut size, mut on) = (1usize, 1u8);
                let attribute = cupti_sys::CUPTI_ACTIVITY_ATTR_ENABLE_KERNEL_LATENCY_TIMESTAMPS;
                Some(shared.set_attribute(attribute, &mut size, (&raw mut on).cast()))
            }
            // SAFETY: a plain value.
            None => self.enable_latency_timestamps.map(|f| unsafe { f(1) }),
        };
        Self::check("cuptiActivityEnableLatencyTimestamps", code.unwrap_or(cupti_sys::CUPTI_ERROR_NOT_SUPPORTED))
    }

    /// Has CUPTI listen to an OpenACC runtime, whose functions these are.
    pub fn initialize_openacc(
        &self,
        register: *mut c_void,
        unregister: *mut c_void,
        lookup: *mut c_void,
    ) -> Result<(), CuptiError> {
        // SAFETY: passed on from the runtime, for which CUPTI then is a tool like others.
        let code = self.openacc_initialize.map(|f| unsafe { f(register, unregister, lookup) });
        Self::check("cuptiOpenACCInitialize", code.unwrap_or(cupti_sys::CUPTI_ERROR_NOT_SUPPORTED))
    }

    /// Has CUPTI listen to an OpenMP runtime, which gave this to its tool. (`cuptiOpenMpInitialize` is of the time before
    /// OpenMP 5.0 and refuses.)
    pub fn initialize_openmp(
        &self,
        lookup: *mut c_void,
        device: c_int,
        data: *mut c_void,
    ) -> Result<(), CuptiError> {
        // SAFETY: as above.
        let code = self.openmp_initialize.map(|f| unsafe { f(lookup, device, data) });
        Self::check("cuptiOpenMpInitialize_v2", code.unwrap_or(cupti_sys::CUPTI_ERROR_NOT_SUPPORTED))
    }

    /// The vendor's walker, for the stride probe.
    ///
    /// # Safety
    /// `buffer` has `bytes` bytes; `record` is null or a record in it that this function has found.
    pub unsafe fn next_record(&self, buffer: *mut u8, bytes: usize, record: *mut *mut CUpti_Activity) -> Code {
        // SAFETY: passed on.
        unsafe {
            match &self.shared {
                Some(shared) => shared.next_record(buffer, bytes, record),
                None => (self.next_record)(buffer, bytes, record),
            }
        }
    }
}

// SAFETY: the table holds addresses of functions, a path and a handle; CUPTI's functions may be called from any thread.
unsafe impl Send for Cupti {}
// SAFETY: as above; what must not run at the same time is kept apart by the callers (`flush.rs`).
unsafe impl Sync for Cupti {}
