//! The functions by which one of several subscribers uses CUPTI: those that take its handle (`…_v2`).
//!
//! CUPTI serves several from 13.3 on, with a driver of CUDA 13.3 (r610), if the first of them allows it and all of them use
//! these functions. The two families exclude each other for the rest of the process: whoever subscribes in the other way is
//! refused (39), and so is an activity function of the other family (14). So all of these functions are there before the
//! first of them is called.

use std::ffi::{c_char, c_void};

use cupti_sys::{CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE, CUpti_Activity};
use libloading::os::unix::Library;
use shim_config::Cause;

use super::{Buffers, Callback, Code, CuptiError, Subscriber};
use crate::driver::Driver;

/// The CUDA version of the oldest driver that serves several, as `cuDriverGetVersion` says it.
const OLDEST_DRIVER: u32 = 13_030;

/// `CUpti_SubscriberParams` as it is from 13.2 on. Zeros stand for what is not asked.
#[repr(C)]
struct Params {
    struct_size: usize,
    subscriber_name: *const c_char,
    old_subscriber_name: *mut c_char,
    old_subscriber_size: usize,
    allow_multiple_subscribers: u8,
    padding: [u8; 7],
}

/// `CUpti_BuffersCallbackRequestFunc_v2`: buffer, size, most records, more that CUPTI says.
type Requested = unsafe extern "C" fn(*mut *mut u8, *mut usize, *mut usize, *mut c_void);
/// `CUpti_BuffersCallbackCompleteFunc_v2`: buffer, size, bytes that hold records, more that CUPTI says.
type Completed = unsafe extern "C" fn(*mut u8, usize, usize, *mut c_void);

