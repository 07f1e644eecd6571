//! Texts and attributes of the program, read without trusting more of them than they state.

use std::ffi::c_void;
use std::mem::{MaybeUninit, offset_of};
use std::ptr::null;

use super::abi::{self, EventAttributes, ResourceAttributes, Wide};
use super::event::Payload;
use super::handles;

/// Longest text that is kept; more is cut where a character ends. Names are for people and for matching.
pub const TEXT_BYTES: usize = 4096;

/// A text: its bytes, and its string id where it is known already.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    bytes: &'a [u8],
    id: u32,
}

impl Text<'_> {
    /// No text.
    pub const EMPTY: Text<'static> = Text { bytes: &[], id: 0 };

    /// The text itself.
    pub fn bytes(&self) -> &[u8] {
        self.bytes
    }

    /// Its string id, interned if need be; 0: the table of names is full.
    pub fn id(&self) -> u32 {
        if self.id == 0 { super::intern(self.bytes) } else { self.id }
    }
}

/// At most [`TEXT_BYTES`] of `bytes`, not ending inside a character.
fn cut(bytes: &[u8]) -> &[u8] {
    let Some(beyond) = bytes.get(TEXT_BYTES) else { return bytes };
    let mut end = TEXT_BYTES;
    // A character of UTF-8 has three continuation bytes at most; other encodings are cut where they are.
    if beyond & 0xC0 == 0x80 {
        let start = (TEXT_BYTES - 3..TEXT_BYTES).rev().find(|&i| bytes.get(i).is_some_and(|b| b & 0xC0 == 0xC0));
        end = start.unwrap_or(TEXT_BYTES);
    }
    bytes.get(..end).unwrap_or_default()
}

/// Calls `body` with a `char` text; null is empty.
///
/// # Safety
/// `text` is null or ends in a zero byte, as NVTX demands.
pub unsafe fn ascii<R>(text: abi::Text, body: impl FnOnce(Text<'_>) -> R) -> R {
    if text.is_null() {
        return body(Text::EMPTY);
    }
    // SAFETY: the caller's promise; no byte after the first zero is read.
    let bytes = unsafe {
        let len = libc::strnlen(text, TEXT_BYTES + 1);
        std::slice::from_raw_parts(text.cast::<u8>(), len)
    };
    body(Text { bytes: cut(bytes), id: 0 })
}

/// Calls `body` with a `wchar_t` text as UTF-8; null is empty, what is no character becomes U+FFFD.
///
/// # Safety
/// `text` is null or ends in a zero character, as NVTX demands.
#[inline(never)]
pub unsafe fn wide<R>(text: *const Wide, body: impl FnOnce(Text<'_>) -> R) -> R {
    let mut buffer = [const { MaybeUninit::<u8>::uninit() }; TEXT_BYTES];
    let mut len = 0;
    if !text.is_null() {
        for i in 0..TEXT_BYTES {
            // SAFETY: no zero character came before this one, so it is part of the text. Nobody promises alignment.
            let character = unsafe { text.add(i).read_unaligned() };
            if character == 0 {
                break;
            }
            let mut utf8 = [0; 4];
            let utf8 = char::from_u32(character).unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut utf8);
            let Some(room) = buffer.get_mut(len..len + utf8.len()) else { break };
            for (to, from) in room.iter_mut().zip(utf8.bytes()) {
                to.write(from);
            }
            len += utf8.len();
        }
    }
    // SAFETY: the first `len` bytes were written above.
    let bytes = unsafe { std::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), len) };
    body(Text { bytes, id: 0 })
}

/// Which text an attribute structure holds.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    /// One of `abi::MESSAGE_*`; anything else: none.
    pub kind: i32,
    /// Pointer or handle.
    pub value: *const c_void,
}

impl Message {
    /// Calls `body` with the text; unknown kinds and handles are empty.
    ///
    /// # Safety
    /// The value is what its kind says it is.
    #[inline]
    pub unsafe fn read<R>(self, body: impl FnOnce(Text<'_>) -> R) -> R {
        match self.kind {
            // SAFETY: the caller's promise, for both.
            abi::MESSAGE_ASCII => unsafe { ascii(self.value.cast(), body) },
            abi::MESSAGE_WIDE => unsafe { wide(self.value.cast(), body) },
            abi::MESSAGE_REGISTERED => match handles::string(self.value.cast_mut()) {
                Some(handles::StringRef::Kept(entry)) => body(Text { bytes: entry.bytes(), id: entry.id() }),
                Some(handles::StringRef::IdOnly(id)) => body(Text { bytes: &[], id }),
                None => body(Text::EMPTY),
            },
            _ => body(Text::EMPTY),
        }
    }
}

/// What a range or mark says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    /// 0: none.
    pub category: u32,
    /// ARGB.
    pub color: Option<u32>,
    /// Attached value.
    pub payload: Payload,
    /// Text.
    pub message: Message,
}

