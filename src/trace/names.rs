//! Names of all open traces, each once.

// Importers are given both.
use super::numbered::without_numbers;
pub use super::shapes::Shapes;
use super::stored::Stored;
use crate::demangle::readable;
use hashbrown::hash_table::Entry;
use hashbrown::{HashMap, HashTable};
use polars::prelude::Column;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};
use trace_format::columns::BytesColumn;
use trace_format::schema::AnyColumn;
use trace_format::tables;
use trace_format::tables::column::string;

/// The domain of ranges that are calls from a function log.
pub const FUNCTIONS_DOMAIN: &str = "functions";

/// Different byte strings, laid end to end, by number.
#[derive(Default)]
struct Strings {
    bytes: BytesColumn,
    /// Hash and number of each: of a million names none is looked at again when the table grows.
    index: HashTable<(u64, u32)>,
}

impl Strings {
    fn find(&self, hash: u64, name: &[u8]) -> Option<u32> {
        let same = |&(known, at): &(u64, u32)| known == hash && self.bytes.get(at as usize) == name;
        self.index.find(hash, same).map(|&(_, at)| at)
    }

    /// The number of a name, new or known.
    fn intern(&mut self, hash: u64, name: &[u8]) -> u32 {
        let bytes = &mut self.bytes;
        let same = |&(known, at): &(u64, u32)| known == hash && bytes.get(at as usize) == name;
        match self.index.entry(hash, same, |&(hash, _)| hash) {
            Entry::Occupied(known) => known.get().1,
            Entry::Vacant(vacant) => {
                let at = bytes.len() as u32;
                vacant.insert((hash, at));
                bytes.push(name);
                at
            }
        }
    }

    /// Makes room for the names of a file, of which the index would otherwise be made anew again and again.
    fn reserve(&mut self, file: &Stored) {
        let frames =
            file.reader().frames().iter().filter(|frame| frame.table == tables::STRING.id && !frame.is_repeat());
        let names: u64 = frames.map(|frame| u64::from(frame.rows)).sum();
        // A damaged file may claim any number.
        let names = names.min(1 << 21) as usize;
        self.index.reserve(names, |&(hash, _)| hash);
        self.bytes.offsets.reserve(names);
    }

    fn get(&self, at: usize) -> Option<&[u8]> {
        (at < self.bytes.len()).then(|| self.bytes.get(at))
    }
}

/// Names are hashed alike wherever they are.
const HASHER: foldhash::fast::FixedState = foldhash::fast::FixedState::with_seed(0x6e61_6d65);

/// Names of everything in all open traces, by id. Id 0 is "not recorded" and reads as the empty string.
///
/// Names that importers read are here at once. Those of native files, of which there can be millions, are read when the first
/// of them is asked for: how many kernels there are is known without them.
#[derive(Default)]
pub struct Names {
    /// The names, by id, which begins at 1.
    known: Strings,
    files: Vec<Arc<Stored>>,
    read: OnceLock<ReadNames>,
    folded: Folded,
}

/// What [`Names::fold_numbers`] has made of names; empty where it was not called or found nothing.
#[derive(Default)]
struct Folded {
    /// Names that have another text, by id.
    texts: HashMap<u32, Vec<u8>>,
    /// The first id of the same text, by id.
    first: Vec<u32>,
}

/// The names of native files.
struct ReadNames {
    /// Those that were not known before; ids go on behind the known ones.
    strings: Strings,
    /// For each file, its ids as ids of all.
    maps: Vec<IdMap>,
}

