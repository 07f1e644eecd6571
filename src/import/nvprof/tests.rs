use super::sqlite;
use crate::import::testing::{Imported, TempFile, import};
use crate::trace::names::{Names, Shapes};
use crate::trace::sink::{Need, Sink};
use trace_format::tables;

const STRINGS: &str = "CREATE TABLE Version (version INT); INSERT INTO Version VALUES (18);
    CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL);
    INSERT INTO StringTable VALUES (0, '-- null --'), (1, './app --token=secret'), (2, '_Z1ki'), (3, 'Tesla'), (4, 'step'),
        (5, 'domain'), (6, 'main.cpp'), (7, 'loader');";

/// Kernel rows in one of the three tables: start, end, name.
fn kernels(table: &str, rows: &str) -> String {
    format!(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_{table} (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cacheConfig BLOB, start INT,
             end INT, name INT, deviceId INT, contextId INT, streamId INT, correlationId INT, gridX INT, queued INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_{table} (start, end, name, deviceId, contextId, streamId, correlationId, gridX, queued)
             VALUES {rows};"
    )
}

fn calls(table: &str, rows: &str) -> String {
    format!(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_{table} (_id_ INTEGER PRIMARY KEY, cbid INT, start INT, end INT, processId INT,
             threadId INT, correlationId INT, returnValue INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_{table} (cbid, start, end, processId, threadId, correlationId, returnValue)
             VALUES {rows};"
    )
}

const NAMES: &str =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_NAME (_id_ INTEGER PRIMARY KEY, objectKind INT, objectId BLOB, name INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_NAME VALUES (1, 1, x'A77D0000000000004E4F5420', 1),
        (2, 2, x'A77D00000500000041424344', 7), (3, 5, x'000000000100000007000000', 4), (4, 2, 'x', 7);";

fn imported(sql: &str) -> Imported {
    import(&TempFile::database("a.nvvp", &format!("{STRINGS}{sql}")), &Need::all()).unwrap()
}

#[test]
fn kernels_are_the_union_of_three_tables() {
    let found = imported(&format!(
        "{}{}{}",
        kernels("CONCURRENT_KERNEL", "(10, 30, 2, 0, 1, 7, 5, 64, 0)"),
        kernels("KERNEL", "(40, 45, 2, 0, 1, 7, 6, 64, 39)"),
        kernels("CDP_KERNEL", "(50, 51, 2, 0, 1, 7, 7, 64, 0)")
    ));
    assert_eq!(found.importer, "nvprof");
    assert_eq!(found.origin, "nvprof database, schema 18");
    assert_eq!(found.integers("kernel", "duration_ns"), [Some(20), Some(5), Some(1)]);
    assert_eq!(found.integers("kernel", "flags"), [None, None, Some(1)]);
    assert_eq!(found.integers("kernel", "queued_ns"), [None, Some(39), None]);
    assert_eq!(found.names.text(found.shapes.get(0).unwrap().name_id), "_Z1ki");
    assert_eq!(found.processes[0].0.unix_offset_ns, Some(0));
}

#[test]
fn kernels_that_never_completed_have_no_duration() {
    let found = imported(&kernels(
        "KERNEL",
        "(0, 0, 2, 0, 1, 7, 5, 64, 0), (10, 0, 2, 0, 1, 7, 5, 64, 0), (0, 10, 2, 0, 1, 7, 5, 64, 0),
         (1600000000000000000, 9223372036854775808, 2, 0, 1, 7, 5, 64, 0), (10, NULL, 0, 0, 1, 7, 5, 64, 0)",
    ));
    assert_eq!(found.integers("kernel", "duration_ns"), [None; 5]);
    assert!(found.notes.is_empty());
}

#[test]
fn calls_get_their_names_from_their_numbers() {
    let found = imported(&format!(
        "{}{}",
        calls("RUNTIME", "(31, 1, 3, 32167, -1132818432, 5, 0), (9999, 4, 5, 32167, 1, 6, 35)"),
        calls("DRIVER", "(243, 1, 3, 32167, 1, 7, 0), (NULL, 4, 5, 32167, 1, 6, 35)")
    ));
    assert_eq!(found.texts("api", "name_id"), ["cudaMemcpy_v3020", "runtime_cbid_9999", "cuMemAlloc_v2"]);
    assert_eq!(found.integers("api", "domain"), [Some(0), Some(0), Some(1)]);
    assert_eq!(found.integers("api", "cbid"), [Some(31), Some(9999), Some(243)]);
    assert_eq!(found.integers("api", "tid")[0], Some(i64::from(-1132818432i32 as u32)));
    assert_eq!(found.integers("api", "result"), [Some(0), Some(35), Some(0)]);
    assert_eq!(found.note_codes(), ["unusable-rows", "unknown-calls"]);
    assert_eq!(found.processes[0].0.pid, Some(32167));
}

#[test]
fn names_of_threads_and_streams_are_read_and_the_command_line_is_not() {
    let found = imported(&format!(
        "{NAMES} CREATE TABLE CUPTI_ACTIVITY_KIND_STREAM (contextId INT, streamId INT, priority INT, flag INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_STREAM VALUES (1, 7, 4294967291, 1), (1, 8, -5, 2), (NULL, 9, 0, 0);"
    ));
    assert_eq!(found.texts("thread", "name_id"), ["loader"]);
    assert_eq!(found.integers("thread", "tid"), [Some(5)]);
    assert_eq!(found.texts("stream", "name_id"), ["step", ""]);
    assert_eq!(found.integers("stream", "priority"), [Some(-5), Some(-5)]);
    assert_eq!(found.processes.len(), 1);
    assert_eq!(found.processes[0].0.pid, Some(32167));
    assert!((0..found.names.len() as u32).all(|id| !found.names.text(id).contains("secret")));
    // One blob is too short, one stream has no context.
    assert_eq!(found.note_codes(), ["unusable-rows", "unusable-rows"]);
}

#[test]
fn both_ends_of_a_range_become_one_row() {
    let found = imported(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY, flags INT, timestamp INT, id INT,
             objectKind INT, objectId BLOB, name INT, domain INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_MARKER (flags, timestamp, id, objectKind, objectId, name, domain) VALUES
             (4, 90, 3, 2, x'A77D00000600000000000000', 0, 0),
             (2, 10, 1, 2, x'A77D00000500000000000000', 4, 5), (2, 11, 2, 2, x'A77D00000500000000000000', 4, 0),
             (4, 20, 1, 2, x'A77D00000500000000000000', 0, 5), (1, 15, 9, 2, x'A77D00000500000000000000', 7, 0),
             (2, 12, 3, 2, x'A77D00000500000000000000', 4, 0), (NULL, 12, 3, 2, NULL, 4, 0);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER_DATA (flags INT, id INT, payloadKind INT, payload BLOB, color INT, category INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_MARKER_DATA VALUES (2, 1, 4, x'FEFFFFFFFFFFFFFF', 255, 3),
             (1, 2, 0, x'0000000000000000', 255, 0);",
    );
    assert_eq!(found.integers("range", "start_ns"), [Some(10), Some(11), Some(15), Some(12)]);
    assert_eq!(found.integers("range", "end_ns"), [Some(20), None, None, Some(90)]);
    // The last one ends on another thread than it began on.
    assert_eq!(found.integers("range", "style"), [Some(0), Some(0), Some(2), Some(1)]);
    assert_eq!(found.texts("range", "name_id"), ["step", "step", "loader", "step"]);
    assert_eq!(found.texts("range", "domain_id"), ["domain", "", "", ""]);
    assert_eq!(found.integers("range", "payload_i64"), [Some(-2), None, None, None]);
    assert_eq!(found.integers("range", "payload_f64"), [None; 4]);
    assert_eq!(found.integers("range", "color"), [Some(255), None, None, None]);
    assert_eq!(found.processes[0].0.pid, Some(32167));
}

#[test]
fn allocations_of_both_generations_become_single_operations() {
    let found = imported(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMORY (memoryKind INT, address INT, bytes INT, start INT, end INT, processId INT,
             deviceId INT, contextId INT, name INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMORY VALUES (3, 16, 64, 5, 9, 1, 0, 1, 0), (3, 32, 64, 6, 0, 1, 0, 1, 0);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMORY2 (memoryOperationType INT, memoryKind INT, correlationId INT, address INT,
             bytes INT, timestamp INT, processId INT, deviceId INT, contextId INT, streamId INT, name INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMORY2 VALUES (1, 3, 4, 16, 64, 5, 1, 0, 1, -1, 4);",
    );
    assert_eq!(found.integers("memory", "operation"), [Some(1), Some(1), Some(2), Some(1)]);
    assert_eq!(found.integers("memory", "start_ns"), [Some(5), Some(5), Some(9), Some(6)]);
    assert_eq!(found.integers("memory", "stream"), [None; 4]);
    assert_eq!(found.texts("memory", "name_id")[0], "step");
}

#[test]
fn unified_memory_peer_copies_and_directives_are_read() {
    let found = imported(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER (counterKind INT, value INT, start INT, end INT,
             address INT, srcId INT, dstId INT, streamId INT, processId INT, flags INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER VALUES (1, 65536, 5, 9, 16, 4294967295, 0, -1, 1, 1);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY2 (copyKind INT, srcKind INT, dstKind INT, flags INT, bytes INT, start INT,
             end INT, deviceId INT, contextId INT, streamId INT, srcDeviceId INT, srcContextId INT, dstDeviceId INT,
             dstContextId INT, correlationId INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY2 VALUES (10, 3, 3, 1, 64, 5, 9, 0, 1, 7, 0, 1, 1, 2, 3);
         CREATE TABLE CUPTI_ACTIVITY_KIND_OPENACC_DATA (eventKind INT, parentConstruct INT, implicit INT, threadId INT, lineNo INT,
             start INT, end INT, cuProcessId INT, cuThreadId INT, externalId INT, srcFile INT, funcName INT, bytes INT, varName INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_OPENACC_DATA VALUES (13, 5, 1, 1, 108, 7, 7, 1, -2, 3, 6, 4, 512, 0);
         CREATE TABLE CUPTI_ACTIVITY_KIND_OPENMP (eventKind INT, version INT, threadId INT, start INT, end INT, cuProcessId INT,
             cuThreadId INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_OPENMP VALUES (1, 0, 3, 7, 8, 1, 9);",
    );
    assert_eq!(found.integers("uvm", "src_device"), [None]);
    assert_eq!(found.integers("uvm", "dst_device"), [Some(0)]);
    assert_eq!(found.integers("uvm", "value"), [Some(65_536)]);
    assert_eq!(found.integers("memcpy", "kind"), [Some(10)]);
    assert_eq!(found.integers("memcpy", "dst_context"), [Some(2)]);
    assert_eq!(found.integers("openacc", "duration_ns"), [Some(0)]);
    assert_eq!(found.integers("openacc", "tid"), [Some(0xFFFF_FFFE)]);
    assert_eq!(found.texts("openacc", "file_id"), ["main.cpp"]);
    assert_eq!(found.texts("openacc", "variable_id"), [""]);
    assert_eq!(found.integers("openmp", "tid"), [Some(9)]);
}

#[test]
fn a_database_without_known_tables_has_no_rows_and_totals_leave_details_out() {
    assert!(imported("").notes.is_empty());
    let sql = format!("{STRINGS}{}", kernels("KERNEL", "(10, 30, 2, 0, 1, 7, 5, 64, 3)"));
    let found = import(&TempFile::database("a.nvvp", &sql), &Need::totals(&[&tables::KERNEL])).unwrap();
    assert_eq!(found.integers("kernel", "duration_ns"), [Some(20)]);
    assert_eq!(found.integers("kernel", "queued_ns"), [None]);
    assert_eq!(found.shapes.get(0).unwrap().grid_x, None);
}

#[test]
fn a_log_beside_the_database_is_noted() {
    let file = TempFile::database("a.nvvp", STRINGS);
    std::fs::write(file.path.with_extension("nvvp-wal"), b"something").unwrap();
    assert_eq!(import(&file, &Need::all()).unwrap().note_codes(), ["unread-log"]);
}

#[test]
fn calls_read_on_another_thread_are_the_same_calls() {
    // Enough rows for the file to be worth a second connection; two pids, of which only one has kernels.
    let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
        INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (cbid, start, end, processId, threadId, correlationId, returnValue)
            SELECT CASE i % 3 WHEN 0 THEN 31 WHEN 1 THEN 211 ELSE 9999 END, 1000 + i, 2000 + 2 * i, 32167 + i % 2, i % 5,
                i, 0 FROM n;";
    let sql = format!(
        "{STRINGS}{NAMES}{}{}{many}",
        kernels("CONCURRENT_KERNEL", "(10, 30, 2, 0, 1, 7, 5, 64, 0)"),
        calls("RUNTIME", "(NULL, 1, 3, 32167, 1, 5, 0)"),
    );
    let file = TempFile::database("large.nvvp", &sql);
    assert!(file.bytes().len() as u64 >= super::PARALLEL_BYTES);
    let apart = import(&file, &Need::all()).unwrap();

    let (mut names, mut shapes) = (Names::default(), Shapes::default());
    let mut sink = Sink::new(&mut names, &mut shapes);
    let db = sqlite::open(&file.path).unwrap();
    super::read_database(&db, &file.path, &Need::all(), &mut sink).unwrap();
    sink.finish();
    let processes =
        std::mem::take(&mut sink.processes).into_iter().map(|p| (p.info.clone(), p.into_batches())).collect();
    let (notes, origin) = (std::mem::take(&mut sink.notes), String::new());
    let together = Imported { importer: "nvprof", names, shapes, processes, notes, origin, summaries: Vec::new() };

    let infos = |found: &Imported| found.processes.iter().map(|(info, _)| info.clone()).collect::<Vec<_>>();
    assert_eq!(infos(&apart), infos(&together));
    assert_eq!(apart.integers("api", "duration_ns").len(), 40_000);
    for column in ["start_ns", "duration_ns", "cbid", "tid", "correlation"] {
        assert_eq!(apart.integers("api", column), together.integers("api", column), "{column}");
    }
    assert_eq!(apart.texts("api", "name_id"), together.texts("api", "name_id"));
    assert_eq!(apart.note_codes(), together.note_codes());
    // One name with a broken object id, one call without a number.
    assert_eq!(apart.note_codes(), ["unusable-rows", "unusable-rows", "unknown-calls"]);
}

#[test]
fn rows_of_tables_that_are_not_read_are_counted_by_name() {
    let found = imported(&format!(
        "{} CREATE TABLE CUPTI_ACTIVITY_KIND_METRIC (_id_ INTEGER PRIMARY KEY, value REAL);
         INSERT INTO CUPTI_ACTIVITY_KIND_METRIC VALUES (1, 0.5), (2, 97.25);
         CREATE TABLE CUPTI_ACTIVITY_KIND_PC_SAMPLING (_id_ INTEGER PRIMARY KEY, samples INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_PC_SAMPLING VALUES (1, 3);
         CREATE TABLE CUPTI_ACTIVITY_KIND_EVENT (_id_ INTEGER PRIMARY KEY);
         CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE (_id_ INTEGER PRIMARY KEY);
         INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE VALUES (1);
         CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (flags INT, timestamp INT, id INT, objectKind INT, objectId BLOB, name INT);
         INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (2, 1, 7, 0, NULL, 4), (4, 2, 7, 0, NULL, 0),
             (4, 3, 7, 0, NULL, 0), (4, 3, 8, 0, NULL, 0), (8, 3, 9, 0, NULL, 0);",
        kernels("KERNEL", "(10, 30, 2, 0, 1, 7, 5, 64, 0)")
    ));
    assert_eq!(found.note_codes(), ["unread-rows"]);
    let said = found.notes[0].text.split_once(": ").unwrap().1;
    assert_eq!(
        said,
        "2 rows of CUPTI_ACTIVITY_KIND_METRIC, 1 of CUPTI_ACTIVITY_KIND_MARKER that end what did not begin, \
         1 of CUPTI_ACTIVITY_KIND_MARKER that end what has ended, \
         1 of CUPTI_ACTIVITY_KIND_MARKER that neither begin nor end and 1 of CUPTI_ACTIVITY_KIND_PC_SAMPLING \
         are not read; the Visual Profiler (nvvp) shows what nvprof measured"
    );
}
