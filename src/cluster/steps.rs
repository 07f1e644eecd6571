//! Steps that programs mark with ranges called like steps.
//!
//! Spark sends the ranges that may be steps with whatever encloses them, and what the GPUs did meanwhile. Which of the ranges are the
//! steps is decided here, as of traces that are read here.

use super::{Dataset, Report, whole};
use crate::analysis::activity::WORK_TABLES;
use crate::analysis::call_class::{ALLOCATING, LOADING, WAITING};
use crate::analysis::ranges::Range;
use crate::analysis::steps::names::STEPS;
use crate::analysis::steps::{ProcessSteps, Source, Step, mark_warm_up, ranges::step_ranges};
use crate::error::Result;
use crate::render::table::Table;
use crate::report::views::from_sums;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::vocabulary::range_style::{ANNOTATION, OPERATOR, PUSH_POP, START_END};

/// A view of steps.
pub(super) struct Steps {
    name: &'static str,
    /// The table of the steps of all processes, with the names of ranges by number.
    make: fn(&Dataset, &[ProcessSteps], &[String]) -> Table,
}

/// `steps`.
pub(super) static EACH: Steps = Steps {
    name: "steps",
    make: |dataset, steps, names| {
        let listed_ns = |process: u32, ns: i64| dataset.listed_ns(process, ns);
        from_sums::steps(steps, |process| dataset.pid(process), listed_ns, |name| &names[name as usize])
    },
};

/// `steps_sum`.
pub(super) static SUMMARY: Steps = Steps {
    name: "steps_sum",
    make: |dataset, steps, _| from_sums::steps_sum(steps, |process| dataset.pid(process)),
};

/// A pattern as SQL has it, whose backslashes are its own.
fn pattern(pattern: &str) -> String {
    super::dataset::quoted(pattern)
}

/// Ranges with possible times that nest, and whether each is called like a step. One that was written while it was open and again when
/// it was closed counts once.
fn marked() -> String {
    let text = "coalesce(raw_name, '')";
    let folded = format!("regexp_replace({text}, '[0-9]+', '*')");
    let bare = format!(
        "lower(regexp_replace({folded}, {}, ''))",
        pattern(r"^[^\p{IsAlphabetic}\p{N}]+|[^\p{IsAlphabetic}\p{N}]+$")
    );
    let steps = STEPS.map(super::dataset::quoted).join(", ");
    format!(
        "SELECT process, coalesce(tid, 0) AS tid, coalesce(style, 0) AS style, coalesce(domain_name, '') AS domain, {text} AS name,
      {folded} AS folded, start_ns, end_ns, coalesce(end_ns, {last}) AS last_ns, {bare} IN ({steps}) AS is_named
    FROM `range` r LEFT ANTI JOIN (
      SELECT c.process AS p, c.range_id AS id FROM `range` c JOIN (SELECT process, range_id FROM `range` WHERE end_ns IS NULL AND range_id <> 0) o
      ON c.process = o.process AND c.range_id = o.range_id WHERE c.end_ns IS NOT NULL
    ) closed ON r.end_ns IS NULL AND r.process = closed.p AND r.range_id = closed.id
    WHERE start_ns IS NOT NULL AND (end_ns IS NULL OR end_ns >= start_ns)
      AND coalesce(style, 0) IN ({PUSH_POP}, {START_END}, {OPERATOR}, {ANNOTATION})",
        last = i64::MAX,
    )
}

/// Ranges that are called like steps, and all that such a range begins in: what encloses it is among them.
fn candidates() -> String {
    format!(
        "WITH marked AS (
    {}
  )
SELECT to_json(named_struct('process', process, 'tid', tid, 'style', style, 'domain', domain, 'name', name,
  'start', start_ns, 'end', end_ns)) AS row
FROM (
  SELECT *, min(CASE WHEN is_named THEN start_ns END) OVER (PARTITION BY process, tid ORDER BY start_ns, last_ns DESC
    ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS next_ns
  FROM marked
) WHERE next_ns <= last_ns",
        marked()
    )
}

