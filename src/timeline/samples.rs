//! System samples as counter rows: below a heading for each trace that has some, the machine, its processes, its GPUs.

use super::counters::Steps;
use super::levels::Scale;
use super::rows::{Quantity, Row, RowKind};
use super::tree::Tree;
use crate::analysis::system::{Point, Series, is_averaged, usual_gap_ns};
use crate::lines::page_names::Places;
use crate::metrics::unit_of;

/// Samples are in thousandths of their units.
const FRACTIONS: f64 = 1000.0;
/// Values beyond this are drawn as this: their thousandths fit into 64 bits.
const MOST: f64 = 9e15;

/// Rows of samples with their samples.
pub(super) type Sampled<'s> = Vec<(usize, &'s [Point])>;

/// Adds the rows behind all others.
pub(super) fn add_rows<'s>(tree: &mut Tree, series: &'s Series, places: &Places) -> Sampled<'s> {
    let mut sampled = Vec::new();
    // What the row before was of: process, and then GPU and measured process.
    let mut last = None;
    let (mut root, mut heading) = (0, 0);
    for (whose, points) in series {
        let metric = whose.metric.1.as_str();
        let says_nothing = metric.ends_with("_flag") && points.iter().all(|point| point.value == 0.0);
        if !is_averaged(metric) || says_nothing {
            continue;
        }
        let of = (whose.device, whose.pid);
        if last.is_none_or(|(process, _)| process != whose.process) {
            let label = format!("{}: system samples", places.process(whose.process));
            root = tree.push(Row::heading(RowKind::Process, None, label));
            (heading, last) = (root, Some((whose.process, (None, None))));
        }
        if last != Some((whose.process, of)) {
            let process = |pid: u32| format!("Process {pid}");
            heading = match of {
                (None, None) => root,
                (None, Some(pid)) => tree.push(Row::heading(RowKind::Thread, Some(root), process(pid))),
                (Some(device), pid) => {
                    let of = pid.map(|pid| format!(", {}", process(pid))).unwrap_or_default();
                    let label = format!("{}{of}", places.device(whose.process, device));
                    tree.push(Row::heading(RowKind::Device, Some(root), label))
                }
            };
            last = Some((whose.process, of));
        }
        let row = Row::heading(RowKind::Counter, Some(heading), metric.to_owned());
        let counter = Some(Quantity::Sample { unit: unit_of(metric) });
        sampled.push((tree.push(Row { counter, adds_up: false, ..row }), points.as_slice()));
    }
    sampled
}

/// Fills the rows.
pub(super) fn fill(rows: &mut [Row], sampled: &Sampled, begin_ns: i64, scale: Scale) {
    for (row, points) in sampled {
        steps(points, begin_ns).fill(&mut rows[*row], scale);
    }
}

/// A value holds until the next one; where samples were missed, and after the last, for the usual time.
fn steps(points: &[Point], begin_ns: i64) -> Steps {
    let usual_ns = usual_gap_ns(points).unwrap_or(0);
    let mut changes = Vec::with_capacity(2 * points.len());
    for (i, point) in points.iter().enumerate() {
        let usual_end = point.at_ns.saturating_add(usual_ns);
        let end_ns = match points.get(i + 1) {
            Some(next) if next.at_ns - point.at_ns <= usual_ns.saturating_mul(2) => next.at_ns,
            _ => usual_end,
        };
        let since_begin = |at_ns: i64| u64::try_from(at_ns.saturating_sub(begin_ns)).unwrap_or(0);
        let value = (point.value.clamp(-MOST / FRACTIONS, MOST / FRACTIONS) * FRACTIONS).round() as i64;
        let (start, end) = (since_begin(point.at_ns), since_begin(end_ns));
        if end > start && value != 0 {
            changes.extend([(start, value), (end, -value)]);
        }
    }
    Steps { changes, one: FRACTIONS as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_holds_until_the_next_and_not_over_a_gap() {
        let at = |at_ns, value| Point { span: 0, at_ns, value };
        let points = [at(-5, 1.0), at(5, 2.5), at(15, 0.0), at(25, 4.0), at(100, 1.0)];
        let changes = steps(&points, 0).changes;
        assert_eq!(
            changes,
            [(0, 1000), (5, -1000), (5, 2500), (15, -2500), (25, 4000), (35, -4000), (100, 1000), (110, -1000)]
        );
    }
}
