use crate::import::testing::{Imported, TempFile, import};
use crate::trace::sink::Need;
use trace_format::tables;

/// Two processes (pid 1 and 2) on machine 1.
const P1: i64 = 1 << 48 | 1 << 24;
const P2: i64 = 1 << 48 | 2 << 24;

const STRINGS: &str = "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (1, 'void k(int)'), (2, 'k'), (3, '_Z1ki'), (4, 'cudaLaunchKernel_v7000'),
        (5, 'cuMemAlloc_v2'), (6, 'worker'), (7, 'secret process');";

fn kernel_table(rows: &str) -> String {
    format!(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
             streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
             mangledName INTEGER, gridX INTEGER, clusterX INTEGER, graphNodeId INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES {rows};"
    )
}

fn api_table(rows: &str) -> String {
    format!(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER,
             globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
         INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES {rows};"
    )
}

fn imported(sql: &str) -> Imported {
    import(&TempFile::database("a.sqlite", &format!("{STRINGS}{sql}")), &Need::all()).unwrap()
}

#[test]
fn a_database_with_strings_alone_has_no_rows_and_no_notes() {
    let found = imported("");
    assert_eq!(found.importer, "nsys-sqlite");
    assert!(found.processes.is_empty() && found.notes.is_empty());
    assert_eq!(found.origin, "nsys SQLite export of 2020 or 2021 (it states no version)");
}

#[test]
fn kernels_keep_all_three_names_and_fall_back_to_the_demangled_one() {
    let found = imported(&kernel_table(&format!(
        "(10, 30, 0, 1, 7, 5, {P1}, 1, 2, 3, 64, 0, NULL), (40, 45, 0, 1, 7, 6, {P1}, 1, 2, NULL, 64, 2, 9)"
    )));
    let shapes = found.integers("kernel", "shape_id");
    let shape = |i: usize| found.shapes.get(shapes[i].unwrap() as u32).unwrap();
    let text = |id: Option<u32>| found.names.text(id.unwrap_or(0)).into_owned();
    assert_eq!(text(Some(shape(0).name_id)), "_Z1ki");
    assert_eq!(text(shape(0).demangled_id), "void k(int)");
    assert_eq!(text(shape(0).base_id), "k");
    assert_eq!(text(Some(shape(1).name_id)), "void k(int)");
    assert_eq!((shape(0).grid_x, shape(0).grid_y), (Some(64), None));
    assert_eq!((shape(0).cluster_x, shape(1).cluster_x), (None, Some(2)));
    assert_eq!(found.integers("kernel", "duration_ns"), [Some(20), Some(5)]);
    assert_eq!(found.integers("kernel", "graph_node_id"), [None, Some(9)]);
}

#[test]
fn impossible_times_are_kept_without_a_duration() {
    let found = imported(&kernel_table(&format!(
        "(0, 0, 0, 1, 7, 1, {P1}, 1, 2, 3, 1, 0, NULL), (20, 10, 0, 1, 7, 2, {P1}, 1, 2, 3, 1, 0, NULL),
         (9223372036854775808, 9223372036854775809, 0, 1, 7, 3, {P1}, 1, 2, 3, 1, 0, NULL),
         (-9223372036854775808, 10, 0, 1, 7, 4, {P1}, 1, 2, 3, 1, 0, NULL), (5, NULL, 0, 1, 7, 4, {P1}, 1, 2, 3, 1, 0, 0)"
    )));
    assert_eq!(found.integers("kernel", "duration_ns"), [None; 5]);
    assert!(found.notes.is_empty());
}

#[test]
fn rows_without_a_start_are_counted_with_the_first_ones_rowid() {
    let found = imported(&kernel_table(&format!(
        "(1, 2, 0, 1, 7, 1, {P1}, 1, 2, 3, 1, 0, NULL), (NULL, 10, 0, 1, 7, 2, {P1}, 1, 2, 3, 1, 0, NULL),
         ('soon', 10, 0, 1, 7, 2, {P1}, 1, 2, 3, 1, 0, NULL), (x'00', 10, 'x', 1, 7, 2, {P1}, 1, 2, 3, 1, 0, NULL)"
    )));
    assert_eq!(found.integers("kernel", "start_ns"), [Some(1)]);
    assert_eq!(found.note_codes(), ["unusable-rows"]);
    let text = &found.notes[0].text;
    assert!(
        text.contains("3 rows") && text.contains("CUPTI_ACTIVITY_KIND_KERNEL") && text.contains("rowid 2"),
        "{text}"
    );
}

