//! From the frame that runs to an id: the only place where Python objects are looked at.

use std::ffi::CStr;

use super::MOST_DEPTH;
use super::api::{Api, Pointer};
use super::table::{FrameDef, Frames, StackDef, Stacks, hash};
use crate::writer;

/// Code objects whose names are remembered. Each is kept alive: a dead one's address could be another's.
const CODES: usize = 1 << 10;
/// Places in code objects whose frames are remembered.
const PLACES: usize = 1 << 12;

#[derive(Clone, Copy, Default)]
struct Code {
    address: usize,
    name: u32,
    file: u32,
}

#[derive(Clone, Copy, Default)]
struct Place {
    code: usize,
    last_instruction: i32,
    frame: u32,
}

/// What is remembered of code objects.
pub(super) struct Codes {
    /// Open addressing with twice the room.
    codes: Box<[Code]>,
    known: usize,
    /// One place for each hash.
    places: Box<[Place]>,
}

impl Codes {
    pub(super) fn new() -> Codes {
        let codes = vec![Code::default(); CODES * 2].into_boxed_slice();
        Codes { codes, known: 0, places: vec![Place::default(); PLACES].into_boxed_slice() }
    }

    /// The slot of a code object, or the free one for it.
    fn slot(&self, address: usize) -> usize {
        let mask = self.codes.len() - 1;
        let mut at = (hash(address as u64, 0) >> 32) as usize & mask;
        while self.codes[at].address != address && self.codes[at].address != 0 {
            at = (at + 1) & mask;
        }
        at
    }
}

/// No garbage is collected while this lives: what frame objects need may be allocated.
struct WithoutCollections<'a>(&'a Api, bool);

impl<'a> WithoutCollections<'a> {
    /// # Safety
    /// With the interpreter's lock.
    unsafe fn begin(api: &'a Api) -> Self {
        // SAFETY: the caller's promise; it sets a flag and returns what that was.
        let was_on = api.collections_off.is_some_and(|off| unsafe { off() } != 0);
        WithoutCollections(api, was_on)
    }
}

impl Drop for WithoutCollections<'_> {
    fn drop(&mut self) {
        if let Some(on) = self.0.collections_on.filter(|_| self.1) {
            // SAFETY: the lock is still held; it sets the flag.
            unsafe { on() };
        }
    }
}

/// A reference that is ours to give back.
struct Owned<'a>(&'a Api, Pointer);

impl Drop for Owned<'_> {
    fn drop(&mut self) {
        // SAFETY: it is ours, and never the last: frames are held by the interpreter, code by frames, names by code.
        unsafe { (self.0.give_back)(self.1) };
    }
}

/// The id of the stack of the `depth` innermost frames of this thread. None: there is no frame, no room, no answer.
///
/// # Safety
/// With the interpreter's lock, no exception pending.
pub(super) unsafe fn stack(
    api: &Api,
    depth: usize,
    codes: &mut Codes,
    frames: &Frames,
    stacks: &Stacks,
) -> Option<u32> {
    let mut ids = [0_u32; MOST_DEPTH];
    let mut found = 0;
    // SAFETY: the caller holds the lock.
    let _quiet = unsafe { WithoutCollections::begin(api) };
    // SAFETY: as above; the reference is borrowed from the thread's state, which keeps it while the frame runs.
    let mut frame = unsafe { (api.frame)() };
    let mut owned: Option<Owned>;
    while !frame.is_null() && found < depth.min(MOST_DEPTH) {
        // SAFETY: a frame of this thread, held by it.
        ids[found] = unsafe { frame_id(api, frame, codes, frames) }?;
        found += 1;
        if found == depth {
            break;
        }
        // SAFETY: as above.
        let back = unsafe { back(api, frame) };
        owned = back.map(|back| Owned(api, back));
        frame = owned.as_ref().map_or(std::ptr::null_mut(), |owned| owned.1);
    }
    let mut stack = 0;
    for frame in ids[..found].iter().rev() {
        // SAFETY: under the lock, so by one thread at a time.
        stack = unsafe { stacks.id(StackDef { parent: stack, frame: *frame }) }?;
    }
    (stack != 0).then_some(stack)
}

