//! When records are kept: the grammar of `--capture` and `GPUPROF_CAPTURE`.

use crate::values::{duration_ns, show_ns, shown};
use std::fmt;

/// When records are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Capture {
    /// From the beginning to the end.
    #[default]
    All,
    /// Between `cudaProfilerStart` and `cudaProfilerStop`.
    ProfilerApi,
    /// While an NVTX range is open.
    Nvtx {
        /// The range's message, registered or not: all of it, or what it begins with.
        name: Vec<u8>,
        /// Whether it is what the message begins with: many programs count their steps in it.
        is_prefix: bool,
        /// `None`: any domain; empty: the default domain.
        domain: Option<Vec<u8>>,
        /// Which of these ranges; `None`: all.
        cycle: Option<Cycle>,
    },
    /// From a moment after the start on.
    Delay {
        /// From the process's first CUDA call on.
        delay_ns: u64,
        /// How long; `None`: to the end.
        duration_ns: Option<u64>,
    },
    /// When told so through the control socket.
    Manual,
}

/// Of a program's steps, which are numbered from 0, the last `steps` of every `every`: what comes first is warming up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// At least 1.
    pub every: u32,
    /// At least 1, at most `every`.
    pub steps: u32,
}

impl Cycle {
    /// Whether the step of this number is recorded.
    pub fn has(self, step: u64) -> bool {
        step % u64::from(self.every.max(1)) >= u64::from(self.every.saturating_sub(self.steps))
    }

    /// Reads `N` or `N,steps:M`, which stands behind `every:`.
    fn parse(text: &[u8]) -> Result<Cycle, String> {
        let number = |text: &[u8]| std::str::from_utf8(text).ok().and_then(|text| text.parse::<u32>().ok());
        let mut parts = text.split(|byte| *byte == b',');
        let every = parts.next().and_then(number);
        let steps = match (parts.next(), parts.next()) {
            (None, _) => Some(1),
            (Some(part), None) => part.strip_prefix(b"steps:").and_then(number),
            _ => None,
        };
        match (every, steps) {
            (Some(every), Some(steps)) if (1..=every).contains(&steps) => Ok(Cycle { every, steps }),
            (Some(_), Some(_)) => {
                Err("records no step, or more steps than there are; every:N,steps:M records the \
                                       last M of every N"
                    .to_owned())
            }
            _ => Err(format!("has \"every:{}\" where every:N or every:N,steps:M is expected", shown(text))),
        }
    }
}

/// What can be written, for help and messages.
pub const GRAMMAR: &str =
    "all, profiler-api, nvtx:NAME[*][@DOMAIN][,every:N[,steps:M]], delay:S[,duration:S] or manual";

impl Capture {
    /// Reads what a person wrote.
    ///
    /// # Errors
    /// Fails if the value is not valid. The error says why, as the end of a sentence that begins with the value.
    pub fn parse(value: &[u8]) -> Result<Capture, String> {
        match value {
            b"all" => return Ok(Capture::All),
            b"profiler-api" => return Ok(Capture::ProfilerApi),
            b"manual" => return Ok(Capture::Manual),
            _ => {}
        }
        if let Some(range) = value.strip_prefix(b"nvtx:") {
            return nvtx(range);
        }
        if value.starts_with(b"delay:") || value.starts_with(b"duration:") {
            return delay(value);
        }
        Err(format!("is not one of {GRAMMAR}"))
    }

    /// Whether the gate is open from the first moment.
    pub fn starts_open(&self) -> bool {
        matches!(self, Capture::All | Capture::Delay { delay_ns: 0, .. })
    }
}

/// `NAME`, `NAME@DOMAIN`, `NAME@` (the default domain only). `\@` is an @ within a name, `\\` a backslash. A `*` at the end of
/// the name stands for whatever follows. Behind it may stand which of these ranges are recorded.
fn nvtx(range: &[u8]) -> Result<Capture, String> {
    const EVERY: &[u8] = b",every:";
    let at = range.windows(EVERY.len()).rposition(|part| part == EVERY);
    let (range, cycle) = match at {
        Some(at) => (&range[..at], Some(Cycle::parse(&range[at + EVERY.len()..])?)),
        None => (range, None),
    };
    let (mut name, domain) = range_and_domain(range)?;
    let is_prefix = name.pop_if(|last| *last == b'*').is_some();
    if name.is_empty() && !is_prefix {
        return Err("names no NVTX range; write nvtx:NAME or nvtx:NAME@DOMAIN".to_owned());
    }
    Ok(Capture::Nvtx { name, is_prefix, domain, cycle })
}

