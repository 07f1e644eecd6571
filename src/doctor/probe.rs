//! The child's side: calls into vendor libraries, in a process of their own.
//!
//! libcupti 13.2 without a driver overflows its stack in whatever is called first, and
//! broken installations do worse. Before each call its name goes to the standard output, then the answer: whatever
//! happens, the parent knows how far we came.

use super::sys::{Library, Symbol};
use crate::os::limits;
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use serde::{Deserialize, Serialize};
use shim_config::find::{elf, facts};
use std::ffi::{CStr, c_int};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Begins the lines that are meant for the parent; vendor libraries print what they like between them.
pub const MARK: &str = "gpuprof-probe ";

/// A line for the parent.
#[derive(Debug, Serialize, Deserialize)]
pub enum Line<T> {
    /// What is called next.
    Step(String),
    /// The answer.
    Answer(T),
}

/// What the driver says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Driver {
    /// Why `libcuda.so.1` could not be loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_error: Option<String>,
    /// The file that was loaded.
    pub path: Option<PathBuf>,
    /// What `cuDriverGetVersion` says: 12040 is CUDA 12.4.
    pub version: Option<i32>,
    /// What `cuInit` returned.
    pub init: Option<i32>,
    /// The GPUs that this process may use.
    pub gpus: Vec<Gpu>,
}

impl Driver {
    /// Whether programs can use a GPU.
    pub fn works(&self) -> bool {
        self.init == Some(0) && !self.gpus.is_empty()
    }
}

/// One GPU, or one part of a GPU that is divided by MIG.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gpu {
    /// The number that programs use.
    pub ordinal: i32,
    /// The name that the vendor gives it.
    pub name: String,
    /// `GPU-…`, as nvidia-smi prints it; `MIG-…` for a part.
    pub uuid: String,
    /// Compute capability, (9, 0) for Hopper.
    pub compute: (i32, i32),
    /// All of its memory.
    pub memory_bytes: u64,
    /// Multiprocessors.
    pub multiprocessors: i32,
}

/// What one libcupti says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cupti {
    /// Why it could not be loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_error: Option<String>,
    /// The file that was loaded.
    pub path: Option<PathBuf>,
    /// Its own name.
    pub soname: Option<String>,
    /// `cuptiGetVersion`, if it answered.
    pub version: Option<u32>,
    /// Whether it has `cuptiGetGlobalCallbackState`, which 12.1 brought: 11.8, 12.0 and 12.1 all say version 18.
    pub has_callback_state: bool,
    /// Whether a driver was there to talk to.
    pub has_driver: bool,
    /// The first call that the collector needs and that failed, and its result.
    pub refused: Option<(String, i32)>,
    /// What `cuptiComputeCapabilitySupported` and `cuptiDeviceSupported` say of each GPU.
    pub gpus: Vec<Support>,
}

/// What one libcupti says of one GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Support {
    /// The number that programs use.
    pub ordinal: i32,
    /// Whether it knows the compute capability; `None` if it did not say.
    pub compute: Option<bool>,
    /// Whether it takes the device; `None` if it did not say.
    pub device: Option<bool>,
    /// `cuptiDeviceVirtualizationMode`: 1 passed through to a virtual machine, 2 a virtual GPU.
    pub virtualization: Option<i32>,
}

/// What became of loading the collector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Collector {
    /// Why it could not be loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_error: Option<String>,
    /// Entry points that it should have and has not.
    pub missing: Vec<String>,
}

/// Asks the driver.
pub fn driver() -> Driver {
    limits::no_core_files();
    let mut answer = Driver::default();
    step("dlopen(libcuda.so.1)");
    let library = match Library::open(Path::new("libcuda.so.1")) {
        Ok(library) => library,
        Err(why) => {
            answer.load_error = Some(why);
            return answer;
        }
    };
    answer.path = mapped("libcuda.so");
    let call = |name: &'static CStr| called(&library, name);
    if let Some(f) = call(c"cuDriverGetVersion") {
        let mut version = 0;
        answer.version = (f.call_p(&mut version) == 0).then_some(version);
    }
    let Some(init) = call(c"cuInit") else { return answer };
    answer.init = Some(init.call_i(0));
    if answer.init != Some(0) {
        return answer;
    }
    let mut count: c_int = 0;
    if call(c"cuDeviceGetCount").is_none_or(|f| f.call_p(&mut count) != 0) {
        return answer;
    }
    for ordinal in 0..count {
        let mut device: c_int = 0;
        if call(c"cuDeviceGet").is_some_and(|f| f.call_pi(&mut device, ordinal) == 0) {
            answer.gpus.push(gpu(&library, ordinal, device));
        }
    }
    answer
}

fn gpu(library: &Library, ordinal: i32, device: c_int) -> Gpu {
    let call = |name: &'static CStr| called(library, name);
    let attribute = |which: Attribute| {
        let mut value = 0;
        let f = call(c"cuDeviceGetAttribute")?;
        (f.call_pii(&mut value, which as c_int, device) == 0).then_some(value)
    };
    let compute = |which| attribute(which).unwrap_or(0);
    let mut memory_bytes = 0usize;
    if let Some(f) = call(c"cuDeviceTotalMem_v2") {
        f.call_pi(&mut memory_bytes, device);
    }
    let name = call(c"cuDeviceGetName").map(|f| f.call_text(device).1).unwrap_or_default();
    // The second version tells the part of a divided GPU, the first one the whole.
    let mut uuid = [0u8; 16];
    let parts = call(c"cuDeviceGetUuid_v2").is_some_and(|f| f.call_pi(&mut uuid, device) == 0);
    if !parts && let Some(f) = call(c"cuDeviceGetUuid") {
        f.call_pi(&mut uuid, device);
    }
    Gpu {
        ordinal,
        uuid: uuid_text(&uuid, name.contains(" MIG ")),
        name,
        compute: (
            compute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            compute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        ),
        memory_bytes: memory_bytes as u64,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).unwrap_or(0),
    }
}

