//! The law of cut files: every front of a file is refused, or said to be partial, or shows the same values as the whole
//! file for the rows that it still shows. Never another value without a word.

use super::testing::TempFile;
use super::{Head, choose};
use crate::trace::names::{Names, Shapes};
use crate::trace::sink::{Need, Sink, SinkProcess};
use crate::trace::summaries::Content;
use std::collections::BTreeMap;
use trace_format::columns::{Batch, Values};

/// What a file shows: rows and sums as text, each with how often it is there, and notes.
struct Shown {
    rows: BTreeMap<String, usize>,
    notes: Vec<&'static str>,
}

/// Reads the bytes as any file is read; `None` if they are refused.
fn shown(name: &str, bytes: &[u8]) -> Option<Shown> {
    shown_of(&TempFile::new(name, bytes))
}

fn shown_of(file: &TempFile) -> Option<Shown> {
    let head = Head::read(&file.path).expect("a file");
    let importer = choose(&head).ok()?;
    let (mut names, mut shapes) = (Names::default(), Shapes::default());
    let mut sink = Sink::new(&mut names, &mut shapes);
    importer.read(&file.path, &Need::all(), &mut sink).ok()?;
    sink.finish();
    let (processes, summaries) = (std::mem::take(&mut sink.processes), std::mem::take(&mut sink.summaries));
    let notes = sink.notes.iter().map(|note| note.code).collect();
    let mut rows = BTreeMap::new();
    let mut add = |row: String| *rows.entry(row).or_default() += 1;
    for batch in processes.into_iter().flat_map(SinkProcess::into_batches) {
        (0..batch.rows).for_each(|row| add(text(&batch, row, &names, &shapes)));
    }
    for summary in summaries {
        match summary.content {
            Content::Durations(section, rows) => rows.iter().for_each(|row| add(format!("{section:?} {row:?}"))),
            Content::Sizes(rows) => rows.iter().for_each(|row| add(format!("{row:?}"))),
            Content::Samples(profile) => profile.rows.iter().for_each(|row| add(format!("{row:?}"))),
            Content::Functions(rows) => rows.iter().for_each(|row| add(format!("{row:?}"))),
        }
    }
    Some(Shown { rows, notes })
}

/// A row with its ids spelled out: ids differ from file to file.
fn text(batch: &Batch, row: usize, names: &Names, shapes: &Shapes) -> String {
    let cell = |(spec, column): (&trace_format::schema::ColumnSpec, &trace_format::columns::Column)| {
        let value = match &column.values {
            _ if column.is_null(row) => "null".to_owned(),
            Values::U32(v) if spec.unit.is_name() => names.text(v[row]).into_owned(),
            Values::U32(v) if spec.unit.is_shape() => shapes.get(v[row]).map_or(String::new(), |shape| {
                format!("{} {:?} {:?}", names.text(shape.name_id), shape.grid_x, shape.registers)
            }),
            Values::U32(v) => v[row].to_string(),
            Values::U64(v) => v[row].to_string(),
            Values::I64(v) => v[row].to_string(),
            Values::F64(v) => v[row].to_string(),
            Values::Bool(v) => v[row].to_string(),
            Values::Bytes(v) => format!("{:?}", v.get(row)),
        };
        format!("{}={value}", spec.name)
    };
    let cells: Vec<String> = batch.table.columns.iter().zip(&batch.columns).map(cell).collect();
    format!("{} {}", batch.table.name, cells.join(" "))
}

/// Notes that say that something may be missing or wrong.
const PARTIAL: [&str; 8] = [
    "incomplete-line",
    "incomplete-file",
    "cut-off-file",
    "cut-off",
    "damaged",
    "left-out",
    "unreadable-rows",
    "invalid-times",
];

/// Checks all fronts of a file; returns how many were read without a word about what is missing.
fn check(name: &str, bytes: &[u8]) -> usize {
    let whole = shown(name, bytes).unwrap_or_else(|| panic!("{name} is read"));
    assert!(!whole.rows.is_empty(), "{name} shows nothing");
    let mut silent = 0;
    // One file that becomes shorter: making a file for each front is most of the time that this would take.
    let file = TempFile::new(name, bytes);
    for length in (0..bytes.len()).rev() {
        file.cut(length as u64);
        let Some(part) = shown_of(&file) else { continue };
        if part.notes.iter().any(|code| PARTIAL.contains(code) && !whole.notes.contains(code)) {
            continue;
        }
        silent += 1;
        for (row, count) in &part.rows {
            let known = whole.rows.get(row).copied().unwrap_or(0);
            assert!(*count <= known, "{name} cut at byte {length} shows without a word: {row}");
        }
    }
    silent
}

