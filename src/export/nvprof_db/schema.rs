//! nvprof's tables, schema 18 (CUDA 11.8): one per kind of CUPTI record, all made even when empty, as nvprof does. Null is
//! allowed where a trace may not know a value; nvprof reads it as 0.

use crate::export::database::Table;

/// The schema.
pub(super) const VERSION: u32 = 18;

/// The statements that make all tables.
pub(super) fn create() -> String {
    let mut sql = "CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT NOT NULL UNIQUE);
         CREATE TABLE Version (version INTEGER);"
        .to_owned();
    for (kind, columns) in KINDS {
        sql.push_str(&format!("CREATE TABLE CUPTI_ACTIVITY_KIND_{kind} (_id_ INTEGER PRIMARY KEY"));
        for column in columns.split_whitespace() {
            match column.strip_suffix('*') {
                Some(bytes) => sql.push_str(&format!(", {bytes} BLOB")),
                None => sql.push_str(&format!(", {column} INT")),
            }
        }
        sql.push_str(");");
    }
    sql
}

macro_rules! existing {
    ($($spec:ident = $name:literal;)+) => {
        $(pub(super) static $spec: Table = Table { name: $name, columns: &[] };)+
    };
}

existing! {
    STRING_TABLE = "StringTable";
    VERSION_TABLE = "Version";
    MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY";
    MEMCPY2 = "CUPTI_ACTIVITY_KIND_MEMCPY2";
    MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET";
    CONCURRENT_KERNEL = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL";
    CDP_KERNEL = "CUPTI_ACTIVITY_KIND_CDP_KERNEL";
    RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME";
    DRIVER = "CUPTI_ACTIVITY_KIND_DRIVER";
    DEVICE = "CUPTI_ACTIVITY_KIND_DEVICE";
    CONTEXT = "CUPTI_ACTIVITY_KIND_CONTEXT";
    STREAM = "CUPTI_ACTIVITY_KIND_STREAM";
    NAME = "CUPTI_ACTIVITY_KIND_NAME";
    MARKER = "CUPTI_ACTIVITY_KIND_MARKER";
    MARKER_DATA = "CUPTI_ACTIVITY_KIND_MARKER_DATA";
    OVERHEAD = "CUPTI_ACTIVITY_KIND_OVERHEAD";
    UNIFIED_MEMORY_COUNTER = "CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER";
    OPENACC_DATA = "CUPTI_ACTIVITY_KIND_OPENACC_DATA";
    OPENACC_LAUNCH = "CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH";
    OPENACC_OTHER = "CUPTI_ACTIVITY_KIND_OPENACC_OTHER";
    OPENMP = "CUPTI_ACTIVITY_KIND_OPENMP";
    CUDA_EVENT = "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
    SYNCHRONIZATION = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
    EXTERNAL_CORRELATION = "CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION";
    MEMORY2 = "CUPTI_ACTIVITY_KIND_MEMORY2";
    MEMORY_POOL = "CUPTI_ACTIVITY_KIND_MEMORY_POOL";
    GRAPH_TRACE = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE";
    JIT = "CUPTI_ACTIVITY_KIND_JIT";
    ENVIRONMENT = "CUPTI_ACTIVITY_KIND_ENVIRONMENT";
}

