//! What the numbers of coded columns mean: one file per vocabulary, with a constant and a word for every number.
//!
//! A column names its vocabulary in its table (`Coded(range_style)`). Columns of words in exports and SQL, the words of
//! reports and the documents come from there; whoever compares with a number uses the constant. Unknown numbers are
//! legal in a trace: they have no word and are shown as numbers. What other tools call the same numbers stands beside
//! them as a [`Wording`], for readers of their formats and for reports in their words alike.

use std::borrow::Cow;

macro_rules! registry {
    ($($module:ident;)+) => {
        $(pub mod $module;)+

        /// Every vocabulary.
        pub static ALL: &[&Vocabulary] = &[$(&$module::VOCABULARY),+];
    };
}

registry! {
    api_domain;
    compute_api;
    external_kind;
    foreign_form;
    frame_kind;
    host_call_domain;
    jit_kind;
    jit_operation;
    loss_cause;
    memcpy_kind;
    memory_kind;
    memory_operation;
    mpi_kind;
    openacc_construct;
    openacc_kind;
    openmp_kind;
    overhead_kind;
    range_style;
    stream_flag;
    sync_kind;
    uvm_kind;
}

/// Every other wording of a vocabulary's numbers.
pub static WORDINGS: &[&Wording] = &[
    &loss_cause::SENTENCES,
    &memcpy_kind::NSYS,
    &memcpy_kind::NVPROF,
    &memory_kind::NVPROF,
    &openmp_kind::NVPROF,
    &overhead_kind::KINETO,
    &range_style::NSYS,
    &sync_kind::KINETO,
    &uvm_kind::NVPROF,
    &uvm_kind::NVVP,
];

/// The words of some tool or report for the numbers of a vocabulary, by number.
#[derive(Debug)]
pub struct Wording(pub &'static [(u32, &'static str)]);

impl Wording {
    /// The word for `code`; none if there is none.
    pub fn word(&self, code: u32) -> Option<&'static str> {
        word(self.0, code)
    }

    /// The number that `word` stands for, letter by letter.
    pub fn code(&self, word: &[u8]) -> Option<u32> {
        code(self.0, word)
    }
}

fn word(words: &[(u32, &'static str)], code: u32) -> Option<&'static str> {
    words.binary_search_by_key(&code, |&(known, _)| known).ok().map(|i| words[i].1)
}

fn code(words: &[(u32, &'static str)], word: &[u8]) -> Option<u32> {
    words.iter().find(|(_, known)| known.as_bytes() == word).map(|&(code, _)| code)
}

/// The numbers of one kind of code, and a word for each.
#[derive(Debug)]
pub struct Vocabulary {
    /// The path of its module.
    pub name: &'static str,
    /// What the column of words beside the numbers says.
    pub doc: &'static str,
    /// Numbers and words, by number.
    pub words: &'static [(u32, &'static str)],
}

impl Vocabulary {
    /// The word for `code`; none if the number is unknown.
    pub fn word(&self, code: u32) -> Option<&'static str> {
        word(self.words, code)
    }

    /// The number that `word` stands for, letter by letter; none if it is no word of these.
    pub fn code(&self, word: &[u8]) -> Option<u32> {
        code(self.words, word)
    }

    /// All numbers with their words, for documents: `0 runtime, 1 driver`.
    pub fn listing(&self) -> String {
        self.words.iter().map(|(code, word)| format!("{code} {word}")).collect::<Vec<_>>().join(", ")
    }

    /// The word for `code`, or the number if it is unknown.
    pub fn text(&self, code: u32) -> Cow<'static, str> {
        self.word(code).map_or_else(|| code.to_string().into(), Cow::from)
    }
}

impl PartialEq for Vocabulary {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Vocabulary {}

/// Declares the vocabulary of one file: what its words say, then constants, numbers and words, by number.
#[macro_export]
macro_rules! vocabulary {
    ($words:literal; $( $(#[doc = $doc:literal])+ $name:ident = $code:literal, $word:literal; )+) => {
        $( $(#[doc = $doc])+ pub const $name: u32 = $code; )+

        /// The words.
        pub static VOCABULARY: $crate::vocabulary::Vocabulary = $crate::vocabulary::Vocabulary {
            name: module_path!(),
            doc: $words,
            words: &[$(($code, $word)),+],
        };
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_vocabulary_is_sorted_so_that_words_are_found() {
        for vocabulary in ALL {
            assert!(vocabulary.words.is_sorted_by(|a, b| a.0 < b.0), "{}", vocabulary.name);
            for &(code, word) in vocabulary.words {
                assert_eq!((vocabulary.word(code), &*vocabulary.text(code)), (Some(word), word));
                assert_eq!(vocabulary.code(word.as_bytes()), Some(code), "{}", vocabulary.name);
            }
        }
        for wording in WORDINGS {
            for &(code, word) in wording.0 {
                assert_eq!((wording.word(code), wording.code(word.as_bytes())), (Some(word), Some(code)));
            }
        }
    }

    #[test]
    fn an_unknown_number_has_no_word() {
        assert_eq!(overhead_kind::VOCABULARY.word(2), None);
        assert_eq!(memcpy_kind::VOCABULARY.text(u32::MAX), "4294967295");
    }

    #[test]
    fn every_vocabulary_is_used_by_a_column() {
        let columns = || crate::tables::ALL.iter().flat_map(|table| table.columns);
        for vocabulary in ALL {
            let is_it = |column: &crate::schema::ColumnSpec| column.vocabulary() == Some(vocabulary);
            assert!(columns().any(is_it), "no column has {}", vocabulary.name);
        }
    }
}
