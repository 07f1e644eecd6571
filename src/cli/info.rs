//! `gpuprof info`: what a file is, who wrote it, and what is in it.

mod sentences;

use super::progress::Progress;
use super::report::say;
use super::screen::{ScreenArgs, written};
use super::stdin::Paths;
use crate::analysis::partial;
use crate::error::{Error, Result};
use crate::import;
use crate::render::document::Document;
use crate::render::schemas;
use crate::render::table::{Cell, Format, Heading, Table};
use crate::trace::frames::{Frames, OpenedFile};
use crate::trace::sink::Need;
use crate::trace::summaries::FileSummary;
use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use trace_format::tables;

/// The beginning of the long help.
pub(super) const ABOUT: &str =
    "Say what a file is, who wrote it, and what is in it: files, processes, devices, and rows of each table.";

/// Arguments of `info`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  gpuprof info                     the newest trace here\n  gpuprof info run.gpuprof\n  gpuprof info --format json run-*/"
)]
pub struct Args {
    /// Traces: files, folders or globs, of any known kind. Without any: the newest trace here
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// How the answer is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// List the formats that gpuprof opens, and exit
    #[arg(long)]
    formats: bool,
    #[command(flatten)]
    screen: ScreenArgs,
}

/// Runs `info`.
///
/// # Errors
/// Fails if a path holds no trace, or if the output cannot be written.
pub fn run(args: &Args) -> Result<()> {
    if args.formats {
        return formats(&mut BufWriter::new(io::stdout())).map_err(|e| Error::output(&e));
    }
    let progress = Progress::new(false, "reading");
    let paths = match args.paths.is_empty() {
        true => Paths::new(&[super::newest::trace_here()?])?,
        false => Paths::new(&args.paths)?,
    };
    let frames = Frames::open(&paths, &Need::counts())?;
    let for_people = args.format == Format::Table;
    let terminal = args.screen.text(for_people);
    let document = Document { cut: terminal.width.is_some(), ..describe(&frames)? };
    let sentences = sentences::sentences(&frames, &time_spans(&frames)?);
    progress.finish();
    if args.format != Format::Table {
        // Lists for machines have no room for them, and whoever looks at JSON on a terminal sees them first.
        say(&document.notes);
    }
    let write = |out: &mut dyn Write| {
        if args.format == Format::Table {
            sentences.iter().try_for_each(|sentence| writeln!(out, "{sentence}"))?;
            writeln!(out)?;
        }
        document.write(out, args.format)?;
        if args.format == Format::Table {
            for note in &document.notes {
                writeln!(out, "{}", note.text)?;
            }
        }
        out.flush()
    };
    written(write(&mut terminal.lines(args.screen.open(for_people))))
}

fn formats(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{:<16}  gpuprof's own traces", "gpuprof")?;
    for importer in import::IMPORTERS {
        writeln!(out, "{:<16}  {}", importer.name(), importer.describes())?;
    }
    out.flush()
}

fn text(name: &'static str) -> Heading {
    Heading { name, is_text: true }
}

fn number(name: &'static str) -> Heading {
    Heading { name, is_text: false }
}

/// From when to when each process did something: work of the GPU and API calls, and of a file that has neither, whatever
/// else in it begins and lasts, such as ranges.
fn time_spans(frames: &Frames) -> Result<BTreeMap<u32, (i64, i64)>> {
    let mut spans = frames.time_spans()?;
    let is_timeless = |file: &&OpenedFile| !file.processes.clone().any(|process| spans.contains_key(&process));
    let timeless: Vec<u32> =
        frames.files.iter().filter(is_timeless).flat_map(|file| file.processes.clone()).collect();
    if !timeless.is_empty() {
        let others = frames.time_spans_of(tables::ALL)?;
        spans.extend(others.into_iter().filter(|(process, _)| timeless.contains(process)));
    }
    Ok(spans)
}