const NVPROF_TEXT: &str = "==531== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:   75.00%  3.0000ms         3  1.0000ms  999.99us  1.0001ms  scale(float*, int)
                   25.00%  1.0000ms         2  500.00us  400.00us  600.00us  [CUDA memcpy HtoD]
      API calls:  100.00%  8.0000ms         1  8.0000ms  8.0000ms  8.0000ms  cudaMalloc
";

const NVPROF_TRACE: &str = "==531== Profiling result:
   Start  Duration            Grid Size      Block Size     Regs*    SSMem*    DSMem*      Size  Throughput           Device   Context    Stream  Name
10.000ms  400.00us                    -               -         -         -         -  4.0000MB  9.7656GB/s  GeForce GTX (0)         1         7  [CUDA memcpy HtoD]
11.000ms  900.00us             (64 1 1)       (256 1 1)        16        0B        0B         -           -  GeForce GTX (0)         1         7  scale(float*, int) [105]

Regs: Number of registers used per CUDA thread. This number includes registers used internally by the CUDA driver and/or tools and can be more than what the compiler shows.
SSMem: Static shared memory allocated per CUDA block.
DSMem: Dynamic shared memory allocated per CUDA block.
";

const NVPROF_CSV: &str = "\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Block Y\",\"Block Z\",\"Registers Per Thread\",\"Static SMem\",\"Dynamic SMem\",\"Size\",\"Throughput\",\"Device\",\"Context\",\"Stream\",\"Name\",\"Correlation_ID\"
ms,us,,,,,,,,KB,KB,MB,GB/s,,,,,
10.000000,400.000000,,,,,,,,,,4.000000,9.765625,\"GeForce GTX 1060 (0)\",\"1\",\"7\",\"[CUDA memcpy HtoD]\",104
11.000000,900.000000,64,1,1,256,1,1,16,0.000000,0.000000,,,\"GeForce GTX 1060 (0)\",\"1\",\"7\",\"scale(float*, int)\",105
";

const NSYS_STATS: &str = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.0,3000000,3,1000000.0,1000000.0,999990,1000010,10.0,\"scale(float *, int)\"
25.0,1000000,2,500000.0,500000.0,400000,600000,100.0,shift
";

const NSYS_TRACE: &str = "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MBps),SrcMemKd,DstMemKd,Device,Ctx,Strm,Name
1000,8481,17,64,1,1,256,1,1,16,0.000,0.000,,,,,Tesla T4 (0),1,7,\"f(int *)
const\"
9990,1200,18,,,,,,,,,,4.194,1200.5,Pageable,Device,Tesla T4 (0),1,7,[CUDA memcpy Host-to-Device]
";

const FUNCTION_LOG: &str = "starting
{\"function\": \"plan\", \"execution_time\": 0.125, \"timestamp\": 1640995200.5}
INFO {\"function\": \"run\", \"execution_time\": 1.25, \"timestamp\": 1640995202.75}
";

const OWN_CSV: &str = "table,name,start_ns,duration_ns,end_ns,process,pid,clock,device,context,stream,correlation,raw_name,domain,row,is_last\r
kernel,scale,1000,8481,9481,0,77,unix,0,1,7,17,,,1,0\r
api,cudaMalloc,500,120,620,0,77,unix,,,,3,cudaMalloc,0,2,0\r
kernel,\"f(a, \"\"b\"\")\",9990,1200,11190,0,77,unix,0,1,7,18,,,3,1\r
";

/// As older versions wrote it: the last row, and no other, has the number of rows.
const OLD_CSV: &str = "table,name,start_ns,duration_ns,end_ns,process,pid,clock,device,context,stream,correlation,raw_name,domain,file_rows\r
kernel,scale,1000,8481,9481,0,77,unix,0,1,7,17,,,\r
api,cudaMalloc,500,120,620,0,77,unix,,,,3,cudaMalloc,0,\r
kernel,\"f(a, \"\"b\"\")\",9990,1200,11190,0,77,unix,0,1,7,18,,,3\r
";

const KINETO: &str = r#"{"schemaVersion": 1, "traceEvents": [
 {"ph": "X", "cat": "kernel", "name": "k0", "pid": 0, "tid": 7, "ts": 100.5, "dur": 10.25,
  "args": {"device": 0, "context": 1, "stream": 7, "correlation": 10}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 90, "ts": 90, "dur": 12,
  "args": {"correlation": 10}}
]}
"#;

const CHROME: &str = r#"[{"ph": "X", "name": "step", "pid": 1, "tid": 12, "ts": 1000, "dur": 250},
 {"ph": "X", "name": "load", "pid": 1, "tid": 12, "ts": 1100, "dur": 125}]