/// The condition that a call launches work, by its name: as [`crate::analysis::call_class::CallClass::of`] has it.
fn launches() -> String {
    let list =
        |names: &[&str]| names.iter().map(|name| super::dataset::quoted(name)).collect::<Vec<_>>().join(", ");
    let begins = |names: &[&str]| {
        let each = names.iter().map(|name| format!("startswith(name, {})", super::dataset::quoted(name)));
        each.collect::<Vec<_>>().join(" OR ")
    };
    format!(
        "CASE WHEN name IN ({}) THEN false
        WHEN contains(name, 'Memcpy') OR contains(name, 'Memset') THEN true
        WHEN contains(name, 'Launch') AND NOT contains(name, 'HostFunc') THEN true
        WHEN ({}) AND NOT contains(name, 'Async') THEN false
        ELSE NOT ({}) END",
        list(&WAITING),
        begins(&ALLOCATING),
        begins(&LOADING)
    )
}

/// The number of a table of work among the counts of a step, as a column, and what joins it with the call that launched it.
fn kind(table: &TableSpec) -> &'static str {
    match table {
        table if *table == tables::KERNEL => "0 AS kind, correlation",
        table if *table == tables::MEMCPY => "1 AS kind, correlation",
        table if *table == tables::MEMSET => "2 AS kind, correlation",
        _ => "3 AS kind, correlation",
    }
}

/// What the GPUs did in each range that is called like a step and lies in no other of its name and thread: what was launched in it, and
/// how long they had work.
fn measured(dataset: &Dataset) -> Option<String> {
    let work = dataset.work(kind)?;
    let launch = match dataset.has(tables::API.name) {
        true => format!(
            "SELECT w.*, coalesce(l.start_ns, w.start_ns) AS counted_ns FROM work w LEFT JOIN (
      SELECT process, correlation, min(start_ns) AS start_ns FROM `api`
      WHERE start_ns IS NOT NULL AND duration_ns IS NOT NULL AND correlation <> 0 AND {}
      GROUP BY process, correlation
    ) l ON w.process = l.process AND w.correlation = l.correlation AND l.start_ns <= w.start_ns",
            launches()
        ),
        false => "SELECT *, start_ns AS counted_ns FROM work".to_owned(),
    };
    // Of each group of ranges, as of a process: work of the process counts in each of its groups.
    let group = "process, tid, domain, folded";
    let of_group = "g.process, g.tid, g.domain, g.folded";
    let step = "named_struct('from_ns', from_ns, 'to_ns', to_ns)";
    let mut sums = String::new();
    for kind in 0..4 {
        let _ = write!(sums, ", 'count_{kind}', sum(CASE WHEN kind = {kind} THEN 1 ELSE 0 END)");
    }
    Some(format!(
        "WITH marked AS (
    {marked}
  ),
  steps AS (
    SELECT {group}, start_ns AS from_ns, end_ns AS to_ns FROM (
      SELECT *, max(end_ns) OVER (PARTITION BY {group} ORDER BY start_ns, end_ns DESC
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
      FROM marked WHERE is_named AND end_ns IS NOT NULL
    ) WHERE before_ns IS NULL OR end_ns > before_ns
  ),
  groups AS (SELECT DISTINCT {group} FROM steps),
  work AS (
    {work}
  ),
  launched AS (
    {launch}
  ),
  counted AS (
    SELECT {group}, step, kind, ns FROM (
      SELECT {group}, kind, ns, at_ns, last_value(step, true) OVER (PARTITION BY {group} ORDER BY at_ns, is_work
        ROWS UNBOUNDED PRECEDING) AS step
      FROM (
        SELECT {group}, from_ns AS at_ns, 0 AS is_work, {step} AS step, NULL AS kind, NULL AS ns FROM steps
        UNION ALL
        SELECT {of_group}, l.counted_ns, 1, NULL, l.kind, l.end_ns - l.start_ns FROM launched l JOIN groups g ON l.process = g.process
      )
    ) WHERE kind IS NOT NULL AND at_ns < step.to_ns
  ),
  moments AS (
    SELECT {group}, device, at_ns, sum(more) AS more, max(step) AS step FROM (
      SELECT {of_group}, w.device, w.start_ns AS at_ns, 1 AS more, NULL AS step FROM work w JOIN groups g ON w.process = g.process
      UNION ALL
      SELECT {of_group}, w.device, w.end_ns, -1, NULL FROM work w JOIN groups g ON w.process = g.process
      UNION ALL
      SELECT s.process, s.tid, s.domain, s.folded, d.device, s.at_ns, 0, s.step FROM (
        SELECT {group}, from_ns AS at_ns, {step} AS step FROM steps
        UNION ALL SELECT {group}, to_ns, NULL FROM steps
      ) s JOIN (SELECT DISTINCT process, device FROM work) d ON s.process = d.process
    ) GROUP BY {group}, device, at_ns
  ),
  stretches AS (
    SELECT {group}, at_ns,
      lead(at_ns) OVER (PARTITION BY {group}, device ORDER BY at_ns) - at_ns AS ns,
      sum(more) OVER (PARTITION BY {group}, device ORDER BY at_ns ROWS UNBOUNDED PRECEDING) AS running,
      last_value(step, true) OVER (PARTITION BY {group}, device ORDER BY at_ns ROWS UNBOUNDED PRECEDING) AS step
    FROM moments
  ),
  parts AS (
    SELECT {group}, step, kind, CASE WHEN kind = 0 THEN ns ELSE 0 END AS kernel_ns, 0 AS busy_ns FROM counted
    UNION ALL
    SELECT {group}, step, NULL, 0, ns FROM stretches WHERE running > 0 AND at_ns < step.to_ns
  )
SELECT to_json(named_struct('process', process, 'tid', tid, 'domain', domain, 'folded', folded, 'from', step.from_ns, 'to', step.to_ns,
  'busy', sum(busy_ns), 'kernel_ns', sum(kernel_ns){sums})) AS row
FROM parts GROUP BY {group}, step",
        marked = marked(),
    ))
}

