//! Numbers as people read them at a glance. Machine formats never come here.

/// A rate or count with a decimal prefix: `812`, `1.2k`, `34M`.
pub fn scaled(value: f64) -> String {
    with_prefix(value, "")
}

/// Bytes with a decimal prefix: `512 B`, `1.3 GB`.
pub fn bytes(value: f64) -> String {
    let number = with_prefix(value, " ");
    format!("{number}B")
}

fn with_prefix(value: f64, space: &str) -> String {
    let mut value = value.max(0.0);
    let mut prefix = "";
    for next in ["k", "M", "G", "T", "P"] {
        if value < 999.5 {
            break;
        }
        value /= 1e3;
        prefix = next;
    }
    let decimals = usize::from(value < 9.95 && (!prefix.is_empty() || value.fract() != 0.0));
    format!("{value:.decimals$}{space}{prefix}")
}

/// A duration: `900 ns`, `1.5 µs`, `12 ms`, `3.0 s`.
pub fn time(ns: f64) -> String {
    let mut value = ns.max(0.0);
    let mut unit = "ns";
    for next in ["µs", "ms", "s"] {
        if value < 999.5 {
            break;
        }
        value /= 1e3;
        unit = next;
    }
    let decimals = usize::from(value < 9.95 && unit != "ns");
    format!("{value:.decimals$} {unit}")
}

/// A share in percent: `99.6%`.
pub fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// Text cut to `width` characters, the last one an ellipsis.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    match width {
        0 => String::new(),
        _ => text.chars().take(width - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_two_or_three_digits() {
        assert_eq!(
            [0.0, 7.0, 7.25, 812.4, 999.6, 1_234.0, 34e6].map(scaled),
            ["0", "7", "7.2", "812", "1.0k", "1.2k", "34M"]
        );
        assert_eq!([12.0, 1.26e9, 999_999.0].map(bytes), ["12 B", "1.3 GB", "1.0 MB"]);
        assert_eq!(
            [0.0, 999.0, 1_500.0, 12e6, 3e9, 75e9].map(time),
            ["0 ns", "999 ns", "1.5 µs", "12 ms", "3.0 s", "75 s"]
        );
        assert_eq!(percent(0.9961), "99.6%");
        assert_eq!((cut("kernel", 4), cut("abc", 3), cut("abc", 0)), ("ker…".into(), "abc".into(), String::new()));
    }
}
