//! nsys's tables: schema 3.13.2 (nsys 2024.5), which today's tools read, with a few columns and tables of later versions
//! (3.24 and 3.25) at the end of each list. Where nsys declares NOT NULL what a trace may not know, null is allowed.

use crate::export::database::Table;

/// The schema these tables are of.
pub(super) const VERSION: [&str; 3] = ["3", "13", "2"];

const INT: &str = "INTEGER NOT NULL";
const INT_OR_NULL: &str = "INTEGER";
const TEXT: &str = "TEXT";
const REAL: &str = "REAL";

macro_rules! table {
    ($(#[doc = $doc:literal])+ $spec:ident = $name:literal { $($column:literal $what:expr,)+ }) => {
        $(#[doc = $doc])+
        pub(super) static $spec: Table = Table { name: $name, columns: &[$(($column, $what)),+] };
    };
}

table! {
    /// Every text that is referred to by number.
    STRING_IDS = "StringIds" {
        "id" "INTEGER NOT NULL PRIMARY KEY", "value" "TEXT NOT NULL",
    }
}

table! {
    /// Kernels.
    KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL" {
        "start" INT, "end" INT, "deviceId" INT, "contextId" INT, "greenContextId" INT_OR_NULL, "streamId" INT,
        "correlationId" INT_OR_NULL, "globalPid" INT_OR_NULL, "demangledName" INT, "shortName" INT,
        "mangledName" INT_OR_NULL, "launchType" INT_OR_NULL, "cacheConfig" INT_OR_NULL,
        "registersPerThread" INT_OR_NULL, "gridX" INT_OR_NULL, "gridY" INT_OR_NULL, "gridZ" INT_OR_NULL,
        "blockX" INT_OR_NULL, "blockY" INT_OR_NULL, "blockZ" INT_OR_NULL, "staticSharedMemory" INT_OR_NULL,
        "dynamicSharedMemory" INT_OR_NULL, "localMemoryPerThread" INT_OR_NULL, "localMemoryTotal" INT_OR_NULL,
        "gridId" INT_OR_NULL, "sharedMemoryExecuted" INT_OR_NULL, "graphNodeId" INT_OR_NULL,
        "sharedMemoryLimitConfig" INT_OR_NULL, "graphId" INT_OR_NULL, "clusterX" INT_OR_NULL,
        "clusterY" INT_OR_NULL, "clusterZ" INT_OR_NULL,
    }
}

table! {
    /// Copies, migrations of unified memory included.
    MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY" {
        "start" INT, "end" INT, "deviceId" INT, "contextId" INT_OR_NULL, "greenContextId" INT_OR_NULL,
        "streamId" INT_OR_NULL, "correlationId" INT_OR_NULL, "globalPid" INT_OR_NULL, "bytes" INT, "copyKind" INT,
        "deprecatedSrcId" INT_OR_NULL, "srcKind" INT_OR_NULL, "dstKind" INT_OR_NULL, "srcDeviceId" INT_OR_NULL,
        "srcContextId" INT_OR_NULL, "dstDeviceId" INT_OR_NULL, "dstContextId" INT_OR_NULL,
        "migrationCause" INT_OR_NULL, "graphNodeId" INT_OR_NULL, "virtualAddress" INT_OR_NULL,
        "graphId" INT_OR_NULL,
    }
}

table! {
    /// Fills.
    MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET" {
        "start" INT, "end" INT, "deviceId" INT, "contextId" INT, "greenContextId" INT_OR_NULL, "streamId" INT,
        "correlationId" INT_OR_NULL, "globalPid" INT_OR_NULL, "value" INT, "bytes" INT, "graphNodeId" INT_OR_NULL,
        "memKind" INT_OR_NULL, "graphId" INT_OR_NULL,
    }
}

table! {
    /// Executions of whole graphs.
    GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE" {
        "start" INT, "end" INT, "deviceId" INT, "contextId" INT, "greenContextId" INT_OR_NULL, "streamId" INT,
        "correlationId" INT_OR_NULL, "globalPid" INT_OR_NULL, "graphId" INT, "graphExecId" INT_OR_NULL,
    }
}

table! {
    /// Calls of the CUDA API, runtime and driver.
    RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME" {
        "start" INT, "end" INT, "eventClass" INT, "globalTid" INT_OR_NULL, "correlationId" INT_OR_NULL,
        "nameId" INT, "returnValue" INT_OR_NULL, "callchainId" INT_OR_NULL,
    }
}

