//! What the simulated libcuda and libcupti say to each other. The real ones talk through `cuGetExportTable`; these use
//! the exported function `sim_cuda_attach`. Included by path into both crates, so that they cannot disagree.

use std::ffi::{c_char, c_void};

/// The driver's domain of callbacks.
pub const DRIVER: u32 = 1;
/// The runtime's domain of callbacks.
pub const RUNTIME: u32 = 2;

/// Resource callback ids (`CUpti_CallbackIdResource`).
pub mod resource {
    pub const CONTEXT_CREATED: u32 = 1;
    pub const CONTEXT_DESTROY_STARTING: u32 = 2;
    pub const STREAM_CREATED: u32 = 3;
    pub const STREAM_DESTROY_STARTING: u32 = 4;
    pub const CU_INIT_FINISHED: u32 = 5;
    pub const MODULE_LOADED: u32 = 6;
    pub const MODULE_UNLOAD_STARTING: u32 = 7;
    pub const GRAPH_CREATED: u32 = 9;
    pub const GRAPH_DESTROY_STARTING: u32 = 10;
    pub const GRAPHNODE_CREATED: u32 = 13;
    pub const GRAPHEXEC_CREATE_STARTING: u32 = 17;
    pub const GRAPHEXEC_CREATED: u32 = 18;
    pub const GRAPHEXEC_DESTROY_STARTING: u32 = 19;
}

/// One call of the driver or runtime API, from its enter to its exit. Lives on the caller's stack.
#[repr(C)]
pub struct ApiCall {
    pub domain: u32,
    pub cbid: u32,
    /// The function's name without suffixes, NUL-terminated.
    pub name: *const c_char,
    pub correlation: u32,
    pub result: i32,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Of the kernel, for launches.
    pub symbol: *const c_char,
    pub context: *mut c_void,
    pub context_uid: u32,
    /// 1 once the tool was told of the enter.
    pub entered: u32,
    /// What `correlationData` points to.
    pub correlation_data: u64,
    /// Calls of one thread nest.
    pub outer: *mut ApiCall,
}

/// What kind of work a [`Work`] is.
pub mod work {
    pub const KERNEL: u32 = 1;
    pub const MEMCPY: u32 = 2;
    pub const PEER_COPY: u32 = 3;
    pub const MEMSET: u32 = 4;
    pub const SYNC: u32 = 5;
    pub const EVENT: u32 = 6;
    pub const MEMORY: u32 = 7;
    pub const GRAPH: u32 = 8;
    pub const JIT: u32 = 9;
    pub const UVM: u32 = 10;
    pub const POOL: u32 = 11;
}

/// Something that a record is made of. Which fields mean something depends on `what`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Work {
    pub what: u32,
    pub device: u32,
    pub context: u32,
    pub stream: u32,
    pub correlation: u32,
    pub graph: u32,
    pub graph_node: u64,
    pub start_ns: u64,
    /// `u64::MAX`: never ends.
    pub end_ns: u64,
    pub queued_ns: u64,
    pub submitted_ns: u64,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub registers: u32,
    pub static_shared: u32,
    pub dynamic_shared: u32,
    pub local_per_thread: u32,
    pub local_total: u64,
    pub priority: i32,
    /// Kernel name, owned by its module; also the JIT cache's path.
    pub name: *const c_char,
    /// One number per function, never used again.
    pub name_key: u64,
    /// Bytes copied, set, or allocated; the counter's value.
    pub bytes: u64,
    pub address: u64,
    /// Copy kind, sync type, memory operation, UVM counter kind.
    pub kind: u32,
    pub src_kind: u32,
    pub dst_kind: u32,
    pub value: u32,
    pub flags: u32,
    pub src_device: u32,
    pub src_context: u32,
    pub dst_device: u32,
    pub dst_context: u32,
    pub event: u32,
    pub event_sync: u64,
    pub result: i32,
    /// Number of launches of this graph, kernels of this process…: a serial of `what`.
    pub serial: u64,
}

impl Work {
    /// Nothing at all of this kind.
    pub const fn new(what: u32) -> Work {
        Work {
            what,
            device: 0,
            context: 0,
            stream: 0,
            correlation: 0,
            graph: 0,
            graph_node: 0,
            start_ns: 0,
            end_ns: 0,
            queued_ns: 0,
            submitted_ns: 0,
            grid: [1; 3],
            block: [1; 3],
            cluster: [0; 3],
            registers: 0,
            static_shared: 0,
            dynamic_shared: 0,
            local_per_thread: 0,
            local_total: 0,
            priority: 0,
            name: std::ptr::null(),
            name_key: 0,
            bytes: 0,
            address: 0,
            kind: 0,
            src_kind: 0,
            dst_kind: 0,
            value: 0,
            flags: 0,
            src_device: 0,
            src_context: 0,
            dst_device: 0,
            dst_context: 0,
            event: u32::MAX,
            event_sync: 0,
            result: 0,
            serial: 0,
        }
    }
}

/// A context, stream, module, graph or the driver itself, for resource callbacks and for listing what exists.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Resource {
    pub cbid: u32,
    pub device: u32,
    pub context_uid: u32,
    pub stream_uid: u32,
    pub context: *mut c_void,
    pub stream: *mut c_void,
    /// Module, graph…; `resourceDescriptor` of the callback.
    pub object: *mut c_void,
    pub priority: i32,
    pub stream_flags: u32,
    pub correlation: u32,
    /// The first context of its device.
    pub first_of_device: u32,
}

/// What libcupti offers to libcuda. Never freed once attached.
#[repr(C)]
pub struct Tool {
    pub api_enter: unsafe extern "C" fn(*mut ApiCall),
    pub api_exit: unsafe extern "C" fn(*mut ApiCall),
    pub work: unsafe extern "C" fn(*const Work),
    pub resource: unsafe extern "C" fn(*const Resource),
    /// A stream (1) or context (2) was synchronised.
    pub synchronized: unsafe extern "C" fn(u32, *const Resource),
    /// Bit 0: nodes of graphs are not recorded, only whole launches. Bit 1: kernels are recorded.
    pub recording: unsafe extern "C" fn() -> u32,
    /// The driver is gone: exit handlers ran past it.
    pub deinitialized: unsafe extern "C" fn(),
}

/// Facts of a device, as the driver knows them.
#[repr(C)]
pub struct DeviceFacts {
    pub name: *const c_char,
    pub uuid: [u8; 16],
    pub memory_bytes: u64,
    pub multiprocessors: u32,
    pub major: u32,
    pub minor: u32,
    pub clock_khz: u32,
}

/// `sim_cuda_attach(tool)`: from now on the tool hears of everything.
pub type Attach = unsafe extern "C" fn(*const Tool) -> i32;
/// `sim_cuda_subscribe(tool)`: takes the process's one subscriber slot; null gives it back. 0 if someone has it.
pub type TakeSlot = unsafe extern "C" fn(*const Tool) -> i32;
/// `sim_cuda_now()`: the virtual clock.
pub type Now = unsafe extern "C" fn() -> u64;
/// `sim_cuda_list(each, data)`: every context and stream that exists.
pub type List = unsafe extern "C" fn(unsafe extern "C" fn(*const Resource, *mut c_void), *mut c_void);
/// `sim_cuda_device(index, out)`: 0 if there is such a device.
pub type Device = unsafe extern "C" fn(u32, *mut DeviceFacts) -> i32;
