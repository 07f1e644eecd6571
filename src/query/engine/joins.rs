//! Joins: rows of two relations beside each other.
//!
//! Rows with equal keys stand in one bucket. Where conditions compare one value of a side with bounds from the other,
//! as with calls inside ranges, each bucket is sorted by that value and a pair is only looked at when it is within the
//! bounds. Pairs come in the order of the left rows, then of the right ones.

use super::column::{Column, NO_ROW, SqlType};
use super::keys;
use super::problem::{Problem, Result};
use super::relation::{Field, Lazy, Relation};
use super::{functions, operators};
use std::sync::Arc;

/// Pairs that are looked at together.
const BLOCK: usize = 1 << 20;
/// The most rows that a join may give.
const MOST_ROWS: usize = 1 << 29;

/// What becomes of rows without a partner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Left out.
    Inner,
    /// Rows of the left side without a partner stand beside NULLs.
    Left,
    /// Rows of the right side without a partner stand beside NULLs.
    Right,
    /// Rows of both sides without a partner stand beside NULLs.
    Full,
    /// Left rows that have a partner, each once.
    Semi,
    /// Left rows that have none.
    Anti,
}

/// A comparison between one value of the left side and one of the right: `left OPERATOR right`.
pub struct Bound {
    /// The value of the left side.
    pub left: Column,
    /// The value of the right side.
    pub right: Column,
    /// Whether the left one is to be above the right one.
    pub above: bool,
    /// Whether they may be equal.
    pub or_equal: bool,
}

/// A condition on whole pairs of rows: which of them hold.
pub type Residual<'r> = dyn Fn(&Relation) -> Result<Vec<u32>> + 'r;

/// What joins two relations.
pub struct Conditions<'c> {
    /// Keys that must be equal: of the left side, and of the right.
    pub equal: Vec<(Column, Column)>,
    /// Comparisons.
    pub bounds: Vec<Bound>,
    /// Everything else.
    pub residual: Option<&'c Residual<'c>>,
}

/// `left` and `right` beside each other.
///
/// # Errors
/// Fails if two keys have different kinds, or if there are more rows than memory can hold.
pub fn join(how: How, left: &Relation, right: &Relation, conditions: &Conditions) -> Result<Relation> {
    let pairs = pairs(left, right, conditions)?;
    let mut has_left = vec![false; if how == How::Inner { 0 } else { left.rows }];
    let mut has_right = vec![false; if matches!(how, How::Right | How::Full) { right.rows } else { 0 }];
    for (l, r) in pairs.0.iter().zip(&pairs.1) {
        if let Some(has) = has_left.get_mut(*l as usize) {
            *has = true;
        }
        if let Some(has) = has_right.get_mut(*r as usize) {
            *has = true;
        }
    }
    if matches!(how, How::Semi | How::Anti) {
        let wanted = how == How::Semi;
        return Ok(left.filtered((0..left.rows as u32).filter(|&row| has_left[row as usize] == wanted).collect()));
    }
    let (mut l, mut r) = pairs;
    if matches!(how, How::Left | How::Full) && has_left.contains(&false) {
        let (mut with_left, mut with_right) = (Vec::new(), Vec::new());
        let mut at = 0;
        for row in 0..left.rows as u32 {
            if !has_left[row as usize] {
                with_left.push(row);
                with_right.push(NO_ROW);
            }
            while at < l.len() && l[at] == row {
                with_left.push(row);
                with_right.push(r[at]);
                at += 1;
            }
        }
        (l, r) = (with_left, with_right);
    }
    for row in (0..right.rows as u32).filter(|&row| has_right.get(row as usize) == Some(&false)) {
        l.push(NO_ROW);
        r.push(row);
    }
    Ok(beside(&left.take(l), &right.take(r)))
}

/// The columns of two relations with as many rows.
pub fn beside(left: &Relation, right: &Relation) -> Relation {
    Relation { fields: left.fields.iter().chain(&right.fields).cloned().collect(), rows: left.rows }
}

