//! Signals that a person may name in a setting.

use crate::values::shown;

/// Those whose meaning is the program's to choose, with their numbers on Linux.
const SIGNALS: [(&str, i32); 7] =
    [("HUP", 1), ("USR1", 10), ("USR2", 12), ("URG", 23), ("WINCH", 28), ("IO", 29), ("PWR", 30)];

/// What can be written.
pub const SIGNAL_GRAMMAR: &str =
    "USR1, USR2, HUP, URG, WINCH, IO, PWR, or a number from 35 to 64 (real-time signals)";

/// Reads `USR1`, `SIGUSR1` or a number.
///
/// # Errors
/// What is wrong with it, as the end of a sentence that begins with the value.
pub fn signal(value: &[u8]) -> Result<i32, String> {
    let text = shown(value);
    let name = text.trim().trim_start_matches("SIG");
    let named = SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    // 32 to 34 are the C library's own.
    let number = || name.parse().ok().filter(|n| (35..=64).contains(n) || SIGNALS.iter().any(|(_, s)| s == n));
    named.or_else(number).ok_or_else(|| format!("is not {SIGNAL_GRAMMAR}"))
}

/// The signal as it would be written.
pub fn show_signal(number: i32) -> String {
    SIGNALS.iter().find(|(_, n)| *n == number).map_or_else(|| number.to_string(), |(name, _)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read_and_what_ends_programs_is_refused() {
        for (text, expected) in [("USR1", 10), ("SIGUSR2", 12), ("12", 12), ("40", 40), ("64", 64)] {
            assert_eq!(signal(text.as_bytes()), Ok(expected));
        }
        for text in ["", "KILL", "9", "SEGV", "11", "TERM", "33", "65", "-1", "usr 1"] {
            assert!(signal(text.as_bytes()).unwrap_err().contains("USR1"), "{text}");
        }
        assert_eq!((show_signal(10), show_signal(40)), ("USR1".to_owned(), "40".to_owned()));
    }
}
