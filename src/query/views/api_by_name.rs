//! API calls summed by name.

use super::columns::{STATISTICS, count, frame, statistics, text, texts};
use crate::analysis::labels::Labels;
use crate::analysis::stats::{Stats, Wanted};
use crate::demangle::Demangling;
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace};
use crate::trace::select::Filter;
use hashbrown::HashMap;
use polars::prelude::{Column, DataFrame};
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::api;
use trace_format::vocabulary::api_domain;

/// The view.
pub struct ApiByName;

/// Calls with one name id: their durations and how many failed.
type Group = (Stats, i64);

impl Source for ApiByName {
    fn name(&self) -> &'static str {
        "api_by_name"
    }
    fn doc(&self) -> &'static str {
        "Calls of the CUDA runtime and driver API by name, the longest total first."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        let own = [
            text("name", "Name of the call, without version suffix."),
            text("domain", "`runtime`, `driver`, or both."),
            count("failed", "How many returned something other than success."),
        ];
        [&own[..], &STATISTICS].concat()
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        vec![&tables::API]
    }
    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let labels = Labels::new(&trace.frames, Demangling::On);
        let by_id = trace.frames.fold(
            &tables::API,
            &[api::DURATION_NS, api::NAME_ID, api::DOMAIN, api::RESULT],
            &Filter::everything(),
            HashMap::new,
            |groups: &mut HashMap<(u32, u32), Group>, batch| {
                let (duration, name) = (batch.get(api::DURATION_NS), batch.get(api::NAME_ID));
                let (domain, result) = (batch.get(api::DOMAIN), batch.get(api::RESULT));
                batch.for_each_row(|i| {
                    let key = (name.get(i).unwrap_or(0), domain.get(i).unwrap_or(0));
                    let group = groups.entry(key).or_default();
                    group.1 += i64::from(result.get(i).is_some_and(|code| code != 0));
                    if let Some(ns) = duration.get(i) {
                        group.0.add(ns, Wanted { quantiles: true });
                    }
                });
            },
            |a, b| {
                for (key, (stats, failed)) in b {
                    let group = a.entry(key).or_default();
                    group.0.merge(stats);
                    group.1 += failed;
                }
            },
        )?;
        // Versions of a call, and calls of the same name in both APIs, are one row.
        let mut by_name: HashMap<&str, (Group, u32)> = HashMap::new();
        for ((name, domain), (stats, failed)) in by_id {
            let (group, domains) = by_name.entry(labels.api(name)).or_default();
            group.0.merge(stats);
            group.1 += failed;
            *domains |= if domain == api_domain::RUNTIME { 1 } else { 2 };
        }
        let mut rows: Vec<_> = by_name.into_iter().collect();
        rows.sort_unstable_by(|a, b| b.1.0.0.total_ns.cmp(&a.1.0.0.total_ns).then(a.0.cmp(b.0)));
        let [runtime, driver] =
            [api_domain::RUNTIME, api_domain::DRIVER].map(|domain| api_domain::VOCABULARY.text(domain));
        let both = format!("{runtime}, {driver}");
        let domains = rows.iter().map(|row| match row.1.1 {
            1 => &*runtime,
            2 => &*driver,
            _ => &*both,
        });
        let mut columns = vec![
            texts("name", rows.iter().map(|row| row.0)),
            texts("domain", domains),
            Column::new("failed".into(), rows.iter().map(|row| row.1.0.1).collect::<Vec<i64>>()),
        ];
        let mut stats: Vec<Stats> = rows.into_iter().map(|row| row.1.0.0).collect();
        columns.extend(statistics(&mut stats));
        frame(stats.len(), columns)
    }
}
