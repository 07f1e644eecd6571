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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!([0, 1, 2000].map(|n| counted(n, "record")), ["0 records", "1 record", "2,000 records"]);
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(items(1, "copy", "copies"), "1 copy");
        assert_eq!(items(1254, "copy", "copies"), "1,254 copies");
        assert_eq!([0, 1].map(|number| items(number, "row is", "rows are")), ["0 rows are", "1 row is"]);
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }
}