impl Names {
    /// The id of `name`, new or known. The empty string is id 0.
    pub fn intern(&mut self, name: &[u8]) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let hash = HASHER.hash_one(name);
        let Some(read) = self.read.get_mut() else { return self.known.intern(hash, name) + 1 };
        match self.known.find(hash, name) {
            Some(at) => at + 1,
            None => read.strings.intern(hash, name) + self.known.bytes.len() as u32 + 1,
        }
    }

    /// Adds the names of a native file, to be read when they are asked for. Its number, for [`Names::ids_of`].
    pub(super) fn add_file(&mut self, file: Arc<Stored>) -> usize {
        debug_assert!(self.read.get().is_none(), "names were asked for before all files were open");
        self.files.push(file);
        self.files.len() - 1
    }

    /// The ids of all traces for the ids of file `file`.
    pub(super) fn ids_of(&self, file: usize) -> &IdMap {
        &self.read().maps[file]
    }

    fn read(&self) -> &ReadNames {
        self.read.get_or_init(|| {
            let mut strings = Strings::default();
            let maps = self.files.iter().map(|file| self.read_file(file, &mut strings)).collect();
            ReadNames { strings, maps }
        })
    }

    fn read_file(&self, file: &Stored, strings: &mut Strings) -> IdMap {
        let mut map = IdMap::default();
        strings.reserve(file);
        let behind = self.known.bytes.len() as u32 + 1;
        each_name(file, &mut |id, name| {
            let hash = HASHER.hash_one(name);
            let shared = match self.known.find(hash, name) {
                _ if name.is_empty() => 0,
                Some(at) => at + 1,
                None => strings.intern(hash, name) + behind,
            };
            map.insert(id, shared);
            true
        });
        map
    }

    /// The bytes of name `id`; empty for an id that was never given out.
    pub fn get(&self, id: u32) -> &[u8] {
        // Names of all rows are asked for here; hardly anybody folds.
        let folded = if self.folded.texts.is_empty() { None } else { self.folded.texts.get(&id) };
        folded.map_or_else(|| self.stored(id), Vec::as_slice)
    }

    /// The bytes of name `id` as they were read.
    fn stored(&self, id: u32) -> &[u8] {
        let Some(at) = (id as usize).checked_sub(1) else { return &[] };
        let known = self.known.bytes.len();
        let name = if at < known { self.known.get(at) } else { self.read().strings.get(at - known) };
        name.unwrap_or_default()
    }

    /// The name as text; see [`readable`] for bytes that are not UTF-8.
    pub fn text(&self, id: u32) -> Cow<'_, str> {
        readable(self.get(id))
    }

    /// Leaves out the numbers that make a name of every call of an operator (`numbered.rs`). Names that differ in
    /// nothing else have the same text from then on, and the same id where they are asked for by [`Names::first`].
    pub fn fold_numbers(&mut self) {
        let ids = 0..self.len() as u32;
        self.folded.texts = ids.clone().filter_map(|id| Some((id, without_numbers(self.stored(id))?))).collect();
        if self.folded.texts.is_empty() {
            return;
        }
        let first = {
            let mut of_texts: HashMap<&[u8], u32> = HashMap::new();
            ids.map(|id| *of_texts.entry(self.get(id)).or_insert(id)).collect()
        };
        self.folded.first = first;
    }

    /// The first id of the text that `id` has.
    pub fn first(&self, id: u32) -> u32 {
        self.folded.first.get(id as usize).copied().unwrap_or(id)
    }

    /// One more than the largest id.
    pub fn len(&self) -> usize {
        1 + self.known.bytes.len() + self.read().strings.bytes.len()
    }

    /// Whether no name was interned.
    pub fn is_empty(&self) -> bool {
        self.len() == 1
    }
}

/// Calls `each` with the id and bytes of every name of a file, until it returns false.
fn each_name(file: &Stored, each: &mut dyn FnMut(u32, &[u8]) -> bool) {
    file.definitions(&tables::STRING, &[string::ID.name(), string::BYTES.name()], &mut |_, rows, decoded| {
        let column =
            |column: &dyn AnyColumn| decoded.column(column.name()).ok().map(Column::as_materialized_series);
        let (Some(ids), Some(names)) = (column(string::ID), column(string::BYTES)) else { return true };
        let (Ok(ids), Ok(names)) = (ids.u32(), names.binary()) else { return true };
        let named = ids.iter().zip(names.iter()).skip(rows.start).take(rows.len());
        named.into_iter().all(|(id, name)| match id {
            Some(id) => each(id, name.unwrap_or_default()),
            None => true,
        })
    });
}

/// The names of a file with these ids. Names that are behind the last of them are not read.
pub(super) fn some_names(file: &Stored, wanted: &BTreeSet<u32>) -> BTreeMap<u32, Vec<u8>> {
    let mut found = BTreeMap::new();
    if !wanted.is_empty() {
        each_name(file, &mut |id, name| {
            if wanted.contains(&id) {
                found.entry(id).or_insert_with(|| name.to_vec());
            }
            found.len() < wanted.len()
        });
    }
    found
}

/// Ids of a file, as ids shared by all files.
#[derive(Default)]
pub(super) struct IdMap(Vec<u32>);

/// Ids are dense, so the map is a vector; a damaged or hostile file may say otherwise, and must not make us allocate
/// gigabytes. Names are capped at 16 MiB by the writer, which is far fewer than this.
const MOST_IDS: u32 = 1 << 26;

impl IdMap {
    pub(super) fn insert(&mut self, id: u32, shared: u32) {
        if id < MOST_IDS {
            if id as usize >= self.0.len() {
                self.0.resize(id as usize + 1, 0);
            }
            self.0[id as usize] = shared;
        }
    }

    pub(super) fn get(&self, id: u32) -> u32 {
        self.0.get(id as usize).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_utf8_stay_apart() {
        assert_eq!(readable("gemm<é>".as_bytes()), "gemm<é>");
        assert_eq!(readable(b"f\xff\xfe(\xc3\xa9)\xc3"), "f\\xff\\xfe(é)\\xc3");
        let mut names = Names::default();
        let [a, b] = [&b"f\x80"[..], b"f\x81"].map(|name| names.intern(name));
        assert_ne!(names.text(a), names.text(b));
    }
}
