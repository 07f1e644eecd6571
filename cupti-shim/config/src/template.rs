//! Names of output files: `%p` pid, `%h` host, `%t` start time, `%n` process name, `%r` rank, `%q{VARIABLE}`, `%%`.

use crate::rank;
use crate::values::shown;
use std::fmt;

/// The name of a trace when none is asked for.
pub const DEFAULT: &str = "gpuprof-%n-%h-%p.gpuprof";

/// What `%r` becomes in a process that no launcher gave a rank.
const NO_RANK: &[u8] = b"norank";

/// Names and hosts are cut here, so that a name with both still fits into the 255 bytes of a file name.
const MAX_PART_BYTES: usize = 64;

/// What is wrong with a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplateError {
    /// A `%` before something that is no placeholder.
    Unknown(String),
    /// `%q` without a variable in braces.
    NoVariable,
    /// A variable that is not set.
    Unset(String),
    /// Nothing at all, or a byte that no path has.
    NoPath,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TemplateError::Unknown(what) => write!(
                f,
                "unknown placeholder {what}; known are %p (pid), %h (host), %t (start time), %n (process name), %r \
                 (rank), %q{{VARIABLE}} and %% for a percent sign"
            ),
            TemplateError::NoVariable => f.write_str("%q without a variable; write %q{VARIABLE}"),
            TemplateError::Unset(name) => write!(
                f,
                "%q{{{name}}}: the variable {name} is not set; set it, or use %r for the rank, which is looked up in \
                 each process"
            ),
            TemplateError::NoPath => f.write_str("is empty or has a zero byte"),
        }
    }
}

/// What placeholders become.
pub struct TemplateFacts<'a> {
    /// `%p`.
    pub pid: u32,
    /// `%h`.
    pub host: &'a [u8],
    /// `%t`: seconds since 1970, written in UTC as `20261128T024741Z`.
    pub start_unix_s: i64,
    /// `%n`: the program's file name.
    pub name: &'a [u8],
    /// The environment, for `%r` and `%q{}`.
    pub lookup: &'a dyn Fn(&[u8]) -> Option<Vec<u8>>,
}

enum Part<'t> {
    Literal(u8),
    Placeholder(u8),
    Variable(&'t [u8]),
}

/// Cuts a template into its parts.
fn parts(template: &[u8]) -> Result<Vec<Part<'_>>, TemplateError> {
    if template.is_empty() || template.contains(&0) {
        return Err(TemplateError::NoPath);
    }
    let mut parts = Vec::with_capacity(template.len());
    let mut rest = template;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            parts.push(Part::Literal(byte));
            continue;
        }
        match rest.split_first() {
            Some((b'%', after)) => {
                parts.push(Part::Literal(b'%'));
                rest = after;
            }
            Some((&letter @ (b'p' | b'h' | b't' | b'n' | b'r'), after)) => {
                parts.push(Part::Placeholder(letter));
                rest = after;
            }
            Some((b'q', after)) => {
                let inner = after.strip_prefix(b"{").ok_or(TemplateError::NoVariable)?;
                let end = inner.iter().position(|b| *b == b'}').filter(|end| *end > 0);
                let end = end.ok_or(TemplateError::NoVariable)?;
                parts.push(Part::Variable(&inner[..end]));
                rest = &inner[end + 1..];
            }
            // The whole letter, if it is one of several bytes.
            other => {
                let first = other.map(|_| shown(rest)).and_then(|rest| rest.chars().next());
                return Err(TemplateError::Unknown(first.map_or("%".to_owned(), |c| format!("%{c}"))));
            }
        }
    }
    Ok(parts)
}

