//! Why the slowest steps are slow: what took longer in them than in the median step.

use super::{ProcessSteps, Step};
use crate::analysis::gap_causes::{Gap, GapFinder};
use crate::analysis::in_time::{self, Call, InTime, Work};
use crate::analysis::labels::Labels;
use crate::error::Result;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Steps of each process that are explained.
const EXPLAINED: usize = 5;

/// Differences of each kind that are given for a step.
const GIVEN: usize = 5;

/// What takes time in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Work of the GPU.
    Work,
    /// Idle time of the GPU, by cause.
    Gap,
    /// Calls of the CUDA API that are in no other call.
    Call,
}

impl Kind {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Work => "GPU work",
            Kind::Gap => "GPU idle",
            Kind::Call => "API call",
        }
    }
}

/// How often, and how long together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How often.
    pub count: u64,
    /// How long.
    pub ns: i64,
}

impl Sum {
    fn add(&mut self, ns: i64) {
        self.count += 1;
        self.ns = self.ns.saturating_add(ns);
    }
}

/// Something that took longer in a step than in the median one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What kind of thing.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// In the step.
    pub here: Sum,
    /// In the median step.
    pub median: Sum,
}

impl Difference {
    /// How much longer.
    pub fn ns(&self) -> i64 {
        self.here.ns.saturating_sub(self.median.ns)
    }
}

/// A slow step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slow {
    /// Position of its process in what was found.
    pub process: usize,
    /// Its number.
    pub step: usize,
    /// The number of the step that it is compared with.
    pub median: usize,
    /// What took longer, by kind, the largest difference of each first.
    pub differences: Vec<Difference>,
}

/// The slowest steps behind the warm-up of each process that are slower than its median step, the slowest first.
///
/// The median step is one whose length is the median; of two middle ones the shorter one. What takes longer is given for each kind
/// apart: kernels and other work that a step launched, by name, their durations added up; idle time between its start and its end, by
/// cause; calls that began in it, on all threads. Kinds overlap in time, so that nothing is added up over them.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn slow_steps(labels: &Labels, filter: &Filter, found: &[ProcessSteps]) -> Result<Vec<Slow>> {
    let mut slow = Vec::new();
    let mut slots: HashMap<(usize, usize), usize> = HashMap::new();
    for (process, steps) in found.iter().enumerate() {
        let mut order: Vec<(i64, usize)> = (0..).zip(&steps.steps).filter_map(steady).collect();
        order.sort_unstable();
        let Some(&(median_ns, median)) = order.get(order.len().saturating_sub(1) / 2) else { continue };
        order.retain(|(wall_ns, _)| *wall_ns > median_ns);
        order.sort_unstable_by_key(|&(wall_ns, step)| (Reverse(wall_ns), step));
        for &(_, step) in order.iter().take(EXPLAINED) {
            slow.push(Slow { process, step, median, differences: Vec::new() });
            for step in [step, median] {
                let next = slots.len();
                slots.entry((process, step)).or_insert(next);
            }
        }
    }
    if slow.is_empty() {
        return Ok(slow);
    }
    let mut pass = Pass {
        labels,
        finder: GapFinder::new(labels.frames(), filter)?,
        processes: found.iter().enumerate().map(|(at, steps)| (steps.process, at)).collect(),
        found,
        sums: vec![BTreeMap::new(); slots.len()],
        slots,
        outermost: HashMap::new(),
    };
    in_time::visit(labels.frames(), filter, &mut pass)?;
    for slow in &mut slow {
        let [here, median] = [slow.step, slow.median].map(|step| &pass.sums[pass.slots[&(slow.process, step)]]);
        slow.differences = differences(here, median);
    }
    Ok(slow)
}

/// A step behind the warm-up, as length and number.
fn steady((number, step): (usize, &Step)) -> Option<(i64, usize)> {
    (!step.is_warm_up).then(|| (step.wall_ns(), number))
}

/// Sums of one step.
type Sums<'l> = BTreeMap<(Kind, &'l str), Sum>;

fn differences(here: &Sums, median: &Sums) -> Vec<Difference> {
    let difference = |(&(kind, name), &here): (&(Kind, &str), &Sum)| {
        let median = median.get(&(kind, name)).copied().unwrap_or_default();
        Difference { kind, name: name.to_owned(), here, median }
    };
    let mut all: Vec<Difference> = here.iter().map(difference).filter(|difference| difference.ns() > 0).collect();
    // Names of a kind are in order, and the sort keeps it among equal differences.
    all.sort_by_key(|difference| (difference.kind, Reverse(difference.ns())));
    let mut given: HashMap<Kind, usize> = HashMap::new();
    all.retain(|difference| {
        let given = given.entry(difference.kind).or_default();
        *given += 1;
        *given <= GIVEN
    });
    all
}

/// The pass over everything.
struct Pass<'a> {
    labels: &'a Labels<'a>,
    finder: GapFinder<'a>,
    found: &'a [ProcessSteps],
    /// Positions in `found`.
    processes: HashMap<u32, usize>,
    /// By process and step, the position of its sums.
    slots: HashMap<(usize, usize), usize>,
    sums: Vec<Sums<'a>>,
    /// When the last call of each thread that is in no other ends.
    outermost: HashMap<(u32, u32), i64>,
}

impl<'a> Pass<'a> {
    fn sum(&mut self, process: usize, step: usize, kind: Kind, name: &'a str) -> Option<&mut Sum> {
        let slot = *self.slots.get(&(process, step))?;
        Some(self.sums[slot].entry((kind, name)).or_default())
    }

    fn gap(&mut self, gap: &Gap) {
        let Some(&process) = self.processes.get(&gap.after.process) else { return };
        let mut parts = Vec::new();
        self.found[process].spread(gap.start_ns, gap.end_ns, |step, ns| parts.push((step, ns)));
        for (step, ns) in parts {
            if let Some(sum) = self.sum(process, step, Kind::Gap, gap.cause.name()) {
                sum.add(ns);
            }
        }
    }
}

impl InTime for Pass<'_> {
    fn call(&mut self, call: &Call) {
        self.finder.call(call);
        let end_ns = self.outermost.entry((call.process, call.tid)).or_insert(i64::MIN);
        if call.end_ns <= *end_ns {
            return;
        }
        *end_ns = call.end_ns;
        let Some(&process) = self.processes.get(&call.process) else { return };
        let Some(step) = self.found[process].at(call.start_ns) else { return };
        if self.slots.contains_key(&(process, step)) {
            let name = self.labels.api(call.name);
            if let Some(sum) = self.sum(process, step, Kind::Call, name) {
                sum.add(call.end_ns.saturating_sub(call.start_ns));
            }
        }
    }

    fn work(&mut self, work: &Work) {
        let seen = self.finder.work(work);
        if let Some(gap) = &seen.gap {
            self.gap(gap);
        }
        let Some(&process) = self.processes.get(&work.process) else { return };
        let Some(step) = self.found[process].of_work(work, seen.launch) else { return };
        if self.slots.contains_key(&(process, step)) {
            let name = work.kind.name(self.labels);
            if let Some(sum) = self.sum(process, step, Kind::Work, name) {
                sum.add(work.duration_ns());
            }
        }
    }
}