/// A range's name, which may be empty, and its domain if one is given.
pub(crate) fn range_and_domain(range: &[u8]) -> Result<(Vec<u8>, Option<Vec<u8>>), String> {
    let mut parts = vec![Vec::new()];
    let mut bytes = range.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let escaped = byte == b'\\' && matches!(bytes.peek(), Some(b'@' | b'\\'));
        if byte == b'@' {
            parts.push(Vec::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(if escaped { bytes.next().unwrap_or(byte) } else { byte });
        }
    }
    if parts.len() > 2 {
        return Err("has more than one @; write \\@ for an @ that belongs to the name".to_owned());
    }
    let domain = (parts.len() == 2).then(|| parts.pop().unwrap_or_default());
    Ok((parts.pop().unwrap_or_default(), domain))
}

/// The two as they would be written; bytes that are no text are replaced.
pub(crate) fn show_range(name: &[u8], domain: Option<&[u8]>) -> String {
    let escaped = |bytes: &[u8]| shown(bytes).replace('\\', "\\\\").replace('@', "\\@");
    match domain {
        None => escaped(name),
        Some(domain) => format!("{}@{}", escaped(name), escaped(domain)),
    }
}

fn delay(value: &[u8]) -> Result<Capture, String> {
    let (mut delay_ns, mut duration) = (None, None);
    for part in value.split(|b| *b == b',') {
        let (target, text) = if let Some(text) = part.strip_prefix(b"delay:") {
            (&mut delay_ns, text)
        } else if let Some(text) = part.strip_prefix(b"duration:") {
            (&mut duration, text)
        } else {
            return Err(format!("has \"{}\" where delay:S or duration:S is expected", shown(part)));
        };
        // Seconds, as in nsys and nvprof.
        let ns = duration_ns(text, 1_000_000_000).map_err(|why| format!("has \"{}\", which {why}", shown(part)))?;
        if target.replace(ns).is_some() {
            return Err(format!("has \"{}\" twice", shown(part)));
        }
    }
    if duration == Some(0) {
        return Err("would record for no time at all".to_owned());
    }
    Ok(Capture::Delay { delay_ns: delay_ns.unwrap_or(0), duration_ns: duration })
}

