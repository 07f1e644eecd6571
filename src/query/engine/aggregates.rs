//! Functions of the values of many rows. Adding one is one line in [`AGGREGATES`].

use super::column::{Column, NO_ROW, SqlType, Values};
use super::keys::{self, Groups, SortKey};
use super::problem::{Problem, Result};

/// A function of the values of many rows.
pub struct Aggregate {
    /// Its names, the usual one first.
    pub names: &'static [&'static str],
    /// The fewest and the most arguments.
    pub arguments: (usize, usize),
    /// What it computes.
    pub of: Of,
}

/// What is computed of many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// How many there are.
    Count,
    /// Counts the rows for which a condition holds.
    CountIf,
    /// The sum.
    Sum,
    /// The mean.
    Mean,
    /// The least.
    Least,
    /// The greatest.
    Greatest,
    /// The value that stands first.
    First,
    /// The value that stands last.
    Last,
    /// Half of the values are below it.
    Median,
    /// The value below which a share of all stands; between two, if none is there.
    QuantileBetween,
    /// The least value such that a share of all is not above it.
    QuantileDiscrete,
    /// Variance.
    Variance {
        /// Of a sample of all values, and not of all.
        sample: bool,
    },
    /// Standard deviation.
    Deviation {
        /// Of a sample of all values, and not of all.
        sample: bool,
    },
    /// Texts one behind another.
    Join,
    /// Whether a condition holds for all.
    All,
    /// Whether a condition holds for one.
    Any,
    /// The first value where the second is least.
    ArgLeast,
    /// The first value where the second is greatest.
    ArgGreatest,
}

/// Every aggregate.
#[rustfmt::skip]
pub static AGGREGATES: &[Aggregate] = &[
    Aggregate { names: &["COUNT"], arguments: (0, 1), of: Of::Count },
    Aggregate { names: &["COUNT_IF", "COUNTIF"], arguments: (1, 1), of: Of::CountIf },
    Aggregate { names: &["SUM"], arguments: (1, 1), of: Of::Sum },
    Aggregate { names: &["AVG", "MEAN"], arguments: (1, 1), of: Of::Mean },
    Aggregate { names: &["MIN"], arguments: (1, 1), of: Of::Least },
    Aggregate { names: &["MAX"], arguments: (1, 1), of: Of::Greatest },
    Aggregate { names: &["FIRST", "ANY_VALUE"], arguments: (1, 1), of: Of::First },
    Aggregate { names: &["LAST"], arguments: (1, 1), of: Of::Last },
    Aggregate { names: &["MEDIAN"], arguments: (1, 1), of: Of::Median },
    Aggregate { names: &["QUANTILE_CONT", "QUANTILE", "PERCENTILE_CONT"], arguments: (2, 2), of: Of::QuantileBetween },
    Aggregate { names: &["QUANTILE_DISC", "PERCENTILE_DISC"], arguments: (2, 2), of: Of::QuantileDiscrete },
    Aggregate { names: &["STDDEV", "STDDEV_SAMP", "STD", "STDEV"], arguments: (1, 1), of: Of::Deviation { sample: true } },
    Aggregate { names: &["STDDEV_POP"], arguments: (1, 1), of: Of::Deviation { sample: false } },
    Aggregate { names: &["VARIANCE", "VAR", "VAR_SAMP"], arguments: (1, 1), of: Of::Variance { sample: true } },
    Aggregate { names: &["VAR_POP"], arguments: (1, 1), of: Of::Variance { sample: false } },
    Aggregate { names: &["STRING_AGG", "GROUP_CONCAT", "LISTAGG"], arguments: (1, 2), of: Of::Join },
    Aggregate { names: &["BOOL_AND", "EVERY"], arguments: (1, 1), of: Of::All },
    Aggregate { names: &["BOOL_OR"], arguments: (1, 1), of: Of::Any },
    Aggregate { names: &["ARG_MIN", "MIN_BY"], arguments: (2, 2), of: Of::ArgLeast },
    Aggregate { names: &["ARG_MAX", "MAX_BY"], arguments: (2, 2), of: Of::ArgGreatest },
];

