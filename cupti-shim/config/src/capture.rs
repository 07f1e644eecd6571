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
        /// The range's message, matched as a whole, registered or not.
        name: Vec<u8>,
        /// `None`: any domain; empty: the default domain.
        domain: Option<Vec<u8>>,
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

/// What can be written, for help and messages.
pub const GRAMMAR: &str = "all, profiler-api, nvtx:NAME[@DOMAIN], delay:S[,duration:S] or manual";

impl Capture {
    /// Reads what a person wrote.
    ///
    /// # Errors
    /// What is wrong with it, as the end of a sentence that begins with the value.
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

/// `NAME`, `NAME@DOMAIN`, `NAME@` (the default domain only). `\@` is an @ within a name, `\\` a backslash.
fn nvtx(range: &[u8]) -> Result<Capture, String> {
    let (name, domain) = range_and_domain(range)?;
    if name.is_empty() {
        return Err("names no NVTX range; write nvtx:NAME or nvtx:NAME@DOMAIN".to_owned());
    }
    Ok(Capture::Nvtx { name, domain })
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
            Capture::Nvtx { name, domain } => write!(f, "nvtx:{}", show_range(name, domain.as_deref())),
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
        Ok(Capture::Nvtx { name: name.into(), domain: domain.map(Into::into) })
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