impl Attributes {
    /// Says nothing but a text.
    pub const NONE: Attributes = Attributes {
        category: 0,
        color: None,
        payload: Payload::None,
        message: Message { kind: 0, value: null() },
    };

    /// Reads the fields that `size` covers; null says nothing.
    ///
    /// # Safety
    /// `attributes` is null or points to a structure of the size it states.
    #[inline]
    pub unsafe fn read(attributes: *const EventAttributes) -> Attributes {
        // SAFETY: the caller's promise.
        let Some(a) = (unsafe { covered(attributes) }) else { return Attributes::NONE };
        Attributes {
            category: a.category,
            color: (a.color_type == abi::COLOR_ARGB).then_some(a.color),
            payload: payload(a.payload_type, a.payload),
            message: Message { kind: a.message_type, value: a.message },
        }
    }
}

fn payload(kind: i32, bits: u64) -> Payload {
    match kind {
        // The column holds i64. What does not fit there is still the right size as a float, and never negative.
        abi::PAYLOAD_U64 => i64::try_from(bits).map_or(Payload::Float(bits as f64), Payload::Int),
        abi::PAYLOAD_I64 => Payload::Int(bits as i64),
        abi::PAYLOAD_F64 => Payload::Float(f64::from_bits(bits)),
        abi::PAYLOAD_U32 => Payload::Int(i64::from(bits as u32)),
        abi::PAYLOAD_I32 => Payload::Int(i64::from(bits as i32)),
        abi::PAYLOAD_F32 => Payload::Float(f64::from(f32::from_bits(bits as u32))),
        // Extended payloads are structures with a schema of their own.
        _ => Payload::None,
    }
}

/// A structure whose second 16-bit word is its size in bytes.
pub(super) trait Sized16: Copy {
    /// All fields "unused".
    const UNUSED: Self;
    /// Where each field ends: a field that is covered in part is not read.
    const ENDS: &'static [usize];
}

impl Sized16 for EventAttributes {
    const UNUSED: Self = EventAttributes {
        version: 0,
        size: 0,
        category: 0,
        color_type: 0,
        color: 0,
        payload_type: 0,
        reserved: 0,
        payload: 0,
        message_type: 0,
        padding: 0,
        message: null(),
    };
    // A type without its value would be a lie, so each pair is one field here.
    const ENDS: &'static [usize] = &[
        offset_of!(EventAttributes, category),
        offset_of!(EventAttributes, color_type),
        offset_of!(EventAttributes, payload_type),
        offset_of!(EventAttributes, message_type),
        size_of::<EventAttributes>(),
    ];
}

impl Sized16 for ResourceAttributes {
    const UNUSED: Self = ResourceAttributes {
        version: 0,
        size: 0,
        identifier_type: 0,
        identifier: 0,
        message_type: 0,
        padding: 0,
        message: null(),
    };
    const ENDS: &'static [usize] = &[offset_of!(ResourceAttributes, message_type), size_of::<ResourceAttributes>()];
}

/// A copy of the structure, if it is there in full.
///
/// # Safety
/// `structure` is null or points to a structure of the size it states.
#[inline]
pub(super) unsafe fn whole<T: Sized16>(structure: *const T) -> Option<T> {
    // SAFETY: the caller's promise; every version of these structures begins with the two words.
    let is_whole = !structure.is_null()
        && usize::from(unsafe { structure.cast::<u16>().add(1).read_unaligned() }) >= size_of::<T>();
    // SAFETY: the caller stated that all of it is there. Not necessarily aligned: bindings of other languages.
    is_whole.then(|| unsafe { structure.read_unaligned() })
}

/// A copy of the fields that the structure's own size covers, the others unused.
#[inline]
unsafe fn covered<T: Sized16>(structure: *const T) -> Option<T> {
    // SAFETY: passed on.
    if let Some(whole) = unsafe { whole(structure) } {
        return Some(whole);
    }
    if structure.is_null() {
        return None;
    }
    // SAFETY: see `whole`.
    let size = usize::from(unsafe { structure.cast::<u16>().add(1).read_unaligned() });
    let end = T::ENDS.iter().copied().take_while(|&end| end <= size).last()?;
    let mut copy = T::UNUSED;
    // SAFETY: `end` bytes are covered by the stated size, and fewer than `copy` has.
    unsafe { structure.cast::<u8>().copy_to_nonoverlapping((&raw mut copy).cast(), end) };
    Some(copy)
}

/// A resource that the program named.
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    /// One of `abi::RESOURCE_*`.
    pub kind: i32,
    /// Pointer or number.
    pub identifier: u64,
    /// Its name.
    pub message: Message,
}

