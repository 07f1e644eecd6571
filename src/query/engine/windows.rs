//! Window functions: what a row is among the rows beside it.

use super::aggregates::{self, Call, Of};
use super::column::{Column, NO_ROW, SqlType, Values};
use super::keys::{self, Groups, SortKey, Sorter};
use super::problem::{Problem, Result};

/// The most rows that all frames of one window may have together, where they cannot be summed up on the way.
const MOST_FRAME_ROWS: usize = 1 << 27;

/// Functions that only windows have.
pub const NAMES: &[&str] = &[
    "ROW_NUMBER",
    "RANK",
    "DENSE_RANK",
    "PERCENT_RANK",
    "CUME_DIST",
    "NTILE",
    "LAG",
    "LEAD",
    "FIRST_VALUE",
    "LAST_VALUE",
    "NTH_VALUE",
];

/// One end of a frame.
#[derive(Clone, Debug)]
pub enum Bound {
    /// The bound is the edge of the partition.
    Unbounded,
    /// The row itself; with RANGE and GROUPS, and all that are equal to it.
    Current,
    /// The bound lies so far before the row.
    Before(Column),
    /// The bound lies so far behind the row.
    Behind(Column),
}

/// What bounds count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Rows.
    Rows,
    /// Differences of the value that rows are sorted by.
    Range,
    /// Groups of rows that are equal in what they are sorted by.
    Groups,
}

/// Rows beside each row that a function sees.
#[derive(Clone, Debug)]
pub struct Frame {
    /// What bounds count.
    pub unit: Unit,
    /// Where it begins.
    pub from: Bound,
    /// Where it ends.
    pub to: Bound,
}

/// The rows of a window, sorted.
pub struct Window {
    /// All rows: partition after partition, each in order.
    sorted: Vec<u32>,
    /// For each place in `sorted`, where its partition begins and where it ends.
    partitions: Vec<(u32, u32)>,
    /// The same for the rows that are equal to it in what the window is sorted by.
    peers: Vec<(u32, u32)>,
    /// Partition of each row, by row.
    groups: Groups,
    /// The first sort key by place, and whether it falls.
    key: Option<(Column, bool)>,
    frame: Option<Frame>,
    ordered: bool,
}

impl Window {
    /// `rows` rows, in partitions of equal `partition`, each sorted by `order`.
    pub fn new(partition: &[&Column], order: &[SortKey], frame: Option<Frame>, rows: usize) -> Window {
        let groups = match partition {
            [] => Groups { of: vec![0; rows], first: if rows == 0 { Vec::new() } else { vec![0] } },
            _ => keys::groups(partition, rows),
        };
        // The rows are put partition after partition, each partition in the order of the rows. Below, each partition is
        // sorted into its own order.
        let mut ends = vec![0_u32; groups.len() + 1];
        groups.of.iter().for_each(|&group| ends[group as usize + 1] += 1);
        for group in 0..groups.len() {
            ends[group + 1] += ends[group];
        }
        let mut next = ends.clone();
        let mut sorted = vec![0; rows];
        for (row, &group) in groups.of.iter().enumerate() {
            let place = &mut next[group as usize];
            sorted[*place as usize] = row as u32;
            *place += 1;
        }
        let sorter = Sorter::new(order, rows);
        let (mut partitions, mut peers) = (vec![(0, 0); rows], vec![(0, 0); rows]);
        for bounds in ends.windows(2) {
            let (first, end) = (bounds[0] as usize, bounds[1] as usize);
            sorter.sort(&mut sorted[first..end]);
            partitions[first..end].fill((bounds[0], bounds[1]));
            let mut from = first;
            while from < end {
                let mut to = from + 1;
                while to < end && sorter.compare(sorted[from], sorted[to]).is_eq() {
                    to += 1;
                }
                peers[from..to].fill((from as u32, to as u32));
                from = to;
            }
        }
        let key = order.first().map(|key| (key.column.full(rows).take(&sorted), key.descending));
        Window { partitions, peers, key, frame, ordered: !order.is_empty(), groups, sorted }
    }

    /// Values by place, put where their rows are.
    fn by_row<T: Copy + Default>(&self, mut at: impl FnMut(usize) -> T) -> Vec<T> {
        let mut out = vec![T::default(); self.sorted.len()];
        for (place, &row) in self.sorted.iter().enumerate() {
            out[row as usize] = at(place);
        }
        out
    }

    fn dense_rank(&self, places: &mut Vec<u32>) {
        let mut rank = 0;
        for place in 0..self.sorted.len() {
            let (partition, peers) = (self.partitions[place].0 as usize, self.peers[place].0 as usize);
            if place == partition {
                rank = 1;
            } else if place == peers {
                rank += 1;
            }
            places.push(rank);
        }
    }

