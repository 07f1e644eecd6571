//! Where each version of Python keeps its frames, on 64-bit machines.
//!
//! Of 3.8 to 3.13 by `offsetof` over the headers of one release each; of 3.14 from py-spy's bindings, which agree with
//! the headers for 3.13. Within a version nothing moves: extensions are compiled against it. Types are checked at
//! every step all the same.

/// Bytes from the beginning of each structure.
#[derive(Debug)]
pub(super) struct Layout {
    /// From a thread's state to its innermost frame: places to follow one after the other.
    pub current: &'static [usize],
    /// Frame: its code object.
    pub code: usize,
    /// Frame: the frame that called it.
    pub back: usize,
    /// Frame: the instruction.
    pub instruction: Instruction,
    /// Frame: a byte that says whose it is, and from which value on it is none of a function.
    pub owner: Option<(usize, u8)>,
    /// Code: name of its file.
    pub file: usize,
    /// Code: qualified name, or name before 3.11.
    pub name: usize,
    /// Code: first line, 32 bits.
    pub first_line: usize,
    /// Code: table of lines.
    pub lines: usize,
    /// String: bytes before the letters of one that is ASCII, and of any other.
    pub ascii: usize,
    pub compact: usize,
}

/// How a frame says which instruction it is at.
#[derive(Debug)]
pub(super) enum Instruction {
    /// As a 32-bit number at that place, in units of so many bytes.
    Index(usize, i32),
    /// As an address at the first place; the code begins at the second, in the code object.
    Address(usize, usize),
}

/// Which versions there are below, for people.
pub(super) const KNOWN: &str = "3.8 to 3.14";

static V3_8: Layout = Layout {
    current: &[24],
    code: 32,
    back: 24,
    instruction: Instruction::Index(104, 1),
    owner: None,
    file: 104,
    name: 112,
    first_line: 40,
    lines: 120,
    ascii: 48,
    compact: 72,
};
static V3_10: Layout = Layout {
    current: &[24],
    code: 32,
    back: 24,
    instruction: Instruction::Index(96, 2),
    owner: None,
    file: 104,
    name: 112,
    first_line: 40,
    lines: 120,
    ascii: 48,
    compact: 72,
};
static V3_11: Layout = Layout {
    current: &[56, 8],
    code: 32,
    back: 48,
    instruction: Instruction::Address(56, 184),
    owner: None,
    file: 112,
    name: 128,
    first_line: 72,
    lines: 136,
    ascii: 48,
    compact: 72,
};
static V3_12: Layout = Layout {
    current: &[56, 0],
    code: 0,
    back: 8,
    instruction: Instruction::Address(56, 192),
    owner: Some((70, 3)),
    file: 112,
    name: 128,
    first_line: 68,
    lines: 136,
    ascii: 40,
    compact: 56,
};
static V3_13: Layout = Layout {
    current: &[72],
    code: 0,
    back: 8,
    instruction: Instruction::Address(56, 200),
    owner: Some((70, 3)),
    file: 112,
    name: 128,
    first_line: 68,
    lines: 136,
    ascii: 40,
    compact: 56,
};
static V3_14: Layout = Layout {
    current: &[72],
    code: 0,
    back: 8,
    instruction: Instruction::Address(56, 208),
    owner: Some((74, 3)),
    file: 112,
    name: 128,
    first_line: 68,
    lines: 136,
    ascii: 40,
    compact: 56,
};

/// The layout of Python 3.`minor`.
pub(super) fn of(minor: u32) -> Option<&'static Layout> {
    Some(match minor {
        8 | 9 => &V3_8,
        10 => &V3_10,
        11 => &V3_11,
        12 => &V3_12,
        13 => &V3_13,
        14 => &V3_14,
        _ => return None,
    })
}
