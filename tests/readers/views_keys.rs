//! Rows of views are told apart by the columns that a table calls its key: no two rows have the same values there. Programs
//! compare rows of two answers by them.

#![allow(clippy::panic)] // A test may fail in its helpers too.

use crate::common::build::{Story, labelled, native};
use crate::common::everything::everything;
use crate::common::{TempFolder, shared};
use gpuprof::analysis::labels::Labels;
use gpuprof::demangle::Demangling;
use gpuprof::render::table::Table;
use gpuprof::report::{Context, VIEWS};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::{Filter, Selection};
use gpuprof::trace::sink::Need;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// Views whose rows are single records, or stretches of time between records: two of them can be equal in everything.
const LISTS: &[&str] = &[
    "cuda_gpu_trace",
    "cuda_api_trace",
    "cuda_kern_exec_trace",
    "cuda_api_sync",
    "cuda_memcpy_async",
    "cuda_memcpy_sync",
    "cuda_memset_sync",
    "gpu_gaps",
    "gpu_time_util",
    "gpu_hidden_copies",
    "gpu_coalescable",
];

/// A view that has one row at most.
const ONE_ROW: &str = "um_total_sum";

/// Whether each process has a pid of its own: without, columns of pids tell nothing.
fn pids_differ(frames: &Frames) -> bool {
    let pids: Vec<Option<u32>> = frames.processes.iter().map(|process| process.info.pid).collect();
    let different: HashSet<&Option<u32>> = pids.iter().collect();
    different.len() == pids.len() && (pids.len() == 1 || !pids.contains(&None))
}

/// Values of the key that several rows have.
fn repeated(table: &Table) -> Vec<String> {
    let place = |name: &&str| {
        let found = table.headings.iter().position(|heading| heading.name == *name);
        found.unwrap_or_else(|| panic!("{}: no column is called {name}", table.name))
    };
    let places: Vec<usize> = table.key.iter().map(place).collect();
    let (mut seen, mut repeated) = (HashSet::new(), Vec::new());
    for row in &table.rows {
        let key = places.iter().map(|place| format!("{:?}", row[*place])).collect::<Vec<_>>().join(", ");
        if !seen.insert(key.clone()) {
            repeated.push(key);
        }
    }
    repeated
}

/// Adds to `rows` how many rows each view has that were told apart by its key.
fn check(paths: &[PathBuf], rows: &mut BTreeMap<&'static str, usize>) {
    let Ok(frames) = Frames::open(paths, &Need::all()) else { return };
    let labels = Labels::new(&frames, Demangling::On);
    let filter = Filter::resolve(Selection::default(), &frames, |kernel| labels.name_of(kernel).to_owned());
    let filter = filter.expect("a filter");
    let pids_differ = pids_differ(&frames);
    for view in VIEWS {
        let context = Context { frames: &frames, labels: &labels, filter: &filter, arguments: Vec::new() };
        // What is wrong with a file is the matter of other tests.
        let Ok(table) = view.table(&context) else { continue };
        assert_eq!(table.key.is_empty(), LISTS.contains(&table.name) || table.name == ONE_ROW, "{}", table.name);
        if table.key.is_empty() || (table.key.contains(&"PID") && !pids_differ) {
            continue;
        }
        let repeated = repeated(&table);
        assert!(repeated.is_empty(), "{paths:?}: {}: several rows have {repeated:#?}", table.name);
        *rows.entry(table.name).or_default() += table.rows.len();
    }
}

#[test]
fn rows_of_traces_made_here_are_told_apart_by_their_keys() {
    let folder = TempFolder::new("views-keys");
    let mut rows = BTreeMap::new();
    check(&[folder.file("story.gpuprof", &native(&Story::sample(200).with_ranges()))], &mut rows);
    // Every table, of two processes.
    let everything = [11, 12].map(|pid| {
        folder.file(&format!("everything{pid}.gpuprof"), &everything(pid, Some(1_700_000_000_000_000_000), 1_000))
    });
    check(&everything, &mut rows);
    for (number, case) in labelled().into_iter().enumerate() {
        check(&[folder.file(&format!("{number}.gpuprof"), &case.player.native())], &mut rows);
    }
    for view in
        ["cuda_gpu_kern_sum", "cuda_kern_exec_sum", "nvtx_kern_sum", "steps_sum", "gpu_gap_causes", "insights"]
    {
        assert!(rows.get(view).is_some_and(|rows| *rows > 1), "{view}: {rows:?}");
    }
}

#[test]
fn rows_of_the_collection_are_told_apart_by_their_keys() {
    let Some(shared) = shared("rows_of_the_collection_are_told_apart_by_their_keys") else { return };
    let mut rows = BTreeMap::new();
    for folder in ["nsys", "nvprof", "torch", "tf", "python", "edge", "reports"] {
        for path in files(&shared.join("data").join(folder)) {
            check(&[path], &mut rows);
        }
    }
    let without: Vec<&str> = VIEWS
        .iter()
        .map(|view| view.name())
        .filter(|name| !LISTS.contains(name) && *name != ONE_ROW && rows.get(name).is_none_or(|rows| *rows < 2))
        .collect();
    // What these are about is in no file of the collection, or once.
    let rare = ["functions", "mpi_event_sum", "openmp_sum", "cuda_graph_replays", "cuda_mem_alloc_sum"];
    assert_eq!(without, rare, "{rows:?}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of the collection");
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    found.retain(|path| path.is_file());
    found.sort();
    found
}