#[test]
fn values_of_other_types_are_read_where_they_are_numbers() {
    let found =
        imported(&kernel_table(&format!("(' 10 ', 30.0, '0', NULL, x'07', 'x', {P1}, 1, 2, 3, 1, 0, NULL)")));
    assert_eq!(found.integers("kernel", "start_ns"), [Some(10)]);
    assert_eq!(found.integers("kernel", "duration_ns"), [Some(20)]);
    assert_eq!(found.integers("kernel", "stream"), [Some(0)]);
}

#[test]
fn names_that_are_not_utf8_or_not_there_are_no_obstacle() {
    let found = imported(&format!(
        "INSERT INTO StringIds VALUES (20, CAST(x'6bff6b' AS TEXT));{}",
        kernel_table(&format!("(1, 2, 0, 1, 7, 1, {P1}, 20, 999, NULL, 1, 0, NULL)"))
    ));
    let shape = found.shapes.get(0).unwrap();
    assert_eq!(found.names.get(shape.name_id), b"k\xffk");
    assert_eq!(shape.base_id, None);
    assert_eq!(found.note_codes(), ["missing-names"]);
}

#[test]
fn string_tables_without_a_key_and_with_repeated_ids_are_read_once() {
    let sql = "CREATE TABLE StringIds (id INTEGER, value TEXT);
        INSERT INTO StringIds VALUES (1, 'first'), (1, 'second'), (NULL, 'lost'), (2, NULL);";
    let rows = kernel_table(&format!("(1, 2, 0, 1, 7, 1, {P1}, 1, NULL, NULL, 1, 0, NULL)"));
    let found = import(&TempFile::database("a.sqlite", &format!("{sql}{rows}")), &Need::all()).unwrap();
    assert_eq!(found.names.text(found.shapes.get(0).unwrap().name_id), "first");
    assert_eq!(found.note_codes(), ["unusable-rows"]);
}

#[test]
fn tables_and_columns_that_users_added_do_not_matter() {
    let found = imported(&format!(
        "{} ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN name TEXT; UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET name = 'x';
         CREATE TABLE mine (start TEXT); CREATE VIEW CUPTI_ACTIVITY_KIND_MEMCPY AS SELECT 1 AS start, 2 AS end;
         CREATE INDEX i ON CUPTI_ACTIVITY_KIND_RUNTIME(correlationId);",
        api_table(&format!("(1, 3, 0, {}, 5, 4, 0)", P1 | 1))
    ));
    assert_eq!(found.texts("api", "name_id"), ["cudaLaunchKernel_v7000"]);
    // A view is no table of an export.
    assert!(found.integers("memcpy", "start_ns").is_empty());
}

#[test]
fn calls_have_a_domain_and_backtraces_are_left_out_and_counted() {
    let thread = P1 | 0x11;
    let found = imported(&api_table(&format!(
        "(1, 3, 0, {thread}, 5, 4, 0), (1, 4, 67, {thread}, 5, 4, 0), (5, 6, 1, {thread}, 6, 5, 2),
         (7, 8, NULL, {thread}, 7, 5, NULL), (8, 9, 12, {thread}, 8, 4, 0)"
    )));
    assert_eq!(found.integers("api", "domain"), [Some(0), Some(1), Some(1), Some(0)]);
    assert_eq!(found.integers("api", "result"), [Some(0), Some(2), None, Some(0)]);
    assert_eq!(found.integers("api", "tid"), [Some(0x11); 4]);
    assert_eq!(found.note_codes(), ["backtrace-rows"]);
    assert!(found.notes[0].text.contains(" 1 row of API calls is left out"), "{}", found.notes[0].text);
}

#[test]
fn each_process_has_its_own_rows() {
    let found = imported(&format!(
        "{}{}",
        kernel_table(&format!(
            "(1, 2, 0, 1, 7, 5, {P1}, 1, 2, 3, 1, 0, NULL), (1, 3, 0, 1, 7, 5, {P2}, 1, 2, 3, 1, 0, NULL)"
        )),
        api_table(&format!("(1, 3, 0, {}, 5, 4, 0), (1, 3, 0, {}, 5, 4, 0)", P2 | 2, P1 | 1))
    ));
    let pids: Vec<_> = found.processes.iter().map(|(info, _)| info.pid).collect();
    assert_eq!(pids, [Some(1), Some(2)]);
    for (_, batches) in &found.processes {
        let mut tables: Vec<_> = batches.iter().map(|batch| (batch.table.name, batch.rows)).collect();
        tables.sort();
        assert_eq!(tables, [("api", 1), ("kernel", 1)]);
    }
}

