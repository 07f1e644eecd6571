//! Domains and registered strings: what the program holds a handle of.
//!
//! A handle is the address of an entry in one arena, so that reading it is one bounds check, whatever value comes
//! back from the program. Nothing is ever freed: entries are found again by content, and the arena is bounded. When
//! it is full, a handle carries the string id alone.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::abi::Handle;
use super::thread::epoch;

/// Address space for all entries. Untouched pages cost nothing; 8 MiB hold some 100,000 strings of usual length.
const ARENA_BYTES: usize = 8 << 20;
/// Places in the table by content, a power of two.
const PLACES: usize = 1 << 16;
/// At most this many are taken, so that a search ends soon.
const ENTRIES: u32 = (PLACES / 4 * 3) as u32;
/// Entries start at multiples of this, and the table holds their number, not their offset.
const ALIGN: usize = 16;
/// Domains of one name that are open at once and still told apart.
const TWINS: u32 = 16;

const STRING: u32 = 0x7647_5301;
const DOMAIN: u32 = 0x7647_4402;

/// A domain or registered string; its bytes and a zero byte follow.
#[repr(C, align(16))]
pub struct Entry {
    kind: u32,
    len: u32,
    /// Epoch in the upper half, string id in the lower: a child that records itself has a file, and ids, of its own.
    id: AtomicU64,
    /// The handle that the library we chain to gave for the same thing.
    theirs: AtomicUsize,
    /// A domain's own key; a string's: that of its domain.
    domain_key: u32,
    /// Domains: created and not destroyed, so often.
    live: AtomicU32,
}

impl Entry {
    /// The text.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `allocate` made room for `len` bytes behind the entry, filled them before anybody saw the entry,
        // and nobody changes them.
        unsafe { std::slice::from_raw_parts(self.text().cast(), self.len as usize) }
    }

    /// The text with a zero byte at its end, for C.
    pub fn text(&self) -> *const std::ffi::c_char {
        self.handle().cast::<Entry>().wrapping_add(1).cast::<std::ffi::c_char>().cast_const()
    }

    /// The string id; 0: the table of names is full.
    #[inline]
    pub fn id(&self) -> u32 {
        let known = self.id.load(Ordering::Relaxed);
        if (known >> 32) as u32 == epoch() && known as u32 != 0 { known as u32 } else { self.intern() }
    }

    #[cold]
    fn intern(&self) -> u32 {
        let id = super::record::guarded(0, || super::intern(self.bytes()));
        self.id.store(u64::from(epoch()) << 32 | u64::from(id), Ordering::Relaxed);
        id
    }

    /// The handle that the library we chain to knows it by.
    pub fn theirs(&self) -> Handle {
        self.theirs.load(Ordering::Relaxed) as Handle
    }

    /// Its address, as a pointer into the arena: one made from the reference would end where the entry does.
    fn handle(&self) -> Handle {
        let arena = ARENA.load(Ordering::Acquire);
        arena.wrapping_add((&raw const *self).addr().wrapping_sub(arena.addr())).cast()
    }
}

static ARENA: AtomicPtr<u8> = AtomicPtr::new(null_mut());
static USED: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicU32 = AtomicU32::new(0);
static DOMAINS: AtomicU32 = AtomicU32::new(0);
/// Number of the entry plus one; 0: free.
static TABLE: [AtomicU32; PLACES] = [const { AtomicU32::new(0) }; PLACES];

/// A domain as the calls need it.
#[derive(Clone, Copy)]
pub struct Domain {
    /// Tells it from others, those of the same name included; 0: the default domain.
    pub key: u32,
    /// String id of its name; 0: none.
    pub name: u32,
    entry: Option<&'static Entry>,
}

impl Domain {
    /// The domain of all functions that name none.
    pub const DEFAULT: Domain = Domain { key: 0, name: 0, entry: None };

