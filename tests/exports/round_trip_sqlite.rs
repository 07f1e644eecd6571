//! What `export --format sqlite` and `--format nvprof` write is read back as what it was: every column of every table that
//! the formats say they keep, and every report about every shared file.

mod shared_files;

use crate::common::build::{Copy, EPOCH, Name, Native, NativeWriter, NvtxRange, Story, native};
use crate::common::everything::everything;
use crate::common::{TempFolder, gpuprof};
use gpuprof::export::{Columns, Exporter, KeptTable, KeptTables, find};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::Filter;
use gpuprof::trace::sink::Need;
use rusqlite::Connection;
use shared_files::first_difference;
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::columns::{Batch, Column, Values};
use trace_format::schema::{TableSpec, Unit};
use trace_format::tables::column::memory;
use trace_format::tables::{self, SampleRow};

const FORMATS: [&str; 2] = ["sqlite", "nvprof"];

fn export(format: &str, from: &str, to: &Path) {
    let to = to.to_str().unwrap();
    gpuprof(&["export", "--quiet", "--format", format, from, "-o", to]);
}

// -------------------------------------------------------------------------------------------- every kept column

/// Every name and shape of a trace, and rows as text, so that traces with different ids can be compared.
struct Reading<'a> {
    frames: &'a Frames,
    keeps: KeptTables,
}

impl Reading<'_> {
    fn kept(&self, table: &'static TableSpec) -> Vec<&'static str> {
        let Some(keeps) = self.keeps.of(table) else { return Vec::new() };
        table.columns.iter().map(|column| column.name).filter(|name| keeps.columns.keep(name)).collect()
    }

    fn cell(&self, unit: Unit, column: &Column, i: usize) -> String {
        if column.is_null(i) {
            return "-".to_owned();
        }
        match (&column.values, unit) {
            (Values::U32(v), unit) if unit.is_name() && v[i] == 0 => "-".to_owned(),
            (Values::U32(v), unit) if unit.is_name() => self.frames.names.text(v[i]).into_owned(),
            (Values::U32(v), unit) if unit.is_shape() => self.shape(v[i]),
            (Values::U32(v), _) => v[i].to_string(),
            (Values::U64(v), _) => v[i].to_string(),
            (Values::I64(v), _) => v[i].to_string(),
            (Values::F64(v), _) => v[i].to_string(),
            (Values::Bool(v), _) => v[i].to_string(),
            (Values::Bytes(v), _) => format!("{:?}", v.get(i)),
        }
    }

    fn shape(&self, id: u32) -> String {
        let Some(s) = self.frames.shape(id) else { return "-".to_owned() };
        let kept = self.kept(&tables::SHAPE);
        let name = |name: &str, id: Option<u32>| match kept.contains(&name) {
            true => self.frames.names.text(id.unwrap_or(0)).into_owned(),
            false => String::new(),
        };
        // A reader may get a demangled and a base name where there was none.
        format!(
            "{} {:?}",
            name("name_id", Some(s.name_id)),
            [
                s.grid_x,
                s.grid_y,
                s.grid_z,
                s.block_x,
                s.block_y,
                s.block_z,
                s.cluster_x,
                s.cluster_y,
                s.cluster_z,
                s.registers,
                s.static_smem_bytes,
                s.dynamic_smem_bytes,
                s.local_mem_per_thread_bytes,
                s.local_mem_total_bytes,
            ]
        )
    }

    /// The kept columns of all rows that `counts` lets count, each with its process, sorted.
    fn rows(&self, table: &'static TableSpec, counts: impl Fn(&Batch, usize) -> bool) -> Vec<String> {
        let kept = self.kept(table);
        let mut rows = Vec::new();
        self.frames
            .in_order(&[table], &Filter::everything(), |chunk| {
                for (piece, i) in chunk.iter().filter(|(piece, i)| counts(&piece.rows, *i)) {
                    let mut row = format!("{:?}", self.frames.processes[piece.process as usize].info.pid);
                    for (spec, column) in table.columns.iter().zip(&piece.rows.columns) {
                        if kept.contains(&spec.name) {
                            row.push_str(&format!(" {}={}", spec.name, self.cell(spec.unit, column, i)));
                        }
                    }
                    rows.push(row);
                }
                Ok(())
            })
            .unwrap_or_else(|e| panic!("{e}"));
        rows.sort_unstable();
        rows.dedup();
        rows
    }
}