/// The aggregate called `name`.
pub fn find(name: &str) -> Option<&'static Aggregate> {
    AGGREGATES.iter().find(|aggregate| aggregate.names.iter().any(|own| own.eq_ignore_ascii_case(name)))
}

/// Arguments of one call, and which rows take part.
pub struct Call<'c> {
    /// The arguments; none for `COUNT(*)`.
    pub arguments: &'c [Column],
    /// Rows that FILTER lets through, ascending; `None` for all.
    pub rows: Option<Vec<u32>>,
    /// Equal values count once.
    pub distinct: bool,
}

/// The result for each of `groups`.
///
/// # Errors
/// Fails if an argument has a wrong kind, or if a sum does not fit into 64 bits.
pub fn aggregate(of: Of, call: Call, groups: &Groups) -> Result<Column> {
    let total = groups.of.len();
    let Some(argument) = call.arguments.first() else {
        let mut counts = vec![0_i64; groups.len()];
        match &call.rows {
            None => groups.of.iter().for_each(|&group| counts[group as usize] += 1),
            Some(rows) => rows.iter().for_each(|&row| counts[groups.of[row as usize] as usize] += 1),
        }
        return Ok(Column::ints(counts, None));
    };
    // Rows that take part: NULLs never do.
    let takes_part = |row: usize| argument.kind != SqlType::Null && argument.is_valid(row);
    let mut rows = match (call.rows, argument.valid.is_some()) {
        (None, false) => None,
        (None, true) => Some((0..total as u32).filter(|&row| takes_part(row as usize)).collect::<Vec<u32>>()),
        (Some(rows), _) => Some(rows.into_iter().filter(|&row| takes_part(row as usize)).collect()),
    };
    if call.distinct && rows.is_none() && groups.len() == 1 {
        rows = Some(keys::groups(&[argument], total).first);
    } else if call.distinct {
        let among = rows.unwrap_or_else(|| (0..total as u32).collect());
        let group = Column::ints(among.iter().map(|&row| groups.of[row as usize].into()).collect(), None);
        let value = argument.take(&among);
        let distinct = keys::groups(&[&group, &value], among.len());
        rows = Some(distinct.first.iter().map(|&at| among[at as usize]).collect());
    }
    let input = Input { argument, second: call.arguments.get(1), rows: rows.as_deref(), groups };
    match of {
        Of::Count => Ok(Column::ints(input.counts(), None)),
        Of::CountIf => {
            let truth = argument.as_bools()?;
            let mut counts = vec![0; groups.len()];
            input.each(|group, row| counts[group] += i64::from(truth[argument.at(row)]));
            Ok(Column::ints(counts, None))
        }
        Of::Sum => input.sum(),
        Of::Mean => {
            let (counts, sums) = (input.counts(), input.float_sums()?);
            let means = sums.iter().zip(&counts).map(|(sum, &count)| sum / count.max(1) as f64).collect();
            Ok(Column::floats(means, None).with_valid(Some(counts.iter().map(|&count| count > 0).collect())))
        }
        Of::Least => input.extreme(argument, false),
        Of::Greatest => input.extreme(argument, true),
        Of::ArgLeast => input.extreme(input.second()?, false),
        Of::ArgGreatest => input.extreme(input.second()?, true),
        Of::First | Of::Last => {
            let mut found = vec![NO_ROW; groups.len()];
            input.each(|group, row| {
                if of == Of::Last || found[group] == NO_ROW {
                    found[group] = row as u32;
                }
            });
            Ok(argument.full(total).take(&found))
        }
        Of::Median => input.quantile(0.5, true),
        Of::QuantileBetween | Of::QuantileDiscrete => {
            let share = input.second()?;
            let share = match share.as_floats()?.first() {
                Some(&share) if share.is_finite() && (0.0..=1.0).contains(&share) => share,
                _ => return Problem::wrong("a quantile needs a number from 0 to 1, e.g. QUANTILE_CONT(x, 0.95)"),
            };
            input.quantile(share, of == Of::QuantileBetween)
        }
        Of::Variance { sample } => input.variance(sample, false),
        Of::Deviation { sample } => input.variance(sample, true),
        Of::Join => {
            let texts = super::operators::cast(argument, SqlType::Text, true)?;
            let between = call.arguments.get(1).map_or(Some(","), Column::constant_text).unwrap_or("").to_owned();
            let mut out: Vec<Option<String>> = vec![None; groups.len()];
            input.each(|group, row| {
                let text = texts.text(row).unwrap_or("");
                match &mut out[group] {
                    Some(out) => {
                        out.push_str(&between);
                        out.push_str(text);
                    }
                    empty => *empty = Some(text.to_owned()),
                }
            });
            Ok(Column::texts(out.into_iter()))
        }
        Of::All | Of::Any => {
            let truth = argument.as_bools()?;
            let mut out = vec![of == Of::All; groups.len()];
            let mut valid = vec![false; groups.len()];
            input.each(|group, row| {
                let truth = truth[argument.at(row)];
                out[group] = if of == Of::All { out[group] && truth } else { out[group] || truth };
                valid[group] = true;
            });
            Ok(Column::bools(out, None).with_valid(Some(valid)))
        }
    }
}