fn uuid_text(bytes: &[u8; 16], is_part: bool) -> String {
    let mut text = String::from(if is_part { "MIG-" } else { "GPU-" });
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

/// Asks one libcupti, in the order in which the collector would: subscribing is the first call.
pub fn cupti(path: &Path) -> Cupti {
    limits::no_core_files();
    let mut answer = Cupti::default();
    step("dlopen(libcuda.so.1)");
    let driver = Library::open(Path::new("libcuda.so.1")).ok();
    answer.has_driver = driver.is_some_and(|d| called(&d, c"cuInit").is_some_and(|f| f.call_i(0) == 0));
    step("dlopen");
    let library = match Library::open(path) {
        Ok(library) => library,
        Err(why) => {
            answer.load_error = Some(why);
            return answer;
        }
    };
    answer.path = mapped("libcupti");
    answer.soname = answer.path.as_deref().and_then(elf::soname);
    answer.has_callback_state = library.symbol(c"cuptiGetGlobalCallbackState").is_some();
    let call = |name: &'static CStr| called(&library, name);
    let mut handle = 0;
    let mut subscribed = false;
    if answer.has_driver {
        let Some(f) = call(c"cuptiSubscribe") else {
            answer.load_error = Some("it has no cuptiSubscribe".to_owned());
            return answer;
        };
        let result = f.subscribe(&mut handle);
        subscribed = result == 0;
        answer.note("cuptiSubscribe", result);
    }
    if let Some(f) = call(c"cuptiGetVersion") {
        let mut version = 0;
        answer.version = (f.call_p(&mut version) == 0).then_some(version);
    }
    if !subscribed {
        // After a refusal no further call is safe, and none is needed.
        return answer;
    }
    if let Some(driver) = driver {
        answer.gpus = supports(&driver, &library);
    }
    // What a recording needs: this is where missing privileges would show.
    if let Some(f) = call(c"cuptiActivityRegisterCallbacks") {
        answer.note("cuptiActivityRegisterCallbacks", f.register());
    }
    const CONCURRENT_KERNEL: c_int = 10;
    if let Some(f) = call(c"cuptiActivityEnable") {
        answer.note("cuptiActivityEnable", f.call_i(CONCURRENT_KERNEL));
    }
    answer
}

impl Cupti {
    fn note(&mut self, function: &str, result: c_int) {
        if result != 0 && self.refused.is_none() {
            self.refused = Some((function.to_owned(), result));
        }
    }
}

fn supports(driver: &Library, cupti: &Library) -> Vec<Support> {
    let mut count: c_int = 0;
    if called(driver, c"cuDeviceGetCount").is_none_or(|f| f.call_p(&mut count) != 0) {
        return Vec::new();
    }
    let support = |ordinal| {
        let mut device: c_int = 0;
        called(driver, c"cuDeviceGet").filter(|f| f.call_pi(&mut device, ordinal) == 0)?;
        let attribute = |which: Attribute| {
            let mut value = 0;
            let f = called(driver, c"cuDeviceGetAttribute")?;
            (f.call_pii(&mut value, which as c_int, device) == 0).then_some(value)
        };
        let mut answer = Support { ordinal, ..Support::default() };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
        if let (Some(major), Some(minor)) = (major, minor)
            && let Some(f) = called(cupti, c"cuptiComputeCapabilitySupported")
        {
            let mut yes = 0;
            answer.compute = (f.call_iip(major, minor, &mut yes) == 0).then_some(yes != 0);
        }
        if let Some(f) = called(cupti, c"cuptiDeviceSupported") {
            let mut yes = 0;
            answer.device = (f.call_ip(device, &mut yes) == 0).then_some(yes != 0);
        }
        if let Some(f) = called(cupti, c"cuptiDeviceVirtualizationMode") {
            let mut mode: c_int = 0;
            answer.virtualization = (f.call_ip(device, &mut mode) == 0).then_some(mode);
        }
        Some(answer)
    };
    (0..count).filter_map(support).collect()
}

/// Loads the collector, which was told to stay inert.
pub fn collector(path: &Path) -> Collector {
    limits::no_core_files();
    step("dlopen");
    match Library::open(path) {
        Err(why) => Collector { load_error: Some(why), missing: Vec::new() },
        Ok(library) => {
            let wanted = [c"InitializeInjection", c"InitializeInjectionNvtx2"];
            let missing = wanted.iter().filter(|name| library.symbol(name).is_none());
            let missing = missing.map(|name| name.to_string_lossy().into_owned()).collect();
            Collector { load_error: None, missing }
        }
    }
}

/// Says what is called next, and finds it.
fn called(library: &Library, name: &'static CStr) -> Option<Symbol> {
    step(&name.to_string_lossy());
    library.symbol(name)
}

/// The file of this process whose name begins so.
fn mapped(beginning: &str) -> Option<PathBuf> {
    let files = facts::mapped_files(&std::fs::read("/proc/self/maps").ok()?);
    files.into_iter().find(|f| f.file_name().is_some_and(|n| n.to_string_lossy().starts_with(beginning)))
}

fn step(name: &str) {
    say(&Line::<()>::Step(name.to_owned()));
}

/// Writes a line for the parent. A parent that is gone needs no answer.
pub fn say<T: Serialize>(line: &Line<T>) {
    if let Ok(text) = serde_json::to_string(line) {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{MARK}{text}");
        let _ = out.flush();
    }
}
