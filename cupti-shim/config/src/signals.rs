//! Signals that a person may choose for a purpose of his own.

/// Name and number, on x86-64 and aarch64 alike. Others mean something that a program or its debugger relies on.
static SIGNALS: [(&str, u8); 9] = [
    ("HUP", 1),
    ("USR1", 10),
    ("USR2", 12),
    ("VTALRM", 26),
    ("PROF", 27),
    ("WINCH", 28),
    ("IO", 29),
    ("URG", 23),
    ("PWR", 30),
];
/// The first and the last real-time signal: the C library keeps 32 and 33.
const REAL_TIME: std::ops::RangeInclusive<u8> = 34..=64;

/// Reads `USR1`, `SIGUSR1`, `10` or `RTMIN+3`.
pub(crate) fn parse(value: &[u8]) -> Result<u8, String> {
    let bad = || {
        let names: Vec<&str> = SIGNALS.iter().map(|(name, _)| *name).collect();
        format!("is no signal that can be used: {} or RTMIN+0 to RTMIN+30", names.join(", "))
    };
    let text = std::str::from_utf8(value).map_err(|_| bad())?.trim().to_ascii_uppercase();
    let name = text.strip_prefix("SIG").unwrap_or(&text);
    let by_name = SIGNALS.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    let number = match (by_name, name.strip_prefix("RTMIN")) {
        (Some(number), _) => Some(number),
        (None, Some("")) => Some(*REAL_TIME.start()),
        (None, Some(rest)) => {
            let beyond = rest.strip_prefix('+').and_then(|n| n.parse::<u8>().ok());
            beyond.and_then(|n| REAL_TIME.start().checked_add(n))
        }
        (None, None) => name.parse().ok(),
    };
    let is_known = |n: &u8| REAL_TIME.contains(n) || SIGNALS.iter().any(|(_, known)| known == n);
    number.filter(is_known).ok_or_else(bad)
}

/// The signal as it would be written.
pub fn signal_name(number: u8) -> String {
    match SIGNALS.iter().find(|(_, known)| *known == number) {
        Some((name, _)) => (*name).to_owned(),
        None => format!("RTMIN+{}", number.saturating_sub(*REAL_TIME.start())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_read_and_signals_with_a_purpose_are_refused() {
        for (text, number) in
            [("USR1", 10), ("SIGUSR2", 12), ("sigusr1", 10), ("10", 10), ("RTMIN", 34), ("RTMIN+3", 37), ("64", 64)]
        {
            assert_eq!(parse(text.as_bytes()), Ok(number), "{text}");
            assert_eq!(parse(signal_name(number).as_bytes()), Ok(number), "{text}");
        }
        for text in ["", "0", "9", "KILL", "SEGV", "32", "33", "65", "RTMIN+31", "RTMIN-1", "TERM", "300", "USR3"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse(b"\xff").is_err());
    }
}
