//! How much of a program's time the recording may take: `--budget` and `GPUPROF_BUDGET`, and what goes with it.

use crate::capture::Capture;
use crate::ring::DumpRule;
use crate::values::shown;
use crate::variables::{Membership, Prepare, Settings};
use std::fmt;

/// A share of one core's time, in hundredths of a percent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(u32);

/// What can be written, for help and messages.
pub const BUDGET_GRAMMAR: &str = "0.1% to 50%, e.g. 2%; without it nothing limits the cost";

impl Budget {
    /// Reads a number of percent, with its sign or without.
    ///
    /// # Errors
    /// Fails if the value is not valid. The error says why, as the end of a sentence that begins with the value.
    pub fn parse(value: &[u8]) -> Result<Budget, String> {
        let text = shown(value);
        let number = text.trim().trim_end_matches('%').trim_end();
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let percent: f64 =
            number.parse().ok().filter(|_| is_number).ok_or("is not a share such as 2% or 0.5%".to_owned())?;
        if !(0.1..=50.0).contains(&percent) {
            return Err("is outside 0.1% to 50%".to_owned());
        }
        Ok(Budget((percent * 100.0).round() as u32))
    }

    /// The share: 0.02 for 2 %.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 10_000.0
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / 100, self.0 % 100);
        match rest {
            0 => write!(f, "{whole}%"),
            rest if rest % 10 == 0 => write!(f, "{whole}.{}%", rest / 10),
            rest => write!(f, "{whole}.{rest:02}%"),
        }
    }
}

/// Why a budget cannot hold beside the other settings, and what to do: the end of a sentence that begins with the budget.
/// `None`: it can.
pub fn conflict(settings: &Settings) -> Option<&'static str> {
    settings.budget?;
    let why = match &settings.capture {
        Capture::All | Capture::Nvtx { cycle: None, .. } => None,
        Capture::Nvtx { .. } => {
            Some("chooses the steps that are recorded itself; leave out every:N, or the budget")
        }
        Capture::ProfilerApi | Capture::Delay { .. } | Capture::Manual => Some(
            "opens and closes windows itself; with it --capture is all, or nvtx:NAME where a step is an NVTX range",
        ),
    };
    let rules = [
        (
            settings.max_ranges != 0,
            "opens windows as long as the program runs; leave out --max-ranges, or the budget",
        ),
        (
            settings.sync_at_range,
            "cannot count how long the program waits for the GPU; leave out --sync-at-range, or the budget",
        ),
        (
            settings.prepare == Prepare::On,
            "cannot hold while kernels are traced all the time; leave out --prepare on, or the budget",
        ),
        (
            settings.membership == Membership::RanInside,
            "goes by the calls that were made in a window; leave out --membership ran-inside, or the budget",
        ),
        (
            settings.launch_stacks != 0,
            "does not count what --launch-stacks takes, which has a limit of its own; leave out one of the two",
        ),
        (
            settings.ring.is_some() && settings.dump_on.contains(&DumpRule::Error),
            "cannot hold while every call is watched for errors; leave out the rule error of --dump-on, or the budget",
        ),
    ];
    why.or_else(|| rules.into_iter().find(|(is_so, _)| *is_so).map(|(_, why)| why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::variables::from_env;

    #[test]
    fn a_share_is_read_and_shown() {
        for (text, shown) in
            [("2%", "2%"), ("2", "2%"), ("0.5 %", "0.5%"), ("0.25%", "0.25%"), ("50%", "50%"), ("1.05", "1.05%")]
        {
            let budget = Budget::parse(text.as_bytes()).unwrap();
            assert_eq!(budget.to_string(), shown, "{text}");
            assert_eq!(Budget::parse(shown.as_bytes()), Ok(budget));
        }
        assert!((Budget::parse(b"2%").unwrap().share() - 0.02).abs() < 1e-12);
        for (text, word) in [
            ("", "such as"),
            ("%", "such as"),
            ("x", "such as"),
            ("2ms", "such as"),
            ("-1", "such as"),
            ("NaN", "such as"),
            ("inf", "such as"),
            ("1e1", "such as"),
            ("0", "outside"),
            ("0.05%", "outside"),
            ("51%", "outside"),
        ] {
            let why = Budget::parse(text.as_bytes()).unwrap_err();
            assert!(why.contains(word), "{text}: {why}");
        }
    }

    #[test]
    fn what_a_budget_does_not_go_with_is_said_and_it_is_left_out() {
        let read = |more: &[(&str, &str)]| {
            let all = [("GPUPROF_BUDGET", "2%")].iter().chain(more).map(|(n, v)| (n.as_bytes(), v.as_bytes()));
            from_env(all)
        };
        for more in [
            &[][..],
            &[("GPUPROF_CAPTURE", "nvtx:step *")],
            &[("GPUPROF_RING", "30s"), ("GPUPROF_DUMP_ON", "slow:step:3,abort")],
            &[("GPUPROF_SIZE_POLICY", "ring")],
        ] {
            let (settings, problems) = read(more);
            assert!(settings.budget.is_some() && problems.is_empty(), "{more:?}: {problems:?}");
        }
        for (more, word) in [
            (&[("GPUPROF_CAPTURE", "nvtx:step,every:10")][..], "every:N"),
            (&[("GPUPROF_CAPTURE", "profiler-api")], "--capture"),
            (&[("GPUPROF_CAPTURE", "delay:3")], "--capture"),
            (&[("GPUPROF_CAPTURE", "manual")], "--capture"),
            (&[("GPUPROF_MAX_RANGES", "3")], "--max-ranges"),
            (&[("GPUPROF_SYNC_AT_RANGE", "on")], "--sync-at-range"),
            (&[("GPUPROF_PREPARE", "on")], "--prepare"),
            (&[("GPUPROF_MEMBERSHIP", "ran-inside")], "--membership"),
            (&[("GPUPROF_LAUNCH_STACKS", "on")], "--launch-stacks"),
            (&[("GPUPROF_RING", "30s"), ("GPUPROF_DUMP_ON", "error")], "--dump-on"),
        ] {
            let (settings, problems) = read(more);
            assert_eq!((settings.budget, problems.len()), (None, 1), "{more:?}");
            let text = problems[0].to_string();
            assert!(text.starts_with("GPUPROF_BUDGET=2%: ") && text.contains(word), "{text}");
        }
    }
}
