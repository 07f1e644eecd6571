//! Names of log files: `--log-file run.%p.%h.log`.

use std::fmt;

/// Why a pattern names no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpandError {
    /// `%q{NAME}` names a variable that is not set. nvprof refuses it too.
    Unset(String),
    /// `%` is followed by something else than `p`, `h`, `q{…}` or `%`.
    Illegal(String),
}

impl fmt::Display for ExpandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExpandError::Unset(name) => write!(f, "%q{{{name}}}: the environment variable is not set"),
            ExpandError::Illegal(what) => {
                write!(f, "{what}: not a pattern; known are %p, %h, %q{{VARIABLE}} and %%")
            }
        }
    }
}

impl std::error::Error for ExpandError {}

/// Replaces `%p` by the pid, `%h` by the host name, `%q{VAR}` by an environment variable and `%%` by `%`.
///
/// # Errors
/// Fails if a variable is not set, or if another character follows `%`.
pub fn expand(
    pattern: &str,
    pid: u32,
    host: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, ExpandError> {
    let mut name = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('%') {
        name.push_str(before);
        let kind = after.chars().next();
        rest = &after[kind.map_or(0, char::len_utf8)..];
        match kind {
            Some('p') => name.push_str(&pid.to_string()),
            Some('h') => name.push_str(host),
            Some('%') => name.push('%'),
            Some('q') => {
                let Some((key, tail)) = rest.strip_prefix('{').and_then(|r| r.split_once('}')) else {
                    return Err(ExpandError::Illegal("%q".to_owned()));
                };
                name.push_str(&variable(key).ok_or_else(|| ExpandError::Unset(key.to_owned()))?);
                rest = tail;
            }
            other => return Err(ExpandError::Illegal(format!("%{}", other.map_or(String::new(), String::from)))),
        }
    }
    name.push_str(rest);
    Ok(name)
}

/// Whether each process gets a file of its own by this name. Needed where child processes are profiled.
pub fn names_the_process(pattern: &str) -> bool {
    // `%%p` is a percent sign and a p.
    pattern.split("%%").any(|part| part.contains("%p"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(pattern: &str) -> Result<String, ExpandError> {
        expand(pattern, 531, "node7", |name| (name == "RANK").then(|| "3".to_owned()))
    }

    #[test]
    fn each_pattern_is_replaced() {
        assert_eq!(expanded("run.log").as_deref(), Ok("run.log"));
        assert_eq!(expanded("%p.%h.%q{RANK}.log").as_deref(), Ok("531.node7.3.log"));
        assert_eq!(expanded("50%%p").as_deref(), Ok("50%p"));
    }

    #[test]
    fn unset_variables_and_unknown_patterns_are_refused() {
        assert_eq!(expanded("%q{NOPE}"), Err(ExpandError::Unset("NOPE".to_owned())));
        for pattern in ["a%x", "a%", "%q", "%q{RANK", "%é"] {
            assert!(matches!(expanded(pattern), Err(ExpandError::Illegal(_))), "{pattern}");
        }
        assert_eq!(
            ExpandError::Illegal("%x".to_owned()).to_string(),
            "%x: not a pattern; known are %p, %h, %q{VARIABLE} and %%"
        );
    }

    #[test]
    fn only_a_real_p_names_the_process() {
        assert!(names_the_process("a%p"));
        assert!(names_the_process("a%%%p"));
        assert!(!names_the_process("a%%p"));
        assert!(!names_the_process("a%h"));
    }
}
