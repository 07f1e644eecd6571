//! Insights as people read them below nvprof's tables, and as a table for machines.

use crate::analysis::insights::{Finding, Insights, TABLES, UNASKED_RECORDS, longest_text};
use crate::analysis::labels::Labels;
use crate::error::Result;
use crate::numbers::{counted, grouped, short_time};
use crate::render::table::{Cell, Heading, Table};
use crate::shell;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use std::fmt::Write as _;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// What has to be read.
pub fn need() -> Need {
    let mut need = Need::full(&TABLES);
    need.add(&Need::full(&[&tables::CAPTURE, &tables::LOSS]));
    need
}

/// Whether there is anything to look at: sums that another tool made and profiles of the CPU are no records of GPU work.
pub fn has_work(frames: &Frames) -> bool {
    WORK.iter().any(|table| frames.rows(table) > 0)
}

const WORK: [&TableSpec; 4] = [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH];

/// Whether there are too many records to look at unasked.
pub fn must_be_asked_for(frames: &Frames) -> bool {
    TABLES.iter().map(|table| frames.rows(table)).sum::<u64>() > UNASKED_RECORDS
}

/// The block: the word `Insights` on a line, and what there is to say.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn block(labels: &Labels, filter: &Filter) -> Result<String> {
    let insights = Insights::of(labels, filter)?;
    let paths = paths(labels.frames());
    let mut out = "Insights\n".to_owned();
    if let Some(why) = &insights.silence {
        let _ = writeln!(out, "  Nothing is judged: {why}.");
        return Ok(out);
    }
    let _ = writeln!(out, "  {}", observed(&insights));
    let of = short_time(insights.facts.observed_ns());
    for (number, finding) in (1..).zip(&insights.findings) {
        let _ = write!(
            out,
            "  {number}. {} ({})\n     gain: up to {}, {} % of the {of} observed\n     evidence: {}\n     show: gpuprof query {paths} \
             \"{}\"\n     confidence: {}\n     what to do: {}\n",
            finding.rule.what,
            finding.rule.name,
            short_time(finding.found.gain_ns),
            percent(finding.found.gain_ns, insights.facts.observed_ns()),
            evidence(finding, &insights, labels),
            finding.rule.query,
            confidence(&insights),
            finding.rule.advice
        );
    }
    if insights.left_out > 0 {
        let _ = writeln!(out, "  {} left out.", counted_are(insights.left_out as u64));
    }
    for (rule, why) in &insights.abstentions {
        let _ = writeln!(out, "  {} is not judged: {why}.", rule.name);
    }
    Ok(out)
}

fn counted_are(left_out: u64) -> String {
    format!("{} {}", counted(left_out, "smaller finding"), if left_out == 1 { "is" } else { "are" })
}

/// What was seen, and how much of it was busy.
fn observed(insights: &Insights) -> String {
    let facts = &insights.facts;
    let (observed_ns, busy_ns) = (facts.observed_ns(), facts.busy_ns());
    let share = percent(busy_ns, observed_ns);
    let nothing = if insights.findings.is_empty() { "Nothing was found that would gain 2 % or more. " } else { "" };
    let without = match facts.without_times {
        0 => String::new(),
        n => format!(" {} without valid times in no sum.", counted_records(n)),
    };
    let of = short_time(observed_ns);
    match &facts.devices[..] {
        [one] => format!(
            "{nothing}GPU {} was busy for {share} % of the {of} from its first to its last work.{without}",
            one.place.1
        ),
        many => format!(
            "{nothing}{} GPUs were busy for {share} % of the {of} from the first to the last work of each, added up.{without}",
            many.len()
        ),
    }
}

fn counted_records(records: u64) -> String {
    format!("{} {}", counted(records, "record"), if records == 1 { "is" } else { "are" })
}

fn percent(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return "0.0".to_owned();
    }
    format!("{:.1}", part as f64 * 100.0 / whole as f64)
}