/// Makes one column of the two that USING names, each in `joined` by its place.
///
/// # Errors
/// Fails if the two columns have kinds that do not go together.
pub fn merge(how: How, joined: &mut Relation, left: usize, right: usize) -> Result<()> {
    joined.fields[right].hidden = true;
    if matches!(how, How::Right | How::Full) {
        let (a, b) = (joined.fields[left].data.get()?, joined.fields[right].data.get()?);
        let there = operators::is_null(&a, true);
        let both = functions::choose(&[(there, Column::clone(&a))], &b, joined.rows)?;
        let name = Arc::clone(&joined.fields[left].name);
        joined.fields[left].hidden = true;
        let merged =
            Field { table: "".into(), name, data: Lazy::made(both.full(joined.rows).into_owned()), hidden: false };
        joined.fields.insert(0, merged);
    }
    Ok(())
}

/// Pairs of rows for which all conditions hold.
fn pairs(left: &Relation, right: &Relation, conditions: &Conditions) -> Result<(Vec<u32>, Vec<u32>)> {
    let (left_codes, right_codes, count) = match conditions.equal.is_empty() {
        true => (vec![0; left.rows], vec![0; right.rows], 1),
        false => {
            let (l, r): (Vec<&Column>, Vec<&Column>) = conditions.equal.iter().map(|(l, r)| (l, r)).unzip();
            keys::joint(&l, left.rows, &r, right.rows)?
        }
    };
    let split = Interval::choose(&conditions.bounds)?;
    // The side that has one value between bounds of the other is looked up.
    let swapped = split.as_ref().is_some_and(|interval| interval.value_is_left);
    let (probing, looked_up) = if swapped { (&right_codes, &left_codes) } else { (&left_codes, &right_codes) };
    let buckets = Buckets::new(looked_up, count, split.as_ref());
    let mut out = (Vec::new(), Vec::new());
    let mut block = (Vec::new(), Vec::new());
    let mut flush = |block: &mut (Vec<u32>, Vec<u32>)| -> Result<()> {
        let (mut l, mut r) = std::mem::take(block);
        for bound in &conditions.bounds {
            retain(&mut l, &mut r, bound)?;
        }
        if let Some(residual) = conditions.residual
            && !l.is_empty()
        {
            let held = residual(&beside(&left.take(l.clone()), &right.take(r.clone())))?;
            l = held.iter().map(|&at| l[at as usize]).collect();
            r = held.iter().map(|&at| r[at as usize]).collect();
        }
        if out.0.len() + l.len() > MOST_ROWS {
            return Problem::wrong(
                "this join gives more than 500 million rows; add a condition, such as an equality",
            );
        }
        out.0.extend(l);
        out.1.extend(r);
        Ok(())
    };
    for (probe, &code) in probing.iter().enumerate() {
        if code == u32::MAX {
            continue;
        }
        let members = buckets.members(code);
        let members = match &split {
            Some(interval) => interval.within(members, probe),
            None => members,
        };
        // A block at a time: what conditions throw away is never held whole.
        for some in members.chunks(BLOCK) {
            let pair = if swapped { (&mut block.1, &mut block.0) } else { (&mut block.0, &mut block.1) };
            pair.0.resize(pair.0.len() + some.len(), probe as u32);
            pair.1.extend_from_slice(some);
            if block.0.len() >= BLOCK {
                flush(&mut block)?;
            }
        }
    }
    flush(&mut block)?;
    if split.is_some() {
        let mut both: Vec<(u32, u32)> = out.0.into_iter().zip(out.1).collect();
        both.sort_unstable();
        out = both.into_iter().unzip();
    }
    Ok(out)
}

/// Rows of one side by code.
struct Buckets {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl Buckets {
    fn new(codes: &[u32], count: usize, sorted_by: Option<&Interval>) -> Buckets {
        let mut starts = vec![0_u32; count + 1];
        codes.iter().filter(|&&code| code != u32::MAX).for_each(|&code| starts[code as usize + 1] += 1);
        for code in 0..count {
            starts[code + 1] += starts[code];
        }
        let mut next = starts.clone();
        let mut rows = vec![0; starts[count] as usize];
        for (row, &code) in codes.iter().enumerate().filter(|(_, code)| **code != u32::MAX) {
            rows[next[code as usize] as usize] = row as u32;
            next[code as usize] += 1;
        }
        let mut buckets = Buckets { starts, rows };
        if let Some(interval) = sorted_by {
            for code in 0..count {
                let (from, to) = (buckets.starts[code] as usize, buckets.starts[code + 1] as usize);
                buckets.rows[from..to].sort_unstable_by_key(|&row| (interval.value[row as usize], row));
            }
        }
        buckets
    }