struct Input<'c> {
    argument: &'c Column,
    second: Option<&'c Column>,
    /// Rows that take part; `None` for all.
    rows: Option<&'c [u32]>,
    groups: &'c Groups,
}

impl Input<'_> {
    #[inline]
    fn each(&self, mut take: impl FnMut(usize, usize)) {
        let of = &self.groups.of;
        match self.rows {
            None if self.argument.kind == SqlType::Null => {}
            None => of.iter().enumerate().for_each(|(row, &group)| take(group as usize, row)),
            Some(rows) => rows.iter().for_each(|&row| take(of[row as usize] as usize, row as usize)),
        }
    }

    fn second(&self) -> Result<&Column> {
        self.second.ok_or_else(|| Problem::Wrong("this aggregate needs two arguments".into()))
    }

    fn counts(&self) -> Vec<i64> {
        let mut counts = vec![0; self.groups.len()];
        self.each(|group, _| counts[group] += 1);
        counts
    }

    /// Groups that have a value.
    fn there(&self) -> Vec<bool> {
        let mut there = vec![false; self.groups.len()];
        self.each(|group, _| there[group] = true);
        there
    }

    fn sum(&self) -> Result<Column> {
        let argument = self.argument;
        if argument.kind == SqlType::Float {
            return Ok(Column::floats(self.float_sums()?, None).with_valid(Some(self.there())));
        }
        let mut sums = vec![0_i128; self.groups.len()];
        match &argument.values {
            Values::Int(values) if !argument.constant => {
                self.each(|group, row| sums[group] += i128::from(values[row]));
            }
            Values::Wide(values) => self.each(|group, row| sums[group] += i128::from(values[argument.at(row)])),
            _ => {
                let values = argument.as_ints()?;
                self.each(|group, row| sums[group] += i128::from(values[argument.at(row)]));
            }
        }
        let narrow = |sum: &i128| i64::try_from(*sum).map_err(|_| Problem::TooLarge("a SUM".into()));
        let values = sums.iter().map(narrow).collect::<Result<Vec<i64>>>()?;
        Ok(Column::ints(values, None).with_valid(Some(self.there())))
    }

    fn float_sums(&self) -> Result<Vec<f64>> {
        let argument = self.argument;
        if argument.kind.is_integer() && matches!(argument.values, Values::Int(_)) {
            // Exact, and the same in any order.
            let values = argument.as_ints()?;
            let mut sums = vec![0_i128; self.groups.len()];
            self.each(|group, row| sums[group] += i128::from(values[argument.at(row)]));
            return Ok(sums.into_iter().map(|sum| sum as f64).collect());
        }
        let values = argument.as_floats()?;
        let mut sums = vec![0.0; self.groups.len()];
        self.each(|group, row| sums[group] += values[argument.at(row)]);
        Ok(sums)
    }

    /// The argument where `by` is least or greatest, at the first such row.
    fn extreme(&self, by: &Column, greatest: bool) -> Result<Column> {
        let total = self.groups.of.len();
        let mut best = vec![NO_ROW; self.groups.len()];
        macro_rules! find {
            ($value:expr) => {{
                let value = $value;
                self.each(|group, row| {
                    let old = best[group];
                    if by.is_valid(row)
                        && (old == NO_ROW || {
                            let (new, old) = (value(row), value(old as usize));
                            if greatest { new > old } else { new < old }
                        })
                    {
                        best[group] = row as u32;
                    }
                });
            }};
        }
        match &by.values {
            Values::Bool(values) => find!(|row: usize| values[by.at(row)]),
            Values::Int(values) if by.constant => find!(|_: usize| values[0]),
            Values::Int(values) => find!(|row: usize| values[row]),
            Values::Wide(values) => find!(|row: usize| values[by.at(row)]),
            // What is no number is greater than all numbers.
            Values::Float(values) => find!(|row: usize| {
                let value = values[by.at(row)];
                (value.is_nan(), value)
            }),
            Values::Text(codes, dictionary) => {
                let ranks = dictionary.ranks();
                find!(|row: usize| ranks[codes[by.at(row)] as usize]);
            }
        }
        Ok(self.argument.full(total).take(&best))
    }

    /// Rows of each group, in the order of the argument's values.
    fn sorted(&self) -> Vec<Vec<u32>> {
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); self.groups.len()];
        self.each(|group, row| members[group].push(row as u32));
        for rows in &mut members {
            let values = self.argument.take(rows);
            let key = SortKey { column: &values, descending: false, nulls_first: false };
            let order = keys::order(&[key], rows.len(), None);
            *rows = order.into_iter().map(|at| rows[at as usize]).collect();
        }
        members
    }

    fn quantile(&self, share: f64, between: bool) -> Result<Column> {
        let members = self.sorted();
        if !between {
            let at = |rows: &Vec<u32>| {
                let place = (share * rows.len() as f64).ceil() as usize;
                rows.get(place.max(1) - 1).copied().unwrap_or(NO_ROW)
            };
            let index: Vec<u32> = members.iter().map(at).collect();
            return Ok(self.argument.full(self.groups.of.len()).take(&index));
        }
        let values = self.argument.as_floats()?;
        let value = |row: u32| values[self.argument.at(row as usize)];
        let mut valid = Vec::new();
        let of = |rows: &Vec<u32>| {
            valid.push(!rows.is_empty());
            let Some(last) = rows.len().checked_sub(1) else { return 0.0 };
            let place = share * last as f64;
            let (low, high) = (value(rows[place.floor() as usize]), value(rows[place.ceil() as usize]));
            low + (high - low) * place.fract()
        };
        let out = members.iter().map(of).collect();
        Ok(Column::floats(out, None).with_valid(Some(valid)))
    }

    fn variance(&self, sample: bool, root: bool) -> Result<Column> {
        let values = self.argument.as_floats()?;
        let counts = self.counts();
        let sums = self.float_sums()?;
        let means: Vec<f64> = sums.iter().zip(&counts).map(|(sum, &count)| sum / count.max(1) as f64).collect();
        // In two passes: times since 1970 have no digits left for a sum of squares.
        let mut squares = vec![0.0; self.groups.len()];
        self.each(|group, row| squares[group] += (values[self.argument.at(row)] - means[group]).powi(2));
        let least = if sample { 2 } else { 1 };
        let of = |(square, &count): (f64, &i64)| {
            let variance = square / (count - least + 1).max(1) as f64;
            if root { variance.sqrt() } else { variance }
        };
        let out = squares.into_iter().zip(&counts).map(of).collect();
        Ok(Column::floats(out, None).with_valid(Some(counts.iter().map(|&count| count >= least).collect())))
    }
}
