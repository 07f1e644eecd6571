//! Files that hold no whole recording (printed traces, summaries, CPU profiles) through the real program: what is in
//! them is shown, what is not is said, and nothing is made up.

use crate::common::foreign::*;
use crate::common::{self, TempFolder, gpuprof, gpuprof_in};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The tables of a report by name, and the codes of its notes.
struct Report {
    tables: Vec<(String, Vec<Value>)>,
    codes: Vec<String>,
    text: String,
}

impl Report {
    fn of(text: impl AsRef<[u8]>) -> Report {
        Report::with(text, &[])
    }

    fn with(text: impl AsRef<[u8]>, options: &[&str]) -> Report {
        let folder = folder();
        let path = folder.argument("file", text.as_ref());
        let answer = gpuprof(&[&["report", "--format", "json", &path], options].concat());
        let document: Value = serde_json::from_str(&answer.stdout).expect("JSON");
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let tables = list(&document["tables"]);
        let tables =
            tables.iter().map(|table| (table["name"].as_str().expect("a name").to_owned(), list(&table["rows"])));
        let codes =
            list(&document["notes"]).into_iter().map(|note| note["code"].as_str().expect("a code").to_owned());
        Report { tables: tables.collect(), codes: codes.collect(), text: answer.stderr }
    }

    fn rows(&self, table: &str) -> &[Value] {
        let found = self.tables.iter().find(|(name, _)| name == table);
        found.map_or(&[], |(_, rows)| rows)
    }

    /// Calls and total time by name.
    fn sums(&self, table: &str) -> BTreeMap<&str, (i64, i64)> {
        let rows = self.rows(table).iter();
        rows.map(|row| {
            let number = |column: &str| row[column].as_i64().expect("a number");
            (row["Name"].as_str().expect("a name"), (number("Calls"), number("Total Time (ns)")))
        })
        .collect()
    }

    /// One column of a table.
    fn column(&self, table: &str, column: &str) -> Vec<&Value> {
        self.rows(table).iter().map(|row| &row[column]).collect()
    }
}

/// A folder for one file; tests run side by side.
fn folder() -> TempFolder {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    TempFolder::new(&format!("readers-{}", NUMBER.fetch_add(1, Ordering::Relaxed)))
}

/// The rows of a table of records, as `info` counts them.
fn counted(text: impl AsRef<[u8]>) -> BTreeMap<String, i64> {
    let folder = folder();
    let path = folder.argument("file", text.as_ref());
    let answer = gpuprof(&["info", "--format", "json", &path]);
    let document: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    let tables = document["tables"].as_array().expect("tables");
    let tables = tables.iter().find(|table| table["name"] == "tables").expect("a table of tables");
    let rows = tables["rows"].as_array().expect("rows").iter();
    rows.map(|row| (row["Table"].as_str().expect("a name").to_owned(), row["Rows"].as_i64().expect("a number")))
        .collect()
}

fn view(text: impl AsRef<[u8]>, view: &str) -> Vec<Value> {
    let report = Report::with(text, &["--view", view]);
    report.rows(view).to_vec()
}

#[test]
fn a_printed_gpu_trace_becomes_records() {
    let report = Report::of(NVPROF_GPU_CSV);
    let expected = [
        ("[CUDA memcpy HtoD]", (1, 992)),
        ("[CUDA memset]", (1, 1_312)),
        ("void f<int, char>(int*, char const *)", (2, 12_445)),
    ];
    assert_eq!(report.sums("gpu_summary"), BTreeMap::from(expected));
    assert_eq!(report.codes, ["printed-trace", "invalid-timestamps"]);
    assert!(report.text.contains("starts are in whole microseconds"), "{}", report.text);
    assert!(report.text.contains("no API call is known") && report.text.contains(" 2 records"), "{}", report.text);
    let rows = counted(NVPROF_GPU_CSV);
    let count = |table: &str| rows.get(table).copied().unwrap_or(0);
    assert_eq!(["kernel", "memcpy", "memset", "uvm", "api", "device"].map(count), [2, 1, 1, 3, 0, 2]);

    let rows = view(NVPROF_GPU_CSV, "cuda_gpu_trace");
    let kernel = &rows[1];
    assert_eq!(
        (&kernel["GrdX"], &kernel["GrdY"], &kernel["BlkX"], &kernel["Reg/Trd"]),
        (&420.into(), &2.into(), &128.into(), &56.into())
    );
    assert_eq!(kernel["Start (ns)"], 1_183_791_000);
    assert_eq!(
        (&kernel["Device"], &kernel["Strm"], &kernel["CorrId"]),
        (&"TITAN Xp (1)".into(), &13.into(), &106.into())
    );
    assert_eq!(rows[0]["SrcMemKd"], "Pageable");
}

