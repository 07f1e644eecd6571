//! Summaries: what was called the same, added up.

use super::{Dataset, Report, whole};
use crate::analysis::stats::Stats;
use crate::error::Result;
use crate::render::table::Table;
use crate::report::views::from_sums;
use serde_json::Value;
use trace_format::tables;

/// A summary: one query per table, whose column `key` tells rows apart.
pub(super) struct Summary {
    name: &'static str,
    /// Tables, what rows of each are told apart by, and which rows of it count beside all that have a duration.
    of: &'static [(&'static str, &'static str, &'static str)],
    /// The table of the groups: table, key and sums of each.
    make: fn(Vec<(&'static str, Value, Stats)>) -> Table,
}

/// `cuda_gpu_kern_sum`.
pub(super) static KERNELS: Summary = Summary {
    name: "cuda_gpu_kern_sum",
    of: &[(tables::KERNEL.name, "name", "true")],
    make: |groups| from_sums::kernels(named(groups)),
};

/// `cuda_api_sum`.
pub(super) static CALLS: Summary = Summary {
    name: "cuda_api_sum",
    of: &[(tables::API.name, "name", "true")],
    make: |groups| from_sums::api_calls(named(groups)),
};

/// `cuda_gpu_mem_time_sum`.
pub(super) static MEMORY: Summary = Summary {
    name: "cuda_gpu_mem_time_sum",
    // Fills are all called the same.
    of: &[
        (tables::MEMCPY.name, "kind", "true"),
        (tables::MEMSET.name, "0", "true"),
        (tables::UVM.name, "kind", "true"),
    ],
    make: |groups| {
        let kind = |key: &Value| key.as_u64().and_then(|kind| u32::try_from(kind).ok()).unwrap_or(0);
        from_sums::memory(groups.into_iter().map(|(table, key, stats)| (table, kind(&key), stats)).collect())
    },
};

/// `nvtx_sum`.
pub(super) static RANGES: Summary = Summary {
    name: "nvtx_sum",
    of: &[(
        tables::RANGE.name,
        "named_struct('style', coalesce(style, 0), 'domain', coalesce(domain_name, ''), 'name', coalesce(raw_name, ''))",
        // Push/pop, start/end, operators and annotations: marks are moments, and functions of Python are calls.
        "coalesce(style, 0) IN (0, 1, 3, 4)",
    )],
    make: |groups| {
        let text = |key: &Value, of: &str| key[of].as_str().unwrap_or_default().to_owned();
        let style = |key: &Value| key["style"].as_u64().and_then(|style| u32::try_from(style).ok()).unwrap_or(0);
        let range = |(_, key, stats): (&str, Value, Stats)| {
            (style(&key), format!("{}:{}", text(&key, "domain"), text(&key, "name")), stats)
        };
        from_sums::ranges(groups.into_iter().map(range).collect())
    },
};

fn named(groups: Vec<(&'static str, Value, Stats)>) -> Vec<(String, Stats)> {
    groups.into_iter().map(|(_, key, stats)| (key.as_str().unwrap_or_default().to_owned(), stats)).collect()
}

/// Sums of the durations of a table by `key`. What does not fit into 64 bits comes as text.
fn query(table: &str, key: &str, condition: &str) -> String {
    format!(
        "SELECT to_json(named_struct(
  'key', key, 'count', count(*), 'total', CAST(sum(CAST(ns AS DECIMAL(20, 0))) AS STRING),
  'squares', CAST(sum(CAST(ns AS DECIMAL(19, 0)) * CAST(ns AS DECIMAL(19, 0))) AS STRING),
  'min', min(ns), 'max', max(ns), 'median_times_2', CAST(2 * percentile(ns, 0.5) AS BIGINT))) AS row
FROM (SELECT {key} AS key, duration_ns AS ns FROM `{table}` WHERE duration_ns IS NOT NULL AND {condition})
GROUP BY key"
    )
}

impl Report for Summary {
    fn name(&self) -> &'static str {
        self.name
    }

    fn tables(&self) -> Vec<&'static str> {
        self.of.iter().map(|(table, ..)| *table).collect()
    }

    fn queries(&self, dataset: &Dataset) -> Vec<String> {
        self.of
            .iter()
            .filter(|(table, ..)| dataset.has(table))
            .map(|(table, key, condition)| query(table, key, condition))
            .collect()
    }

    fn table(&self, dataset: &Dataset, answers: Vec<Vec<Value>>) -> Result<Table> {
        let asked = self.of.iter().filter(|(table, ..)| dataset.has(table));
        let mut groups = Vec::new();
        for ((table, ..), rows) in asked.zip(answers) {
            for row in rows {
                let stats = Stats::of_sums(
                    whole(&row, "count")?,
                    whole(&row, "total")?,
                    whole(&row, "squares")?,
                    (whole(&row, "min")?, whole(&row, "max")?),
                    whole(&row, "median_times_2")?,
                );
                groups.push((*table, row["key"].clone(), stats));
            }
        }
        Ok((self.make)(groups))
    }
}
