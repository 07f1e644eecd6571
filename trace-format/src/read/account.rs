//! From damaged bytes to lost rows: frames carry row numbers, so what is missing between them is known exactly.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;

use super::error::{Problem, ProblemKind};
use crate::frame::FrameInfo;
use crate::tables;

/// Adds table and rows to the damage found, where row numbers tell.
pub(super) fn account(damage: &[Problem], frames: &[FrameInfo], closed: Option<&Value>, end: u64) -> Vec<Problem> {
    let mut problems = damage.to_vec();
    // Per table: the next row number, and where the last frame of the table ended.
    let mut seen: BTreeMap<u16, (u64, u64)> = BTreeMap::new();
    for frame in frames.iter().filter(|f| !f.is_repeat()) {
        let (next, since) = seen.get(&frame.table).copied().unwrap_or((0, 0));
        if frame.first_row > next {
            let lost = not_repeated(next..frame.first_row, frame.table, frames);
            blame(&mut problems, damage, since..frame.offset, frame.table, lost);
        }
        seen.insert(frame.table, (next.max(frame.row_range().end), frame.end()));
    }
    // A repetition also tells of rows whose first frame is gone and was the last of its table.
    for repeat in frames.iter().filter(|f| f.is_repeat()) {
        let (next, since) = seen.get(&repeat.table).copied().unwrap_or((0, 0));
        let end = repeat.row_range().end;
        if end > next {
            let lost = not_repeated(next..end, repeat.table, frames);
            blame(&mut problems, damage, since..repeat.offset, repeat.table, lost);
            seen.insert(repeat.table, (end, repeat.offset));
        }
    }
    let totals = closed.and_then(|c| c.get("tables")).and_then(Value::as_object);
    for (name, total) in totals.into_iter().flatten() {
        let Some(table) = tables::by_name(name).map(|t| t.id) else { continue };
        let rows = total.get("rows").and_then(Value::as_u64).unwrap_or(0);
        let (next, since) = seen.get(&table).copied().unwrap_or((0, 0));
        if rows > next {
            let lost = not_repeated(next..rows, table, frames);
            blame(&mut problems, damage, since..end, table, lost);
        }
    }
    problems.sort_by_key(|p| p.offset);
    problems
}

/// How many of the missing rows no repetition gives either.
fn not_repeated(missing: Range<u64>, table: u16, frames: &[FrameInfo]) -> u64 {
    let mut lost = 0;
    let mut next = missing.start;
    let mut repeats: Vec<Range<u64>> =
        frames.iter().filter(|f| f.is_repeat() && f.table == table).map(FrameInfo::row_range).collect();
    repeats.sort_by_key(|r| r.start);
    for repeat in repeats {
        if repeat.start >= missing.end {
            break;
        }
        lost += repeat.start.saturating_sub(next);
        next = next.max(repeat.end);
    }
    lost + missing.end.saturating_sub(next)
}

/// Puts the loss of rows where it happened: on the one damaged place between two frames of the table, else on a
/// problem of its own.
fn blame(problems: &mut Vec<Problem>, damage: &[Problem], place: Range<u64>, table: u16, rows: u64) {
    let mut suspects = damage.iter().enumerate().filter(|(_, p)| {
        p.kind == ProblemKind::Frame && p.table.is_none_or(|t| t == table) && place.contains(&p.offset)
    });
    let suspect = match (suspects.next(), suspects.next()) {
        (Some((i, _)), None) => Some(i),
        _ => None,
    };
    match suspect {
        Some(i) if problems[i].table.is_none_or(|t| t == table) => {
            problems[i].table = Some(table);
            problems[i].rows = Some(rows);
        }
        // One damaged place took frames of several tables: one line for each.
        Some(i) => {
            let Problem { kind, offset, .. } = problems[i];
            problems.push(Problem { kind, offset, bytes: 0, table: Some(table), rows: Some(rows) });
        }
        None if rows > 0 => {
            let kind = ProblemKind::Rows;
            problems.push(Problem { kind, offset: place.end, bytes: 0, table: Some(table), rows: Some(rows) });
        }
        None => {}
    }
}
