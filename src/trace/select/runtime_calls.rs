//! Which correlation ids are those of calls of the runtime.

use std::collections::HashMap;

/// Correlation ids of the runtime's calls of each process. They are mostly numbers in a row, so one bit each.
#[derive(Debug, Default)]
pub(super) struct RuntimeCalls {
    bits: HashMap<(u32, u64), [u64; WORDS]>,
}

/// Numbers of ids that are kept together.
const WORDS: usize = 64;

impl RuntimeCalls {
    fn place(id: u64) -> (u64, usize, u64) {
        (id / (64 * WORDS as u64), (id / 64) as usize % WORDS, 1 << (id % 64))
    }

    pub(super) fn insert(&mut self, process: u32, id: u64) {
        if id != 0 {
            let (page, word, bit) = RuntimeCalls::place(id);
            self.bits.entry((process, page)).or_insert([0; WORDS])[word] |= bit;
        }
    }

    pub(super) fn contains(&self, process: u32, id: u64) -> bool {
        let (page, word, bit) = RuntimeCalls::place(id);
        self.bits.get(&(process, page)).is_some_and(|words| words[word] & bit != 0)
    }

    pub(super) fn merge(&mut self, other: RuntimeCalls) {
        for (page, words) in other.bits {
            let mine = self.bits.entry(page).or_insert([0; WORDS]);
            mine.iter_mut().zip(words).for_each(|(mine, theirs)| *mine |= theirs);
        }
    }
}
