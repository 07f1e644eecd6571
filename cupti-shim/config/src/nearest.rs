//! The known name that an unknown one was probably meant to be.

/// The one of `known` that is nearest to `name`, if any is near: at most a third of its letters differ.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let limit = (name.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        // Of two that are as near, the one of the same length: letters are swapped more often than left out.
        .min_by_key(|(distance, candidate)| (*distance, candidate.len().abs_diff(name.len())))
        .map(|(_, candidate)| candidate)
}

/// How many letters must be put in, left out, replaced or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let differs = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + differs);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_single_mistakes() {
        for (a, b, expected) in
            [("", "", 0), ("", "ab", 2), ("flush", "flush", 0), ("flsuh", "flush", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
            assert_eq!(distance(b, a), expected, "{b} {a}");
        }
    }

    #[test]
    fn only_near_names_are_offered() {
        let known = ["OUTPUT", "CAPTURE", "KINDS"];
        assert_eq!(nearest("OUTPUTS", known), Some("OUTPUT"));
        assert_eq!(nearest("KIND", known), Some("KINDS"));
        assert_eq!(nearest("CPATURE", known), Some("CAPTURE"));
        assert_eq!(nearest("SOMETHING", known), None);
        assert_eq!(nearest("tpo", ["to", "top"]), Some("top"));
    }
}
