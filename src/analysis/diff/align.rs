//! Which name before is which name after. Names change with template arguments, shapes and numbers that a compiler appends, while
//! the kernel stays what it was.

use super::numbers_as;
use crate::demangle::base_name;
use std::collections::{BTreeMap, BTreeSet};

/// A name on both sides, or on one of them alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pair {
    /// The same name.
    Same(String),
    /// Another name for what is taken to be the same.
    Renamed {
        /// The name before.
        before: String,
        /// The name after.
        after: String,
    },
    /// Only before.
    Gone(String),
    /// Only after.
    New(String),
}

impl Pair {
    /// The name before.
    pub fn before(&self) -> Option<&str> {
        match self {
            Pair::Same(name) | Pair::Gone(name) | Pair::Renamed { before: name, .. } => Some(name),
            Pair::New(_) => None,
        }
    }

    /// The name after.
    pub fn after(&self) -> Option<&str> {
        match self {
            Pair::Same(name) | Pair::New(name) | Pair::Renamed { after: name, .. } => Some(name),
            Pair::Gone(_) => None,
        }
    }

    /// Both names.
    pub fn names(&self) -> (Option<&str>, Option<&str>) {
        (self.before(), self.after())
    }

    /// The name that it has now, or had.
    pub fn name(&self) -> &str {
        self.after().or(self.before()).unwrap_or_default()
    }
}

/// Time and count by name.
type Names = BTreeMap<String, (f64, u64)>;

/// Finds the pairs: equal names first, then, of what is left, names that are equal without template arguments, and last those
/// that are also equal without digits. Within such a group as many are paired as both sides have, those with the most alike
/// number of launches first and then the longest, so that a kernel of another shape is not taken for a new one.
pub fn pairs(before: &Names, after: &Names) -> Vec<Pair> {
    let mut pairs: Vec<Pair> =
        before.keys().filter(|name| after.contains_key(*name)).cloned().map(Pair::Same).collect();
    let mut left: [BTreeSet<&str>; 2] = [
        before.keys().filter(|name| !after.contains_key(*name)).map(String::as_str).collect(),
        after.keys().filter(|name| !before.contains_key(*name)).map(String::as_str).collect(),
    ];
    for key in [without_arguments, without_digits] {
        let mut groups: BTreeMap<String, [Vec<&str>; 2]> = BTreeMap::new();
        for (side, names) in left.iter().enumerate() {
            for name in names {
                // `[CUDA memcpy HtoD]` is no name that anybody gave.
                if !name.starts_with('[') {
                    groups.entry(key(name)).or_default()[side].push(name);
                }
            }
        }
        for [of_before, of_after] in groups.into_values() {
            for (a, b) in matched(of_before, of_after, before, after) {
                left[0].remove(a);
                left[1].remove(b);
                pairs.push(Pair::Renamed { before: a.to_owned(), after: b.to_owned() });
            }
        }
    }
    let [gone, new] = left;
    pairs.extend(gone.into_iter().map(|name| Pair::Gone(name.to_owned())));
    pairs.extend(new.into_iter().map(|name| Pair::New(name.to_owned())));
    pairs
}

/// Matches the names of one group.
fn matched<'a>(a: Vec<&'a str>, b: Vec<&'a str>, before: &Names, after: &Names) -> Vec<(&'a str, &'a str)> {
    let (mut a, mut b) = (a, b);
    let mut found = Vec::new();
    let by_time = |names: &Names, list: &mut Vec<&str>| {
        let time = |name: &str| names.get(name).map_or(0.0, |(ns, _)| *ns);
        list.sort_by(|x, y| time(y).total_cmp(&time(x)).then_with(|| x.cmp(y)));
    };
    by_time(before, &mut a);
    by_time(after, &mut b);
    let count = |names: &Names, name: &str| names.get(name).map_or(0, |(_, count)| *count);
    // Equal numbers of launches tell which shape became which.
    a.retain(|x| {
        let same = b.iter().position(|y| count(after, y) == count(before, x));
        same.is_none_or(|at| {
            found.push((*x, b.remove(at)));
            false
        })
    });
    found.extend(a.into_iter().zip(b));
    found
}

fn without_arguments(name: &str) -> String {
    base_name(name).to_owned()
}

/// `ampere_sgemm_128x64_tn` and `ampere_sgemm_64x64_tn` are one, and so are `triton_poi_fused_add_12` and `triton_poi_fused_add_7`.
fn without_digits(name: &str) -> String {
    numbers_as(base_name(name), '#')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[(&str, f64, u64)]) -> Names {
        list.iter().map(|(name, ns, count)| ((*name).to_owned(), (*ns, *count))).collect()
    }

    #[test]
    fn renamed_kernels_are_found_and_others_are_new_or_gone() {
        let before = names(&[
            ("void gemm<float, 128>(float*)", 900.0, 10),
            ("void gemm<float, 64>(float*)", 100.0, 30),
            ("triton_poi_fused_add_12", 50.0, 5),
            ("softmax", 40.0, 5),
            ("old_only", 30.0, 5),
            ("[CUDA memcpy HtoD]", 10.0, 1),
        ]);
        let after = names(&[
            // The longer one has the count of the shorter one.
            ("void gemm<half, 128>(half*)", 600.0, 30),
            ("void gemm<half, 64>(half*)", 80.0, 10),
            ("void gemm<half, 32>(half*)", 5.0, 1),
            ("triton_poi_fused_add_7", 45.0, 5),
            ("softmax", 41.0, 5),
            ("[CUDA memset]", 1.0, 1),
        ]);
        let renamed = |a: &str, b: &str| Pair::Renamed { before: a.to_owned(), after: b.to_owned() };
        let found = pairs(&before, &after);
        let expected = [
            Pair::Same("softmax".into()),
            renamed("void gemm<float, 128>(float*)", "void gemm<half, 64>(half*)"),
            renamed("void gemm<float, 64>(float*)", "void gemm<half, 128>(half*)"),
            renamed("triton_poi_fused_add_12", "triton_poi_fused_add_7"),
            Pair::Gone("[CUDA memcpy HtoD]".into()),
            Pair::Gone("old_only".into()),
            Pair::New("[CUDA memset]".into()),
            Pair::New("void gemm<half, 32>(half*)".into()),
        ];
        assert_eq!(found, expected);
    }
}
