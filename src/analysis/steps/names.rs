//! Which ranges are steps by their name.

use crate::analysis::diff::numbers_as;
use regex::Regex;

/// Names that ranges of a step have, in small letters, without numbers and what stands around them.
pub const STEPS: [&str; 9] = [
    "profilerstep",
    "step",
    "train_step",
    "training_step",
    "train step",
    "training step",
    "iteration",
    "iter",
    "batch",
];

/// Whether a range of this name is a step; `wanted`: of a program that calls its steps otherwise.
pub fn is_step(name: &str, wanted: Option<&Regex>) -> bool {
    if let Some(wanted) = wanted {
        return wanted.is_match(name);
    }
    let folded = without_numbers(name).to_lowercase();
    STEPS.contains(&folded.trim_matches(|c: char| !c.is_alphanumeric()))
}

/// `ProfilerStep#12` is `ProfilerStep#*`.
pub fn without_numbers(name: &str) -> String {
    numbers_as(name, '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_known_by_name() {
        for name in ["ProfilerStep#12", "step", "Step 7", "train_step", "iteration_004", "Iter: 3", "batch-9"] {
            assert!(is_step(name, None), "{name}");
        }
        for name in ["footstep", "step size", "optimizer.step", "forward", "12"] {
            assert!(!is_step(name, None), "{name}");
        }
        let epochs = Regex::new("^epoch").expect("a pattern");
        assert!(is_step("epoch 3", Some(&epochs)) && !is_step("step", Some(&epochs)));
        assert_eq!(without_numbers("ProfilerStep#12"), "ProfilerStep#*");
    }
}
