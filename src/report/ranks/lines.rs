//! The verdict in sentences, and what it rests on.

use super::Shown;
use crate::analysis::ranks::{
    Alignment, Cause, LEAST_LATE_PERCENT, NumberedBy, RankRow, SLOW_PERCENT, Straggler, Stragglers, Timed,
};
use crate::numbers::{BINARY, items, short_time, size};

/// Numbers of ranks in a sentence, at most.
const MOST_NUMBERS: usize = 8;

/// Stragglers and slow communicators of which a sentence is made, at most.
const MOST_NAMED: usize = 5;

impl Shown<'_> {
    /// The verdict first.
    pub(super) fn lines(&self) -> Vec<String> {
        let ranks = self.ranks;
        let mut lines = Vec::new();
        match (&ranks.obstacle, &ranks.stragglers) {
            (Some(why), _) => lines.push(format!("These ranks cannot be held against each other: {why}.")),
            (None, Err(why)) => lines.push(format!("Stragglers cannot be named: {why}.")),
            (None, Ok(found)) => self.straggler_lines(found, &mut lines),
        }
        lines.extend(self.who_line());
        if ranks.obstacle.is_some() {
            return lines;
        }
        match &ranks.alignment {
            Ok(alignment) => lines.push(clock_line(alignment, &ranks.rows)),
            // The first line has said why.
            Err(why) if ranks.stragglers.as_ref().err() == Some(why) => {
                lines.push("The clocks of the ranks cannot be put on one time for the same reason.".into())
            }
            Err(why) => lines.push(format!("The clocks of the ranks cannot be put on one time: {why}.")),
        }
        lines.extend(collectives_line(&ranks.collectives));
        match &ranks.slow_links {
            // The line about clocks has said why.
            Err(why) if ranks.alignment.is_ok() => lines.push(format!("Bandwidth is not known: {why}.")),
            Err(_) => {}
            Ok((links, shared)) => {
                for link in links.iter().take(MOST_NAMED) {
                    lines.push(format!(
                        "Slow link: {} of {} in {} moves {:.1} GB/s over the bus, the middle communicator that does the same {:.1} GB/s (slow is below {SLOW_PERCENT} % of that).",
                        link.op.word(),
                        size(link.bytes, &BINARY),
                        ranks.lanes.get(link.lane).map(|lane| lane.text()).unwrap_or_default(),
                        link.bus_gb_per_s,
                        link.middle_gb_per_s
                    ));
                }
                if !shared.is_empty() {
                    let numbers: Vec<u32> = shared.iter().map(|place| ranks.number(*place)).collect();
                    lines.push(format!("All slow communicators share {}.", numbers_text(&numbers)));
                }
            }
        }
        match &ranks.pipeline {
            Err(why) => lines.push(format!("Bubbles are not known: {why}.")),
            Ok(pipeline) => lines.push(format!(
                "{}: {:.1} % of the observed time of all ranks is without computation; rank {} computes longest, {:.2} times the mean of all.",
                if pipeline.sends { "Bubble" } else { "Computation" },
                pipeline.bubble_percent,
                ranks.number(pipeline.longest),
                pipeline.imbalance
            )),
        }
        match &ranks.memory {
            Err(why) => lines.push(format!("Memory of ranks is not known: {why}.")),
            Ok(memory) => {
                let bytes = |bytes: i64| size(bytes.max(0) as u64, &BINARY);
                lines.push(format!(
                    "Memory: rank {} had the most allocated at a time ({}), rank {} the least ({}); the most is {:.2} times the mean of all.",
                    ranks.number(memory.most.0),
                    bytes(memory.most.1),
                    ranks.number(memory.least.0),
                    bytes(memory.least.1),
                    memory.imbalance
                ));
            }
        }
        lines.extend(ranks.notes.iter().map(|note| format!("Note: {note}.")));
        lines
    }

    fn straggler_lines(&self, found: &Stragglers, lines: &mut Vec<String>) {
        let observed_ns = self.ranks.rows.iter().map(|row| row.observed_ns).max().unwrap_or(0);
        if found.named.is_empty() {
            lines.push(format!(
                "No rank is late again and again (by {LEAST_LATE_PERCENT} % of the observed time or more, and by more than ranks differ anyway)."
            ));
            return;
        }
        for (one, work) in found.named.iter().zip(&self.ranks.slow_work).take(MOST_NAMED) {
            let why = match (one.cause, work) {
                (Cause::SlowKernels, Some(work)) => {
                    let each = |of: usize| work.total_ns[of] / (work.count[of].max(1) as i64);
                    let counts = match work.count[0] == work.count[1] {
                        true => String::new(),
                        false => format!(", launched {} times instead of {}", work.count[0], work.count[1]),
                    };
                    let instead = match work.count[1] {
                        0 => "which the middle rank does not run".to_owned(),
                        _ => format!("instead of {} on the middle rank{counts}", short_time(each(1))),
                    };
                    format!(
                        "its GPU works {} longer in all than the middle rank's, {} alone {}: {} each, {instead}",
                        short_time(one.more_work_ns),
                        work.name,
                        short_time(work.more_ns),
                        short_time(each(0))
                    )
                }
                (Cause::SlowKernels, None) => {
                    format!("its GPU works {} longer in all than the middle rank's", short_time(one.more_work_ns))
                }
                (Cause::LateHost, _) => format!(
                    "its GPU has nothing to do for {} longer in all than the middle rank's",
                    short_time(one.more_idle_ns)
                ),
                (Cause::Unknown, _) => "nothing shows why".to_owned(),
            };
            let mut lanes: Vec<usize> = self.ranks.sums.iter().map(|sum| sum.lane).collect();
            lanes.sort_unstable();
            lanes.dedup();
            let of = match (&lanes[..], self.ranks.lanes.get(one.lane)) {
                ([_, _, ..], Some(lane)) => format!(" of {}", lane.text()),
                _ => String::new(),
            };
            lines.push(late_line(self.ranks.number(one.late.rank), one, &of, &why));
        }
        if found.named.len() > MOST_NAMED {
            lines.push(format!(
                "{} late too.",
                items((found.named.len() - MOST_NAMED) as u64, "more rank is", "more ranks are")
            ));
        }
        lines.push(format!(
            "If {} began with the others, {} of {} could be won at most.",
            if found.named.len() == 1 { "it" } else { "these" },
            short_time(found.gain_ns),
            short_time(observed_ns)
        ));
    }

    fn who_line(&self) -> Vec<String> {
        let who = &self.ranks.who;
        let present = self.ranks.rows.len() as u64;
        let mut lines = Vec::new();
        match who.numbered_by {
            NumberedBy::Trace => {}
            NumberedBy::FileName => lines.push(
                "Ranks are numbered by the names of files or folders, because not all traces say them.".into(),
            ),
            NumberedBy::Order => lines.push(format!(
                "Neither traces nor file names say ranks: the {} numbered in the order of files and processes.",
                items(present, "GPU is", "GPUs are")
            )),
        }
        if !who.missing.is_empty() && self.ranks.obstacle.is_none() {
            let caution = match &self.ranks.stragglers {
                Ok(_) => " The latest of all may be among them.",
                Err(_) => "",
            };
            lines.push(format!(
                "{} of {} {} missing: {}.{caution}",
                who.missing.len(),
                items(present + who.missing.len() as u64, "rank", "ranks"),
                if who.missing.len() == 1 { "is" } else { "are" },
                numbers_text(&who.missing)
            ));
        }
        lines
    }
}