fn number(batch: &Batch, column: &str, i: usize) -> Option<i64> {
    let column = batch.column(column)?;
    match &column.values {
        _ if column.is_null(i) => None,
        Values::U32(v) => Some(v[i].into()),
        Values::I64(v) => Some(v[i]),
        _ => None,
    }
}

/// What the notes of a format say is left out or changed.
fn is_held(format: &str, batch: &Batch, i: usize) -> bool {
    let code = |column| number(batch, column, i).unwrap_or(0);
    match (format, batch.table.name) {
        ("sqlite", "uvm") => !(5..=7).contains(&code("kind")),
        ("sqlite", "openmp") => code("kind") != 4,
        ("nvprof", "range") => code("style") < 3,
        ("nvprof", "sample") => number(batch, "device", i).is_some(),
        // Operations of pools lose columns and are compared apart.
        (_, "memory") => code("operation") < 16,
        _ => true,
    }
}

fn open(path: &Path) -> Frames {
    Frames::open(&[path.to_owned()], &Need::all()).unwrap_or_else(|e| panic!("{e}"))
}

fn compare(format: &str, original: &Path, exported: &Path) {
    let exporter: &Exporter = find(format).unwrap();
    let (before, after) = (open(original), open(exported));
    let [before, after] = [&before, &after].map(|frames| Reading { frames, keeps: exporter.keeps });
    let mut compared = 0;
    for table in tables::ALL.iter().filter(|t| !t.columns.is_empty() && ![2, 3].contains(&t.id)) {
        if before.kept(table).is_empty() {
            continue;
        }
        let [was, is] = [&before, &after].map(|reading| reading.rows(table, |batch, i| is_held(format, batch, i)));
        for (was, is) in was.iter().zip(&is) {
            assert_eq!(was, is, "{format}, table {}", table.name);
        }
        assert_eq!(was.len(), is.len(), "{format}, table {}", table.name);
        assert!(!was.is_empty(), "table {} is not in the test", table.name);
        compared += was.len();
    }
    assert!(compared > 500, "only {compared} rows");
    let pools = |reading: &Reading| {
        let rows = Reading { frames: reading.frames, keeps: KeptTables::these(POOLS) };
        rows.rows(&tables::MEMORY, |batch, i| number(batch, "operation", i) > Some(16))
    };
    assert_eq!(pools(&before), pools(&after));
    assert_eq!(pools(&before).len(), 24);
}

const POOLS: &[KeptTable] = &[KeptTable {
    table: &tables::MEMORY,
    columns: Columns::AllBut(&[memory::CONTEXT, memory::STREAM, memory::MEM_KIND, memory::NAME_ID]),
    note: "",
}];

#[test]
fn every_column_that_is_said_to_be_kept_comes_back() {
    let folder = TempFolder::new("sqlite-everything");
    // With an epoch, as a machine's own clock, and without any and beginning at 0.
    for (name, epoch, first_ns) in
        [("unix", Some(EPOCH), 10_000_000), ("boot", Some(5), EPOCH), ("relative", None, 10_000_000)]
    {
        let original = folder.file(&format!("{name}.gpuprof"), &everything(4242, epoch, first_ns));
        for format in FORMATS {
            let exported = folder.path().join(format!("{name}.{format}"));
            export(format, original.to_str().unwrap(), &exported);
            compare(format, &original, &exported);
        }
    }
}