    /// Its name; empty: the default domain.
    pub fn bytes(&self) -> &'static [u8] {
        self.entry.map_or(&[], Entry::bytes)
    }

    /// What the library we chain to calls it.
    pub fn theirs(&self) -> Handle {
        self.entry.map_or(null_mut(), Entry::theirs)
    }
}

/// A registered string.
#[derive(Clone, Copy)]
pub enum StringRef {
    /// The handle is known, with its content.
    Kept(&'static Entry),
    /// The arena was full.
    IdOnly(u32),
}

/// The domain behind a handle. Null is the default domain; so is, counted, a handle that we never gave.
///
/// Outside of the guard that everything else runs in, for speed: nothing here can panic.
#[inline]
pub fn domain(handle: Handle) -> Domain {
    if handle.is_null() {
        return Domain::DEFAULT;
    }
    match entry(handle, DOMAIN) {
        Some(entry) => Domain { key: entry.domain_key, name: entry.id(), entry: Some(entry) },
        None => match unpack(handle) {
            Some(name) => Domain { key: 1 << 31 | name, name, entry: None },
            None => {
                super::COUNTS.strange_handle();
                Domain::DEFAULT
            }
        },
    }
}

/// The string behind a handle; none, counted, for a handle that we never gave.
pub fn string(handle: Handle) -> Option<StringRef> {
    let found = entry(handle, STRING).map(StringRef::Kept).or_else(|| unpack(handle).map(StringRef::IdOnly));
    if found.is_none() {
        super::COUNTS.strange_handle();
    }
    found
}

/// Remembers the handle that the library we chain to gave for the same domain or string.
pub fn set_theirs(ours: Handle, theirs: Handle) {
    if let Some(entry) = entry(ours, DOMAIN).or_else(|| entry(ours, STRING)) {
        entry.theirs.store(theirs as usize, Ordering::Relaxed);
    }
}

#[inline]
fn entry(handle: Handle, kind: u32) -> Option<&'static Entry> {
    let arena = ARENA.load(Ordering::Acquire) as usize;
    let offset = (handle as usize).wrapping_sub(arena);
    let end = USED.load(Ordering::Relaxed).min(ARENA_BYTES).saturating_sub(size_of::<Entry>());
    if arena == 0 || offset > end || !offset.is_multiple_of(ALIGN) {
        return None;
    }
    // SAFETY: inside the arena, aligned, and every byte of the arena is readable for ever. An offset that is no
    // entry's shows text or zeros there, which are no mark.
    let entry = unsafe { &*handle.cast::<Entry>() };
    (entry.kind == kind).then_some(entry)
}

/// A handle for what found no place: no address, for it is odd.
fn pack(id: u32) -> Handle {
    (u64::from(id) << 8 | u64::from(epoch() & 0x7F) << 1 | 1) as usize as Handle
}

fn unpack(handle: Handle) -> Option<u32> {
    let value = handle as usize as u64;
    let id = u32::try_from(value >> 8).ok()?;
    // Another epoch's id means nothing in this file.
    (value & 1 == 1).then_some(if (value >> 1) as u32 & 0x7F == epoch() & 0x7F { id } else { 0 })
}

/// Registers a string with a domain. The same text gets the same handle again.
pub fn register(domain_key: u32, bytes: &[u8]) -> Handle {
    let mut place = start(domain_key ^ STRING, bytes);
    let mut fresh = None;
    for _ in 0..PLACES {
        let Some(slot) = TABLE.get(place) else { break };
        let mut number = slot.load(Ordering::Acquire);
        if number == 0 {
            if fresh.is_none() {
                fresh = allocate(STRING, domain_key, bytes);
            }
            let Some(entry) = fresh else { break };
            match slot.compare_exchange(0, number_of(entry), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return entry.handle(),
                Err(winner) => number = winner,
            }
        }
        if let Some(entry) = numbered(number)
            && entry.kind == STRING
            && entry.domain_key == domain_key
            && entry.bytes() == bytes
        {
            return entry.handle();
        }
        place = (place + 1) % PLACES;
    }
    pack(super::intern(bytes))
}