/// Kinds and their columns behind `_id_`; a star marks bytes.
#[rustfmt::skip]
static KINDS: &[(&str, &str)] = &[
    ("MEMCPY", "copyKind srcKind dstKind flags bytes start end deviceId contextId streamId correlationId
        runtimeCorrelationId graphNodeId graphId channelID channelType"),
    ("MEMSET", "value bytes start end deviceId contextId streamId correlationId flags memoryKind graphNodeId graphId
        channelID channelType"),
    ("KERNEL", "cacheConfig* sharedMemoryConfig registersPerThread partitionedGlobalCacheRequested
        partitionedGlobalCacheExecuted start end completed deviceId contextId streamId gridX gridY gridZ
        blockX blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal
        correlationId gridId name queued submitted launchType isSharedMemoryCarveoutRequested
        sharedMemoryCarveoutRequested sharedMemoryExecuted graphNodeId shmemLimitConfig graphId
        pAccessPolicyWindow* channelID channelType clusterX clusterY clusterZ clusterSchedulingPolicy
        localMemoryTotal_v2"),
    ("DRIVER", "cbid start end processId threadId correlationId returnValue"),
    ("RUNTIME", "cbid start end processId threadId correlationId returnValue"),
    ("EVENT", "id value domain correlationId"),
    ("METRIC", "id value* correlationId flags"),
    ("DEVICE", "flags globalMemoryBandwidth globalMemorySize constantMemorySize l2CacheSize numThreadsPerWarp
        coreClockRate numMemcpyEngines numMultiprocessors maxIPC maxWarpsPerMultiprocessor
        maxBlocksPerMultiprocessor maxSharedMemoryPerMultiprocessor maxRegistersPerMultiprocessor
        maxRegistersPerBlock maxSharedMemoryPerBlock maxThreadsPerBlock maxBlockDimX maxBlockDimY
        maxBlockDimZ maxGridDimX maxGridDimY maxGridDimZ computeCapabilityMajor computeCapabilityMinor id
        eccEnabled uuid* name isCudaVisible isMigEnabled gpuInstanceId computeInstanceId migUuid*"),
    ("CONTEXT", "contextId deviceId computeApiKind nullStreamId"),
    ("CONCURRENT_KERNEL", "cacheConfig* sharedMemoryConfig registersPerThread partitionedGlobalCacheRequested
        partitionedGlobalCacheExecuted start end completed deviceId contextId streamId gridX gridY gridZ
        blockX blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal
        correlationId gridId name queued submitted launchType isSharedMemoryCarveoutRequested
        sharedMemoryCarveoutRequested sharedMemoryExecuted graphNodeId shmemLimitConfig graphId
        pAccessPolicyWindow* channelID channelType clusterX clusterY clusterZ clusterSchedulingPolicy
        localMemoryTotal_v2"),
    ("NAME", "objectKind objectId* name"),
    ("MARKER", "flags timestamp id objectKind objectId* name domain"),
    ("MARKER_DATA", "flags id payloadKind payload* color category"),
    ("SOURCE_LOCATOR", "id lineNumber fileName"),
    ("GLOBAL_ACCESS", "flags sourceLocatorId correlationId functionId executed pcOffset threadsExecuted l2_transactions
        theoreticalL2Transactions"),
    ("BRANCH", "sourceLocatorId correlationId functionId pcOffset diverged threadsExecuted executed"),
    ("OVERHEAD", "overheadKind objectKind objectId* start end"),
    ("CDP_KERNEL", "cacheConfig* sharedMemoryConfig registersPerThread start end deviceId contextId streamId gridX gridY
        gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory localMemoryPerThread
        localMemoryTotal correlationId gridId parentGridId queued submitted completed parentBlockX
        parentBlockY parentBlockZ name"),
    ("PREEMPTION", "preemptionKind timestamp gridId blockX blockY blockZ"),
    ("ENVIRONMENT", "deviceId timestamp environmentKind data*"),
    ("EVENT_INSTANCE", "id domain instance value correlationId"),
    ("MEMCPY2", "copyKind srcKind dstKind flags bytes start end deviceId contextId streamId srcDeviceId srcContextId
        dstDeviceId dstContextId correlationId graphNodeId graphId channelID channelType"),
    ("METRIC_INSTANCE", "id value* instance correlationId flags"),
    ("INSTRUCTION_EXECUTION", "flags sourceLocatorId correlationId functionId pcOffset threadsExecuted notPredOffThreadsExecuted
        executed"),
    ("UNIFIED_MEMORY_COUNTER", "counterKind value start end address srcId dstId streamId processId flags"),
    ("FUNCTION", "id contextId moduleId functionIndex name"),
    ("MODULE", "contextId id cubinSize cubin*"),
    ("DEVICE_ATTRIBUTE", "flags deviceId attribute* value*"),
    ("SHARED_ACCESS", "flags sourceLocatorId correlationId functionId pcOffset threadsExecuted sharedTransactions
        theoreticalSharedTransactions executed"),
    ("PC_SAMPLING", "flags sourceLocatorId correlationId functionId latencySamples samples stallReason pcOffset"),
    ("PC_SAMPLING_RECORD_INFO", "correlationId totalSamples droppedSamples samplingPeriodInCycles"),
    ("INSTRUCTION_CORRELATION", "flags sourceLocatorId functionId pcOffset"),
    ("OPENACC_DATA", "eventKind parentConstruct version implicit deviceType deviceNumber threadId async asyncMap lineNo
        endLineNo funcLineNo funcEndLineNo start end cuDeviceId cuContextId cuStreamId cuProcessId
        cuThreadId externalId srcFile funcName bytes hostPtr devicePtr varName"),
    ("OPENACC_LAUNCH", "eventKind parentConstruct version implicit deviceType deviceNumber threadId async asyncMap lineNo
        endLineNo funcLineNo funcEndLineNo start end cuDeviceId cuContextId cuStreamId cuProcessId
        cuThreadId externalId srcFile funcName numGangs numWorkers vectorLength kernelName"),
    ("OPENACC_OTHER", "eventKind parentConstruct version implicit deviceType deviceNumber threadId async asyncMap lineNo
        endLineNo funcLineNo funcEndLineNo start end cuDeviceId cuContextId cuStreamId cuProcessId
        cuThreadId externalId srcFile funcName"),
    ("CUDA_EVENT", "correlationId contextId streamId eventId"),
    ("STREAM", "contextId streamId priority flag correlationId"),
    ("SYNCHRONIZATION", "type start end correlationId contextId streamId cudaEventId"),
    ("EXTERNAL_CORRELATION", "externalKind externalId correlationId"),
    ("NVLINK", "nvlinkVersion typeDev0 typeDev1 idDev0* idDev1* flag physicalNvLinkCount portDev0* portDev1*
        bandwidth nvswitchConnected"),
    ("INSTANTANEOUS_EVENT", "id value timestamp deviceId"),
    ("INSTANTANEOUS_EVENT_INSTANCE", "id value timestamp deviceId instance"),
    ("INSTANTANEOUS_METRIC", "id value* timestamp deviceId flags"),
    ("INSTANTANEOUS_METRIC_INSTANCE", "id value* timestamp deviceId flags instance"),
    ("MEMORY", "memoryKind address bytes start end allocPC freePC processId deviceId contextId name"),
    ("PCIE", "type id* domain pcieGeneration linkRate linkWidth upstreamBus attr*"),
    ("OPENMP", "eventKind version threadId start end cuProcessId cuThreadId"),
    ("INTERNAL_LAUNCH_API", "cbid start end processId threadId correlationId returnValue"),
    ("MEMORY2", "memoryOperationType memoryKind correlationId address bytes timestamp PC processId deviceId contextId
        streamId name isAsync memoryPoolConfig*"),
    ("MEMORY_POOL", "memoryPoolOperationType memoryPoolType correlationId processId deviceId minBytesToKeep address size
        releaseThreshold timestamp utilizedSize"),
    ("GRAPH_TRACE", "correlationId start end deviceId graphId contextId streamId"),
    ("JIT", "jitEntryType jitOperationType deviceId start end correlationId jitOperationCorrelationId cacheSize
        cachePath"),
];