/// Kernels and GPUs of each process.
fn processes(dataset: &Dataset) -> Option<String> {
    let work = dataset.work(kind)?;
    Some(format!(
        "SELECT to_json(named_struct('process', process, 'gpus', count(DISTINCT device), 'kernels', sum(CASE WHEN kind = 0 THEN 1 ELSE 0 END))) AS row
FROM (
    {work}
) GROUP BY process"
    ))
}

impl Report for Steps {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tables(&self) -> Vec<&'static str> {
        WORK_TABLES.iter().copied().chain([&tables::API, &tables::RANGE]).map(|table| table.name).collect()
    }

    fn queries(&self, dataset: &Dataset) -> Vec<String> {
        let has_ranges = dataset.has(tables::RANGE.name);
        let of_ranges = [has_ranges.then(candidates), has_ranges.then(|| measured(dataset)).flatten()];
        of_ranges.into_iter().chain([processes(dataset)]).flatten().collect()
    }

    fn table(&self, dataset: &Dataset, answers: Vec<Vec<Value>>) -> Result<Table> {
        let mut answers = answers.into_iter();
        let has_ranges = dataset.has(tables::RANGE.name);
        let has_work = dataset.work(kind).is_some();
        let mut next = |was_asked: bool| if was_asked { answers.next().unwrap_or_default() } else { Vec::new() };
        let (candidates, measured, processes) = (next(has_ranges), next(has_ranges && has_work), next(has_work));
        let mut names = Names::default();
        let mut found = named_steps(&candidates, &mut names)?;
        add_measured(&mut found, &measured)?;
        for row in &processes {
            let process = whole(row, "process")?;
            let steps = found.entry(process).or_insert_with(|| Found {
                group: None,
                steps: ProcessSteps::new(process, Source::OnlyRangesAreLookedFor, Vec::new()),
            });
            steps.steps.gpus = whole(row, "gpus")?;
            let inside: u64 = steps.steps.steps.iter().map(|step| step.counts[0]).sum();
            steps.steps.kernels_outside = whole::<u64>(row, "kernels")?.saturating_sub(inside);
        }
        let mut all: Vec<ProcessSteps> = found.into_values().map(|found| found.steps).collect();
        all.iter_mut().for_each(mark_warm_up);
        Ok((self.make)(dataset, &all, &names.texts))
    }
}

