//! Layouts of CUPTI's activity records, as numbers. Written by `scripts/gen_layouts.py`; do not edit.

use crate::{Field, PackageStrides};

/// Fields of each kind: what [`Field`] needs to know. Names are CUPTI's.
#[rustfmt::skip]
pub mod fields {
    #![allow(missing_docs)]
    use super::Field;
    pub mod memcpy {
        use super::Field;
        pub const KIND: u32 = 1;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const COPY_KIND: Field = Field::new(4, 1, 1107, 0);
        pub const SRC_KIND: Field = Field::new(5, 1, 1107, 0);
        pub const DST_KIND: Field = Field::new(6, 1, 1107, 0);
        pub const FLAGS: Field = Field::new(7, 1, 1107, 0);
        pub const BYTES: Field = Field::new(8, 8, 1107, 0);
        pub const START: Field = Field::new(16, 8, 1107, 0);
        pub const END: Field = Field::new(24, 8, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(32, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(36, 4, 1107, 0);
        pub const STREAM_ID: Field = Field::new(40, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(44, 4, 1107, 0);
        pub const RUNTIME_CORRELATION_ID: Field = Field::new(48, 4, 1107, 0);
        pub const GRAPH_NODE_ID: Field = Field::new(64, 8, 1107, 0);
        pub const GRAPH_ID: Field = Field::new(72, 4, 1107, 0);
        pub const CHANNEL_ID: Field = Field::new(76, 4, 1107, 0);
        pub const CHANNEL_TYPE: Field = Field::new(80, 4, 1107, 0);
        pub const IS_DEVICE_LAUNCHED: Field = Field::new(84, 1, 1300, 0);
        pub const COPY_COUNT: Field = Field::new(88, 8, 1208, 0);
        pub const SOURCE_GRAPH_ID: Field = Field::new(96, 4, 1304, 0);
        pub const SOURCE_GRAPH_NODE_ID: Field = Field::new(104, 8, 1304, 0);
    }
    pub mod memset {
        use super::Field;
        pub const KIND: u32 = 2;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const VALUE: Field = Field::new(4, 4, 1107, 0);
        pub const BYTES: Field = Field::new(8, 8, 1107, 0);
        pub const START: Field = Field::new(16, 8, 1107, 0);
        pub const END: Field = Field::new(24, 8, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(32, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(36, 4, 1107, 0);
        pub const STREAM_ID: Field = Field::new(40, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(44, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(48, 2, 1107, 0);
        pub const MEMORY_KIND: Field = Field::new(50, 2, 1107, 0);
        pub const GRAPH_NODE_ID: Field = Field::new(64, 8, 1107, 0);
        pub const GRAPH_ID: Field = Field::new(72, 4, 1107, 0);
        pub const CHANNEL_ID: Field = Field::new(76, 4, 1107, 0);
        pub const CHANNEL_TYPE: Field = Field::new(80, 4, 1107, 0);
        pub const IS_DEVICE_LAUNCHED: Field = Field::new(84, 1, 1300, 0);
        pub const SOURCE_GRAPH_ID: Field = Field::new(88, 4, 1304, 0);
        pub const SOURCE_GRAPH_NODE_ID: Field = Field::new(96, 8, 1304, 0);
    }
    pub mod kernel {
        use super::Field;
        pub const KIND: u32 = 3;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const CACHE_CONFIG_BOTH: Field = Field::new(4, 1, 1107, 0);
        pub const CACHE_CONFIG_CONFIG_EXECUTED: Field = Field::new(4, 1, 1107, 0);
        pub const CACHE_CONFIG_CONFIG_REQUESTED: Field = Field::new(4, 1, 1107, 0);
        pub const SHARED_MEMORY_CONFIG: Field = Field::new(5, 1, 1107, 0);
        pub const REGISTERS_PER_THREAD: Field = Field::new(6, 2, 1107, 0);
        pub const PARTITIONED_GLOBAL_CACHE_REQUESTED: Field = Field::new(8, 4, 1107, 0);
        pub const PARTITIONED_GLOBAL_CACHE_EXECUTED: Field = Field::new(12, 4, 1107, 0);
        pub const START: Field = Field::new(16, 8, 1107, 0);
        pub const END: Field = Field::new(24, 8, 1107, 0);
        pub const COMPLETED: Field = Field::new(32, 8, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(40, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(44, 4, 1107, 0);
        pub const STREAM_ID: Field = Field::new(48, 4, 1107, 0);
        pub const GRID_X: Field = Field::new(52, 4, 1107, 0);
        pub const GRID_Y: Field = Field::new(56, 4, 1107, 0);
        pub const GRID_Z: Field = Field::new(60, 4, 1107, 0);
        pub const BLOCK_X: Field = Field::new(64, 4, 1107, 0);
        pub const BLOCK_Y: Field = Field::new(68, 4, 1107, 0);
        pub const BLOCK_Z: Field = Field::new(72, 4, 1107, 0);
        pub const STATIC_SHARED_MEMORY: Field = Field::new(76, 4, 1107, 0);
        pub const DYNAMIC_SHARED_MEMORY: Field = Field::new(80, 4, 1107, 0);
        pub const LOCAL_MEMORY_PER_THREAD: Field = Field::new(84, 4, 1107, 0);
        pub const LOCAL_MEMORY_TOTAL: Field = Field::new(88, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(92, 4, 1107, 0);
        pub const GRID_ID: Field = Field::new(96, 8, 1107, 0);
        pub const NAME: Field = Field::new(104, 8, 1107, 0);
        pub const QUEUED: Field = Field::new(120, 8, 1107, 0);
        pub const SUBMITTED: Field = Field::new(128, 8, 1107, 0);
        pub const LAUNCH_TYPE: Field = Field::new(136, 1, 1107, 0);
        pub const IS_SHARED_MEMORY_CARVEOUT_REQUESTED: Field = Field::new(137, 1, 1107, 0);
        pub const SHARED_MEMORY_CARVEOUT_REQUESTED: Field = Field::new(138, 1, 1107, 0);
        pub const SHARED_MEMORY_EXECUTED: Field = Field::new(140, 4, 1107, 0);
        pub const GRAPH_NODE_ID: Field = Field::new(144, 8, 1107, 0);
        pub const SHMEM_LIMIT_CONFIG: Field = Field::new(152, 4, 1107, 0);
        pub const GRAPH_ID: Field = Field::new(156, 4, 1107, 0);
        pub const P_ACCESS_POLICY_WINDOW: Field = Field::new(160, 8, 1107, 0);
        pub const CHANNEL_ID: Field = Field::new(168, 4, 1107, 0);
        pub const CHANNEL_TYPE: Field = Field::new(172, 4, 1107, 0);
        pub const CLUSTER_X: Field = Field::new(176, 4, 1108, 0);
        pub const CLUSTER_Y: Field = Field::new(180, 4, 1108, 0);
        pub const CLUSTER_Z: Field = Field::new(184, 4, 1108, 0);
        pub const CLUSTER_SCHEDULING_POLICY: Field = Field::new(188, 4, 1108, 0);
        pub const LOCAL_MEMORY_TOTAL_V2: Field = Field::new(192, 8, 1108, 0);
        pub const MAX_POTENTIAL_CLUSTER_SIZE: Field = Field::new(200, 4, 1200, 0);
        pub const MAX_ACTIVE_CLUSTERS: Field = Field::new(204, 4, 1200, 0);
        pub const IS_DEVICE_LAUNCHED: Field = Field::new(208, 1, 1300, 0);
        pub const PRIORITY: Field = Field::new(216, 4, 1301, 0);
        pub const EXECUTION_MODEL: Field = Field::new(224, 4, 1303, 0);
        pub const SOURCE_GRAPH_ID: Field = Field::new(232, 4, 1304, 0);
        pub const SOURCE_GRAPH_NODE_ID: Field = Field::new(240, 8, 1304, 0);
    }
    pub mod driver {
        use super::Field;
        pub const KIND: u32 = 4;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const CBID: Field = Field::new(4, 4, 1107, 0);
        pub const START: Field = Field::new(8, 8, 1107, 0);
        pub const END: Field = Field::new(16, 8, 1107, 0);
        pub const PROCESS_ID: Field = Field::new(24, 4, 1107, 0);
        pub const THREAD_ID: Field = Field::new(28, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(32, 4, 1107, 0);
        pub const RETURN_VALUE: Field = Field::new(36, 4, 1107, 0);
    }
    pub mod runtime {
        use super::Field;
        pub const KIND: u32 = 5;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const CBID: Field = Field::new(4, 4, 1107, 0);
        pub const START: Field = Field::new(8, 8, 1107, 0);
        pub const END: Field = Field::new(16, 8, 1107, 0);
        pub const PROCESS_ID: Field = Field::new(24, 4, 1107, 0);
        pub const THREAD_ID: Field = Field::new(28, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(32, 4, 1107, 0);
        pub const RETURN_VALUE: Field = Field::new(36, 4, 1107, 0);
    }
    pub mod event {
        use super::Field;
        pub const KIND: u32 = 6;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const ID: Field = Field::new(4, 4, 1107, 0);
        pub const VALUE: Field = Field::new(8, 8, 1107, 0);
        pub const DOMAIN: Field = Field::new(16, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(20, 4, 1107, 0);
    }
    pub mod metric {
        use super::Field;
        pub const KIND: u32 = 7;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const ID: Field = Field::new(4, 4, 1107, 0);
        pub const VALUE_METRIC_VALUE_DOUBLE: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_INT64: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_PERCENT: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_THROUGHPUT: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_UINT64: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_UTILIZATION_LEVEL: Field = Field::new(8, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(16, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(20, 1, 1107, 0);
    }
    pub mod device {
        use super::Field;
        pub const KIND: u32 = 8;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(4, 4, 1107, 0);
        pub const GLOBAL_MEMORY_BANDWIDTH: Field = Field::new(8, 8, 1107, 0);
        pub const GLOBAL_MEMORY_SIZE: Field = Field::new(16, 8, 1107, 0);
        pub const CONSTANT_MEMORY_SIZE: Field = Field::new(24, 4, 1107, 0);
        pub const L2_CACHE_SIZE: Field = Field::new(28, 4, 1107, 0);
        pub const NUM_THREADS_PER_WARP: Field = Field::new(32, 4, 1107, 0);
        pub const CORE_CLOCK_RATE: Field = Field::new(36, 4, 1107, 0);
        pub const NUM_MEMCPY_ENGINES: Field = Field::new(40, 4, 1107, 0);
        pub const NUM_MULTIPROCESSORS: Field = Field::new(44, 4, 1107, 0);
        pub const MAX_IPC: Field = Field::new(48, 4, 1107, 0);
        pub const MAX_WARPS_PER_MULTIPROCESSOR: Field = Field::new(52, 4, 1107, 0);
        pub const MAX_BLOCKS_PER_MULTIPROCESSOR: Field = Field::new(56, 4, 1107, 0);
        pub const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: Field = Field::new(60, 4, 1107, 0);
        pub const MAX_REGISTERS_PER_MULTIPROCESSOR: Field = Field::new(64, 4, 1107, 0);
        pub const MAX_REGISTERS_PER_BLOCK: Field = Field::new(68, 4, 1107, 0);
        pub const MAX_SHARED_MEMORY_PER_BLOCK: Field = Field::new(72, 4, 1107, 0);
        pub const MAX_THREADS_PER_BLOCK: Field = Field::new(76, 4, 1107, 0);
        pub const MAX_BLOCK_DIM_X: Field = Field::new(80, 4, 1107, 0);
        pub const MAX_BLOCK_DIM_Y: Field = Field::new(84, 4, 1107, 0);
        pub const MAX_BLOCK_DIM_Z: Field = Field::new(88, 4, 1107, 0);
        pub const MAX_GRID_DIM_X: Field = Field::new(92, 4, 1107, 0);
        pub const MAX_GRID_DIM_Y: Field = Field::new(96, 4, 1107, 0);
        pub const MAX_GRID_DIM_Z: Field = Field::new(100, 4, 1107, 0);
        pub const COMPUTE_CAPABILITY_MAJOR: Field = Field::new(104, 4, 1107, 0);
        pub const COMPUTE_CAPABILITY_MINOR: Field = Field::new(108, 4, 1107, 0);
        pub const ID: Field = Field::new(112, 4, 1107, 0);
        pub const ECC_ENABLED: Field = Field::new(116, 4, 1107, 0);
        pub const UUID_BYTES: Field = Field::new(120, 16, 1107, 0);
        pub const NAME: Field = Field::new(136, 8, 1107, 0);
        pub const IS_CUDA_VISIBLE: Field = Field::new(144, 1, 1107, 0);
        pub const IS_MIG_ENABLED: Field = Field::new(145, 1, 1107, 0);
        pub const GPU_INSTANCE_ID: Field = Field::new(152, 4, 1107, 0);
        pub const COMPUTE_INSTANCE_ID: Field = Field::new(156, 4, 1107, 0);
        pub const MIG_UUID_BYTES: Field = Field::new(160, 16, 1107, 0);
        pub const IS_NUMA_NODE: Field = Field::new(176, 4, 1202, 0);
        pub const NUMA_ID: Field = Field::new(180, 4, 1202, 0);
        pub const NUM_TPCS: Field = Field::new(184, 4, 1302, 0);
    }
    pub mod context {
        use super::Field;
        pub const KIND: u32 = 9;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(4, 4, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(8, 4, 1107, 0);
        pub const COMPUTE_API_KIND: Field = Field::new(12, 2, 1107, 0);
        pub const NULL_STREAM_ID: Field = Field::new(14, 2, 1107, 0);
        pub const PARENT_CONTEXT_ID: Field = Field::new(16, 4, 1204, 0);
        pub const IS_GREEN_CONTEXT: Field = Field::new(20, 1, 1204, 0);
        pub const NUM_MULTIPROCESSORS: Field = Field::new(22, 2, 1205, 0);
        pub const CIG_MODE: Field = Field::new(24, 4, 1205, 0);
        pub const PROCESS_ID: Field = Field::new(32, 8, 1301, 0);
    }
    pub mod concurrent_kernel {
        use super::Field;
        pub const KIND: u32 = 10;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const CACHE_CONFIG_BOTH: Field = Field::new(4, 1, 1107, 0);
        pub const CACHE_CONFIG_CONFIG_EXECUTED: Field = Field::new(4, 1, 1107, 0);
        pub const CACHE_CONFIG_CONFIG_REQUESTED: Field = Field::new(4, 1, 1107, 0);
        pub const SHARED_MEMORY_CONFIG: Field = Field::new(5, 1, 1107, 0);
        pub const REGISTERS_PER_THREAD: Field = Field::new(6, 2, 1107, 0);
        pub const PARTITIONED_GLOBAL_CACHE_REQUESTED: Field = Field::new(8, 4, 1107, 0);
        pub const PARTITIONED_GLOBAL_CACHE_EXECUTED: Field = Field::new(12, 4, 1107, 0);
        pub const START: Field = Field::new(16, 8, 1107, 0);
        pub const END: Field = Field::new(24, 8, 1107, 0);
        pub const COMPLETED: Field = Field::new(32, 8, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(40, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(44, 4, 1107, 0);
        pub const STREAM_ID: Field = Field::new(48, 4, 1107, 0);
        pub const GRID_X: Field = Field::new(52, 4, 1107, 0);
        pub const GRID_Y: Field = Field::new(56, 4, 1107, 0);
        pub const GRID_Z: Field = Field::new(60, 4, 1107, 0);
        pub const BLOCK_X: Field = Field::new(64, 4, 1107, 0);
        pub const BLOCK_Y: Field = Field::new(68, 4, 1107, 0);
        pub const BLOCK_Z: Field = Field::new(72, 4, 1107, 0);
        pub const STATIC_SHARED_MEMORY: Field = Field::new(76, 4, 1107, 0);
        pub const DYNAMIC_SHARED_MEMORY: Field = Field::new(80, 4, 1107, 0);
        pub const LOCAL_MEMORY_PER_THREAD: Field = Field::new(84, 4, 1107, 0);
        pub const LOCAL_MEMORY_TOTAL: Field = Field::new(88, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(92, 4, 1107, 0);
        pub const GRID_ID: Field = Field::new(96, 8, 1107, 0);
        pub const NAME: Field = Field::new(104, 8, 1107, 0);
        pub const QUEUED: Field = Field::new(120, 8, 1107, 0);
        pub const SUBMITTED: Field = Field::new(128, 8, 1107, 0);
        pub const LAUNCH_TYPE: Field = Field::new(136, 1, 1107, 0);
        pub const IS_SHARED_MEMORY_CARVEOUT_REQUESTED: Field = Field::new(137, 1, 1107, 0);
        pub const SHARED_MEMORY_CARVEOUT_REQUESTED: Field = Field::new(138, 1, 1107, 0);
        pub const SHARED_MEMORY_EXECUTED: Field = Field::new(140, 4, 1107, 0);
        pub const GRAPH_NODE_ID: Field = Field::new(144, 8, 1107, 0);
        pub const SHMEM_LIMIT_CONFIG: Field = Field::new(152, 4, 1107, 0);
        pub const GRAPH_ID: Field = Field::new(156, 4, 1107, 0);
        pub const P_ACCESS_POLICY_WINDOW: Field = Field::new(160, 8, 1107, 0);
        pub const CHANNEL_ID: Field = Field::new(168, 4, 1107, 0);
        pub const CHANNEL_TYPE: Field = Field::new(172, 4, 1107, 0);
        pub const CLUSTER_X: Field = Field::new(176, 4, 1108, 0);
        pub const CLUSTER_Y: Field = Field::new(180, 4, 1108, 0);
        pub const CLUSTER_Z: Field = Field::new(184, 4, 1108, 0);
        pub const CLUSTER_SCHEDULING_POLICY: Field = Field::new(188, 4, 1108, 0);
        pub const LOCAL_MEMORY_TOTAL_V2: Field = Field::new(192, 8, 1108, 0);
        pub const MAX_POTENTIAL_CLUSTER_SIZE: Field = Field::new(200, 4, 1200, 0);
        pub const MAX_ACTIVE_CLUSTERS: Field = Field::new(204, 4, 1200, 0);
        pub const IS_DEVICE_LAUNCHED: Field = Field::new(208, 1, 1300, 0);
        pub const PRIORITY: Field = Field::new(216, 4, 1301, 0);
        pub const EXECUTION_MODEL: Field = Field::new(224, 4, 1303, 0);
        pub const SOURCE_GRAPH_ID: Field = Field::new(232, 4, 1304, 0);
        pub const SOURCE_GRAPH_NODE_ID: Field = Field::new(240, 8, 1304, 0);
    }
    pub mod name {
        use super::Field;
        pub const KIND: u32 = 11;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const OBJECT_KIND: Field = Field::new(4, 4, 1107, 0);
        pub const OBJECT_ID_DCS_DEVICE_ID: Field = Field::new(8, 4, 1107, 0);
        pub const OBJECT_ID_PT_PROCESS_ID: Field = Field::new(8, 4, 1107, 0);
        pub const OBJECT_ID_DCS_CONTEXT_ID: Field = Field::new(12, 4, 1107, 0);
        pub const OBJECT_ID_PT_THREAD_ID: Field = Field::new(12, 4, 1107, 0);
        pub const OBJECT_ID_DCS_STREAM_ID: Field = Field::new(16, 4, 1107, 0);
        pub const NAME: Field = Field::new(24, 8, 1107, 0);
    }
    pub mod marker {
        use super::Field;
        pub const KIND: u32 = 12;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(4, 4, 1107, 0);
        pub const TIMESTAMP: Field = Field::new(8, 8, 1107, 0);
        pub const ID: Field = Field::new(16, 4, 1107, 0);
        pub const OBJECT_KIND: Field = Field::new(20, 4, 1107, 0);
        pub const OBJECT_ID_DCS_DEVICE_ID: Field = Field::new(24, 4, 1107, 0);
        pub const OBJECT_ID_PT_PROCESS_ID: Field = Field::new(24, 4, 1107, 0);
        pub const OBJECT_ID_DCS_CONTEXT_ID: Field = Field::new(28, 4, 1107, 0);
        pub const OBJECT_ID_PT_THREAD_ID: Field = Field::new(28, 4, 1107, 0);
        pub const OBJECT_ID_DCS_STREAM_ID: Field = Field::new(32, 4, 1107, 0);
        pub const NAME: Field = Field::new(40, 8, 1107, 0);
        pub const DOMAIN: Field = Field::new(48, 8, 1107, 0);
    }
    pub mod marker_data {
        use super::Field;
        pub const KIND: u32 = 13;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(4, 4, 1107, 0);
        pub const ID: Field = Field::new(8, 4, 1107, 0);
        pub const PAYLOAD_KIND: Field = Field::new(12, 4, 1107, 0);
        pub const PAYLOAD_METRIC_VALUE_DOUBLE: Field = Field::new(16, 8, 1107, 0);
        pub const PAYLOAD_METRIC_VALUE_INT64: Field = Field::new(16, 8, 1107, 0);
        pub const PAYLOAD_METRIC_VALUE_NVTX_EXTENDED_PAYLOAD: Field = Field::new(16, 8, 1300, 0);
        pub const PAYLOAD_METRIC_VALUE_PERCENT: Field = Field::new(16, 8, 1107, 0);
        pub const PAYLOAD_METRIC_VALUE_THROUGHPUT: Field = Field::new(16, 8, 1107, 0);
        pub const PAYLOAD_METRIC_VALUE_UINT64: Field = Field::new(16, 8, 1107, 0);
        pub const PAYLOAD_METRIC_VALUE_UTILIZATION_LEVEL: Field = Field::new(16, 4, 1107, 0);
        pub const COLOR: Field = Field::new(24, 4, 1107, 0);
        pub const CATEGORY: Field = Field::new(28, 4, 1107, 0);
        pub const CUPTI_DOMAIN_ID: Field = Field::new(32, 4, 1300, 0);
    }
    pub mod source_locator {
        use super::Field;
        pub const KIND: u32 = 14;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const ID: Field = Field::new(4, 4, 1107, 0);
        pub const LINE_NUMBER: Field = Field::new(8, 4, 1107, 0);
        pub const FILE_NAME: Field = Field::new(16, 8, 1107, 0);
    }
    pub mod global_access {
        use super::Field;
        pub const KIND: u32 = 15;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(4, 4, 1107, 0);
        pub const SOURCE_LOCATOR_ID: Field = Field::new(8, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(12, 4, 1107, 0);
        pub const FUNCTION_ID: Field = Field::new(16, 4, 1107, 0);
        pub const EXECUTED: Field = Field::new(20, 4, 1107, 0);
        pub const PC_OFFSET: Field = Field::new(24, 8, 1107, 0);
        pub const THREADS_EXECUTED: Field = Field::new(32, 8, 1107, 0);
        pub const L2_TRANSACTIONS: Field = Field::new(40, 8, 1107, 0);
        pub const THEORETICAL_L2_TRANSACTIONS: Field = Field::new(48, 8, 1107, 0);
    }
    pub mod branch {
        use super::Field;
        pub const KIND: u32 = 16;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const SOURCE_LOCATOR_ID: Field = Field::new(4, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(8, 4, 1107, 0);
        pub const FUNCTION_ID: Field = Field::new(12, 4, 1107, 0);
        pub const PC_OFFSET: Field = Field::new(16, 4, 1107, 0);
        pub const DIVERGED: Field = Field::new(20, 4, 1107, 0);
        pub const THREADS_EXECUTED: Field = Field::new(24, 8, 1107, 0);
        pub const EXECUTED: Field = Field::new(32, 4, 1107, 0);
    }
    pub mod overhead {
        use super::Field;
        pub const KIND: u32 = 17;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const OVERHEAD_KIND: Field = Field::new(4, 4, 1107, 0);
        pub const OBJECT_KIND: Field = Field::new(8, 4, 1107, 0);
        pub const OBJECT_ID_DCS_DEVICE_ID: Field = Field::new(12, 4, 1107, 0);
        pub const OBJECT_ID_PT_PROCESS_ID: Field = Field::new(12, 4, 1107, 0);
        pub const OBJECT_ID_DCS_CONTEXT_ID: Field = Field::new(16, 4, 1107, 0);
        pub const OBJECT_ID_PT_THREAD_ID: Field = Field::new(16, 4, 1107, 0);
        pub const OBJECT_ID_DCS_STREAM_ID: Field = Field::new(20, 4, 1107, 0);
        pub const START: Field = Field::new(24, 8, 1107, 0);
        pub const END: Field = Field::new(32, 8, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(40, 4, 1203, 0);
        pub const OVERHEAD_DATA: Field = Field::new(48, 8, 1204, 0);
    }
    pub mod cdp_kernel {
        use super::Field;
        pub const KIND: u32 = 18;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const CACHE_CONFIG_BOTH: Field = Field::new(4, 1, 1107, 0);
        pub const CACHE_CONFIG_CONFIG_EXECUTED: Field = Field::new(4, 1, 1107, 0);
        pub const CACHE_CONFIG_CONFIG_REQUESTED: Field = Field::new(4, 1, 1107, 0);
        pub const SHARED_MEMORY_CONFIG: Field = Field::new(5, 1, 1107, 0);
        pub const REGISTERS_PER_THREAD: Field = Field::new(6, 2, 1107, 0);
        pub const START: Field = Field::new(8, 8, 1107, 0);
        pub const END: Field = Field::new(16, 8, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(24, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(28, 4, 1107, 0);
        pub const STREAM_ID: Field = Field::new(32, 4, 1107, 0);
        pub const GRID_X: Field = Field::new(36, 4, 1107, 0);
        pub const GRID_Y: Field = Field::new(40, 4, 1107, 0);
        pub const GRID_Z: Field = Field::new(44, 4, 1107, 0);
        pub const BLOCK_X: Field = Field::new(48, 4, 1107, 0);
        pub const BLOCK_Y: Field = Field::new(52, 4, 1107, 0);
        pub const BLOCK_Z: Field = Field::new(56, 4, 1107, 0);
        pub const STATIC_SHARED_MEMORY: Field = Field::new(60, 4, 1107, 0);
        pub const DYNAMIC_SHARED_MEMORY: Field = Field::new(64, 4, 1107, 0);
        pub const LOCAL_MEMORY_PER_THREAD: Field = Field::new(68, 4, 1107, 0);
        pub const LOCAL_MEMORY_TOTAL: Field = Field::new(72, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(76, 4, 1107, 0);
        pub const GRID_ID: Field = Field::new(80, 8, 1107, 0);
        pub const PARENT_GRID_ID: Field = Field::new(88, 8, 1107, 0);
        pub const QUEUED: Field = Field::new(96, 8, 1107, 0);
        pub const SUBMITTED: Field = Field::new(104, 8, 1107, 0);
        pub const COMPLETED: Field = Field::new(112, 8, 1107, 0);
        pub const PARENT_BLOCK_X: Field = Field::new(120, 4, 1107, 0);
        pub const PARENT_BLOCK_Y: Field = Field::new(124, 4, 1107, 0);
        pub const PARENT_BLOCK_Z: Field = Field::new(128, 4, 1107, 0);
        pub const NAME: Field = Field::new(136, 8, 1107, 0);
    }
    pub mod preemption {
        use super::Field;
        pub const KIND: u32 = 19;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const PREEMPTION_KIND: Field = Field::new(4, 4, 1107, 0);
        pub const TIMESTAMP: Field = Field::new(8, 8, 1107, 0);
        pub const GRID_ID: Field = Field::new(16, 8, 1107, 0);
        pub const BLOCK_X: Field = Field::new(24, 4, 1107, 0);
        pub const BLOCK_Y: Field = Field::new(28, 4, 1107, 0);
        pub const BLOCK_Z: Field = Field::new(32, 4, 1107, 0);
    }
    pub mod environment {
        use super::Field;
        pub const KIND: u32 = 20;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(4, 4, 1107, 0);
        pub const TIMESTAMP: Field = Field::new(8, 8, 1107, 0);
        pub const ENVIRONMENT_KIND: Field = Field::new(16, 4, 1107, 0);
        pub const DATA_COOLING_FAN_SPEED: Field = Field::new(20, 4, 1107, 0);
        pub const DATA_POWER_POWER: Field = Field::new(20, 4, 1107, 0);
        pub const DATA_SPEED_SM_CLOCK: Field = Field::new(20, 4, 1107, 0);
        pub const DATA_TEMPERATURE_GPU_TEMPERATURE: Field = Field::new(20, 4, 1107, 0);
        pub const DATA_POWER_POWER_LIMIT: Field = Field::new(24, 4, 1107, 0);
        pub const DATA_SPEED_MEMORY_CLOCK: Field = Field::new(24, 4, 1107, 0);
        pub const DATA_SPEED_PCIE_LINK_GEN: Field = Field::new(28, 4, 1107, 0);
        pub const DATA_SPEED_PCIE_LINK_WIDTH: Field = Field::new(32, 4, 1107, 0);
        pub const DATA_SPEED_CLOCKS_THROTTLE_REASONS: Field = Field::new(36, 4, 1107, 0);
    }
    pub mod event_instance {
        use super::Field;
        pub const KIND: u32 = 21;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const ID: Field = Field::new(4, 4, 1107, 0);
        pub const DOMAIN: Field = Field::new(8, 4, 1107, 0);
        pub const INSTANCE: Field = Field::new(12, 4, 1107, 0);
        pub const VALUE: Field = Field::new(16, 8, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(24, 4, 1107, 0);
    }
    pub mod memcpy2 {
        use super::Field;
        pub const KIND: u32 = 22;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const COPY_KIND: Field = Field::new(4, 1, 1107, 0);
        pub const SRC_KIND: Field = Field::new(5, 1, 1107, 0);
        pub const DST_KIND: Field = Field::new(6, 1, 1107, 0);
        pub const FLAGS: Field = Field::new(7, 1, 1107, 0);
        pub const BYTES: Field = Field::new(8, 8, 1107, 0);
        pub const START: Field = Field::new(16, 8, 1107, 0);
        pub const END: Field = Field::new(24, 8, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(32, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(36, 4, 1107, 0);
        pub const STREAM_ID: Field = Field::new(40, 4, 1107, 0);
        pub const SRC_DEVICE_ID: Field = Field::new(44, 4, 1107, 0);
        pub const SRC_CONTEXT_ID: Field = Field::new(48, 4, 1107, 0);
        pub const DST_DEVICE_ID: Field = Field::new(52, 4, 1107, 0);
        pub const DST_CONTEXT_ID: Field = Field::new(56, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(60, 4, 1107, 0);
        pub const GRAPH_NODE_ID: Field = Field::new(72, 8, 1107, 0);
        pub const GRAPH_ID: Field = Field::new(80, 4, 1107, 0);
        pub const CHANNEL_ID: Field = Field::new(84, 4, 1107, 0);
        pub const CHANNEL_TYPE: Field = Field::new(88, 4, 1107, 0);
    }
    pub mod metric_instance {
        use super::Field;
        pub const KIND: u32 = 23;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const ID: Field = Field::new(4, 4, 1107, 0);
        pub const VALUE_METRIC_VALUE_DOUBLE: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_INT64: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_PERCENT: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_THROUGHPUT: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_UINT64: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_UTILIZATION_LEVEL: Field = Field::new(8, 4, 1107, 0);
        pub const INSTANCE: Field = Field::new(16, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(20, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(24, 1, 1107, 0);
    }
    pub mod instruction_execution {
        use super::Field;
        pub const KIND: u32 = 24;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(4, 4, 1107, 0);
        pub const SOURCE_LOCATOR_ID: Field = Field::new(8, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(12, 4, 1107, 0);
        pub const FUNCTION_ID: Field = Field::new(16, 4, 1107, 0);
        pub const PC_OFFSET: Field = Field::new(20, 4, 1107, 0);
        pub const THREADS_EXECUTED: Field = Field::new(24, 8, 1107, 0);
        pub const NOT_PRED_OFF_THREADS_EXECUTED: Field = Field::new(32, 8, 1107, 0);
        pub const EXECUTED: Field = Field::new(40, 4, 1107, 0);
    }
    pub mod unified_memory_counter {
        use super::Field;
        pub const KIND: u32 = 25;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const COUNTER_KIND: Field = Field::new(4, 4, 1107, 0);
        pub const VALUE: Field = Field::new(8, 8, 1107, 0);
        pub const START: Field = Field::new(16, 8, 1107, 0);
        pub const END: Field = Field::new(24, 8, 1107, 0);
        pub const ADDRESS: Field = Field::new(32, 8, 1107, 0);
        pub const SRC_ID: Field = Field::new(40, 4, 1107, 0);
        pub const DST_ID: Field = Field::new(44, 4, 1107, 0);
        pub const STREAM_ID: Field = Field::new(48, 4, 1107, 0);
        pub const PROCESS_ID: Field = Field::new(52, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(56, 4, 1107, 0);
        pub const PROCESSORS: Field = Field::new(64, 40, 1208, 0);
    }
    pub mod function {
        use super::Field;
        pub const KIND: u32 = 26;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const ID: Field = Field::new(4, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(8, 4, 1107, 0);
        pub const MODULE_ID: Field = Field::new(12, 4, 1107, 0);
        pub const FUNCTION_INDEX: Field = Field::new(16, 4, 1107, 0);
        pub const NAME: Field = Field::new(24, 8, 1107, 0);
    }
    pub mod module {
        use super::Field;
        pub const KIND: u32 = 27;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(4, 4, 1107, 0);
        pub const ID: Field = Field::new(8, 4, 1107, 0);
        pub const CUBIN_SIZE: Field = Field::new(12, 4, 1107, 0);
        pub const CUBIN: Field = Field::new(16, 8, 1107, 0);
    }
    pub mod device_attribute {
        use super::Field;
        pub const KIND: u32 = 28;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(4, 4, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(8, 4, 1107, 0);
        pub const ATTRIBUTE_CU: Field = Field::new(12, 4, 1107, 0);
        pub const ATTRIBUTE_CUPTI: Field = Field::new(12, 4, 1107, 0);
        pub const VALUE_V_DOUBLE: Field = Field::new(16, 8, 1107, 0);
        pub const VALUE_V_INT32: Field = Field::new(16, 4, 1107, 0);
        pub const VALUE_V_INT64: Field = Field::new(16, 8, 1107, 0);
        pub const VALUE_V_UINT32: Field = Field::new(16, 4, 1107, 0);
        pub const VALUE_V_UINT64: Field = Field::new(16, 8, 1107, 0);
    }
    pub mod shared_access {
        use super::Field;
        pub const KIND: u32 = 29;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(4, 4, 1107, 0);
        pub const SOURCE_LOCATOR_ID: Field = Field::new(8, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(12, 4, 1107, 0);
        pub const FUNCTION_ID: Field = Field::new(16, 4, 1107, 0);
        pub const PC_OFFSET: Field = Field::new(20, 4, 1107, 0);
        pub const THREADS_EXECUTED: Field = Field::new(24, 8, 1107, 0);
        pub const SHARED_TRANSACTIONS: Field = Field::new(32, 8, 1107, 0);
        pub const THEORETICAL_SHARED_TRANSACTIONS: Field = Field::new(40, 8, 1107, 0);
        pub const EXECUTED: Field = Field::new(48, 4, 1107, 0);
    }
    pub mod pc_sampling {
        use super::Field;
        pub const KIND: u32 = 30;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(4, 4, 1107, 0);
        pub const SOURCE_LOCATOR_ID: Field = Field::new(8, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(12, 4, 1107, 0);
        pub const FUNCTION_ID: Field = Field::new(16, 4, 1107, 0);
        pub const LATENCY_SAMPLES: Field = Field::new(20, 4, 1107, 0);
        pub const SAMPLES: Field = Field::new(24, 4, 1107, 0);
        pub const STALL_REASON: Field = Field::new(28, 4, 1107, 0);
        pub const PC_OFFSET: Field = Field::new(32, 8, 1107, 0);
    }
    pub mod pc_sampling_record_info {
        use super::Field;
        pub const KIND: u32 = 31;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(4, 4, 1107, 0);
        pub const TOTAL_SAMPLES: Field = Field::new(8, 8, 1107, 0);
        pub const DROPPED_SAMPLES: Field = Field::new(16, 8, 1107, 0);
        pub const SAMPLING_PERIOD_IN_CYCLES: Field = Field::new(24, 8, 1107, 0);
    }
    pub mod instruction_correlation {
        use super::Field;
        pub const KIND: u32 = 32;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(4, 4, 1107, 0);
        pub const SOURCE_LOCATOR_ID: Field = Field::new(8, 4, 1107, 0);
        pub const FUNCTION_ID: Field = Field::new(12, 4, 1107, 0);
        pub const PC_OFFSET: Field = Field::new(16, 4, 1107, 0);
    }
    pub mod openacc_data {
        use super::Field;
        pub const KIND: u32 = 33;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const EVENT_KIND: Field = Field::new(4, 4, 1107, 0);
        pub const PARENT_CONSTRUCT: Field = Field::new(8, 4, 1107, 0);
        pub const VERSION: Field = Field::new(12, 4, 1107, 0);
        pub const IMPLICIT: Field = Field::new(16, 4, 1107, 0);
        pub const DEVICE_TYPE: Field = Field::new(20, 4, 1107, 0);
        pub const DEVICE_NUMBER: Field = Field::new(24, 4, 1107, 0);
        pub const THREAD_ID: Field = Field::new(28, 4, 1107, 0);
        pub const ASYNC: Field = Field::new(32, 8, 1107, 0);
        pub const ASYNC_MAP: Field = Field::new(40, 8, 1107, 0);
        pub const LINE_NO: Field = Field::new(48, 4, 1107, 0);
        pub const END_LINE_NO: Field = Field::new(52, 4, 1107, 0);
        pub const FUNC_LINE_NO: Field = Field::new(56, 4, 1107, 0);
        pub const FUNC_END_LINE_NO: Field = Field::new(60, 4, 1107, 0);
        pub const START: Field = Field::new(64, 8, 1107, 0);
        pub const END: Field = Field::new(72, 8, 1107, 0);
        pub const CU_DEVICE_ID: Field = Field::new(80, 4, 1107, 0);
        pub const CU_CONTEXT_ID: Field = Field::new(84, 4, 1107, 0);
        pub const CU_STREAM_ID: Field = Field::new(88, 4, 1107, 0);
        pub const CU_PROCESS_ID: Field = Field::new(92, 4, 1107, 0);
        pub const CU_THREAD_ID: Field = Field::new(96, 4, 1107, 0);
        pub const EXTERNAL_ID: Field = Field::new(100, 4, 1107, 0);
        pub const SRC_FILE: Field = Field::new(104, 8, 1107, 0);
        pub const FUNC_NAME: Field = Field::new(112, 8, 1107, 0);
        pub const BYTES: Field = Field::new(120, 8, 1107, 0);
        pub const HOST_PTR: Field = Field::new(128, 8, 1107, 0);
        pub const DEVICE_PTR: Field = Field::new(136, 8, 1107, 0);
        pub const VAR_NAME: Field = Field::new(144, 8, 1107, 0);
    }
    pub mod openacc_launch {
        use super::Field;
        pub const KIND: u32 = 34;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const EVENT_KIND: Field = Field::new(4, 4, 1107, 0);
        pub const PARENT_CONSTRUCT: Field = Field::new(8, 4, 1107, 0);
        pub const VERSION: Field = Field::new(12, 4, 1107, 0);
        pub const IMPLICIT: Field = Field::new(16, 4, 1107, 0);
        pub const DEVICE_TYPE: Field = Field::new(20, 4, 1107, 0);
        pub const DEVICE_NUMBER: Field = Field::new(24, 4, 1107, 0);
        pub const THREAD_ID: Field = Field::new(28, 4, 1107, 0);
        pub const ASYNC: Field = Field::new(32, 8, 1107, 0);
        pub const ASYNC_MAP: Field = Field::new(40, 8, 1107, 0);
        pub const LINE_NO: Field = Field::new(48, 4, 1107, 0);
        pub const END_LINE_NO: Field = Field::new(52, 4, 1107, 0);
        pub const FUNC_LINE_NO: Field = Field::new(56, 4, 1107, 0);
        pub const FUNC_END_LINE_NO: Field = Field::new(60, 4, 1107, 0);
        pub const START: Field = Field::new(64, 8, 1107, 0);
        pub const END: Field = Field::new(72, 8, 1107, 0);
        pub const CU_DEVICE_ID: Field = Field::new(80, 4, 1107, 0);
        pub const CU_CONTEXT_ID: Field = Field::new(84, 4, 1107, 0);
        pub const CU_STREAM_ID: Field = Field::new(88, 4, 1107, 0);
        pub const CU_PROCESS_ID: Field = Field::new(92, 4, 1107, 0);
        pub const CU_THREAD_ID: Field = Field::new(96, 4, 1107, 0);
        pub const EXTERNAL_ID: Field = Field::new(100, 4, 1107, 0);
        pub const SRC_FILE: Field = Field::new(104, 8, 1107, 0);
        pub const FUNC_NAME: Field = Field::new(112, 8, 1107, 0);
        pub const NUM_GANGS: Field = Field::new(120, 8, 1107, 0);
        pub const NUM_WORKERS: Field = Field::new(128, 8, 1107, 0);
        pub const VECTOR_LENGTH: Field = Field::new(136, 8, 1107, 0);
        pub const KERNEL_NAME: Field = Field::new(144, 8, 1107, 0);
    }
    pub mod openacc_other {
        use super::Field;
        pub const KIND: u32 = 35;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const EVENT_KIND: Field = Field::new(4, 4, 1107, 0);
        pub const PARENT_CONSTRUCT: Field = Field::new(8, 4, 1107, 0);
        pub const VERSION: Field = Field::new(12, 4, 1107, 0);
        pub const IMPLICIT: Field = Field::new(16, 4, 1107, 0);
        pub const DEVICE_TYPE: Field = Field::new(20, 4, 1107, 0);
        pub const DEVICE_NUMBER: Field = Field::new(24, 4, 1107, 0);
        pub const THREAD_ID: Field = Field::new(28, 4, 1107, 0);
        pub const ASYNC: Field = Field::new(32, 8, 1107, 0);
        pub const ASYNC_MAP: Field = Field::new(40, 8, 1107, 0);
        pub const LINE_NO: Field = Field::new(48, 4, 1107, 0);
        pub const END_LINE_NO: Field = Field::new(52, 4, 1107, 0);
        pub const FUNC_LINE_NO: Field = Field::new(56, 4, 1107, 0);
        pub const FUNC_END_LINE_NO: Field = Field::new(60, 4, 1107, 0);
        pub const START: Field = Field::new(64, 8, 1107, 0);
        pub const END: Field = Field::new(72, 8, 1107, 0);
        pub const CU_DEVICE_ID: Field = Field::new(80, 4, 1107, 0);
        pub const CU_CONTEXT_ID: Field = Field::new(84, 4, 1107, 0);
        pub const CU_STREAM_ID: Field = Field::new(88, 4, 1107, 0);
        pub const CU_PROCESS_ID: Field = Field::new(92, 4, 1107, 0);
        pub const CU_THREAD_ID: Field = Field::new(96, 4, 1107, 0);
        pub const EXTERNAL_ID: Field = Field::new(100, 4, 1107, 0);
        pub const SRC_FILE: Field = Field::new(104, 8, 1107, 0);
        pub const FUNC_NAME: Field = Field::new(112, 8, 1107, 0);
    }
    pub mod cuda_event {
        use super::Field;
        pub const KIND: u32 = 36;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(4, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(8, 4, 1107, 0);
        pub const STREAM_ID: Field = Field::new(12, 4, 1107, 0);
        pub const EVENT_ID: Field = Field::new(16, 4, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(24, 4, 1208, 0);
        pub const DEVICE_TIMESTAMP: Field = Field::new(40, 8, 1208, 0);
        pub const CUDA_EVENT_SYNC_ID: Field = Field::new(48, 8, 1208, 0);
        pub const GRAPH_NODE_ID: Field = Field::new(56, 8, 1305, 0);
        pub const GRAPH_ID: Field = Field::new(64, 4, 1305, 0);
        pub const SOURCE_GRAPH_ID: Field = Field::new(68, 4, 1305, 0);
        pub const SOURCE_GRAPH_NODE_ID: Field = Field::new(72, 8, 1305, 0);
    }
    pub mod stream {
        use super::Field;
        pub const KIND: u32 = 37;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(4, 4, 1107, 0);
        pub const STREAM_ID: Field = Field::new(8, 4, 1107, 0);
        pub const PRIORITY: Field = Field::new(12, 4, 1107, 0);
        pub const FLAG: Field = Field::new(16, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(20, 4, 1107, 0);
    }
    pub mod synchronization {
        use super::Field;
        pub const KIND: u32 = 38;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const TYPE: Field = Field::new(4, 4, 1107, 0);
        pub const START: Field = Field::new(8, 8, 1107, 0);
        pub const END: Field = Field::new(16, 8, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(24, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(28, 4, 1107, 0);
        pub const STREAM_ID: Field = Field::new(32, 4, 1107, 0);
        pub const CUDA_EVENT_ID: Field = Field::new(36, 4, 1107, 0);
        pub const CUDA_EVENT_SYNC_ID: Field = Field::new(40, 8, 1208, 0);
        pub const RETURN_VALUE: Field = Field::new(48, 4, 1208, 0);
    }
    pub mod external_correlation {
        use super::Field;
        pub const KIND: u32 = 39;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const EXTERNAL_KIND: Field = Field::new(4, 4, 1107, 0);
        pub const EXTERNAL_ID: Field = Field::new(8, 8, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(16, 4, 1107, 0);
    }
    pub mod nvlink {
        use super::Field;
        pub const KIND: u32 = 40;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const NVLINK_VERSION: Field = Field::new(4, 4, 1107, 0);
        pub const TYPE_DEV0: Field = Field::new(8, 4, 1107, 0);
        pub const TYPE_DEV1: Field = Field::new(12, 4, 1107, 0);
        pub const ID_DEV0_NPU_INDEX: Field = Field::new(16, 4, 1107, 0);
        pub const ID_DEV0_UUID_DEV_BYTES: Field = Field::new(16, 16, 1107, 0);
        pub const ID_DEV0_NPU_DOMAIN_ID: Field = Field::new(20, 4, 1107, 0);
        pub const ID_DEV1_NPU_INDEX: Field = Field::new(32, 4, 1107, 0);
        pub const ID_DEV1_UUID_DEV_BYTES: Field = Field::new(32, 16, 1107, 0);
        pub const ID_DEV1_NPU_DOMAIN_ID: Field = Field::new(36, 4, 1107, 0);
        pub const FLAG: Field = Field::new(48, 4, 1107, 0);
        pub const PHYSICAL_NV_LINK_COUNT: Field = Field::new(52, 4, 1107, 0);
        pub const PORT_DEV0_UNTIL_1301: Field = Field::new(56, 32, 1107, 1301);
        pub const PORT_DEV0: Field = Field::new(56, 8, 1302, 0);
        pub const PORT_DEV1: Field = Field::new(64, 8, 1302, 0);
        pub const BANDWIDTH: Field = Field::new(72, 8, 1302, 0);
        pub const NVSWITCH_CONNECTED: Field = Field::new(80, 1, 1302, 0);
        pub const PORT_DEV1_UNTIL_1301: Field = Field::new(88, 32, 1107, 1301);
        pub const BANDWIDTH_UNTIL_1301: Field = Field::new(120, 8, 1107, 1301);
        pub const NVSWITCH_CONNECTED_UNTIL_1301: Field = Field::new(128, 1, 1107, 1301);
    }
    pub mod instantaneous_event {
        use super::Field;
        pub const KIND: u32 = 41;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const ID: Field = Field::new(4, 4, 1107, 0);
        pub const VALUE: Field = Field::new(8, 8, 1107, 0);
        pub const TIMESTAMP: Field = Field::new(16, 8, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(24, 4, 1107, 0);
    }
    pub mod instantaneous_event_instance {
        use super::Field;
        pub const KIND: u32 = 42;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const ID: Field = Field::new(4, 4, 1107, 0);
        pub const VALUE: Field = Field::new(8, 8, 1107, 0);
        pub const TIMESTAMP: Field = Field::new(16, 8, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(24, 4, 1107, 0);
        pub const INSTANCE: Field = Field::new(28, 1, 1107, 0);
    }
    pub mod instantaneous_metric {
        use super::Field;
        pub const KIND: u32 = 43;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const ID: Field = Field::new(4, 4, 1107, 0);
        pub const VALUE_METRIC_VALUE_DOUBLE: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_INT64: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_PERCENT: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_THROUGHPUT: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_UINT64: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_UTILIZATION_LEVEL: Field = Field::new(8, 4, 1107, 0);
        pub const TIMESTAMP: Field = Field::new(16, 8, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(24, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(28, 1, 1107, 0);
    }
    pub mod instantaneous_metric_instance {
        use super::Field;
        pub const KIND: u32 = 44;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const ID: Field = Field::new(4, 4, 1107, 0);
        pub const VALUE_METRIC_VALUE_DOUBLE: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_INT64: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_PERCENT: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_THROUGHPUT: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_UINT64: Field = Field::new(8, 8, 1107, 0);
        pub const VALUE_METRIC_VALUE_UTILIZATION_LEVEL: Field = Field::new(8, 4, 1107, 0);
        pub const TIMESTAMP: Field = Field::new(16, 8, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(24, 4, 1107, 0);
        pub const FLAGS: Field = Field::new(28, 1, 1107, 0);
        pub const INSTANCE: Field = Field::new(29, 1, 1107, 0);
    }
    pub mod memory {
        use super::Field;
        pub const KIND: u32 = 45;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const MEMORY_KIND: Field = Field::new(4, 4, 1107, 0);
        pub const ADDRESS: Field = Field::new(8, 8, 1107, 0);
        pub const BYTES: Field = Field::new(16, 8, 1107, 0);
        pub const START: Field = Field::new(24, 8, 1107, 0);
        pub const END: Field = Field::new(32, 8, 1107, 0);
        pub const ALLOC_PC: Field = Field::new(40, 8, 1107, 0);
        pub const FREE_PC: Field = Field::new(48, 8, 1107, 0);
        pub const PROCESS_ID: Field = Field::new(56, 4, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(60, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(64, 4, 1107, 0);
        pub const NAME: Field = Field::new(72, 8, 1107, 0);
    }
    pub mod pcie {
        use super::Field;
        pub const KIND: u32 = 46;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const TYPE: Field = Field::new(4, 4, 1107, 0);
        pub const ID_BRIDGE_ID: Field = Field::new(8, 4, 1107, 0);
        pub const ID_DEV_ID: Field = Field::new(8, 4, 1107, 0);
        pub const DOMAIN: Field = Field::new(12, 4, 1107, 0);
        pub const PCIE_GENERATION: Field = Field::new(16, 2, 1107, 0);
        pub const LINK_RATE: Field = Field::new(18, 2, 1107, 0);
        pub const LINK_WIDTH: Field = Field::new(20, 2, 1107, 0);
        pub const UPSTREAM_BUS: Field = Field::new(22, 2, 1107, 0);
        pub const ATTR_BRIDGE_ATTR_SECONDARY_BUS: Field = Field::new(24, 2, 1107, 0);
        pub const ATTR_GPU_ATTR_UUID_DEV_BYTES: Field = Field::new(24, 16, 1107, 0);
        pub const ATTR_BRIDGE_ATTR_DEVICE_ID: Field = Field::new(26, 2, 1107, 0);
        pub const ATTR_BRIDGE_ATTR_VENDOR_ID: Field = Field::new(28, 2, 1107, 0);
        pub const ATTR_GPU_ATTR_PEER_DEV: Field = Field::new(40, 128, 1107, 0);
    }
    pub mod openmp {
        use super::Field;
        pub const KIND: u32 = 47;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const EVENT_KIND: Field = Field::new(4, 4, 1107, 0);
        pub const VERSION: Field = Field::new(8, 4, 1107, 0);
        pub const THREAD_ID: Field = Field::new(12, 4, 1107, 0);
        pub const START: Field = Field::new(16, 8, 1107, 0);
        pub const END: Field = Field::new(24, 8, 1107, 0);
        pub const CU_PROCESS_ID: Field = Field::new(32, 4, 1107, 0);
        pub const CU_THREAD_ID: Field = Field::new(36, 4, 1107, 0);
    }
    pub mod internal_launch_api {
        use super::Field;
        pub const KIND: u32 = 48;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const CBID: Field = Field::new(4, 4, 1107, 0);
        pub const START: Field = Field::new(8, 8, 1107, 0);
        pub const END: Field = Field::new(16, 8, 1107, 0);
        pub const PROCESS_ID: Field = Field::new(24, 4, 1107, 0);
        pub const THREAD_ID: Field = Field::new(28, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(32, 4, 1107, 0);
        pub const RETURN_VALUE: Field = Field::new(36, 4, 1107, 0);
    }
    pub mod memory2 {
        use super::Field;
        pub const KIND: u32 = 49;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const MEMORY_OPERATION_TYPE: Field = Field::new(4, 4, 1107, 0);
        pub const MEMORY_KIND: Field = Field::new(8, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(12, 4, 1107, 0);
        pub const ADDRESS: Field = Field::new(16, 8, 1107, 0);
        pub const BYTES: Field = Field::new(24, 8, 1107, 0);
        pub const TIMESTAMP: Field = Field::new(32, 8, 1107, 0);
        pub const PC: Field = Field::new(40, 8, 1107, 0);
        pub const PROCESS_ID: Field = Field::new(48, 4, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(52, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(56, 4, 1107, 0);
        pub const STREAM_ID: Field = Field::new(60, 4, 1107, 0);
        pub const NAME: Field = Field::new(64, 8, 1107, 0);
        pub const IS_ASYNC: Field = Field::new(72, 4, 1107, 0);
        pub const MEMORY_POOL_CONFIG_MEMORY_POOL_TYPE: Field = Field::new(80, 4, 1107, 0);
        pub const MEMORY_POOL_CONFIG_ADDRESS: Field = Field::new(88, 8, 1107, 0);
        pub const MEMORY_POOL_CONFIG_RELEASE_THRESHOLD: Field = Field::new(96, 8, 1107, 0);
        pub const MEMORY_POOL_CONFIG_POOL_PROCESS_ID: Field = Field::new(104, 8, 1107, 0);
        pub const MEMORY_POOL_CONFIG_POOL_SIZE: Field = Field::new(104, 8, 1107, 0);
        pub const MEMORY_POOL_CONFIG_UTILIZED_SIZE: Field = Field::new(112, 8, 1107, 0);
        pub const SOURCE: Field = Field::new(120, 8, 1206, 0);
    }
    pub mod memory_pool {
        use super::Field;
        pub const KIND: u32 = 50;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const MEMORY_POOL_OPERATION_TYPE: Field = Field::new(4, 4, 1107, 0);
        pub const MEMORY_POOL_TYPE: Field = Field::new(8, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(12, 4, 1107, 0);
        pub const PROCESS_ID: Field = Field::new(16, 4, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(20, 4, 1107, 0);
        pub const MIN_BYTES_TO_KEEP: Field = Field::new(24, 8, 1107, 0);
        pub const ADDRESS: Field = Field::new(32, 8, 1107, 0);
        pub const SIZE: Field = Field::new(40, 8, 1107, 0);
        pub const RELEASE_THRESHOLD: Field = Field::new(48, 8, 1107, 0);
        pub const TIMESTAMP: Field = Field::new(56, 8, 1107, 0);
        pub const UTILIZED_SIZE: Field = Field::new(64, 8, 1107, 0);
        pub const IS_MANAGED_POOL: Field = Field::new(72, 1, 1300, 0);
    }
    pub mod graph_trace {
        use super::Field;
        pub const KIND: u32 = 51;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1107, 0);
        pub const CORRELATION_ID: Field = Field::new(4, 4, 1107, 0);
        pub const START: Field = Field::new(8, 8, 1107, 0);
        pub const END: Field = Field::new(16, 8, 1107, 0);
        pub const DEVICE_ID: Field = Field::new(24, 4, 1107, 0);
        pub const GRAPH_ID: Field = Field::new(28, 4, 1107, 0);
        pub const CONTEXT_ID: Field = Field::new(32, 4, 1107, 0);
        pub const STREAM_ID: Field = Field::new(36, 4, 1107, 0);
        pub const END_DEVICE_ID: Field = Field::new(48, 4, 1203, 0);
        pub const END_CONTEXT_ID: Field = Field::new(52, 4, 1203, 0);
    }
    pub mod jit {
        use super::Field;
        pub const KIND: u32 = 52;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1108, 0);
        pub const JIT_ENTRY_TYPE: Field = Field::new(4, 4, 1108, 0);
        pub const JIT_OPERATION_TYPE: Field = Field::new(8, 4, 1108, 0);
        pub const DEVICE_ID: Field = Field::new(12, 4, 1108, 0);
        pub const START: Field = Field::new(16, 8, 1108, 0);
        pub const END: Field = Field::new(24, 8, 1108, 0);
        pub const CORRELATION_ID: Field = Field::new(32, 4, 1108, 0);
        pub const JIT_OPERATION_CORRELATION_ID: Field = Field::new(40, 8, 1108, 0);
        pub const CACHE_SIZE: Field = Field::new(48, 8, 1108, 0);
        pub const CACHE_PATH: Field = Field::new(56, 8, 1108, 0);
        pub const PROCESS_ID: Field = Field::new(64, 4, 1204, 0);
        pub const THREAD_ID: Field = Field::new(68, 4, 1204, 0);
    }
    pub mod device_graph_trace {
        use super::Field;
        pub const KIND: u32 = 53;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1208, 0);
        pub const DEVICE_ID: Field = Field::new(4, 4, 1208, 0);
        pub const START: Field = Field::new(8, 8, 1208, 0);
        pub const END: Field = Field::new(16, 8, 1208, 0);
        pub const GRAPH_ID: Field = Field::new(24, 4, 1208, 0);
        pub const LAUNCHER_GRAPH_ID: Field = Field::new(28, 4, 1208, 0);
        pub const DEVICE_LAUNCH_MODE: Field = Field::new(32, 4, 1208, 0);
        pub const CONTEXT_ID: Field = Field::new(36, 4, 1208, 0);
        pub const STREAM_ID: Field = Field::new(40, 8, 1208, 0);
    }
    pub mod mem_decompress {
        use super::Field;
        pub const KIND: u32 = 54;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1208, 0);
        pub const DEVICE_ID: Field = Field::new(4, 4, 1208, 0);
        pub const CONTEXT_ID: Field = Field::new(8, 4, 1208, 0);
        pub const STREAM_ID: Field = Field::new(12, 4, 1208, 0);
        pub const CHANNEL_ID: Field = Field::new(16, 4, 1208, 0);
        pub const CHANNEL_TYPE: Field = Field::new(20, 4, 1208, 0);
        pub const CORRELATION_ID: Field = Field::new(24, 4, 1208, 0);
        pub const NUMBER_OF_OPERATIONS: Field = Field::new(28, 4, 1208, 0);
        pub const SOURCE_BYTES: Field = Field::new(32, 8, 1208, 0);
        pub const START: Field = Field::new(48, 8, 1208, 0);
        pub const END: Field = Field::new(56, 8, 1208, 0);
    }
    pub mod confidential_compute_rotation {
        use super::Field;
        pub const KIND: u32 = 55;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1209, 0);
        pub const EVENT_TYPE: Field = Field::new(4, 4, 1209, 0);
        pub const DEVICE_ID: Field = Field::new(8, 4, 1209, 0);
        pub const CONTEXT_ID: Field = Field::new(12, 4, 1209, 0);
        pub const CHANNEL_ID: Field = Field::new(16, 4, 1209, 0);
        pub const CHANNEL_TYPE: Field = Field::new(20, 4, 1209, 0);
        pub const TIMESTAMP: Field = Field::new(24, 8, 1209, 0);
    }
    pub mod graph_host_node {
        use super::Field;
        pub const KIND: u32 = 56;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1301, 0);
        pub const STREAM_ID: Field = Field::new(4, 4, 1301, 0);
        pub const CONTEXT_ID: Field = Field::new(8, 4, 1301, 0);
        pub const DEVICE_ID: Field = Field::new(12, 4, 1301, 0);
        pub const CORRELATION_ID: Field = Field::new(16, 4, 1301, 0);
        pub const GRAPH_ID: Field = Field::new(20, 4, 1301, 0);
        pub const GRAPH_NODE_ID: Field = Field::new(24, 8, 1301, 0);
        pub const PROCESS_ID: Field = Field::new(32, 4, 1301, 0);
        pub const THREAD_ID: Field = Field::new(36, 4, 1301, 0);
        pub const START: Field = Field::new(40, 8, 1301, 0);
        pub const END: Field = Field::new(48, 8, 1301, 0);
    }
    pub mod compute_engine_ctx_switch {
        use super::Field;
        pub const KIND: u32 = 57;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1301, 0);
        pub const CONTEXT_ID: Field = Field::new(4, 4, 1301, 0);
        pub const TIMESTAMP: Field = Field::new(8, 8, 1301, 0);
        pub const OPERATION_TYPE: Field = Field::new(16, 4, 1301, 0);
    }
    pub mod host_launch {
        use super::Field;
        pub const KIND: u32 = 58;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1301, 0);
        pub const STREAM_ID: Field = Field::new(4, 4, 1301, 0);
        pub const CONTEXT_ID: Field = Field::new(8, 4, 1301, 0);
        pub const DEVICE_ID: Field = Field::new(12, 4, 1301, 0);
        pub const CORRELATION_ID: Field = Field::new(16, 4, 1301, 0);
        pub const PROCESS_ID: Field = Field::new(20, 4, 1301, 0);
        pub const THREAD_ID: Field = Field::new(24, 4, 1301, 0);
        pub const START: Field = Field::new(32, 8, 1301, 0);
        pub const END: Field = Field::new(40, 8, 1301, 0);
    }
    pub mod green_context {
        use super::Field;
        pub const KIND: u32 = 59;
        pub const KIND_FIELD: Field = Field::new(0, 4, 1302, 0);
        pub const CONTEXT_ID: Field = Field::new(4, 4, 1302, 0);
        pub const PARENT_CONTEXT_ID: Field = Field::new(8, 4, 1302, 0);
        pub const DEVICE_ID: Field = Field::new(12, 4, 1302, 0);
        pub const NUM_TPCS: Field = Field::new(16, 4, 1302, 0);
        pub const NUM_MULTIPROCESSORS: Field = Field::new(20, 2, 1302, 0);
        pub const LOGICAL_TPC_MASK_SIZE: Field = Field::new(22, 1, 1302, 0);
        pub const LOGICAL_TPC_MASK: Field = Field::new(24, 128, 1302, 0);
        pub const WORKQUEUE_RESOURCE_ID: Field = Field::new(152, 8, 1302, 0);
        pub const WORKQUEUE_CONCURRENCY_LIMIT: Field = Field::new(160, 4, 1302, 0);
        pub const WORKQUEUE_SHARING_SCOPE: Field = Field::new(164, 4, 1302, 0);
        pub const WORKQUEUE_CHANNEL_COUNT: Field = Field::new(168, 4, 1304, 0);
        pub const WORKQUEUE_CHANNEL_IDS: Field = Field::new(176, 128, 1304, 0);
    }
}

/// Every field of every kind: kind, CUPTI's name, layout.
#[rustfmt::skip]
pub static FIELDS: &[(u32, &str, Field)] = &[
    (1, "kind", fields::memcpy::KIND_FIELD),
    (1, "copyKind", fields::memcpy::COPY_KIND),
    (1, "srcKind", fields::memcpy::SRC_KIND),
    (1, "dstKind", fields::memcpy::DST_KIND),
    (1, "flags", fields::memcpy::FLAGS),
    (1, "bytes", fields::memcpy::BYTES),
    (1, "start", fields::memcpy::START),
    (1, "end", fields::memcpy::END),
    (1, "deviceId", fields::memcpy::DEVICE_ID),
    (1, "contextId", fields::memcpy::CONTEXT_ID),
    (1, "streamId", fields::memcpy::STREAM_ID),
    (1, "correlationId", fields::memcpy::CORRELATION_ID),
    (1, "runtimeCorrelationId", fields::memcpy::RUNTIME_CORRELATION_ID),
    (1, "graphNodeId", fields::memcpy::GRAPH_NODE_ID),
    (1, "graphId", fields::memcpy::GRAPH_ID),
    (1, "channelID", fields::memcpy::CHANNEL_ID),
    (1, "channelType", fields::memcpy::CHANNEL_TYPE),
    (1, "isDeviceLaunched", fields::memcpy::IS_DEVICE_LAUNCHED),
    (1, "copyCount", fields::memcpy::COPY_COUNT),
    (1, "sourceGraphId", fields::memcpy::SOURCE_GRAPH_ID),
    (1, "sourceGraphNodeId", fields::memcpy::SOURCE_GRAPH_NODE_ID),
    (2, "kind", fields::memset::KIND_FIELD),
    (2, "value", fields::memset::VALUE),
    (2, "bytes", fields::memset::BYTES),
    (2, "start", fields::memset::START),
    (2, "end", fields::memset::END),
    (2, "deviceId", fields::memset::DEVICE_ID),
    (2, "contextId", fields::memset::CONTEXT_ID),
    (2, "streamId", fields::memset::STREAM_ID),
    (2, "correlationId", fields::memset::CORRELATION_ID),
    (2, "flags", fields::memset::FLAGS),
    (2, "memoryKind", fields::memset::MEMORY_KIND),
    (2, "graphNodeId", fields::memset::GRAPH_NODE_ID),
    (2, "graphId", fields::memset::GRAPH_ID),
    (2, "channelID", fields::memset::CHANNEL_ID),
    (2, "channelType", fields::memset::CHANNEL_TYPE),
    (2, "isDeviceLaunched", fields::memset::IS_DEVICE_LAUNCHED),
    (2, "sourceGraphId", fields::memset::SOURCE_GRAPH_ID),
    (2, "sourceGraphNodeId", fields::memset::SOURCE_GRAPH_NODE_ID),
    (3, "kind", fields::kernel::KIND_FIELD),
    (3, "cacheConfig.both", fields::kernel::CACHE_CONFIG_BOTH),
    (3, "cacheConfig.config.executed", fields::kernel::CACHE_CONFIG_CONFIG_EXECUTED),
    (3, "cacheConfig.config.requested", fields::kernel::CACHE_CONFIG_CONFIG_REQUESTED),
    (3, "sharedMemoryConfig", fields::kernel::SHARED_MEMORY_CONFIG),
    (3, "registersPerThread", fields::kernel::REGISTERS_PER_THREAD),
    (3, "partitionedGlobalCacheRequested", fields::kernel::PARTITIONED_GLOBAL_CACHE_REQUESTED),
    (3, "partitionedGlobalCacheExecuted", fields::kernel::PARTITIONED_GLOBAL_CACHE_EXECUTED),
    (3, "start", fields::kernel::START),
    (3, "end", fields::kernel::END),
    (3, "completed", fields::kernel::COMPLETED),
    (3, "deviceId", fields::kernel::DEVICE_ID),
    (3, "contextId", fields::kernel::CONTEXT_ID),
    (3, "streamId", fields::kernel::STREAM_ID),
    (3, "gridX", fields::kernel::GRID_X),
    (3, "gridY", fields::kernel::GRID_Y),
    (3, "gridZ", fields::kernel::GRID_Z),
    (3, "blockX", fields::kernel::BLOCK_X),
    (3, "blockY", fields::kernel::BLOCK_Y),
    (3, "blockZ", fields::kernel::BLOCK_Z),
    (3, "staticSharedMemory", fields::kernel::STATIC_SHARED_MEMORY),
    (3, "dynamicSharedMemory", fields::kernel::DYNAMIC_SHARED_MEMORY),
    (3, "localMemoryPerThread", fields::kernel::LOCAL_MEMORY_PER_THREAD),
    (3, "localMemoryTotal", fields::kernel::LOCAL_MEMORY_TOTAL),
    (3, "correlationId", fields::kernel::CORRELATION_ID),
    (3, "gridId", fields::kernel::GRID_ID),
    (3, "name", fields::kernel::NAME),
    (3, "queued", fields::kernel::QUEUED),
    (3, "submitted", fields::kernel::SUBMITTED),
    (3, "launchType", fields::kernel::LAUNCH_TYPE),
    (3, "isSharedMemoryCarveoutRequested", fields::kernel::IS_SHARED_MEMORY_CARVEOUT_REQUESTED),
    (3, "sharedMemoryCarveoutRequested", fields::kernel::SHARED_MEMORY_CARVEOUT_REQUESTED),
    (3, "sharedMemoryExecuted", fields::kernel::SHARED_MEMORY_EXECUTED),
    (3, "graphNodeId", fields::kernel::GRAPH_NODE_ID),
    (3, "shmemLimitConfig", fields::kernel::SHMEM_LIMIT_CONFIG),
    (3, "graphId", fields::kernel::GRAPH_ID),
    (3, "pAccessPolicyWindow", fields::kernel::P_ACCESS_POLICY_WINDOW),
    (3, "channelID", fields::kernel::CHANNEL_ID),
    (3, "channelType", fields::kernel::CHANNEL_TYPE),
    (3, "clusterX", fields::kernel::CLUSTER_X),
    (3, "clusterY", fields::kernel::CLUSTER_Y),
    (3, "clusterZ", fields::kernel::CLUSTER_Z),
    (3, "clusterSchedulingPolicy", fields::kernel::CLUSTER_SCHEDULING_POLICY),
    (3, "localMemoryTotal_v2", fields::kernel::LOCAL_MEMORY_TOTAL_V2),
    (3, "maxPotentialClusterSize", fields::kernel::MAX_POTENTIAL_CLUSTER_SIZE),
    (3, "maxActiveClusters", fields::kernel::MAX_ACTIVE_CLUSTERS),
    (3, "isDeviceLaunched", fields::kernel::IS_DEVICE_LAUNCHED),
    (3, "priority", fields::kernel::PRIORITY),
    (3, "executionModel", fields::kernel::EXECUTION_MODEL),
    (3, "sourceGraphId", fields::kernel::SOURCE_GRAPH_ID),
    (3, "sourceGraphNodeId", fields::kernel::SOURCE_GRAPH_NODE_ID),
    (4, "kind", fields::driver::KIND_FIELD),
    (4, "cbid", fields::driver::CBID),
    (4, "start", fields::driver::START),
    (4, "end", fields::driver::END),
    (4, "processId", fields::driver::PROCESS_ID),
    (4, "threadId", fields::driver::THREAD_ID),
    (4, "correlationId", fields::driver::CORRELATION_ID),
    (4, "returnValue", fields::driver::RETURN_VALUE),
    (5, "kind", fields::runtime::KIND_FIELD),
    (5, "cbid", fields::runtime::CBID),
    (5, "start", fields::runtime::START),
    (5, "end", fields::runtime::END),
    (5, "processId", fields::runtime::PROCESS_ID),
    (5, "threadId", fields::runtime::THREAD_ID),
    (5, "correlationId", fields::runtime::CORRELATION_ID),
    (5, "returnValue", fields::runtime::RETURN_VALUE),
    (6, "kind", fields::event::KIND_FIELD),
    (6, "id", fields::event::ID),
    (6, "value", fields::event::VALUE),
    (6, "domain", fields::event::DOMAIN),
    (6, "correlationId", fields::event::CORRELATION_ID),
    (7, "kind", fields::metric::KIND_FIELD),
    (7, "id", fields::metric::ID),
    (7, "value.metricValueDouble", fields::metric::VALUE_METRIC_VALUE_DOUBLE),
    (7, "value.metricValueInt64", fields::metric::VALUE_METRIC_VALUE_INT64),
    (7, "value.metricValuePercent", fields::metric::VALUE_METRIC_VALUE_PERCENT),
    (7, "value.metricValueThroughput", fields::metric::VALUE_METRIC_VALUE_THROUGHPUT),
    (7, "value.metricValueUint64", fields::metric::VALUE_METRIC_VALUE_UINT64),
    (7, "value.metricValueUtilizationLevel", fields::metric::VALUE_METRIC_VALUE_UTILIZATION_LEVEL),
    (7, "correlationId", fields::metric::CORRELATION_ID),
    (7, "flags", fields::metric::FLAGS),
    (8, "kind", fields::device::KIND_FIELD),
    (8, "flags", fields::device::FLAGS),
    (8, "globalMemoryBandwidth", fields::device::GLOBAL_MEMORY_BANDWIDTH),
    (8, "globalMemorySize", fields::device::GLOBAL_MEMORY_SIZE),
    (8, "constantMemorySize", fields::device::CONSTANT_MEMORY_SIZE),
    (8, "l2CacheSize", fields::device::L2_CACHE_SIZE),
    (8, "numThreadsPerWarp", fields::device::NUM_THREADS_PER_WARP),
    (8, "coreClockRate", fields::device::CORE_CLOCK_RATE),
    (8, "numMemcpyEngines", fields::device::NUM_MEMCPY_ENGINES),
    (8, "numMultiprocessors", fields::device::NUM_MULTIPROCESSORS),
    (8, "maxIPC", fields::device::MAX_IPC),
    (8, "maxWarpsPerMultiprocessor", fields::device::MAX_WARPS_PER_MULTIPROCESSOR),
    (8, "maxBlocksPerMultiprocessor", fields::device::MAX_BLOCKS_PER_MULTIPROCESSOR),
    (8, "maxSharedMemoryPerMultiprocessor", fields::device::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    (8, "maxRegistersPerMultiprocessor", fields::device::MAX_REGISTERS_PER_MULTIPROCESSOR),
    (8, "maxRegistersPerBlock", fields::device::MAX_REGISTERS_PER_BLOCK),
    (8, "maxSharedMemoryPerBlock", fields::device::MAX_SHARED_MEMORY_PER_BLOCK),
    (8, "maxThreadsPerBlock", fields::device::MAX_THREADS_PER_BLOCK),
    (8, "maxBlockDimX", fields::device::MAX_BLOCK_DIM_X),
    (8, "maxBlockDimY", fields::device::MAX_BLOCK_DIM_Y),
    (8, "maxBlockDimZ", fields::device::MAX_BLOCK_DIM_Z),
    (8, "maxGridDimX", fields::device::MAX_GRID_DIM_X),
    (8, "maxGridDimY", fields::device::MAX_GRID_DIM_Y),
    (8, "maxGridDimZ", fields::device::MAX_GRID_DIM_Z),
    (8, "computeCapabilityMajor", fields::device::COMPUTE_CAPABILITY_MAJOR),
    (8, "computeCapabilityMinor", fields::device::COMPUTE_CAPABILITY_MINOR),
    (8, "id", fields::device::ID),
    (8, "eccEnabled", fields::device::ECC_ENABLED),
    (8, "uuid.bytes", fields::device::UUID_BYTES),
    (8, "name", fields::device::NAME),
    (8, "isCudaVisible", fields::device::IS_CUDA_VISIBLE),
    (8, "isMigEnabled", fields::device::IS_MIG_ENABLED),
    (8, "gpuInstanceId", fields::device::GPU_INSTANCE_ID),
    (8, "computeInstanceId", fields::device::COMPUTE_INSTANCE_ID),
    (8, "migUuid.bytes", fields::device::MIG_UUID_BYTES),
    (8, "isNumaNode", fields::device::IS_NUMA_NODE),
    (8, "numaId", fields::device::NUMA_ID),
    (8, "numTpcs", fields::device::NUM_TPCS),
    (9, "kind", fields::context::KIND_FIELD),
    (9, "contextId", fields::context::CONTEXT_ID),
    (9, "deviceId", fields::context::DEVICE_ID),
    (9, "computeApiKind", fields::context::COMPUTE_API_KIND),
    (9, "nullStreamId", fields::context::NULL_STREAM_ID),
    (9, "parentContextId", fields::context::PARENT_CONTEXT_ID),
    (9, "isGreenContext", fields::context::IS_GREEN_CONTEXT),
    (9, "numMultiprocessors", fields::context::NUM_MULTIPROCESSORS),
    (9, "cigMode", fields::context::CIG_MODE),
    (9, "processId", fields::context::PROCESS_ID),
    (10, "kind", fields::concurrent_kernel::KIND_FIELD),
    (10, "cacheConfig.both", fields::concurrent_kernel::CACHE_CONFIG_BOTH),
    (10, "cacheConfig.config.executed", fields::concurrent_kernel::CACHE_CONFIG_CONFIG_EXECUTED),
    (10, "cacheConfig.config.requested", fields::concurrent_kernel::CACHE_CONFIG_CONFIG_REQUESTED),
    (10, "sharedMemoryConfig", fields::concurrent_kernel::SHARED_MEMORY_CONFIG),
    (10, "registersPerThread", fields::concurrent_kernel::REGISTERS_PER_THREAD),
    (10, "partitionedGlobalCacheRequested", fields::concurrent_kernel::PARTITIONED_GLOBAL_CACHE_REQUESTED),
    (10, "partitionedGlobalCacheExecuted", fields::concurrent_kernel::PARTITIONED_GLOBAL_CACHE_EXECUTED),
    (10, "start", fields::concurrent_kernel::START),
    (10, "end", fields::concurrent_kernel::END),
    (10, "completed", fields::concurrent_kernel::COMPLETED),
    (10, "deviceId", fields::concurrent_kernel::DEVICE_ID),
    (10, "contextId", fields::concurrent_kernel::CONTEXT_ID),
    (10, "streamId", fields::concurrent_kernel::STREAM_ID),
    (10, "gridX", fields::concurrent_kernel::GRID_X),
    (10, "gridY", fields::concurrent_kernel::GRID_Y),
    (10, "gridZ", fields::concurrent_kernel::GRID_Z),
    (10, "blockX", fields::concurrent_kernel::BLOCK_X),
    (10, "blockY", fields::concurrent_kernel::BLOCK_Y),
    (10, "blockZ", fields::concurrent_kernel::BLOCK_Z),
    (10, "staticSharedMemory", fields::concurrent_kernel::STATIC_SHARED_MEMORY),
    (10, "dynamicSharedMemory", fields::concurrent_kernel::DYNAMIC_SHARED_MEMORY),
    (10, "localMemoryPerThread", fields::concurrent_kernel::LOCAL_MEMORY_PER_THREAD),
    (10, "localMemoryTotal", fields::concurrent_kernel::LOCAL_MEMORY_TOTAL),
    (10, "correlationId", fields::concurrent_kernel::CORRELATION_ID),
    (10, "gridId", fields::concurrent_kernel::GRID_ID),
    (10, "name", fields::concurrent_kernel::NAME),
    (10, "queued", fields::concurrent_kernel::QUEUED),
    (10, "submitted", fields::concurrent_kernel::SUBMITTED),
    (10, "launchType", fields::concurrent_kernel::LAUNCH_TYPE),
    (10, "isSharedMemoryCarveoutRequested", fields::concurrent_kernel::IS_SHARED_MEMORY_CARVEOUT_REQUESTED),
    (10, "sharedMemoryCarveoutRequested", fields::concurrent_kernel::SHARED_MEMORY_CARVEOUT_REQUESTED),
    (10, "sharedMemoryExecuted", fields::concurrent_kernel::SHARED_MEMORY_EXECUTED),
    (10, "graphNodeId", fields::concurrent_kernel::GRAPH_NODE_ID),
    (10, "shmemLimitConfig", fields::concurrent_kernel::SHMEM_LIMIT_CONFIG),
    (10, "graphId", fields::concurrent_kernel::GRAPH_ID),
    (10, "pAccessPolicyWindow", fields::concurrent_kernel::P_ACCESS_POLICY_WINDOW),
    (10, "channelID", fields::concurrent_kernel::CHANNEL_ID),
    (10, "channelType", fields::concurrent_kernel::CHANNEL_TYPE),
    (10, "clusterX", fields::concurrent_kernel::CLUSTER_X),
    (10, "clusterY", fields::concurrent_kernel::CLUSTER_Y),
    (10, "clusterZ", fields::concurrent_kernel::CLUSTER_Z),
    (10, "clusterSchedulingPolicy", fields::concurrent_kernel::CLUSTER_SCHEDULING_POLICY),
    (10, "localMemoryTotal_v2", fields::concurrent_kernel::LOCAL_MEMORY_TOTAL_V2),
    (10, "maxPotentialClusterSize", fields::concurrent_kernel::MAX_POTENTIAL_CLUSTER_SIZE),
    (10, "maxActiveClusters", fields::concurrent_kernel::MAX_ACTIVE_CLUSTERS),
    (10, "isDeviceLaunched", fields::concurrent_kernel::IS_DEVICE_LAUNCHED),
    (10, "priority", fields::concurrent_kernel::PRIORITY),
    (10, "executionModel", fields::concurrent_kernel::EXECUTION_MODEL),
    (10, "sourceGraphId", fields::concurrent_kernel::SOURCE_GRAPH_ID),
    (10, "sourceGraphNodeId", fields::concurrent_kernel::SOURCE_GRAPH_NODE_ID),
    (11, "kind", fields::name::KIND_FIELD),
    (11, "objectKind", fields::name::OBJECT_KIND),
    (11, "objectId.dcs.deviceId", fields::name::OBJECT_ID_DCS_DEVICE_ID),
    (11, "objectId.pt.processId", fields::name::OBJECT_ID_PT_PROCESS_ID),
    (11, "objectId.dcs.contextId", fields::name::OBJECT_ID_DCS_CONTEXT_ID),
    (11, "objectId.pt.threadId", fields::name::OBJECT_ID_PT_THREAD_ID),
    (11, "objectId.dcs.streamId", fields::name::OBJECT_ID_DCS_STREAM_ID),
    (11, "name", fields::name::NAME),
    (12, "kind", fields::marker::KIND_FIELD),
    (12, "flags", fields::marker::FLAGS),
    (12, "timestamp", fields::marker::TIMESTAMP),
    (12, "id", fields::marker::ID),
    (12, "objectKind", fields::marker::OBJECT_KIND),
    (12, "objectId.dcs.deviceId", fields::marker::OBJECT_ID_DCS_DEVICE_ID),
    (12, "objectId.pt.processId", fields::marker::OBJECT_ID_PT_PROCESS_ID),
    (12, "objectId.dcs.contextId", fields::marker::OBJECT_ID_DCS_CONTEXT_ID),
    (12, "objectId.pt.threadId", fields::marker::OBJECT_ID_PT_THREAD_ID),
    (12, "objectId.dcs.streamId", fields::marker::OBJECT_ID_DCS_STREAM_ID),
    (12, "name", fields::marker::NAME),
    (12, "domain", fields::marker::DOMAIN),
    (13, "kind", fields::marker_data::KIND_FIELD),
    (13, "flags", fields::marker_data::FLAGS),
    (13, "id", fields::marker_data::ID),
    (13, "payloadKind", fields::marker_data::PAYLOAD_KIND),
    (13, "payload.metricValueDouble", fields::marker_data::PAYLOAD_METRIC_VALUE_DOUBLE),
    (13, "payload.metricValueInt64", fields::marker_data::PAYLOAD_METRIC_VALUE_INT64),
    (13, "payload.metricValueNvtxExtendedPayload", fields::marker_data::PAYLOAD_METRIC_VALUE_NVTX_EXTENDED_PAYLOAD),
    (13, "payload.metricValuePercent", fields::marker_data::PAYLOAD_METRIC_VALUE_PERCENT),
    (13, "payload.metricValueThroughput", fields::marker_data::PAYLOAD_METRIC_VALUE_THROUGHPUT),
    (13, "payload.metricValueUint64", fields::marker_data::PAYLOAD_METRIC_VALUE_UINT64),
    (13, "payload.metricValueUtilizationLevel", fields::marker_data::PAYLOAD_METRIC_VALUE_UTILIZATION_LEVEL),
    (13, "color", fields::marker_data::COLOR),
    (13, "category", fields::marker_data::CATEGORY),
    (13, "cuptiDomainId", fields::marker_data::CUPTI_DOMAIN_ID),
    (14, "kind", fields::source_locator::KIND_FIELD),
    (14, "id", fields::source_locator::ID),
    (14, "lineNumber", fields::source_locator::LINE_NUMBER),
    (14, "fileName", fields::source_locator::FILE_NAME),
    (15, "kind", fields::global_access::KIND_FIELD),
    (15, "flags", fields::global_access::FLAGS),
    (15, "sourceLocatorId", fields::global_access::SOURCE_LOCATOR_ID),
    (15, "correlationId", fields::global_access::CORRELATION_ID),
    (15, "functionId", fields::global_access::FUNCTION_ID),
    (15, "executed", fields::global_access::EXECUTED),
    (15, "pcOffset", fields::global_access::PC_OFFSET),
    (15, "threadsExecuted", fields::global_access::THREADS_EXECUTED),
    (15, "l2_transactions", fields::global_access::L2_TRANSACTIONS),
    (15, "theoreticalL2Transactions", fields::global_access::THEORETICAL_L2_TRANSACTIONS),
    (16, "kind", fields::branch::KIND_FIELD),
    (16, "sourceLocatorId", fields::branch::SOURCE_LOCATOR_ID),
    (16, "correlationId", fields::branch::CORRELATION_ID),
    (16, "functionId", fields::branch::FUNCTION_ID),
    (16, "pcOffset", fields::branch::PC_OFFSET),
    (16, "diverged", fields::branch::DIVERGED),
    (16, "threadsExecuted", fields::branch::THREADS_EXECUTED),
    (16, "executed", fields::branch::EXECUTED),
    (17, "kind", fields::overhead::KIND_FIELD),
    (17, "overheadKind", fields::overhead::OVERHEAD_KIND),
    (17, "objectKind", fields::overhead::OBJECT_KIND),
    (17, "objectId.dcs.deviceId", fields::overhead::OBJECT_ID_DCS_DEVICE_ID),
    (17, "objectId.pt.processId", fields::overhead::OBJECT_ID_PT_PROCESS_ID),
    (17, "objectId.dcs.contextId", fields::overhead::OBJECT_ID_DCS_CONTEXT_ID),
    (17, "objectId.pt.threadId", fields::overhead::OBJECT_ID_PT_THREAD_ID),
    (17, "objectId.dcs.streamId", fields::overhead::OBJECT_ID_DCS_STREAM_ID),
    (17, "start", fields::overhead::START),
    (17, "end", fields::overhead::END),
    (17, "correlationId", fields::overhead::CORRELATION_ID),
    (17, "overheadData", fields::overhead::OVERHEAD_DATA),
    (18, "kind", fields::cdp_kernel::KIND_FIELD),
    (18, "cacheConfig.both", fields::cdp_kernel::CACHE_CONFIG_BOTH),
    (18, "cacheConfig.config.executed", fields::cdp_kernel::CACHE_CONFIG_CONFIG_EXECUTED),
    (18, "cacheConfig.config.requested", fields::cdp_kernel::CACHE_CONFIG_CONFIG_REQUESTED),
    (18, "sharedMemoryConfig", fields::cdp_kernel::SHARED_MEMORY_CONFIG),
    (18, "registersPerThread", fields::cdp_kernel::REGISTERS_PER_THREAD),
    (18, "start", fields::cdp_kernel::START),
    (18, "end", fields::cdp_kernel::END),
    (18, "deviceId", fields::cdp_kernel::DEVICE_ID),
    (18, "contextId", fields::cdp_kernel::CONTEXT_ID),
    (18, "streamId", fields::cdp_kernel::STREAM_ID),
    (18, "gridX", fields::cdp_kernel::GRID_X),
    (18, "gridY", fields::cdp_kernel::GRID_Y),
    (18, "gridZ", fields::cdp_kernel::GRID_Z),
    (18, "blockX", fields::cdp_kernel::BLOCK_X),
    (18, "blockY", fields::cdp_kernel::BLOCK_Y),
    (18, "blockZ", fields::cdp_kernel::BLOCK_Z),
    (18, "staticSharedMemory", fields::cdp_kernel::STATIC_SHARED_MEMORY),
    (18, "dynamicSharedMemory", fields::cdp_kernel::DYNAMIC_SHARED_MEMORY),
    (18, "localMemoryPerThread", fields::cdp_kernel::LOCAL_MEMORY_PER_THREAD),
    (18, "localMemoryTotal", fields::cdp_kernel::LOCAL_MEMORY_TOTAL),
    (18, "correlationId", fields::cdp_kernel::CORRELATION_ID),
    (18, "gridId", fields::cdp_kernel::GRID_ID),
    (18, "parentGridId", fields::cdp_kernel::PARENT_GRID_ID),
    (18, "queued", fields::cdp_kernel::QUEUED),
    (18, "submitted", fields::cdp_kernel::SUBMITTED),
    (18, "completed", fields::cdp_kernel::COMPLETED),
    (18, "parentBlockX", fields::cdp_kernel::PARENT_BLOCK_X),
    (18, "parentBlockY", fields::cdp_kernel::PARENT_BLOCK_Y),
    (18, "parentBlockZ", fields::cdp_kernel::PARENT_BLOCK_Z),
    (18, "name", fields::cdp_kernel::NAME),
    (19, "kind", fields::preemption::KIND_FIELD),
    (19, "preemptionKind", fields::preemption::PREEMPTION_KIND),
    (19, "timestamp", fields::preemption::TIMESTAMP),
    (19, "gridId", fields::preemption::GRID_ID),
    (19, "blockX", fields::preemption::BLOCK_X),
    (19, "blockY", fields::preemption::BLOCK_Y),
    (19, "blockZ", fields::preemption::BLOCK_Z),
    (20, "kind", fields::environment::KIND_FIELD),
    (20, "deviceId", fields::environment::DEVICE_ID),
    (20, "timestamp", fields::environment::TIMESTAMP),
    (20, "environmentKind", fields::environment::ENVIRONMENT_KIND),
    (20, "data.cooling.fanSpeed", fields::environment::DATA_COOLING_FAN_SPEED),
    (20, "data.power.power", fields::environment::DATA_POWER_POWER),
    (20, "data.speed.smClock", fields::environment::DATA_SPEED_SM_CLOCK),
    (20, "data.temperature.gpuTemperature", fields::environment::DATA_TEMPERATURE_GPU_TEMPERATURE),
    (20, "data.power.powerLimit", fields::environment::DATA_POWER_POWER_LIMIT),
    (20, "data.speed.memoryClock", fields::environment::DATA_SPEED_MEMORY_CLOCK),
    (20, "data.speed.pcieLinkGen", fields::environment::DATA_SPEED_PCIE_LINK_GEN),
    (20, "data.speed.pcieLinkWidth", fields::environment::DATA_SPEED_PCIE_LINK_WIDTH),
    (20, "data.speed.clocksThrottleReasons", fields::environment::DATA_SPEED_CLOCKS_THROTTLE_REASONS),
    (21, "kind", fields::event_instance::KIND_FIELD),
    (21, "id", fields::event_instance::ID),
    (21, "domain", fields::event_instance::DOMAIN),
    (21, "instance", fields::event_instance::INSTANCE),
    (21, "value", fields::event_instance::VALUE),
    (21, "correlationId", fields::event_instance::CORRELATION_ID),
    (22, "kind", fields::memcpy2::KIND_FIELD),
    (22, "copyKind", fields::memcpy2::COPY_KIND),
    (22, "srcKind", fields::memcpy2::SRC_KIND),
    (22, "dstKind", fields::memcpy2::DST_KIND),
    (22, "flags", fields::memcpy2::FLAGS),
    (22, "bytes", fields::memcpy2::BYTES),
    (22, "start", fields::memcpy2::START),
    (22, "end", fields::memcpy2::END),
    (22, "deviceId", fields::memcpy2::DEVICE_ID),
    (22, "contextId", fields::memcpy2::CONTEXT_ID),
    (22, "streamId", fields::memcpy2::STREAM_ID),
    (22, "srcDeviceId", fields::memcpy2::SRC_DEVICE_ID),
    (22, "srcContextId", fields::memcpy2::SRC_CONTEXT_ID),
    (22, "dstDeviceId", fields::memcpy2::DST_DEVICE_ID),
    (22, "dstContextId", fields::memcpy2::DST_CONTEXT_ID),
    (22, "correlationId", fields::memcpy2::CORRELATION_ID),
    (22, "graphNodeId", fields::memcpy2::GRAPH_NODE_ID),
    (22, "graphId", fields::memcpy2::GRAPH_ID),
    (22, "channelID", fields::memcpy2::CHANNEL_ID),
    (22, "channelType", fields::memcpy2::CHANNEL_TYPE),
    (23, "kind", fields::metric_instance::KIND_FIELD),
    (23, "id", fields::metric_instance::ID),
    (23, "value.metricValueDouble", fields::metric_instance::VALUE_METRIC_VALUE_DOUBLE),
    (23, "value.metricValueInt64", fields::metric_instance::VALUE_METRIC_VALUE_INT64),
    (23, "value.metricValuePercent", fields::metric_instance::VALUE_METRIC_VALUE_PERCENT),
    (23, "value.metricValueThroughput", fields::metric_instance::VALUE_METRIC_VALUE_THROUGHPUT),
    (23, "value.metricValueUint64", fields::metric_instance::VALUE_METRIC_VALUE_UINT64),
    (23, "value.metricValueUtilizationLevel", fields::metric_instance::VALUE_METRIC_VALUE_UTILIZATION_LEVEL),
    (23, "instance", fields::metric_instance::INSTANCE),
    (23, "correlationId", fields::metric_instance::CORRELATION_ID),
    (23, "flags", fields::metric_instance::FLAGS),
    (24, "kind", fields::instruction_execution::KIND_FIELD),
    (24, "flags", fields::instruction_execution::FLAGS),
    (24, "sourceLocatorId", fields::instruction_execution::SOURCE_LOCATOR_ID),
    (24, "correlationId", fields::instruction_execution::CORRELATION_ID),
    (24, "functionId", fields::instruction_execution::FUNCTION_ID),
    (24, "pcOffset", fields::instruction_execution::PC_OFFSET),
    (24, "threadsExecuted", fields::instruction_execution::THREADS_EXECUTED),
    (24, "notPredOffThreadsExecuted", fields::instruction_execution::NOT_PRED_OFF_THREADS_EXECUTED),
    (24, "executed", fields::instruction_execution::EXECUTED),
    (25, "kind", fields::unified_memory_counter::KIND_FIELD),
    (25, "counterKind", fields::unified_memory_counter::COUNTER_KIND),
    (25, "value", fields::unified_memory_counter::VALUE),
    (25, "start", fields::unified_memory_counter::START),
    (25, "end", fields::unified_memory_counter::END),
    (25, "address", fields::unified_memory_counter::ADDRESS),
    (25, "srcId", fields::unified_memory_counter::SRC_ID),
    (25, "dstId", fields::unified_memory_counter::DST_ID),
    (25, "streamId", fields::unified_memory_counter::STREAM_ID),
    (25, "processId", fields::unified_memory_counter::PROCESS_ID),
    (25, "flags", fields::unified_memory_counter::FLAGS),
    (25, "processors", fields::unified_memory_counter::PROCESSORS),
    (26, "kind", fields::function::KIND_FIELD),
    (26, "id", fields::function::ID),
    (26, "contextId", fields::function::CONTEXT_ID),
    (26, "moduleId", fields::function::MODULE_ID),
    (26, "functionIndex", fields::function::FUNCTION_INDEX),
    (26, "name", fields::function::NAME),
    (27, "kind", fields::module::KIND_FIELD),
    (27, "contextId", fields::module::CONTEXT_ID),
    (27, "id", fields::module::ID),
    (27, "cubinSize", fields::module::CUBIN_SIZE),
    (27, "cubin", fields::module::CUBIN),
    (28, "kind", fields::device_attribute::KIND_FIELD),
    (28, "flags", fields::device_attribute::FLAGS),
    (28, "deviceId", fields::device_attribute::DEVICE_ID),
    (28, "attribute.cu", fields::device_attribute::ATTRIBUTE_CU),
    (28, "attribute.cupti", fields::device_attribute::ATTRIBUTE_CUPTI),
    (28, "value.vDouble", fields::device_attribute::VALUE_V_DOUBLE),
    (28, "value.vInt32", fields::device_attribute::VALUE_V_INT32),
    (28, "value.vInt64", fields::device_attribute::VALUE_V_INT64),
    (28, "value.vUint32", fields::device_attribute::VALUE_V_UINT32),
    (28, "value.vUint64", fields::device_attribute::VALUE_V_UINT64),
    (29, "kind", fields::shared_access::KIND_FIELD),
    (29, "flags", fields::shared_access::FLAGS),
    (29, "sourceLocatorId", fields::shared_access::SOURCE_LOCATOR_ID),
    (29, "correlationId", fields::shared_access::CORRELATION_ID),
    (29, "functionId", fields::shared_access::FUNCTION_ID),
    (29, "pcOffset", fields::shared_access::PC_OFFSET),
    (29, "threadsExecuted", fields::shared_access::THREADS_EXECUTED),
    (29, "sharedTransactions", fields::shared_access::SHARED_TRANSACTIONS),
    (29, "theoreticalSharedTransactions", fields::shared_access::THEORETICAL_SHARED_TRANSACTIONS),
    (29, "executed", fields::shared_access::EXECUTED),
    (30, "kind", fields::pc_sampling::KIND_FIELD),
    (30, "flags", fields::pc_sampling::FLAGS),
    (30, "sourceLocatorId", fields::pc_sampling::SOURCE_LOCATOR_ID),
    (30, "correlationId", fields::pc_sampling::CORRELATION_ID),
    (30, "functionId", fields::pc_sampling::FUNCTION_ID),
    (30, "latencySamples", fields::pc_sampling::LATENCY_SAMPLES),
    (30, "samples", fields::pc_sampling::SAMPLES),
    (30, "stallReason", fields::pc_sampling::STALL_REASON),
    (30, "pcOffset", fields::pc_sampling::PC_OFFSET),
    (31, "kind", fields::pc_sampling_record_info::KIND_FIELD),
    (31, "correlationId", fields::pc_sampling_record_info::CORRELATION_ID),
    (31, "totalSamples", fields::pc_sampling_record_info::TOTAL_SAMPLES),
    (31, "droppedSamples", fields::pc_sampling_record_info::DROPPED_SAMPLES),
    (31, "samplingPeriodInCycles", fields::pc_sampling_record_info::SAMPLING_PERIOD_IN_CYCLES),
    (32, "kind", fields::instruction_correlation::KIND_FIELD),
    (32, "flags", fields::instruction_correlation::FLAGS),
    (32, "sourceLocatorId", fields::instruction_correlation::SOURCE_LOCATOR_ID),
    (32, "functionId", fields::instruction_correlation::FUNCTION_ID),
    (32, "pcOffset", fields::instruction_correlation::PC_OFFSET),
    (33, "kind", fields::openacc_data::KIND_FIELD),
    (33, "eventKind", fields::openacc_data::EVENT_KIND),
    (33, "parentConstruct", fields::openacc_data::PARENT_CONSTRUCT),
    (33, "version", fields::openacc_data::VERSION),
    (33, "implicit", fields::openacc_data::IMPLICIT),
    (33, "deviceType", fields::openacc_data::DEVICE_TYPE),
    (33, "deviceNumber", fields::openacc_data::DEVICE_NUMBER),
    (33, "threadId", fields::openacc_data::THREAD_ID),
    (33, "async", fields::openacc_data::ASYNC),
    (33, "asyncMap", fields::openacc_data::ASYNC_MAP),
    (33, "lineNo", fields::openacc_data::LINE_NO),
    (33, "endLineNo", fields::openacc_data::END_LINE_NO),
    (33, "funcLineNo", fields::openacc_data::FUNC_LINE_NO),
    (33, "funcEndLineNo", fields::openacc_data::FUNC_END_LINE_NO),
    (33, "start", fields::openacc_data::START),
    (33, "end", fields::openacc_data::END),
    (33, "cuDeviceId", fields::openacc_data::CU_DEVICE_ID),
    (33, "cuContextId", fields::openacc_data::CU_CONTEXT_ID),
    (33, "cuStreamId", fields::openacc_data::CU_STREAM_ID),
    (33, "cuProcessId", fields::openacc_data::CU_PROCESS_ID),
    (33, "cuThreadId", fields::openacc_data::CU_THREAD_ID),
    (33, "externalId", fields::openacc_data::EXTERNAL_ID),
    (33, "srcFile", fields::openacc_data::SRC_FILE),
    (33, "funcName", fields::openacc_data::FUNC_NAME),
    (33, "bytes", fields::openacc_data::BYTES),
    (33, "hostPtr", fields::openacc_data::HOST_PTR),
    (33, "devicePtr", fields::openacc_data::DEVICE_PTR),
    (33, "varName", fields::openacc_data::VAR_NAME),
    (34, "kind", fields::openacc_launch::KIND_FIELD),
    (34, "eventKind", fields::openacc_launch::EVENT_KIND),
    (34, "parentConstruct", fields::openacc_launch::PARENT_CONSTRUCT),
    (34, "version", fields::openacc_launch::VERSION),
    (34, "implicit", fields::openacc_launch::IMPLICIT),
    (34, "deviceType", fields::openacc_launch::DEVICE_TYPE),
    (34, "deviceNumber", fields::openacc_launch::DEVICE_NUMBER),
    (34, "threadId", fields::openacc_launch::THREAD_ID),
    (34, "async", fields::openacc_launch::ASYNC),
    (34, "asyncMap", fields::openacc_launch::ASYNC_MAP),
    (34, "lineNo", fields::openacc_launch::LINE_NO),
    (34, "endLineNo", fields::openacc_launch::END_LINE_NO),
    (34, "funcLineNo", fields::openacc_launch::FUNC_LINE_NO),
    (34, "funcEndLineNo", fields::openacc_launch::FUNC_END_LINE_NO),
    (34, "start", fields::openacc_launch::START),
    (34, "end", fields::openacc_launch::END),
    (34, "cuDeviceId", fields::openacc_launch::CU_DEVICE_ID),
    (34, "cuContextId", fields::openacc_launch::CU_CONTEXT_ID),
    (34, "cuStreamId", fields::openacc_launch::CU_STREAM_ID),
    (34, "cuProcessId", fields::openacc_launch::CU_PROCESS_ID),
    (34, "cuThreadId", fields::openacc_launch::CU_THREAD_ID),
    (34, "externalId", fields::openacc_launch::EXTERNAL_ID),
    (34, "srcFile", fields::openacc_launch::SRC_FILE),
    (34, "funcName", fields::openacc_launch::FUNC_NAME),
    (34, "numGangs", fields::openacc_launch::NUM_GANGS),
    (34, "numWorkers", fields::openacc_launch::NUM_WORKERS),
    (34, "vectorLength", fields::openacc_launch::VECTOR_LENGTH),
    (34, "kernelName", fields::openacc_launch::KERNEL_NAME),
    (35, "kind", fields::openacc_other::KIND_FIELD),
    (35, "eventKind", fields::openacc_other::EVENT_KIND),
    (35, "parentConstruct", fields::openacc_other::PARENT_CONSTRUCT),
    (35, "version", fields::openacc_other::VERSION),
    (35, "implicit", fields::openacc_other::IMPLICIT),
    (35, "deviceType", fields::openacc_other::DEVICE_TYPE),
    (35, "deviceNumber", fields::openacc_other::DEVICE_NUMBER),
    (35, "threadId", fields::openacc_other::THREAD_ID),
    (35, "async", fields::openacc_other::ASYNC),
    (35, "asyncMap", fields::openacc_other::ASYNC_MAP),
    (35, "lineNo", fields::openacc_other::LINE_NO),
    (35, "endLineNo", fields::openacc_other::END_LINE_NO),
    (35, "funcLineNo", fields::openacc_other::FUNC_LINE_NO),
    (35, "funcEndLineNo", fields::openacc_other::FUNC_END_LINE_NO),
    (35, "start", fields::openacc_other::START),
    (35, "end", fields::openacc_other::END),
    (35, "cuDeviceId", fields::openacc_other::CU_DEVICE_ID),
    (35, "cuContextId", fields::openacc_other::CU_CONTEXT_ID),
    (35, "cuStreamId", fields::openacc_other::CU_STREAM_ID),
    (35, "cuProcessId", fields::openacc_other::CU_PROCESS_ID),
    (35, "cuThreadId", fields::openacc_other::CU_THREAD_ID),
    (35, "externalId", fields::openacc_other::EXTERNAL_ID),
    (35, "srcFile", fields::openacc_other::SRC_FILE),
    (35, "funcName", fields::openacc_other::FUNC_NAME),
    (36, "kind", fields::cuda_event::KIND_FIELD),
    (36, "correlationId", fields::cuda_event::CORRELATION_ID),
    (36, "contextId", fields::cuda_event::CONTEXT_ID),
    (36, "streamId", fields::cuda_event::STREAM_ID),
    (36, "eventId", fields::cuda_event::EVENT_ID),
    (36, "deviceId", fields::cuda_event::DEVICE_ID),
    (36, "deviceTimestamp", fields::cuda_event::DEVICE_TIMESTAMP),
    (36, "cudaEventSyncId", fields::cuda_event::CUDA_EVENT_SYNC_ID),
    (36, "graphNodeId", fields::cuda_event::GRAPH_NODE_ID),
    (36, "graphId", fields::cuda_event::GRAPH_ID),
    (36, "sourceGraphId", fields::cuda_event::SOURCE_GRAPH_ID),
    (36, "sourceGraphNodeId", fields::cuda_event::SOURCE_GRAPH_NODE_ID),
    (37, "kind", fields::stream::KIND_FIELD),
    (37, "contextId", fields::stream::CONTEXT_ID),
    (37, "streamId", fields::stream::STREAM_ID),
    (37, "priority", fields::stream::PRIORITY),
    (37, "flag", fields::stream::FLAG),
    (37, "correlationId", fields::stream::CORRELATION_ID),
    (38, "kind", fields::synchronization::KIND_FIELD),
    (38, "type", fields::synchronization::TYPE),
    (38, "start", fields::synchronization::START),
    (38, "end", fields::synchronization::END),
    (38, "correlationId", fields::synchronization::CORRELATION_ID),
    (38, "contextId", fields::synchronization::CONTEXT_ID),
    (38, "streamId", fields::synchronization::STREAM_ID),
    (38, "cudaEventId", fields::synchronization::CUDA_EVENT_ID),
    (38, "cudaEventSyncId", fields::synchronization::CUDA_EVENT_SYNC_ID),
    (38, "returnValue", fields::synchronization::RETURN_VALUE),
    (39, "kind", fields::external_correlation::KIND_FIELD),
    (39, "externalKind", fields::external_correlation::EXTERNAL_KIND),
    (39, "externalId", fields::external_correlation::EXTERNAL_ID),
    (39, "correlationId", fields::external_correlation::CORRELATION_ID),
    (40, "kind", fields::nvlink::KIND_FIELD),
    (40, "nvlinkVersion", fields::nvlink::NVLINK_VERSION),
    (40, "typeDev0", fields::nvlink::TYPE_DEV0),
    (40, "typeDev1", fields::nvlink::TYPE_DEV1),
    (40, "idDev0.npu.index", fields::nvlink::ID_DEV0_NPU_INDEX),
    (40, "idDev0.uuidDev.bytes", fields::nvlink::ID_DEV0_UUID_DEV_BYTES),
    (40, "idDev0.npu.domainId", fields::nvlink::ID_DEV0_NPU_DOMAIN_ID),
    (40, "idDev1.npu.index", fields::nvlink::ID_DEV1_NPU_INDEX),
    (40, "idDev1.uuidDev.bytes", fields::nvlink::ID_DEV1_UUID_DEV_BYTES),
    (40, "idDev1.npu.domainId", fields::nvlink::ID_DEV1_NPU_DOMAIN_ID),
    (40, "flag", fields::nvlink::FLAG),
    (40, "physicalNvLinkCount", fields::nvlink::PHYSICAL_NV_LINK_COUNT),
    (40, "portDev0", fields::nvlink::PORT_DEV0_UNTIL_1301),
    (40, "portDev0", fields::nvlink::PORT_DEV0),
    (40, "portDev1", fields::nvlink::PORT_DEV1),
    (40, "bandwidth", fields::nvlink::BANDWIDTH),
    (40, "nvswitchConnected", fields::nvlink::NVSWITCH_CONNECTED),
    (40, "portDev1", fields::nvlink::PORT_DEV1_UNTIL_1301),
    (40, "bandwidth", fields::nvlink::BANDWIDTH_UNTIL_1301),
    (40, "nvswitchConnected", fields::nvlink::NVSWITCH_CONNECTED_UNTIL_1301),
    (41, "kind", fields::instantaneous_event::KIND_FIELD),
    (41, "id", fields::instantaneous_event::ID),
    (41, "value", fields::instantaneous_event::VALUE),
    (41, "timestamp", fields::instantaneous_event::TIMESTAMP),
    (41, "deviceId", fields::instantaneous_event::DEVICE_ID),
    (42, "kind", fields::instantaneous_event_instance::KIND_FIELD),
    (42, "id", fields::instantaneous_event_instance::ID),
    (42, "value", fields::instantaneous_event_instance::VALUE),
    (42, "timestamp", fields::instantaneous_event_instance::TIMESTAMP),
    (42, "deviceId", fields::instantaneous_event_instance::DEVICE_ID),
    (42, "instance", fields::instantaneous_event_instance::INSTANCE),
    (43, "kind", fields::instantaneous_metric::KIND_FIELD),
    (43, "id", fields::instantaneous_metric::ID),
    (43, "value.metricValueDouble", fields::instantaneous_metric::VALUE_METRIC_VALUE_DOUBLE),
    (43, "value.metricValueInt64", fields::instantaneous_metric::VALUE_METRIC_VALUE_INT64),
    (43, "value.metricValuePercent", fields::instantaneous_metric::VALUE_METRIC_VALUE_PERCENT),
    (43, "value.metricValueThroughput", fields::instantaneous_metric::VALUE_METRIC_VALUE_THROUGHPUT),
    (43, "value.metricValueUint64", fields::instantaneous_metric::VALUE_METRIC_VALUE_UINT64),
    (43, "value.metricValueUtilizationLevel", fields::instantaneous_metric::VALUE_METRIC_VALUE_UTILIZATION_LEVEL),
    (43, "timestamp", fields::instantaneous_metric::TIMESTAMP),
    (43, "deviceId", fields::instantaneous_metric::DEVICE_ID),
    (43, "flags", fields::instantaneous_metric::FLAGS),
    (44, "kind", fields::instantaneous_metric_instance::KIND_FIELD),
    (44, "id", fields::instantaneous_metric_instance::ID),
    (44, "value.metricValueDouble", fields::instantaneous_metric_instance::VALUE_METRIC_VALUE_DOUBLE),
    (44, "value.metricValueInt64", fields::instantaneous_metric_instance::VALUE_METRIC_VALUE_INT64),
    (44, "value.metricValuePercent", fields::instantaneous_metric_instance::VALUE_METRIC_VALUE_PERCENT),
    (44, "value.metricValueThroughput", fields::instantaneous_metric_instance::VALUE_METRIC_VALUE_THROUGHPUT),
    (44, "value.metricValueUint64", fields::instantaneous_metric_instance::VALUE_METRIC_VALUE_UINT64),
    (44, "value.metricValueUtilizationLevel", fields::instantaneous_metric_instance::VALUE_METRIC_VALUE_UTILIZATION_LEVEL),
    (44, "timestamp", fields::instantaneous_metric_instance::TIMESTAMP),
    (44, "deviceId", fields::instantaneous_metric_instance::DEVICE_ID),
    (44, "flags", fields::instantaneous_metric_instance::FLAGS),
    (44, "instance", fields::instantaneous_metric_instance::INSTANCE),
    (45, "kind", fields::memory::KIND_FIELD),
    (45, "memoryKind", fields::memory::MEMORY_KIND),
    (45, "address", fields::memory::ADDRESS),
    (45, "bytes", fields::memory::BYTES),
    (45, "start", fields::memory::START),
    (45, "end", fields::memory::END),
    (45, "allocPC", fields::memory::ALLOC_PC),
    (45, "freePC", fields::memory::FREE_PC),
    (45, "processId", fields::memory::PROCESS_ID),
    (45, "deviceId", fields::memory::DEVICE_ID),
    (45, "contextId", fields::memory::CONTEXT_ID),
    (45, "name", fields::memory::NAME),
    (46, "kind", fields::pcie::KIND_FIELD),
    (46, "type", fields::pcie::TYPE),
    (46, "id.bridgeId", fields::pcie::ID_BRIDGE_ID),
    (46, "id.devId", fields::pcie::ID_DEV_ID),
    (46, "domain", fields::pcie::DOMAIN),
    (46, "pcieGeneration", fields::pcie::PCIE_GENERATION),
    (46, "linkRate", fields::pcie::LINK_RATE),
    (46, "linkWidth", fields::pcie::LINK_WIDTH),
    (46, "upstreamBus", fields::pcie::UPSTREAM_BUS),
    (46, "attr.bridgeAttr.secondaryBus", fields::pcie::ATTR_BRIDGE_ATTR_SECONDARY_BUS),
    (46, "attr.gpuAttr.uuidDev.bytes", fields::pcie::ATTR_GPU_ATTR_UUID_DEV_BYTES),
    (46, "attr.bridgeAttr.deviceId", fields::pcie::ATTR_BRIDGE_ATTR_DEVICE_ID),
    (46, "attr.bridgeAttr.vendorId", fields::pcie::ATTR_BRIDGE_ATTR_VENDOR_ID),
    (46, "attr.gpuAttr.peerDev", fields::pcie::ATTR_GPU_ATTR_PEER_DEV),
    (47, "kind", fields::openmp::KIND_FIELD),
    (47, "eventKind", fields::openmp::EVENT_KIND),
    (47, "version", fields::openmp::VERSION),
    (47, "threadId", fields::openmp::THREAD_ID),
    (47, "start", fields::openmp::START),
    (47, "end", fields::openmp::END),
    (47, "cuProcessId", fields::openmp::CU_PROCESS_ID),
    (47, "cuThreadId", fields::openmp::CU_THREAD_ID),
    (48, "kind", fields::internal_launch_api::KIND_FIELD),
    (48, "cbid", fields::internal_launch_api::CBID),
    (48, "start", fields::internal_launch_api::START),
    (48, "end", fields::internal_launch_api::END),
    (48, "processId", fields::internal_launch_api::PROCESS_ID),
    (48, "threadId", fields::internal_launch_api::THREAD_ID),
    (48, "correlationId", fields::internal_launch_api::CORRELATION_ID),
    (48, "returnValue", fields::internal_launch_api::RETURN_VALUE),
    (49, "kind", fields::memory2::KIND_FIELD),
    (49, "memoryOperationType", fields::memory2::MEMORY_OPERATION_TYPE),
    (49, "memoryKind", fields::memory2::MEMORY_KIND),
    (49, "correlationId", fields::memory2::CORRELATION_ID),
    (49, "address", fields::memory2::ADDRESS),
    (49, "bytes", fields::memory2::BYTES),
    (49, "timestamp", fields::memory2::TIMESTAMP),
    (49, "PC", fields::memory2::PC),
    (49, "processId", fields::memory2::PROCESS_ID),
    (49, "deviceId", fields::memory2::DEVICE_ID),
    (49, "contextId", fields::memory2::CONTEXT_ID),
    (49, "streamId", fields::memory2::STREAM_ID),
    (49, "name", fields::memory2::NAME),
    (49, "isAsync", fields::memory2::IS_ASYNC),
    (49, "memoryPoolConfig.memoryPoolType", fields::memory2::MEMORY_POOL_CONFIG_MEMORY_POOL_TYPE),
    (49, "memoryPoolConfig.address", fields::memory2::MEMORY_POOL_CONFIG_ADDRESS),
    (49, "memoryPoolConfig.releaseThreshold", fields::memory2::MEMORY_POOL_CONFIG_RELEASE_THRESHOLD),
    (49, "memoryPoolConfig.pool.processId", fields::memory2::MEMORY_POOL_CONFIG_POOL_PROCESS_ID),
    (49, "memoryPoolConfig.pool.size", fields::memory2::MEMORY_POOL_CONFIG_POOL_SIZE),
    (49, "memoryPoolConfig.utilizedSize", fields::memory2::MEMORY_POOL_CONFIG_UTILIZED_SIZE),
    (49, "source", fields::memory2::SOURCE),
    (50, "kind", fields::memory_pool::KIND_FIELD),
    (50, "memoryPoolOperationType", fields::memory_pool::MEMORY_POOL_OPERATION_TYPE),
    (50, "memoryPoolType", fields::memory_pool::MEMORY_POOL_TYPE),
    (50, "correlationId", fields::memory_pool::CORRELATION_ID),
    (50, "processId", fields::memory_pool::PROCESS_ID),
    (50, "deviceId", fields::memory_pool::DEVICE_ID),
    (50, "minBytesToKeep", fields::memory_pool::MIN_BYTES_TO_KEEP),
    (50, "address", fields::memory_pool::ADDRESS),
    (50, "size", fields::memory_pool::SIZE),
    (50, "releaseThreshold", fields::memory_pool::RELEASE_THRESHOLD),
    (50, "timestamp", fields::memory_pool::TIMESTAMP),
    (50, "utilizedSize", fields::memory_pool::UTILIZED_SIZE),
    (50, "isManagedPool", fields::memory_pool::IS_MANAGED_POOL),
    (51, "kind", fields::graph_trace::KIND_FIELD),
    (51, "correlationId", fields::graph_trace::CORRELATION_ID),
    (51, "start", fields::graph_trace::START),
    (51, "end", fields::graph_trace::END),
    (51, "deviceId", fields::graph_trace::DEVICE_ID),
    (51, "graphId", fields::graph_trace::GRAPH_ID),
    (51, "contextId", fields::graph_trace::CONTEXT_ID),
    (51, "streamId", fields::graph_trace::STREAM_ID),
    (51, "endDeviceId", fields::graph_trace::END_DEVICE_ID),
    (51, "endContextId", fields::graph_trace::END_CONTEXT_ID),
    (52, "kind", fields::jit::KIND_FIELD),
    (52, "jitEntryType", fields::jit::JIT_ENTRY_TYPE),
    (52, "jitOperationType", fields::jit::JIT_OPERATION_TYPE),
    (52, "deviceId", fields::jit::DEVICE_ID),
    (52, "start", fields::jit::START),
    (52, "end", fields::jit::END),
    (52, "correlationId", fields::jit::CORRELATION_ID),
    (52, "jitOperationCorrelationId", fields::jit::JIT_OPERATION_CORRELATION_ID),
    (52, "cacheSize", fields::jit::CACHE_SIZE),
    (52, "cachePath", fields::jit::CACHE_PATH),
    (52, "processId", fields::jit::PROCESS_ID),
    (52, "threadId", fields::jit::THREAD_ID),
    (53, "kind", fields::device_graph_trace::KIND_FIELD),
    (53, "deviceId", fields::device_graph_trace::DEVICE_ID),
    (53, "start", fields::device_graph_trace::START),
    (53, "end", fields::device_graph_trace::END),
    (53, "graphId", fields::device_graph_trace::GRAPH_ID),
    (53, "launcherGraphId", fields::device_graph_trace::LAUNCHER_GRAPH_ID),
    (53, "deviceLaunchMode", fields::device_graph_trace::DEVICE_LAUNCH_MODE),
    (53, "contextId", fields::device_graph_trace::CONTEXT_ID),
    (53, "streamId", fields::device_graph_trace::STREAM_ID),
    (54, "kind", fields::mem_decompress::KIND_FIELD),
    (54, "deviceId", fields::mem_decompress::DEVICE_ID),
    (54, "contextId", fields::mem_decompress::CONTEXT_ID),
    (54, "streamId", fields::mem_decompress::STREAM_ID),
    (54, "channelID", fields::mem_decompress::CHANNEL_ID),
    (54, "channelType", fields::mem_decompress::CHANNEL_TYPE),
    (54, "correlationId", fields::mem_decompress::CORRELATION_ID),
    (54, "numberOfOperations", fields::mem_decompress::NUMBER_OF_OPERATIONS),
    (54, "sourceBytes", fields::mem_decompress::SOURCE_BYTES),
    (54, "start", fields::mem_decompress::START),
    (54, "end", fields::mem_decompress::END),
    (55, "kind", fields::confidential_compute_rotation::KIND_FIELD),
    (55, "eventType", fields::confidential_compute_rotation::EVENT_TYPE),
    (55, "deviceId", fields::confidential_compute_rotation::DEVICE_ID),
    (55, "contextId", fields::confidential_compute_rotation::CONTEXT_ID),
    (55, "channelId", fields::confidential_compute_rotation::CHANNEL_ID),
    (55, "channelType", fields::confidential_compute_rotation::CHANNEL_TYPE),
    (55, "timestamp", fields::confidential_compute_rotation::TIMESTAMP),
    (56, "kind", fields::graph_host_node::KIND_FIELD),
    (56, "streamId", fields::graph_host_node::STREAM_ID),
    (56, "contextId", fields::graph_host_node::CONTEXT_ID),
    (56, "deviceId", fields::graph_host_node::DEVICE_ID),
    (56, "correlationId", fields::graph_host_node::CORRELATION_ID),
    (56, "graphId", fields::graph_host_node::GRAPH_ID),
    (56, "graphNodeId", fields::graph_host_node::GRAPH_NODE_ID),
    (56, "processId", fields::graph_host_node::PROCESS_ID),
    (56, "threadId", fields::graph_host_node::THREAD_ID),
    (56, "start", fields::graph_host_node::START),
    (56, "end", fields::graph_host_node::END),
    (57, "kind", fields::compute_engine_ctx_switch::KIND_FIELD),
    (57, "contextId", fields::compute_engine_ctx_switch::CONTEXT_ID),
    (57, "timestamp", fields::compute_engine_ctx_switch::TIMESTAMP),
    (57, "operationType", fields::compute_engine_ctx_switch::OPERATION_TYPE),
    (58, "kind", fields::host_launch::KIND_FIELD),
    (58, "streamId", fields::host_launch::STREAM_ID),
    (58, "contextId", fields::host_launch::CONTEXT_ID),
    (58, "deviceId", fields::host_launch::DEVICE_ID),
    (58, "correlationId", fields::host_launch::CORRELATION_ID),
    (58, "processId", fields::host_launch::PROCESS_ID),
    (58, "threadId", fields::host_launch::THREAD_ID),
    (58, "start", fields::host_launch::START),
    (58, "end", fields::host_launch::END),
    (59, "kind", fields::green_context::KIND_FIELD),
    (59, "contextId", fields::green_context::CONTEXT_ID),
    (59, "parentContextId", fields::green_context::PARENT_CONTEXT_ID),
    (59, "deviceId", fields::green_context::DEVICE_ID),
    (59, "numTpcs", fields::green_context::NUM_TPCS),
    (59, "numMultiprocessors", fields::green_context::NUM_MULTIPROCESSORS),
    (59, "logicalTpcMaskSize", fields::green_context::LOGICAL_TPC_MASK_SIZE),
    (59, "logicalTpcMask", fields::green_context::LOGICAL_TPC_MASK),
    (59, "workqueueResourceId", fields::green_context::WORKQUEUE_RESOURCE_ID),
    (59, "workqueueConcurrencyLimit", fields::green_context::WORKQUEUE_CONCURRENCY_LIMIT),
    (59, "workqueueSharingScope", fields::green_context::WORKQUEUE_SHARING_SCOPE),
    (59, "workqueueChannelCount", fields::green_context::WORKQUEUE_CHANNEL_COUNT),
    (59, "workqueueChannelIds", fields::green_context::WORKQUEUE_CHANNEL_IDS),
];

/// What `cuptiActivityGetNextRecord` steps over, by package, oldest first.
#[rustfmt::skip]
pub static STRIDES: &[PackageStrides] = &[
    PackageStrides { package: "11.7.101", toolkit: 1107, newest_of_toolkit: true, api_version: 17, strides: [0, 88, 88, 176, 40, 40, 24, 24, 176, 16, 176, 32, 56, 32, 24, 56, 40, 40, 144, 40, 40, 32, 96, 32, 48, 64, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 24, 24, 40, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 120, 72, 48, 0, 0, 0, 0, 0, 0, 0, 0] },
    PackageStrides { package: "11.8.87", toolkit: 1108, newest_of_toolkit: true, api_version: 18, strides: [0, 88, 88, 200, 40, 40, 24, 24, 176, 16, 200, 32, 56, 32, 24, 56, 40, 40, 144, 40, 40, 32, 96, 32, 48, 64, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 24, 24, 40, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 120, 72, 48, 64, 0, 0, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.0.90", toolkit: 1200, newest_of_toolkit: false, api_version: 18, strides: [0, 88, 88, 208, 40, 40, 24, 24, 176, 16, 208, 32, 56, 32, 24, 56, 40, 40, 144, 40, 40, 32, 96, 32, 48, 64, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 24, 24, 40, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 120, 72, 48, 64, 0, 0, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.0.146", toolkit: 1200, newest_of_toolkit: true, api_version: 18, strides: [0, 88, 88, 208, 40, 40, 24, 24, 176, 16, 208, 32, 56, 32, 24, 56, 40, 40, 144, 40, 40, 32, 96, 32, 48, 64, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 24, 24, 40, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 120, 72, 48, 64, 0, 0, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.1.62", toolkit: 1201, newest_of_toolkit: false, api_version: 18, strides: [0, 88, 88, 208, 40, 40, 24, 24, 176, 16, 208, 32, 56, 32, 24, 56, 40, 40, 144, 40, 40, 32, 96, 32, 48, 64, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 24, 24, 40, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 120, 72, 48, 64, 0, 0, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.1.105", toolkit: 1201, newest_of_toolkit: true, api_version: 18, strides: [0, 88, 88, 208, 40, 40, 24, 24, 176, 16, 208, 32, 56, 32, 24, 56, 40, 40, 144, 40, 40, 32, 96, 32, 48, 64, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 24, 24, 40, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 120, 72, 48, 64, 0, 0, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.2.142", toolkit: 1202, newest_of_toolkit: true, api_version: 20, strides: [0, 88, 88, 208, 40, 40, 24, 24, 184, 16, 208, 32, 56, 32, 24, 56, 40, 40, 144, 40, 40, 32, 96, 32, 48, 64, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 24, 24, 40, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 120, 72, 48, 64, 0, 0, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.3.101", toolkit: 1203, newest_of_toolkit: true, api_version: 21, strides: [0, 88, 88, 208, 40, 40, 24, 24, 184, 16, 208, 32, 56, 32, 24, 56, 40, 48, 144, 40, 40, 32, 96, 32, 48, 64, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 24, 24, 40, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 120, 72, 56, 64, 0, 0, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.4.127", toolkit: 1204, newest_of_toolkit: true, api_version: 22, strides: [0, 88, 88, 208, 40, 40, 24, 24, 184, 24, 208, 32, 56, 32, 24, 56, 40, 56, 144, 40, 40, 32, 96, 32, 48, 64, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 24, 24, 40, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 120, 72, 56, 72, 0, 0, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.5.82", toolkit: 1205, newest_of_toolkit: true, api_version: 23, strides: [0, 88, 88, 208, 40, 40, 24, 24, 184, 32, 208, 32, 56, 32, 24, 56, 40, 56, 144, 40, 40, 32, 96, 32, 48, 64, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 24, 24, 40, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 120, 72, 56, 72, 0, 0, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.6.37", toolkit: 1206, newest_of_toolkit: false, api_version: 24, strides: [0, 88, 88, 208, 40, 40, 24, 24, 184, 32, 208, 32, 56, 32, 24, 56, 40, 56, 144, 40, 40, 32, 96, 32, 48, 64, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 24, 24, 40, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 128, 72, 56, 72, 0, 0, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.6.80", toolkit: 1206, newest_of_toolkit: true, api_version: 24, strides: [0, 88, 88, 208, 40, 40, 24, 24, 184, 32, 208, 32, 56, 32, 24, 56, 40, 56, 144, 40, 40, 32, 96, 32, 48, 64, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 24, 24, 40, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 128, 72, 56, 72, 0, 0, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.8.57", toolkit: 1208, newest_of_toolkit: false, api_version: 26, strides: [0, 96, 88, 208, 40, 40, 24, 24, 184, 32, 208, 32, 56, 32, 24, 56, 40, 56, 144, 40, 40, 32, 96, 32, 48, 104, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 56, 24, 56, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 128, 72, 56, 72, 56, 64, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.8.90", toolkit: 1208, newest_of_toolkit: true, api_version: 26, strides: [0, 96, 88, 208, 40, 40, 24, 24, 184, 32, 208, 32, 56, 32, 24, 56, 40, 56, 144, 40, 40, 32, 96, 32, 48, 104, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 56, 24, 56, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 128, 72, 56, 72, 56, 64, 0, 0, 0, 0, 0] },
    PackageStrides { package: "12.9.19", toolkit: 1209, newest_of_toolkit: false, api_version: 27, strides: [0, 96, 88, 208, 40, 40, 24, 24, 184, 32, 208, 32, 56, 32, 24, 56, 40, 56, 144, 40, 40, 32, 96, 32, 48, 104, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 56, 24, 56, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 128, 72, 56, 72, 56, 64, 32, 0, 0, 0, 0] },
    PackageStrides { package: "12.9.79", toolkit: 1209, newest_of_toolkit: true, api_version: 28, strides: [0, 96, 88, 208, 40, 40, 24, 24, 184, 32, 208, 32, 56, 32, 24, 56, 40, 56, 144, 40, 40, 32, 96, 32, 48, 104, 32, 24, 24, 56, 40, 32, 24, 152, 152, 120, 56, 24, 56, 24, 136, 32, 32, 32, 32, 80, 168, 40, 40, 128, 72, 56, 72, 56, 64, 32, 0, 0, 0, 0] },
    PackageStrides { package: "13.0.48", toolkit: 1300, newest_of_toolkit: false, api_version: 130000, strides: [0, 96, 88, 216, 40, 40, 0, 0, 184, 32, 216, 32, 56, 40, 0, 0, 0, 56, 144, 40, 40, 0, 96, 0, 0, 104, 32, 24, 24, 0, 0, 0, 0, 152, 152, 120, 56, 24, 56, 24, 136, 0, 0, 0, 0, 80, 168, 40, 40, 128, 80, 56, 72, 56, 64, 32, 0, 0, 0, 0] },
    PackageStrides { package: "13.0.85", toolkit: 1300, newest_of_toolkit: true, api_version: 130001, strides: [0, 96, 88, 216, 40, 40, 0, 0, 184, 32, 216, 32, 56, 40, 0, 0, 0, 56, 144, 40, 40, 0, 96, 0, 0, 104, 32, 24, 24, 0, 0, 0, 0, 152, 152, 120, 56, 24, 56, 24, 136, 0, 0, 0, 0, 80, 168, 40, 40, 128, 80, 56, 72, 56, 64, 32, 0, 0, 0, 0] },
    PackageStrides { package: "13.1.75", toolkit: 1301, newest_of_toolkit: false, api_version: 130100, strides: [0, 96, 88, 224, 40, 40, 0, 0, 184, 40, 224, 32, 56, 40, 0, 0, 0, 56, 144, 40, 40, 0, 96, 0, 0, 104, 32, 24, 24, 0, 0, 0, 0, 152, 152, 120, 56, 24, 56, 24, 136, 0, 0, 0, 0, 80, 168, 40, 40, 128, 80, 56, 72, 56, 64, 32, 56, 24, 48, 0] },
    PackageStrides { package: "13.1.115", toolkit: 1301, newest_of_toolkit: true, api_version: 130101, strides: [0, 96, 88, 224, 40, 40, 0, 0, 184, 40, 224, 32, 56, 40, 0, 0, 0, 56, 144, 40, 40, 0, 96, 0, 0, 104, 32, 24, 24, 0, 0, 0, 0, 152, 152, 120, 56, 24, 56, 24, 136, 0, 0, 0, 0, 80, 168, 40, 40, 128, 80, 56, 72, 56, 64, 32, 56, 24, 48, 0] },
    PackageStrides { package: "13.2.23", toolkit: 1302, newest_of_toolkit: false, api_version: 130200, strides: [0, 96, 88, 224, 40, 40, 0, 0, 192, 40, 224, 32, 56, 40, 0, 0, 0, 56, 144, 40, 40, 0, 96, 0, 0, 104, 32, 24, 24, 0, 0, 0, 0, 152, 152, 120, 56, 24, 56, 24, 88, 0, 0, 0, 0, 80, 168, 40, 40, 128, 80, 56, 72, 56, 64, 32, 56, 24, 48, 152] },
    PackageStrides { package: "13.2.75", toolkit: 1302, newest_of_toolkit: false, api_version: 130201, strides: [0, 96, 88, 224, 40, 40, 0, 0, 192, 40, 224, 32, 56, 40, 0, 0, 0, 56, 144, 40, 40, 0, 96, 0, 0, 104, 32, 24, 24, 0, 0, 0, 0, 152, 152, 120, 56, 24, 56, 24, 88, 0, 0, 0, 0, 80, 168, 40, 40, 128, 80, 56, 72, 56, 64, 32, 56, 24, 48, 168] },
    PackageStrides { package: "13.2.86", toolkit: 1302, newest_of_toolkit: true, api_version: 130202, strides: [0, 96, 88, 224, 40, 40, 0, 0, 192, 40, 224, 32, 56, 40, 0, 0, 0, 56, 144, 40, 40, 0, 96, 0, 0, 104, 32, 24, 24, 0, 0, 0, 0, 152, 152, 120, 56, 24, 56, 24, 88, 0, 0, 0, 0, 80, 168, 40, 40, 128, 80, 56, 72, 56, 64, 32, 56, 24, 48, 168] },
    PackageStrides { package: "13.3.35", toolkit: 1303, newest_of_toolkit: false, api_version: 130300, strides: [0, 96, 88, 232, 40, 40, 0, 0, 192, 40, 232, 32, 56, 40, 0, 0, 0, 56, 144, 40, 40, 0, 96, 0, 0, 104, 32, 24, 24, 0, 0, 0, 0, 152, 152, 120, 56, 24, 56, 24, 88, 0, 0, 0, 0, 80, 168, 40, 40, 128, 80, 56, 72, 56, 64, 32, 56, 24, 48, 168] },
    PackageStrides { package: "13.3.75", toolkit: 1303, newest_of_toolkit: true, api_version: 130301, strides: [0, 96, 88, 232, 40, 40, 0, 0, 192, 40, 232, 32, 56, 40, 0, 0, 0, 56, 144, 40, 40, 0, 96, 0, 0, 104, 32, 24, 24, 0, 0, 0, 0, 152, 152, 120, 56, 24, 56, 24, 88, 0, 0, 0, 0, 80, 168, 40, 40, 128, 80, 56, 72, 56, 64, 32, 56, 24, 48, 168] },
    PackageStrides { package: "13.4.58", toolkit: 1304, newest_of_toolkit: false, api_version: 130400, strides: [0, 112, 104, 248, 40, 40, 0, 0, 192, 40, 248, 32, 56, 40, 0, 0, 0, 56, 144, 40, 40, 0, 96, 0, 0, 104, 32, 24, 24, 0, 0, 0, 0, 152, 152, 120, 56, 24, 56, 24, 88, 0, 0, 0, 0, 80, 168, 40, 40, 128, 80, 56, 72, 56, 64, 32, 56, 24, 48, 304] },
    PackageStrides { package: "13.4.92", toolkit: 1304, newest_of_toolkit: true, api_version: 130401, strides: [0, 112, 104, 248, 40, 40, 0, 0, 192, 40, 248, 32, 56, 40, 0, 0, 0, 56, 144, 40, 40, 0, 96, 0, 0, 104, 32, 24, 24, 0, 0, 0, 0, 152, 152, 120, 56, 24, 56, 24, 88, 0, 0, 0, 0, 80, 168, 40, 40, 128, 80, 56, 72, 56, 64, 32, 56, 24, 48, 304] },
    PackageStrides { package: "13.5.25", toolkit: 1305, newest_of_toolkit: true, api_version: 130500, strides: [0, 112, 104, 248, 40, 40, 0, 0, 192, 40, 248, 32, 56, 40, 0, 0, 0, 56, 144, 40, 40, 0, 96, 0, 0, 104, 32, 24, 24, 0, 0, 0, 0, 152, 152, 120, 80, 24, 56, 24, 88, 0, 0, 0, 0, 80, 168, 40, 40, 128, 80, 56, 72, 56, 64, 32, 56, 24, 48, 304] },
];

/// Kinds run from 1 to this, exclusive, in the newest toolkit that is known here.
pub const KINDS: usize = 60;

/// Names of result codes. Our own list: some versions of CUPTI answer `cuptiGetResultString` with nothing.
pub fn result_name(code: u32) -> Option<&'static str> {
    Some(match code {
        0 => "CUPTI_SUCCESS",
        1 => "CUPTI_ERROR_INVALID_PARAMETER",
        2 => "CUPTI_ERROR_INVALID_DEVICE",
        3 => "CUPTI_ERROR_INVALID_CONTEXT",
        4 => "CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID",
        5 => "CUPTI_ERROR_INVALID_EVENT_ID",
        6 => "CUPTI_ERROR_INVALID_EVENT_NAME",
        7 => "CUPTI_ERROR_INVALID_OPERATION",
        8 => "CUPTI_ERROR_OUT_OF_MEMORY",
        9 => "CUPTI_ERROR_HARDWARE",
        10 => "CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT",
        11 => "CUPTI_ERROR_API_NOT_IMPLEMENTED",
        12 => "CUPTI_ERROR_MAX_LIMIT_REACHED",
        13 => "CUPTI_ERROR_NOT_READY",
        14 => "CUPTI_ERROR_NOT_COMPATIBLE",
        15 => "CUPTI_ERROR_NOT_INITIALIZED",
        16 => "CUPTI_ERROR_INVALID_METRIC_ID",
        17 => "CUPTI_ERROR_INVALID_METRIC_NAME",
        18 => "CUPTI_ERROR_QUEUE_EMPTY",
        19 => "CUPTI_ERROR_INVALID_HANDLE",
        20 => "CUPTI_ERROR_INVALID_STREAM",
        21 => "CUPTI_ERROR_INVALID_KIND",
        22 => "CUPTI_ERROR_INVALID_EVENT_VALUE",
        23 => "CUPTI_ERROR_DISABLED",
        24 => "CUPTI_ERROR_INVALID_MODULE",
        25 => "CUPTI_ERROR_INVALID_METRIC_VALUE",
        26 => "CUPTI_ERROR_HARDWARE_BUSY",
        27 => "CUPTI_ERROR_NOT_SUPPORTED",
        28 => "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED",
        29 => "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE",
        30 => "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_NON_P2P_DEVICES",
        31 => "CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_WITH_MPS",
        32 => "CUPTI_ERROR_CDP_TRACING_NOT_SUPPORTED",
        33 => "CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED",
        34 => "CUPTI_ERROR_CUDA_COMPILER_NOT_COMPATIBLE",
        35 => "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
        36 => "CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED",
        37 => "CUPTI_ERROR_OPENACC_UNDEFINED_ROUTINE",
        38 => "CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED",
        39 => "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
        40 => "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
        41 => "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED",
        42 => "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED",
        43 => "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED",
        44 => "CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED",
        45 => "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED",
        46 => "CUPTI_ERROR_INVALID_CHIP_NAME",
        47 => "CUPTI_ERROR_HES_TRACE_NOT_SUPPORTED_ON_MPS",
        999 => "CUPTI_ERROR_UNKNOWN",
        _ => return None,
    })
}

/// Name of an activity kind, without its prefix.
pub fn kind_name(kind: u32) -> Option<&'static str> {
    Some(match kind {
        0 => "INVALID",
        1 => "MEMCPY",
        2 => "MEMSET",
        3 => "KERNEL",
        4 => "DRIVER",
        5 => "RUNTIME",
        6 => "EVENT",
        7 => "METRIC",
        8 => "DEVICE",
        9 => "CONTEXT",
        10 => "CONCURRENT_KERNEL",
        11 => "NAME",
        12 => "MARKER",
        13 => "MARKER_DATA",
        14 => "SOURCE_LOCATOR",
        15 => "GLOBAL_ACCESS",
        16 => "BRANCH",
        17 => "OVERHEAD",
        18 => "CDP_KERNEL",
        19 => "PREEMPTION",
        20 => "ENVIRONMENT",
        21 => "EVENT_INSTANCE",
        22 => "MEMCPY2",
        23 => "METRIC_INSTANCE",
        24 => "INSTRUCTION_EXECUTION",
        25 => "UNIFIED_MEMORY_COUNTER",
        26 => "FUNCTION",
        27 => "MODULE",
        28 => "DEVICE_ATTRIBUTE",
        29 => "SHARED_ACCESS",
        30 => "PC_SAMPLING",
        31 => "PC_SAMPLING_RECORD_INFO",
        32 => "INSTRUCTION_CORRELATION",
        33 => "OPENACC_DATA",
        34 => "OPENACC_LAUNCH",
        35 => "OPENACC_OTHER",
        36 => "CUDA_EVENT",
        37 => "STREAM",
        38 => "SYNCHRONIZATION",
        39 => "EXTERNAL_CORRELATION",
        40 => "NVLINK",
        41 => "INSTANTANEOUS_EVENT",
        42 => "INSTANTANEOUS_EVENT_INSTANCE",
        43 => "INSTANTANEOUS_METRIC",
        44 => "INSTANTANEOUS_METRIC_INSTANCE",
        45 => "MEMORY",
        46 => "PCIE",
        47 => "OPENMP",
        48 => "INTERNAL_LAUNCH_API",
        49 => "MEMORY2",
        50 => "MEMORY_POOL",
        51 => "GRAPH_TRACE",
        52 => "JIT",
        53 => "DEVICE_GRAPH_TRACE",
        54 => "MEM_DECOMPRESS",
        55 => "CONFIDENTIAL_COMPUTE_ROTATION",
        56 => "GRAPH_HOST_NODE",
        57 => "COMPUTE_ENGINE_CTX_SWITCH",
        58 => "HOST_LAUNCH",
        59 => "GREEN_CONTEXT",
        _ => return None,
    })
}

/// Callback ids of calls that somebody treats specially. Numbers never change from version to version.
#[allow(missing_docs)]
#[rustfmt::skip]
pub mod cbid {
    pub mod driver {
        pub const INIT: u32 = 1;
        pub const CTX_CREATE: u32 = 10;
        pub const CTX_DESTROY: u32 = 11;
        pub const CTX_SYNCHRONIZE: u32 = 17;
        pub const CTX_GET_DEVICE: u32 = 16;
        pub const CTX_SET_CURRENT: u32 = 303;
        pub const CTX_GET_CURRENT: u32 = 304;
        pub const EVENT_QUERY: u32 = 120;
        pub const STREAM_QUERY: u32 = 125;
        pub const STREAM_QUERY_PTSZ: u32 = 439;
        pub const LAUNCH_KERNEL: u32 = 307;
        pub const LAUNCH_KERNEL_PTSZ: u32 = 442;
        pub const LAUNCH_KERNEL_EX: u32 = 652;
        pub const LAUNCH_KERNEL_EX_PTSZ: u32 = 653;
        pub const LAUNCH_COOPERATIVE_KERNEL: u32 = 477;
        pub const LAUNCH_COOPERATIVE_KERNEL_PTSZ: u32 = 478;
        pub const PROFILER_START: u32 = 308;
        pub const PROFILER_STOP: u32 = 309;
        pub const PROFILER_INITIALIZE: u32 = 311;
        pub const CTX_CREATE_V2: u32 = 235;
        pub const CTX_CREATE_V3: u32 = 645;
        pub const CTX_CREATE_V4: u32 = 757;
        pub const CTX_DESTROY_V2: u32 = 322;
        pub const CTX_SYNCHRONIZE_V2: u32 = 800;
        pub const GET_ERROR_STRING: u32 = 372;
        pub const DEVICE_PRIMARY_CTX_GET_STATE: u32 = 392;
        pub const DEVICE_PRIMARY_CTX_RETAIN: u32 = 386;
        pub const DEVICE_PRIMARY_CTX_RELEASE: u32 = 387;
        pub const DEVICE_PRIMARY_CTX_RELEASE_V2: u32 = 544;
        pub const DEVICE_PRIMARY_CTX_RESET: u32 = 389;
        pub const DEVICE_PRIMARY_CTX_RESET_V2: u32 = 545;
        pub const STREAM_IS_CAPTURING: u32 = 499;
        pub const STREAM_IS_CAPTURING_PTSZ: u32 = 500;
        pub const GRAPH_LAUNCH: u32 = 514;
        pub const GRAPH_LAUNCH_PTSZ: u32 = 515;
        pub const GRAPH_INSTANTIATE: u32 = 513;
        pub const GET_PROC_ADDRESS: u32 = 626;
        pub const GET_PROC_ADDRESS_V2: u32 = 677;
        pub const KERNEL_GET_ATTRIBUTE: u32 = 686;
        pub const STREAM_SYNCHRONIZE: u32 = 126;
        pub const EVENT_SYNCHRONIZE: u32 = 121;
        pub const MEMCPY_HTO_D_V2: u32 = 276;
        pub const MEMCPY_DTO_H_V2: u32 = 278;
        pub const MEMCPY_HTO_D_ASYNC_V2: u32 = 277;
        pub const MEMCPY_DTO_H_ASYNC_V2: u32 = 279;
        pub const MEMSET_D8_V2: u32 = 249;
        pub const MEMSET_D32_V2: u32 = 251;
        pub const MEM_ALLOC_V2: u32 = 243;
        pub const MEM_FREE_V2: u32 = 245;
        pub const MODULE_LOAD_DATA: u32 = 19;
        pub const MODULE_UNLOAD: u32 = 22;
        pub const MODULE_GET_FUNCTION: u32 = 23;
        pub const STREAM_CREATE: u32 = 124;
        pub const STREAM_DESTROY_V2: u32 = 326;
    }
    pub mod runtime {
        pub const GET_DEVICE_COUNT: u32 = 3;
        pub const GET_LAST_ERROR: u32 = 10;
        pub const PEEK_AT_LAST_ERROR: u32 = 11;
        pub const GET_ERROR_STRING: u32 = 12;
        pub const GET_DEVICE: u32 = 17;
        pub const SET_DEVICE: u32 = 16;
        pub const STREAM_QUERY: u32 = 132;
        pub const STREAM_SYNCHRONIZE: u32 = 131;
        pub const EVENT_RECORD: u32 = 135;
        pub const EVENT_QUERY: u32 = 138;
        pub const EVENT_SYNCHRONIZE: u32 = 137;
        pub const DEVICE_RESET: u32 = 164;
        pub const DEVICE_SYNCHRONIZE: u32 = 165;
        pub const PROFILER_INITIALIZE: u32 = 170;
        pub const PROFILER_START: u32 = 171;
        pub const PROFILER_STOP: u32 = 172;
        pub const LAUNCH_KERNEL: u32 = 211;
        pub const LAUNCH_KERNEL_PTSZ: u32 = 214;
        pub const LAUNCH_KERNEL_EX_C: u32 = 430;
        pub const LAUNCH_KERNEL_EX_C_PTSZ: u32 = 431;
        pub const GRAPH_LAUNCH: u32 = 311;
        pub const GRAPH_LAUNCH_PTSZ: u32 = 312;
        pub const STREAM_IS_CAPTURING: u32 = 317;
        pub const STREAM_IS_CAPTURING_PTSZ: u32 = 318;
        pub const MALLOC: u32 = 20;
        pub const FREE: u32 = 22;
        pub const MEMCPY: u32 = 31;
        pub const MEMCPY_ASYNC: u32 = 41;
        pub const MEMSET: u32 = 49;
        pub const MEMSET_ASYNC: u32 = 51;
        pub const STREAM_CREATE: u32 = 129;
        pub const STREAM_DESTROY: u32 = 130;
        pub const DEVICE_GET_ATTRIBUTE: u32 = 200;
        pub const STUB_LAUNCH_KERNEL: u32 = 505;
        pub const STUB_LAUNCH_KERNEL_PTSZ: u32 = 506;
        pub const STUB_PUSH_CALL_CONFIGURATION: u32 = 502;
        pub const STUB_POP_CALL_CONFIGURATION: u32 = 503;
    }
}
