//! Python's marshal format, as far as cProfile dumps use it. Values refer to earlier ones by number, so they lie in
//! one list and name each other by index: nothing is copied, and dropping them follows no chain.

use std::fmt;

/// One value.
#[derive(Debug, PartialEq)]
pub enum Node<'b> {
    /// A string of any kind.
    Text(&'b [u8]),
    /// An integer.
    Integer(i64),
    /// A floating point number.
    Float(f64),
    /// A tuple: indices of its items.
    Tuple(Vec<u32>),
    /// Anything whose value is of no interest: dicts of callers, lists, `None`.
    Other,
}

/// Why reading ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The bytes end inside a value.
    Cut(usize),
    /// A code that marshal does not have, or that no profile has.
    Unknown(usize, u8),
    /// A reference to a value that was not there before.
    Reference(usize),
    /// Values nested deeper than in any profile, or more of them.
    TooMuch(usize),
    /// The whole is no dict.
    NoDict,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Cut(at) => write!(f, "it is cut off at byte {at}"),
            Stop::Unknown(at, code) => write!(f, "byte {at} has the code {code:#04x}, which no profile has"),
            Stop::Reference(at) => write!(f, "byte {at} refers to a value that was not there before"),
            Stop::TooMuch(at) => write!(f, "byte {at} has more or deeper values than a profile has"),
            Stop::NoDict => f.write_str("it holds no dict"),
        }
    }
}

/// The entries of the outermost dict.
pub struct Entries {
    /// Indices of keys and values, as many as could be read.
    pub pairs: Vec<(u32, u32)>,
    /// Why there are no more, if the dict has no end.
    pub stop: Option<Stop>,
}

/// A profile nests five deep.
const DEPTH: u32 = 20;

/// Half a million functions with a dozen callers each.
const NODES: usize = 16 << 20;

/// Set in a code whose value will be referred to.
const REMEMBER: u8 = 0x80;

/// Values read so far.
pub struct Arena<'b> {
    bytes: &'b [u8],
    at: usize,
    nodes: Vec<Node<'b>>,
    /// Values by number of reference.
    references: Vec<u32>,
    /// Interned strings by number, as Python 2 refers to them.
    interned: Vec<u32>,
}

/// The end of a dict, which is no value.
const NULL: u32 = u32::MAX;

impl<'b> Arena<'b> {
    /// Prepares to read `bytes`.
    pub fn new(bytes: &'b [u8]) -> Self {
        Arena { bytes, at: 0, nodes: Vec::new(), references: Vec::new(), interned: Vec::new() }
    }

