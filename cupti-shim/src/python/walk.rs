//! From a thread's state to the id of its stack: the only place where Python's memory is looked at.

use super::MOST_DEPTH;
use super::api::Api;
use super::layout::{Instruction, Layout};
use super::memory::Memory;
use super::table::{FrameDef, Frames, StackDef, Stacks, hash};
use crate::writer;

/// Code objects whose names are remembered, and places in them whose frames are: one for each hash.
const CODES: usize = 1 << 11;
const PLACES: usize = 1 << 12;
/// Frames passed over at most: those of no function stand between runs of others.
const MOST_SKIPPED: usize = 256;
/// Type of an object: behind its count of references.
const TYPE: usize = 8;
/// Length of a string, its state, and in it: bytes per letter, whether the letters follow, whether they are ASCII.
const LENGTH: usize = 16;
const STATE: usize = 32;
/// Letters of a name that are kept.
const MOST_LETTERS: usize = 1024;

/// What became of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walked {
    /// The id of its stack.
    Stack(u32),
    /// The thread is in no Python function.
    NoFrame,
    /// There is no room for what is new.
    Full,
    /// Something is not what it should be.
    Strange,
}

/// What a code object is known by: another one at its address has other strings and another table of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Identity {
    address: usize,
    name: usize,
    file: usize,
    lines: usize,
    first_line: u32,
}

#[derive(Clone, Copy, Default)]
struct Code {
    identity: Identity,
    /// Which of all that have been remembered; 0: none.
    generation: u64,
    name: u32,
    file: u32,
}

#[derive(Clone, Copy, Default)]
struct CodePosition {
    /// The generation of the code.
    generation: u64,
    instruction: i32,
    frame: u32,
}

/// What is remembered of code objects.
pub(super) struct Codes {
    codes: Box<[Code]>,
    places: Box<[CodePosition]>,
    newest: u64,
}

impl Codes {
    pub(super) fn new() -> Codes {
        let codes = vec![Code::default(); CODES].into_boxed_slice();
        Codes { codes, places: vec![CodePosition::default(); PLACES].into_boxed_slice(), newest: 0 }
    }
}

/// Everything that one walk needs.
struct Walk<'a> {
    api: &'a Api,
    layout: &'static Layout,
    memory: Memory,
    frames: &'a Frames,
}

/// The stack of the `depth` innermost functions of the thread with this state.
///
/// # Safety
/// The state must be this thread's own, and the conditions of [`crate::python`] must hold; `codes`, `frames` and
/// `stacks` are this thread's alone for the duration of the call.
pub(super) unsafe fn stack(
    api: &Api,
    thread: usize,
    depth: usize,
    codes: &mut Codes,
    frames: &Frames,
    stacks: &Stacks,
) -> Walked {
    let walk = Walk { api, layout: api.layout, memory: api.trust.memory(), frames };
    let mut ids = [0_u32; MOST_DEPTH];
    // SAFETY: the caller's promise.
    let found = match unsafe { walk.ids(thread, depth, codes, &mut ids) } {
        Ok(found) => found,
        Err(walked) => return walked,
    };
    let mut stack = 0;
    for frame in ids.iter().take(found).rev() {
        // SAFETY: the caller's promise.
        match unsafe { stacks.id(StackDef { parent: stack, frame: *frame }) } {
            Some(id) => stack = id,
            None => return Walked::Full,
        }
    }
    if stack == 0 {
        return Walked::NoFrame;
    }
    api.trust.earned();
    Walked::Stack(stack)
}