/// `Rank 17 is late: …`.
fn late_line(number: u32, one: &Straggler, of: &str, why: &str) -> String {
    format!(
        "Rank {number} is late ({}): it begins {} after the middle rank at the median and is last in {} of {}{of}; {why}.",
        one.cause.word(),
        short_time(one.late.median_ns),
        one.late.last,
        items(one.late.collectives, "collective", "collectives")
    )
}

fn clock_line(alignment: &Alignment, rows: &[RankRow]) -> String {
    if alignment.is_one_clock {
        return format!(
            "Clocks: all times are of one clock. Ends are {} from the middle of their collective at the median, {} or less in 95 %.",
            short_time(alignment.residual_ns),
            short_time(alignment.residual_95_ns)
        );
    }
    let clocks = || rows.iter().filter_map(|row| row.clock);
    let offset = clocks().map(|clock| clock.offset_ns.saturating_abs()).max().unwrap_or(0);
    let drift = clocks().map(|clock| clock.drift_ppm.abs()).fold(0.0, f64::max);
    format!(
        "Clocks: put right by the ends of {}; they differed from that of rank {} by up to {} and {drift:.1} parts per million. Ends are still {} from the middle of their collective at the median, {} or less in 95 %.",
        items(alignment.collectives as u64, "collective", "collectives"),
        rows.first().map_or(0, |row| row.number),
        short_time(offset),
        short_time(alignment.residual_ns),
        short_time(alignment.residual_95_ns)
    )
}

fn collectives_line(collectives: &[Timed]) -> Option<String> {
    if collectives.is_empty() {
        return None;
    }
    let sum = |of: fn(&Timed) -> i64| collectives.iter().map(of).fold(0, i64::saturating_add);
    Some(format!(
        "{}: {} from the first start to the last in all, then {} until the last end.",
        items(collectives.len() as u64, "collective", "collectives"),
        short_time(sum(Timed::skew_ns)),
        short_time(sum(Timed::transfer_ns))
    ))
}

/// `rank 3`, `ranks 0, 2, 5 to 7`, and how many more.
fn numbers_text(numbers: &[u32]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for run in numbers.chunk_by(|a, b| a + 1 == *b) {
        match run {
            [first, .., last] if run.len() > 2 => parts.push(format!("{first} to {last}")),
            few => parts.extend(few.iter().map(u32::to_string)),
        }
    }
    let more = parts.len().saturating_sub(MOST_NUMBERS);
    parts.truncate(MOST_NUMBERS);
    let rest = if more > 0 { " and more".to_owned() } else { String::new() };
    format!("{} {}{rest}", if numbers.len() == 1 { "rank" } else { "ranks" }, parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_ranks_are_short() {
        assert_eq!(numbers_text(&[3]), "rank 3");
        assert_eq!(numbers_text(&[0, 2, 3, 5, 6, 7, 8]), "ranks 0, 2, 3, 5 to 8");
        assert_eq!(
            numbers_text(&(0..40).step_by(2).collect::<Vec<u32>>()),
            "ranks 0, 2, 4, 6, 8, 10, 12, 14 and more"
        );
    }
}