    fn members(&self, code: u32) -> &[u32] {
        &self.rows[self.starts[code as usize] as usize..self.starts[code as usize + 1] as usize]
    }
}

/// One integer of a side that the other side bounds.
struct Interval {
    value_is_left: bool,
    /// NULLs are in no interval, and stand here as the least number: the conditions are looked at again anyway.
    value: Vec<i64>,
    /// Bounds by row of the other side, and whether the value may be equal to them.
    lower: Option<(Vec<i64>, bool)>,
    upper: Option<(Vec<i64>, bool)>,
}

impl Interval {
    /// The value that most bounds are about.
    fn choose(bounds: &[Bound]) -> Result<Option<Interval>> {
        let usable: Vec<&Bound> = bounds
            .iter()
            .filter(|b| [&b.left, &b.right].iter().all(|c| c.kind.is_integer() && !c.constant))
            .collect();
        let same = |a: &Column, b: &Column| match (a.as_ints(), b.as_ints()) {
            (Ok(a), Ok(b)) => a == b,
            _ => false,
        };
        let mut best: Option<(usize, bool, &Bound)> = None;
        for &bound in &usable {
            for left in [false, true] {
                let side = |b: &'_ Bound| if left { b.left.clone() } else { b.right.clone() };
                let own = side(bound);
                let about = usable.iter().filter(|other| same(&side(other), &own)).count();
                if best.as_ref().is_none_or(|(most, ..)| about > *most) {
                    best = Some((about, left, bound));
                }
            }
        }
        let Some((_, value_is_left, chosen)) = best else { return Ok(None) };
        let side = |b: &Bound, left: bool| if left { b.left.clone() } else { b.right.clone() };
        let value = side(chosen, value_is_left);
        let mut interval =
            Interval { value_is_left, value: value.as_ints()?.into_owned(), lower: None, upper: None };
        for bound in usable.into_iter().filter(|b| same(&side(b, value_is_left), &value)) {
            let other = side(bound, !value_is_left).as_ints()?.into_owned();
            // The other side is a lower bound if the value is to be above it, and else an upper bound.
            let is_lower = bound.above == value_is_left;
            let place = if is_lower { &mut interval.lower } else { &mut interval.upper };
            place.get_or_insert((other, bound.or_equal));
        }
        Ok(Some(interval))
    }

    /// Of rows sorted by value, those within the bounds of row `probe`.
    fn within<'m>(&self, members: &'m [u32], probe: usize) -> &'m [u32] {
        let value = |row: u32| self.value[row as usize];
        let from = self.lower.as_ref().map_or(0, |(bounds, or_equal)| {
            let bound = bounds[probe];
            members.partition_point(|&row| value(row) < bound || (!or_equal && value(row) == bound))
        });
        let to = self.upper.as_ref().map_or(members.len(), |(bounds, or_equal)| {
            let bound = bounds[probe];
            members.partition_point(|&row| value(row) < bound || (*or_equal && value(row) == bound))
        });
        &members[from..to.max(from)]
    }
}

/// Keeps the pairs for which a comparison holds.
fn retain(l: &mut Vec<u32>, r: &mut Vec<u32>, bound: &Bound) -> Result<()> {
    if bound.left.kind == SqlType::Null || bound.right.kind == SqlType::Null {
        l.clear();
        r.clear();
        return Ok(());
    }
    let holds = |order: std::cmp::Ordering| {
        (order.is_gt() && bound.above) || (order.is_lt() && !bound.above) || (order.is_eq() && bound.or_equal)
    };
    let truth = operators::compare(&bound.left.take(l), &bound.right.take(r), l.len(), holds)?;
    let held = truth.selected(l.len())?;
    if held.len() < l.len() {
        *l = held.iter().map(|&at| l[at as usize]).collect();
        *r = held.iter().map(|&at| r[at as usize]).collect();
    }
    Ok(())
}
