//! The simulated devices: `SIM_DEVICES` of them (1), compute capability `SIM_CC` (9.0).

use crate::abi::DeviceFacts;
use crate::settings;
use std::ffi::c_char;
use std::sync::OnceLock;

pub const MULTIPROCESSORS: u32 = 132;
pub const CLOCK_KHZ: u32 = 1_980_000;
pub const MEMORY_BYTES: u64 = 80 << 30;
pub const NAME: &std::ffi::CStr = c"Simulated GPU (gpuprof tests)";

struct Devices {
    count: u32,
    major: u32,
    minor: u32,
}

fn devices() -> &'static Devices {
    static DEVICES: OnceLock<Devices> = OnceLock::new();
    DEVICES.get_or_init(|| {
        let capability = settings::text(c"SIM_CC").unwrap_or_default();
        let (major, minor) = capability.split_once('.').unwrap_or(("9", "0"));
        Devices {
            count: settings::number(c"SIM_DEVICES", 1) as u32,
            major: major.parse().unwrap_or(9),
            minor: minor.parse().unwrap_or(0),
        }
    })
}

pub fn count() -> u32 {
    devices().count
}

pub fn uuid(device: u32) -> [u8; 16] {
    let mut uuid = *b"gpuprof-sim-gpu0";
    uuid[15] = b'0'.wrapping_add(device as u8);
    uuid
}

/// `CUdevice_attribute`; unknown ones are 0.
pub fn attribute(attribute: i32, device: u32) -> i32 {
    match attribute {
        1..=3 => 1024,
        4 => 64,
        5 => i32::MAX,
        6 | 7 => 65535,
        8 => 49152,
        9 => 65536,
        10 => 32,
        11 => i32::MAX,
        12 | 82 => 65536,
        13 => CLOCK_KHZ as i32,
        14 => 512,
        15 | 31 | 41 | 83 | 89 | 91 | 115 => 1,
        16 => MULTIPROCESSORS as i32,
        33 => device as i32 + 1,
        36 => 2_619_000,
        37 => 5120,
        38 => 50 << 20,
        39 => 2048,
        40 => 3,
        75 => devices().major as i32,
        76 => devices().minor as i32,
        81 => 233_472,
        97 => 232_448,
        106 => 32,
        _ => 0,
    }
}

/// The version this driver claims: `SIM_DRIVER`, e.g. 12.4; default 13.5.
pub fn driver_version() -> i32 {
    let text = settings::text(c"SIM_DRIVER").unwrap_or_default();
    let (major, minor) = text.split_once('.').unwrap_or(("13", "5"));
    major.parse::<i32>().unwrap_or(13) * 1000 + minor.parse::<i32>().unwrap_or(5) * 10
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn sim_cuda_device(device: u32, out: *mut DeviceFacts) -> i32 {
    if device >= count() || out.is_null() {
        return 101;
    }
    let name: *const c_char = NAME.as_ptr();
    *out = DeviceFacts {
        name,
        uuid: uuid(device),
        memory_bytes: MEMORY_BYTES,
        multiprocessors: MULTIPROCESSORS,
        major: devices().major,
        minor: devices().minor,
        clock_khz: CLOCK_KHZ,
    };
    0
}
