//! Shell patterns over bytes: `*`, `?` and `[a-z]`.

/// Whether the whole of `name` matches `pattern`. `[` without its `]` means itself.
pub fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // Where to go on after a mismatch: one byte further into what the last star swallowed. No other way back is ever
    // needed, so the time is at most the product of both lengths.
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, n));
            p += 1;
            continue;
        }
        match one(pattern, p, name[n]) {
            Some(next) => (p, n) = (next, n + 1),
            None => {
                let Some((after, swallowed)) = star else { return false };
                star = Some((after, swallowed + 1));
                (p, n) = (after, swallowed + 1);
            }
        }
    }
    pattern[p..].iter().all(|b| *b == b'*')
}

/// Where the pattern goes on if its element at `p` matches `byte`.
fn one(pattern: &[u8], p: usize, byte: u8) -> Option<usize> {
    match *pattern.get(p)? {
        b'?' => Some(p + 1),
        b'[' => match set(pattern, p, byte) {
            Some((true, next)) => Some(next),
            Some((false, _)) => None,
            None => (byte == b'[').then_some(p + 1),
        },
        literal => (literal == byte).then_some(p + 1),
    }
}

/// Whether the set that opens at `p` has `byte` in it, and where it ends.
fn set(pattern: &[u8], p: usize, byte: u8) -> Option<(bool, usize)> {
    let negated = matches!(pattern.get(p + 1), Some(b'!' | b'^'));
    let first = p + 1 + usize::from(negated);
    // A `]` that comes first is a member.
    let end = first + 1 + pattern.get(first + 1..)?.iter().position(|b| *b == b']')?;
    let members = &pattern[first..end];
    let (mut i, mut found) = (0, false);
    while i < members.len() {
        if members.get(i + 1) == Some(&b'-') && i + 2 < members.len() {
            found |= (members[i]..=members[i + 2]).contains(&byte);
            i += 3;
        } else {
            found |= members[i] == byte;
            i += 1;
        }
    }
    Some((found != negated, end + 1))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_as_in_a_shell() {
        for (pattern, name, expected) in [
            ("python*", "python3.12", true),
            ("python*", "cpython", false),
            ("*train*", "pretrain.x", true),
            ("?ctest", "pctest", true),
            ("?ctest", "ctest", false),
            ("rank[0-3]", "rank2", true),
            ("rank[0-3]", "rank4", false),
            ("rank[!0-3]", "rank4", true),
            ("a[]b]c", "a]c", true),
            ("a[b", "a[b", true),
            ("", "", true),
            ("", "x", false),
            ("*", "", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn many_stars_take_no_time() {
        let name = vec![b'a'; 4000];
        let pattern = [b"*a".repeat(30), b"b".to_vec()].concat();
        assert!(!matches(&pattern, &name));
    }
}
