//! Types, template arguments, expressions and substitutions as nvprof reads them.

use super::super::operators::OPERATORS;
use super::super::parse::{Invalid, Parsed};
use super::super::types::builtin_name;
use super::items::{Item, ItemId, Name};
use super::read::Reader;

impl Reader<'_> {
    pub(super) fn template_args(&mut self) -> Parsed<Vec<ItemId>> {
        self.expect(b"I")?;
        let mut list = Vec::new();
        while !self.eat(b"E") {
            let arg = self.deeper(Self::template_arg)?;
            self.args.push(arg);
            list.push(arg);
        }
        Ok(list)
    }

    fn template_arg(&mut self) -> Parsed<ItemId> {
        match self.peek() {
            b'L' => self.literal(),
            b'X' => {
                self.at += 1;
                let expression = self.expression()?;
                self.expect(b"E")?;
                Ok(expression)
            }
            b'J' => {
                self.at += 1;
                while !self.eat(b"E") {
                    let arg = self.deeper(Self::template_arg)?;
                    self.args.push(arg);
                }
                Ok(self.items.add(Item::Pack))
            }
            _ => self.parse_type(),
        }
    }

    fn literal(&mut self) -> Parsed<ItemId> {
        self.expect(b"L")?;
        if self.eat(b"_Z") {
            let inner = self.encoding()?;
            // Functions and objects count as substitutions here, objects even twice; template instances have
            // been counted with their arguments.
            let (name, times) = match self.items.get(inner) {
                Item::Encoding { name, .. } => (*name, 1),
                _ => (inner, 2),
            };
            let templated = matches!(self.items.get(name), Item::Name(Name { args: Some(_), .. }));
            for _ in usize::from(templated)..times {
                self.substitutions.push(inner);
            }
            self.expect(b"E")?;
            return Ok(inner);
        }
        // Values of enumerations are shown where their name is spelled out and in no scope: `E=1`, but `ns::E`.
        let shows_value = builtin_name(self.peek()).is_some() || self.peek().is_ascii_digit();
        let kind = self.parse_type()?;
        let start = self.at;
        while !matches!(self.peek(), b'E' | 0) {
            self.at += 1;
        }
        let value = String::from_utf8_lossy(&self.input[start..self.at]).replace('n', "-");
        self.expect(b"E")?;
        Ok(self.items.add(Item::Literal { kind, value: shows_value.then_some(value) }))
    }

    fn expression(&mut self) -> Parsed<ItemId> {
        self.deeper(Self::expression_inner)
    }

    fn expression_inner(&mut self) -> Parsed<ItemId> {
        match self.peek() {
            b'L' => return self.literal(),
            b'T' => return self.template_param(),
            _ => {}
        }
        if self.eat(b"sr") {
            self.parse_type()?;
            let name = self.unqualified()?;
            let inner = self.items.add(Item::Text(name));
            return Ok(self.items.add(Item::Wrapped { word: "__scope__".to_owned(), inner: vec![inner] }));
        }
        if self.eat(b"st") {
            self.parse_type()?;
            return Ok(self.items.add(Item::Wrapped { word: "__sizeof__".to_owned(), inner: Vec::new() }));
        }
        if self.eat(b"sz") {
            let inner = vec![self.expression()?];
            return Ok(self.items.add(Item::Wrapped { word: "__operator_sizeof_expression__".to_owned(), inner }));
        }
        let code = [self.peek(), self.peek_at(1)];
        let &(_, _, operands) = OPERATORS.iter().find(|(known, ..)| **known == code).ok_or(Invalid)?;
        let word = self.operator()?;
        let mut inner = Vec::new();
        for _ in 0..operands {
            inner.push(self.expression()?);
        }
        if inner.is_empty() {
            return Err(Invalid);
        }
        Ok(self.items.add(Item::Wrapped { word, inner }))
    }

    pub(super) fn parse_type(&mut self) -> Parsed<ItemId> {
        self.deeper(Self::type_inner)
    }

    fn type_inner(&mut self) -> Parsed<ItemId> {
        let code = self.peek();
        if let Some(name) = builtin_name(code) {
            self.at += 1;
            // Some pairs of types look alike.
            let name = match code {
                b'a' => "char",
                b'y' => "__int64",
                b'o' => "__int128",
                _ => name,
            };
            return Ok(self.text(name));
        }
        let id = match code {
            b'r' | b'V' | b'K' => {
                let mut first = None;
                for (code, word) in [(b'r', "restrict "), (b'V', "volatile "), (b'K', "const ")] {
                    if self.peek() == code {
                        self.at += 1;
                        // Of several qualifiers of one type it prints the first.
                        first = first.or(Some(word));
                    }
                }
                let inner = self.parse_type()?;
                self.items.add(Item::Qualified { inner, word: first.unwrap_or_default() })
            }
            b'P' | b'R' | b'O' => {
                self.at += 1;
                let inner = self.parse_type()?;
                let symbol = if code == b'P' { '*' } else { '&' };
                self.items.add(Item::Indirect { inner, symbol })
            }
            b'F' => {
                self.at += 1;
                let types = self.types_until_end()?;
                self.expect(b"E")?;
                self.items.add(Item::Function { types })
            }
            b'A' => {
                self.at += 1;
                let dimension = self.dimension()?;
                self.expect(b"_")?;
                let element = self.parse_type()?;
                self.items.add(Item::Array { element, dimension })
            }
            b'M' => {
                self.at += 1;
                let class = self.parse_type()?;
                let member = self.parse_type()?;
                self.items.add(Item::MemberPointer { class, member })
            }
            b'T' => {
                let param = self.template_param()?;
                self.substitutions.push(param);
                if self.peek() != b'I' {
                    return Ok(param);
                }
                self.substituted_instance(param)?
            }
            b'S' if self.peek_at(1) != b't' => {
                let name = self.substitution()?;
                if self.peek() != b'I' {
                    return Ok(self.attracting(name));
                }
                self.substituted_instance(name)?
            }
            b'N' => {
                let (name, templated) = self.nested_name()?;
                if templated {
                    return Ok(name);
                }
                name
            }
            b'0'..=b'9' | b'S' | b'Z' => self.name()?,
            _ => return Err(Invalid),
        };
        self.substitutions.push(id);
        Ok(id)
    }

    /// Reads the size of an array: a number, an expression, or nothing.
    fn dimension(&mut self) -> Parsed<Option<ItemId>> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at > start {
            let digits = String::from_utf8_lossy(&self.input[start..self.at]).into_owned();
            return Ok(Some(self.text(&digits)));
        }
        if self.peek() == b'_' { Ok(None) } else { self.expression().map(Some) }
    }

    pub(super) fn template_param(&mut self) -> Parsed<ItemId> {
        self.expect(b"T")?;
        let number = if self.peek() == b'_' { 0 } else { self.decimal()?.saturating_add(1) };
        self.expect(b"_")?;
        self.args.get(number).copied().ok_or(Invalid)
    }

    pub(super) fn substitution(&mut self) -> Parsed<ItemId> {
        self.expect(b"S")?;
        let text = match self.peek() {
            b'a' => "std::allocator",
            // Not a slip here: it prints the wrong class.
            b'b' => "std::allocator",
            b's' => "std::basic_string<char, std::char_traits<char>, std::allocator<char>>",
            b'i' => "std::basic_istream<char, std::char_traits<char> >",
            b'o' => "std::basic_ostream<char, std::char_traits<char> >",
            b'd' => "std::basic_iostream<char, std::char_traits<char> >",
            _ => {
                let mut index = 0usize;
                if self.peek() != b'_' {
                    let mut value = 0usize;
                    while let Some(digit) = (self.peek() as char).to_digit(36) {
                        if self.peek().is_ascii_lowercase() {
                            return Err(Invalid);
                        }
                        value = value.saturating_mul(36).saturating_add(digit as usize);
                        self.at += 1;
                    }
                    index = value.saturating_add(1);
                }
                self.expect(b"_")?;
                return self.substitutions.get(index).copied().ok_or(Invalid);
            }
        };
        self.at += 1;
        Ok(self.text(text))
    }
}
