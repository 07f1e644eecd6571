//! Kernels of the program: what nvcc's start-up code registers. Images are PTX text behind the usual wrapper; they are
//! loaded at the first launch of one of their kernels on a device, as with lazy loading.

use crate::call::device;
use crate::driver::{Cuda, Ptr};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::Mutex;

#[derive(Clone)]
struct Kernel {
    image: usize,
    name: &'static CStr,
}

#[derive(Default)]
struct Registry {
    images: Vec<usize>,
    kernels: HashMap<usize, Kernel>,
    /// By image and device.
    modules: HashMap<(usize, i32), usize>,
    /// By host function and device.
    functions: HashMap<(usize, i32), usize>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);

fn with<T>(f: impl FnOnce(&mut Registry) -> T) -> Option<T> {
    REGISTRY.lock().ok().map(|mut registry| f(registry.get_or_insert_with(Registry::default)))
}

/// The device's name of a host function.
pub fn symbol(host: *const c_void) -> *const c_char {
    let name = with(|registry| registry.kernels.get(&(host as usize)).map(|kernel| kernel.name)).flatten();
    name.map_or(std::ptr::null(), CStr::as_ptr)
}

/// The driver's function for a host function, loading its image if needed.
pub unsafe fn function(cuda: &Cuda, host: *const c_void) -> Result<Ptr, i32> {
    let key = (host as usize, device());
    if let Some(known) = with(|registry| registry.functions.get(&key).copied()).flatten() {
        return Ok(known as Ptr);
    }
    let Some(kernel) = with(|registry| registry.kernels.get(&key.0).cloned()).flatten() else { return Err(98) };
    let place = (kernel.image, key.1);
    let mut module = with(|registry| registry.modules.get(&place).copied()).flatten().unwrap_or(0) as Ptr;
    if module.is_null() {
        // Without our lock: callbacks run inside.
        let result = (cuda.cuModuleLoadData)(&mut module, kernel.image as *const c_void);
        if result != 0 {
            return Err(result);
        }
        with(|registry| registry.modules.insert(place, module as usize));
    }
    let mut function = std::ptr::null_mut();
    let result = (cuda.cuModuleGetFunction)(&mut function, module, kernel.name.as_ptr());
    if result != 0 {
        return Err(98);
    }
    with(|registry| registry.functions.insert(key, function as usize));
    Ok(function)
}

/// A reset takes all modules of a device with it.
pub fn forget(device: i32) {
    with(|registry| {
        registry.modules.retain(|place, _| place.1 != device);
        registry.functions.retain(|place, _| place.1 != device);
    });
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinary(image: *const c_void) -> *mut Ptr {
    with(|registry| registry.images.push(image as usize));
    Box::into_raw(Box::new(image.cast_mut()))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut Ptr) {}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaUnregisterFatBinary(_handle: *mut Ptr) {}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "CUDA's own signature")]
pub unsafe extern "C" fn __cudaRegisterFunction(
    handle: *mut Ptr,
    host: *const c_void,
    _device_fun: *mut c_char,
    name: *const c_char,
    _limit: i32,
    _tid: Ptr,
    _bid: Ptr,
    _block: Ptr,
    _grid: Ptr,
    _warp: *mut i32,
) {
    if handle.is_null() || name.is_null() {
        return;
    }
    let name: &'static CStr = CString::leak_copy(CStr::from_ptr(name));
    let image = *handle as usize;
    with(|registry| registry.kernels.insert(host as usize, Kernel { image, name }));
}

trait LeakCopy {
    fn leak_copy(text: &CStr) -> &'static CStr;
}

impl LeakCopy for CString {
    /// A copy that lives for ever.
    fn leak_copy(text: &CStr) -> &'static CStr {
        Box::leak(text.to_owned().into_boxed_c_str())
    }
}

#[derive(Clone, Copy)]
struct Configuration {
    grid: [u32; 3],
    block: [u32; 3],
    shared: usize,
    stream: Ptr,
}

thread_local!(static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) });

/// Three sides, passed as C passes `dim3`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

impl Dim3 {
    pub fn sides(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared: usize, stream: Ptr) -> u32 {
    let configuration = Configuration { grid: grid.sides(), block: block.sides(), shared, stream };
    CONFIGURATIONS.with(|list| list.borrow_mut().push(configuration));
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut [u32; 3],
    block: *mut [u32; 3],
    shared: *mut usize,
    stream: *mut Ptr,
) -> i32 {
    let Some(configuration) = CONFIGURATIONS.with(|list| list.borrow_mut().pop()) else { return 1 };
    (*grid, *block, *shared, *stream) =
        (configuration.grid, configuration.block, configuration.shared, configuration.stream);
    0
}