#[test]
fn a_process_gets_the_samples_of_its_own_machine() {
    let folder = TempFolder::new("sqlite-hosts");
    let app = folder.argument("run/app.gpuprof", &native(&Story::sample(10)));
    for (pid, host, power) in [(10, "node7", 50_000.0), (11, "node8", 70_000.0)] {
        let mut file = Vec::new();
        let story = Story { pid, ..Story::empty() };
        let mut writer =
            NativeWriter::begin(&mut file, &story, Native { launcher: true, host, ..Native::default() });
        let metric_id = writer.string(b"power_mw");
        writer.define();
        let (start_ns, device) = (11_000_000, Some(0));
        writer.rows(vec![SampleRow { start_ns, metric_id, device, value: power, of_pid: None }]);
        writer.close();
        drop(writer);
        folder.file(&format!("run/launcher-{host}.gpuprof"), &file);
    }
    let out = folder.path().join("out");
    export("nvprof", Path::new(&app).parent().unwrap().to_str().unwrap(), &out);
    let db = Connection::open(out.join("process-00000.nvvp")).unwrap();
    let data: Vec<Vec<u8>> = db
        .prepare("SELECT data FROM CUPTI_ACTIVITY_KIND_ENVIRONMENT WHERE environmentKind = 3")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(data.iter().map(|data| &data[..4]).collect::<Vec<_>>(), [&50_000_u32.to_le_bytes()]);
}

#[test]
fn an_export_of_an_export_is_the_same_bytes() {
    let folder = TempFolder::new("sqlite-again");
    let original = folder.argument("a.gpuprof", &everything(4242, Some(EPOCH), 10_000_000));
    let texts = |path: &Path| {
        let db = Connection::open(path).unwrap();
        let mut tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1").unwrap();
        let tables: Vec<String> = tables.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect();
        // Texts are numbered in the order in which they are met, which follows the order of rows alone.
        tables.iter().map(|table| (table.clone(), dump(&db, table))).collect::<BTreeMap<_, _>>()
    };
    for format in FORMATS {
        let paths = ["first", "second", "third"].map(|name| folder.path().join(format!("{name}.{format}")));
        export(format, &original, &paths[0]);
        export(format, paths[0].to_str().unwrap(), &paths[1]);
        export(format, paths[1].to_str().unwrap(), &paths[2]);
        let [second, third] = [&paths[1], &paths[2]].map(|path| texts(path));
        for (table, rows) in &second {
            assert_eq!(Some(rows), third.get(table), "{format} {table}");
        }
        assert_eq!(second.len(), third.len());
    }
}

fn dump(db: &Connection, table: &str) -> Vec<String> {
    let mut statement = db.prepare(&format!("SELECT * FROM \"{table}\"")).unwrap();
    let width = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut out = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let cells: Vec<String> = (0..width).map(|i| format!("{:?}", row.get_ref(i).unwrap())).collect();
        out.push(cells.join("|"));
    }
    out
}

// ------------------------------------------------------------------------------------------ an independent reader

/// Rows per table as `gpuprof info` counts them.
fn counted(path: &str) -> BTreeMap<String, i64> {
    let answer = gpuprof(&["info", "--format", "json", path]).stdout;
    let answer: serde_json::Value = serde_json::from_str(&answer).expect("JSON");
    let rows = answer["tables"].as_array().into_iter().flatten().find(|t| t["name"] == "tables");
    let rows = rows.unwrap_or_else(|| panic!("{answer}"))["rows"].as_array().cloned().unwrap_or_default();
    rows.iter().map(|row| (row["Table"].as_str().unwrap().to_owned(), row["Rows"].as_i64().unwrap())).collect()
}

fn count(db: &Connection, sql: &str) -> i64 {
    db.query_row(&format!("SELECT count(*) FROM {sql}"), [], |row| row.get(0))
        .unwrap_or_else(|e| panic!("{sql}: {e}"))
}

