//! Every report about every file of the shared collection is the same after a round trip.

use super::FORMATS;
use crate::common::{TempFolder, gpuprof_in, shared};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is compared of each file: to the last nanosecond first, then as nvprof rounded it.
const REPORTS: &[&[&str]] = &[
    // The insights name the file.
    &["--no-insights"],
    &["--csv", "-u", "ns"],
    &["--print-gpu-trace", "--csv", "-u", "ns"],
    &["--print-api-trace", "--csv", "-u", "ns"],
    // Times as the trace counted them.
    &["--view", "cuda_gpu_trace", "--format", "csv"],
    &["--csv"],
    &["--print-gpu-trace"],
    &["--print-api-trace"],
];

/// Of larger files, so many reports: they take seconds to open.
const REPORTS_OF_LARGE_FILES: usize = 5;

/// What a large file is.
const LARGE_BYTES: u64 = 300_000;

/// Files that a format cannot hold as they are: format, part of the path, reports by their index, and why.
const KNOWN: &[(&str, &str, &[usize], &str)] = &[
    ("nvprof", "mi250_rocm62", &[0, 1, 3, 5, 7], "HIP's functions have no numbers of CUPTI's"),
    ("nvprof", "vllm_decode_graph_mi300", &[0, 1, 3, 5, 7], "HIP's functions have no numbers of CUPTI's"),
];

/// Status and what was printed.
fn reports(path: &str, how_many: usize) -> Vec<(i32, String)> {
    let one = |options: &&[&str]| {
        let answer = gpuprof_in(Path::new("."), &[&["report"], *options, &[path]].concat());
        (answer.status, answer.stdout)
    };
    REPORTS[..how_many].iter().map(one).collect()
}

/// All files of the collection that gpuprof opens.
fn readable(data: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in ["nsys", "nvprof", "torch", "tf", "python", "edge"] {
        let entries = std::fs::read_dir(data.join(folder)).into_iter().flatten().flatten();
        files.extend(
            entries.map(|entry| entry.path()).filter(|path| !path.to_string_lossy().ends_with(".truth.json")),
        );
    }
    files.sort();
    // Databases hold what GPUs did and who asked for it: profiles of the CPU and printed summaries are none of it.
    let opens = |path: &PathBuf| {
        let info = gpuprof_in(Path::new("."), &["info", "--format", "json", path.to_str().unwrap()]).stdout;
        let info: Value = serde_json::from_str(&info).unwrap_or_default();
        let tables = info["tables"].as_array().into_iter().flatten().filter(|table| table["name"] == "tables");
        let mut rows = tables.flat_map(|table| table["rows"].as_array().into_iter().flatten());
        rows.any(|row| ["kernel", "memcpy", "memset", "api"].iter().any(|name| row["Table"] == *name))
    };
    files.into_iter().filter(opens).collect()
}

/// One file there and back; how many reports were the same.
fn round_trip(format: &str, path: &Path, before: &[(i32, String)], folder: &Path) -> usize {
    let name = path.file_name().unwrap().to_str().unwrap();
    // Without the ending of a file: of several processes nvprof's are a folder.
    let out = folder.join(format!("{name}-{format}"));
    let (from, to) = (path.to_str().unwrap(), out.to_str().unwrap());
    let answer = gpuprof_in(Path::new("."), &["export", "--quiet", "--format", format, from, "-o", to]);
    assert_eq!(answer.status, 0, "{format} {name}: {}", answer.stderr);
    let after = reports(to, before.len());
    let mut same = 0;
    for (i, (before, after)) in before.iter().zip(&after).enumerate() {
        // nvprof's databases have one name of a kernel, the mangled one; nsys's own demangled text is not kept there.
        let drops_names = format == "nvprof" && REPORTS[i].contains(&"cuda_gpu_trace");
        let [before, after] = [before, after].map(|(status, text)| match drops_names {
            true => (*status, without_names(text)),
            false => (*status, text.clone()),
        });
        let known =
            KNOWN.iter().any(|(f, part, which, _)| *f == format && name.contains(part) && which.contains(&i));
        if known {
            assert_ne!(before, after, "{format} {name} {:?}: no difference any more", REPORTS[i]);
            continue;
        }
        assert!(before == after, "{format} {name} {:?}:\n{}", REPORTS[i], first_difference(&before.1, &after.1));
        same += 1;
    }
    // Several processes are a folder of nvprof's files.
    let removed = if out.is_dir() { std::fs::remove_dir_all(&out) } else { std::fs::remove_file(&out) };
    removed.unwrap();
    same
}

/// A `cuda_gpu_trace` in CSV without its last column.
fn without_names(text: &str) -> String {
    let columns = text.lines().next().map_or(0, |heading| heading.split(',').count());
    let row = |line: &str| line.split(',').take(columns.saturating_sub(1)).collect::<Vec<_>>().join(",") + "\n";
    text.lines().map(row).collect()
}

pub(super) fn first_difference(before: &str, after: &str) -> String {
    let differs = before.lines().zip(after.lines()).find(|(a, b)| a != b);
    let lines = (before.lines().count(), after.lines().count());
    match differs {
        Some((a, b)) => format!("was {a}\nis  {b}\n({lines:?} lines)"),
        None => format!("{lines:?} lines"),
    }
}

#[test]
fn every_report_of_every_shared_file_is_the_same_after_a_round_trip() {
    let Some(shared) = shared("every_report_of_every_shared_file_is_the_same_after_a_round_trip") else { return };
    let folder = TempFolder::new("sqlite-shared");
    let files = readable(&shared.join("data"));
    assert!(files.len() >= 20, "{files:?}");
    let (next, same) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let large = path.metadata().is_ok_and(|metadata| metadata.len() > LARGE_BYTES);
                    let how_many = if large { REPORTS_OF_LARGE_FILES } else { REPORTS.len() };
                    let before = reports(path.to_str().unwrap(), how_many);
                    for format in FORMATS {
                        same.fetch_add(round_trip(format, path, &before, folder.path()), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let least = files.len() * FORMATS.len() * REPORTS_OF_LARGE_FILES * 9 / 10;
    let same = same.into_inner();
    assert!(same >= least, "{same} reports were compared and are the same, of at least {least}");
    eprintln!("{} files, {same} reports the same", files.len());
}