table! {
    /// Synchronisations.
    SYNC = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION" {
        "start" INT, "end" INT, "deviceId" INT, "contextId" INT, "greenContextId" INT_OR_NULL, "streamId" INT,
        "correlationId" INT_OR_NULL, "globalPid" INT_OR_NULL, "syncType" INT, "eventId" INT,
    }
}

table! {
    /// Records of CUDA events.
    EVENT = "CUPTI_ACTIVITY_KIND_CUDA_EVENT" {
        "timestamp" INT_OR_NULL, "deviceId" INT, "contextId" INT, "greenContextId" INT_OR_NULL, "streamId" INT,
        "correlationId" INT_OR_NULL, "globalPid" INT_OR_NULL, "eventId" INT,
    }
}

table! {
    /// Overhead of the driver and the profiler.
    OVERHEAD = "CUPTI_ACTIVITY_KIND_OVERHEAD" {
        "start" INT, "end" INT, "eventClass" INT, "globalTid" INT_OR_NULL, "correlationId" INT_OR_NULL,
        "nameId" INT_OR_NULL, "overheadType" INT,
    }
}

table! {
    /// Compilations.
    JIT = "CUPTI_ACTIVITY_KIND_JIT" {
        "start" INT, "end" INT, "eventClass" INT, "globalTid" INT_OR_NULL, "correlationId" INT_OR_NULL,
        "nameId" INT_OR_NULL, "overheadType" INT, "jitEntryType" INT, "jitOperationType" INT,
        "deviceId" INT_OR_NULL, "jitOperationCorrelationId" INT_OR_NULL, "cacheSize" INT_OR_NULL, "cachePath" TEXT,
    }
}

table! {
    /// Allocations and releases.
    MEMORY = "CUDA_GPU_MEMORY_USAGE_EVENTS" {
        "start" INT, "globalPid" INT, "deviceId" INT, "contextId" INT_OR_NULL, "address" INT, "pc" INT, "bytes" INT,
        "memKind" INT, "memoryOperationType" INT, "name" TEXT, "correlationId" INT_OR_NULL, "streamId" INT_OR_NULL,
        "localMemoryPoolAddress" INT_OR_NULL, "localMemoryPoolReleaseThreshold" INT_OR_NULL,
        "localMemoryPoolSize" INT_OR_NULL, "localMemoryPoolUtilizedSize" INT_OR_NULL,
        "importedMemoryPoolAddress" INT_OR_NULL, "importedMemoryPoolProcessId" INT_OR_NULL,
    }
}

table! {
    /// What became of memory pools.
    POOL = "CUDA_GPU_MEMORY_POOL_EVENTS" {
        "start" INT, "globalPid" INT, "deviceId" INT, "address" INT, "operationType" INT, "poolType" INT,
        "correlationId" INT_OR_NULL, "minBytesToKeep" INT_OR_NULL, "localMemoryPoolReleaseThreshold" INT_OR_NULL,
        "localMemoryPoolSize" INT_OR_NULL, "localMemoryPoolUtilizedSize" INT_OR_NULL,
    }
}

table! {
    /// Page faults of the CPU on unified memory.
    CPU_FAULTS = "CUDA_UM_CPU_PAGE_FAULT_EVENTS" {
        "start" INT, "globalPid" INT, "address" INT, "originalFaultPc" INT_OR_NULL, "CpuInstruction" INT,
        "module" INT, "unresolvedFaultPc" INT_OR_NULL, "sourceFile" INT_OR_NULL, "sourceLine" INT_OR_NULL,
    }
}

table! {
    /// Page faults of the GPU on unified memory.
    GPU_FAULTS = "CUDA_UM_GPU_PAGE_FAULT_EVENTS" {
        "start" INT, "end" INT, "globalPid" INT, "deviceId" INT_OR_NULL, "address" INT, "numberOfPageFaults" INT,
        "faultAccessType" INT_OR_NULL,
    }
}

table! {
    /// Ranges, marks and domains.
    NVTX = "NVTX_EVENTS" {
        "start" INT, "end" INT_OR_NULL, "eventType" INT, "rangeId" INT_OR_NULL, "category" INT_OR_NULL,
        "color" INT_OR_NULL, "text" TEXT, "globalTid" INT_OR_NULL, "endGlobalTid" INT_OR_NULL, "textId" INT_OR_NULL,
        "domainId" INT_OR_NULL, "uint64Value" INT_OR_NULL, "int64Value" INT_OR_NULL, "doubleValue" REAL,
        "uint32Value" INT_OR_NULL, "int32Value" INT_OR_NULL, "floatValue" REAL, "jsonTextId" INT_OR_NULL,
        "jsonText" TEXT, "binaryData" TEXT,
    }
}

