//! Sums over sampled call stacks, for every format that holds such.

use crate::demangle::readable;
use crate::trace::summaries::{SampleProfile, SampleRow, Weight};
use hashbrown::HashMap;

/// Adds up samples; functions are numbered by whoever calls this.
#[derive(Default)]
pub struct Samples {
    rows: Vec<SampleRow>,
    /// The last sample that each function was on: a recursive function counts once.
    last: Vec<u64>,
    stacks: u64,
    samples: u64,
    total: i128,
}

impl Samples {
    /// Adds a function and returns its number.
    pub fn function(&mut self, name: String) -> usize {
        self.rows.push(SampleRow { name, ..SampleRow::default() });
        self.last.push(0);
        self.rows.len() - 1
    }

    /// Adds `samples` samples of one stack, functions from the outermost, of this weight together.
    pub fn add(&mut self, stack: impl DoubleEndedIterator<Item = usize>, samples: u64, weight: i128) {
        // Stacks are numbered from 1, so that no function has been on the 0th.
        self.stacks += 1;
        let number = self.stacks;
        self.samples = self.samples.saturating_add(samples);
        self.total = self.total.saturating_add(weight);
        let mut innermost = true;
        for function in stack.rev() {
            let Some(row) = self.rows.get_mut(function) else { continue };
            if std::mem::take(&mut innermost) {
                row.own = row.own.saturating_add(weight);
            }
            if std::mem::replace(&mut self.last[function], number) != number {
                row.total = row.total.saturating_add(weight);
                row.samples = row.samples.saturating_add(samples);
            }
        }
    }

    /// The sums; functions that were on no stack are left out.
    pub fn finish(mut self, name: String, weight: Weight) -> SampleProfile {
        self.rows.retain(|row| row.samples > 0);
        SampleProfile { name, weight, samples: self.samples, total: self.total, rows: self.rows }
    }
}

/// Functions by name.
#[derive(Default)]
pub struct ByName {
    index: HashMap<Box<[u8]>, usize>,
}

impl ByName {
    /// The number of the function called so, new or known.
    pub fn number(&mut self, name: &[u8], samples: &mut Samples) -> usize {
        if let Some(&known) = self.index.get(name) {
            return known;
        }
        let number = samples.function(readable(name).into_owned());
        self.index.insert(name.into(), number);
        number
    }
}
