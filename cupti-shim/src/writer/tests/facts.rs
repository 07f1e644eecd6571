//! What other parts of the process know, in the closing frame and in notes.

use serde_json::json;
use trace_format::own_cost::{OwnCost, OwnThread};
use trace_format::tables::{FrameRow, LaunchStackRow, NoteRow, StackRow};

use super::super::recorder::Recorder;
use super::super::sources::Sources;
use super::harness::*;
use crate::nvtx::CallCounts;
use crate::python::{FrameDef, Launch, StackDef};
use crate::strides::Strides;

const SOURCES: Sources = Sources {
    event_counts: || CallCounts { pops_without_push: 3, untracked: 0, strange_handles: 4 },
    drain_launches: |launch, frame, stack| {
        frame(1, FrameDef { name: 7, file: 0, line: 12 });
        stack(1, StackDef { parent: 0, frame: 1 });
        launch(Launch { correlation: 55, stack: 1 });
    },
    skipped_launches: || 6,
    launch_facts: || json!({"kept": 1}),
    own_cost: |elapsed_ns| OwnCost { elapsed_ns: elapsed_ns.unsigned_abs(), cpu_ns: vec![(OwnThread::Writer, 21)] },
    ..Sources::NONE
};

#[test]
fn the_closing_frame_says_what_the_rest_of_the_process_counted() {
    let disk = Disk::default();
    let shared = shared(4, true);
    let trace = whole(&disk, Default::default());
    let mut recorder =
        Recorder::new(shared, trace, limits(), Strides::newest(), NotMultiples(0), SOURCES, Box::new(|_, _| None));
    recorder.begin(serde_json::Value::Null, None, 1_000);
    close(shared, &mut recorder, 5_000);
    let read = Read::disk(&disk);
    let totals = read.totals();
    assert_eq!(totals["nvtx"]["pops_without_push"], 3);
    assert_eq!(totals["nvtx"]["strange_handles"], 4);
    assert_eq!(totals["launch_stacks"], json!({"kept": 1}));
    assert_eq!(totals["own_cost"], json!({"elapsed_ns": 4_000, "cpu_ns": {"writer": 21}}));
    let strings = read.strings();
    let notes: Vec<&str> = read.rows::<NoteRow>().iter().map(|note| strings[&note.text_id].as_str()).collect();
    assert_eq!(notes, ["6 launches have no Python stack: taking it would have cost more than 2 %"]);
    assert!(read.rows::<LaunchStackRow>().iter().all(|row| (row.correlation, row.stack_id) == (55, 1)));
    assert!(read.rows::<FrameRow>().iter().all(|row| (row.id, row.name_id, row.line) == (1, 7, Some(12))));
    assert!(read.rows::<StackRow>().iter().all(|row| (row.id, row.parent_id, row.frame_id) == (1, None, 1)));
    assert!(!read.rows::<LaunchStackRow>().is_empty());
}
