//! Limits that a comparison is held against: `total>+3%`.

use super::{Change, Diff, Judged};
use crate::error::{Error, Result};
use std::str::FromStr;

/// What a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Figure {
    /// Everything that is compared, added up.
    Total,
    /// From the first to the last work of a GPU.
    Span,
    /// Each row that makes a verdict of its own.
    Row,
}

impl Figure {
    const ALL: [(&'static str, Figure); 3] =
        [("total", Figure::Total), ("span", Figure::Span), ("row", Figure::Row)];
}

/// A condition on which the comparison fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    text: String,
    figure: Figure,
    /// Whether it is more that fails.
    is_above: bool,
    percent: f64,
}

impl FromStr for Gate {
    type Err = Error;

    /// Reads `total>+3%`, `span>5%` or `row<-10%`.
    fn from_str(text: &str) -> Result<Gate> {
        let wrong = |why: String| {
            Error::new(why)
                .remedy("write a figure (total, span or row), > or <, and a change in percent: total>+3%")
        };
        let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let at = plain.find(['<', '>']).ok_or_else(|| wrong("there is no > or < in it".into()))?;
        let (name, rest) = (&plain[..at], &plain[at + 1..]);
        let known = Figure::ALL.iter().find(|(known, _)| *known == name);
        let (_, figure) = known.ok_or_else(|| wrong(format!("there is no figure \"{name}\"")))?;
        let number = rest.strip_suffix('%').ok_or_else(|| wrong("the change has no % behind it".into()))?;
        let percent: f64 = number.parse().map_err(|_| wrong(format!("\"{number}\" is not a number")))?;
        let is_above = plain.as_bytes()[at] == b'>';
        if !percent.is_finite() {
            return Err(wrong(format!("\"{number}\" is not a number")));
        }
        Ok(Gate { text: plain, figure: *figure, is_above, percent })
    }
}

impl Gate {
    /// What came true, as a sentence for each; nothing: the comparison passes. Only what is more than noise counts.
    pub fn failures(&self, diff: &Diff) -> Vec<String> {
        let sentence = |what: &str, change: &Change| {
            let percent = change.percent().map_or("from nothing".to_owned(), |percent| format!("{percent:+.1} %"));
            format!("{}: {what} changed by {percent}", self.text)
        };
        match self.figure {
            Figure::Total => {
                self.holds(&diff.total).then(|| sentence("the total", &diff.total)).into_iter().collect()
            }
            Figure::Span => {
                let what = "the time from the first to the last GPU work";
                self.holds(&diff.span).then(|| sentence(what, &diff.span)).into_iter().collect()
            }
            Figure::Row => {
                let rows = diff.rows.iter().filter(|row| self.holds(&row.change));
                rows.map(|row| sentence(row.pair.name(), &row.change)).collect()
            }
        }
    }

    /// Whether the change is more than noise and beyond the limit.
    fn holds(&self, change: &Change) -> bool {
        if !matches!(change.judged, Judged::Faster | Judged::Slower) {
            return false;
        }
        let beyond = |percent: f64| if self.is_above { percent > self.percent } else { percent < self.percent };
        change.percent().map_or(self.is_above, beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_others_are_refused() {
        let gate: Gate = "total > +3%".parse().expect("a limit");
        assert_eq!((gate.figure, gate.is_above, gate.percent), (Figure::Total, true, 3.0));
        let gate: Gate = "row<-10.5%".parse().expect("a limit");
        assert_eq!((gate.figure, gate.is_above, gate.percent), (Figure::Row, false, -10.5));
        for (text, word) in [
            ("total", "no > or <"),
            ("speed>3%", "\"speed\""),
            ("total>3", "no %"),
            ("total>x%", "\"x\""),
            ("total>nan%", "\"nan\""),
            (">3%", "\"\""),
        ] {
            let error = text.parse::<Gate>().expect_err(text).to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
