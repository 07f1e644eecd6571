//! The few functions of the driver that the collector calls itself. The driver is never loaded, only looked at: it
//! called us.

use std::ffi::{c_int, c_void};

use libloading::os::unix::{Library, RTLD_NOW};

/// `RTLD_NOLOAD` of the C library: give the mapped one or nothing.
const RTLD_NOLOAD: c_int = libc::RTLD_NOLOAD;
/// CUDA_ERROR_DEINITIALIZED.
const DEINITIALIZED: u32 = 4;

/// Functions of the mapped libcuda; each may be missing.
#[derive(Clone, Copy, Default)]
pub struct Driver {
    driver_get_version: Option<unsafe extern "C" fn(*mut c_int) -> u32>,
    ctx_synchronize: Option<unsafe extern "C" fn() -> u32>,
    device_get_count: Option<unsafe extern "C" fn(*mut c_int) -> u32>,
    device_get_attribute: Option<unsafe extern "C" fn(*mut c_int, c_int, c_int) -> u32>,
    primary_state: Option<unsafe extern "C" fn(c_int, *mut u32, *mut c_int) -> u32>,
    ctx_get_current: Option<unsafe extern "C" fn(*mut *mut c_void) -> u32>,
}

impl Driver {
    /// Looks at the mapped libcuda.
    pub fn mapped() -> Driver {
        // SAFETY: RTLD_NOLOAD runs no code of the library.
        let Ok(library) = (unsafe { Library::open(Some("libcuda.so.1"), RTLD_NOW | RTLD_NOLOAD) }) else {
            return Driver::default();
        };
        // SAFETY: the types are those of cuda.h, unchanged since these functions exist.
        let driver = unsafe {
            Driver {
                driver_get_version: library.get(b"cuDriverGetVersion\0").ok().map(|s| *s),
                ctx_synchronize: library.get(b"cuCtxSynchronize\0").ok().map(|s| *s),
                device_get_count: library.get(b"cuDeviceGetCount\0").ok().map(|s| *s),
                device_get_attribute: library.get(b"cuDeviceGetAttribute\0").ok().map(|s| *s),
                primary_state: library.get(b"cuDevicePrimaryCtxGetState\0").ok().map(|s| *s),
                ctx_get_current: library.get(b"cuCtxGetCurrent\0").ok().map(|s| *s),
            }
        };
        std::mem::forget(library);
        driver
    }

    /// How many devices there are.
    pub fn device_count(&self) -> Option<c_int> {
        let mut devices = 0;
        // SAFETY: the out pointer is valid.
        let code = self.device_get_count.map(|f| unsafe { f(&mut devices) });
        (code == Some(0)).then_some(devices)
    }

    /// The CUDA version of the driver, as 1000 × major + 10 × minor.
    pub fn version(&self) -> Option<u32> {
        let mut version = 0;
        // SAFETY: the out pointer is valid.
        let code = self.driver_get_version.map(|f| unsafe { f(&mut version) });
        (code == Some(0)).then_some(version as u32)
    }

    /// Waits for all work of the caller's context.
    pub fn synchronize(&self) {
        if let Some(f) = self.ctx_synchronize {
            // SAFETY: no arguments; an error is of no consequence here.
            unsafe { f() };
        }
    }

    /// Compute capabilities of all devices, in the order of their numbers.
    pub fn compute_capabilities(&self) -> Vec<(c_int, c_int)> {
        /// CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR; minor is the next.
        const MAJOR: c_int = 75;
        let (Some(devices), Some(attribute)) = (self.device_count(), self.device_get_attribute) else {
            return Vec::new();
        };
        let read = |device, which| {
            let mut value = 0;
            // SAFETY: the out pointer is valid.
            (unsafe { attribute(&mut value, which, device) } == 0).then_some(value)
        };
        (0..devices).filter_map(|d| Some((read(d, MAJOR)?, read(d, MAJOR + 1)?))).collect()
    }

    /// Whether any context exists that we can see; none: the driver cannot be asked.
    pub fn has_context(&self) -> Option<bool> {
        let current = self.ctx_get_current?;
        let mut context = std::ptr::null_mut();
        // SAFETY: the out pointers are valid.
        match unsafe { current(&mut context) } {
            0 if !context.is_null() => return Some(true),
            // It has taken itself down already, and with it all contexts that there were.
            DEINITIALIZED => return None,
            _ => {}
        }
        let state = self.primary_state?;
        let devices = self.device_count().unwrap_or(0);
        Some((0..devices).any(|device| {
            let (mut flags, mut active) = (0, 0);
            // SAFETY: as above.
            unsafe { state(device, &mut flags, &mut active) == 0 && active != 0 }
        }))
    }
}