    /// A function that only windows have.
    ///
    /// # Errors
    /// Fails if windows have no function of this name, or if the arguments are wrong.
    pub fn call(&self, name: &str, arguments: &[Column]) -> Result<Column> {
        let rows = self.sorted.len();
        let size = |place: usize| self.partitions[place].1 - self.partitions[place].0;
        let ints = |values: Vec<i64>| Ok(Column::ints(values, None));
        let needs = |least: usize, most: usize| match arguments.len() {
            n if (least..=most).contains(&n) => Ok(()),
            n => Problem::wrong(format!("{name} takes {least} to {most} arguments, not {n}")),
        };
        match name {
            "ROW_NUMBER" => ints(self.by_row(|place| i64::from(place as u32 - self.partitions[place].0) + 1)),
            "RANK" => ints(self.by_row(|place| i64::from(self.peers[place].0 - self.partitions[place].0) + 1)),
            "DENSE_RANK" => {
                let mut ranks = Vec::with_capacity(rows);
                self.dense_rank(&mut ranks);
                ints(self.by_row(|place| ranks[place].into()))
            }
            "PERCENT_RANK" => {
                let share = |place: usize| match size(place) {
                    1 => 0.0,
                    n => f64::from(self.peers[place].0 - self.partitions[place].0) / f64::from(n - 1),
                };
                Ok(Column::floats(self.by_row(share), None))
            }
            "CUME_DIST" => {
                let share = |place: usize| {
                    f64::from(self.peers[place].1 - self.partitions[place].0) / f64::from(size(place))
                };
                Ok(Column::floats(self.by_row(share), None))
            }
            "NTILE" => {
                needs(1, 1)?;
                let parts = arguments[0].as_ints()?.first().copied().unwrap_or(0);
                if parts < 1 {
                    return Problem::wrong("NTILE needs a number of parts above 0");
                }
                let tile = |place: usize| {
                    let (n, at) = (i64::from(size(place)), i64::from(place as u32 - self.partitions[place].0));
                    let (each, larger) = (n / parts, n % parts);
                    let in_larger = larger * (each + 1);
                    if at < in_larger { at / (each + 1) + 1 } else { larger + (at - in_larger) / each.max(1) + 1 }
                };
                ints(self.by_row(tile))
            }
            "LAG" | "LEAD" => {
                needs(1, 3)?;
                let step = match arguments.get(1) {
                    Some(step) => step.as_ints()?.first().copied().unwrap_or(1),
                    None => 1,
                };
                let step = if name == "LAG" { step.saturating_neg() } else { step };
                let from = |place: usize| {
                    let (first, end) = self.partitions[place];
                    let at = (place as i64).saturating_add(step);
                    let inside = at >= first.into() && at < end.into();
                    if inside { self.sorted[at as usize] } else { NO_ROW }
                };
                let index = self.by_row(from);
                let column = arguments[0].full(rows).take(&index);
                match arguments.get(2) {
                    None => Ok(column),
                    Some(default) => {
                        let outside = index.iter().map(|&row| row == NO_ROW).collect();
                        super::functions::choose(&[(Column::bools(outside, None), default.clone())], &column, rows)
                    }
                }
            }
            "FIRST_VALUE" | "LAST_VALUE" | "NTH_VALUE" => {
                needs(1, 2)?;
                let nth = match arguments.get(1) {
                    Some(nth) => nth.as_ints()?.first().copied().unwrap_or(1),
                    None => 1,
                };
                let frames = self.frames()?;
                let from = |place: usize| {
                    let (first, end) = frames[place];
                    let at = match name {
                        "FIRST_VALUE" => first.into(),
                        "LAST_VALUE" => i64::from(end) - 1,
                        _ => i64::from(first) + nth - 1,
                    };
                    let inside = at >= first.into() && at < end.into();
                    if inside { self.sorted[at as usize] } else { NO_ROW }
                };
                Ok(arguments[0].full(rows).take(&self.by_row(from)))
            }
            _ => Err(Problem::UnknownFunction(name.to_owned())),
        }
    }

