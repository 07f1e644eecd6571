//! Timelines: what happened when, as a page for a browser.
//!
//! 1. [`model`] reads the records of the open traces into columns, one store for each kind, sorted by start, with
//!    names and fields as they are shown (`words`, [`names`]). Calls and GPU work are joined (`links`).
//! 2. [`tree`] spreads them over nvvp's rows ([`crate::lines::page`]). A row is a list of record numbers, because a kernel
//!    is in three of them.
//! 3. Each row gets lanes ([`crate::lines::lanes`]) and a pyramid of bins ([`levels`]), headings get that of everything
//!    below them.
//! 4. `records`, [`levels`] and `counters` write tiles. A page has all of them inside (`pack`, [`assemble`]), a
//!    served page asks for them ([`serve`]). Pages decode and draw, and sum nothing up by themselves.

pub(crate) mod assemble;
pub(crate) mod column;
mod counters;
pub mod field;
mod find;
mod insights;
pub(crate) mod levels;
mod links;
mod meta;
pub(crate) mod model;
pub(crate) mod names;
mod names_and_fields;
mod pack;
pub mod picture;
mod read;
mod records;
pub(crate) mod rows;
mod samples;
pub(crate) mod serve;
mod stacks;
pub(crate) mod tree;
mod varint;

pub use links::Gap;

use crate::analysis::labels::Labels;
use crate::analysis::partial;
use crate::analysis::system;
use crate::error::{Error, Result};
use crate::numbers::counted;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use hashbrown::HashMap;
use levels::{Bin, Scale, Spans, Union};
use model::Model;
use rayon::prelude::*;
use rows::Row;
use std::collections::BTreeMap;
use trace_format::tables;

/// Rows that are prepared side by side. Their bins are all in memory at the same time.
const ROWS_AT_A_TIME: usize = 16;

/// A timeline, ready to be shown.
pub struct Timeline {
    /// The records.
    pub model: Model,
    /// The rows, in the order in which they are shown.
    pub rows: Vec<Row>,
    /// How time is cut into bins.
    pub scale: Scale,
    /// What the page is called.
    pub title: String,
    /// What it was made from.
    pub origin: String,
    /// What is partial or remarkable.
    pub notes: Vec<String>,
    /// The longest gaps of any device.
    pub gaps: Vec<Gap>,
    /// The longest kernels: row and place.
    pub longest: Vec<(usize, u64)>,
    /// What `report` finds in the trace, as the page gets it.
    insights: serde_json::Value,
    /// Which rank waited when, as the page gets it.
    waits: serde_json::Value,
    /// Whether times count from 1970.
    has_epoch: bool,
    work: HashMap<(u32, u32, u32, (u32, u32)), usize>,
    calls: HashMap<(u32, u32, u32), usize>,
}

/// What has to be read for a timeline of one trace or of several.
pub fn need(several: bool) -> Need {
    let tables = [
        &tables::KERNEL,
        &tables::MEMCPY,
        &tables::MEMSET,
        &tables::GRAPH,
        &tables::API,
        &tables::HOST_CALL,
        &tables::RANGE,
        &tables::OPENACC,
        &tables::OPENMP,
        &tables::OVERHEAD,
        &tables::SYNC,
        &tables::UVM,
        &tables::MEMORY,
        &tables::SAMPLE,
        &tables::CPU_SAMPLE,
        &tables::FRAME,
        &tables::STACK,
        // For the findings: when the recording was off, and what was lost.
        &tables::CAPTURE,
        &tables::LOSS,
    ];
    let mut need = Need { operators: true, ..Need::full(&tables) };
    if several {
        // PyTorch names the communicators of ranks there.
        need.add(&Need::full(&[&tables::DETAILS]));
    }
    need
}