table! {
    /// OpenACC regions about data.
    OPENACC_DATA = "CUPTI_ACTIVITY_KIND_OPENACC_DATA" {
        "start" INT, "end" INT, "nameId" INT, "globalTid" INT_OR_NULL, "eventKind" INT, "DeviceType" INT,
        "lineNo" INT_OR_NULL, "cuDeviceId" INT_OR_NULL, "cuContextId" INT_OR_NULL, "cuStreamId" INT_OR_NULL,
        "srcFile" INT_OR_NULL, "funcName" INT_OR_NULL, "bytes" INT_OR_NULL, "varName" INT_OR_NULL,
    }
}

table! {
    /// OpenACC regions that launch kernels.
    OPENACC_LAUNCH = "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH" {
        "start" INT, "end" INT, "nameId" INT, "globalTid" INT_OR_NULL, "eventKind" INT, "DeviceType" INT,
        "lineNo" INT_OR_NULL, "cuDeviceId" INT_OR_NULL, "cuContextId" INT_OR_NULL, "cuStreamId" INT_OR_NULL,
        "srcFile" INT_OR_NULL, "funcName" INT_OR_NULL, "numGangs" INT_OR_NULL, "numWorkers" INT_OR_NULL,
        "vectorLength" INT_OR_NULL, "kernelName" INT_OR_NULL,
    }
}

table! {
    /// Other OpenACC regions.
    OPENACC_OTHER = "CUPTI_ACTIVITY_KIND_OPENACC_OTHER" {
        "start" INT, "end" INT, "nameId" INT, "globalTid" INT_OR_NULL, "eventKind" INT, "DeviceType" INT,
        "lineNo" INT_OR_NULL, "cuDeviceId" INT_OR_NULL, "cuContextId" INT_OR_NULL, "cuStreamId" INT_OR_NULL,
        "srcFile" INT_OR_NULL, "funcName" INT_OR_NULL,
    }
}

table! {
    /// OpenMP: parallel regions.
    OPENMP_PARALLEL = "OPENMP_EVENT_KIND_PARALLEL" {
        "start" INT, "end" INT, "eventClass" INT, "globalTid" INT_OR_NULL, "correlationId" INT_OR_NULL,
        "nameId" INT, "eventKind" INT_OR_NULL, "parallelId" INT_OR_NULL, "parentTaskId" INT_OR_NULL,
    }
}

table! {
    /// OpenMP: tasks.
    OPENMP_TASK = "OPENMP_EVENT_KIND_TASK" {
        "start" INT, "end" INT, "eventClass" INT, "globalTid" INT_OR_NULL, "correlationId" INT_OR_NULL,
        "nameId" INT, "eventKind" INT_OR_NULL, "parallelId" INT_OR_NULL, "taskId" INT_OR_NULL, "kind" INT_OR_NULL,
    }
}

table! {
    /// OpenMP: threads.
    OPENMP_THREAD = "OPENMP_EVENT_KIND_THREAD" {
        "start" INT, "end" INT, "eventClass" INT, "globalTid" INT_OR_NULL, "correlationId" INT_OR_NULL,
        "nameId" INT, "eventKind" INT_OR_NULL, "threadId" INT_OR_NULL, "threadType" INT_OR_NULL,
    }
}

table! {
    /// OpenMP: waits.
    OPENMP_WAIT = "OPENMP_EVENT_KIND_SYNC_REGION_WAIT" {
        "start" INT, "end" INT, "eventClass" INT, "globalTid" INT_OR_NULL, "correlationId" INT_OR_NULL,
        "nameId" INT, "eventKind" INT_OR_NULL, "parallelId" INT_OR_NULL, "taskId" INT_OR_NULL, "kind" INT_OR_NULL,
    }
}

table! {
    /// Calls of the operating system's runtime.
    OSRT = "OSRT_API" {
        "start" INT, "end" INT, "eventClass" INT, "globalTid" INT_OR_NULL, "nameId" INT,
        "returnValue" INT_OR_NULL, "nestingLevel" INT_OR_NULL, "callchainId" INT_OR_NULL,
    }
}

table! {
    /// MPI: messages between two ranks.
    MPI_P2P = "MPI_P2P_EVENTS" {
        "start" INT, "end" INT_OR_NULL, "globalTid" INT_OR_NULL, "textId" INT_OR_NULL, "commHandle" INT_OR_NULL,
        "tag" INT_OR_NULL, "remoteRank" INT_OR_NULL, "size" INT_OR_NULL, "requestHandle" INT_OR_NULL,
    }
}

