//! The way to libcuda, and what becomes of CUPTI without one, in forked children, and after the driver's end.

use crate::abi::{Attach, Device, DeviceFacts, List, Now, TakeSlot, Tool};
use crate::version::{since, version};
use crate::{callbacks, info, records, settings};
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

pub struct Driver {
    pub attach: Attach,
    pub take_slot: TakeSlot,
    pub now: Now,
    pub list: List,
    pub device: Device,
    pub version: i32,
}

static OWNER_PID: AtomicU32 = AtomicU32::new(0);
static FORKED: AtomicBool = AtomicBool::new(false);
static GONE: AtomicBool = AtomicBool::new(false);
/// Subscribing or registering failed: 13.2 and later crash on further calls.
static FAILED: AtomicBool = AtomicBool::new(false);

pub static TOOL: Tool = Tool {
    api_enter: callbacks::api_enter,
    api_exit: callbacks::api_exit,
    work: records::work,
    resource: callbacks::resource,
    synchronized: callbacks::synchronized,
    recording: records::recording,
    deinitialized,
};

unsafe extern "C" fn deinitialized() {
    GONE.store(true, Ordering::Relaxed);
    settings::log("driver gone");
}

pub fn gone() -> bool {
    GONE.load(Ordering::Relaxed)
}

pub fn forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// The simulated libcuda; `None` if there is none or a real one. Asked anew until it is found.
pub fn driver() -> Option<&'static Driver> {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    if let Some(driver) = DRIVER.get() {
        return Some(driver);
    }
    // SAFETY: the symbols have these types wherever they exist, both sides including `abi.rs`.
    unsafe {
        let library = libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW);
        if library.is_null() {
            return None;
        }
        let find = |name: &CStr| Some(libc::dlsym(library, name.as_ptr())).filter(|symbol| !symbol.is_null());
        let mut version = 0;
        let get_version: unsafe extern "C" fn(*mut i32) -> i32 =
            std::mem::transmute::<*mut c_void, _>(find(c"cuDriverGetVersion")?);
        get_version(&mut version);
        let made = Driver {
            attach: std::mem::transmute::<*mut c_void, Attach>(find(c"sim_cuda_attach")?),
            take_slot: std::mem::transmute::<*mut c_void, TakeSlot>(find(c"sim_cuda_subscribe")?),
            now: std::mem::transmute::<*mut c_void, Now>(find(c"sim_cuda_now")?),
            list: std::mem::transmute::<*mut c_void, List>(find(c"sim_cuda_list")?),
            device: std::mem::transmute::<*mut c_void, Device>(find(c"sim_cuda_device")?),
            version,
        };
        let _ = DRIVER.set(made);
    }
    DRIVER.get()
}

/// The simulated device `index`.
pub fn device(index: u32) -> Option<DeviceFacts> {
    // SAFETY: a struct of numbers and a pointer; the driver fills it if it says 0.
    unsafe {
        let mut facts = std::mem::zeroed();
        (((driver()?).device)(index, &mut facts) == 0).then_some(facts)
    }
}

/// A CUPTI older than the driver's toolkit works; a newer one does not come up, or only within a major version where
/// `SIM_ENHANCED` says that this driver is compatible with later minor ones ("enhanced compatibility").
fn too_new(driver: &Driver) -> bool {
    let toolkit = (driver.version / 1000 * 100 + driver.version % 1000 / 10) as u32;
    let is_enhanced = settings::number(c"SIM_ENHANCED", 0) != 0 && version().toolkit / 100 == toolkit / 100;
    version().toolkit > toolkit && !is_enhanced
}

/// What CUPTI says where it cannot come up.
fn not_up() -> i32 {
    if since(1300) { 999 } else { 15 }
}

/// Functions that work without a driver, up to 13.1.
const DRIVERLESS: [&str; 11] = [
    "cuptiGetVersion",
    "cuptiGetTimestamp",
    "cuptiGetResultString",
    "cuptiGetErrorMessage",
    "cuptiGetCallbackName",
    "cuptiActivityGetNextRecord",
    "cuptiActivityRegisterCallbacks",
    "cuptiComputeCapabilitySupported",
    "cuptiDeviceSupported",
    "cuptiFinalize",
    "cuptiGetLastError",
];

/// Of these the ones that a driver too old or without a GPU refuses.
const NEEDS_GPU: [&str; 1] = ["cuptiActivityRegisterCallbacks"];

/// CUPTI found everything it needs: nothing to ask any more.
static UP: AtomicBool = AtomicBool::new(false);

/// 0 if the function can work here.
pub fn refusal(name: &str) -> i32 {
    if UP.load(Ordering::Relaxed) {
        return 0;
    }
    let Some(driver) = driver() else {
        if since(1303) {
            return 999;
        }
        if version().toolkit == 1302 {
            settings::fatal("CUPTI 13.2 overflows its stack without libcuda");
        }
        if name == "cuptiActivityGetNumDroppedRecords" && since(1205) {
            return 0;
        }
        return if DRIVERLESS.contains(&name) { 0 } else { not_up() };
    };
    let up = !too_new(driver) && device(0).is_some();
    UP.store(up, Ordering::Relaxed);
    if !up && name.starts_with("cuptiActivityGetNumDroppedRecords") {
        if since(1302) {
            settings::fatal(
                "cuptiActivityGetNumDroppedRecords crashes on 13.2 and later where CUPTI did not come up",
            );
        }
        return if since(1205) { 0 } else { 15 };
    }
    if up || (DRIVERLESS.contains(&name) && !NEEDS_GPU.contains(&name)) { 0 } else { not_up() }
}

/// CUPTI belongs to the process that used it first. Forked children have its memory, but neither its thread nor its
/// locks: a call there hangs or crashes in reality and is fatal here.
pub fn check_process(name: &str, hot: bool) {
    let owner = OWNER_PID.load(Ordering::Relaxed);
    if owner == 0 {
        return;
    }
    // SAFETY: takes nothing. `_Fork` and vfork run no handlers, so the kernel is asked.
    if FORKED.load(Ordering::Relaxed) || (!hot && unsafe { libc::getpid() } as u32 != owner) {
        settings::fatal(&format!("{name} was called in a forked child of the process that used CUPTI"));
    }
}

extern "C" fn child() {
    if OWNER_PID.load(Ordering::Relaxed) != 0 {
        FORKED.store(true, Ordering::Relaxed);
    }
}

/// CUPTI comes to life in this process.
pub fn own_process() {
    let pid = settings::process_id();
    if OWNER_PID.compare_exchange(0, pid, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
        settings::claim_totals();
        // SAFETY: the handler stores to a static.
        unsafe { libc::pthread_atfork(None, None, Some(child)) };
        if let Some(driver) = driver() {
            // SAFETY: the table is static.
            unsafe { (driver.attach)(&raw const TOOL) };
        }
    }
}

/// The virtual clock.
pub fn now() -> u64 {
    match driver() {
        // SAFETY: takes nothing.
        Some(driver) => unsafe { (driver.now)() },
        None => info::realtime_ns(),
    }
}

pub fn mark_failed() {
    FAILED.store(true, Ordering::Relaxed);
}
