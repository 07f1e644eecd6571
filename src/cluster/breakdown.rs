//! What of each GPU's time was idle, computation, communication and copies, and how much of these ran at once.
//!
//! Each piece of work is an event where it begins and one where it ends. Between two moments of a device nothing changes, so that
//! its time is a sum over such stretches, each with the number of pieces of each class that run.

use super::{Dataset, Report, whole};
use crate::analysis::activity::WORK_TABLES;
use crate::analysis::overlap::Breakdown;
use crate::error::Result;
use crate::render::table::Table;
use crate::report::views::from_sums;
use serde_json::Value;
use std::collections::BTreeMap;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// `gpu_time_breakdown`.
pub(super) struct TimeBreakdown;

/// The class of the work in a table: a condition on kernels' names tells communication, as [`crate::analysis::work_class`] does.
fn class(table: &TableSpec) -> &'static str {
    match table {
        table if *table == tables::KERNEL => {
            "CASE WHEN (startswith(regexp_replace(name, '^void ', ''), 'nccl') AND contains(name, 'Kernel')) \
             OR startswith(regexp_replace(name, '^void ', ''), 'rccl') THEN 'communication' ELSE 'computation' END AS class"
        }
        table if *table == tables::GRAPH => "'computation' AS class",
        _ => "'memory' AS class",
    }
}

/// One GPU that several processes use is one device: that of the first process that knows it by its UUID.
fn places(dataset: &Dataset) -> String {
    if !dataset.has(tables::DEVICE.name) {
        let none = "CAST(0 AS BIGINT)";
        return format!(
            "SELECT {none} AS process, {none} AS device, named_struct('process', {none}, 'device', {none}) AS first WHERE false"
        );
    }
    format!(
        "SELECT d.process, d.device, CASE WHEN d.uuid IS NULL THEN named_struct('process', d.process, 'device', d.device)
      ELSE min(named_struct('process', d.process, 'device', d.device)) OVER (PARTITION BY h.host, d.uuid) END AS first
    FROM `device` d LEFT JOIN ({}) h ON d.process = h.process",
        dataset.hosts()
    )
}

impl Report for TimeBreakdown {
    fn name(&self) -> &'static str {
        "gpu_time_breakdown"
    }

    fn tables(&self) -> Vec<&'static str> {
        WORK_TABLES.iter().copied().chain([&tables::DEVICE]).map(|table| table.name).collect()
    }

    fn queries(&self, dataset: &Dataset) -> Vec<String> {
        let Some(work) = dataset.work(class) else { return Vec::new() };
        vec![format!(
            "WITH work AS (
    {work}
  ),
  placed AS (
    SELECT coalesce(p.first.process, w.process) AS process, coalesce(p.first.device, w.device) AS device, w.start_ns, w.end_ns, w.class
    FROM work w LEFT JOIN ({places}) p ON w.process = p.process AND w.device = p.device
  ),
  events AS (
    SELECT process, device, start_ns AS at_ns, class, 1 AS more FROM placed
    UNION ALL SELECT process, device, end_ns, class, -1 FROM placed
  ),
  moments AS (
    SELECT process, device, at_ns,
      sum(CASE WHEN class = 'computation' THEN more ELSE 0 END) AS computation,
      sum(CASE WHEN class = 'communication' THEN more ELSE 0 END) AS communication,
      sum(CASE WHEN class = 'memory' THEN more ELSE 0 END) AS memory
    FROM events GROUP BY process, device, at_ns
  ),
  stretches AS (
    SELECT process, device, at_ns,
      lead(at_ns) OVER (PARTITION BY process, device ORDER BY at_ns) - at_ns AS ns,
      sum(computation) OVER (PARTITION BY process, device ORDER BY at_ns ROWS UNBOUNDED PRECEDING) AS computation,
      sum(communication) OVER (PARTITION BY process, device ORDER BY at_ns ROWS UNBOUNDED PRECEDING) AS communication,
      sum(memory) OVER (PARTITION BY process, device ORDER BY at_ns ROWS UNBOUNDED PRECEDING) AS memory
    FROM moments
  )
SELECT to_json(named_struct(
  'process', process, 'device', device, 'span', max(at_ns) - min(at_ns),
  'compute', sum(CASE WHEN computation > 0 THEN ns ELSE 0 END),
  'non_compute', sum(CASE WHEN computation = 0 AND communication + memory > 0 THEN ns ELSE 0 END),
  'communication', sum(CASE WHEN communication > 0 THEN ns ELSE 0 END),
  'hidden_communication', sum(CASE WHEN communication > 0 AND computation > 0 THEN ns ELSE 0 END),
  'memory', sum(CASE WHEN memory > 0 THEN ns ELSE 0 END),
  'hidden_memory', sum(CASE WHEN memory > 0 AND computation + communication > 0 THEN ns ELSE 0 END),
  'kernels', sum(CASE WHEN computation + communication > 0 THEN ns ELSE 0 END),
  'concurrent', sum(CASE WHEN computation + communication > 1 THEN ns ELSE 0 END))) AS row
FROM stretches GROUP BY process, device",
            places = places(dataset),
        )]
    }

    fn table(&self, dataset: &Dataset, answers: Vec<Vec<Value>>) -> Result<Table> {
        let mut devices = BTreeMap::new();
        for row in answers.into_iter().flatten() {
            let ns = |key: &str| whole::<i64>(&row, key);
            let (span_ns, compute_ns, non_compute_ns) = (ns("span")?, ns("compute")?, ns("non_compute")?);
            let breakdown = Breakdown {
                span_ns,
                idle_ns: span_ns.saturating_sub(compute_ns).saturating_sub(non_compute_ns),
                compute_ns,
                non_compute_ns,
                communication_ns: ns("communication")?,
                hidden_communication_ns: ns("hidden_communication")?,
                memory_ns: ns("memory")?,
                hidden_memory_ns: ns("hidden_memory")?,
                kernels_ns: ns("kernels")?,
                concurrent_ns: ns("concurrent")?,
            };
            let place: (u32, u32) = (whole(&row, "process")?, whole(&row, "device")?);
            devices.insert(place, breakdown);
        }
        let rows = devices.into_iter().map(|((process, device), of)| (dataset.pid(process), device, of));
        Ok(from_sums::time_breakdown(rows.collect()))
    }
}
