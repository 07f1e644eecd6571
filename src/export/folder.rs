//! A folder with one file per table, and a manifest that says what is in it: what `csv-tables`, `parquet` and `arrow`
//! share, and what [`crate::import`] reads back.

use super::flat::Layout;
use super::{Context, Destination};
use crate::error::{Error, Result};
use crate::exchange::folder::{MANIFEST, Manifest, ManifestBudget, ManifestFile, ManifestProcess, ManifestSteps};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::Steps;
use std::fs;
use std::path::{Path, PathBuf};
use trace_format::schema::{Role, TableSpec};
use trace_format::tables;

/// The manifest's entry for a file that was written.
fn entry(table: &TableSpec, folder: &Path, path: String) -> ManifestFile {
    let bytes = fs::metadata(folder.join(&path)).ok().map(|metadata| metadata.len());
    ManifestFile { table: table.name.to_owned(), path, bytes }
}

/// The tables that get a file: those with rows of their own. Names and shapes are spelled out in them.
fn written_tables(frames: &Frames) -> Vec<&'static TableSpec> {
    let spelled_out = [&tables::STRING, &tables::SHAPE, &tables::CLOCK];
    let written =
        |table: &&TableSpec| table.role != Role::Json && !spelled_out.contains(table) && frames.rows(table) > 0;
    tables::ALL.iter().copied().filter(written).collect()
}

/// The layout of one table with the columns that were asked for.
pub fn layout(context: &Context, table: &'static TableSpec) -> Layout {
    let mut layout = Layout::of(&[table]);
    if let Some(columns) = &context.options.columns {
        layout.choose_present(columns);
    }
    layout
}

/// The tables to write: those that have one of the columns asked for.
fn chosen_tables(context: &Context) -> Result<Vec<&'static TableSpec>> {
    let tables = written_tables(context.frames);
    if let Some(columns) = &context.options.columns {
        // Whatever no table has is a mistake; what only some have is what was asked for.
        let mut all = Layout::of(&tables);
        all.choose(columns)?;
    }
    Ok(tables.into_iter().filter(|table| !layout(context, table).columns.is_empty()).collect())
}

/// Writes the folder: `write` fills the file of one table. With option `partition`, one file per process and table,
/// in folders `key=value` as Hive, Spark, DuckDB and Polars read them.
///
/// # Errors
/// Fails if a file cannot be written, or if a partition key is unknown.
pub fn write(
    context: &Context,
    destination: &mut Destination,
    extension: &str,
    write: impl Fn(&Context, &Path, &'static TableSpec) -> Result<()>,
) -> Result<()> {
    let folder = destination.path()?.to_owned();
    let frames = context.frames;
    let keys: Vec<&str> = context.options.get("partition").map_or_else(Vec::new, |keys| keys.split(',').collect());
    if let Some(unknown) = keys.iter().find(|key| !["run", "host", "rank", "pid"].contains(key)) {
        return Err(Error::new(format!("--option partition: unknown key \"{unknown}\""))
            .remedy("known are run, host, rank and pid, several with commas"));
    }
    let mut files = Vec::new();
    for table in chosen_tables(context)? {
        if keys.is_empty() {
            let path = format!("{}.{extension}", table.name);
            write(context, &folder.join(&path), table)?;
            files.push(entry(table, &folder, path));
            continue;
        }
        for process in frames.processes_with_rows(table) {
            let filter: Filter = context.filter.within_process(process);
            let context = Context { filter: &filter, ..*context };
            let mut path = PathBuf::from(table.name);
            path.extend(keys.iter().map(|key| partition(frames, process, key)));
            let inside = folder.join(&path);
            fs::create_dir_all(&inside).map_err(|e| Error::at(&inside, format_args!("cannot be created: {e}")))?;
            path.push(format!("process-{process}.{extension}"));
            write(&context, &folder.join(&path), table)?;
            files.push(entry(table, &folder, path.to_string_lossy().into_owned()));
        }
    }
    let processes = frames.processes.iter().map(|process| ManifestProcess {
        pid: process.info.pid,
        rank: process.info.rank,
        world_size: process.info.world_size,
        host: process.info.host.clone(),
        name: process.info.name.clone(),
        unix_time: process.info.epoch_ns().is_some(),
        origin_ns: process.info.epoch_ns(),
        launcher: process.info.is_launcher,
        steps: process.info.steps.map(|Steps { of_cycle, every, all }| ManifestSteps {
            of_cycle,
            every,
            all: all.filter(|_| context.filter.is_everything()),
        }),
        budget: process.info.budget.map(|budget| {
            let is_whole = context.filter.is_everything();
            // On the clock of the rows.
            let at = |ns: Option<i64>| {
                let offset_ns = process.info.aligned_ns.or(process.info.unix_offset_ns).unwrap_or(0);
                ns.filter(|_| is_whole).and_then(|ns| ns.checked_add(offset_ns))
            };
            ManifestBudget {
                budget: budget.budget.to_string(),
                steps: budget.is_steps,
                began_ns: at(budget.began_ns),
                ended_ns: at(budget.ended_ns),
                all: budget.all_steps.filter(|_| is_whole),
                spent_ns: budget.spent_ns,
            }
        }),
        source: process.path.display().to_string(),
    });
    let manifest =
        Manifest { gpuprof_export: 1, format: extension.to_owned(), processes: processes.collect(), files };
    let path = folder.join(MANIFEST);
    let text = serde_json::to_vec_pretty(&manifest).map_err(|e| Error::at(&path, e))?;
    fs::write(&path, text).map_err(|e| Error::at(&path, format_args!("cannot be written: {e}")))
}

/// The folder `key=value` of a process; Hive's word for a value that is not known.
fn partition(frames: &Frames, process: u32, key: &str) -> String {
    let Some(process) = frames.processes.get(process as usize) else { return format!("{key}=") };
    let number = |value: Option<u32>| value.map(|v| v.to_string());
    let value = match key {
        "rank" => number(process.info.rank),
        "pid" => number(process.info.pid),
        "host" => process.info.host.clone(),
        // A run is recorded into a folder of its own.
        _ => process.path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()),
    };
    let value = value.filter(|v| !v.is_empty()).unwrap_or_else(|| "__HIVE_DEFAULT_PARTITION__".to_owned());
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' };
    format!("{key}={}", value.chars().map(safe).collect::<String>())
}

/// What a reader cannot see from the columns: units, meanings, what times count from.
pub fn metadata(context: &Context, layout: &Layout, table: &TableSpec) -> Vec<(String, String)> {
    let columns: serde_json::Map<String, serde_json::Value> = layout
        .columns
        .iter()
        .map(|column| (column.name.clone(), serde_json::json!({"unit": column.unit, "doc": column.doc})))
        .collect();
    let unix = context.frames.processes.iter().any(|process| process.info.epoch_ns().is_some());
    vec![
        ("gpuprof.table".to_owned(), table.name.to_owned()),
        ("gpuprof.columns".to_owned(), serde_json::Value::from(columns).to_string()),
        ("gpuprof.clock".to_owned(), if unix { "unix" } else { "relative" }.to_owned()),
        // Times are whole: nothing has to be added to them.
        ("base_time_ns".to_owned(), "0".to_owned()),
    ]
}