/// The calling frame, a new reference.
///
/// # Safety
/// As [`stack`]; `frame` is a frame.
unsafe fn back(api: &Api, frame: Pointer) -> Option<Pointer> {
    // SAFETY: the caller's promise; before 3.9 it is a member of the frame, None at the end.
    let back = unsafe {
        match api.back {
            Some(back) => back(frame),
            None => (api.attribute)(frame, c"f_back".as_ptr()),
        }
    };
    if back.is_null() {
        // SAFETY: none was pending, so if there is one it is of this call.
        unsafe { (api.clear_error)() };
        return None;
    }
    if back == api.none {
        drop(Owned(api, back));
        return None;
    }
    Some(back)
}

/// # Safety
/// As [`stack`]; `frame` is a frame.
unsafe fn frame_id(api: &Api, frame: Pointer, codes: &mut Codes, frames: &Frames) -> Option<u32> {
    // SAFETY: the caller's promise; before 3.9 it is a member of the frame.
    let code = unsafe {
        match api.code {
            Some(code) => code(frame),
            None => (api.attribute)(frame, c"f_code".as_ptr()),
        }
    };
    if code.is_null() {
        // SAFETY: none was pending, so if there is one it is of this call.
        unsafe { (api.clear_error)() };
        return None;
    }
    let code = Owned(api, code);
    let address = code.1.addr();
    // SAFETY: follows pointers of the frame.
    let last_instruction = api.last_instruction.map(|last| unsafe { last(frame) });
    let at = last_instruction.map(|at| {
        let slot = (hash(address as u64, at.cast_unsigned().into()) >> 32) as usize & (PLACES - 1);
        (slot, at)
    });
    if let Some((slot, at)) = at {
        let place = &codes.places[slot];
        if place.code == address && place.last_instruction == at {
            return Some(place.frame);
        }
    }
    // SAFETY: `code` is a code object that is held.
    let (names, is_kept) = unsafe { names_of(api, code.1, codes) }?;
    // SAFETY: computes the line from the code's own table.
    let line = u32::try_from(unsafe { (api.line)(frame) }).unwrap_or(0);
    // SAFETY: under the lock, so by one thread at a time.
    let id = unsafe { frames.id(FrameDef { name: names.name, file: names.file, line }) }?;
    // A code object that is not kept may make room for another one at its address.
    if let (Some((slot, at)), true) = (at, is_kept) {
        codes.places[slot] = Place { code: address, last_instruction: at, frame: id };
    }
    Some(id)
}

/// Names of a code object, and whether it is kept alive.
///
/// # Safety
/// As [`stack`]; `code` is a code object.
unsafe fn names_of(api: &Api, code: Pointer, codes: &mut Codes) -> Option<(Code, bool)> {
    let address = code.addr();
    let slot = codes.slot(address);
    if codes.codes[slot].address == address {
        return Some((codes.codes[slot], true));
    }
    // SAFETY: a code object's members, which are strings.
    let names = unsafe {
        Code { address, name: text(api, code, api.name)?, file: text(api, code, c"co_filename")? }
    };
    let is_kept = codes.known < CODES;
    if is_kept {
        // SAFETY: a code object; the reference is never given back.
        unsafe { (api.keep)(code) };
        codes.known += 1;
        codes.codes[slot] = names;
    }
    Some((names, is_kept))
}

/// The id of a text that is a member of a code object.
///
/// # Safety
/// As [`names_of`].
unsafe fn text(api: &Api, code: Pointer, member: &CStr) -> Option<u32> {
    // SAFETY: the caller's promise: it looks up a member of a C structure and makes a reference.
    let value = unsafe { (api.attribute)(code, member.as_ptr()) };
    let owned = (!value.is_null()).then(|| Owned(api, value));
    let mut length = 0;
    // SAFETY: the value is a string: its bytes belong to it, and it to the code.
    let bytes = owned.as_ref().map(|owned| unsafe { (api.utf8)(owned.1, &raw mut length) });
    match bytes {
        Some(bytes) if !bytes.is_null() => {
            let length = usize::try_from(length).unwrap_or(0);
            // SAFETY: so many bytes are there, says Python.
            let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), length) };
            Some(writer::shared().names.intern(bytes))
        }
        _ => {
            // A file name that is not UTF-8, say.
            // SAFETY: none was pending, so it is of these calls.
            unsafe { (api.clear_error)() };
            owned.is_some().then_some(0)
        }
    }
}
