//! Calls of the operating system's runtime and of MPI in nsys's databases: they are told as what they are, and are nowhere
//! taken for calls of the CUDA API.

use crate::common::{TempFolder, gpuprof, shared};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;

/// Rows of a table as text by column.
fn rows(csv: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let columns = reader.next().unwrap_or_default();
    reader.map(|cells| columns.iter().cloned().zip(cells).collect()).collect()
}

fn view(name: &str, file: &str) -> Vec<BTreeMap<String, String>> {
    rows(&gpuprof(&["report", "-q", "--view", name, "--format", "csv", file]).stdout)
}

fn columns(rows: &[BTreeMap<String, String>], names: &[&str]) -> Vec<Vec<String>> {
    rows.iter().map(|row| names.iter().map(|&name| row[name].clone()).collect()).collect()
}

/// Total, number, smallest and largest of all calls of one name, as SQLite sums them.
fn by_sql(path: &Path) -> Vec<Vec<String>> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY | rusqlite::OpenFlags::SQLITE_OPEN_URI;
    let uri = format!("file:{}?immutable=1", path.display());
    let db = Connection::open_with_flags(uri, flags).expect("a database");
    let mut sums = db
        .prepare(
            "SELECT sum(end - start), count(*), min(end - start), max(end - start), value FROM OSRT_API
             JOIN StringIds ON id = nameId WHERE eventClass = 27 GROUP BY value ORDER BY 1 DESC, value",
        )
        .expect("a query");
    let row = |row: &rusqlite::Row| {
        let numbers: Result<Vec<i64>, _> = (0..4).map(|i| row.get(i)).collect();
        let mut cells: Vec<String> = numbers?.iter().map(i64::to_string).collect();
        cells.push(row.get(4)?);
        Ok(cells)
    };
    sums.query_map([], row).expect("sums").map(|row| row.expect("a row")).collect()
}

#[test]
fn calls_of_the_operating_system_are_summed_as_sqlite_sums_them() {
    let Some(shared) = shared("calls_of_the_operating_system_are_summed_as_sqlite_sums_them") else { return };
    for name in ["build_probe_rtx6000_noversion", "cloverleaf_a100_2024.5_s3.13"] {
        let path = shared.join(format!("data/nsys/{name}.sqlite"));
        let file = path.to_str().expect("a path");
        let wanted = ["Total Time (ns)", "Num Calls", "Min (ns)", "Max (ns)", "Name"];
        let expected = by_sql(&path);
        assert!(expected.len() > 10, "{name}");
        assert_eq!(columns(&view("osrt_sum", file), &wanted), expected, "{name}");
        let counted = expected.iter().map(|row| row[1].parse::<u64>().expect("a number")).sum::<u64>();
        let sql =
            gpuprof(&["query", "--format", "csv", file, "SELECT domain_name, count(*) FROM host_call GROUP BY 1"]);
        assert!(sql.stdout.ends_with(&format!("OS runtime,{counted}\n")), "{}", sql.stdout);
        for of_cuda in ["cuda_api_sum", "cuda_api_trace"] {
            let names = columns(&view(of_cuda, file), &["Name"]);
            assert!(names.iter().all(|name| name[0].starts_with("cu")), "{name}: {names:?}");
        }
        let nvprof = gpuprof(&["report", "-q", file]).stdout;
        assert!(!nvprof.contains("ioctl") && nvprof.contains("cudaMalloc"), "{nvprof}");
    }
}

const SCHEMA: &str = "
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
    INSERT INTO StringIds VALUES (1, 'cudaMalloc_v3020'), (2, 'MPI_Send'), (3, 'MPI_Allreduce'), (4, 'MPI_Wait'),
        (5, 'MPI_Init'), (6, 'poll'), (7, 'OS runtime libraries profiling started');
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
        correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
    CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, nameId INTEGER,
        returnValue INTEGER, nestingLevel INTEGER, callchainId INTEGER);
    CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);
    CREATE TABLE MPI_P2P_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, tag INTEGER);
    CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, size INTEGER);
    CREATE TABLE MPI_START_WAIT_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER);
    CREATE TABLE MPI_OTHER_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER);";

