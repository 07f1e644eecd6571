// Written by `cupti-sys/regenerate`; do not edit.

pub const CUPTI_SUCCESS: CUptiResult = 0;
pub const CUPTI_ERROR_INVALID_PARAMETER: CUptiResult = 1;
pub const CUPTI_ERROR_INVALID_DEVICE: CUptiResult = 2;
pub const CUPTI_ERROR_INVALID_CONTEXT: CUptiResult = 3;
pub const CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID: CUptiResult = 4;
pub const CUPTI_ERROR_INVALID_EVENT_ID: CUptiResult = 5;
pub const CUPTI_ERROR_INVALID_EVENT_NAME: CUptiResult = 6;
pub const CUPTI_ERROR_INVALID_OPERATION: CUptiResult = 7;
pub const CUPTI_ERROR_OUT_OF_MEMORY: CUptiResult = 8;
pub const CUPTI_ERROR_HARDWARE: CUptiResult = 9;
pub const CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT: CUptiResult = 10;
pub const CUPTI_ERROR_API_NOT_IMPLEMENTED: CUptiResult = 11;
pub const CUPTI_ERROR_MAX_LIMIT_REACHED: CUptiResult = 12;
pub const CUPTI_ERROR_NOT_READY: CUptiResult = 13;
pub const CUPTI_ERROR_NOT_COMPATIBLE: CUptiResult = 14;
pub const CUPTI_ERROR_NOT_INITIALIZED: CUptiResult = 15;
pub const CUPTI_ERROR_INVALID_METRIC_ID: CUptiResult = 16;
pub const CUPTI_ERROR_INVALID_METRIC_NAME: CUptiResult = 17;
pub const CUPTI_ERROR_QUEUE_EMPTY: CUptiResult = 18;
pub const CUPTI_ERROR_INVALID_HANDLE: CUptiResult = 19;
pub const CUPTI_ERROR_INVALID_STREAM: CUptiResult = 20;
pub const CUPTI_ERROR_INVALID_KIND: CUptiResult = 21;
pub const CUPTI_ERROR_INVALID_EVENT_VALUE: CUptiResult = 22;
pub const CUPTI_ERROR_DISABLED: CUptiResult = 23;
pub const CUPTI_ERROR_INVALID_MODULE: CUptiResult = 24;
pub const CUPTI_ERROR_INVALID_METRIC_VALUE: CUptiResult = 25;
pub const CUPTI_ERROR_HARDWARE_BUSY: CUptiResult = 26;
pub const CUPTI_ERROR_NOT_SUPPORTED: CUptiResult = 27;
pub const CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED: CUptiResult = 28;
pub const CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE: CUptiResult = 29;
pub const CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES: CUptiResult = 30;
pub const CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS: CUptiResult = 31;
pub const CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED: CUptiResult = 32;
pub const CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED: CUptiResult = 33;
pub const CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE: CUptiResult = 34;
pub const CUPTI_ERROR_INSUFFICIENT_PRIVILEGES: CUptiResult = 35;
pub const CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED: CUptiResult = 36;
pub const CUPTI_ERROR_OPENACC_UNDEFINED_ROUTINE: CUptiResult = 37;
pub const CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED: CUptiResult = 38;
pub const CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED: CUptiResult = 39;
pub const CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES: CUptiResult = 40;
pub const CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED: CUptiResult = 41;
pub const CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED: CUptiResult = 42;
pub const CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED: CUptiResult = 43;
pub const CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED: CUptiResult = 44;
pub const CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED: CUptiResult = 45;
pub const CUPTI_ERROR_INVALID_CHIP_NAME: CUptiResult = 46;
pub const CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS: CUptiResult = 47;
pub const CUPTI_ERROR_UNKNOWN: CUptiResult = 999;
pub type CUptiResult = core::ffi::c_uint;
pub type CUdevice = core::ffi::c_int;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUctx_st {
    _unused: [u8; 0],
}
pub type CUcontext = *mut CUctx_st;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUstream_st {
    _unused: [u8; 0],
}
pub type CUstream = *mut CUstream_st;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUgraph_st {
    _unused: [u8; 0],
}
pub type CUgraph = *mut CUgraph_st;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUgraphExec_st {
    _unused: [u8; 0],
}
pub type CUgraphExec = *mut CUgraphExec_st;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUgraphNode_st {
    _unused: [u8; 0],
}
pub type CUgraphNode = *mut CUgraphNode_st;
pub type CUgraphNodeType = core::ffi::c_int;
pub const CUPTI_API_ENTER: CUpti_ApiCallbackSite = 0;
pub const CUPTI_API_EXIT: CUpti_ApiCallbackSite = 1;
pub type CUpti_ApiCallbackSite = core::ffi::c_uint;
pub const CUPTI_CB_DOMAIN_INVALID: CUpti_CallbackDomain = 0;
pub const CUPTI_CB_DOMAIN_DRIVER_API: CUpti_CallbackDomain = 1;
pub const CUPTI_CB_DOMAIN_RUNTIME_API: CUpti_CallbackDomain = 2;
pub const CUPTI_CB_DOMAIN_RESOURCE: CUpti_CallbackDomain = 3;
pub const CUPTI_CB_DOMAIN_SYNCHRONIZE: CUpti_CallbackDomain = 4;
pub const CUPTI_CB_DOMAIN_NVTX: CUpti_CallbackDomain = 5;
pub const CUPTI_CB_DOMAIN_STATE: CUpti_CallbackDomain = 6;
pub type CUpti_CallbackDomain = core::ffi::c_uint;
pub const CUPTI_CBID_RESOURCE_INVALID: CUpti_CallbackIdResource = 0;
pub const CUPTI_CBID_RESOURCE_CONTEXT_CREATED: CUpti_CallbackIdResource = 1;
pub const CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING: CUpti_CallbackIdResource = 2;
pub const CUPTI_CBID_RESOURCE_STREAM_CREATED: CUpti_CallbackIdResource = 3;
pub const CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING: CUpti_CallbackIdResource = 4;
pub const CUPTI_CBID_RESOURCE_CU_INIT_FINISHED: CUpti_CallbackIdResource = 5;
pub const CUPTI_CBID_RESOURCE_MODULE_LOADED: CUpti_CallbackIdResource = 6;
pub const CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING: CUpti_CallbackIdResource = 7;
pub const CUPTI_CBID_RESOURCE_MODULE_PROFILED: CUpti_CallbackIdResource = 8;
pub const CUPTI_CBID_RESOURCE_GRAPH_CREATED: CUpti_CallbackIdResource = 9;
pub const CUPTI_CBID_RESOURCE_GRAPH_DESTROY_STARTING: CUpti_CallbackIdResource = 10;
pub const CUPTI_CBID_RESOURCE_GRAPH_CLONED: CUpti_CallbackIdResource = 11;
pub const CUPTI_CBID_RESOURCE_GRAPHNODE_CREATE_STARTING: CUpti_CallbackIdResource = 12;
pub const CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED: CUpti_CallbackIdResource = 13;
pub const CUPTI_CBID_RESOURCE_GRAPHNODE_DESTROY_STARTING: CUpti_CallbackIdResource = 14;
pub const CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_CREATED: CUpti_CallbackIdResource = 15;
pub const CUPTI_CBID_RESOURCE_GRAPHNODE_DEPENDENCY_DESTROY_STARTING: CUpti_CallbackIdResource = 16;
pub const CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATE_STARTING: CUpti_CallbackIdResource = 17;
pub const CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED: CUpti_CallbackIdResource = 18;
pub const CUPTI_CBID_RESOURCE_GRAPHEXEC_DESTROY_STARTING: CUpti_CallbackIdResource = 19;
pub const CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED: CUpti_CallbackIdResource = 20;
pub const CUPTI_CBID_RESOURCE_STREAM_ATTRIBUTE_CHANGED: CUpti_CallbackIdResource = 21;
pub const CUPTI_CBID_RESOURCE_GRAPH_NODE_UPDATED: CUpti_CallbackIdResource = 22;
pub const CUPTI_CBID_RESOURCE_GRAPH_NODE_SET_PARAMS: CUpti_CallbackIdResource = 23;
pub const CUPTI_CBID_RESOURCE_LOGICAL_ENDPOINT_CREATED: CUpti_CallbackIdResource = 24;
pub const CUPTI_CBID_RESOURCE_LOGICAL_ENDPOINT_DESTROYED: CUpti_CallbackIdResource = 25;
pub type CUpti_CallbackIdResource = core::ffi::c_uint;
pub const CUPTI_CBID_SYNCHRONIZE_INVALID: CUpti_CallbackIdSync = 0;
pub const CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED: CUpti_CallbackIdSync = 1;
pub const CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED: CUpti_CallbackIdSync = 2;
pub type CUpti_CallbackIdSync = core::ffi::c_uint;
pub const CUPTI_CBID_STATE_INVALID: CUpti_CallbackIdState = 0;
pub const CUPTI_CBID_STATE_FATAL_ERROR: CUpti_CallbackIdState = 1;
pub const CUPTI_CBID_STATE_ERROR: CUpti_CallbackIdState = 2;
pub const CUPTI_CBID_STATE_WARNING: CUpti_CallbackIdState = 3;
pub type CUpti_CallbackIdState = core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUpti_CallbackData {
    pub callbackSite: CUpti_ApiCallbackSite,
    pub functionName: *const core::ffi::c_char,
    pub functionParams: *const core::ffi::c_void,
    pub functionReturnValue: *mut core::ffi::c_void,
    pub symbolName: *const core::ffi::c_char,
    pub context: CUcontext,
    pub contextUid: u32,
    pub correlationData: *mut u64,
    pub correlationId: u32,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUpti_ResourceData {
    pub context: CUcontext,
    pub resourceHandle: CUpti_ResourceData__bindgen_ty_1,
    pub resourceDescriptor: *mut core::ffi::c_void,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union CUpti_ResourceData__bindgen_ty_1 {
    pub stream: CUstream,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUpti_ModuleResourceData {
    pub moduleId: u32,
    pub cubinSize: usize,
    pub pCubin: *const core::ffi::c_char,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUpti_GraphData {
    pub graph: CUgraph,
    pub originalGraph: CUgraph,
    pub node: CUgraphNode,
    pub originalNode: CUgraphNode,
    pub nodeType: CUgraphNodeType,
    pub dependency: CUgraphNode,
    pub graphExec: CUgraphExec,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUpti_SynchronizeData {
    pub context: CUcontext,
    pub stream: CUstream,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUpti_StateData {
    pub __bindgen_anon_1: CUpti_StateData__bindgen_ty_1,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub union CUpti_StateData__bindgen_ty_1 {
    pub notification: CUpti_StateData__bindgen_ty_1__bindgen_ty_1,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUpti_StateData__bindgen_ty_1__bindgen_ty_1 {
    pub result: CUptiResult,
    pub message: *const core::ffi::c_char,
}
pub type CUpti_CallbackId = u32;
pub type CUpti_CallbackFunc = ::core::option::Option<
    unsafe extern "C" fn(
        userdata: *mut core::ffi::c_void,
        domain: CUpti_CallbackDomain,
        cbid: CUpti_CallbackId,
        cbdata: *const core::ffi::c_void,
    ),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct CUpti_Subscriber_st {
    _unused: [u8; 0],
}
pub type CUpti_SubscriberHandle = *mut CUpti_Subscriber_st;
pub type CUpti_DomainTable = *mut CUpti_CallbackDomain;
pub const CUPTI_ACTIVITY_KIND_INVALID: CUpti_ActivityKind = 0;
pub const CUPTI_ACTIVITY_KIND_MEMCPY: CUpti_ActivityKind = 1;
pub const CUPTI_ACTIVITY_KIND_MEMSET: CUpti_ActivityKind = 2;
pub const CUPTI_ACTIVITY_KIND_KERNEL: CUpti_ActivityKind = 3;
pub const CUPTI_ACTIVITY_KIND_DRIVER: CUpti_ActivityKind = 4;
pub const CUPTI_ACTIVITY_KIND_RUNTIME: CUpti_ActivityKind = 5;
pub const CUPTI_ACTIVITY_KIND_EVENT: CUpti_ActivityKind = 6;
pub const CUPTI_ACTIVITY_KIND_METRIC: CUpti_ActivityKind = 7;
pub const CUPTI_ACTIVITY_KIND_DEVICE: CUpti_ActivityKind = 8;
pub const CUPTI_ACTIVITY_KIND_CONTEXT: CUpti_ActivityKind = 9;
pub const CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: CUpti_ActivityKind = 10;
pub const CUPTI_ACTIVITY_KIND_NAME: CUpti_ActivityKind = 11;
pub const CUPTI_ACTIVITY_KIND_MARKER: CUpti_ActivityKind = 12;
pub const CUPTI_ACTIVITY_KIND_MARKER_DATA: CUpti_ActivityKind = 13;
pub const CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR: CUpti_ActivityKind = 14;
pub const CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS: CUpti_ActivityKind = 15;
pub const CUPTI_ACTIVITY_KIND_BRANCH: CUpti_ActivityKind = 16;
pub const CUPTI_ACTIVITY_KIND_OVERHEAD: CUpti_ActivityKind = 17;
pub const CUPTI_ACTIVITY_KIND_CDP_KERNEL: CUpti_ActivityKind = 18;
pub const CUPTI_ACTIVITY_KIND_PREEMPTION: CUpti_ActivityKind = 19;
pub const CUPTI_ACTIVITY_KIND_ENVIRONMENT: CUpti_ActivityKind = 20;
pub const CUPTI_ACTIVITY_KIND_EVENT_INSTANCE: CUpti_ActivityKind = 21;
pub const CUPTI_ACTIVITY_KIND_MEMCPY2: CUpti_ActivityKind = 22;
pub const CUPTI_ACTIVITY_KIND_METRIC_INSTANCE: CUpti_ActivityKind = 23;
pub const CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION: CUpti_ActivityKind = 24;
pub const CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER: CUpti_ActivityKind = 25;
pub const CUPTI_ACTIVITY_KIND_FUNCTION: CUpti_ActivityKind = 26;
pub const CUPTI_ACTIVITY_KIND_MODULE: CUpti_ActivityKind = 27;
pub const CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE: CUpti_ActivityKind = 28;
pub const CUPTI_ACTIVITY_KIND_SHARED_ACCESS: CUpti_ActivityKind = 29;
pub const CUPTI_ACTIVITY_KIND_PC_SAMPLING: CUpti_ActivityKind = 30;
pub const CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO: CUpti_ActivityKind = 31;
pub const CUPTI_ACTIVITY_KIND_INSTRUCTION_CORRELATION: CUpti_ActivityKind = 32;
pub const CUPTI_ACTIVITY_KIND_OPENACC_DATA: CUpti_ActivityKind = 33;
pub const CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH: CUpti_ActivityKind = 34;
pub const CUPTI_ACTIVITY_KIND_OPENACC_OTHER: CUpti_ActivityKind = 35;
pub const CUPTI_ACTIVITY_KIND_CUDA_EVENT: CUpti_ActivityKind = 36;
pub const CUPTI_ACTIVITY_KIND_STREAM: CUpti_ActivityKind = 37;
pub const CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: CUpti_ActivityKind = 38;
pub const CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: CUpti_ActivityKind = 39;
pub const CUPTI_ACTIVITY_KIND_NVLINK: CUpti_ActivityKind = 40;
pub const CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT: CUpti_ActivityKind = 41;
pub const CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT_INSTANCE: CUpti_ActivityKind = 42;
pub const CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC: CUpti_ActivityKind = 43;
pub const CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC_INSTANCE: CUpti_ActivityKind = 44;
pub const CUPTI_ACTIVITY_KIND_MEMORY: CUpti_ActivityKind = 45;
pub const CUPTI_ACTIVITY_KIND_PCIE: CUpti_ActivityKind = 46;
pub const CUPTI_ACTIVITY_KIND_OPENMP: CUpti_ActivityKind = 47;
pub const CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API: CUpti_ActivityKind = 48;
pub const CUPTI_ACTIVITY_KIND_MEMORY2: CUpti_ActivityKind = 49;
pub const CUPTI_ACTIVITY_KIND_MEMORY_POOL: CUpti_ActivityKind = 50;
pub const CUPTI_ACTIVITY_KIND_GRAPH_TRACE: CUpti_ActivityKind = 51;
pub const CUPTI_ACTIVITY_KIND_JIT: CUpti_ActivityKind = 52;
pub const CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE: CUpti_ActivityKind = 53;
pub const CUPTI_ACTIVITY_KIND_MEM_DECOMPRESS: CUpti_ActivityKind = 54;
pub const CUPTI_ACTIVITY_KIND_CONFIDENTIAL_COMPUTE_ROTATION: CUpti_ActivityKind = 55;
pub const CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE: CUpti_ActivityKind = 56;
pub const CUPTI_ACTIVITY_KIND_COMPUTE_ENGINE_CTX_SWITCH: CUpti_ActivityKind = 57;
pub const CUPTI_ACTIVITY_KIND_HOST_LAUNCH: CUpti_ActivityKind = 58;
pub const CUPTI_ACTIVITY_KIND_GREEN_CONTEXT: CUpti_ActivityKind = 59;
pub type CUpti_ActivityKind = core::ffi::c_uint;
pub const CUPTI_ACTIVITY_OBJECT_UNKNOWN: CUpti_ActivityObjectKind = 0;
pub const CUPTI_ACTIVITY_OBJECT_PROCESS: CUpti_ActivityObjectKind = 1;
pub const CUPTI_ACTIVITY_OBJECT_THREAD: CUpti_ActivityObjectKind = 2;
pub const CUPTI_ACTIVITY_OBJECT_DEVICE: CUpti_ActivityObjectKind = 3;
pub const CUPTI_ACTIVITY_OBJECT_CONTEXT: CUpti_ActivityObjectKind = 4;
pub const CUPTI_ACTIVITY_OBJECT_STREAM: CUpti_ActivityObjectKind = 5;
pub type CUpti_ActivityObjectKind = core::ffi::c_uint;
pub const CUPTI_ACTIVITY_OVERHEAD_UNKNOWN: CUpti_ActivityOverheadKind = 0;
pub const CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER: CUpti_ActivityOverheadKind = 1;
pub const CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH: CUpti_ActivityOverheadKind = 65536;
pub const CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION: CUpti_ActivityOverheadKind = 131072;
pub const CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE: CUpti_ActivityOverheadKind = 196608;
pub const CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING: CUpti_ActivityOverheadKind = 262144;
pub const CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING: CUpti_ActivityOverheadKind = 327680;
pub const CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL: CUpti_ActivityOverheadKind = 393216;
pub const CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST: CUpti_ActivityOverheadKind = 458752;
pub const CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT: CUpti_ActivityOverheadKind = 524288;
pub type CUpti_ActivityOverheadKind = core::ffi::c_uint;
pub const CUPTI_ACTIVITY_FLAG_NONE: CUpti_ActivityFlag = 0;
pub const CUPTI_ACTIVITY_FLAG_DEVICE_CONCURRENT_KERNELS: CUpti_ActivityFlag = 1;
pub const CUPTI_ACTIVITY_FLAG_DEVICE_ATTRIBUTE_CUDEVICE: CUpti_ActivityFlag = 1;
pub const CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC: CUpti_ActivityFlag = 1;
pub const CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS: CUpti_ActivityFlag = 1;
pub const CUPTI_ACTIVITY_FLAG_MARKER_START: CUpti_ActivityFlag = 2;
pub const CUPTI_ACTIVITY_FLAG_MARKER_END: CUpti_ActivityFlag = 4;
pub const CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE: CUpti_ActivityFlag = 8;
pub const CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE_SUCCESS: CUpti_ActivityFlag = 16;
pub const CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE_FAILED: CUpti_ActivityFlag = 32;
pub const CUPTI_ACTIVITY_FLAG_MARKER_SYNC_RELEASE: CUpti_ActivityFlag = 64;
pub const CUPTI_ACTIVITY_FLAG_MARKER_COLOR_NONE: CUpti_ActivityFlag = 1;
pub const CUPTI_ACTIVITY_FLAG_MARKER_COLOR_ARGB: CUpti_ActivityFlag = 2;
pub const CUPTI_ACTIVITY_FLAG_GLOBAL_ACCESS_KIND_SIZE_MASK: CUpti_ActivityFlag = 255;
pub const CUPTI_ACTIVITY_FLAG_GLOBAL_ACCESS_KIND_LOAD: CUpti_ActivityFlag = 256;
pub const CUPTI_ACTIVITY_FLAG_GLOBAL_ACCESS_KIND_CACHED: CUpti_ActivityFlag = 512;
pub const CUPTI_ACTIVITY_FLAG_METRIC_OVERFLOWED: CUpti_ActivityFlag = 1;
pub const CUPTI_ACTIVITY_FLAG_METRIC_VALUE_INVALID: CUpti_ActivityFlag = 2;
pub const CUPTI_ACTIVITY_FLAG_INSTRUCTION_VALUE_INVALID: CUpti_ActivityFlag = 1;
pub const CUPTI_ACTIVITY_FLAG_INSTRUCTION_CLASS_MASK: CUpti_ActivityFlag = 510;
pub const CUPTI_ACTIVITY_FLAG_FLUSH_FORCED: CUpti_ActivityFlag = 1;
pub const CUPTI_ACTIVITY_FLAG_SHARED_ACCESS_KIND_SIZE_MASK: CUpti_ActivityFlag = 255;
pub const CUPTI_ACTIVITY_FLAG_SHARED_ACCESS_KIND_LOAD: CUpti_ActivityFlag = 256;
pub const CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC: CUpti_ActivityFlag = 1;
pub const CUPTI_ACTIVITY_FLAG_THRASHING_IN_CPU: CUpti_ActivityFlag = 1;
pub const CUPTI_ACTIVITY_FLAG_THROTTLING_IN_CPU: CUpti_ActivityFlag = 1;
pub type CUpti_ActivityFlag = core::ffi::c_uint;
pub const CUPTI_ACTIVITY_ENVIRONMENT_UNKNOWN: CUpti_ActivityEnvironmentKind = 0;
pub const CUPTI_ACTIVITY_ENVIRONMENT_SPEED: CUpti_ActivityEnvironmentKind = 1;
pub const CUPTI_ACTIVITY_ENVIRONMENT_TEMPERATURE: CUpti_ActivityEnvironmentKind = 2;
pub const CUPTI_ACTIVITY_ENVIRONMENT_POWER: CUpti_ActivityEnvironmentKind = 3;
pub const CUPTI_ACTIVITY_ENVIRONMENT_COOLING: CUpti_ActivityEnvironmentKind = 4;
pub type CUpti_ActivityEnvironmentKind = core::ffi::c_uint;
pub const CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_UNKNOWN: CUpti_ActivityUnifiedMemoryCounterScope = 0;
pub const CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE: CUpti_ActivityUnifiedMemoryCounterScope = 1;
pub const CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_ALL_DEVICES: CUpti_ActivityUnifiedMemoryCounterScope = 2;
pub type CUpti_ActivityUnifiedMemoryCounterScope = core::ffi::c_uint;
pub const CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_UNKNOWN: CUpti_ActivityUnifiedMemoryCounterKind = 0;
pub const CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD: CUpti_ActivityUnifiedMemoryCounterKind = 1;
pub const CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH: CUpti_ActivityUnifiedMemoryCounterKind = 2;
pub const CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT: CUpti_ActivityUnifiedMemoryCounterKind = 4;
pub const CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THRASHING: CUpti_ActivityUnifiedMemoryCounterKind = 5;
pub const CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_THROTTLING: CUpti_ActivityUnifiedMemoryCounterKind = 6;
pub const CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_REMOTE_MAP: CUpti_ActivityUnifiedMemoryCounterKind = 7;
pub const CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOD: CUpti_ActivityUnifiedMemoryCounterKind = 8;
pub type CUpti_ActivityUnifiedMemoryCounterKind = core::ffi::c_uint;
pub const CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN: CUpti_ActivityStreamFlag = 0;
pub const CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT: CUpti_ActivityStreamFlag = 1;
pub const CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING: CUpti_ActivityStreamFlag = 2;
pub const CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL: CUpti_ActivityStreamFlag = 3;
pub const CUPTI_ACTIVITY_STREAM_CREATE_MASK: CUpti_ActivityStreamFlag = 65535;
pub type CUpti_ActivityStreamFlag = core::ffi::c_uint;
#[repr(C)]
#[repr(align(8))]
#[derive(Debug, Copy, Clone)]
pub struct CUpti_ActivityUnifiedMemoryCounterConfig {
    pub scope: CUpti_ActivityUnifiedMemoryCounterScope,
    pub kind: CUpti_ActivityUnifiedMemoryCounterKind,
    pub deviceId: u32,
    pub enable: u32,
}
#[repr(C)]
#[repr(align(8))]
#[derive(Debug, Copy, Clone)]
pub struct CUpti_Activity {
    pub kind: CUpti_ActivityKind,
}
pub const CUPTI_EXTERNAL_CORRELATION_KIND_INVALID: CUpti_ExternalCorrelationKind = 0;
pub const CUPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN: CUpti_ExternalCorrelationKind = 1;
pub const CUPTI_EXTERNAL_CORRELATION_KIND_OPENACC: CUpti_ExternalCorrelationKind = 2;
pub const CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0: CUpti_ExternalCorrelationKind = 3;
pub const CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1: CUpti_ExternalCorrelationKind = 4;
pub const CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2: CUpti_ExternalCorrelationKind = 5;
pub type CUpti_ExternalCorrelationKind = core::ffi::c_uint;
pub const CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE: CUpti_ActivityAttribute = 0;
pub const CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_CDP: CUpti_ActivityAttribute = 1;
pub const CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT: CUpti_ActivityAttribute = 2;
pub const CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_SIZE: CUpti_ActivityAttribute = 3;
pub const CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_POOL_LIMIT: CUpti_ActivityAttribute = 4;
pub const CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER: CUpti_ActivityAttribute = 5;
pub const CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE: CUpti_ActivityAttribute = 6;
pub const CUPTI_ACTIVITY_ATTR_PROFILING_SEMAPHORE_PRE_ALLOCATE_VALUE: CUpti_ActivityAttribute = 7;
pub const CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED: CUpti_ActivityAttribute = 8;
pub const CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER: CUpti_ActivityAttribute = 9;
pub const CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE_DEVICE_GRAPHS: CUpti_ActivityAttribute = 10;
pub const CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS: CUpti_ActivityAttribute = 11;
pub const CUPTI_ACTIVITY_ATTR_MULTIPLE_SUBSCRIBER_STATE: CUpti_ActivityAttribute = 12;
pub const CUPTI_ACTIVITY_ATTR_ENABLE_HES: CUpti_ActivityAttribute = 13;
pub const CUPTI_ACTIVITY_ATTR_ENABLE_ALLOCATION_SOURCE_TRACKING: CUpti_ActivityAttribute = 14;
pub const CUPTI_ACTIVITY_ATTR_ENABLE_KERNEL_LATENCY_TIMESTAMPS: CUpti_ActivityAttribute = 15;
pub const CUPTI_ACTIVITY_ATTR_ENABLE_ALL_SYNC_RECORDS: CUpti_ActivityAttribute = 16;
pub const CUPTI_ACTIVITY_ATTR_ENABLE_CUDA_EVENT_DEVICE_TIMESTAMPS: CUpti_ActivityAttribute = 17;
pub const CUPTI_ACTIVITY_ATTR_ENABLE_KERNEL_LAUNCH_ATTRIBUTES: CUpti_ActivityAttribute = 18;
pub const CUPTI_ACTIVITY_ATTR_ENABLE_DEVICE_GRAPH_TRACE: CUpti_ActivityAttribute = 19;
pub const CUPTI_ACTIVITY_ATTR_ENABLE_MULTI_SUBSCRIBER_GRAPH_TRACE: CUpti_ActivityAttribute = 20;
pub const CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE: CUpti_ActivityAttribute = 21;
pub const CUPTI_ACTIVITY_ATTR_TIMESTAMP_CALLBACK: CUpti_ActivityAttribute = 22;
pub const CUPTI_ACTIVITY_ATTR_ENABLE_CIG_MODE: CUpti_ActivityAttribute = 23;
pub const CUPTI_ACTIVITY_ATTR_HES_BUFFER_SIZE: CUpti_ActivityAttribute = 24;
pub type CUpti_ActivityAttribute = core::ffi::c_uint;
pub const CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT: CUpti_ActivityThreadIdType = 0;
pub const CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM: CUpti_ActivityThreadIdType = 1;
pub type CUpti_ActivityThreadIdType = core::ffi::c_uint;
pub type CUpti_BuffersCallbackRequestFunc = ::core::option::Option<
    unsafe extern "C" fn(
        buffer: *mut *mut u8,
        size: *mut usize,
        maxNumRecords: *mut usize,
    ),
>;
pub type CUpti_BuffersCallbackCompleteFunc = ::core::option::Option<
    unsafe extern "C" fn(
        context: CUcontext,
        streamId: u32,
        buffer: *mut u8,
        size: usize,
        validSize: usize,
    ),
>;
pub type CUpti_TimestampCallbackFunc = ::core::option::Option<
    unsafe extern "C" fn() -> u64,
>;
pub type GetResultStringFn = unsafe extern "C" fn(
    result: CUptiResult,
    str_: *mut *const core::ffi::c_char,
) -> CUptiResult;
pub type GetErrorMessageFn = unsafe extern "C" fn(
    result: CUptiResult,
    str_: *mut *const core::ffi::c_char,
) -> CUptiResult;
pub type GetVersionFn = unsafe extern "C" fn(version: *mut u32) -> CUptiResult;
pub type SupportedDomainsFn = unsafe extern "C" fn(
    domainCount: *mut usize,
    domainTable: *mut CUpti_DomainTable,
) -> CUptiResult;
pub type SubscribeFn = unsafe extern "C" fn(
    subscriber: *mut CUpti_SubscriberHandle,
    callback: CUpti_CallbackFunc,
    userdata: *mut core::ffi::c_void,
) -> CUptiResult;
pub type UnsubscribeFn = unsafe extern "C" fn(
    subscriber: CUpti_SubscriberHandle,
) -> CUptiResult;
pub type GetCallbackStateFn = unsafe extern "C" fn(
    enable: *mut u32,
    subscriber: CUpti_SubscriberHandle,
    domain: CUpti_CallbackDomain,
    cbid: CUpti_CallbackId,
) -> CUptiResult;
pub type EnableCallbackFn = unsafe extern "C" fn(
    enable: u32,
    subscriber: CUpti_SubscriberHandle,
    domain: CUpti_CallbackDomain,
    cbid: CUpti_CallbackId,
) -> CUptiResult;
pub type EnableDomainFn = unsafe extern "C" fn(
    enable: u32,
    subscriber: CUpti_SubscriberHandle,
    domain: CUpti_CallbackDomain,
) -> CUptiResult;
pub type EnableAllDomainsFn = unsafe extern "C" fn(
    enable: u32,
    subscriber: CUpti_SubscriberHandle,
) -> CUptiResult;
pub type GetCallbackNameFn = unsafe extern "C" fn(
    domain: CUpti_CallbackDomain,
    cbid: u32,
    name: *mut *const core::ffi::c_char,
) -> CUptiResult;
pub type GetTimestampFn = unsafe extern "C" fn(timestamp: *mut u64) -> CUptiResult;
pub type GetContextIdFn = unsafe extern "C" fn(
    context: CUcontext,
    contextId: *mut u32,
) -> CUptiResult;
pub type GetStreamIdExFn = unsafe extern "C" fn(
    context: CUcontext,
    stream: CUstream,
    perThreadStream: u8,
    streamId: *mut u32,
) -> CUptiResult;
pub type GetDeviceIdFn = unsafe extern "C" fn(
    context: CUcontext,
    deviceId: *mut u32,
) -> CUptiResult;
pub type ActivityEnableFn = unsafe extern "C" fn(
    kind: CUpti_ActivityKind,
) -> CUptiResult;
pub type ActivityEnableAndDumpFn = unsafe extern "C" fn(
    kind: CUpti_ActivityKind,
) -> CUptiResult;
pub type ActivityDisableFn = unsafe extern "C" fn(
    kind: CUpti_ActivityKind,
) -> CUptiResult;
pub type ActivityGetStructSizeFn = unsafe extern "C" fn(
    activityKind: CUpti_ActivityKind,
    version: u32,
    activityStructSize: *mut usize,
) -> CUptiResult;
pub type ActivityGetNumDroppedRecordsFn = unsafe extern "C" fn(
    context: CUcontext,
    streamId: u32,
    dropped: *mut usize,
) -> CUptiResult;
pub type ActivityGetNextRecordFn = unsafe extern "C" fn(
    buffer: *mut u8,
    validBufferSizeBytes: usize,
    record: *mut *mut CUpti_Activity,
) -> CUptiResult;
pub type ActivityRegisterCallbacksFn = unsafe extern "C" fn(
    funcBufferRequested: CUpti_BuffersCallbackRequestFunc,
    funcBufferCompleted: CUpti_BuffersCallbackCompleteFunc,
) -> CUptiResult;
pub type ActivityFlushAllFn = unsafe extern "C" fn(flag: u32) -> CUptiResult;
pub type ActivityGetAttributeFn = unsafe extern "C" fn(
    attr: CUpti_ActivityAttribute,
    valueSize: *mut usize,
    value: *mut core::ffi::c_void,
) -> CUptiResult;
pub type ActivitySetAttributeFn = unsafe extern "C" fn(
    attr: CUpti_ActivityAttribute,
    valueSize: *mut usize,
    value: *mut core::ffi::c_void,
) -> CUptiResult;
pub type ActivityConfigureUnifiedMemoryCounterFn = unsafe extern "C" fn(
    config: *mut CUpti_ActivityUnifiedMemoryCounterConfig,
    count: u32,
) -> CUptiResult;
pub type GetLastErrorFn = unsafe extern "C" fn() -> CUptiResult;
pub type SetThreadIdTypeFn = unsafe extern "C" fn(
    type_: CUpti_ActivityThreadIdType,
) -> CUptiResult;
pub type GetThreadIdTypeFn = unsafe extern "C" fn(
    type_: *mut CUpti_ActivityThreadIdType,
) -> CUptiResult;
pub type ComputeCapabilitySupportedFn = unsafe extern "C" fn(
    major: core::ffi::c_int,
    minor: core::ffi::c_int,
    support: *mut core::ffi::c_int,
) -> CUptiResult;
pub type DeviceSupportedFn = unsafe extern "C" fn(
    dev: CUdevice,
    support: *mut core::ffi::c_int,
) -> CUptiResult;
pub type FinalizeFn = unsafe extern "C" fn() -> CUptiResult;
pub type ActivityPushExternalCorrelationIdFn = unsafe extern "C" fn(
    kind: CUpti_ExternalCorrelationKind,
    id: u64,
) -> CUptiResult;
pub type ActivityPopExternalCorrelationIdFn = unsafe extern "C" fn(
    kind: CUpti_ExternalCorrelationKind,
    lastId: *mut u64,
) -> CUptiResult;
pub type ActivityEnableLatencyTimestampsFn = unsafe extern "C" fn(
    enable: u8,
) -> CUptiResult;
pub type ActivityFlushPeriodFn = unsafe extern "C" fn(time: u32) -> CUptiResult;
pub type ActivityEnableLaunchAttributesFn = unsafe extern "C" fn(
    enable: u8,
) -> CUptiResult;
pub type ActivityRegisterTimestampCallbackFn = unsafe extern "C" fn(
    funcTimestamp: CUpti_TimestampCallbackFunc,
) -> CUptiResult;
pub type ActivityEnableDeviceGraphFn = unsafe extern "C" fn(enable: u8) -> CUptiResult;
pub type ActivityEnableDriverApiFn = unsafe extern "C" fn(
    cbid: CUpti_CallbackId,
    enable: u8,
) -> CUptiResult;
pub type ActivityEnableRuntimeApiFn = unsafe extern "C" fn(
    cbid: CUpti_CallbackId,
    enable: u8,
) -> CUptiResult;
pub type ActivityEnableHWTraceFn = unsafe extern "C" fn(enable: u8) -> CUptiResult;
pub type ActivityEnableAllocationSourceFn = unsafe extern "C" fn(
    enable: u8,
) -> CUptiResult;
pub type ActivityEnableAllSyncRecordsFn = unsafe extern "C" fn(
    enable: u8,
) -> CUptiResult;
pub type ActivityEnableCudaEventDeviceTimestampsFn = unsafe extern "C" fn(
    enable: u8,
) -> CUptiResult;
