//! Numbers in sentences for people.

/// A number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// So many things, and what they do: `1 row`, `1,254 rows`, `1 row has`, `1,254 rows have`.
pub fn items(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}

/// A number of things whose plural is regular: `1 record`, `2,000 records`.
pub fn counted(number: u64, one: &str) -> String {
    items(number, one, &format!("{one}s"))
}

/// The units of a size, each so many times the one before.
#[derive(Debug)]
pub struct SizeUnits {
    times: f64,
    names: &'static [&'static str],
}

/// What recordings take.
pub static BINARY: SizeUnits = SizeUnits { times: 1024.0, names: &["bytes", "KiB", "MiB", "GiB", "TiB"] };

/// The room of disks; that of large ones is told in GiB too.
pub static BINARY_TO_GIB: SizeUnits = SizeUnits { times: 1024.0, names: &["bytes", "KiB", "MiB", "GiB"] };

/// Files, as file managers tell their sizes.
pub static DECIMAL: SizeUnits = SizeUnits { times: 1000.0, names: &["bytes", "KB", "MB", "GB", "TB"] };

/// A size in the largest unit that it fills: `512 bytes`, `1.5 MiB`.
pub fn size(bytes: u64, units: &SizeUnits) -> String {
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= units.times && unit + 1 < units.names.len() {
        value /= units.times;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{value:.1} {}", units.names[unit]) }
}

/// A time in the largest unit that it fills: `740 ns`, `12.5 us`, `3.20 s`. For people; machines get nanoseconds.
pub fn short_time(ns: i64) -> String {
    let value = ns.unsigned_abs() as f64;
    let sign = if ns < 0 { "-" } else { "" };
    // From where the digits printed reach the next unit on, it is the next one that is printed.
    match value {
        v if v < 1e3 => format!("{sign}{v:.0} ns"),
        v if v < 999_950.0 => format!("{sign}{:.1} us", v / 1e3),
        v if v < 999_950_000.0 => format!("{sign}{:.1} ms", v / 1e6),
        v => format!("{sign}{:.2} s", v / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_are_in_the_largest_unit_that_they_fill() {
        let texts =
            [0, 999, 1_000, 999_949, 999_950, 12_500_000, 999_950_000, 3_204_000_000, -1_500].map(short_time);
        let expected = ["0 ns", "999 ns", "1.0 us", "999.9 us", "1.0 ms", "12.5 ms", "1.00 s", "3.20 s", "-1.5 us"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!([0, 1, 2000].map(|n| counted(n, "record")), ["0 records", "1 record", "2,000 records"]);
    }

    #[test]
    fn sizes_are_in_units_that_people_read() {
        let all = |bytes| [&BINARY, &BINARY_TO_GIB, &DECIMAL].map(|units| size(bytes, units));
        assert_eq!(all(999), ["999 bytes"; 3]);
        assert_eq!(all(1000), ["1000 bytes", "1000 bytes", "1.0 KB"]);
        assert_eq!(all(3 << 19), ["1.5 MiB", "1.5 MiB", "1.6 MB"]);
        assert_eq!(all(2 << 40), ["2.0 TiB", "2048.0 GiB", "2.2 TB"]);
        assert_eq!(size(u64::MAX, &BINARY), "16777216.0 TiB");
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(items(1, "copy", "copies"), "1 copy");
        assert_eq!(items(1254, "copy", "copies"), "1,254 copies");
        assert_eq!([0, 1].map(|number| items(number, "row is", "rows are")), ["0 rows are", "1 row is"]);
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
