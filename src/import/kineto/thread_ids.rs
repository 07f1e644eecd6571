//! Ids of threads in 32 bits, as our tables have them, of whatever a trace names its threads by.

use super::json_tokens::Value;
use super::number::integer;
use std::collections::HashMap;

/// Gives every thread an id of its own. Ids that fit stay what they are; 64-bit ones (`pthread_self`) and words are
/// folded, to the same id in every run, unless another thread of the file has that id: then the next free one is taken,
/// so that two threads never become one.
#[derive(Default)]
pub struct ThreadIds {
    ids: HashMap<Key, u32>,
    owners: HashMap<u32, Key>,
    /// The thread asked for last, which is nearly always the one asked for next.
    last: Option<(Key, u32)>,
}

/// What a trace calls a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// A number of 32 bits.
    Plain(u32),
    /// A wider one.
    Wide(i64),
    /// A word.
    Word(Box<[u8]>),
    /// There is no thread id.
    Missing,
}

/// Threads whose ids do not fit into our tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortened {
    /// How many there are.
    pub count: u64,
    /// The smallest of their ids.
    pub first: i64,
}

/// Threads told apart at most; each costs memory until the end, and a file made to harm may name millions.
const THREADS: usize = 1_000_000;

impl Key {
    /// Traces of 2020 hold `pthread_self` cut to 32 bits, signed or not.
    fn of(tid: Value) -> Key {
        match (integer(tid), tid) {
            (Some(id), _) if id >> 32 == 0 || i32::try_from(id).is_ok() => Key::Plain(id as u32),
            (Some(id), _) => Key::Wide(id),
            (None, Value::Text(text) | Value::Bare(text)) => Key::Word(text.into()),
            (None, Value::Missing | Value::Nested(_)) => Key::Missing,
        }
    }

    /// The id that it should have. Words are hashed (FNV-1a).
    fn wish(&self) -> u32 {
        match self {
            Key::Plain(id) => *id,
            Key::Wide(id) => (id ^ (id >> 32)) as u32,
            Key::Word(text) => {
                text.iter().fold(0x811c_9dc5, |hash, &b| (hash ^ u32::from(b)).wrapping_mul(0x0100_0193))
            }
            Key::Missing => 0,
        }
    }
}

impl ThreadIds {
    /// The id of a thread.
    pub fn id(&mut self, tid: Value) -> u32 {
        let key = Key::of(tid);
        if let Some((last, id)) = &self.last
            && *last == key
        {
            return *id;
        }
        let id = self.find(&key);
        self.last = Some((key, id));
        id
    }

    fn find(&mut self, key: &Key) -> u32 {
        if let Some(&id) = self.ids.get(key) {
            return id;
        }
        let mut id = key.wish();
        if self.ids.len() >= THREADS {
            return id;
        }
        while self.owners.contains_key(&id) && *key != Key::Missing {
            id = id.wrapping_add(1);
        }
        self.owners.entry(id).or_insert_with(|| key.clone());
        self.ids.insert(key.clone(), id);
        id
    }

    /// Whether the thread with this id has another one in the trace.
    pub fn is_renamed(&self, id: u32) -> bool {
        match self.owners.get(&id) {
            Some(Key::Wide(_)) => true,
            Some(Key::Plain(plain)) => *plain != id,
            Some(Key::Word(_) | Key::Missing) | None => false,
        }
    }

    /// The threads whose ids have more than 32 bits in the trace.
    pub fn shortened(&self) -> Shortened {
        let wide = |key: &Key| if let Key::Wide(id) = key { Some(*id) } else { None };
        let ids = self.ids.keys().filter_map(wide);
        Shortened { count: ids.clone().count() as u64, first: ids.min().unwrap_or(0) }
    }

    /// What the trace calls the threads whose ids are not the trace's own, by id: numbers of 64 bits in full.
    pub fn renamed(&self) -> Vec<(u32, String)> {
        let own = |(key, &id): (&Key, &u32)| match key {
            Key::Wide(wide) => Some((id, format!("thread {wide}"))),
            Key::Plain(plain) if *plain != id => Some((id, format!("thread {plain}"))),
            Key::Plain(_) | Key::Word(_) | Key::Missing => None,
        };
        let mut renamed: Vec<_> = self.ids.iter().filter_map(own).collect();
        renamed.sort();
        renamed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_stable_and_fit() {
        let id = |tid| ThreadIds::default().id(tid);
        assert_eq!(id(Value::Bare(b"2919752")), 2_919_752);
        assert_eq!(id(Value::Text(b"4093687616")), 4_093_687_616);
        assert_eq!(id(Value::Bare(b"-549452224")), 3_745_515_072);
        assert_eq!(id(Value::Bare(b"139960515115904")), 139_960_515_115_904u64 as u32 ^ 32_587);
        assert_eq!(id(Value::Text(b"PyTorch Profiler")), id(Value::Text(b"PyTorch Profiler")));
        assert_ne!(id(Value::Text(b"a")), id(Value::Text(b"b")));
        assert_eq!(id(Value::Missing), 0);
    }

    #[test]
    fn two_threads_never_become_one() {
        let mut ids = ThreadIds::default();
        // Both fold to 1: 2^32 and 2^33 + 3.
        let [a, b] = [&b"4294967296"[..], b"8589934595"].map(|tid| ids.id(Value::Bare(tid)));
        let plain = ids.id(Value::Bare(b"1"));
        assert_eq!(a, 1);
        assert!(a != b && a != plain && b != plain, "{a} {b} {plain}");
        assert_eq!(ids.id(Value::Text(b"4294967296")), a);
        assert_eq!(ids.id(Value::Bare(b"8589934595")), b);
        let named: Vec<String> = ids.renamed().into_iter().map(|(_, name)| name).collect();
        assert_eq!(named, ["thread 4294967296", "thread 8589934595", "thread 1"]);
        assert_eq!(ids.shortened(), Shortened { count: 2, first: 4_294_967_296 });
    }
}
