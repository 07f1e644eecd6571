//! Profiles of Python's cProfile as its `pstats` prints them.

use crate::analysis::summary::{Order, SortKey};
use crate::trace::summaries::FunctionRow;
use std::cmp::Ordering;
use std::io::{self, Write};

/// The functions in the order asked for; those that are equal in the order of the file, as `pstats` leaves them.
pub fn sorted<'f>(functions: &'f [FunctionRow], order: &Order) -> Vec<&'f FunctionRow> {
    let mut rows: Vec<&FunctionRow> = functions.iter().collect();
    rows.sort_by(|a, b| match order.sort {
        SortKey::Calls => b.calls.cmp(&a.calls),
        SortKey::Name => (&a.function, &a.file, a.line).cmp(&(&b.function, &b.file, b.line)),
        SortKey::Max => falling(a.total_s, b.total_s),
        SortKey::Avg | SortKey::Min => {
            falling(per(a.own_s, a.calls).unwrap_or(0.0), per(b.own_s, b.calls).unwrap_or(0.0))
        }
        SortKey::Time => falling(a.own_s, b.own_s),
    });
    rows
}

fn falling(a: f64, b: f64) -> Ordering {
    b.partial_cmp(&a).unwrap_or(Ordering::Equal)
}

fn per(seconds: f64, calls: i64) -> Option<f64> {
    (calls != 0).then(|| seconds / calls as f64)
}

/// What `pstats` calls an order. Orders that it does not have are named likewise.
fn phrase(sort: SortKey) -> &'static str {
    match sort {
        SortKey::Time => "internal time",
        SortKey::Calls => "call count",
        SortKey::Max => "cumulative time",
        SortKey::Avg | SortKey::Min => "internal time per call",
        SortKey::Name => "name/file/line",
    }
}

/// `file:line(function)`; built-in functions in braces.
pub fn label(row: &FunctionRow) -> String {
    let FunctionRow { file, line, function, .. } = row;
    if file == "~" && *line == 0 {
        let inner = function.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        return inner.map_or(function.clone(), |inner| format!("{{{inner}}}"));
    }
    format!("{file}:{line}({function})")
}

/// Writes the table.
///
/// # Errors
/// Fails if `out` cannot be written to.
pub fn write(out: &mut dyn Write, functions: &[FunctionRow], order: &Order) -> io::Result<()> {
    let calls: i128 = functions.iter().map(|row| i128::from(row.calls)).sum();
    let primitive: i128 = functions.iter().map(|row| i128::from(row.primitive_calls)).sum();
    // Added up in the order of the file, as `pstats` does: floating point sums depend on it.
    let seconds = functions.iter().fold(0.0, |sum, row| sum + row.own_s);
    write!(out, "         {calls} function calls ")?;
    if calls != primitive {
        write!(out, "({primitive} primitive calls) ")?;
    }
    writeln!(out, "in {seconds:.3} seconds\n")?;
    let rows = sorted(functions, order);
    let shown = order.top.unwrap_or(usize::MAX).min(rows.len());
    if shown == 0 {
        return Ok(());
    }
    writeln!(out, "   Ordered by: {}", phrase(order.sort))?;
    if shown < rows.len() {
        writeln!(out, "   List reduced from {} to {shown} due to restriction <{shown}>", rows.len())?;
    }
    writeln!(out, "\n   ncalls  tottime  percall  cumtime  percall filename:lineno(function)")?;
    for row in &rows[..shown] {
        let calls = match row.calls == row.primitive_calls {
            true => row.calls.to_string(),
            false => format!("{}/{}", row.calls, row.primitive_calls),
        };
        let cell = |value: Option<f64>| value.map_or(" ".repeat(8), |value| format!("{value:8.3}"));
        let own = cell(per(row.own_s, row.calls));
        let total = cell(per(row.total_s, row.primitive_calls));
        let name = label(row).replace(char::is_control, " ");
        writeln!(out, "{calls:>9} {:8.3} {own} {:8.3} {total} {name}", row.own_s, row.total_s)?;
    }
    writeln!(out, "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(file: &str, line: i64, function: &str, calls: [i64; 2], times: [f64; 2]) -> FunctionRow {
        FunctionRow {
            file: file.to_owned(),
            line,
            function: function.to_owned(),
            primitive_calls: calls[1],
            calls: calls[0],
            own_s: times[0],
            total_s: times[1],
        }
    }

    #[test]
    fn the_table_is_that_of_pstats() {
        let rows = [
            row("app.py", 3, "fact", [40, 1], [0.000_02, 0.000_02]),
            row("app.py", 2, "<genexpr>", [400_200, 400_200], [0.236, 0.236]),
            row("~", 0, "<built-in method builtins.sum>", [1, 1], [0.191_6, 0.427_6]),
            row("~", 0, "nothing", [0, 0], [0.0, 0.0]),
        ];
        let mut out = Vec::new();
        write(&mut out, &rows, &Order { sort: SortKey::Time, top: Some(3) }).expect("memory");
        let expected = "         400241 function calls (400202 primitive calls) in 0.428 seconds

   Ordered by: internal time
   List reduced from 4 to 3 due to restriction <3>

   ncalls  tottime  percall  cumtime  percall filename:lineno(function)
   400200    0.236    0.000    0.236    0.000 app.py:2(<genexpr>)
        1    0.192    0.192    0.428    0.428 {built-in method builtins.sum}
     40/1    0.000    0.000    0.000    0.000 app.py:3(fact)


";
        assert_eq!(String::from_utf8(out).expect("text"), expected);
    }
}