table! {
    /// MPI: collective operations.
    MPI_COLLECTIVES = "MPI_COLLECTIVES_EVENTS" {
        "start" INT, "end" INT_OR_NULL, "globalTid" INT_OR_NULL, "textId" INT_OR_NULL, "commHandle" INT_OR_NULL,
        "rootRank" INT_OR_NULL, "size" INT_OR_NULL, "recvSize" INT_OR_NULL, "requestHandle" INT_OR_NULL,
    }
}

table! {
    /// MPI: requests that are started or awaited.
    MPI_START_WAIT = "MPI_START_WAIT_EVENTS" {
        "start" INT, "end" INT_OR_NULL, "globalTid" INT_OR_NULL, "textId" INT_OR_NULL, "requestHandle" INT_OR_NULL,
    }
}

table! {
    /// MPI: everything else.
    MPI_OTHER = "MPI_OTHER_EVENTS" {
        "start" INT, "end" INT_OR_NULL, "globalTid" INT_OR_NULL, "textId" INT_OR_NULL,
    }
}

table! {
    /// Processes.
    PROCESSES = "PROCESSES" {
        "globalPid" INT_OR_NULL, "pid" INT_OR_NULL, "name" TEXT,
    }
}

table! {
    /// Names of threads.
    THREAD_NAMES = "ThreadNames" {
        "nameId" INT, "priority" INT_OR_NULL, "globalTid" INT_OR_NULL,
    }
}

table! {
    /// GPUs of the machines.
    GPU = "TARGET_INFO_GPU" {
        "vmId" INT, "id" INT, "name" TEXT, "busLocation" TEXT, "isDiscrete" INT_OR_NULL, "l2CacheSize" INT_OR_NULL,
        "totalMemory" INT_OR_NULL, "memoryBandwidth" INT_OR_NULL, "clockRate" INT_OR_NULL, "smCount" INT_OR_NULL,
        "pwGpuId" INT_OR_NULL, "uuid" TEXT, "luid" INT_OR_NULL, "chipName" TEXT, "cuDevice" INT_OR_NULL,
        "maxWarpsPerSm" INT_OR_NULL, "computeMajor" INT_OR_NULL, "computeMinor" INT_OR_NULL,
        "smMajor" INT_OR_NULL, "smMinor" INT_OR_NULL,
    }
}

table! {
    /// Which GPU a process knows by which number.
    CUDA_DEVICE = "TARGET_INFO_CUDA_DEVICE" {
        "gpuId" INT_OR_NULL, "cudaId" INT, "pid" INT, "uuid" TEXT, "numMultiprocessors" INT_OR_NULL,
    }
}

table! {
    /// Contexts.
    CONTEXT = "TARGET_INFO_CUDA_CONTEXT_INFO" {
        "nullStreamId" INT_OR_NULL, "hwId" INT, "vmId" INT, "processId" INT, "deviceId" INT, "contextId" INT,
        "parentContextId" INT_OR_NULL, "isGreenContext" INT_OR_NULL,
    }
}

table! {
    /// Streams.
    STREAM = "TARGET_INFO_CUDA_STREAM" {
        "streamId" INT, "hwId" INT, "vmId" INT, "processId" INT, "contextId" INT, "priority" INT_OR_NULL,
        "flag" INT_OR_NULL,
    }
}

table! {
    /// Names that the program gave to streams.
    STREAM_NAME = "TARGET_INFO_NVTX_CUDA_STREAM" {
        "name" "TEXT NOT NULL", "hwId" INT, "vmId" INT, "processId" INT, "deviceId" INT, "contextId" INT,
        "streamId" INT,
    }
}

table! {
    /// When the session started.
    SESSION_START = "TARGET_INFO_SESSION_START_TIME" {
        "utcEpochNs" INT_OR_NULL, "utcTime" TEXT, "localTime" TEXT,
    }
}

table! {
    /// How long it lasted.
    DETAILS = "ANALYSIS_DETAILS" {
        "globalVid" INT, "duration" INT, "startTime" INT, "stopTime" INT,
    }
}

table! {
    /// Properties of the machines.
    SYSTEM = "TARGET_INFO_SYSTEM_ENV" {
        "globalVid" INT_OR_NULL, "devStateName" "TEXT NOT NULL", "name" "TEXT NOT NULL", "nameEnum" INT,
        "value" "TEXT NOT NULL",
    }
}

table! {
    /// Who exported what.
    META = "META_DATA_EXPORT" {
        "name" "TEXT NOT NULL", "value" TEXT,
    }
}