/// Creates a domain. Two of one name are two domains, as each has stacks of its own; a destroyed one is used again.
pub fn create_domain(bytes: &[u8]) -> Handle {
    let mut place = start(DOMAIN, bytes);
    let mut twin: Option<&Entry> = None;
    let mut twins = 0;
    for _ in 0..PLACES {
        let Some(slot) = TABLE.get(place) else { break };
        let mut number = slot.load(Ordering::Acquire);
        if number == 0 {
            if twins >= TWINS {
                break;
            }
            let key = DOMAINS.fetch_add(1, Ordering::Relaxed) + 1;
            let Some(entry) = allocate(DOMAIN, key, bytes) else { break };
            match slot.compare_exchange(0, number_of(entry), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return entry.handle(),
                Err(winner) => number = winner,
            }
        }
        if let Some(entry) = numbered(number)
            && entry.kind == DOMAIN
            && entry.bytes() == bytes
        {
            if entry.live.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return entry.handle();
            }
            twins += 1;
            twin = Some(entry);
        }
        place = (place + 1) % PLACES;
    }
    match twin {
        Some(entry) => {
            entry.live.fetch_add(1, Ordering::Relaxed);
            entry.handle()
        }
        None => pack(super::intern(bytes)),
    }
}

/// The program has done with a domain; its open ranges and its strings stay what they are.
pub fn destroy_domain(handle: Handle) {
    if let Some(entry) = entry(handle, DOMAIN) {
        let down = |live: u32| live.checked_sub(1);
        let _ = entry.live.fetch_update(Ordering::Relaxed, Ordering::Relaxed, down);
    }
}

fn number_of(entry: &Entry) -> u32 {
    let offset = (entry.handle() as usize).wrapping_sub(ARENA.load(Ordering::Acquire) as usize);
    (offset / ALIGN) as u32 + 1
}

fn numbered(number: u32) -> Option<&'static Entry> {
    let arena = ARENA.load(Ordering::Acquire);
    let offset = (number as usize).checked_sub(1)? * ALIGN;
    // SAFETY: only numbers of whole entries are ever put into the table, after their content.
    (!arena.is_null()).then(|| unsafe { &*arena.add(offset).cast::<Entry>() })
}

/// A new entry, not yet found by anybody; none when the arena or the table is full.
fn allocate(kind: u32, domain_key: u32, bytes: &[u8]) -> Option<&'static Entry> {
    let arena = arena()?;
    if COUNT.fetch_add(1, Ordering::Relaxed) >= ENTRIES {
        COUNT.fetch_sub(1, Ordering::Relaxed);
        return None;
    }
    let size = (size_of::<Entry>() + bytes.len() + 1).next_multiple_of(ALIGN);
    let fits = |used: usize| used.checked_add(size).filter(|&end| end <= ARENA_BYTES);
    let at = USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).ok()?;
    let live = AtomicU32::new(1);
    let len = bytes.len() as u32;
    let entry = Entry { kind, len, id: AtomicU64::new(0), theirs: AtomicUsize::new(0), domain_key, live };
    // SAFETY: `at .. at + size` is this call's alone, inside the mapping and aligned; the zero byte is there because
    // the mapping began as zeros.
    unsafe {
        let place = arena.add(at).cast::<Entry>();
        place.write(entry);
        place.add(1).cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        Some(&*place)
    }
}

fn arena() -> Option<*mut u8> {
    let known = ARENA.load(Ordering::Acquire);
    if !known.is_null() {
        return Some(known);
    }
    let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh anonymous mapping touches nothing that exists.
    let fresh = unsafe { libc::mmap(null_mut(), ARENA_BYTES, protection, flags, -1, 0) };
    if fresh == libc::MAP_FAILED {
        return None;
    }
    match ARENA.compare_exchange(null_mut(), fresh.cast(), Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(fresh.cast()),
        Err(other) => {
            // SAFETY: mapped above and shown to nobody.
            unsafe { libc::munmap(fresh.cast::<c_void>(), ARENA_BYTES) };
            Some(other)
        }
    }
}