#[test]
fn printed_traces_keep_to_the_process_that_nvprof_names() {
    let two = format!("{NVPROF_GPU_CSV}\n{}", NVPROF_GPU_CSV.replace("==531==", "==532=="));
    let report = Report::with(&two, &["--per-process"]);
    let names: Vec<&str> = report.rows("gpu_summary").iter().filter_map(|row| row["Name"].as_str()).collect();
    assert!(names.iter().any(|name| name.contains("process 531")), "{names:?}");
    assert!(names.iter().any(|name| name.contains("process 532")), "{names:?}");
    assert_eq!(names.len(), 6);
}

#[test]
fn printed_text_with_calls_among_the_gpu_rows() {
    let report = Report::of(NVPROF_BOTH_TEXT);
    let expected = [("[CUDA memcpy HtoD]", (1, 896)), ("void init<double>(double*,  double)", (1, 1_678_300))];
    assert_eq!(report.sums("gpu_summary"), BTreeMap::from(expected));
    let expected = [("cuDeviceGet", (1, 10_325)), ("cudaLaunchKernel", (1, 40_939))];
    assert_eq!(report.sums("api_summary"), BTreeMap::from(expected));
    // The launch names the kernel's correlation id, so the two are known to belong together.
    let launches = view(NVPROF_BOTH_TEXT, "cuda_kern_exec_trace");
    assert_eq!(launches.len(), 1, "{launches:?}");
    let rows = view(NVPROF_BOTH_TEXT, "cuda_gpu_trace");
    assert_eq!(
        (&rows[0]["GrdX"], &rows[0]["BlkX"], &rows[0]["Reg/Trd"]),
        (&32_768.into(), &1_024.into(), &14.into())
    );

    let report = Report::of(NVPROF_API_CSV);
    let expected = [("cuDeviceGetPCIBusId", (1, 10_325)), ("cudaMalloc", (1, 2_038))];
    assert_eq!(report.sums("api_summary"), BTreeMap::from(expected));
    assert!(report.text.contains("nothing of the GPU is known"), "{}", report.text);
}

#[test]
fn summaries_stay_summaries() {
    let report = Report::of(NVPROF_SUMMARY_CSV);
    let expected = [("[CUDA memset]", (1, 3_507)), ("f(int, float*)", (3, 1_792_872))];
    assert_eq!(report.sums("imported_gpu_summary"), BTreeMap::from(expected));
    assert_eq!(report.sums("imported_api_summary"), BTreeMap::from([("cudaMalloc", (1, 246_222_783))]));
    assert_eq!(report.codes, ["summary-only"]);
    assert!(report.rows("gpu_summary").is_empty() && report.rows("api_summary").is_empty());
    assert_eq!(report.column("imported_gpu_summary", "Summed by"), ["nvprof", "nvprof"]);
    let sizes = report.rows("imported_size_summary");
    assert_eq!((&sizes[0]["Total (bytes)"], &sizes[0]["Count"]), (&6_610_945.into(), &149.into()));
    assert_eq!((&sizes[1]["Total (bytes)"], &sizes[1]["Count"]), (&Value::Null, &19.into()));
    assert_eq!((&sizes[2]["Operation"], &sizes[2]["Count"]), (&"CPU Page faults".into(), &49.into()));
    assert!(counted(NVPROF_SUMMARY_CSV).is_empty(), "a record was made up");
}

#[test]
fn a_summary_is_printed_as_it_was() {
    let folder = TempFolder::new("readers-again");
    for text in [NVPROF_SUMMARY_TEXT, NVPROF_SUMMARY_CSV] {
        let path = folder.argument("a", text.as_bytes());
        let options: &[&str] = if text.starts_with("==7") { &["--csv"] } else { &[] };
        let printed = gpuprof(&[&["report", &path], options].concat()).stdout;
        let table = text.split("\n\n").next().expect("a table");
        let shown = printed.split("\n **").next().expect("a table");
        // Averages are made of total and calls again, and these were rounded for the text.
        let rounded = shown.replace("613.46ms", "613.47ms");
        assert!(rounded.starts_with(table), "{printed}\n{table}");
    }
    for text in [NVPROF_SUMMARY_TEXT, NVPROF_SUMMARY_OLD, NVPROF_SUMMARY_CSV] {
        let path = folder.argument("b", text.as_bytes());
        for option in ["--print-gpu-trace", "--print-api-trace"] {
            let answer = gpuprof_in(Path::new("."), &["report", option, &path]);
            assert_eq!(answer.status, 1, "{}", answer.stderr);
            assert!(answer.stderr.contains("no records behind them"), "{}", answer.stderr);
        }
    }
    let report = Report::of(NVPROF_SUMMARY_OLD);
    let expected = [("[CUDA memset]", (2, 168_000)), ("kernel(float*, int)", (1, 84_933))];
    assert_eq!(report.sums("imported_gpu_summary"), BTreeMap::from(expected));
    let report = Report::with(NVPROF_SUMMARY_TEXT, &["--print-api-summary"]);
    assert_eq!(report.sums("imported_api_summary"), BTreeMap::from([("cudaMalloc", (2, 1_226_930_000))]));
    assert!(report.rows("imported_gpu_summary").is_empty());
}

