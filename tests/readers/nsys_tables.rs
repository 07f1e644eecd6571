//! Tables of nsys's databases that only some of them have: metrics sampled of GPUs, tables with a version in their names,
//! green contexts that the table of contexts lacks.

use crate::common::{TempFolder, gpuprof, shared};
use rusqlite::Connection;

const SCHEMA: &str = "
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringIds VALUES (1, 'axpy'), (2, 'cudaLaunchKernel_v7000');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
        greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER,
        shortName INTEGER);";

fn database(folder: &TempFolder, name: &str, sql: &str) -> String {
    let path = folder.path().join(name);
    let db = Connection::open(&path).expect("a database");
    db.execute_batch(&format!("{SCHEMA}{sql}")).expect("rows");
    path.to_str().expect("a path").to_owned()
}

fn sql(file: &str, query: &str) -> Vec<String> {
    let answer = gpuprof(&["query", file, "--format", "csv", query]);
    answer.stdout.lines().skip(1).map(str::to_owned).collect()
}

/// nsys's number of a kind of GPU metrics has the number of the GPU in its last byte.
const KIND: i64 = 0x1_0001_0000_0000;

#[test]
fn metrics_of_gpus_are_samples_of_the_process_that_sees_the_gpu() {
    let folder = TempFolder::new("gpu-metrics");
    let (first, second) = (100_i64 << 24, 200_i64 << 24);
    let file = database(
        &folder,
        "metrics.sqlite",
        &format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 0, 1, NULL, 7, 1, {first}, 1, 1),
                 (1000, 2000, 0, 1, NULL, 7, 1, {second}, 1, 1);
             CREATE TABLE TARGET_INFO_GPU (vmId, id, name, pwGpuId);
             INSERT INTO TARGET_INFO_GPU VALUES (0, 0, 'A', 5), (0, 1, 'B', 6);
             CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid);
             INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, 100), (1, 0, 200);
             CREATE TABLE TARGET_INFO_GPU_METRICS (typeId, sourceId, typeName, metricId, metricName);
             INSERT INTO TARGET_INFO_GPU_METRICS VALUES ({a}, 1, 'm', 3, 'SMs Active [Throughput %]'),
                 ({b}, 1, 'm', 3, 'SMs Active [Throughput %]'), ({b}, 1, 'm', 4, 'GPC Clock Frequency [MHz]');
             CREATE TABLE GPU_METRICS (rawTimestamp, timestamp, typeId, metricId, value);
             INSERT INTO GPU_METRICS VALUES (1, 1000, {a}, 3, 40), (1, 1100, {a}, 3, 60), (1, 1000, {b}, 3, 10),
                 (1, 1000, {b}, 4, 1410), (1, 1000, {b}, 9, 1), (1, NULL, {b}, 9, 1);",
            a = KIND | 5,
            b = KIND | 6,
        ),
    );
    let rows = sql(
        &file,
        "SELECT process, device, metric, start_ns, value FROM sample ORDER BY process, metric, start_ns",
    );
    let expected = [
        "0,0,SMs Active [Throughput %],1000,40",
        "0,0,SMs Active [Throughput %],1100,60",
        "1,0,GPC Clock Frequency [MHz],1000,1410",
        "1,0,SMs Active [Throughput %],1000,10",
        "1,0,metric 9,1000,1",
    ];
    assert_eq!(rows, expected);
    let view = gpuprof(&["report", "--view", "system", "--format", "csv", &file]);
    // The same whether kernels are read as well or not.
    for row in [
        "process 100,0,,SMs Active [Throughput %],%,2,40.000",
        "process 200,0,,SMs Active [Throughput %],%,1,10.000",
    ] {
        assert!(view.stdout.contains(row), "{}", view.stdout);
    }
    assert!(view.stderr.contains("1 row has no usable time or id in table GPU_METRICS"), "{}", view.stderr);
}

