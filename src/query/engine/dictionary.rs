//! The distinct texts of a column. Two columns with one dictionary compare by code.

use hashbrown::HashTable;
use std::hash::BuildHasher as _;
use std::sync::OnceLock;

/// Distinct texts, by code.
#[derive(Debug, Default)]
pub struct Dictionary {
    texts: Vec<Box<str>>,
    index: Index,
    ranks: OnceLock<Vec<u32>>,
}

/// Codes by text.
#[derive(Debug, Default)]
struct Index {
    codes: HashTable<u32>,
    hasher: hashbrown::DefaultHashBuilder,
}

impl Dictionary {
    /// A dictionary of one word.
    pub fn one(text: &str) -> Dictionary {
        let mut interner = Interner::default();
        interner.code(text);
        interner.dictionary()
    }

    /// The word of `code`; nothing where there is none.
    pub fn text(&self, code: u32) -> &str {
        self.texts.get(code as usize).map_or("", |text| text)
    }

    /// The number of words.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// For each code, how many words stand before it in the order of their bytes.
    pub fn ranks(&self) -> &[u32] {
        self.ranks.get_or_init(|| {
            let mut order: Vec<u32> = (0..self.texts.len() as u32).collect();
            order.sort_unstable_by_key(|&code| &self.texts[code as usize]);
            let mut ranks = vec![0; order.len()];
            for (rank, code) in order.into_iter().enumerate() {
                ranks[code as usize] = rank as u32;
            }
            ranks
        })
    }

    /// The words, by code.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }
}

/// Collects distinct words.
#[derive(Debug, Default)]
pub struct Interner(Dictionary);

impl Interner {
    /// The code of `text`, a new one if it was not there.
    pub fn code(&mut self, text: &str) -> u32 {
        let Dictionary { texts, index, .. } = &mut self.0;
        let hash = index.hasher.hash_one(text);
        if let Some(&code) = index.codes.find(hash, |&code| &*texts[code as usize] == text) {
            return code;
        }
        let code = texts.len() as u32;
        texts.push(text.into());
        let hasher = &index.hasher;
        index.codes.insert_unique(hash, code, |&code| hasher.hash_one(&*texts[code as usize]));
        code
    }

    /// Appends codes of another dictionary to `out`, as codes of this one.
    pub fn extend(&mut self, codes: &[u32], other: &Dictionary, out: &mut Vec<u32>) {
        let mut known = vec![u32::MAX; other.len().max(1)];
        out.extend(codes.iter().map(|&code| {
            let own = &mut known[code as usize];
            if *own == u32::MAX {
                *own = self.code(other.text(code));
            }
            *own
        }));
    }

    /// The dictionary. It is never empty: what stands where a row is NULL is a code too, and that code is 0.
    pub fn dictionary(mut self) -> Dictionary {
        if self.0.texts.is_empty() {
            self.code("");
        }
        self.0
    }
}
