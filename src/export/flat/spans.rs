//! Start, duration and end: of a record that has two of them, the third is written too.
//!
//! A duration that is null says that the recorded times cannot be right (decision 003), and then there is no end either.
//! Nor is there one of a range that was open when the trace ended.

use super::Source;
use crate::trace::ordered::Piece;
use trace_format::columns::Values;
use trace_format::schema::TableSpec;
use trace_format::vocabulary::range_style::MARK;

/// The columns that every row with a time gets.
pub const COLUMNS: [(&str, &str); 2] = [
    ("duration_ns", "How long it took; null: the recorded times cannot be right, or it had not ended."),
    ("end_ns", "When it ended; null where `duration_ns` is."),
];

/// A time that follows from others; columns by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// The end of what has this start and this duration.
    End(usize, usize),
    /// The duration of what has this start, this end, and perhaps this style: a mark takes no time.
    Duration(usize, usize, Option<usize>),
    /// The stored end of the same. A mark ends when it begins.
    StoredEnd(usize, usize, Option<usize>),
    /// The duration of a moment with this start.
    Moment(usize),
}

/// Where column `name` of [`COLUMNS`] comes from in rows of `table`. Tables of moments have neither, unless asked for.
pub fn source(name: &str, table: &TableSpec, with_moments: bool) -> Source {
    let index = |name| table.column_index(name);
    let (start, duration, end) = (index("start_ns"), index("duration_ns"), index("end_ns"));
    let style = index("style");
    match (name, start, duration, end) {
        ("duration_ns", _, Some(duration), _) => Source::Cell(duration),
        ("duration_ns", Some(start), None, Some(end)) => Source::Span(Span::Duration(start, end, style)),
        ("duration_ns", Some(start), None, None) if with_moments => Source::Span(Span::Moment(start)),
        ("end_ns", Some(start), Some(duration), None) => Source::Span(Span::End(start, duration)),
        ("end_ns", Some(start), _, Some(end)) => Source::Span(Span::StoredEnd(start, end, style)),
        ("end_ns", Some(start), None, None) if with_moments => Source::Cell(start),
        _ => Source::None,
    }
}

impl Span {
    /// The value at row `i`.
    #[inline]
    pub fn value(self, piece: &Piece, i: usize) -> Option<i64> {
        let time = |column: usize| {
            let column = &piece.rows.columns[column];
            match &column.values {
                Values::I64(values) if !column.is_null(i) => Some(values[i]),
                _ => None,
            }
        };
        let is_mark = |style: Option<usize>| {
            style.is_some_and(
                |style| matches!(&piece.rows.columns[style].values, Values::U32(styles) if styles[i] == MARK),
            )
        };
        let ended = |start: usize, end: usize, style: Option<usize>| {
            let start = time(start)?;
            let end = if is_mark(style) { start } else { time(end)? };
            Some((start, end)).filter(|(start, end)| start <= end)
        };
        match self {
            Span::End(start, duration) => time(start)?.checked_add(time(duration)?),
            Span::Duration(start, end, style) => ended(start, end, style).and_then(|(a, b)| b.checked_sub(a)),
            Span::StoredEnd(start, end, style) if is_mark(style) => ended(start, end, style).map(|(_, end)| end),
            // As stored, even where it is impossible, or nobody could see what was recorded.
            Span::StoredEnd(_, end, _) => time(end),
            Span::Moment(start) => time(start).map(|_| 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::schema::RowBuilder as _;
    use trace_format::tables::kernel::KernelBuilder;
    use trace_format::tables::range::RangeBuilder;
    use trace_format::tables::{KernelRow, RangeRow};

    fn value(name: &str, piece: &Piece, i: usize) -> Option<i64> {
        match source(name, piece.table(), false) {
            Source::Span(span) => span.value(piece, i),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_kernel_has_an_end_and_a_range_a_duration() {
        let mut kernels = KernelBuilder::default();
        for duration_ns in [Some(5), None] {
            kernels.push(KernelRow { start_ns: 10, duration_ns, ..KernelRow::default() });
        }
        let kernels = Piece { process: 0, rows: kernels.take() };
        assert_eq!([0, 1].map(|i| value("end_ns", &kernels, i)), [Some(15), None]);
        let mut ranges = RangeBuilder::default();
        for (end_ns, style) in [(Some(30), 0), (None, 0), (None, MARK), (Some(5), 0)] {
            ranges.push(RangeRow { start_ns: 10, end_ns, style, ..RangeRow::default() });
        }
        let ranges = Piece { process: 0, rows: ranges.take() };
        let rows = [0, 1, 2, 3];
        assert_eq!(rows.map(|i| value("duration_ns", &ranges, i)), [Some(20), None, Some(0), None]);
        assert_eq!(rows.map(|i| value("end_ns", &ranges, i)), [Some(30), None, Some(10), Some(5)]);
    }
}