#[test]
fn plain_sql_counts_what_info_counts() {
    let folder = TempFolder::new("sqlite-counts");
    let path = folder.argument("a.gpuprof", &everything(4242, Some(EPOCH), 10_000_000));
    let info = counted(&path);
    let [nsys, nvprof] = FORMATS.map(|format| {
        let out = folder.path().join(format!("a.{format}"));
        export(format, &path, &out);
        Connection::open(out).unwrap()
    });
    let cupti = |kind: &str| format!("CUPTI_ACTIVITY_KIND_{kind}");
    let sum = |db: &Connection, tables: &[String]| tables.iter().map(|table| count(db, table)).sum::<i64>();
    for (table, in_nsys, in_nvprof) in [
        ("kernel", vec![cupti("KERNEL")], vec![cupti("CONCURRENT_KERNEL"), cupti("CDP_KERNEL")]),
        (
            "memcpy",
            vec![format!("{} WHERE virtualAddress IS NULL", cupti("MEMCPY"))],
            vec![cupti("MEMCPY"), cupti("MEMCPY2")],
        ),
        ("memset", vec![cupti("MEMSET")], vec![cupti("MEMSET")]),
        ("api", vec![cupti("RUNTIME")], vec![cupti("RUNTIME"), cupti("DRIVER")]),
        ("sync", vec![cupti("SYNCHRONIZATION")], vec![cupti("SYNCHRONIZATION")]),
        ("overhead", vec![cupti("OVERHEAD")], vec![cupti("OVERHEAD")]),
        ("graph", vec![cupti("GRAPH_TRACE")], vec![cupti("GRAPH_TRACE")]),
        ("event", vec![cupti("CUDA_EVENT")], vec![cupti("CUDA_EVENT")]),
        ("jit", vec![cupti("JIT")], vec![cupti("JIT")]),
        (
            "memory",
            vec!["CUDA_GPU_MEMORY_USAGE_EVENTS".to_owned(), "CUDA_GPU_MEMORY_POOL_EVENTS".to_owned()],
            vec![cupti("MEMORY2"), cupti("MEMORY_POOL")],
        ),
        (
            "openacc",
            ["DATA", "LAUNCH", "OTHER"].map(|t| cupti(&format!("OPENACC_{t}"))).to_vec(),
            ["DATA", "LAUNCH", "OTHER"].map(|t| cupti(&format!("OPENACC_{t}"))).to_vec(),
        ),
        ("range", vec!["NVTX_EVENTS WHERE eventType != 75".to_owned()], vec![]),
        ("stream", vec!["TARGET_INFO_CUDA_STREAM".to_owned()], vec![cupti("STREAM")]),
        ("device", vec!["TARGET_INFO_GPU".to_owned()], vec![cupti("DEVICE")]),
        ("context", vec!["TARGET_INFO_CUDA_CONTEXT_INFO".to_owned()], vec![cupti("CONTEXT")]),
        ("thread", vec!["ThreadNames".to_owned()], vec![format!("{} WHERE objectKind = 2", cupti("NAME"))]),
        ("external", vec![], vec![cupti("EXTERNAL_CORRELATION")]),
        ("uvm", vec![], vec![cupti("UNIFIED_MEMORY_COUNTER")]),
        ("openmp", vec![], vec![cupti("OPENMP")]),
    ] {
        if !in_nsys.is_empty() {
            assert_eq!(sum(&nsys, &in_nsys), info[table], "sqlite {table}");
        }
        if !in_nvprof.is_empty() {
            assert_eq!(sum(&nvprof, &in_nvprof), info[table], "nvprof {table}");
        }
    }
    // Every number of a text has a text, and rows stand in order of their starts.
    for (table, column) in [("KERNEL", "demangledName"), ("KERNEL", "shortName"), ("RUNTIME", "nameId")] {
        let table = cupti(table);
        assert_eq!(count(&nsys, &format!("{table} WHERE {column} NOT IN (SELECT id FROM StringIds)")), 0);
    }
    assert_eq!(count(&nsys, "(SELECT value FROM StringIds GROUP BY 1 HAVING count(*) > 1)"), 0);
    let disorder = "SELECT count(*) FROM (SELECT start - lag(start) OVER (ORDER BY rowid) AS step
         FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE end >= start) WHERE step < 0";
    assert_eq!(nsys.query_row(disorder, [], |r| r.get::<_, i64>(0)).unwrap(), 0);
    // What nsys's own documentation joins: kernels with their launches, in their process.
    let joined = "CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r
         ON k.correlationId = r.correlationId AND k.globalPid = r.globalTid & ~0xFFFFFF";
    assert_eq!(count(&nsys, joined), info["kernel"] - 1);
    let pid = "SELECT DISTINCT globalPid / 0x1000000 % 0x1000000 FROM CUPTI_ACTIVITY_KIND_KERNEL";
    assert_eq!(nsys.query_row(pid, [], |r| r.get::<_, i64>(0)).unwrap(), 4242);
    for db in [&nsys, &nvprof] {
        let whole: String = db.query_row("PRAGMA integrity_check", [], |r| r.get(0)).unwrap();
        assert_eq!(whole, "ok");
    }
    assert_eq!(nvprof.query_row("SELECT version FROM Version", [], |r| r.get::<_, i64>(0)).unwrap(), 18);
}

