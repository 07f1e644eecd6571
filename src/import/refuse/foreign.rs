//! Profiles of other tools that are not read: AMD's, Triton's, PyTorch's other files, and nsys's exports that are not
//! SQLite. Each is known by words that only that tool writes, and each remedy is one that exists.

use super::super::{Head, SQLITE_MAGIC};
use super::{EXPORT, Refusal};

/// Databases; to be asked before databases of nobody known.
pub(super) static DATABASES: &[Refusal] = &[
    Refusal {
        is: |head| has_table(head, |table| table.starts_with("rocpd_")),
        what: "a rocpd database of AMD's rocprofv3, which gpuprof does not read",
        remedy: "convert it with `rocpd convert -i FILE --output-format pftrace` for ui.perfetto.dev, or `csv`",
    },
    Refusal {
        is: |head| {
            has_table(head, |table| table == "HIP" || table == "OPS") && has_table(head, |t| t != "StringIds")
        },
        what: "a database of AMD's rocprof (tables HIP, OPS, COPY), which gpuprof does not read",
        remedy: "open the .json file that rocprof writes beside it; gpuprof reads that",
    },
    Refusal {
        is: |head| {
            head.raw.starts_with(SQLITE_MAGIC)
                && head.path.file_name().is_some_and(|name| name.to_string_lossy().contains("dlprof_dldb"))
        },
        what: "a database of NVIDIA's DLProf, which holds its own sums and no timeline",
        remedy: "open the nsys_profile.sqlite that DLProf writes beside it",
    },
];

/// JSON without a list of trace events; to be asked before JSON of nobody known.
pub(super) static JSON: &[Refusal] = &[
    Refusal {
        is: |head| json(head) && has(head, b"\"rocprofiler-sdk-tool\""),
        what: "JSON of AMD's rocprofv3, which gpuprof does not read",
        remedy: "record it with `rocprofv3 --output-format pftrace` and open that at ui.perfetto.dev",
    },
    Refusal {
        is: |head| json(head) && has(head, b"\"children\"") && has(head, b"\"frame\"") && has(head, b"\"metrics\""),
        what: "a profile of Triton's Proton (hatchet), a tree of sums without a timeline",
        remedy: "open it with `proton-viewer`, or profile with proton.start(..., data=\"trace\") and open that trace",
    },
    Refusal {
        is: |head| json(head) && has(head, b"\"ctrl_deps\"") || json(head) && has(head, b"-chakra."),
        what: "an execution trace of PyTorch (Chakra), a graph of operators without work of a GPU",
        remedy: "open the trace that was recorded beside it by torch.profiler (export_chrome_trace)",
    },
    Refusal {
        is: |head| {
            let text = head.text.trim_ascii_start();
            text.starts_with(b"[[") && (has(head, b"\"PREEXISTING\"") || has(head, b"\"CREATE\""))
        },
        what: "a memory timeline of PyTorch (export_memory_timeline), JSON without trace events",
        remedy: "open the trace that the same profiler writes with export_chrome_trace",
    },
    Refusal {
        is: |head| first_line(head).is_some_and(|line| begins_type(line) || line.starts_with(b"{\"data\"")),
        what: "a JSON-lines export of Nsight Systems, which gpuprof does not read",
        remedy: EXPORT,
    },
    Refusal {
        is: |head| {
            first_line(head).is_some_and(|line| line.starts_with(b"{\"table\":") && has(head, b"\"origin_ns\":"))
        },
        what: "rows that `gpuprof export --format jsonl` wrote, which gpuprof does not read back",
        remedy: "open the trace they came from, or export it as csv, parquet or gpuprof, which it reads",
    },
    Refusal {
        is: |head| {
            let of_one = |line: &[u8]| line.windows(5).any(|part| part == b"\"ph\":") && !has(head, b"traceEvents");
            first_line(head).is_some_and(|line| line.len() < head.text.trim_ascii().len() && of_one(line))
        },
        what: "events of a Chrome trace, one a line, without the brackets and commas of a list",
        remedy: "make a list of them, e.g. with `jq -s . FILE > trace.json`",
    },
    Refusal {
        is: |head| json(head) && nested_events(&head.text),
        what: "JSON whose `traceEvents` is an object and not a list of events",
        remedy: "take the inner trace out, e.g. with `jq .traceEvents FILE > trace.json`",
    },
];

/// The first line, if it is an object of JSON and nothing else.
fn first_line(head: &Head) -> Option<&[u8]> {
    let line = head.text.split(|&byte| byte == b'\n').next().unwrap_or_default().trim_ascii();
    (line.starts_with(b"{") && line.ends_with(b"}")).then_some(line)
}

/// Text and folders of tables.
pub(super) static TABLES: &[Refusal] = &[
    Refusal {
        is: |head| head.text.starts_with(b"table\tname\tstart_ns\t"),
        what: "rows that `gpuprof export --format tsv` wrote, which gpuprof does not read back",
        remedy: "open the trace they came from, or export it as csv, parquet or gpuprof, which it reads",
    },
    Refusal {
        is: |head| head.text.trim_ascii_start().starts_with(b",") && has(head, b"\"ph\""),
        what: "a piece of a Chrome trace without the bracket that opens it; the tool that wrote it did not end well",
        remedy: "record it again, or put `[` before the text and take the first comma away",
    },
    Refusal {
        is: |head| {
            let name = head.path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let is_table = name.starts_with("CUPTI_ACTIVITY_KIND_") || name == "StringIds" || name == "NVTX_EVENTS";
            is_table && (head.raw.starts_with(b"PAR1") || head.raw.starts_with(b"ARROW1"))
        },
        what: "a table of Nsight Systems' parquetdir or arrowdir export, which gpuprof does not read",
        remedy: "run `nsys export --type sqlite` on the report and open what it writes",
    },
    Refusal {
        is: |head| head.raw.starts_with(b"\x89HDF\r\n"),
        what: "an HDF5 file; Nsight Systems exports reports as such, which gpuprof does not read",
        remedy: "run `nsys export --type sqlite` on the report and open what it writes",
    },
    Refusal {
        is: |head| {
            has(head, b"_sum):\n") && has(head, b"\n ** ")
                || has(head, b"CUDA API Statistics") && has(head, b"Time(%)")
                || has(head, b"CUDA Kernel Statistics") && has(head, b"Time(%)")
        },
        what: "printed tables of `nsys stats` or `nsys profile --stats=true` without the lines that say where columns begin",
        remedy: "open the .sqlite that nsys left beside the report, or print with `nsys stats --format csv`",
    },
];

fn json(head: &Head) -> bool {
    matches!(head.text.trim_ascii_start().first(), Some(b'{' | b'['))
}

fn has(head: &Head, word: &[u8]) -> bool {
    contains(&head.text, word)
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

fn has_table(head: &Head, is: impl Fn(&str) -> bool) -> bool {
    head.sqlite_tables().iter().any(|table| is(table))
}

/// Whether a line of JSON begins with nsys's number of an event type.
fn begins_type(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"{\"Type\"") else { return false };
    let rest = rest.trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start);
    rest.and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit)
}

/// Whether the first `traceEvents` of a text is an object.
fn nested_events(text: &[u8]) -> bool {
    let key = b"\"traceEvents\"";
    let Some(at) = text.windows(key.len()).position(|part| part == key) else { return false };
    let rest = text[at + key.len()..].trim_ascii_start().strip_prefix(b":").map(<[u8]>::trim_ascii_start);
    rest.is_some_and(|rest| rest.starts_with(b"{"))
}