#[test]
fn kernels_without_a_process_join_the_only_one() {
    let found = imported(&format!(
        "{}{}",
        kernel_table("(1, 2, 0, 1, 7, 5, NULL, 1, 2, 3, 1, 0, NULL)"),
        api_table(&format!("(1, 3, 0, {}, 5, 4, 0)", P1 | 1))
    ));
    assert_eq!(found.processes.len(), 1);
    assert_eq!(found.processes[0].0.pid, Some(1));
    assert_eq!(found.processes[0].1.len(), 2);
}

#[test]
fn only_threads_that_called_cuda_have_their_names_copied() {
    let thread = P1 | 0x11;
    let found = imported(&format!(
        "{} CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
         INSERT INTO ThreadNames VALUES (7, 20, {}), (6, 10, {thread}), (7, 10, {thread});",
        api_table(&format!("(1, 3, 0, {thread}, 5, 4, 0)")),
        P2 | 0x22
    ));
    assert_eq!(found.texts("thread", "name_id"), ["worker"]);
    assert!((0..found.names.len() as u32).all(|id| !found.names.text(id).contains("secret")));
}

#[test]
fn copies_have_cuptis_numbers_for_kinds_of_memory() {
    let found = imported(&format!(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, contextId, streamId, globalPid, bytes, copyKind,
             srcKind, dstKind, srcDeviceId, dstDeviceId);
         INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1, 2, 0, 1, 7, {P1}, 4096, 1, 0, 2, NULL, NULL),
             (3, 4, 0, 1, 7, {P1}, 8, 11, 7, 4, 0, 1), (3, 4, 0, 1, 7, {P1}, NULL, NULL, NULL, 99, 0, 1);
         CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, contextId, address, bytes, memKind,
             memoryOperationType, name, correlationId);
         INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, {P1}, 0, 1, -1, 64, 2, 0, 'buffer', 3),
             (2, {P1}, 0, 1, 16, 64, 2, 1, NULL, 4);"
    ));
    assert_eq!(found.integers("memcpy", "src_kind"), [Some(1), Some(0), Some(0)]);
    assert_eq!(found.integers("memcpy", "dst_kind"), [Some(3), Some(5), Some(0)]);
    assert_eq!(found.integers("memcpy", "kind"), [Some(1), Some(11), Some(0)]);
    assert_eq!(found.integers("memcpy", "dst_device"), [None, Some(1), Some(1)]);
    assert_eq!(found.integers("memory", "operation"), [Some(1), Some(2)]);
    assert_eq!(found.integers("memory", "mem_kind"), [Some(3), Some(3)]);
    assert_eq!(found.texts("memory", "name_id"), ["buffer", ""]);
}

#[test]
fn overhead_has_cuptis_numbers_and_nsyss_own_is_left_out() {
    let found = imported(&format!(
        "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start, end, globalTid, correlationId, nameId, overheadType);
         INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (1, 2, {0}, 5, 1, 6), (1, 2, {0}, 0, 1, 2), (1, 2, {0}, 0, 1, 0);
         INSERT INTO StringIds VALUES (30, 'CUPTI: Buffer flush'), (31, 'TLS allocation');
         CREATE TABLE PROFILER_OVERHEAD (start, end, globalTid, nameId);
         INSERT INTO PROFILER_OVERHEAD VALUES (1, 2, {0}, 30), (1, 2, {0}, 31);",
        P1 | 1
    ));
    assert_eq!(found.integers("overhead", "kind"), [Some(262_144), Some(1), Some(65_536)]);
    assert_eq!(found.integers("overhead", "correlation"), [Some(5), None, None]);
}