    /// The value with this index.
    pub fn get(&self, index: u32) -> Option<&Node<'b>> {
        self.nodes.get(index as usize)
    }

    /// Reads the dict that the whole is.
    pub fn top_dict(&mut self) -> Entries {
        let mut entries = Entries { pairs: Vec::new(), stop: None };
        match self.code() {
            Ok(code) if code & !REMEMBER == b'{' => {
                let _ = self.add(Node::Other, code);
            }
            Ok(_) => {
                entries.stop = Some(Stop::NoDict);
                return entries;
            }
            Err(stop) => {
                entries.stop = Some(stop);
                return entries;
            }
        }
        loop {
            let pair = self.value(1).and_then(|key| Ok((key, if key == NULL { NULL } else { self.value(1)? })));
            match pair {
                Ok((NULL, _)) => return entries,
                Ok((_, NULL)) => entries.stop = Some(Stop::Cut(self.at)),
                Ok(pair) => {
                    entries.pairs.push(pair);
                    continue;
                }
                Err(stop) => entries.stop = Some(stop),
            }
            return entries;
        }
    }

    fn take(&mut self, count: usize) -> Result<&'b [u8], Stop> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or(Stop::Cut(self.bytes.len()))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let at = self.at;
        self.take(N)?.try_into().map_err(|_| Stop::Cut(at))
    }

    fn code(&mut self) -> Result<u8, Stop> {
        Ok(self.array::<1>()?[0])
    }

    fn length(&mut self) -> Result<usize, Stop> {
        let at = self.at;
        usize::try_from(i32::from_le_bytes(self.array()?)).map_err(|_| Stop::TooMuch(at))
    }

    /// Adds a value, which gets the next number of reference if its code asks for one: before what is inside it.
    fn add(&mut self, node: Node<'b>, code: u8) -> Result<u32, Stop> {
        if self.nodes.len() >= NODES {
            return Err(Stop::TooMuch(self.at));
        }
        let index = self.nodes.len() as u32;
        self.nodes.push(node);
        if code & REMEMBER != 0 {
            self.references.push(index);
        }
        Ok(index)
    }

    fn value(&mut self, depth: u32) -> Result<u32, Stop> {
        let start = self.at;
        if depth > DEPTH {
            return Err(Stop::TooMuch(start));
        }
        let code = self.code()?;
        let node = match code & !REMEMBER {
            b'0' => return Ok(NULL),
            b'N' | b'F' | b'T' | b'S' | b'.' => Node::Other,
            b'i' => Node::Integer(i64::from(i32::from_le_bytes(self.array()?))),
            b'I' => Node::Integer(i64::from_le_bytes(self.array()?)),
            b'l' => self.long()?,
            b'g' => Node::Float(f64::from_le_bytes(self.array()?)),
            b'f' => {
                let digits = usize::from(self.code()?);
                let text = std::str::from_utf8(self.take(digits)?).ok().and_then(|text| text.parse().ok());
                text.map_or(Node::Other, Node::Float)
            }
            b's' | b't' | b'a' | b'A' | b'u' => {
                let length = self.length()?;
                Node::Text(self.take(length)?)
            }
            b'z' | b'Z' => {
                let length = usize::from(self.code()?);
                Node::Text(self.take(length)?)
            }
            b'(' | b'[' | b'<' | b'>' => {
                let count = self.length()?;
                return self.items(code, count, depth);
            }
            b')' => {
                let count = usize::from(self.code()?);
                return self.items(code, count, depth);
            }
            b'{' => {
                let index = self.add(Node::Other, code)?;
                while self.value(depth + 1)? != NULL {
                    self.value(depth + 1)?;
                }
                return Ok(index);
            }
            b'r' => return self.reference(start),
            b'R' => {
                let number = self.length()?;
                return self.interned.get(number).copied().ok_or(Stop::Reference(start));
            }
            unknown => return Err(Stop::Unknown(start, unknown)),
        };
        let index = self.add(node, code)?;
        if code & !REMEMBER == b't' {
            self.interned.push(index);
        }
        Ok(index)
    }

    fn reference(&mut self, start: usize) -> Result<u32, Stop> {
        let number = self.length()?;
        self.references.get(number).copied().ok_or(Stop::Reference(start))
    }

    fn items(&mut self, code: u8, count: usize, depth: u32) -> Result<u32, Stop> {
        let index = self.add(Node::Other, code)?;
        // The number of items is only believed as far as there are bytes for them.
        let mut items = Vec::with_capacity(count.min(8));
        for _ in 0..count {
            items.push(self.value(depth + 1)?);
        }
        if matches!(code & !REMEMBER, b'(' | b')') {
            self.nodes[index as usize] = Node::Tuple(items);
        }
        Ok(index)
    }

    /// An integer beyond 32 bits: digits of 15 bits, their number negative for a negative one.
    fn long(&mut self) -> Result<Node<'b>, Stop> {
        let count = i32::from_le_bytes(self.array()?);
        let mut value = Some(0i64);
        for place in 0..count.unsigned_abs() {
            let digit = i64::from(u16::from_le_bytes(self.array()?));
            let shifted = if place < 4 { digit.checked_mul(1 << (15 * place)) } else { (digit == 0).then_some(0) };
            value = value.zip(shifted).and_then(|(value, more)| value.checked_add(more));
        }
        Ok(value.map_or(Node::Other, |value| Node::Integer(if count < 0 { -value } else { value })))
    }
}