#[test]
fn counters_are_refused_with_the_reason() {
    let folder = TempFolder::new("readers-metrics");
    let path = folder.argument("a.csv", NVPROF_METRICS.as_bytes());
    common::refused(&["report", &path], &[&path, "counters", "hold no times", "; "]);
}

#[test]
fn tables_of_nsys_stats_are_told_by_their_headers() {
    let report = Report::of(NSYS_STATS);
    let expected = [
        ("[CUDA memcpy HtoD]", (1, 120_664)),
        ("[CUDA memset]", (1, 1_216)),
        ("void f<int, char>(int, char)", (1, 15_167)),
    ];
    assert_eq!(report.sums("gpu_summary"), BTreeMap::from(expected));
    let expected = [("cuModuleGetLoadingMode", (1, 3_008)), ("cudaLaunchKernel", (1, 5_008))];
    assert_eq!(report.sums("api_summary"), BTreeMap::from(expected));
    let expected = [("void f<int, char>(int, char)", (1, 15_167))];
    assert_eq!(report.sums("imported_gpu_summary"), BTreeMap::from(expected));
    assert_eq!(report.column("imported_size_summary", "Total (bytes)"), [&Value::from(786_000)]);
    assert_eq!(report.codes, ["printed-trace", "summary-only"]);

    let report = Report::of(NSYS_EXEC_TRACE);
    assert_eq!(report.sums("gpu_summary"), BTreeMap::from([("g(int, int)", (2, 900))]));
    assert_eq!(report.sums("api_summary"), BTreeMap::from([("cudaLaunchKernel", (2, 110))]));
    assert_eq!(view(NSYS_EXEC_TRACE, "cuda_kern_exec_trace").len(), 2);

    let rows = view(NSYS_RANGES, "nvtx_pushpop_trace");
    assert_eq!((rows.len(), &rows[1]["Name"], &rows[1]["Duration (ns)"]), (2, &"two\nlines".into(), &300.into()));
}

#[test]
fn sampled_stacks_are_a_profile_of_the_cpu() {
    let report = Report::of(SPEEDSCOPE_SAMPLED);
    let rows = report.rows("cpu_samples");
    // `main` is the innermost of two of three samples, on all of them, and twice on one.
    assert_eq!(rows[0]["Function"], "main (a.py:3)");
    assert_eq!(
        (&rows[0]["Self Time (ns)"], &rows[0]["Total Time (ns)"], &rows[0]["Samples"]),
        (&10_000_000.into(), &15_000_000.into(), &3.into())
    );
    assert_eq!(
        (&rows[1]["Self Time (ns)"], &rows[1]["Total Time (ns)"], &rows[1]["Samples"]),
        (&5_000_000.into(), &10_000_000.into(), &2.into())
    );
    assert_eq!(rows[0]["Thread"], "Thread 1 \"main\"");
    assert_eq!(report.codes, ["samples-only"]);

    let report = Report::of(FOLDED);
    assert_eq!(report.column("cpu_samples", "Self"), [58, 7, 2, 0]);
    assert_eq!(report.column("cpu_samples", "Total"), [58, 7, 60, 60]);
    assert_eq!(report.codes, ["samples-only"]);
    assert!(counted(FOLDED).is_empty());
}