#[test]
fn ranges_have_their_text_from_either_place_and_their_domain() {
    let thread = P1 | 0x11;
    let found = imported(&format!(
        "CREATE TABLE NVTX_EVENTS (start, end, eventType, rangeId, category, color, text, globalTid, textId, domainId,
             int32Value, doubleValue);
         INSERT INTO NVTX_EVENTS VALUES (10, 20, 59, NULL, 3, 255, 'step', {thread}, NULL, 1, 7, NULL),
             (11, NULL, 60, 99, NULL, NULL, NULL, {thread}, 6, 0, NULL, 0.5), (12, NULL, 34, NULL, 0, NULL, '', {thread}, 2, 0, NULL, NULL),
             (1, NULL, 75, NULL, NULL, NULL, 'MPI', {thread}, NULL, 1, NULL, NULL), (1, NULL, 33, NULL, NULL, NULL, 'c', {thread}, NULL, 1, NULL, NULL),
             (15, 10, 59, NULL, NULL, NULL, CAST(x'ff' AS TEXT), {0}, NULL, 1, NULL, NULL);",
        P2 | 0x22
    ));
    assert_eq!(found.integers("range", "style"), [Some(0), Some(1), Some(2), Some(0)]);
    assert_eq!(found.texts("range", "name_id"), ["step", "worker", "", r"\xff"]);
    // Domains are numbered per process: domain 1 of the other process has no name.
    assert_eq!(found.texts("range", "domain_id"), ["MPI", "", "", ""]);
    assert_eq!(found.integers("range", "end_ns"), [Some(20), None, None, Some(10)]);
    assert_eq!(found.integers("range", "payload_i64"), [Some(7), None, None, None]);
    assert_eq!(found.integers("range", "category"), [Some(3), None, None, None]);
}

#[test]
fn the_epoch_is_the_sessions_and_versions_are_named() {
    let found = imported(&format!(
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
         INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '', '');
         CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
         INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2024.5.1.113'), ('EXPORT_SCHEMA_VERSION', '3.13.2'),
             ('EXPORT_CONFIG_TIME_SHIFT', '5'), ('EXPORT_HOST', 'secret');{}",
        kernel_table(&format!("(1, 2, 0, 1, 7, 1, {P1}, 1, 2, 3, 1, 0, NULL)"))
    ));
    assert_eq!(found.origin, "nsys SQLite export, schema 3.13.2 (nsys 2024.5.1.113)");
    assert_eq!(found.processes[0].0.unix_offset_ns, Some(1_700_000_000_000_000_000));
    assert_eq!(found.note_codes(), ["time-shift"]);
}

#[test]
fn gpus_are_those_that_the_process_saw() {
    let gpus = "CREATE TABLE TARGET_INFO_GPU (vmId, id, name, busLocation, uuid, clockRate, memoryBandwidth, smCount);
        INSERT INTO TARGET_INFO_GPU VALUES (281474976710656, 0, 'A', '0000:01:00.0', '00000000-0000-0000-0000-000000000000', 1500000000, 2000000, 80),
            (281474976710656, 3, 'B', '0000:02:00.0', 'GPU-554a6988-03dd-6206-3dd1-f43fb60a3ed0', 1, 1, 90), (562949953421312, 0, 'elsewhere', '', '', 1, 1, 1);";
    let kernel = kernel_table(&format!("(1, 2, 0, 1, 7, 1, {P1}, 1, 2, 3, 1, 0, NULL)"));
    let found = imported(&format!("{gpus}{kernel}"));
    assert_eq!(found.texts("device", "name_id"), ["A", "B"]);
    assert_eq!(found.integers("device", "core_clock_khz"), [Some(1_500_000), Some(0)]);
    // Which of them is whose device 0 is not known for certain.
    assert_eq!(found.integers("device", "uuid"), [None, None]);
    let found = imported(&format!(
        "{gpus}{kernel} CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId, cudaId, pid, uuid, numMultiprocessors);
         INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 1, '', 90), (0, 0, 77, '', 80);"
    ));
    assert_eq!(found.texts("device", "name_id"), ["B"]);
    assert_eq!(found.integers("device", "device"), [Some(0)]);
    assert_eq!(found.integers("device", "uuid"), [Some(16)]);
}