"#;

#[test]
fn no_cut_text_shows_another_value_without_a_word() {
    for (name, text) in [
        ("summary.txt", NVPROF_TEXT),
        ("trace.txt", NVPROF_TRACE),
        ("trace.csv", NVPROF_CSV),
        ("sums.csv", NSYS_STATS),
        ("gpu_trace.csv", NSYS_TRACE),
        ("stacks.txt", "a;gemm 40\nb;relu 105\nload 5\n"),
        ("functions.log", FUNCTION_LOG),
        ("kineto.json", KINETO),
        ("chrome.json", CHROME),
    ] {
        check(name, text.as_bytes());
        check(name, text.replace("\r\n", "\n").replace('\n', "\r\n").as_bytes());
    }
}

#[test]
fn text_of_windows_is_cut_no_differently() {
    for text in [NVPROF_CSV, NSYS_STATS, "a;gemm 40\nb;relu 105\n", KINETO] {
        let units: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        check("a.txt", &[&b"\xff\xfe"[..], &units].concat());
        check("a.txt", &[&b"\xef\xbb\xbf"[..], text.as_bytes()].concat());
    }
}

#[test]
fn a_listing_without_its_explanations_is_incomplete() {
    let rows = NVPROF_TRACE.split("\n\n").next().expect("rows");
    for cut in [rows.len(), rows.len() + 1, rows.rfind("\n").expect("lines") + 1] {
        assert!(
            shown("trace.txt", &NVPROF_TRACE.as_bytes()[..cut])
                .expect("it is read")
                .notes
                .contains(&"incomplete-file")
        );
    }
    assert!(!shown("trace.txt", NVPROF_TRACE.as_bytes()).expect("it is read").notes.contains(&"incomplete-file"));
}

#[test]
fn summaries_show_by_their_shares_that_rows_are_missing() {
    // Of each cut that takes a row: those that are not noticed take whole tables.
    let whole_tables = |text: &str| text.lines().filter(|line| line.contains("Name")).count();
    let api = "==9== API calls:\nTime(%)      Time     Calls       Avg       Min       Max  Name\n 60.00%  6.000ms         1  6.000ms  6.000ms  6.000ms  cudaMalloc\n 40.00%  4.000ms         1  4.000ms  4.000ms  4.000ms  cudaFree\n";
    for text in
        [NVPROF_TEXT.to_owned(), NSYS_STATS.to_owned(), format!("==9== Profiling result:\n{}{api}", &api[17..])]
    {
        let cuts = text.match_indices('\n').map(|(at, _)| at + 1).filter(|&at| at < text.len());
        let silent = cuts.filter_map(|at| shown("sums.txt", &text.as_bytes()[..at]));
        let silent = silent.filter(|part| !part.notes.contains(&"incomplete-file")).count();
        // Between two sections of a table, and around a table.
        assert!(silent <= 2 * whole_tables(&text), "{silent} of {text}");
        assert!(
            !shown("sums.txt", text.as_bytes()).expect("it is read").notes.contains(&"incomplete-file"),
            "{text}"
        );
    }
    let without = NVPROF_TEXT
        .lines()
        .filter(|line| !line.contains("HtoD"))
        .map(|line| format!("{line}\n"))
        .collect::<String>();
    assert!(shown("sums.txt", without.as_bytes()).expect("it is read").notes.contains(&"incomplete-file"));
}

#[test]
fn every_cut_of_our_own_csv_is_noticed() {
    // Two cuts take nothing but the two bytes of the last line end.
    assert_eq!(check("timeline.csv", OWN_CSV.as_bytes()), 2);
    assert_eq!(check("timeline.csv", OLD_CSV.as_bytes()), 2);
    let old: String = OLD_CSV
        .lines()
        .map(|line| line.rsplit_once(',').map_or("", |(rest, _)| rest).to_owned() + "\r\n")
        .collect();
    let lines = old.lines().count();
    // What older versions wrote does not say how many rows there are: cuts between rows remain.
    assert!(check("timeline.csv", old.as_bytes()) <= 2 * lines, "{old}");
}

#[test]
fn rows_of_our_own_csv_that_are_missing_in_between_are_noticed() {
    for text in [OWN_CSV, OLD_CSV] {
        let lines: Vec<&str> = text.lines().collect();
        let without = [lines[0], lines[1], lines[3], ""].join("\r\n");
        let shown = shown("timeline.csv", without.as_bytes()).expect("it is read");
        assert_eq!(shown.notes, ["cut-off-file"]);
    }
}