macro_rules! functions {
    ($($(#[doc = $doc:literal])+ $field:ident = $name:literal ($($argument:ty),*);)+) => {
        /// All of them.
        pub struct Functions {
            $($(#[doc = $doc])+ $field: unsafe extern "C" fn($($argument),*) -> Code,)+
        }

        impl Functions {
            /// Looks them up; or says which is missing.
            pub fn find(library: &Library) -> Result<Functions, &'static str> {
                // SAFETY: the types are those of the headers 13.3 to 13.5, which are the same.
                unsafe {
                    Ok(Functions {
                        $($field: *library.get(concat!($name, "\0").as_bytes()).map_err(|_| $name)?,)+
                    })
                }
            }

            /// Their names.
            #[cfg(test)]
            pub const NAMES: &[&str] = &[$($name),+];
        }
    };
}

functions! {
    /// A place among several.
    subscribe = "cuptiSubscribe_v2" (*mut Subscriber, Callback, *mut c_void, *mut Params);
    /// Who gives and takes buffers.
    register_callbacks = "cuptiActivityRegisterCallbacks_v2" (Subscriber, Requested, Completed);
    /// One kind on; no configuration: whole records.
    enable = "cuptiActivityEnable_v2" (Subscriber, u32, *mut c_void);
    /// One kind off.
    disable = "cuptiActivityDisable_v2" (Subscriber, u32, *mut c_void);
    /// The vendor's walker.
    next_record = "cuptiActivityGetNextRecord_v2" (Subscriber, *mut u8, usize, *mut *mut CUpti_Activity);
    /// Records that CUPTI had no buffer for.
    get_dropped = "cuptiActivityGetNumDroppedRecords_v2" (Subscriber, *mut c_void, u32, *mut usize);
    /// The trace clock.
    get_timestamp = "cuptiGetTimestamp_v2" (Subscriber, *mut u64);
    /// Behaviour, changed.
    set_attribute = "cuptiActivitySetAttribute_v2" (Subscriber, u32, *mut usize, *mut c_void);
    /// Behaviour, read.
    get_attribute = "cuptiActivityGetAttribute_v2" (Subscriber, u32, *mut usize, *mut c_void);
    /// Whether anybody records.
    is_session_running = "cuptiIsTracingSessionRunning" (*mut u8);
    /// One runtime function's records on or off.
    enable_runtime_api = "cuptiActivityEnableRuntimeApi_v2" (Subscriber, u32, u8);
    /// One driver function's records on or off.
    enable_driver_api = "cuptiActivityEnableDriverApi_v2" (Subscriber, u32, u8);
}

/// Why CUPTI cannot serve several here. The second half of a sentence.
pub enum Obstacle {
    /// The library is older than 13.3: it has no such function.
    Missing(&'static str),
    /// The driver is older than r610, or does not say.
    Driver(Option<u32>),
    /// CUPTI said no: somebody is there already who does not share, or a reason that it does not tell.
    Refused(CuptiError),
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Obstacle::Missing(name) => write!(f, "needs CUPTI 13.3 or later, and this one has no {name}"),
            Obstacle::Driver(Some(version)) => {
                let (major, minor) = (version / 1000, version % 1000 / 10);
                write!(f, "needs a driver of CUDA 13.3 (r610) or later, and this one is of {major}.{minor}")
            }
            Obstacle::Driver(None) => write!(f, "needs a driver of CUDA 13.3 (r610) or later"),
            Obstacle::Refused(error) => write!(f, "is refused ({})", Cause::from(*error)),
        }
    }
}

/// One of several subscribers.
pub struct Shared {
    functions: Functions,
    /// Ours.
    pub handle: Subscriber,
    /// Nobody recorded when we subscribed.
    is_first: bool,
}

impl Shared {
    /// Subscribes beside others. Nothing is called where it cannot succeed: a library in which one of these functions was
    /// called may refuse the others for good.
    pub fn subscribe(functions: Result<Functions, &'static str>, callback: Callback) -> Result<Shared, Obstacle> {
        let functions = functions.map_err(Obstacle::Missing)?;
        let driver = Driver::mapped().version();
        if driver.is_none_or(|version| version < OLDEST_DRIVER) {
            return Err(Obstacle::Driver(driver));
        }
        let mut params = Params {
            struct_size: size_of::<Params>(),
            subscriber_name: c"gpuprof".as_ptr(),
            old_subscriber_name: std::ptr::null_mut(),
            old_subscriber_size: 0,
            allow_multiple_subscribers: 1,
            padding: [0; 7],
        };
        let mut is_running = 1;
        // SAFETY: the out pointer is valid.
        let is_first = unsafe { (functions.is_session_running)(&mut is_running) } == 0 && is_running == 0;
        let mut handle = std::ptr::null_mut();
        // SAFETY: the out pointer is valid, `params` says how long it is and CUPTI copies the name; `callback` lives as
        // long as the process (`-z nodelete`).
        let code = unsafe { (functions.subscribe)(&mut handle, callback, std::ptr::null_mut(), &mut params) };
        match code {
            0 => Ok(Shared { functions, handle, is_first }),
            code => Err(Obstacle::Refused(CuptiError { function: "cuptiSubscribe_v2", code })),
        }
    }

    /// Whether an attribute is ours to choose. CUPTI's headers and messages say of some that they are the subscriber's own; of
    /// these two they do not. Another tool's buffers are not cleared because ours are. Whether buffers belong to threads must
    /// not change under a tool that records; to whoever comes later it makes no difference.
    fn may_set(&self, attribute: u32) -> bool {
        match attribute {
            cupti_sys::CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER => false,
            cupti_sys::CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER => self.is_first,
            _ => true,
        }
    }

    /// Whether graphs are recorded as a whole: decided by the first who says so, for everybody and for good.
    pub fn is_graph_level(&self) -> bool {
        let (mut size, mut value) = (1usize, 0u64);
        let attribute = CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE;
        self.get_attribute(attribute, &mut size, (&raw mut value).cast()) == 0 && value as u8 != 0
    }

    /// Has graphs recorded as a whole; to be said before anybody switches a kind on. Where it is refused the kind is, too.
    pub fn use_graph_level(&self) {
        let (mut size, mut value) = (1usize, 1u8);
        let attribute = CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE;
        self.set_attribute(attribute, &mut size, (&raw mut value).cast());
    }

    /// See `Cupti::register`.
    pub fn register<B: Buffers>(&self) -> Code {
        // SAFETY: both live as long as the process.
        unsafe { (self.functions.register_callbacks)(self.handle, requested::<B>, completed::<B>) }
    }

    /// See `Cupti::enable`.
    pub fn enable(&self, kind: u32) -> Code {
        // SAFETY: plain values; unknown kinds are refused with a code.
        unsafe { (self.functions.enable)(self.handle, kind, std::ptr::null_mut()) }
    }

    /// See `Cupti::disable`.
    pub fn disable(&self, kind: u32) -> Code {
        // SAFETY: as `enable`.
        unsafe { (self.functions.disable)(self.handle, kind, std::ptr::null_mut()) }
    }

    /// See `Cupti::next_record`.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn next_record(&self, buffer: *mut u8, bytes: usize, record: *mut *mut CUpti_Activity) -> Code {
        // SAFETY: passed on.
        unsafe { (self.functions.next_record)(self.handle, buffer, bytes, record) }
    }

    /// See `Cupti::dropped_records`.
    pub fn get_dropped(&self, dropped: &mut usize) -> Code {
        // SAFETY: null context means all.
        unsafe { (self.functions.get_dropped)(self.handle, std::ptr::null_mut(), 0, dropped) }
    }

    /// See `Cupti::timestamp_ns`.
    pub fn get_timestamp(&self, ns: &mut u64) -> Code {
        // SAFETY: the out pointer is valid.
        unsafe { (self.functions.get_timestamp)(self.handle, ns) }
    }

    /// `size` bytes are readable at `value`.
    pub fn set_attribute(&self, attribute: u32, size: &mut usize, value: *mut c_void) -> Code {
        if !self.may_set(attribute) {
            return cupti_sys::CUPTI_ERROR_NOT_SUPPORTED;
        }
        // SAFETY: as said.
        unsafe { (self.functions.set_attribute)(self.handle, attribute, size, value) }
    }

    /// `size` bytes are writable at `value`.
    pub fn get_attribute(&self, attribute: u32, size: &mut usize, value: *mut c_void) -> Code {
        // SAFETY: as said.
        unsafe { (self.functions.get_attribute)(self.handle, attribute, size, value) }
    }

    /// See `Cupti::switch_call`.
    pub fn switch_call(&self, domain: u32, id: u32, on: bool) -> Code {
        let f = match domain {
            cupti_sys::CUPTI_CB_DOMAIN_DRIVER_API => self.functions.enable_driver_api,
            _ => self.functions.enable_runtime_api,
        };
        // SAFETY: plain values.
        unsafe { f(self.handle, id, u8::from(on)) }
    }
}

unsafe extern "C" fn requested<B: Buffers>(
    buffer: *mut *mut u8,
    size: *mut usize,
    most: *mut usize,
    _info: *mut c_void,
) {
    // SAFETY: CUPTI's own out pointers.
    unsafe { super::requested::<B>(buffer, size, most) };
}

unsafe extern "C" fn completed<B: Buffers>(buffer: *mut u8, size: usize, valid: usize, _info: *mut c_void) {
    // SAFETY: CUPTI hands over `buffer`.
    unsafe { B::completed(buffer, size, valid) };
}

#[cfg(test)]
mod tests {
    use super::Functions;

    /// Which functions each toolkit's libcupti exports, as its own files say (`cupti-sys/tables/exports.csv`).
    const EXPORTS: &str = include_str!("../../cupti-sys/tables/exports.csv");

    #[test]
    fn every_function_is_there_from_13_3_on_and_not_all_before() {
        let since = |name: &str| {
            let line = EXPORTS.lines().find(|line| line.split(',').next() == Some(name));
            let line = line.unwrap_or_else(|| panic!("{name} is exported by no libcupti"));
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields[2], "13.5", "{name} is gone");
            let (major, minor) = fields[1].split_once('.').expect("a version");
            (major.parse::<u32>().expect("a number"), minor.parse::<u32>().expect("a number"))
        };
        let newest = Functions::NAMES.iter().map(|name| since(name)).max();
        assert_eq!(newest, Some((13, 3)));
    }
}