    /// An aggregate over each row's frame. `filter` says which rows take part, by row.
    ///
    /// # Errors
    /// Fails as [`aggregates::aggregate`] does, and if there are too many frames to sum them up one by one.
    pub fn aggregate(
        &self,
        of: Of,
        arguments: &[Column],
        filter: Option<Vec<u32>>,
        distinct: bool,
    ) -> Result<Column> {
        let rows = self.sorted.len();
        let whole = match &self.frame {
            None => !self.ordered,
            Some(frame) => matches!((&frame.from, &frame.to), (Bound::Unbounded, Bound::Unbounded)),
        };
        if whole {
            let call = Call { arguments, rows: filter, distinct };
            let by_group = aggregates::aggregate(of, call, &self.groups)?;
            return Ok(by_group.take(&self.groups.of));
        }
        let frames = self.frames()?;
        let running = frames.iter().zip(&self.partitions).all(|(frame, partition)| frame.0 == partition.0)
            && frames.windows(2).zip(self.partitions.windows(2)).all(|(f, p)| p[0] != p[1] || f[1].1 >= f[0].1);
        let takes_part: Option<Vec<bool>> = filter.as_ref().map(|filter| {
            let mut out = vec![false; rows];
            filter.iter().for_each(|&row| out[row as usize] = true);
            out
        });
        if running && !distinct && matches!(of, Of::Count | Of::Sum | Of::Mean | Of::Least | Of::Greatest) {
            return self.running(of, arguments, &frames, takes_part.as_deref());
        }
        // Every frame written out, as one group each.
        let total: usize = frames.iter().map(|(from, to)| (to - from) as usize).sum();
        if total > MOST_FRAME_ROWS {
            return Problem::wrong(format!("the frames of this window hold {total} rows together, too many"));
        }
        let mut members = Vec::with_capacity(total);
        let mut groups = Groups { of: Vec::with_capacity(total), first: vec![0; rows] };
        for (place, &(from, to)) in frames.iter().enumerate() {
            for &row in &self.sorted[from as usize..to as usize] {
                if takes_part.as_ref().is_none_or(|takes_part| takes_part[row as usize]) {
                    members.push(row);
                    groups.of.push(self.sorted[place]);
                }
            }
        }
        let arguments: Vec<Column> = arguments.iter().map(|a| a.take(&members)).collect();
        aggregates::aggregate(of, Call { arguments: &arguments, rows: None, distinct }, &groups)
    }

    /// Aggregates of frames that begin where their partition does and only grow.
    fn running(
        &self,
        of: Of,
        arguments: &[Column],
        frames: &[(u32, u32)],
        takes_part: Option<&[bool]>,
    ) -> Result<Column> {
        let rows = self.sorted.len();
        let star = Column::constant(super::column::Value::Int(1));
        let argument = arguments.first().unwrap_or(&star);
        let counts_only = of == Of::Count;
        let exact = argument.kind.is_integer() || argument.kind == SqlType::Bool;
        let ints = if exact && !counts_only { argument.as_ints()?.into_owned() } else { Vec::new() };
        let floats = if exact || counts_only || argument.kind == SqlType::Text || argument.kind == SqlType::Null {
            Vec::new()
        } else {
            argument.as_floats()?.into_owned()
        };
        if matches!(of, Of::Sum | Of::Mean) && argument.kind == SqlType::Text {
            return Err(Problem::kind("a number", SqlType::Text));
        }
        let ranks: Vec<u32> = match &argument.values {
            Values::Text(codes, dictionary) => {
                codes.iter().map(|&code| dictionary.ranks()[code as usize]).collect()
            }
            _ => Vec::new(),
        };
        let less = |a: usize, b: usize| {
            let (a, b) = (argument.at(a), argument.at(b));
            if !ranks.is_empty() {
                ranks[a] < ranks[b]
            } else if exact {
                ints[a] < ints[b]
            } else {
                floats.get(a) < floats.get(b)
            }
        };
        let (mut count, mut sum, mut float_sum, mut best, mut done) = (0_i64, 0_i128, 0.0_f64, NO_ROW, 0_usize);
        let (mut counts, mut sums, mut float_sums, mut bests) =
            (vec![0_i64; rows], vec![0_i128; rows], vec![0.0; rows], vec![NO_ROW; rows]);
        for (place, &(from, to)) in frames.iter().enumerate() {
            if place == self.partitions[place].0 as usize {
                (count, sum, float_sum, best, done) = (0, 0, 0.0, NO_ROW, from as usize);
            }
            for &row in &self.sorted[done..(to as usize).max(done)] {
                let at = row as usize;
                if argument.kind == SqlType::Null || !argument.is_valid(at) || takes_part.is_some_and(|t| !t[at]) {
                    continue;
                }
                count += 1;
                if !counts_only && exact {
                    sum += i128::from(ints[argument.at(at)]);
                } else if let Some(value) = floats.get(argument.at(at)) {
                    float_sum += value;
                }
                let better = best == NO_ROW
                    || (of == Of::Least && less(at, best as usize))
                    || (of == Of::Greatest && less(best as usize, at));
                if better && !counts_only {
                    best = row;
                }
            }
            done = done.max(to as usize);
            let row = self.sorted[place] as usize;
            (counts[row], sums[row], float_sums[row], bests[row]) = (count, sum, float_sum, best);
        }
        let there = Some(counts.iter().map(|&count| count > 0).collect());
        match of {
            Of::Count => Ok(Column::ints(counts, None)),
            Of::Sum if exact => {
                let narrow = |sum: i128| i64::try_from(sum).map_err(|_| Problem::TooLarge("a SUM".into()));
                Ok(Column::ints(sums.into_iter().map(narrow).collect::<Result<_>>()?, None).with_valid(there))
            }
            Of::Sum => Ok(Column::floats(float_sums, None).with_valid(there)),
            Of::Mean => {
                let sum = |row: usize| if exact { sums[row] as f64 } else { float_sums[row] };
                let means = (0..rows).map(|row| sum(row) / counts[row].max(1) as f64).collect();
                Ok(Column::floats(means, None).with_valid(there))
            }
            _ => Ok(argument.full(rows).take(&bests)),
        }
    }