#[test]
fn ranges_of_a_cpu_are_a_profile_when_there_is_nothing_else() {
    let report = Report::of(SPEEDSCOPE_EVENTED);
    assert_eq!(report.column("cpu_ranges", "Range"), ["b", "a"]);
    assert_eq!(report.column("cpu_ranges", "Self Time (ns)"), [18_500, 1_500]);
    assert_eq!(report.column("cpu_ranges", "Total Time (ns)"), [18_500, 20_000]);
    assert_eq!(report.column("cpu_ranges", "Calls"), [2, 1]);
    assert_eq!(report.codes, ["left-open", "no-gpu-records"]);

    let report = Report::of(PYSPY_CHROME);
    assert_eq!(report.column("cpu_ranges", "Range"), ["inner", "outer"]);
    // Of two ranges with equal times, the one that began first is outside.
    assert_eq!(report.column("cpu_ranges", "Self Time (ns)"), [250_000, 0]);
    assert_eq!(report.codes, ["cut-off", "shortened-thread-ids", "no-gpu-records"]);
    assert!(report.text.contains("what py-spy sampled"), "{}", report.text);
}

#[test]
fn a_chrome_trace_of_anything_is_read() {
    let report = Report::of(CHROME);
    assert_eq!(report.column("cpu_ranges", "Range"), ["frame", "draw"]);
    assert_eq!(report.column("cpu_ranges", "Self Time (ns)"), [7_250, 2_250]);
    let mut codes = report.codes.clone();
    codes.sort();
    assert_eq!(codes, ["invalid-times", "left-open", "left-out", "no-gpu-records", "unread-rows"]);
    let rows = counted(CHROME);
    assert_eq!((rows["range"], rows["sample"], rows["thread"]), (6, 2, 1));
    // Asynchronous ranges need not nest, and are listed as such.
    let rows = view(CHROME, "nvtx_startend_sum");
    assert_eq!((rows.len(), &rows[0]["Total Time (ns)"]), (1, &3_000.into()));
    let array = CHROME.replace(r#"{"displayTimeUnit":"ns","traceEvents":"#, "").replace("]}", "");
    assert_eq!(Report::of(array.trim_end()).column("cpu_ranges", "Range"), ["frame", "draw"]);
}

#[test]
fn a_tensorflow_timeline_counts_each_record_once() {
    let report = Report::of(TENSORFLOW);
    let expected = [("MatMul", (1, 17_000)), ("[CUDA memcpy HtoD]", (1, 27_000))];
    assert_eq!(report.sums("gpu_summary"), BTreeMap::from(expected));
    assert_eq!(report.codes, ["operators-for-kernels"]);
    let rows = view(TENSORFLOW, "cuda_gpu_trace");
    assert_eq!(rows.iter().map(|row| row["Strm"].as_i64()).collect::<Vec<_>>(), [Some(21), Some(20)]);
    assert_eq!(counted(TENSORFLOW)["range"], 1);
}

#[test]
fn a_cprofile_dump_prints_the_table_of_pstats() {
    let folder = TempFolder::new("readers-prof");
    let path = folder.argument("x.prof", &cprofile());
    let answer = gpuprof(&["report", &path]);
    let expected = "         42 function calls (3 primitive calls) in 0.375 seconds

   Ordered by: internal time

   ncalls  tottime  percall  cumtime  percall filename:lineno(function)
     40/1    0.250    0.006    0.500    0.500 app.py:3(fact)
        2    0.125    0.062    0.125    0.062 {built-in method builtins.sum}


";
    assert_eq!(answer.stdout, expected);
    assert!(answer.stderr.contains("nothing of a GPU"), "{}", answer.stderr);
    let report = Report::of(cprofile());
    assert_eq!(report.column("cpu_functions", "Calls"), [40, 2]);
    assert_eq!(report.codes, ["functions-only"]);
    // Cut off anywhere, what was before is shown or the reason why there is nothing.
    let whole = cprofile();
    for length in 2..whole.len() {
        let path = folder.argument("cut.prof", &whole[..length]);
        let answer = gpuprof_in(Path::new("."), &["report", &path]);
        assert!(answer.status == 0 || answer.stderr.contains(&path), "{length}: {}", answer.stderr);
    }
}

#[test]
fn printed_tables_of_nsys_keep_calls_of_cuda_and_of_others_apart() {
    let report = Report::of(NSYS_PRINTED);
    let calls = [("cuMemAlloc_v2", (3, 2_700_000)), ("cudaMalloc", (3, 3_000_000))];
    assert_eq!(report.sums("imported_api_summary"), BTreeMap::from(calls));
    let kernels = [("scale(float *, int)", (2, 900_000)), ("void at::native::vecto…", (1, 100_000))];
    assert_eq!(report.sums("imported_gpu_summary"), BTreeMap::from(kernels));
    let of_system = [("ioctl", (1, 1_000_000)), ("poll", (12, 1_234_567_890))];
    assert_eq!(report.sums("imported_host_call_summary"), BTreeMap::from(of_system));
    assert_eq!(report.column("imported_api_summary", "Max (ns)"), [1_100_000, 900_000]);
    assert_eq!(report.column("imported_size_summary", "Total (bytes)"), [786_000]);
    let mut sizes = report.tables.iter().filter(|(name, _)| name == "imported_size_summary");
    let of_2020 = &sizes.next_back().expect("sizes").1[0];
    assert_eq!([&of_2020["Total (bytes)"], &of_2020["Count"], &of_2020["Min (bytes)"]], [1_049_088, 2, 512]);
    let mut host_calls = report.tables.iter().filter(|(name, _)| name == "imported_host_call_summary");
    assert_eq!(host_calls.next_back().expect("MPI's").1[0]["Name"], "MPI_Bcast");
    assert_eq!(report.codes, ["summary-only", "names-cut"]);
    // As CSV the tables have the same columns.
    let csv = "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n\
               90.0,900,3,300.0,300.0,300,300,0.0,poll\n10.0,100,1,100.0,100.0,100,100,0.0,cudaMalloc\n";
    let report = Report::of(csv);
    assert_eq!(report.sums("imported_api_summary"), BTreeMap::from([("cudaMalloc", (1, 100))]));
    assert_eq!(report.sums("imported_host_call_summary"), BTreeMap::from([("poll", (3, 900))]));
}

#[test]
fn sums_of_rocprof_have_extremes_only_where_it_printed_them() {
    let report = Report::of(ROCPROF_SUMS);
    assert_eq!(report.sums("imported_api_summary"), BTreeMap::from([("hipMemcpy", (3, 900_000_000))]));
    assert_eq!(report.sums("imported_gpu_summary"), BTreeMap::from([("scale(float*, int)", (2, 60_000_000))]));
    assert_eq!(report.column("imported_api_summary", "Min (ns)"), [&Value::Null]);
    assert_eq!(report.codes, ["summary-only"]);
    let folder = folder();
    let path = folder.argument("stats.csv", ROCPROF_SUMS.as_bytes());
    let text = gpuprof(&["report", "-q", &path]).stdout;
    assert!(text.contains("900.00ms         3  300.00ms         -         -  hipMemcpy"), "{text}");
    let csv = gpuprof(&["report", "-q", "--csv", &path]).stdout;
    assert!(csv.contains(",3,300.000000,,,\"hipMemcpy\""), "{csv}");
    let report = Report::of(ROCPROF_SUMS_3);
    assert_eq!(report.column("imported_api_summary", "Max (ns)"), [500]);
}

#[test]
fn kernels_that_rocprof_lists_are_records() {
    let report = Report::of(ROCPROF_KERNELS);
    assert_eq!(report.sums("gpu_summary"), BTreeMap::from([("scale(float*, int)", (2, 900))]));
    assert_eq!(report.codes, ["printed-trace"]);
    let folder = folder();
    let path = folder.argument("kernels.csv", ROCPROF_KERNELS.as_bytes());
    let columns = "SELECT device, stream, start_ns, duration_ns FROM kernel ORDER BY start_ns";
    let rows = gpuprof(&["query", "--format", "csv", &path, columns]).stdout;
    assert!(rows.ends_with("1,2,1000,400\n1,2,2000,500\n"), "{rows}");
}

#[test]
fn the_same_files_packed_and_under_any_name() {
    let folder = TempFolder::new("readers-packed");
    for (kind, bytes) in foreign_kinds() {
        let plain = folder.argument("plain.nsys-rep", &bytes);
        let packed = folder.argument("packed.txt", &common::build::gzip(&bytes));
        // Ranges alone are in nvprof's layout or in views.
        let [plain, packed] = [plain, packed].map(|path| gpuprof(&["report", "--csv", &path]).stdout);
        let [plain, packed] = [plain, packed].map(|text| text.replace("packed.txt", "plain.nsys-rep"));
        assert_eq!(plain, packed, "{kind}");
        assert!(!plain.trim().is_empty(), "{kind}");
    }
}

#[test]
fn records_and_sums_of_several_files_stand_apart() {
    let folder = TempFolder::new("readers-several");
    let summary = folder.argument("s.csv", NVPROF_SUMMARY_CSV.as_bytes());
    let trace = folder.argument("t.csv", NVPROF_GPU_CSV.as_bytes());
    let answer = gpuprof(&["report", &trace, &summary]);
    assert!(answer.stdout.contains("by nvprof:\n"), "{}", answer.stdout);
    assert_eq!(answer.stdout.matches(" GPU activities: ").count(), 2, "{}", answer.stdout);
}
