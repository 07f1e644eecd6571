//! nvprof's way to name kernels: `NAME`, or `CONTEXT:STREAM:NAME:INVOCATION`.

use regex::Regex;

/// Checks a path: four parts or one, each a regular expression.
///
/// # Errors
/// Fails if the path is not valid. The error says why.
pub fn check(path: &str) -> Result<(), String> {
    // Names of C++ functions have colons of their own, in pairs.
    let parts: Vec<&str> = path.split(':').collect();
    let parts = match parts.len() {
        4 => parts,
        _ if !path.replace("::", "").contains(':') => vec![path],
        more => return Err(format!("has {more} parts instead of one or four")),
    };
    parts.iter().try_for_each(|part| Regex::new(part).map(drop).map_err(|e| e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_part_or_four() {
        for good in ["", "gemm", "1:foo:bar:2", ":::", "::foo:1", "1::.*gemm.*:", "ns::kernel"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["a:b", "a:b:c", "1:2:3:4:5", "a:b:(:1", "("] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
