//! What is partial about a set of traces, in sentences: said before any answer.

use crate::error::Result;
use crate::numbers::items;
use crate::trace::frames::Frames;
use crate::trace::sampling::{Sampling, Unit};
use crate::trace::select::Filter;
use crate::trace::sink::{Need, Note};
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::{any, loss};
use trace_format::vocabulary::loss_cause;

/// Records without valid times in the tables that `need` wants; recorded losses; processes without kernels among
/// several. Cheap after the answer was made with the same filter: its passes have counted such records already.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn notes(frames: &Frames, filter: &Filter, need: &Need) -> Result<Vec<Note>> {
    let mut notes = Vec::new();
    let without_times = |table| if need.wants(table) { rows_without_times(frames, table, filter) } else { Ok(0) };
    let invalid = work_without_times(frames, filter, need)?;
    if invalid > 0 {
        notes.push(Note {
            code: "invalid-timestamps",
            text: format!(
                "{} (CUPTI ran out of device buffer space, or the work never completed); in no sum",
                items(invalid, "record has invalid timestamps", "records have invalid timestamps")
            ),
        });
    }
    let calls = [
        (&tables::API, "API record has", "API records have"),
        (&tables::HOST_CALL, "OS runtime or MPI call has", "OS runtime and MPI calls have"),
    ];
    for (table, one, many) in calls {
        let calls = without_times(table)?;
        if calls > 0 {
            let text = format!("{} invalid timestamps; in no sum", items(calls, one, many));
            notes.push(Note { code: "invalid-timestamps", text });
        }
    }
    let launches = filter.launches_of_other_threads();
    if launches > 0 {
        notes.push(Note {
            code: "launches-of-other-threads",
            text: format!(
                "{} while the range was open and {} not counted: a range that was pushed and popped holds what its own thread calls",
                items(launches, "launch was made by another thread", "launches were made by other threads"),
                if launches == 1 { "is" } else { "are" }
            ),
        });
    }
    notes.extend(samples(frames, filter)?);
    notes.extend(losses(frames)?);
    notes.extend(processes_without_kernels(frames)?);
    Ok(notes)
}

/// GPU work without valid times in the tables that `need` wants, but for what notes of readers count already.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn work_without_times(frames: &Frames, filter: &Filter, need: &Need) -> Result<u64> {
    let work = [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH];
    work.into_iter().filter(|table| need.wants(table)).map(|table| rows_without_times(frames, table, filter)).sum()
}

/// Rows of `table` without valid times. Readers of text say of their own what was wrong with it and where; of such a file
/// nothing is repeated here, least of all with a cause that only files of CUPTI's records have.
fn rows_without_times(frames: &Frames, table: &'static TableSpec, filter: &Filter) -> Result<u64> {
    if frames.rows(table) == 0 {
        return Ok(0);
    }
    let counted: Vec<_> =
        frames.files.iter().filter(|file| file.counts_invalid).map(|file| &file.processes).collect();
    if !counted.is_empty() {
        return frames.fold(
            table,
            &[any::DURATION_NS],
            filter,
            || 0,
            |count: &mut u64, batch| {
                if counted.iter().any(|processes| processes.contains(&batch.process)) {
                    return;
                }
                let duration = batch.get(any::DURATION_NS);
                batch.for_each_row(|i| *count += u64::from(duration.get(i).is_none()));
            },
            |a, b| *a += b,
        );
    }
    if filter.rows_without_times(table).is_none() {
        frames.fold(table, &[any::DURATION_NS], filter, || (), |_, _| {}, |_, _| {})?;
    }
    Ok(filter.rows_without_times(table).unwrap_or(0))
}

/// Why records are missing, by `loss.cause`.
fn cause_text(cause: u32) -> &'static str {
    loss_cause::SENTENCES.word(cause).unwrap_or("for an unknown reason")
}

/// What the recording has not, said where no sums are estimated: losses, and steps that were passed over.
///
/// # Errors
/// A part of a file that cannot be read.
pub fn missing(frames: &Frames) -> Result<Vec<Note>> {
    let mut notes = losses(frames)?;
    notes.extend(samples(frames, &Filter::everything())?);
    Ok(notes)
}