/// Reads a resource.
///
/// # Safety
/// `attributes` is null or points to a structure of the size it states.
pub unsafe fn resource(attributes: *const ResourceAttributes) -> Option<Resource> {
    // SAFETY: the caller's promise.
    let a = unsafe { covered(attributes) }?;
    let message = Message { kind: a.message_type, value: a.message };
    Some(Resource { kind: a.identifier_type, identifier: a.identifier, message })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ascii_of(bytes: &std::ffi::CStr) -> Vec<u8> {
        // SAFETY: a terminated text.
        unsafe { ascii(bytes.as_ptr(), |t| t.bytes().to_vec()) }
    }

    fn wide_of(characters: &[u32]) -> Vec<u8> {
        // SAFETY: the callers end their text with a zero.
        unsafe { wide(characters.as_ptr(), |t| t.bytes().to_vec()) }
    }

    #[test]
    fn null_texts_are_empty() {
        // SAFETY: null is allowed.
        unsafe {
            assert_eq!(ascii(null(), |t| t.bytes().len()), 0);
            assert_eq!(wide(null(), |t| t.bytes().len()), 0);
        }
    }

    #[test]
    fn wide_texts_become_utf_8() {
        let text: Vec<u32> = "schön 東京 🚀\0".chars().map(u32::from).collect();
        assert_eq!(wide_of(&text), "schön 東京 🚀".as_bytes());
        // A surrogate and a number beyond Unicode.
        assert_eq!(wide_of(&[0x41, 0xD800, 0x110000, 0x42, 0]), "A\u{FFFD}\u{FFFD}B".as_bytes());
    }

    #[test]
    fn long_texts_are_cut_where_a_character_ends() {
        let mut long = "ü".repeat(TEXT_BYTES).into_bytes();
        long.insert(0, b'x');
        long.push(0);
        let cut = ascii_of(std::ffi::CStr::from_bytes_with_nul(&long).unwrap());
        assert_eq!(cut.len(), TEXT_BYTES - 1);
        assert!(std::str::from_utf8(&cut).is_ok());
        let wide: Vec<u32> = std::iter::repeat_n(0x1F680, TEXT_BYTES).chain([0]).collect();
        let cut = wide_of(&wide);
        assert!(cut.len() == TEXT_BYTES && std::str::from_utf8(&cut).is_ok());
        // No encoding we know: cut all the same.
        let strange = [vec![0x80u8; TEXT_BYTES + 5], vec![0]].concat();
        assert_eq!(ascii_of(std::ffi::CStr::from_bytes_with_nul(&strange).unwrap()).len(), TEXT_BYTES);
    }

    #[test]
    fn only_fields_that_the_size_covers_are_read() {
        let text = c"text";
        let mut all = EventAttributes {
            version: 3,
            size: 0,
            category: 7,
            color_type: abi::COLOR_ARGB,
            color: 0xFF00_FF00,
            payload_type: abi::PAYLOAD_I64,
            reserved: 0,
            payload: 9,
            message_type: abi::MESSAGE_ASCII,
            padding: 0,
            message: text.as_ptr().cast(),
        };
        let mut read = |size: u16| {
            all.size = size;
            // SAFETY: the structure is larger than any size stated here, but for the last.
            unsafe { Attributes::read(&all) }
        };
        for size in 0..=48 {
            let a = read(size);
            assert_eq!(a.category, if size >= 8 { 7 } else { 0 }, "size {size}");
            assert_eq!(a.color, (size >= 16).then_some(0xFF00_FF00), "size {size}");
            assert_eq!(a.payload, if size >= 32 { Payload::Int(9) } else { Payload::None }, "size {size}");
            assert_eq!(a.message.kind, if size >= 48 { abi::MESSAGE_ASCII } else { 0 }, "size {size}");
        }
        // A newer, longer structure begins with the fields we know.
        assert_eq!(read(96).category, 7);
        // SAFETY: null is allowed.
        assert_eq!(unsafe { Attributes::read(null()) }.category, 0);
    }

    #[test]
    fn every_payload_type_keeps_its_value() {
        assert_eq!(payload(abi::PAYLOAD_U64, 5), Payload::Int(5));
        assert_eq!(payload(abi::PAYLOAD_U64, u64::MAX), Payload::Float(u64::MAX as f64));
        assert_eq!(payload(abi::PAYLOAD_I64, (-5i64) as u64), Payload::Int(-5));
        assert_eq!(payload(abi::PAYLOAD_F64, 2.5f64.to_bits()), Payload::Float(2.5));
        // The upper half of the union is not the caller's.
        let dirty = 0xDEAD_BEEF_0000_0000;
        assert_eq!(payload(abi::PAYLOAD_U32, dirty | u64::from(u32::MAX)), Payload::Int(i64::from(u32::MAX)));
        assert_eq!(payload(abi::PAYLOAD_I32, dirty | u64::from((-5i32) as u32)), Payload::Int(-5));
        assert_eq!(payload(abi::PAYLOAD_F32, dirty | u64::from(0.5f32.to_bits())), Payload::Float(0.5));
        assert_eq!(payload(0, 1), Payload::None);
        assert_eq!(payload(0xDFBD_0009u32 as i32, 1), Payload::None);
    }
}
