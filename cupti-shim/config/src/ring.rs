//! The flight recorder's settings: how much the ring keeps, and what makes it be kept as a dump.

use crate::capture;
use crate::values::{bytes, duration_ns, show_bytes, show_ns, shown, within};
use std::fmt;

/// How much of a recording is kept: the latest of it. At least one of the two is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Everything newer than this is kept.
    pub keep_ns: Option<u64>,
    /// Most that it may take on disk; `None`: the size limit.
    pub most_bytes: Option<u64>,
}

/// What can be written for [`Ring`].
pub const RING_GRAMMAR: &str =
    "a time (1s to 24h), a size (8MiB to 1024TiB), or both with a comma, e.g. 30s,512MiB";

impl Ring {
    /// Reads `30s`, `512MiB` or `30s,512MiB`.
    ///
    /// # Errors
    /// Fails if the value is not valid. The error says why, as the end of a sentence that begins with the value.
    pub fn parse(value: &[u8]) -> Result<Ring, String> {
        let mut ring = Ring { keep_ns: None, most_bytes: None };
        for part in value.split(|b| *b == b',') {
            let is_time = part.trim_ascii().ends_with(b"s") || part.ends_with(b"min") || part.ends_with(b"h");
            let twice = if is_time {
                let ns = within(time_ns(part)?, 1_000_000_000, 86_400_000_000_000, show_ns)?;
                ring.keep_ns.replace(ns).is_some()
            } else {
                let no_unit = part.trim_ascii().iter().all(u8::is_ascii_digit);
                if no_unit {
                    return Err(format!("has \"{}\" without a unit; write {RING_GRAMMAR}", shown(part)));
                }
                let size = within(bytes(part)?, 8 << 20, 1 << 50, show_bytes)?;
                ring.most_bytes.replace(size).is_some()
            };
            if twice {
                return Err(format!("has two times or two sizes; write {RING_GRAMMAR}"));
            }
        }
        Ok(ring)
    }
}

/// A duration that may also be in hours.
fn time_ns(part: &[u8]) -> Result<u64, String> {
    let Some(hours) = part.strip_suffix(b"h") else { return duration_ns(part, 1) };
    duration_ns(hours, 1).map(|n| n.saturating_mul(3_600_000_000_000))
}

impl fmt::Display for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [self.keep_ns.map(show_ns), self.most_bytes.map(show_bytes)];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

/// Something that makes the ring be kept as a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DumpRule {
    /// An NVTX range took longer than a multiple of the median of those before it.
    Slow {
        /// The range's message, matched as a whole.
        name: Vec<u8>,
        /// `None`: any domain; empty: the default domain.
        domain: Option<Vec<u8>>,
        /// The multiple, in thousandths.
        factor_milli: u32,
    },
    /// A CUDA call returned an error.
    Error,
    /// The program was ended by a signal or with a status that is not 0. Seen to by the launcher.
    Abort,
}

/// What can be written for a list of [`DumpRule`].
pub const DUMP_GRAMMAR: &str =
    "one or several of slow:NAME[@DOMAIN]:FACTOR, error, abort, with commas, e.g. slow:step:3,abort";

/// The least multiple: a median is exceeded by half of all ranges.
const LEAST_FACTOR_MILLI: u64 = 1_100;
const MOST_FACTOR_MILLI: u64 = 1_000_000_000;

impl DumpRule {
    /// Reads a list of rules.
    ///
    /// # Errors
    /// Fails if the value is not valid. The error says why, as the end of a sentence that begins with the value.
    pub fn parse_list(value: &[u8]) -> Result<Vec<DumpRule>, String> {
        let mut rules = Vec::new();
        for part in value.split(|b| *b == b',') {
            let rule = match part {
                b"error" => DumpRule::Error,
                b"abort" => DumpRule::Abort,
                _ => match part.strip_prefix(b"slow:") {
                    Some(rest) => slow(rest)?,
                    None => return Err(format!("has \"{}\", which is not {DUMP_GRAMMAR}", shown(part))),
                },
            };
            if rules.contains(&rule) {
                return Err(format!("has \"{}\" twice", shown(part)));
            }
            rules.push(rule);
        }
        Ok(rules)
    }

    /// The rules as they would be written.
    pub fn show_list(rules: &[DumpRule]) -> String {
        rules.iter().map(DumpRule::to_string).collect::<Vec<_>>().join(",")
    }
}