impl Timeline {
    /// The timeline of all records that pass.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read, or if there is nothing to show.
    pub fn build(labels: &Labels, filter: &Filter) -> Result<Timeline> {
        let frames = labels.frames();
        let mut model = Model::read(labels, filter)?;
        if model.records() == 0 {
            return Err(Error::nothing(nothing_text(frames, filter, model.undrawn)));
        }
        model.link();
        let mut memory = counters::Memory::read(frames, filter)?;
        let series = system::series(frames, filter)?;
        let places = crate::lines::page_names::Places::read(labels)?;
        let mut tree = tree::Tree::build(&model, &places, &memory);
        let sampled = samples::add_rows(&mut tree, &series, &places);
        let busiest = tree.rows.iter().map(|row| row.members.len() as u64).max().unwrap_or(0);
        let scale = Scale::new(model.duration_ns, busiest);
        finish_rows(&mut tree.rows, &model, scale);
        counters::fill(&mut tree.rows, &tree.devices, &model, &mut memory, scale);
        samples::fill(&mut tree.rows, &sampled, model.start_ns, scale);
        let mut notes = frames.all_notes();
        notes.extend(partial::notes(frames, filter, &Need::totals(&[]))?);
        let mut notes: Vec<String> = notes.into_iter().map(|note| note.text).collect();
        if model.undrawn > 0 {
            let (have, they) = if model.undrawn == 1 { ("has", "it is") } else { ("have", "they are") };
            // Readers that count such records themselves are those of text, which need not come from CUPTI.
            let cause = match frames.files.iter().all(|file| file.counts_invalid) {
                true => "",
                false => " (CUPTI ran out of device buffer space, or the work never completed)",
            };
            notes.push(format!(
                "{} {have} impossible times{cause}; {they} not drawn",
                counted(model.undrawn, "record")
            ));
        }
        let start_ns = model.start_ns;
        Ok(Timeline {
            insights: insights::insights(labels, filter, start_ns)?,
            waits: insights::waits(labels, filter, start_ns)?,
            gaps: links::gaps(&model, &tree, frames),
            longest: links::longest_kernels(&model, &tree),
            title: title(frames),
            origin: origin(frames),
            has_epoch: frames.processes.iter().any(|process| process.info.epoch_ns().is_some()),
            notes,
            scale,
            rows: tree.rows,
            work: tree.work,
            calls: tree.calls,
            model,
        })
    }
}

/// Lanes, spans and bins of all rows; what headings show is what is below them.
fn finish_rows(rows: &mut [Row], model: &Model, scale: Scale) {
    let mut unions: BTreeMap<usize, Union> = BTreeMap::new();
    let mut end = rows.len();
    while end > 0 {
        let begin = end.saturating_sub(ROWS_AT_A_TIME);
        let mut bins: Vec<(Vec<Bin>, Spans)> = rows[begin..end]
            .par_iter_mut()
            .map(|row| {
                let (bins, busy) = row.prepare(model, scale);
                if row.kept.is_some() {
                    row.pack(&bins, &busy, scale);
                }
                (bins, busy)
            })
            .collect();
        // From the last to the first: a heading comes before what is below it.
        for id in (begin..end).rev() {
            let (mut finest, mut busy) = bins.pop().unwrap_or_default();
            let row = &mut rows[id];
            if row.kept.is_none() && row.counter.is_none() {
                (finest, busy) = unions.remove(&id).unwrap_or_default().finish(scale.base_bin_ns);
                row.pack(&finest, &busy, scale);
            }
            if let Some(parent) = row.parent.filter(|_| row.adds_up && row.counter.is_none()) {
                unions.entry(parent).or_default().add(&finest, &busy);
            }
        }
        end = begin;
    }
}

/// The name of the file, or of the first of several.
fn title(frames: &Frames) -> String {
    let name = |path: &std::path::Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let first = frames.files.first().map(|file| name(&file.path)).unwrap_or_default();
    match frames.files.len() {
        0 | 1 => first,
        files => format!("{first} and {} more", files - 1),
    }
}

/// What the files are, each kind once.
fn origin(frames: &Frames) -> String {
    let mut origins: Vec<&str> = frames.files.iter().map(|file| file.origin.as_str()).collect();
    origins.dedup();
    let more = if origins.len() > 3 { "; …" } else { "" };
    origins.truncate(3);
    origins.join("; ") + more
}

fn nothing_text(frames: &Frames, filter: &Filter, undrawn: u64) -> String {
    let why = match filter.is_everything() {
        _ if undrawn == 1 => "its only record has impossible times".to_owned(),
        _ if undrawn > 0 => format!("all of its {} have impossible times", counted(undrawn, "record")),
        true if frames.rows(&tables::SAMPLE) > 0 => {
            "there are system samples and nothing beside which to draw them; see report --view system".to_owned()
        }
        true => "the trace holds nothing that has a time".to_owned(),
        false => "no record passes the filters".to_owned(),
    };
    format!("{}: nothing to show: {why}", title(frames))
}