impl fmt::Display for Capture {
    /// As it would be written; bytes that are no text are replaced.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Capture::All => f.write_str("all"),
            Capture::ProfilerApi => f.write_str("profiler-api"),
            Capture::Manual => f.write_str("manual"),
            Capture::Nvtx { name, is_prefix, domain, cycle } => {
                let star: &[u8] = if *is_prefix { b"*" } else { b"" };
                write!(f, "nvtx:{}", show_range(&[name, star].concat(), domain.as_deref()))?;
                cycle.map_or(Ok(()), |Cycle { every, steps }| write!(f, ",every:{every},steps:{steps}"))
            }
            Capture::Delay { delay_ns, duration_ns: None } => write!(f, "delay:{}", show_ns(*delay_ns)),
            Capture::Delay { delay_ns, duration_ns: Some(duration_ns) } => {
                write!(f, "delay:{},duration:{}", show_ns(*delay_ns), show_ns(*duration_ns))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(name: &str, domain: Option<&str>) -> Result<Capture, String> {
        let (is_prefix, domain) = (false, domain.map(Into::into));
        Ok(Capture::Nvtx { name: name.into(), is_prefix, domain, cycle: None })
    }

    fn cycled(text: &str) -> Result<Cycle, String> {
        match Capture::parse(text.as_bytes())? {
            Capture::Nvtx { cycle: Some(cycle), .. } => Ok(cycle),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_star_at_the_end_stands_for_what_follows() {
        let begins = |name: &str, domain: Option<&str>| {
            let (is_prefix, domain) = (true, domain.map(Into::into));
            Ok(Capture::Nvtx { name: name.into(), is_prefix, domain, cycle: None })
        };
        assert_eq!(Capture::parse(b"nvtx:step *"), begins("step ", None));
        assert_eq!(Capture::parse(b"nvtx:a*b*@d"), begins("a*b", Some("d")));
        assert_eq!(Capture::parse(b"nvtx:*"), begins("", None));
        assert_eq!(Capture::parse(b"nvtx:a*b"), range("a*b", None));
    }

    #[test]
    fn of_every_so_many_steps_the_last_are_recorded() {
        assert_eq!(cycled("nvtx:step,every:100,steps:2"), Ok(Cycle { every: 100, steps: 2 }));
        assert_eq!(cycled("nvtx:a, b@d,every:7"), Ok(Cycle { every: 7, steps: 1 }));
        let steps = |cycle: Cycle| (0..9).filter(|&step| cycle.has(step)).collect::<Vec<u64>>();
        assert_eq!(steps(Cycle { every: 4, steps: 1 }), [3, 7]);
        assert_eq!(steps(Cycle { every: 4, steps: 3 }), [1, 2, 3, 5, 6, 7]);
        assert_eq!(steps(Cycle { every: 1, steps: 1 }), (0..9).collect::<Vec<_>>());
        for (text, word) in [
            ("nvtx:s,every:0", "records no step"),
            ("nvtx:s,every:3,steps:4", "more steps than there are"),
            ("nvtx:s,every:3,steps:0", "records no step"),
            ("nvtx:s,every:x", "where every:N"),
            ("nvtx:s,every:3,step:1", "where every:N"),
            ("nvtx:s,every:3,steps:1,2", "where every:N"),
            ("nvtx:,every:3", "names no NVTX range"),
        ] {
            let why = Capture::parse(text.as_bytes()).unwrap_err();
            assert!(why.contains(word), "{text}: {why}");
        }
    }

    #[test]
    fn every_mode_is_read() {
        assert_eq!(Capture::parse(b"all"), Ok(Capture::All));
        assert_eq!(Capture::parse(b"profiler-api"), Ok(Capture::ProfilerApi));
        assert_eq!(Capture::parse(b"manual"), Ok(Capture::Manual));
        assert_eq!(Capture::parse(b"nvtx:step 3"), range("step 3", None));
        assert_eq!(Capture::parse(b"nvtx:step@model"), range("step", Some("model")));
        assert_eq!(Capture::parse(b"nvtx:step@"), range("step", Some("")));
        assert_eq!(Capture::parse(br"nvtx:me\@home@d"), range("me@home", Some("d")));
        assert_eq!(Capture::parse(br"nvtx:a\\@d"), range(r"a\", Some("d")));
        assert_eq!(Capture::parse(br"nvtx:a\b"), range(r"a\b", None));
        assert_eq!(
            Capture::parse(b"delay:1.5,duration:250ms"),
            Ok(Capture::Delay { delay_ns: 1_500_000_000, duration_ns: Some(250_000_000) })
        );
        assert_eq!(Capture::parse(b"delay:3"), Ok(Capture::Delay { delay_ns: 3_000_000_000, duration_ns: None }));
        assert_eq!(
            Capture::parse(b"duration:3"),
            Ok(Capture::Delay { delay_ns: 0, duration_ns: Some(3_000_000_000) })
        );
    }

    #[test]
    fn mistakes_are_explained() {
        for (value, word) in [
            ("cudaProfilerApi", "profiler-api"),
            ("", "profiler-api"),
            ("nvtx:", "names no NVTX range"),
            ("nvtx:@d", "names no NVTX range"),
            ("nvtx:a@b@c", "more than one @"),
            ("delay:", "duration such as"),
            ("delay:5h", "unknown unit"),
            ("delay:1,delay:2", "twice"),
            ("delay:1,for:2", "where delay:S"),
            ("delay:1,duration:0", "no time at all"),
        ] {
            let why = Capture::parse(value.as_bytes()).unwrap_err();
            assert!(why.contains(word), "{value}: {why}");
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        for value in [
            "all",
            "profiler-api",
            "manual",
            "nvtx:step",
            r"nvtx:a\@b@c\\d",
            "nvtx:x@",
            "nvtx:x@,every:10,steps:2",
            "nvtx:iteration *@model,every:3,steps:1",
            "delay:1500ms",
            "delay:0s,duration:2s",
        ] {
            let capture = Capture::parse(value.as_bytes()).unwrap();
            assert_eq!(capture.to_string(), value);
        }
    }

    #[test]
    fn only_all_and_an_immediate_window_start_open() {
        assert!(Capture::All.starts_open());
        assert!(Capture::parse(b"duration:1").unwrap().starts_open());
        for value in ["profiler-api", "nvtx:x", "delay:1", "manual"] {
            assert!(!Capture::parse(value.as_bytes()).unwrap().starts_open(), "{value}");
        }
    }
}