/// Two ranks that call CUDA, MPI and the operating system.
fn two_ranks(folder: &TempFolder) -> String {
    let path = folder.path().join("ranks.sqlite");
    let db = Connection::open(&path).expect("a database");
    db.execute_batch(SCHEMA).expect("tables");
    for (rank, pid) in [(0, 100_i64), (1, 200)] {
        let thread = pid << 24 | pid;
        db.execute_batch(&format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1100, 0, {thread}, 1, 1, 0);
             INSERT INTO MPI_RANKS VALUES ({thread}, {rank});
             INSERT INTO MPI_P2P_EVENTS VALUES (2000, 2500, {thread}, 2, 7), (3000, NULL, {thread}, 2, 7);
             INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (4000, 4300 + {rank}, {thread}, 3, 8);
             INSERT INTO MPI_START_WAIT_EVENTS VALUES (5000, 5010, {thread}, 4);
             INSERT INTO MPI_OTHER_EVENTS VALUES (100, 900, {thread}, 5);
             INSERT INTO OSRT_API VALUES (6000, 6040, 27, {thread}, 6, 3, 0, 0), (50, 50, 31, {thread}, 7, 0, NULL, 0);"
        ))
        .expect("rows");
    }
    path.to_str().expect("a path").to_owned()
}

#[test]
fn calls_of_mpi_are_summed_by_class_and_name_and_tell_the_rank() {
    let folder = TempFolder::new("mpi");
    let file = two_ranks(&folder);
    let wanted = ["Total Time (ns)", "Instances", "Source", "Name"];
    let sums = |rows: &[BTreeMap<String, String>]| columns(rows, &wanted).iter().map(|row| row.join(" ")).collect();
    let all: Vec<String> = sums(&view("mpi_event_sum", &file));
    let expected = [
        "1600 2 other MPI_Init",
        "1000 2 p2p MPI_Send",
        "601 2 collectives MPI_Allreduce",
        "20 2 start/wait MPI_Wait",
    ];
    assert_eq!(all, expected);
    let of_one =
        gpuprof(&["report", "-q", "--view", "mpi_event_sum", "--format", "csv", "--filter", "rank=1", &file]);
    assert!(of_one.stdout.contains("301,1,") && of_one.stdout.contains("MPI_Allreduce"), "{}", of_one.stdout);
    let calls = view("cuda_api_sum", &file);
    assert_eq!(columns(&calls, &["Num Calls", "Name"]), [["2", "cudaMalloc"]]);
    let info = gpuprof(&["info", &file]);
    assert!(info.stdout.contains("12 OS runtime and MPI calls"), "{}", info.stdout);
    let said = info.stdout + &info.stderr;
    assert!(said.contains("2 rows of OSRT_API about nsys itself are not read"), "{said}");
}

#[test]
fn calls_survive_an_export_and_keep_their_place_on_the_timeline() {
    let folder = TempFolder::new("mpi-exports");
    let file = two_ranks(&folder);
    let sum = |file: &str| ["osrt_sum", "mpi_event_sum", "cuda_api_sum"].map(|name| view(name, file));
    let expected = sum(&file);
    for format in ["sqlite", "gpuprof", "parquet", "chrome", "csv"] {
        let path = folder.path().join(format!("again-{format}"));
        let to = path.to_str().expect("a path");
        gpuprof(&["export", "-q", "--format", format, &file, "-o", to]);
        assert_eq!(sum(to), expected, "{format}");
    }
    let page = folder.path().join("page.html");
    gpuprof(&["timeline", "-q", &file, "-o", page.to_str().expect("a path")]);
    assert!(page.is_file());
    let chrome = folder.path().join("one.json");
    gpuprof(&["export", "-q", "--filter", "rank=0", &file, "-o", chrome.to_str().expect("a path")]);
    let text = std::fs::read_to_string(&chrome).expect("a trace");
    assert!(text.contains("\"cat\":\"mpi\"") && text.contains("\"name\":\"MPI_Allreduce\""), "{text}");
    assert!(text.contains("\"cat\":\"os_runtime\""), "{text}");
}