// ---------------------------------------------------------------------------------------------------- particulars

fn round_trip_of(story: &Story, format: &str, options: &[&[&str]]) {
    let folder = TempFolder::new(&format!("sqlite-story-{format}-{}", options.len()));
    let path = folder.argument("a.gpuprof", &native(story));
    let out = folder.path().join(format!("a.{format}"));
    export(format, &path, &out);
    for options in options {
        let [before, after] = [path.as_str(), out.to_str().unwrap()]
            .map(|of| gpuprof(&[&["report"], *options, &[of]].concat()).stdout);
        assert!(before == after, "{format} {options:?}:\n{}\n{before}\n{after}", first_difference(&before, &after));
    }
}

#[test]
fn launches_ranges_and_unified_memory_are_reported_alike() {
    let mut story = Story::sample(40).with_ranges();
    // Threads of other tools have ids of 32 bits, which must stay apart.
    for (call, tid) in story.calls.iter_mut().zip([0xAB00_1093, 0x1093, 0xCD00_1093].into_iter().cycle()) {
        call.tid = tid;
    }
    let options: &[&[&str]] = &[&[], &["--csv"], &["--print-gpu-trace"], &["--print-api-trace"]];
    for format in FORMATS {
        round_trip_of(&story, format, options);
    }
}

#[test]
fn a_trace_that_begins_at_0_keeps_its_first_record() {
    let story = Story { epoch: None, ..Story::empty() }.with_kernel(Name::plain("first"), 0, 100).with_kernel(
        Name::plain("second"),
        200,
        100,
    );
    for format in FORMATS {
        round_trip_of(&story, format, &[&[], &["--print-gpu-trace", "--csv"], &["--csv", "-u", "ns"]]);
    }
}

#[test]
fn several_processes_are_one_file_of_nsyss_and_a_folder_of_nvprofs() {
    let folder = TempFolder::new("sqlite-processes");
    // Two ranks with one pid, as in two containers.
    let rank = |rank: u32| Story { rank: Some((rank, 2)), ..Story::sample(10) };
    for r in 0..2 {
        folder.file(&format!("run/{r}.gpuprof"), &native(&rank(r)));
    }
    let run = folder.path().join("run").to_str().unwrap().to_owned();
    for format in FORMATS {
        let out = folder.path().join(format!("run-{format}"));
        export(format, &run, &out);
        assert_eq!(out.is_dir(), format == "nvprof");
        for options in [&[][..], &["--per-process"], &["--print-gpu-trace"], &["--print-api-trace"]] {
            let [before, after] = [run.as_str(), out.to_str().unwrap()]
                .map(|of| gpuprof(&[&["report"], options, &[of]].concat()).stdout);
            // Neither has ranks.
            let before = before.replace(" (rank 0)", "").replace(" (rank 1)", "");
            assert_eq!(before, after, "{format} {options:?}");
        }
    }
    let chosen = folder.path().join("chosen");
    let to = chosen.to_str().unwrap();
    gpuprof(&["export", "--quiet", "--format", "nvprof", "--filter", "rank=1", &run, "-o", to]);
    let databases =
        std::fs::read_dir(&chosen).unwrap().flatten().filter(|e| e.path().extension().is_some_and(|e| e == "nvvp"));
    assert_eq!(databases.count(), 1);
}