impl Walk<'_> {
    /// Ids of the innermost frames, the innermost first; returns how many.
    ///
    /// # Safety
    /// As [`stack`].
    unsafe fn ids(
        &self,
        thread: usize,
        depth: usize,
        codes: &mut Codes,
        ids: &mut [u32; MOST_DEPTH],
    ) -> Result<usize, Walked> {
        let (memory, layout) = (&self.memory, self.layout);
        let mut frame = thread;
        for place in layout.current {
            // SAFETY: a state's pointers, down to its innermost frame.
            frame = unsafe { memory.word(frame + place) }.ok_or(Walked::Strange)?;
        }
        let (mut found, mut skipped) = (0, 0);
        while frame != 0 && found < depth.min(MOST_DEPTH) && skipped < MOST_SKIPPED {
            // SAFETY: a frame of this thread.
            unsafe {
                if self.is_a_functions(frame)? {
                    if let Some(id) = ids.get_mut(found) {
                        *id = self.frame_id(frame, codes)?;
                    }
                    found += 1;
                } else {
                    skipped += 1;
                }
                frame = memory.word(frame + layout.back).ok_or(Walked::Strange)?;
            }
        }
        Ok(found)
    }

    /// # Safety
    /// `frame` is a frame of this thread; else as [`stack`].
    unsafe fn is_a_functions(&self, frame: usize) -> Result<bool, Walked> {
        let Some((place, first_of_none)) = self.layout.owner else { return Ok(true) };
        let mut owner = [0];
        // SAFETY: the caller's promise.
        let was_read = unsafe { self.memory.read(frame + place, &mut owner) };
        if was_read { Ok(owner[0] < first_of_none) } else { Err(Walked::Strange) }
    }

    /// # Safety
    /// As [`Walk::is_a_functions`].
    unsafe fn frame_id(&self, frame: usize, codes: &mut Codes) -> Result<u32, Walked> {
        let (memory, layout) = (&self.memory, self.layout);
        // SAFETY: members of the frame and of its code object, which the frame holds.
        let (identity, instruction) = unsafe {
            // 3.14 keeps a flag in the lowest bits.
            let address = memory.word(frame + layout.code).ok_or(Walked::Strange)? & !3;
            if memory.word(address + TYPE) != Some(self.api.code_type) {
                return Err(Walked::Strange);
            }
            let identity = self.identity(address).ok_or(Walked::Strange)?;
            (identity, self.instruction(frame, address).ok_or(Walked::Strange)?)
        };
        let slot = (hash(identity.address as u64, 0) >> 32) as usize % CODES;
        if codes.codes[slot].generation == 0 || codes.codes[slot].identity != identity {
            // SAFETY: strings that the code object holds.
            let (name, file) = unsafe {
                (self.text(identity.name).ok_or(Walked::Strange)?, self.text(identity.file).ok_or(Walked::Strange)?)
            };
            codes.newest += 1;
            codes.codes[slot] = Code { identity, generation: codes.newest, name, file };
        }
        let code = codes.codes[slot];
        let at = (hash(code.generation, instruction.cast_unsigned().into()) >> 32) as usize % PLACES;
        let place = &codes.places[at];
        if place.generation == code.generation && place.instruction == instruction {
            return Ok(place.frame);
        }
        // SAFETY: a code object, by its type, that the frame holds.
        let line = unsafe { self.api.line(identity.address, instruction) };
        // SAFETY: the caller's promise: one thread at a time.
        let id =
            unsafe { self.frames.id(FrameDef { name: code.name, file: code.file, line }) }.ok_or(Walked::Full)?;
        codes.places[at] = CodePosition { generation: code.generation, instruction, frame: id };
        Ok(id)
    }

    /// # Safety
    /// `address` is a code object that stays; else as [`stack`].
    unsafe fn identity(&self, address: usize) -> Option<Identity> {
        let (memory, layout) = (&self.memory, self.layout);
        // SAFETY: members of the code object.
        unsafe {
            Some(Identity {
                address,
                name: memory.word(address + layout.name)?,
                file: memory.word(address + layout.file)?,
                lines: memory.word(address + layout.lines)?,
                first_line: memory.number(address + layout.first_line)?,
            })
        }
    }

    /// Distance of the instruction from the first one, in bytes; below 0: not begun.
    ///
    /// # Safety
    /// As [`Walk::is_a_functions`], and `code` is its code object.
    unsafe fn instruction(&self, frame: usize, code: usize) -> Option<i32> {
        // SAFETY: members of the frame.
        unsafe {
            match self.layout.instruction {
                Instruction::Index(place, bytes) => {
                    Some(self.memory.number(frame + place)?.cast_signed().saturating_mul(bytes))
                }
                Instruction::Address(place, first) => {
                    let at = self.memory.word(frame + place)?;
                    i32::try_from(at.wrapping_sub(code + first).cast_signed()).ok()
                }
            }
        }
    }

    /// The id of a string as a name; 0 where its letters lie elsewhere. None: it is no string.
    ///
    /// # Safety
    /// `address` is a string that stays; else as [`stack`].
    unsafe fn text(&self, address: usize) -> Option<u32> {
        let mut letters = [0_u8; MOST_LETTERS * 4];
        // SAFETY: members of the string, and its letters behind it.
        let (kind, is_ascii, count, letters) = unsafe {
            if self.memory.word(address + TYPE)? != self.api.string_type {
                return None;
            }
            let count = self.memory.word(address + LENGTH)?.min(MOST_LETTERS);
            let state = self.memory.number(address + STATE)?;
            let (kind, is_compact, is_ascii) = (state >> 2 & 7, state >> 5 & 1 == 1, state >> 6 & 1 == 1);
            if !is_compact || !matches!(kind, 1 | 2 | 4) {
                return Some(0);
            }
            let start = address + if is_ascii { self.layout.ascii } else { self.layout.compact };
            let letters = letters.get_mut(..count * kind as usize)?;
            if !self.memory.read(start, letters) {
                return None;
            }
            (kind as usize, is_ascii, count, letters)
        };
        if is_ascii {
            return Some(writer::shared().names.intern(letters));
        }
        let mut text = [0_u8; MOST_LETTERS * 4];
        let mut length = 0;
        for letter in letters.chunks_exact(kind).take(count) {
            let number = letter.iter().rev().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
            let letter = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
            length += letter.encode_utf8(text.get_mut(length..)?).len();
        }
        Some(writer::shared().names.intern(text.get(..length)?))
    }
}
