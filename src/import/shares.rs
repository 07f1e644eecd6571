//! Whether the rows of printed summaries are all there: each says which share of its table's time it has, and all shares
//! together are the whole. A file that was cut off between two lines shows it by nothing else.

use crate::trace::sink::Sink;
use std::path::Path;

/// Adds up the shares of the rows of tables, one table after the other.
#[derive(Default)]
pub(super) struct Shares {
    /// In percent: the sum of the shares,
    sum: f64,
    /// and by how much rounding can have made it smaller.
    rounded: f64,
    /// Whether some row took time: of nothing, every share is nothing.
    any_time: bool,
    /// Whether some row has no share that can be read.
    unknown: bool,
    /// Tables of which rows are missing,
    short: u64,
    /// and the smallest sum of one.
    least: f64,
}

impl Shares {
    /// Adds a row; `share` is the number that was printed, in percent and without its sign.
    pub(super) fn add(&mut self, share: Option<&[u8]>, total_ns: u64) {
        let text = share.and_then(|share| std::str::from_utf8(share).ok()).unwrap_or_default();
        let text = text.trim_end_matches('%').trim();
        let Ok(percent) = text.parse::<f64>() else {
            self.unknown = true;
            return;
        };
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        self.sum += percent;
        self.rounded += 0.5 * 0.1_f64.powi(decimals.min(9) as i32);
        self.any_time |= total_ns > 0;
    }

    /// A table has ended.
    pub(super) fn end(&mut self) {
        // Floating-point sums of a million shares are off by less than this.
        let is_short = self.sum + self.rounded + 0.001 < 100.0;
        if self.any_time && !self.unknown && is_short {
            self.least = if self.short == 0 { self.sum } else { self.least.min(self.sum) };
            self.short += 1;
        }
        (self.sum, self.rounded, self.any_time, self.unknown) = (0.0, 0.0, false, false);
    }

    /// Says in how many tables rows are missing.
    pub(super) fn note(mut self, path: &Path, sink: &mut Sink) {
        self.end();
        let path = path.display();
        let least = self.least;
        let what = match self.short {
            0 => return,
            1 => format!("the rows of a table have {least:.2} % of the time that their shares are of"),
            tables => format!(
                "the rows of {tables} tables do not have all the time that their shares are of, those of one {least:.2} %"
            ),
        };
        sink.note(
            "incomplete-file",
            format!("{path}: {what}: rows are missing, as in a file that was cut off or of which lines were chosen; print it again to have all"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::names::{Names, Shapes};

    /// What is said of tables with these shares.
    fn said(tables: &[&[&str]]) -> Option<String> {
        let (mut names, mut shapes) = (Names::default(), Shapes::default());
        let mut sink = Sink::new(&mut names, &mut shapes);
        let mut shares = Shares::default();
        for table in tables {
            table.iter().for_each(|share| shares.add(Some(share.as_bytes()), 1));
            shares.end();
        }
        shares.note(Path::new("a.txt"), &mut sink);
        sink.notes.pop().map(|note| note.text)
    }

    #[test]
    fn rounding_is_no_loss() {
        assert_eq!(
            said(&[&["33.33%", "33.33%", "33.33%"], &["100.0"], &["14", "14", "14", "14", "14", "14", "14"]]),
            None
        );
        assert_eq!(said(&[&["99.97%", "0.02%"]]), None, "0.005 of each row");
        assert_eq!(said(&[]), None);
    }

    #[test]
    fn missing_rows_are_noted_with_what_is_there() {
        let one = said(&[&["100.00%"], &["60.00%", "20.00%"]]).expect("a note");
        assert!(one.contains("the rows of a table have 80.00 % of the time"), "{one}");
        let two = said(&[&["75.0"], &["60.00%", "20.00%"]]).expect("a note");
        assert!(two.contains("the rows of 2 tables") && two.contains("those of one 75.00 %"), "{two}");
    }

    #[test]
    fn tables_without_times_or_shares_are_not_judged() {
        let mut shares = Shares::default();
        shares.add(Some(b"0.00%"), 0);
        shares.end();
        shares.add(Some(b"60.00%"), 5);
        shares.add(Some(b"-"), 5);
        shares.add(None, 5);
        shares.end();
        assert_eq!(shares.short, 0);
    }
}