#[test]
fn what_is_not_asked_for_is_not_read() {
    let sql = format!(
        "{STRINGS}{}{}",
        kernel_table(&format!("(1, 2, 0, 1, 7, 5, {P1}, 1, 2, 3, 64, 0, NULL)")),
        api_table(&format!("(1, 3, 0, {}, 5, 4, 0)", P1 | 1))
    );
    let file = TempFile::database("a.sqlite", &sql);
    let found = import(&file, &Need::totals(&[&tables::KERNEL])).unwrap();
    assert!(found.integers("api", "start_ns").is_empty());
    assert_eq!(found.integers("kernel", "duration_ns"), [Some(1)]);
    let shape = found.shapes.get(0).unwrap();
    assert_eq!((found.names.text(shape.name_id).as_ref(), shape.grid_x), ("_Z1ki", None));
}

/// A database of several hundred kilobytes: 4000 kernels, then 4000 calls.
fn large() -> TempFile {
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3999) INSERT INTO";
    let thread = P1 | 1;
    TempFile::database(
        "large.sqlite",
        &format!(
            "{STRINGS}{}{numbers} CUPTI_ACTIVITY_KIND_KERNEL
                 SELECT i, i + 1, 0, 1, 7, i, {P1}, 1, 2, 3, i, 0, NULL FROM n;
             {}{numbers} CUPTI_ACTIVITY_KIND_RUNTIME SELECT i, i + 1, 0, {thread}, i, 4, 0 FROM n;",
            kernel_table(&format!("(1, 2, 0, 1, 7, 5, {P1}, 1, 2, 3, 64, 0, NULL)")),
            api_table(&format!("(1, 3, 0, {thread}, 5, 4, 0)")),
        ),
    )
}

#[test]
fn a_cut_off_file_is_read_as_far_as_it_goes_and_says_so() {
    let whole = large();
    let bytes = whole.bytes();
    let all = import(&whole, &Need::all()).unwrap();
    assert_eq!((all.integers("kernel", "start_ns").len(), all.integers("api", "start_ns").len()), (4000, 4000));
    assert!(all.notes.is_empty(), "{:?}", all.notes);
    let mut partly = 0;
    for cut in [90, 75, 60, 45, 30] {
        let file = TempFile::new("cut.sqlite", &bytes[..bytes.len() * cut / 100]);
        let found = import(&file, &Need::all()).unwrap();
        let rows = found.integers("kernel", "start_ns").len() + found.integers("api", "start_ns").len();
        assert!(
            rows < 8000 && found.note_codes().contains(&"unreadable-rows"),
            "{cut} %: {rows} rows, {:?}",
            found.notes
        );
        partly += usize::from(rows > 0);
    }
    assert!(partly >= 3, "only {partly} of 5 cut-off files had rows");
}

#[test]
fn damaged_pages_never_panic() {
    let bytes = large().bytes();
    for seed in 0..200u64 {
        let mut damaged = bytes.clone();
        // A few bytes anywhere behind the first 16, by a fixed sequence.
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        for _ in 0..20 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = 16 + (state >> 33) as usize % (damaged.len() - 16);
            damaged[at] = (state >> 25) as u8;
        }
        let file = TempFile::new("damaged.sqlite", &damaged);
        let head = crate::import::Head::read(&file.path).unwrap();
        if crate::import::IMPORTERS.iter().any(|importer| importer.sniff(&head)) {
            let _ = import(&file, &Need::all());
        }
    }
}

#[test]
fn a_packed_database_is_unpacked() {
    let file = TempFile::database(
        "a.sqlite",
        &format!("{STRINGS}{}", kernel_table(&format!("(1, 2, 0, 1, 7, 5, {P1}, 1, 2, 3, 64, 0, NULL)"))),
    );
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, &file.bytes()).unwrap();
    let found = import(&TempFile::new("a.bin", &packed.finish().unwrap()), &Need::all()).unwrap();
    assert_eq!(found.importer, "nsys-sqlite");
    assert_eq!(found.integers("kernel", "duration_ns"), [Some(1)]);
}