    /// The frame of each place: from, and to where it is no longer part.
    fn frames(&self) -> Result<Vec<(u32, u32)>> {
        let Some(frame) = &self.frame else {
            let to = |place: usize| if self.ordered { self.peers[place].1 } else { self.partitions[place].1 };
            return Ok((0..self.sorted.len()).map(|place| (self.partitions[place].0, to(place))).collect());
        };
        let mut ordinals = Vec::new();
        if frame.unit == Unit::Groups {
            self.dense_rank(&mut ordinals);
        }
        let mut out = Vec::with_capacity(self.sorted.len());
        for place in 0..self.sorted.len() {
            let (first, end) = self.partitions[place];
            let from = self.bound(frame, &frame.from, place, true, &ordinals)?.clamp(first, end);
            let to = self.bound(frame, &frame.to, place, false, &ordinals)?.clamp(first, end);
            out.push((from, to.max(from)));
        }
        Ok(out)
    }

    /// A place: the first of the frame where `start`, else the first behind it.
    fn bound(&self, frame: &Frame, bound: &Bound, place: usize, start: bool, ordinals: &[u32]) -> Result<u32> {
        let (first, end) = self.partitions[place];
        let (column, sign) = match bound {
            Bound::Unbounded => return Ok(if start { first } else { end }),
            Bound::Current if frame.unit == Unit::Rows => return Ok(place as u32 + u32::from(!start)),
            Bound::Current => return Ok(if start { self.peers[place].0 } else { self.peers[place].1 }),
            Bound::Before(column) => (column, -1),
            Bound::Behind(column) => (column, 1),
        };
        let inside = |at: i64| at.clamp(first.into(), end.into()) as u32;
        match frame.unit {
            Unit::Rows => {
                let distance = column.as_ints()?.first().copied().unwrap_or(0);
                let at = (place as i64).saturating_add(distance.saturating_mul(sign));
                Ok(inside(at.saturating_add(i64::from(!start))))
            }
            Unit::Groups => {
                let distance = column.as_ints()?.first().copied().unwrap_or(0);
                let wanted = i64::from(ordinals[place]).saturating_add(distance.saturating_mul(sign));
                let own = &ordinals[first as usize..end as usize];
                let at = own.partition_point(|&ordinal| {
                    if start { i64::from(ordinal) < wanted } else { i64::from(ordinal) <= wanted }
                });
                Ok(first + at as u32)
            }
            Unit::Range => {
                let Some((key, descending)) = &self.key else {
                    return Problem::wrong("a RANGE with a distance needs an ORDER BY with one number");
                };
                if !key.is_valid(place) {
                    return Ok(if start { self.peers[place].0 } else { self.peers[place].1 });
                }
                // NULLs stand together at one end, and are no distance from anything.
                let valid: Vec<u32> = (first..end).filter(|&at| key.is_valid(at as usize)).collect();
                let sign = if *descending { -sign } else { sign };
                let at = if key.kind.is_integer() && column.kind.is_integer() {
                    let (values, distance) = (key.as_ints()?, i128::from(column.as_ints()?[0]));
                    let wanted = i128::from(values[place]) + distance * i128::from(sign);
                    valid.partition_point(|&at| {
                        let order = i128::from(values[at as usize]).cmp(&wanted);
                        let order = if *descending { order.reverse() } else { order };
                        if start { order.is_lt() } else { order.is_le() }
                    })
                } else {
                    let (values, distance) = (key.as_floats()?, column.as_floats()?[0]);
                    let wanted = values[place] + distance * f64::from(sign as i32);
                    valid.partition_point(|&at| {
                        let order = values[at as usize].total_cmp(&wanted);
                        let order = if *descending { order.reverse() } else { order };
                        if start { order.is_lt() } else { order.is_le() }
                    })
                };
                Ok(valid.get(at).copied().unwrap_or_else(|| valid.last().map_or(end, |last| last + 1)))
            }
        }
    }
}