/// Where the search for a text begins.
fn start(salt: u32, bytes: &[u8]) -> usize {
    let mut hash = u64::from(salt).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        for (to, from) in word.iter_mut().zip(chunk) {
            *to = *from;
        }
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 29;
    }
    hash ^= bytes.len() as u64;
    (hash ^ hash >> 32) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_has_the_same_handle_and_each_domain_its_own() {
        let a = register(1001, b"forward");
        assert_eq!(register(1001, b"forward"), a);
        assert_ne!(register(1002, b"forward"), a);
        assert_ne!(register(1001, b"backward"), a);
        let Some(StringRef::Kept(entry)) = string(a) else { panic!("not kept") };
        assert_eq!(entry.bytes(), b"forward");
        // SAFETY: entries end in a zero byte.
        assert_eq!(unsafe { std::ffi::CStr::from_ptr(entry.text()) }, c"forward");
    }

    #[test]
    fn a_string_id_of_an_earlier_incarnation_is_not_used() {
        let Some(StringRef::Kept(entry)) = string(register(1005, b"inherited")) else { panic!("not kept") };
        entry.id.store(u64::from(epoch().wrapping_sub(1)) << 32 | 4_000_000_000, Ordering::Relaxed);
        assert_eq!(entry.id(), super::super::intern(b"inherited"));
    }

    #[test]
    fn domains_of_one_name_are_told_apart_until_there_are_many() {
        let handles: Vec<Handle> = (0..40).map(|_| create_domain(b"twin")).collect();
        let keys: std::collections::BTreeSet<u32> = handles.iter().map(|&h| domain(h).key).collect();
        assert_eq!(keys.len(), TWINS as usize);
        assert!(handles.iter().all(|&h| domain(h).bytes() == b"twin"));
    }

    #[test]
    fn creating_and_destroying_for_ever_takes_no_more_room() {
        for _ in 0..100 {
            destroy_domain(create_domain(b"short-lived"));
        }
        let (first, second) = (create_domain(b"short-lived"), create_domain(b"short-lived"));
        assert_ne!(first, second);
        destroy_domain(first);
        assert_eq!(create_domain(b"short-lived"), first);
        // Too often destroyed: nothing happens.
        destroy_domain(second);
        destroy_domain(second);
        assert_eq!(create_domain(b"short-lived"), second);
    }

    #[test]
    fn handles_that_we_never_gave_are_nobody() {
        let known = register(1003, b"a string that is long enough to hold an aligned address inside");
        for strange in
            [8usize, 16, 0x7fff_ffff_fff0, known as usize + 16, known as usize + 8, usize::MAX, usize::MAX - 15]
        {
            assert!(string(strange as Handle).is_none(), "{strange:#x}");
            assert_eq!(domain(strange as Handle).key, 0, "{strange:#x}");
        }
        assert!(string(null_mut()).is_none());
        assert_eq!(domain(known).key, 0, "a string is no domain");
    }

    #[test]
    fn threads_that_register_the_same_strings_at_once_agree() {
        let register_all =
            || (0..500).map(|i| register(1004, format!("s{i}").as_bytes()) as usize).collect::<Vec<_>>();
        let threads: Vec<_> = (0..8).map(|_| std::thread::spawn(register_all)).collect();
        let answers: Vec<Vec<usize>> = threads.into_iter().map(|t| t.join().unwrap()).collect();
        assert!(answers.iter().all(|a| *a == answers[0]));
        for (i, handle) in answers[0].iter().enumerate() {
            let Some(StringRef::Kept(entry)) = string(*handle as Handle) else { panic!("not kept") };
            assert_eq!(entry.bytes(), format!("s{i}").as_bytes());
        }
    }
}
