//! What NVTX promises to a library that is injected into it: tables, slots, structures.
//!
//! Own declarations after the public headers of NVTX 3 (`nvToolsExt.h`, `nvtxDetail/nvtxTypes.h`; Apache-2.0 with the
//! LLVM exception). Slots and sizes have only ever grown, so what is asked for is bounded by the size that the caller
//! states, never by ours. Enumerations are plain integers: values that nobody knew yet are legal.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `wchar_t` of Linux: one Unicode scalar value each.
pub type Wide = u32;

/// Given to the injected library: the table with this number, or null.
pub type GetExportTable = unsafe extern "C" fn(u32) -> *const c_void;

/// An injected library's `InitializeInjectionNvtx2`: 0 means that it failed and NVTX stays off.
pub type InitializeInjection = unsafe extern "C" fn(Option<GetExportTable>) -> c_int;

/// `NVTX_ETID_CALLBACKS`.
pub const TABLE_CALLBACKS: u32 = 1;
/// `NVTX_ETID_VERSIONINFO`.
pub const TABLE_VERSION: u32 = 3;

/// An array of pointers to the function pointers that the program calls through; null entries are not to be set.
pub type Slots = *mut *mut *const c_void;

/// `NvtxExportTableCallbacks`.
#[repr(C)]
pub struct Callbacks {
    /// Bytes that this table has.
    pub struct_size: usize,
    /// The slots of one module and how many there are, slot 0 (never used) included; 0 where there is no such module.
    pub module_slots: Option<unsafe extern "C" fn(u32, *mut Slots, *mut c_uint) -> c_int>,
}

/// `NvtxExportTableVersionInfo`.
#[repr(C)]
pub struct VersionInfo {
    /// Bytes that this table has.
    pub struct_size: usize,
    /// `NVTX_VERSION` of the headers that the program was built with; 0 in the old libnvToolsExt.
    pub version: u32,
    /// Padding.
    pub reserved: u32,
    /// Tells NVTX which version the injected library understands.
    pub set_injection_version: Option<unsafe extern "C" fn(u32)>,
}

/// The version these declarations follow.
pub const VERSION: u32 = 3;

/// A group of functions with slots of its own: `NvtxCallbackModule`. OpenCL (3) and synchronisation objects (6) say
/// nothing that a trace of ours can hold and are left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Module {
    /// The functions of NVTX 1: the default domain.
    Core = 1,
    /// Names of the driver's objects.
    Cuda = 2,
    /// Names of the runtime's objects.
    Cudart = 4,
    /// Domains, registered strings, resources.
    Core2 = 5,
}

/// More than any module has slots.
pub const MAX_SLOTS: usize = 16;

/// Slots of [`Module::Core`].
pub mod core {
    #![allow(missing_docs, reason = "each is the function of that name")]
    pub const MARK_EX: usize = 1;
    pub const MARK_A: usize = 2;
    pub const MARK_W: usize = 3;
    pub const RANGE_START_EX: usize = 4;
    pub const RANGE_START_A: usize = 5;
    pub const RANGE_START_W: usize = 6;
    pub const RANGE_END: usize = 7;
    pub const RANGE_PUSH_EX: usize = 8;
    pub const RANGE_PUSH_A: usize = 9;
    pub const RANGE_PUSH_W: usize = 10;
    pub const RANGE_POP: usize = 11;
    pub const NAME_CATEGORY_A: usize = 12;
    pub const NAME_CATEGORY_W: usize = 13;
    pub const NAME_OS_THREAD_A: usize = 14;
    pub const NAME_OS_THREAD_W: usize = 15;
}

/// Slots of [`Module::Core2`].
pub mod core2 {
    #![allow(missing_docs, reason = "each is the function of that name")]
    pub const DOMAIN_MARK_EX: usize = 1;
    pub const DOMAIN_RANGE_START_EX: usize = 2;
    pub const DOMAIN_RANGE_END: usize = 3;
    pub const DOMAIN_RANGE_PUSH_EX: usize = 4;
    pub const DOMAIN_RANGE_POP: usize = 5;
    pub const DOMAIN_RESOURCE_CREATE: usize = 6;
    pub const DOMAIN_RESOURCE_DESTROY: usize = 7;
    pub const DOMAIN_NAME_CATEGORY_A: usize = 8;
    pub const DOMAIN_NAME_CATEGORY_W: usize = 9;
    pub const DOMAIN_REGISTER_STRING_A: usize = 10;
    pub const DOMAIN_REGISTER_STRING_W: usize = 11;
    pub const DOMAIN_CREATE_A: usize = 12;
    pub const DOMAIN_CREATE_W: usize = 13;
    pub const DOMAIN_DESTROY: usize = 14;
    pub const INITIALIZE: usize = 15;
}

/// Slots of [`Module::Cuda`].
pub mod cuda {
    #![allow(missing_docs, reason = "each is the function of that name")]
    pub const NAME_DEVICE_A: usize = 1;
    pub const NAME_DEVICE_W: usize = 2;
    pub const NAME_CONTEXT_A: usize = 3;
    pub const NAME_CONTEXT_W: usize = 4;
    pub const NAME_STREAM_A: usize = 5;
    pub const NAME_STREAM_W: usize = 6;
    pub const NAME_EVENT_A: usize = 7;
    pub const NAME_EVENT_W: usize = 8;
}