#[test]
fn rows_of_tables_that_are_not_read_are_counted_by_name() {
    let thread = P1 | 1;
    let found = imported(&format!(
        "{} CREATE TABLE SCHED_EVENTS (start, cpu); INSERT INTO SCHED_EVENTS VALUES (1, 2), (3, 4);
         CREATE TABLE NVTX_EVENTS_V2 (start, end); INSERT INTO NVTX_EVENTS_V2 VALUES (1, 2);
         CREATE TABLE TARGET_INFO_SYSTEM_ENV (name, value); INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('USER', 'x');
         CREATE TABLE ENUM_X (id); INSERT INTO ENUM_X VALUES (1);
         CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid);
         INSERT INTO NVTX_EVENTS VALUES (1, 2, 33, 'category', {thread}), (1, NULL, 75, 'domain', {thread});
         CREATE TABLE PROFILER_OVERHEAD (start, end, globalTid, nameId, overheadType);
         INSERT INTO PROFILER_OVERHEAD VALUES (1, 2, {thread}, 1, 0), (3, 4, {thread}, 1, 3);",
        kernel_table(&format!("(1, 2, 0, 1, 7, 1, {P1}, 1, 2, 3, 1, 0, NULL)"))
    ));
    assert_eq!(found.note_codes(), ["unread-rows"]);
    let said = found.notes[0].text.split_once(": ").unwrap().1;
    assert_eq!(
        said,
        "2 rows of SCHED_EVENTS, 1 of NVTX_EVENTS of type 33, 1 of NVTX_EVENTS_V2 and \
         1 of PROFILER_OVERHEAD about nsys itself are not read"
    );
    assert_eq!(found.integers("overhead", "start_ns"), [Some(3)]);
}

#[test]
fn what_nsys_warned_of_is_passed_on_and_the_rest_of_its_words_is_counted() {
    let found = imported(
        "CREATE TABLE DIAGNOSTIC_EVENT (timestamp, timestampType, source, severity, text, globalPid);
         INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 1, 'Profiling has started.', NULL),
             (2, 1, 1, 2, 'No CUDA events\tcollected.\nDoes the process use CUDA?', NULL),
             (3, 1, 1, 3, 'CUDA profiling might have not been started correctly.', NULL),
             (4, 1, 1, 3, 'CUDA profiling might have not been started correctly.', NULL), (5, 1, 1, 3, NULL, NULL);",
    );
    assert_eq!(found.note_codes(), ["nsys-diagnostic", "nsys-diagnostic", "unread-rows"]);
    let said = |i: usize| found.notes[i].text.split_once(": ").unwrap().1.to_owned();
    assert_eq!(
        said(0),
        "while it recorded, nsys reported an error: CUDA profiling might have not been started correctly"
    );
    assert!(said(1).starts_with("while it recorded, nsys warned: No CUDA events") && !said(1).contains('\t'));
    assert_eq!(said(2), "2 rows of DIAGNOSTIC_EVENT are not read");
}

#[test]
fn samples_of_the_cpu_have_their_stacks_outermost_first() {
    let thread = P1 | 9;
    let found = imported(&format!(
        "INSERT INTO StringIds VALUES (10, 'main'), (11, 'solve'), (12, 'app'), (13, 'libc.so');
         CREATE TABLE COMPOSITE_EVENTS (id INTEGER PRIMARY KEY, start, cpu, threadState, globalTid, cpuCycles);
         INSERT INTO COMPOSITE_EVENTS VALUES (1, 100, 0, 1, {thread}, 1), (2, 1100, 0, 2, {thread}, 1),
             (3, 2100, 0, 1, {thread}, 1), (4, 9000, 0, 1, {thread}, 1);
         CREATE TABLE SAMPLING_CALLCHAINS (id, symbol, module, stackDepth);
         INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 11, 12, 0), (1, 10, 12, 1), (2, 10, 12, 0), (3, 10, 12, 1),
             (3, 11, 13, 0), (77, 10, 12, 0);"
    ));
    assert_eq!(found.integers("cpu_sample", "stack_id"), [2, 1, 3].map(Some));
    assert_eq!(found.integers("stack", "parent_id"), [None, Some(1), Some(1)]);
    assert_eq!(found.texts("frame", "name_id"), ["main", "solve", "solve"]);
    assert_eq!(found.texts("frame", "file_id"), ["app", "app", "libc.so"]);
    assert_eq!(found.integers("cpu_sample", "weight_ns"), [Some(1000); 3]);
    assert_eq!(found.integers("cpu_sample", "of_pid"), [Some(1); 3]);
    assert_eq!(found.integers("cpu_sample", "flags"), [1, 0, 1].map(Some));
    let said = found.notes.last().unwrap().text.split_once(": ").unwrap().1.to_owned();
    assert_eq!(
        said,
        "1 row of COMPOSITE_EVENTS without a call stack and 1 of SAMPLING_CALLCHAINS without a sample are not read"
    );
}