#[test]
fn unified_memory_of_nsys_becomes_that_of_nvprof() {
    let mut story = Story::sample(5);
    let migration = |kind| Copy { kind, ..story.copies[0].clone() };
    story.copies = [11, 12, 13].map(migration).to_vec();
    let folder = TempFolder::new("sqlite-unified");
    let path = folder.argument("a.gpuprof", &native(&story));
    let [nsys, nvprof] = FORMATS.map(|format| folder.path().join(format!("a.{format}")));
    export("sqlite", &path, &nsys);
    export("nvprof", &path, &nvprof);
    assert_eq!(counted(nsys.to_str().unwrap())["memcpy"], 3);
    assert_eq!(counted(nvprof.to_str().unwrap())["uvm"], 3);
    let printed = gpuprof(&["report", nvprof.to_str().unwrap()]).stdout;
    assert!(printed.contains("Host To Device") && printed.contains("Device To Host"), "{printed}");
}

#[test]
fn filters_choose_what_is_exported_and_an_empty_choice_is_a_valid_file() {
    let folder = TempFolder::new("sqlite-filter");
    let path = folder.argument("a.gpuprof", &native(&Story::sample(30)));
    for format in FORMATS {
        let out = folder.path().join(format!("a.{format}"));
        let to = out.to_str().unwrap();
        gpuprof(&["export", "--quiet", "--format", format, &path, "-o", to, "--filter", "saxpy"]);
        let [before, after] = [vec![&*path, "--filter", "saxpy"], vec![to]]
            .map(|of| gpuprof(&[&["report", "--print-gpu-trace"][..], &of].concat()).stdout);
        assert_eq!(before, after);
        std::fs::remove_file(&out).unwrap();
        gpuprof(&["export", "--quiet", "--format", format, &path, "-o", to, "--filter", "no such kernel"]);
        assert_eq!(counted(to).get("kernel"), None);
    }
}

#[test]
fn marks_and_ranges_of_threads_come_back_with_their_ends_in_order() {
    let range = |name: &str, style, start, end, tid| NvtxRange {
        name: name.to_owned(),
        domain: None,
        start,
        end,
        style,
        tid,
    };
    let mut story = Story::sample(5);
    story.ranges = vec![
        range("outer", 0, 100, Some(900), 1),
        range("inner", 0, 200, Some(300), 1),
        range("across", 1, 250, Some(800), 1),
        range("mark", 2, 260, None, 2),
        range("open", 0, 270, None, 2),
    ];
    let folder = TempFolder::new("sqlite-marks");
    let path = folder.argument("a.gpuprof", &native(&story));
    let out = folder.path().join("a.nvvp");
    export("nvprof", &path, &out);
    let db = Connection::open(&out).unwrap();
    let mut statement = db.prepare("SELECT flags, id FROM CUPTI_ACTIVITY_KIND_MARKER ORDER BY _id_").unwrap();
    let markers: Vec<(i64, i64)> =
        statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?))).unwrap().map(Result::unwrap).collect();
    assert_eq!(markers, [(2, 1), (2, 2), (2, 3), (1, 4), (2, 5), (4, 2), (4, 3), (4, 1)]);
    let [before, after] = [path.as_str(), out.to_str().unwrap()]
        .map(|of| gpuprof(&["report", "--view", "nvtx_sum", "--format", "csv", of]).stdout);
    assert_eq!(before, after);
}
