//! Whether a file is a trace, by its first 64 KiB of text.

/// Whether text that begins like this is a trace, or another tool's JSON that is refused by name. `goes_on`: there
/// is more of it.
///
/// Metadata may fill more than the head before the first telling key, so an object that goes on without one is
/// taken; reading it to its end will tell. One that ends without is not: `package.json` beside traces is nobody's.
pub fn is_trace(text: &[u8], goes_on: bool) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start();
    let Some((open, rest)) = text.split_first() else { return false };
    let rest = rest.trim_ascii_start();
    match (open, rest.first()) {
        (b'{', Some(b'"')) => {
            let telling = ["traceEvents", "deviceProperties", "computeProperties"];
            goes_on || telling.iter().any(|key| has_key(rest, key)) || is_speedscope(rest)
        }
        // A tool that writes a comma before each event writes one before the first as well.
        (b'[', Some(b'{' | b',')) => has_key(rest, "ph"),
        _ => false,
    }
}

/// Whether the text has a key of this name at any depth. A string of that name alone is not enough: programs list
/// the keys of traces.
fn has_key(text: &[u8], key: &str) -> bool {
    let quoted = format!("\"{key}\"");
    let mut rest = text;
    while let Some(at) = rest.windows(quoted.len()).position(|w| w == quoted.as_bytes()) {
        rest = &rest[at + quoted.len()..];
        if rest.trim_ascii_start().first() == Some(&b':') {
            return true;
        }
    }
    false
}

/// Whether a file that begins like this says that it is a speedscope file.
pub fn is_speedscope_file(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start();
    text.starts_with(b"{") && is_speedscope(text)
}

fn is_speedscope(text: &[u8]) -> bool {
    has_key(text, "$schema") && text.windows(10).any(|w| w == b"speedscope")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_taken_wherever_their_events_stand() {
        for text in [
            r#"{"traceEvents":[]}"#,
            "\u{feff}\n { \n \"metadata\": {}, \"traceEvents\" : []",
            r#"{"schemaVersion":1,"deviceProperties":[{"id":0"#,
            r#"[{"ph": "X", "cat": "Kernel"}"#,
            r#"[,{"ph": "B"}"#,
            r#"{"$schema":"https://www.speedscope.app/file-format-schema.json"}"#,
        ] {
            assert!(is_trace(text.as_bytes(), false), "{text}");
        }
    }

    #[test]
    fn other_files_are_not() {
        for text in [
            "",
            "{",
            "[",
            "{}",
            "[]",
            "{x",
            "{\u{e9}\u{1}",
            r#"{"name":"package"}"#,
            r#"{"top_keys":["traceEvents","ph"]}"#,
            r#"[{"name":"x"}]"#,
            "[1, 2]",
            "==12== NVPROF",
        ] {
            assert!(!is_trace(text.as_bytes(), false), "{text}");
        }
    }

    #[test]
    fn an_object_that_goes_on_may_be_one() {
        assert!(is_trace(br#"{"metadata":{"env":{"#, true));
        assert!(!is_trace(br#"[{"name":"#, true));
        assert!(!is_trace(b"{\x00\x01", true));
    }
}
