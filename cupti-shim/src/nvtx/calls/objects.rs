//! Names that programs give to objects of CUDA.

use std::ffi::{c_char, c_int, c_void};

use super::{Function, forward};
use crate::nvtx::abi::{Wide, cuda, cudart};
use crate::nvtx::event::EventKind;
use crate::nvtx::record::{self, guarded};
use crate::nvtx::text::{ascii, wide};

/// Two functions for one kind of object: `char` and `wchar_t` names.
macro_rules! names {
    ($module:ident, $slot_a:expr, $slot_w:expr, $a:ident, $w:ident, $ty:ty, $kind:ident, $handle:expr) => {
        // SAFETY: NVTX demands texts that end in a zero.
        unsafe extern "C" fn $a(object: $ty, name: *const c_char) {
            forward!($module, $slot_a, unsafe extern "C" fn($ty, *const c_char), (object, name));
            let handle: fn($ty) -> u64 = $handle;
            guarded((), || unsafe {
                ascii(name, |text| record::name_object(EventKind::$kind, handle(object), text));
            });
        }

        // SAFETY: as above.
        unsafe extern "C" fn $w(object: $ty, name: *const Wide) {
            forward!($module, $slot_w, unsafe extern "C" fn($ty, *const Wide), (object, name));
            let handle: fn($ty) -> u64 = $handle;
            guarded((), || unsafe {
                wide(name, |text| record::name_object(EventKind::$kind, handle(object), text));
            });
        }
    };
}

names!(
    Cuda,
    cuda::NAME_DEVICE_A,
    cuda::NAME_DEVICE_W,
    name_cu_device_a,
    name_cu_device_w,
    c_int,
    Device,
    |device| u64::from(device.cast_unsigned())
);
names!(
    Cuda,
    cuda::NAME_CONTEXT_A,
    cuda::NAME_CONTEXT_W,
    name_cu_context_a,
    name_cu_context_w,
    *mut c_void,
    Context,
    |object| object as u64
);
names!(
    Cuda,
    cuda::NAME_STREAM_A,
    cuda::NAME_STREAM_W,
    name_cu_stream_a,
    name_cu_stream_w,
    *mut c_void,
    Stream,
    |object| object as u64
);
names!(
    Cuda,
    cuda::NAME_EVENT_A,
    cuda::NAME_EVENT_W,
    name_cu_event_a,
    name_cu_event_w,
    *mut c_void,
    CudaEvent,
    |object| object as u64
);

/// Slot and function, the driver's.
pub static CUDA: &[(usize, Function)] = &[
    (cuda::NAME_DEVICE_A, Function(name_cu_device_a as *const _)),
    (cuda::NAME_DEVICE_W, Function(name_cu_device_w as *const _)),
    (cuda::NAME_CONTEXT_A, Function(name_cu_context_a as *const _)),
    (cuda::NAME_CONTEXT_W, Function(name_cu_context_w as *const _)),
    (cuda::NAME_STREAM_A, Function(name_cu_stream_a as *const _)),
    (cuda::NAME_STREAM_W, Function(name_cu_stream_w as *const _)),
    (cuda::NAME_EVENT_A, Function(name_cu_event_a as *const _)),
    (cuda::NAME_EVENT_W, Function(name_cu_event_w as *const _)),
];

names!(
    Cudart,
    cudart::NAME_DEVICE_A,
    cudart::NAME_DEVICE_W,
    name_cuda_device_a,
    name_cuda_device_w,
    c_int,
    Device,
    |device| u64::from(device.cast_unsigned())
);
names!(
    Cudart,
    cudart::NAME_STREAM_A,
    cudart::NAME_STREAM_W,
    name_cuda_stream_a,
    name_cuda_stream_w,
    *mut c_void,
    Stream,
    |object| object as u64
);
names!(
    Cudart,
    cudart::NAME_EVENT_A,
    cudart::NAME_EVENT_W,
    name_cuda_event_a,
    name_cuda_event_w,
    *mut c_void,
    CudaEvent,
    |object| object as u64
);

/// Slot and function, the runtime's.
pub static CUDART: &[(usize, Function)] = &[
    (cudart::NAME_DEVICE_A, Function(name_cuda_device_a as *const _)),
    (cudart::NAME_DEVICE_W, Function(name_cuda_device_w as *const _)),
    (cudart::NAME_STREAM_A, Function(name_cuda_stream_a as *const _)),
    (cudart::NAME_STREAM_W, Function(name_cuda_stream_w as *const _)),
    (cudart::NAME_EVENT_A, Function(name_cuda_event_a as *const _)),
    (cudart::NAME_EVENT_W, Function(name_cuda_event_w as *const _)),
];