/// How many rows each process is recorded to have lost, and why: process, cause and rows, in order. Causes as in table `loss`.
///
/// # Errors
/// A part of a file that cannot be read.
pub(super) fn lost_rows(frames: &Frames) -> Result<Vec<(u32, u32, i64)>> {
    let mut lost: Vec<(u32, u32, i64)> = frames.fold(
        &tables::LOSS,
        &[loss::ROWS, loss::CAUSE],
        &Filter::everything(),
        Vec::new,
        |lost: &mut Vec<(u32, u32, i64)>, batch| {
            let (rows, cause) = (batch.get(loss::ROWS), batch.get(loss::CAUSE));
            batch.for_each_row(|i| lost.push((batch.process, cause.get(i).unwrap_or(0), rows.get(i).unwrap_or(0))));
        },
        |a, mut b| a.append(&mut b),
    )?;
    lost.sort_unstable();
    Ok(lost)
}

/// Recorded losses, one note per process and cause.
///
/// # Errors
/// A part of a file that cannot be read.
fn losses(frames: &Frames) -> Result<Vec<Note>> {
    let lost = lost_rows(frames)?;
    let by_cause = lost.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
    Ok(by_cause
        .map(|group| {
            let (process, cause, _) = group[0];
            let path = frames.processes.get(process as usize).map(|p| p.path.display().to_string());
            let rows: i128 = group.iter().map(|(_, _, rows)| i128::from(*rows)).sum();
            let rows = if rows > 0 {
                format!("{} lost", items(rows.min(i128::from(u64::MAX)) as u64, "record", "records"))
            } else {
                "records lost, how many is unknown".into()
            };
            let text = format!("{}: {rows}: {}", path.unwrap_or_default(), cause_text(cause));
            Note { code: "lost-records", text }
        })
        .collect())
}

/// Says so where only some of a program's steps or of its time was recorded, and whether sums are of these or estimates for all.
///
/// # Errors
/// A part of a file that cannot be read.
fn samples(frames: &Frames, filter: &Filter) -> Result<Vec<Note>> {
    let Some(sampling) = Sampling::of(frames)? else { return Ok(Vec::new()) };
    let percent = |part: u64, all: u64| part as f64 * 100.0 / all.max(1) as f64;
    let what = |all: &str, recorded: &str| match filter.sampling() {
        Some(_) => format!(
            "sums beside which a column +/- stands are estimates for {all}, and so near to the true sum in 95 of 100 \
             cases, if {recorded} like the others; everything else is what was recorded; --raw estimates nothing"
        ),
        None => format!("sums are of the recorded {}", if all == "all steps" { "steps" } else { "windows" }),
    };
    let steps = sampling.recorded(Unit::Steps).map(|(recorded, all, _)| Note {
        code: "some-steps",
        text: format!(
            "{recorded} of {} recorded ({:.1} %): {}",
            items(all, "step was", "steps were"),
            percent(recorded, all),
            what("all steps", "the recorded steps are")
        ),
    });
    let time = sampling.recorded(Unit::Time).map(|(recorded_ns, all_ns, windows)| Note {
        code: "some-time",
        text: format!(
            "{:.1} % of {:.2} s was recorded, in {}, because of --budget: {}",
            percent(recorded_ns, all_ns),
            all_ns as f64 / 1e9,
            items(windows, "window", "windows"),
            what("all the time", "the recorded windows are")
        ),
    });
    Ok(steps.into_iter().chain(time).collect())
}

fn processes_without_kernels(frames: &Frames) -> Result<Vec<Note>> {
    let processes = frames.recorded_processes();
    if processes < 2 || frames.rows(&tables::KERNEL) == 0 {
        return Ok(Vec::new());
    }
    let with_kernels = frames.processes_with_rows(&tables::KERNEL);
    let without: Vec<String> = (0..frames.processes.len())
        .filter(|p| !frames.processes[*p].info.is_launcher)
        .filter(|p| !with_kernels.contains(&(*p as u32)))
        .map(|p| frames.processes[p].info.pid.map_or_else(|| format!("#{p}"), |pid| pid.to_string()))
        .collect();
    if without.is_empty() {
        return Ok(Vec::new());
    }
    let some = without.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    let more = if without.len() > 8 { ", …" } else { "" };
    let has = if without.len() == 1 { "has" } else { "have" };
    let text = format!("{} of {processes} processes {has} no kernels: {some}{more}", without.len());
    Ok(vec![Note { code: "processes-without-kernels", text }])
}