/// Texts of ranges by number.
#[derive(Default)]
struct Names {
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// The steps of a process, and which ranges they are: the thread and the domain.
struct Found {
    group: Option<(u32, String)>,
    steps: ProcessSteps,
}

fn text<'v>(row: &'v Value, key: &str) -> &'v str {
    row[key].as_str().unwrap_or_default()
}

/// The steps of each process that has ranges called like steps.
fn named_steps(candidates: &[Value], names: &mut Names) -> Result<BTreeMap<u32, Found>> {
    let mut ranges = Vec::with_capacity(candidates.len());
    for row in candidates {
        ranges.push(Range {
            start_ns: whole(row, "start")?,
            end_ns: if row["end"].is_null() { None } else { Some(whole(row, "end")?) },
            process: whole(row, "process")?,
            tid: whole(row, "tid")?,
            style: whole(row, "style")?,
            domain: names.number(text(row, "domain")),
            name: names.number(text(row, "name")),
            id: 0,
        });
    }
    ranges.sort_unstable_by_key(|range| {
        (range.start_ns, Reverse(range.last_ns()), range.process, range.tid, range.style, range.domain, range.name)
    });
    let chosen = step_ranges(|name| &names.texts[name as usize], &ranges);
    let mut found = BTreeMap::new();
    for (process, chosen) in chosen {
        if !chosen.is_named {
            continue;
        }
        let step = |&at: &usize| Some(Step::new(Some(ranges[at].name), ranges[at].start_ns, ranges[at].end_ns?));
        let steps = chosen.ranges.iter().filter_map(step).collect();
        let first = chosen.ranges.first().map(|&at| &ranges[at]);
        let group = first.map(|range| (range.tid, names.texts[range.domain as usize].clone()));
        let steps = ProcessSteps::new(process, Source::Ranges(chosen.name), steps);
        found.insert(process, Found { group, steps });
    }
    Ok(found)
}

/// Adds what the GPUs did to the steps that were chosen.
fn add_measured(found: &mut BTreeMap<u32, Found>, measured: &[Value]) -> Result<()> {
    for row in measured {
        let Some(found) = found.get_mut(&whole(row, "process")?) else { continue };
        let (tid, from_ns, to_ns): (u32, i64, i64) = (whole(row, "tid")?, whole(row, "from")?, whole(row, "to")?);
        let is_of_group =
            found.group.as_ref().is_some_and(|group| (group.0, group.1.as_str()) == (tid, text(row, "domain")));
        let is_of_name = matches!(&found.steps.source, Source::Ranges(name) if name == text(row, "folded"));
        if !is_of_group || !is_of_name {
            continue;
        }
        let steps = &mut found.steps.steps;
        let Ok(at) = steps.binary_search_by_key(&(from_ns, to_ns), |step| (step.from_ns, step.to_ns)) else {
            continue;
        };
        let step = &mut steps[at];
        (step.busy_ns, step.kernel_ns) = (whole(row, "busy")?, whole(row, "kernel_ns")?);
        for (kind, count) in step.counts.iter_mut().enumerate() {
            *count = whole(row, &format!("count_{kind}"))?;
        }
    }
    Ok(())
}
