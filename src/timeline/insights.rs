//! What the page says about the trace: the findings of `gpuprof report`, and which rank waited when.

use crate::analysis::insights::{Finding, Insights, TABLES, UNASKED_RECORDS, longest_text};
use crate::analysis::labels::Labels;
use crate::analysis::ranks::Ranks;
use crate::error::Result;
use crate::trace::select::Filter;
use serde_json::{Value, json};

/// The findings; times count from `start_ns`.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub(super) fn insights(labels: &Labels, filter: &Filter, start_ns: i64) -> Result<Value> {
    let records: u64 = TABLES.iter().map(|table| labels.frames().rows(table)).sum();
    if records > UNASKED_RECORDS {
        let why = format!("of {records} records findings take seconds; `gpuprof report --view insights` has them");
        return Ok(json!({ "silence": why, "findings": [], "not_judged": [] }));
    }
    let insights = Insights::of(labels, filter)?;
    let facts = &insights.facts;
    let finding = |finding: &Finding| {
        let (rule, found) = (finding.rule, &finding.found);
        let longest = found.longest.as_ref();
        let evidence = match longest {
            Some(longest) => format!("{}; the longest: {}", found.evidence, longest_text(longest, facts, labels)),
            None => found.evidence.clone(),
        };
        json!({
            "name": rule.name,
            "what": rule.what,
            "gain_ns": found.gain_ns,
            "evidence": evidence,
            "advice": rule.advice,
            "start_ns": longest.map(|longest| longest.start_ns.saturating_sub(start_ns)),
            "duration_ns": longest.map(|longest| longest.end_ns.saturating_sub(longest.start_ns)),
        })
    };
    Ok(json!({
        "observed_ns": facts.observed_ns(),
        "busy_ns": facts.busy_ns(),
        "confidence": insights.confidence.word(),
        "findings": insights.findings.iter().map(finding).collect::<Vec<_>>(),
        "left_out": insights.left_out,
        "not_judged": insights
            .abstentions
            .iter()
            .map(|(rule, why)| json!({ "name": rule.name, "why": why }))
            .collect::<Vec<_>>(),
        "silence": insights.silence,
    }))
}

/// How long each rank waited for the last one in each bin of time; null where there is one rank, or nobody waited.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub(super) fn waits(labels: &Labels, filter: &Filter, start_ns: i64) -> Result<Value> {
    if labels.frames().processes.len() < 2 {
        return Ok(Value::Null);
    }
    let ranks = Ranks::of(labels, filter)?;
    let Some(map) = &ranks.heat_map else { return Ok(Value::Null) };
    if map.waits_ns.iter().flatten().all(|ns| *ns == 0) {
        return Ok(Value::Null);
    }
    let rows = ranks.rows.iter().zip(&map.waits_ns);
    Ok(json!({
        "start_ns": map.from_ns.saturating_sub(start_ns),
        "bin_ns": map.bin_ns,
        "ranks": rows.map(|(rank, waits)| json!({ "number": rank.number, "wait_ns": waits })).collect::<Vec<_>>(),
    }))
}
