//! What costs a program time on the GPU, how much of it could be won back, and how to see it: the findings of
//! `gpuprof report`.
//!
//! One pass over calls and work in order of time makes [`Facts`]; each rule of [`RULES`] judges them. A finding has a bound on
//! what it could gain, in nanoseconds of the time that was observed: from the first to the last work of each GPU, without the
//! stretches in which the recording was off. The gains of different rules are of different stretches of that time, but for
//! copies and kernels that could hide behind each other, which no more than once.

mod facts;
pub mod insights_md;
mod rules;

use facts::sampled_steps;
pub use facts::{Facts, longest_text};
pub use rules::RULES;

use super::gap_causes::Cause;
use super::in_time::{self, Work};
use super::labels::Labels;
use crate::error::Result;
use crate::trace::select::Filter;
use trace_format::schema::TableSpec;

/// Findings, at most.
pub const MOST_FINDINGS: usize = 7;

/// What a finding has to gain, of the observed time, in percent.
pub const LEAST_PERCENT: i128 = 2;

/// Observed time below which nothing is said.
pub const LEAST_OBSERVED_NS: i64 = 10_000_000;

/// Records of GPU work below which nothing is said.
pub const LEAST_RECORDS: u64 = 50;

/// Records of calls and GPU work above which findings have to be asked for: so many take two or three seconds, seven times as
/// long as the summary alone.
pub const UNASKED_RECORDS: u64 = 20_000_000;

/// The tables that are read.
pub const TABLES: [&TableSpec; 5] = in_time::TABLES;

/// One kind of trouble, as data and a function.
pub struct Rule {
    /// Its name in tables and documentation.
    pub name: &'static str,
    /// What is found, as a sentence.
    pub what: &'static str,
    /// Which records it looks at, for the documentation.
    pub looks_at: &'static str,
    /// What bounds the gain, for the documentation.
    pub bound: &'static str,
    /// When it abstains, for the documentation.
    pub abstains: &'static str,
    /// What to do about it.
    pub advice: &'static str,
    /// SQL for `gpuprof query` that shows the records.
    pub query: &'static str,
    /// Judges the facts.
    pub judge: fn(&Facts) -> Verdict,
}

/// What a rule says.
pub enum Verdict {
    /// There is no such trouble.
    Nothing,
    /// There is; whether it is worth saying is decided by its gain.
    Found(Found),
    /// The trace does not hold what the rule needs: which, and so what.
    Abstains(String),
}

/// What a rule found.
pub struct Found {
    /// At most so much of the observed time could be won back.
    pub gain_ns: i64,
    /// How many records or gaps show it.
    pub records: u64,
    /// The longest of them.
    pub longest: Option<Longest>,
    /// What they are, in a sentence without its end: `120 gaps, 12.5 ms in all`.
    pub evidence: String,
}

/// The longest piece of evidence.
#[derive(Clone, Copy)]
pub struct Longest {
    /// Its start.
    pub start_ns: i64,
    /// Its end.
    pub end_ns: i64,
    /// The work that it is, or the work behind the gap.
    pub work: Work,
    /// Whether it is a gap.
    pub is_gap: bool,
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// Causes are known of few records only.
    Low,
    /// Causes are known of most records.
    Medium,
    /// Causes are known of nearly all records.
    High,
}

impl Confidence {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}

/// A trouble that is worth saying.
pub struct Finding {
    /// Which.
    pub rule: &'static Rule,
    /// What shows it.
    pub found: Found,
}

/// All that is said about a set of traces.
pub struct Insights {
    /// What was seen.
    pub facts: Facts,
    /// Most gain first.
    pub findings: Vec<Finding>,
    /// Smaller findings that were left out.
    pub left_out: usize,
    /// Rules that cannot know, and why.
    pub abstentions: Vec<(&'static Rule, String)>,
    /// Why nothing is said at all.
    pub silence: Option<String>,
    /// How sure all of it is.
    pub confidence: Confidence,
}

impl Insights {
    /// Judges the selected records.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn of(labels: &Labels, filter: &Filter) -> Result<Insights> {
        if !filter.takes_whole_stretches() {
            let why = "only some records of each stretch of time are selected; choose by time or process alone";
            return Ok(Insights::silent(Facts::default(), why.to_owned()));
        }
        let facts = Facts::read(labels, filter)?;
        Ok(Insights::judge(facts, sampled_steps(labels.frames())))
    }

    fn silent(facts: Facts, why: String) -> Insights {
        Insights {
            facts,
            findings: Vec::new(),
            left_out: 0,
            abstentions: Vec::new(),
            silence: Some(why),
            confidence: Confidence::Low,
        }
    }

    fn judge(facts: Facts, sampled: bool) -> Insights {
        if let Some(why) = facts.too_little(sampled) {
            return Insights::silent(facts, why);
        }
        let (mut findings, mut abstentions) = (Vec::new(), Vec::new());
        let of_ns = i128::from(facts.observed_ns());
        for rule in RULES {
            match (rule.judge)(&facts) {
                Verdict::Nothing => {}
                Verdict::Found(found) => {
                    if i128::from(found.gain_ns) * 100 >= of_ns * LEAST_PERCENT {
                        findings.push(Finding { rule, found });
                    }
                }
                Verdict::Abstains(why) => abstentions.push((*rule, why)),
            }
        }
        // The sort is stable: of equal gains the first rule comes first.
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.found.gain_ns));
        let left_out = findings.len().saturating_sub(MOST_FINDINGS);
        findings.truncate(MOST_FINDINGS);
        let confidence = facts.confidence();
        Insights { facts, findings, left_out, abstentions, silence: None, confidence }
    }
}

/// What a rule about gaps of one cause says.
fn gaps_of(facts: &Facts, cause: Cause) -> Verdict {
    if let Some(why) = facts.causes_unknown() {
        return Verdict::Abstains(why);
    }
    let sum = facts.gaps(cause);
    facts.found_gaps(&sum)
}