fn evidence(finding: &Finding, insights: &Insights, labels: &Labels) -> String {
    let found = &finding.found;
    match &found.longest {
        Some(longest) => {
            format!("{}; the longest: {}", found.evidence, longest_text(longest, &insights.facts, labels))
        }
        None => found.evidence.clone(),
    }
}

fn confidence(insights: &Insights) -> String {
    let facts = &insights.facts;
    format!(
        "{} (the launching call is known for {} of {} of GPU work)",
        insights.confidence.word(),
        grouped(facts.with_call),
        counted(facts.work, "record")
    )
}

/// The traces as a shell takes them; several are not worth a line that long.
fn paths(frames: &Frames) -> String {
    match &frames.files[..] {
        [one] => shell::quoted(&[one.path.clone().into_os_string()]),
        _ => "TRACES".to_owned(),
    }
}

/// Name and title of the table.
pub const NAME: &str = "insights";
/// Its title.
pub const TITLE: &str = "Insights";

/// As a table: a row for each finding, then one for each rule that abstains; one that says so where nothing was found.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub fn table(labels: &Labels, filter: &Filter) -> Result<Table> {
    let insights = Insights::of(labels, filter)?;
    let frames = labels.frames();
    let paths = paths(frames);
    let texts = ["Status", "Name", "What", "Evidence", "Query", "Confidence", "Advice"];
    let columns = [
        "Status",
        "Name",
        "Gain (ns)",
        "Observed (ns)",
        "Gain of Observed (%)",
        "Busy (ns)",
        "Records",
        "Longest Start (ns)",
        "Longest Dur (ns)",
        "Confidence",
        "What",
        "Evidence",
        "Query",
        "Advice",
    ];
    let heading = |&name: &&'static str| Heading { name, is_text: texts.contains(&name) };
    let mut table = Table::new(NAME, TITLE, columns.iter().map(heading).collect()).with_key(&["Status", "Name"]);
    let (observed_ns, busy_ns) = (insights.facts.observed_ns(), insights.facts.busy_ns());
    let saying = |status: &str, name: &str, what: &str, why: &str| {
        let mut row = vec![Cell::Null; columns.len()];
        (row[0], row[1], row[10], row[11]) = (status.into(), name.into(), what.into(), why.into());
        (row[9], row[12], row[13]) = ("".into(), "".into(), "".into());
        (row[3], row[5]) = (Cell::int(observed_ns), Cell::int(busy_ns));
        row
    };
    if !has_work(frames) {
        return Ok(table);
    }
    if let Some(why) = &insights.silence {
        table.rows.push(saying("not judged", "", "Nothing is judged", why));
        return Ok(table);
    }
    for finding in &insights.findings {
        let (rule, found) = (finding.rule, &finding.found);
        let share = found.gain_ns as f64 * 100.0 / observed_ns.max(1) as f64;
        table.rows.push(vec![
            "found".into(),
            rule.name.into(),
            Cell::int(found.gain_ns),
            Cell::int(observed_ns),
            Cell::Fixed(share, 1),
            Cell::int(busy_ns),
            Cell::int(found.records),
            Cell::opt(found.longest.map(|longest| longest.start_ns.saturating_sub(insights.facts.first_ns))),
            Cell::opt(found.longest.map(|longest| longest.end_ns.saturating_sub(longest.start_ns))),
            insights.confidence.word().into(),
            rule.what.into(),
            evidence(finding, &insights, labels).as_str().into(),
            format!("gpuprof query {paths} \"{}\"", rule.query).as_str().into(),
            rule.advice.into(),
        ]);
    }
    if insights.findings.is_empty() {
        table.rows.push(saying("nothing found", "", "Nothing was found that would gain 2 % or more", ""));
    }
    for (rule, why) in &insights.abstentions {
        table.rows.push(saying("not judged", rule.name, rule.what, why));
    }
    Ok(table)
}