/// Says before a launch what would fail in every process: unknown placeholders and variables that are not set.
///
/// # Errors
/// Fails if the template is wrong. The error names the first thing that is wrong.
pub fn check(template: &[u8], lookup: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> Result<(), TemplateError> {
    for part in parts(template)? {
        if let Part::Variable(name) = part {
            lookup(name).ok_or_else(|| TemplateError::Unset(shown(name)))?;
        }
    }
    Ok(())
}

/// Says what is wrong with a template, whatever the environment: variables are looked up in each process.
///
/// # Errors
/// Fails if the template is wrong. The error names the first thing that is wrong.
pub fn check_form(template: &[u8]) -> Result<(), TemplateError> {
    parts(template).map(drop)
}

/// The path that `template` means for one process. A template that ends in `/` is a folder, in which the file gets
/// its default name.
///
/// # Errors
/// Fails if the template is wrong, as [`check`] does.
pub fn expand(template: &[u8], facts: &TemplateFacts<'_>) -> Result<Vec<u8>, TemplateError> {
    let mut path = Vec::with_capacity(template.len() + 64);
    let in_folder = if template.ends_with(b"/") { DEFAULT.as_bytes() } else { b"" };
    for part in
        parts(template)?.into_iter().chain(if in_folder.is_empty() { Vec::new() } else { parts(in_folder)? })
    {
        match part {
            Part::Literal(byte) => path.push(byte),
            Part::Placeholder(b'p') => path.extend(facts.pid.to_string().into_bytes()),
            Part::Placeholder(b't') => path.extend(utc(facts.start_unix_s).into_bytes()),
            Part::Placeholder(b'h') => one_name(&mut path, facts.host, b"localhost"),
            Part::Placeholder(b'n') => one_name(&mut path, facts.name, b"unknown"),
            Part::Placeholder(_) => match rank::place(facts.lookup).rank {
                Some(rank) => path.extend(rank.to_string().into_bytes()),
                None => path.extend(NO_RANK),
            },
            Part::Variable(name) => {
                path.extend((facts.lookup)(name).ok_or_else(|| TemplateError::Unset(shown(name)))?);
            }
        }
    }
    Ok(path)
}

/// Appends `name` as a part of one file name: never with a `/` in it, never too long. Variables may be whole paths.
fn one_name(path: &mut Vec<u8>, name: &[u8], otherwise: &[u8]) {
    let name = if name.is_empty() { otherwise } else { name };
    // Not in the middle of a letter.
    let mut end = name.len().min(MAX_PART_BYTES);
    while end > 0 && name.get(end).is_some_and(|b| b & 0xc0 == 0x80) {
        end -= 1;
    }
    path.extend(name[..end].iter().map(|b| if *b == b'/' || *b == 0 { b'_' } else { *b }));
}

/// The template that means exactly `path`.
pub fn escape(path: &[u8]) -> Vec<u8> {
    let mut template = Vec::with_capacity(path.len());
    for byte in path {
        template.extend(if *byte == b'%' { b"%%".as_slice() } else { std::slice::from_ref(byte) });
    }
    template
}

/// `20261128T024741Z`: UTC, because local time needs files that a process in a sandbox may not open.
fn utc(unix_s: i64) -> String {
    let (days, second) = (unix_s.div_euclid(86_400), unix_s.rem_euclid(86_400));
    // Days since 1 March of the year 0, so that a leap day is the last of its year; 146,097 days are 400 years.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{:02}Z", second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &[u8]) -> Option<Vec<u8>> {
        match name {
            b"RANK" => Some(b"3".to_vec()),
            b"JOB" => Some(b"4711".to_vec()),
            b"SCRATCH" => Some(b"/scratch/me".to_vec()),
            b"RAW" => Some(b"\xff%p".to_vec()),
            _ => None,
        }
    }

    fn facts() -> TemplateFacts<'static> {
        TemplateFacts { pid: 42, host: b"node1", start_unix_s: 1_795_834_061, name: b"python3.12", lookup: &lookup }
    }

    fn expanded(template: &str) -> String {
        String::from_utf8(expand(template.as_bytes(), &facts()).unwrap()).unwrap()
    }

    #[test]
    fn every_placeholder_becomes_its_fact() {
        assert_eq!(expanded("a-%p-%h-%n-%r.gpuprof"), "a-42-node1-python3.12-3.gpuprof");
        assert_eq!(expanded("%q{SCRATCH}/job%q{JOB}/100%%"), "/scratch/me/job4711/100%");
        assert_eq!(expanded("%t"), "20261128T024741Z");
        assert_eq!(expanded("out/"), "out/gpuprof-python3.12-node1-42.gpuprof");
        assert_eq!(expanded("plain"), "plain");
        assert_eq!(expand(b"%q{RAW}", &facts()), Ok(b"\xff%p".to_vec()), "values are not templates");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (unix_s, text) in [
            (0, "19700101T000000Z"),
            (-1, "19691231T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (1_709_164_799, "20240228T235959Z"),
            (1_709_164_800, "20240229T000000Z"),
            (1_709_251_200, "20240301T000000Z"),
            (4_107_542_399, "21000228T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(utc(unix_s), text);
        }
    }

    #[test]
    fn without_a_rank_the_name_says_so() {
        let facts = TemplateFacts { lookup: &|_| None, ..facts() };
        assert_eq!(expand(b"%r", &facts), Ok(b"norank".to_vec()));
    }

    #[test]
    fn mistakes_are_found_before_the_launch() {
        let error = |template: &str| check(template.as_bytes(), &lookup).unwrap_err();
        assert_eq!(error("run-%x"), TemplateError::Unknown("%x".into()));
        assert_eq!(error("run-%ü"), TemplateError::Unknown("%ü".into()));
        assert_eq!(error("run-%"), TemplateError::Unknown("%".into()));
        assert_eq!(error("%q"), TemplateError::NoVariable);
        assert_eq!(error("%q{}"), TemplateError::NoVariable);
        assert_eq!(error("%q{JOB"), TemplateError::NoVariable);
        assert_eq!(error("%q{NOT_SET}"), TemplateError::Unset("NOT_SET".into()));
        assert_eq!(error(""), TemplateError::NoPath);
        assert_eq!(error("a\0b"), TemplateError::NoPath);
        assert_eq!(check(b"%p%h%t%n%r%q{JOB}%%", &lookup), Ok(()));
        assert_eq!(check_form(b"%q{NOT_SET}"), Ok(()));
        assert!(error("%q{NOT_SET}").to_string().contains("use %r"));
        assert!(error("%x").to_string().contains("known are %p"));
    }

    #[test]
    fn names_never_leave_their_folder_nor_overflow_it() {
        let long = "ä".repeat(200);
        let facts = TemplateFacts { name: long.as_bytes(), host: b"a/../b", ..facts() };
        let path = expand(b"%n-%h", &facts).unwrap();
        assert_eq!(path, [&long.as_bytes()[..64], b"-a_.._b"].concat());
        assert!(std::str::from_utf8(&path).is_ok(), "no letter is cut in two");
        let odd = format!("x{long}");
        let facts = TemplateFacts { name: odd.as_bytes(), ..facts };
        assert_eq!(expand(b"%n", &facts).unwrap().len(), 63);
        assert_eq!(expand(b"%n", &TemplateFacts { name: b"", ..facts }), Ok(b"unknown".to_vec()));
    }

    #[test]
    fn an_escaped_path_means_itself() {
        let path = b"/tmp/100% done/%p\xfe".as_slice();
        assert_eq!(expand(&escape(path), &facts()), Ok(path.to_vec()));
    }
}
