//! Graphs that nsys traced whole are work of the GPU: they count in summaries, gaps and busy times, and once only.

use crate::common::{self, TempFolder};
use serde_json::Value;

/// A database with two kernels and two runs of graph 5; with `nodes`, the first run has a row for its kernel too.
fn database(folder: &TempFolder, nodes: bool) -> String {
    let path = folder.path().join("graphs.sqlite");
    let process = 1i64 << 48 | 7 << 24;
    let node = if nodes { format!(", (1300, 1400, 0, 1, 7, 1, {process}, 2, 5, 9)") } else { String::new() };
    rusqlite::Connection::open(&path)
        .and_then(|db| {
            db.execute_batch(&format!(
                "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
                 INSERT INTO StringIds VALUES (1, 'cudaGraphLaunch_v10000'), (2, 'axpy(float *)');
                 CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
                     globalPid, demangledName, graphId, graphNodeId);
                 INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (650, 750, 0, 1, 7, 9, {process}, 2, NULL, NULL),
                     (5100, 5200, 0, 1, 7, 10, {process}, 2, NULL, NULL){node};
                 CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, graphId, contextId, streamId,
                     correlationId, globalPid);
                 INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1200, 3200, 0, 5, 1, 7, 1, {process}),
                     (3200, 5000, 0, 5, 1, 7, 2, {process});"
            ))
        })
        .expect("a database");
    path.to_str().expect("a path").to_owned()
}

/// Calls and total by name.
fn sums(path: &str, options: &[&str]) -> Vec<(String, i64, i64)> {
    let answer = common::gpuprof(&[&["report", "--format", "json", path], options].concat());
    let document: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    let rows = document["tables"][0]["rows"].as_array().expect("rows").clone();
    let count = |row: &Value| row["Calls"].as_i64().or(row["Instances"].as_i64());
    let name = |row: &Value| row["Name"].as_str().or(row["Operation"].as_str()).expect("a name").to_owned();
    let total = |row: &Value| row["Total Time (ns)"].as_i64().expect("a total");
    rows.iter().map(|row| (name(row), count(row).expect("a count"), total(row))).collect()
}

/// The numbers that a query answers, row by row.
fn answers(path: &str, sql: &str) -> Vec<i64> {
    let table = common::gpuprof(&["query", path, sql, "--format", "csv"]).stdout;
    let cells = table.lines().skip(1).flat_map(|line| line.split(','));
    cells.map(|cell| cell.parse().unwrap_or_else(|e| panic!("{cell:?}: {e}"))).collect()
}

#[test]
fn graphs_traced_whole_count_in_summaries_gaps_and_busy_times() {
    let folder = TempFolder::new("whole-graphs");
    let path = database(&folder, false);
    let expected = [("[CUDA graph 5]".to_owned(), 2, 3800), ("axpy(float *)".to_owned(), 2, 200)];
    for options in [&[][..], &["--view", "cuda_gpu_sum"]] {
        let found = sums(&path, options);
        assert_eq!(
            found.iter().map(|row| (row.1, row.2)).collect::<Vec<_>>(),
            [(2, 3800), (2, 200)],
            "{options:?}"
        );
        assert_eq!(found[0].0, expected[0].0);
    }
    let gaps = answers(&path, "SELECT start_ns, end_ns FROM gaps ORDER BY start_ns");
    assert_eq!(gaps, [750, 1200, 5000, 5100]);
    assert_eq!(answers(&path, "SELECT busy_ns FROM streams"), [4000]);
    assert_eq!(answers(&path, "SELECT count(*) FROM gpu WHERE kind = 'graph'"), [2]);
    let listed = common::gpuprof(&["report", "--print-gpu-trace", &path]).stdout;
    assert_eq!(listed.matches("[CUDA graph 5]").count(), 2, "{listed}");
}

#[test]
fn a_graph_whose_nodes_were_traced_counts_once() {
    let folder = TempFolder::new("graph-nodes");
    let path = database(&folder, true);
    let found = sums(&path, &[]);
    let totals: Vec<_> = found.iter().map(|(_, count, total)| (*count, *total)).collect();
    assert_eq!(totals, [(1, 1800), (3, 300)], "{found:?}");
}

