//! Encodings and names as nvprof reads them.

use super::super::operators::OPERATORS;
use super::super::parse::{Invalid, Parsed};
use super::items::{Item, ItemId, Items, Name};
use crate::demangle::readable;

/// Nested constructs before the name is left mangled; see the limit of the correct parser.
const MAX_DEPTH: u32 = 200;

pub(super) struct Reader<'a> {
    pub(super) input: &'a [u8],
    pub(super) at: usize,
    pub(super) items: Items,
    pub(super) substitutions: Vec<ItemId>,
    /// Every template argument in the order in which it was completed, whichever list it belongs to: nvprof
    /// takes `T_` for the first of all, so an inner argument hides the outer one that was meant.
    pub(super) args: Vec<ItemId>,
    depth: u32,
}

impl Reader<'_> {
    /// Reads all of a name, whose `_Z` has been dropped; returns its items and the topmost one.
    pub(super) fn read(input: &[u8]) -> Parsed<(Items, ItemId)> {
        let mut reader =
            Reader { input, at: 0, items: Items::default(), substitutions: Vec::new(), args: Vec::new(), depth: 0 };
        let root = reader.encoding()?;
        if reader.at == input.len() { Ok((reader.items, root)) } else { Err(Invalid) }
    }

    pub(super) fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> u8 {
        self.input.get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(super) fn eat(&mut self, text: &[u8]) -> bool {
        let found = self.input[self.at..].starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub(super) fn expect(&mut self, text: &[u8]) -> Parsed<()> {
        if self.eat(text) { Ok(()) } else { Err(Invalid) }
    }

    pub(super) fn text(&mut self, text: &str) -> ItemId {
        self.items.add(Item::Text(text.to_owned()))
    }

    pub(super) fn decimal(&mut self) -> Parsed<usize> {
        let start = self.at;
        let mut value = 0usize;
        while self.peek().is_ascii_digit() {
            value = value.saturating_mul(10).saturating_add(usize::from(self.peek() - b'0'));
            self.at += 1;
        }
        if self.at == start { Err(Invalid) } else { Ok(value) }
    }

    pub(super) fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Invalid);
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    pub(super) fn encoding(&mut self) -> Parsed<ItemId> {
        self.deeper(Self::encoding_inner)
    }

    fn encoding_inner(&mut self) -> Parsed<ItemId> {
        let word = match [self.peek(), self.peek_at(1)] {
            [b'G', b'V'] => Some("__guard_variable__"),
            [b'T', b'I'] => Some("__typeinfo_structure__"),
            [b'T', b'S'] => Some("__typeinfo_name__"),
            [b'T', b'V'] => Some("__virtual_table__"),
            [b'T', b'T'] => Some("__VTT_structure__"),
            [b'T' | b'G', _] => return Err(Invalid),
            _ => None,
        };
        if let Some(word) = word {
            self.at += 2;
            let inner = if word == "__guard_variable__" { self.name()? } else { self.parse_type()? };
            return Ok(self.items.add(Item::Wrapped { word: word.to_owned(), inner: vec![inner] }));
        }
        let abbreviated = self.peek() == b'N'
            && self.peek_at(1) == b'S'
            && self.peek_at(2).is_ascii_lowercase()
            && self.peek_at(2) != b't';
        let name = self.name()?;
        if self.at == self.input.len() || self.peek() == b'E' {
            return Ok(name);
        }
        // Members of abbreviated classes (`NSs4sizeEv`) are beyond it as functions, though not as objects.
        if abbreviated {
            return Err(Invalid);
        }
        let types = self.types_until_end()?;
        Ok(self.items.add(Item::Encoding { name, types }))
    }

    pub(super) fn types_until_end(&mut self) -> Parsed<Vec<ItemId>> {
        let mut types = Vec::new();
        while self.at != self.input.len() && self.peek() != b'E' {
            types.push(self.parse_type()?);
        }
        Ok(types)
    }

    pub(super) fn name(&mut self) -> Parsed<ItemId> {
        match self.peek() {
            b'N' => self.nested_name().map(|(name, _)| name),
            b'Z' => self.local_name(),
            _ => {
                let name = self.unscoped_name()?;
                if self.peek() != b'I' {
                    return Ok(name);
                }
                self.substitutions.push(name);
                self.instance(name)
            }
        }
    }

    fn unscoped_name(&mut self) -> Parsed<ItemId> {
        let prefix = if self.eat(b"St") { Some(self.text("std")) } else { None };
        let text = self.unqualified()?;
        Ok(self.items.add(Item::Name(Name {
            prefix,
            substituted: false,
            separator: "::",
            text,
            args: None,
            attracts: prefix.is_some(),
        })))
    }

    /// A class outside any scope attracts nothing where it is spelled out, but does where it is substituted.
    pub(super) fn attracting(&mut self, id: ItemId) -> ItemId {
        match self.items.get(id) {
            Item::Name(name) if !name.attracts && name.prefix.is_none() => {
                let name = Name { attracts: true, ..name.clone() };
                self.items.add(Item::Name(name))
            }
            _ => id,
        }
    }

    /// Reads template arguments for a name just read.
    pub(super) fn instance(&mut self, name: ItemId) -> Parsed<ItemId> {
        let args = self.template_args()?;
        let Item::Name(name) = self.items.get(name).clone() else { return Err(Invalid) };
        Ok(self.items.add(Item::Name(Name { args: Some(args), ..name })))
    }

    /// Reads template arguments for a name that came from a substitution or a template parameter.
    pub(super) fn substituted_instance(&mut self, base: ItemId) -> Parsed<ItemId> {
        let args = self.template_args()?;
        let attracts = matches!(self.items.get(base), Item::Name(name) if name.attracts);
        Ok(self.items.add(Item::Name(Name {
            prefix: Some(base),
            substituted: true,
            separator: "",
            text: String::new(),
            args: Some(args),
            attracts,
        })))
    }

    /// Reads a nested name and says whether it ends with template arguments.
    pub(super) fn nested_name(&mut self) -> Parsed<(ItemId, bool)> {
        self.expect(b"N")?;
        let mut current: Option<ItemId> = None;
        let mut separator = "::";
        let mut substituted = false;
        let mut templated = false;
        loop {
            let item = match (self.peek(), current) {
                (b'E', Some(name)) => {
                    self.at += 1;
                    return Ok((name, templated));
                }
                (b'S', None) if self.peek_at(1) == b't' => {
                    self.at += 2;
                    current = Some(self.text("std"));
                    continue;
                }
                (b'S', None) => {
                    let name = self.substitution()?;
                    substituted = true;
                    if !matches!(self.items.get(name), Item::Name(_)) {
                        separator = "";
                    }
                    current = Some(name);
                    continue;
                }
                (b'T', None) => {
                    current = Some(self.template_param()?);
                    substituted = true;
                    separator = "";
                    continue;
                }
                (b'I', Some(name)) => {
                    templated = true;
                    let item = if substituted { self.substituted_instance(name)? } else { self.instance(name)? };
                    substituted = false;
                    separator = "::";
                    // Also pushed at the very end of a name, where the ABI does not count it.
                    self.substitutions.push(item);
                    item
                }
                _ => {
                    templated = false;
                    let text = self.unqualified()?;
                    let item = self.items.add(Item::Name(Name {
                        prefix: current,
                        substituted,
                        separator,
                        text,
                        args: None,
                        attracts: true,
                    }));
                    separator = "::";
                    substituted = false;
                    if self.peek() != b'E' {
                        self.substitutions.push(item);
                    }
                    item
                }
            };
            current = Some(item);
        }
    }

    fn local_name(&mut self) -> Parsed<ItemId> {
        self.expect(b"Z")?;
        let function = self.encoding()?;
        self.expect(b"E")?;
        let entity = self.name()?;
        Ok(self.items.add(Item::Local { function, entity }))
    }

    pub(super) fn unqualified(&mut self) -> Parsed<String> {
        match self.peek() {
            b'0'..=b'9' => self.source_name(),
            b'C' | b'D' => {
                let text = match &[self.peek(), self.peek_at(1)] {
                    b"C1" => "__complete_object_constructor__",
                    b"C2" => "__base_object_constructor__",
                    b"D1" => "__complete_object_destructor__",
                    b"D2" => "__base_object_destructor__",
                    _ => return Err(Invalid),
                };
                self.at += 2;
                Ok(text.to_owned())
            }
            b'a'..=b'z' => self.operator(),
            _ => Err(Invalid),
        }
    }

    pub(super) fn operator(&mut self) -> Parsed<String> {
        let code = [self.peek(), self.peek_at(1)];
        let &(_, spelling, _) = OPERATORS.iter().find(|(known, ..)| **known == code).ok_or(Invalid)?;
        self.at += 2;
        Ok(format!("__operator_{}__", spelling.trim_end()))
    }

    fn source_name(&mut self) -> Parsed<String> {
        let length = self.decimal()?;
        let end = self.at.checked_add(length).filter(|&end| end <= self.input.len()).ok_or(Invalid)?;
        let text = readable(&self.input[self.at..end]).into_owned();
        self.at = end;
        Ok(text)
    }
}