/// `NAME[@DOMAIN]:FACTOR`. The name may hold colons, the factor is behind the last.
fn slow(rest: &[u8]) -> Result<DumpRule, String> {
    let missing = || "names no factor; write slow:NAME:FACTOR, e.g. slow:step:3".to_owned();
    let colon = rest.iter().rposition(|b| *b == b':').ok_or_else(missing)?;
    let (name, factor) = (&rest[..colon], &rest[colon + 1..]);
    let (name, domain) = capture::range_and_domain(name)?;
    if name.is_empty() {
        return Err("names no NVTX range; write slow:NAME:FACTOR".to_owned());
    }
    let factor_milli = thousandths(factor)
        .filter(|n| (LEAST_FACTOR_MILLI..=MOST_FACTOR_MILLI).contains(n))
        .and_then(|n| u32::try_from(n).ok())
        .ok_or_else(|| format!("has the factor \"{}\"; it is a number from 1.1 to 1000000", shown(factor)))?;
    Ok(DumpRule::Slow { name, domain, factor_milli })
}

/// `2.5` as 2500.
fn thousandths(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let is_number = !whole.is_empty() && digits(whole) && digits(fraction) && fraction.len() <= 3;
    (is_number && whole.len() <= 9).then_some(())?;
    format!("{whole}{fraction:0<3}").parse().ok()
}

impl fmt::Display for DumpRule {
    /// As it would be written; bytes that are no text are replaced.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DumpRule::Slow { name, domain, factor_milli } => {
                let range = capture::show_range(name, domain.as_deref());
                let (whole, rest) = (factor_milli / 1_000, factor_milli % 1_000);
                let fraction = format!("{rest:03}");
                let fraction = fraction.trim_end_matches('0');
                let dot = if fraction.is_empty() { "" } else { "." };
                write!(f, "slow:{range}:{whole}{dot}{fraction}")
            }
            DumpRule::Error => f.write_str("error"),
            DumpRule::Abort => f.write_str("abort"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_read_and_shown() {
        let ring = |keep_ns, most_bytes| Ok(Ring { keep_ns, most_bytes });
        assert_eq!(Ring::parse(b"30s"), ring(Some(30_000_000_000), None));
        assert_eq!(Ring::parse(b"1500ms"), ring(Some(1_500_000_000), None));
        assert_eq!(Ring::parse(b"2min"), ring(Some(120_000_000_000), None));
        assert_eq!(Ring::parse(b"1h"), ring(Some(3_600_000_000_000), None));
        assert_eq!(Ring::parse(b"512MiB"), ring(None, Some(512 << 20)));
        assert_eq!(Ring::parse(b"30s,512MiB"), ring(Some(30_000_000_000), Some(512 << 20)));
        assert_eq!(Ring::parse(b"512MiB,30s"), ring(Some(30_000_000_000), Some(512 << 20)));
        for text in ["30s", "512MiB", "30s,512MiB", "1500ms"] {
            assert_eq!(Ring::parse(text.as_bytes()).unwrap().to_string(), text);
        }
        for (text, word) in [
            ("", "unit"),
            ("30", "without a unit"),
            ("30s,10s", "two times"),
            ("1GiB,2GiB", "two sizes"),
            ("1MiB", "outside 8MiB"),
            ("1ms", "outside 1s"),
            ("25h", "outside 1s"),
            ("5MB", "MiB"),
            ("s", "duration"),
        ] {
            let why = Ring::parse(text.as_bytes()).unwrap_err();
            assert!(why.contains(word), "{text}: {why}");
        }
    }

    #[test]
    fn rules_are_read_and_shown() {
        let rules = DumpRule::parse_list(b"slow:step@model:2.5,error,abort").unwrap();
        assert_eq!(
            rules,
            [
                DumpRule::Slow { name: b"step".to_vec(), domain: Some(b"model".to_vec()), factor_milli: 2_500 },
                DumpRule::Error,
                DumpRule::Abort
            ]
        );
        let rules = DumpRule::parse_list(b"slow:a:b:3").unwrap();
        assert_eq!(rules, [DumpRule::Slow { name: b"a:b".to_vec(), domain: None, factor_milli: 3_000 }]);
        for text in ["slow:step@model:2.5,error,abort", "slow:a:b:3", r"slow:a\@b@:1.125", "abort"] {
            assert_eq!(DumpRule::show_list(&DumpRule::parse_list(text.as_bytes()).unwrap()), text);
        }
        for (text, word) in [
            ("", "slow:NAME"),
            ("slow", "slow:NAME"),
            ("slow:step", "names no factor"),
            ("slow::3", "names no NVTX range"),
            ("slow:step:1", "from 1.1"),
            ("slow:step:x", "from 1.1"),
            ("slow:step:1.2345", "from 1.1"),
            ("slow:a@b@c:3", "more than one @"),
            ("error,error", "twice"),
            ("crash", "slow:NAME"),
        ] {
            let why = DumpRule::parse_list(text.as_bytes()).unwrap_err();
            assert!(why.contains(word), "{text}: {why}");
        }
    }
}
