//! Long stretches of time in which a GPU had nothing to do.

use super::{Dataset, Report, whole};
use crate::analysis::activity::WORK_TABLES;
use crate::analysis::low_use::{LEAST_GAP_NS, OF_PROFILER, long_gaps};
use crate::error::Result;
use crate::render::table::Table;
use crate::report::views::from_sums;
use serde_json::Value;
use std::collections::BTreeMap;
use trace_format::tables;

/// `gpu_gaps`. Spark finds the gaps, which are few, and what the profiler itself took meanwhile; whether that explains a gap is
/// decided here.
pub(super) struct Gaps;

/// A query for all gaps; `None`: there is no work.
fn gaps(dataset: &Dataset) -> Option<String> {
    let work = dataset.work(|_| "coalesce(context, 0) AS context")?;
    Some(format!(
        "SELECT process, device, context, until_ns, start_ns FROM (
    SELECT process, device, context, start_ns, max(end_ns) OVER (
      PARTITION BY process, device, context ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS until_ns
    FROM (
    {work}
    )
  ) WHERE start_ns - until_ns >= {LEAST_GAP_NS}"
    ))
}

impl Report for Gaps {
    fn name(&self) -> &'static str {
        "gpu_gaps"
    }

    fn tables(&self) -> Vec<&'static str> {
        WORK_TABLES.iter().copied().chain([&tables::OVERHEAD]).map(|table| table.name).collect()
    }

    fn queries(&self, dataset: &Dataset) -> Vec<String> {
        let Some(gaps) = gaps(dataset) else { return Vec::new() };
        let mut queries = vec![format!(
            "SELECT to_json(named_struct('process', process, 'device', device, 'context', context, 'until', until_ns, 'start', start_ns)) AS row
FROM (\n{gaps}\n)"
        )];
        if dataset.has(tables::OVERHEAD.name) {
            let kinds = OF_PROFILER.map(|kind| kind.to_string()).join(", ");
            queries.push(format!(
                "SELECT DISTINCT to_json(named_struct('process', o.process, 'start', o.start_ns, 'end', o.end_ns)) AS row
FROM `overhead` o JOIN (\n{gaps}\n) g
  ON o.process = g.process AND o.start_ns < g.start_ns AND o.end_ns > g.until_ns
WHERE o.kind IN ({kinds}) AND o.duration_ns IS NOT NULL"
            ));
        }
        queries
    }

    fn table(&self, dataset: &Dataset, answers: Vec<Vec<Value>>) -> Result<Table> {
        let mut answers = answers.into_iter();
        let (gaps, of_profiler) = (answers.next().unwrap_or_default(), answers.next().unwrap_or_default());
        let mut overhead: BTreeMap<u32, Vec<(i64, i64)>> = BTreeMap::new();
        for row in of_profiler {
            overhead.entry(whole(&row, "process")?).or_default().push((whole(&row, "start")?, whole(&row, "end")?));
        }
        let mut found = Vec::new();
        for row in gaps {
            let place: (u32, u32, u32) = (whole(&row, "process")?, whole(&row, "device")?, whole(&row, "context")?);
            let (until, start): (i64, i64) = (whole(&row, "until")?, whole(&row, "start")?);
            let mut around = [(until, until), (start, start)];
            let of_profiler = overhead.get(&place.0).map_or(&[][..], Vec::as_slice);
            found.extend(long_gaps(&mut around, of_profiler).into_iter().map(|gap| (place, gap)));
        }
        let listed_ns = |process: u32, ns: i64| dataset.listed_ns(process, ns);
        Ok(from_sums::gaps(found, |process| dataset.pid(process), listed_ns))
    }
}
