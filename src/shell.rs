//! Commands that people copy into a shell.

use std::ffi::OsString;

/// Words as one would type them into a shell.
pub fn quoted(words: &[OsString]) -> String {
    let quote = |word: &OsString| {
        let text = word.to_string_lossy();
        let plain = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "%+,-./:=@_^".contains(c));
        if plain { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_the_shell() {
        let words = ["report", "my run", "it's", "", "a/b-c.gpuprof"].map(OsString::from);
        assert_eq!(quoted(&words), r"report 'my run' 'it'\''s' '' a/b-c.gpuprof");
    }
}