#[test]
fn a_trace_of_the_cpu_alone_says_where_its_ranges_are() {
    let folder = TempFolder::new("cpu-only");
    let text = br#"{"schemaVersion":1,"traceEvents":[
        {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":30},
        {"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":1,"tid":1,"ts":5,"dur":60}]}"#;
    let path = folder.argument("cpu.json", text);
    let answer = common::gpuprof_in(folder.path(), &["report", &path]);
    assert_eq!((answer.status, answer.stdout.as_str()), (1, ""));
    assert!(
        answer.stderr.contains("but 2 ranges of the CPU; `gpuprof report --view nvtx_sum` sums them"),
        "{}",
        answer.stderr
    );
}

/// One row for each replay's worth of nodes: start, end, stream, correlation id and graph.
fn nodes(folder: &TempFolder, nodes: &[[i64; 5]]) -> String {
    let path = folder.path().join("nodes.sqlite");
    let process = 1i64 << 48 | 7 << 24;
    let row = |[start, end, stream, correlation, graph]: &[i64; 5]| {
        let graph = if *graph == 0 { "NULL".to_owned() } else { graph.to_string() };
        format!("({start}, {end}, 0, 1, {stream}, {correlation}, {process}, 2, {graph})")
    };
    let rows: Vec<String> = nodes.iter().map(row).collect();
    rusqlite::Connection::open(&path)
        .and_then(|db| {
            db.execute_batch(&format!(
                "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
                 INSERT INTO StringIds VALUES (2, 'axpy(float *)');
                 CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId,
                     globalPid, demangledName, graphId);
                 INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES {};",
                rows.join(", ")
            ))
        })
        .expect("a database");
    path.to_str().expect("a path").to_owned()
}

fn replays(path: &str) -> Vec<Value> {
    let answer = common::gpuprof(&["report", path, "--view", "cuda_graph_replays", "--format", "json"]);
    let document: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    document["tables"][0]["rows"].as_array().expect("rows").clone()
}

fn numbers(row: &Value, columns: &[&str]) -> Vec<f64> {
    columns.iter().map(|column| row[column].as_f64().unwrap_or_else(|| panic!("{column}: {row}"))).collect()
}

#[test]
fn replays_of_a_graph_last_from_its_first_work_to_its_last_and_gaps_are_what_none_of_it_fills() {
    let folder = TempFolder::new("graph-replays");
    // Of graph 5 two replays: 400 ns, of which 100 between 1200 and 1300 are empty, and 300 ns without a gap. One of graph 6, in which two
    // nodes end together. The rest belongs to no graph, or nobody knows who launched it.
    let path = nodes(
        &folder,
        &[
            [1300, 1400, 7, 1, 5],
            [1000, 1100, 7, 1, 5],
            [1050, 1200, 8, 1, 5],
            [2100, 2300, 7, 2, 5],
            [2000, 2100, 7, 2, 5],
            [3000, 3050, 7, 3, 6],
            [3010, 3050, 8, 3, 6],
            [1200, 1300, 9, 4, 0],
            [5000, 5900, 7, 0, 5],
        ],
    );
    let rows = replays(&path);
    assert_eq!(rows.len(), 2, "{rows:?}");
    let columns = [
        "PID",
        "DevId",
        "Graph",
        "Replays",
        "Work per Replay",
        "Total Time (ns)",
        "Med (ns)",
        "p99 (ns)",
        "Min (ns)",
    ];
    assert_eq!(numbers(&rows[0], &columns), [7.0, 0.0, 5.0, 2.0, 2.5, 700.0, 350.0, 400.0, 300.0]);
    assert_eq!(numbers(&rows[0], &["Gaps Inside (ns)", "Gaps of Total Time (%)"]), [100.0, 14.3]);
    assert_eq!(numbers(&rows[1], &columns), [7.0, 0.0, 6.0, 1.0, 2.0, 50.0, 50.0, 50.0, 50.0]);
    assert_eq!(numbers(&rows[1], &["Gaps Inside (ns)", "Gaps of Total Time (%)"]), [0.0, 0.0]);
    assert!(rows.iter().all(|row| row["Traced"] == "nodes"), "{rows:?}");

    let [row] = &replays(&database(&folder, false))[..] else { panic!("one graph") };
    assert_eq!(numbers(row, &["Graph", "Replays", "Total Time (ns)", "Max (ns)"]), [5.0, 2.0, 3800.0, 2000.0]);
    assert_eq!(
        (&row["Traced"], &row["Work per Replay"], &row["Gaps Inside (ns)"]),
        (&"whole".into(), &Value::Null, &Value::Null)
    );
}