#[test]
fn a_table_with_a_version_in_its_name_is_read_as_the_table() {
    let folder = TempFolder::new("versions");
    let process = 100_i64 << 24;
    let ranges = "(start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER)";
    let newest = database(
        &folder,
        "newest.sqlite",
        &format!(
            "CREATE TABLE NVTX_EVENTS_V2 {ranges}; INSERT INTO NVTX_EVENTS_V2 VALUES (0, 10, 59, 'old', {process});
             CREATE TABLE NVTX_EVENTS_V10 {ranges}; INSERT INTO NVTX_EVENTS_V10 VALUES (0, 41, 59, 'step', {process});
             CREATE TABLE SCHED_V3 (what); INSERT INTO SCHED_V3 VALUES (1);"
        ),
    );
    let answer = gpuprof(&["report", "--view", "nvtx_sum", "--format", "csv", &newest]);
    assert!(answer.stdout.contains(":step") && !answer.stdout.contains("old"), "{}", answer.stdout);
    for said in
        ["table NVTX_EVENTS_V10 is read as NVTX_EVENTS", "1 row of NVTX_EVENTS_V2 and 1 of SCHED_V3 are not read"]
    {
        assert!(answer.stderr.contains(said), "{}", answer.stderr);
    }
    let Some(shared) = shared("a_table_with_a_version_in_its_name_is_read_as_the_table") else { return };
    let path = shared.join("data/reports/41_nvtx_events_v2_suffix.sqlite");
    let answer =
        gpuprof(&["report", "-q", "--view", "nvtx_sum", "--format", "csv", path.to_str().expect("a path")]);
    assert!(answer.stdout.contains("4100") && answer.stdout.contains(":step"), "{}", answer.stdout);
}

#[test]
fn a_green_context_that_its_table_lacks_is_declared() {
    let folder = TempFolder::new("green");
    let process = 100_i64 << 24;
    let file = database(
        &folder,
        "green.sqlite",
        &format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 2, 1, 3, 7, 1, {process}, 1, 1),
                 (3000, 4000, 2, 1, 4, 7, 2, {process}, 1, 1), (5000, 6000, 2, 1, NULL, 7, 3, {process}, 1, 1);
             CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId, hwId, vmId, processId, deviceId, contextId,
                 parentContextId, isGreenContext);
             INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7, 0, 0, 100, 2, 1, NULL, 0), (7, 0, 0, 100, 2, 3, 1, 1);"
        ),
    );
    // Asked for contexts alone, the reader of such databases meets no process.
    let whole = folder.path().join("green.gpuprof").to_str().expect("a path").to_owned();
    gpuprof(&["export", "-q", &file, "-o", &whole]);
    let rows = sql(&whole, "SELECT context, device, parent_context FROM context ORDER BY context");
    assert_eq!(rows, ["1,2,", "3,2,1", "4,2,1"]);
}

#[test]
fn a_kernel_whose_name_is_missing_is_called_unnamed_everywhere() {
    let folder = TempFolder::new("nsys-unnamed");
    let path = folder.path().join("unnamed.sqlite");
    let sql = "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        INSERT INTO StringIds VALUES (1, 'axpy');
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT,
            correlationId INT, globalPid INT, demangledName INT, shortName INT, gridX INT, gridY INT, gridZ INT,
            blockX INT, blockY INT, blockZ INT);
        INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 1100, 0, 1, 7, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1),
            (2000, 2300, 0, 1, 7, 2, 0, 777, 778, 1, 1, 1, 1, 1, 1);";
    Connection::open(&path).expect("a database").execute_batch(sql).expect("rows");
    let path = path.to_str().expect("a path");
    let report = gpuprof(&["report", path]);
    assert!(report.stderr.contains("2 ids of names have no string, the first is 77"), "{}", report.stderr);
    assert!(report.stderr.contains("called [unnamed]"), "{}", report.stderr);
    for options in [
        &["report", path, "--csv"][..],
        &["report", path, "--csv", "--demangling", "off"],
        &["report", path, "--print-gpu-trace"],
        &["report", path, "--view", "cuda_gpu_kern_sum", "--format", "csv"],
        &["report", path, "--view", "cuda_gpu_kern_sum:base", "--format", "csv"],
        &["query", path, "SELECT name FROM kernel", "--format", "csv"],
        &["export", "-q", "-F", "csv", path, "-o", "-"],
        &["export", "-q", "-F", "chrome", path, "-o", "-"],
    ] {
        let printed = gpuprof(options).stdout;
        assert_eq!(printed.matches("[unnamed]").count(), 1, "{options:?}: {printed}");
        assert!(printed.contains("axpy"), "{options:?}: {printed}");
    }
}