/// Slots of [`Module::Cudart`].
pub mod cudart {
    #![allow(missing_docs, reason = "each is the function of that name")]
    pub const NAME_DEVICE_A: usize = 1;
    pub const NAME_DEVICE_W: usize = 2;
    pub const NAME_STREAM_A: usize = 3;
    pub const NAME_STREAM_W: usize = 4;
    pub const NAME_EVENT_A: usize = 5;
    pub const NAME_EVENT_W: usize = 6;
}

/// A domain, a registered string or a resource, as the program holds it: ours to choose, opaque to it.
pub type Handle = *mut c_void;

/// `NVTX_NO_PUSH_POP_TRACKING`: what push and pop answer when nobody keeps count.
pub const NO_TRACKING: c_int = -2;

/// `nvtxEventAttributes_v2`; version 1 is the same with fewer message and payload types.
///
/// Only the bytes that `size` covers may be read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EventAttributes {
    /// `NVTX_VERSION` of the caller.
    pub version: u16,
    /// Bytes of the structure as the caller knew it.
    pub size: u16,
    /// 0: none.
    pub category: u32,
    /// [`COLOR_ARGB`] or unused.
    pub color_type: i32,
    /// The colour.
    pub color: u32,
    /// One of `PAYLOAD_*`.
    pub payload_type: i32,
    /// Number of extended payloads, where the type says so.
    pub reserved: i32,
    /// A union: the bits of the value, in its first bytes.
    pub payload: u64,
    /// One of `MESSAGE_*`.
    pub message_type: i32,
    /// Padding, made by the union of pointers that follows.
    pub padding: u32,
    /// A union: pointer to the text, or the handle of a registered string.
    pub message: *const c_void,
}

/// `NVTX_COLOR_ARGB`.
pub const COLOR_ARGB: i32 = 1;

/// `char` text.
pub const MESSAGE_ASCII: i32 = 1;
/// `wchar_t` text.
pub const MESSAGE_WIDE: i32 = 2;
/// A handle of `nvtxDomainRegisterString`.
pub const MESSAGE_REGISTERED: i32 = 3;

/// `uint64_t`.
pub const PAYLOAD_U64: i32 = 1;
/// `int64_t`.
pub const PAYLOAD_I64: i32 = 2;
/// `double`.
pub const PAYLOAD_F64: i32 = 3;
/// `uint32_t`.
pub const PAYLOAD_U32: i32 = 4;
/// `int32_t`.
pub const PAYLOAD_I32: i32 = 5;
/// `float`.
pub const PAYLOAD_F32: i32 = 6;

/// `nvtxResourceAttributes_v0`. Only the bytes that `size` covers may be read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ResourceAttributes {
    /// `NVTX_VERSION` of the caller.
    pub version: u16,
    /// Bytes of the structure as the caller knew it.
    pub size: u16,
    /// One of `RESOURCE_*`: class in the upper half, kind in the lower.
    pub identifier_type: i32,
    /// A union: pointer, or the bits of a number in its first bytes.
    pub identifier: u64,
    /// One of `MESSAGE_*`.
    pub message_type: i32,
    /// Padding, made by the union of pointers that follows.
    pub padding: u32,
    /// A union: pointer to the text, or the handle of a registered string.
    pub message: *const c_void,
}

/// The kernel's id of a thread.
pub const RESOURCE_THREAD: i32 = 0x1_0003;
/// `CUdevice`.
pub const RESOURCE_CU_DEVICE: i32 = 0x4_0001;
/// `CUcontext`.
pub const RESOURCE_CU_CONTEXT: i32 = 0x4_0002;
/// `CUstream`.
pub const RESOURCE_CU_STREAM: i32 = 0x4_0003;
/// `CUevent`.
pub const RESOURCE_CU_EVENT: i32 = 0x4_0004;
/// Device number of the runtime.
pub const RESOURCE_CUDA_DEVICE: i32 = 0x5_0000;
/// `cudaStream_t`, the same pointer as the driver's.
pub const RESOURCE_CUDA_STREAM: i32 = 0x5_0001;
/// `cudaEvent_t`, the same pointer as the driver's.
pub const RESOURCE_CUDA_EVENT: i32 = 0x5_0002;

/// `char` text of a program, ended by a zero byte.
pub type Text = *const c_char;

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn structures_are_laid_out_as_the_headers_have_them() {
        assert_eq!(size_of::<EventAttributes>(), 48);
        assert_eq!(offset_of!(EventAttributes, category), 4);
        assert_eq!(offset_of!(EventAttributes, color_type), 8);
        assert_eq!(offset_of!(EventAttributes, payload_type), 16);
        assert_eq!(offset_of!(EventAttributes, payload), 24);
        assert_eq!(offset_of!(EventAttributes, message_type), 32);
        assert_eq!(offset_of!(EventAttributes, message), 40);
        assert_eq!(size_of::<ResourceAttributes>(), 32);
        assert_eq!(offset_of!(ResourceAttributes, identifier), 8);
        assert_eq!(offset_of!(ResourceAttributes, message), 24);
        assert_eq!(size_of::<VersionInfo>(), 24);
        assert_eq!(offset_of!(VersionInfo, set_injection_version), 16);
    }
}
