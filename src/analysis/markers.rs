//! NVTX ranges and marks as moments: where each range begins and ends.

use super::ranges::closed_later;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use std::cmp::Reverse;
use trace_format::tables;
use trace_format::tables::column::range;
use trace_format::vocabulary::range_style::MARK;

/// What happened at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerKind {
    /// A range began.
    Start,
    /// A range ended.
    End,
    /// A mark was set.
    Mark,
}

/// One moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// When, on the clock of the trace.
    pub at_ns: i64,
    /// What kind of marker it is.
    pub kind: MarkerKind,
    /// Name of the range or mark.
    pub name: u32,
    /// Its domain; 0: the default one.
    pub domain: u32,
}

/// The moments of all NVTX ranges and marks, in order of time. Where one range ends and the next begins at the same
/// time the end comes first, and of ends that of the inner range.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn markers(frames: &Frames, filter: &Filter) -> Result<Vec<Marker>> {
    let closed_later = closed_later(frames, filter)?;
    let mut all: Vec<(Marker, i64)> = frames.fold(
        &tables::RANGE,
        &[range::START_NS, range::END_NS, range::STYLE, range::RANGE_ID, range::DOMAIN_ID, range::NAME_ID],
        filter,
        Vec::new,
        |found, batch| {
            let (start, end, style) =
                (batch.get(range::START_NS), batch.get(range::END_NS), batch.get(range::STYLE));
            let (domain, name, id) =
                (batch.get(range::DOMAIN_ID), batch.get(range::NAME_ID), batch.get(range::RANGE_ID));
            batch.for_each_row(|i| {
                let (Some(start), Some(style @ 0..=MARK)) = (start.get(i), style.get(i)) else { return };
                let superseded = || closed_later.contains(&(batch.process, id.get(i).unwrap_or(0)));
                if end.get(i).is_none() && superseded() {
                    // The same range comes again with its end.
                    return;
                }
                let kind = if style == MARK { MarkerKind::Mark } else { MarkerKind::Start };
                let (name, domain) = (name.get(i).unwrap_or(0), domain.get(i).unwrap_or(0));
                let start = start.saturating_add(batch.offset_ns);
                let first = Marker { at_ns: start, kind, name, domain };
                found.push((first, start));
                if let Some(end) = end.get(i).filter(|_| style != MARK) {
                    let at_ns = end.saturating_add(batch.offset_ns);
                    found.push((Marker { at_ns, kind: MarkerKind::End, ..first }, start));
                }
            });
        },
        |all, mut other| all.append(&mut other),
    )?;
    all.sort_by_key(|(marker, start)| {
        let rank = match marker.kind {
            MarkerKind::End if marker.at_ns > *start => 0,
            MarkerKind::Start | MarkerKind::Mark => 1,
            // A range of no length ends after it has begun.
            MarkerKind::End => 2,
        };
        (marker.at_ns, rank, if rank == 0 { Reverse(*start) } else { Reverse(0) })
    });
    Ok(all.into_iter().map(|(marker, _)| marker).collect())
}