/// The tables of `info`. Native files answer from their headers and indices; rows are not read.
fn describe(frames: &Frames) -> Result<Document> {
    let mut files = Table::new(
        "files",
        "Files",
        vec![text("Path"), text("Kind"), number("Bytes"), text("Closed"), number("Start (ns)"), number("End (ns)")],
    )
    .with_key(&["Path"]);
    let spans = time_spans(frames)?;
    for file in &frames.files {
        // By path: all segments of a ring are of one process.
        let native = frames.natives().iter().find(|n| n.path() == file.path);
        let bytes = file.path.metadata().map(|m| m.len()).ok();
        let closed = native.map_or("", |n| if n.reader().is_closed() { "yes" } else { "no" });
        let own = file.processes.clone().filter_map(|process| spans.get(&process).copied());
        let span = own.reduce(|(a, b), (start, end)| (a.min(start), b.max(end)));
        files.rows.push(vec![
            Cell::Text(file.path.display().to_string()),
            Cell::Text(file.origin.clone()),
            Cell::opt(bytes),
            closed.into(),
            Cell::opt(span.map(|(start, _)| start)),
            Cell::opt(span.map(|(_, end)| end)),
        ]);
    }
    let mut processes = Table::new(
        "processes",
        "Processes",
        vec![number("Process"), number("Pid"), number("Rank"), number("World Size"), text("Epoch"), text("Path")],
    )
    .with_key(&["Process"]);
    for (ordinal, process) in frames.processes.iter().enumerate() {
        processes.rows.push(vec![
            Cell::id(ordinal as u64),
            Cell::opt_id(process.info.pid),
            Cell::opt_id(process.info.rank),
            Cell::opt(process.info.world_size),
            if process.info.epoch_ns().is_some() { "Unix" } else { "relative" }.into(),
            Cell::Text(process.path.display().to_string()),
        ]);
    }
    let mut devices = Table::new(
        "devices",
        "Devices",
        vec![
            number("Process"),
            number("Device"),
            text("Name"),
            text("Compute"),
            number("SMs"),
            number("Memory (bytes)"),
        ],
    )
    .with_key(&["Process", "Device"]);
    for (process, row) in &frames.devices {
        let compute = match (row.compute_major, row.compute_minor) {
            (Some(major), Some(minor)) => format!("{major}.{minor}"),
            _ => String::new(),
        };
        devices.rows.push(vec![
            Cell::id(*process),
            Cell::id(row.device),
            Cell::Text(frames.names.text(row.name_id).into_owned()),
            Cell::Text(compute),
            Cell::opt(row.multiprocessors),
            Cell::opt(row.memory_bytes),
        ]);
    }
    let mut rows = Table::new("tables", "Tables", vec![text("Table"), number("Rows")]).with_key(&["Table"]);
    for table in tables::ALL {
        let count = frames.rows(table);
        if count > 0 {
            rows.rows.push(vec![table.name.into(), Cell::int(count)]);
        }
    }
    let mut summaries = Table::new(
        "summaries",
        "Sums and profiles without records",
        vec![text("Kind"), text("Made by"), number("Rows"), number("Pid"), text("Path")],
    )
    .with_key(&["Kind", "Made by", "Path"]);
    for FileSummary { file, summary } in &frames.summaries {
        summaries.rows.push(vec![
            summary.content.kind().into(),
            summary.maker.into(),
            Cell::int(summary.content.rows() as u64),
            Cell::opt_id(summary.pid),
            frames.files.get(*file).map_or(Cell::Null, |file| Cell::Text(file.path.display().to_string())),
        ]);
    }
    // Losses first: reading them may find damage.
    let missing = partial::missing(frames)?;
    let mut notes = frames.all_notes();
    notes.extend(missing);
    let mut tables = vec![files, processes, devices, rows];
    tables.extend((!summaries.rows.is_empty()).then_some(summaries));
    Ok(Document { notes, tables, ..Document::new(schemas::INFO) })
}
