//! Types, template arguments and substitutions of mangled names (Itanium C++ ABI, sections 5.1.5 and 5.1.8).

use super::node::{FunctionType, Indirection, Node, NodeId, RefQualifier};
use super::parse::{Invalid, Parsed, Parser};

/// The spelling of a one-letter builtin type, in nvprof's notation.
pub(super) fn builtin_name(code: u8) -> Option<&'static str> {
    Some(match code {
        b'v' => "void",
        b'w' => "wchar_t",
        b'b' => "bool",
        b'c' => "char",
        b'a' => "signed char",
        b'h' => "unsigned char",
        b's' => "short",
        b't' => "unsigned short",
        b'i' => "int",
        b'j' => "unsigned int",
        b'l' => "long",
        b'm' => "unsigned long",
        // nvprof writes Microsoft's name for `long long` on every platform.
        b'x' => "__int64",
        b'y' => "unsigned __int64",
        b'n' => "__int128",
        b'o' => "unsigned __int128",
        b'f' => "float",
        b'd' => "double",
        b'e' => "long double",
        b'g' => "__float128",
        b'z' => "...",
        _ => return None,
    })
}

/// The spelling of a builtin type whose code is `D` and a letter.
fn extended_builtin_name(code: u8) -> Option<&'static str> {
    Some(match code {
        b'd' => "decimal64",
        b'e' => "decimal128",
        b'f' => "decimal32",
        b'h' => "__fp16",
        b'i' => "char32_t",
        b's' => "char16_t",
        b'u' => "char8_t",
        b'a' => "auto",
        b'c' => "decltype(auto)",
        b'n' => "std::nullptr_t",
        _ => return None,
    })
}

/// The full spelling of an abbreviated standard class, and the name of its constructor.
const STANDARD_CLASSES: &[(u8, &str, &[&str])] = &[
    (b'a', "allocator", &[]),
    (b'b', "basic_string", &[]),
    (b's', "basic_string", &["char_traits", "allocator"]),
    (b'i', "basic_istream", &["char_traits"]),
    (b'o', "basic_ostream", &["char_traits"]),
    (b'd', "basic_iostream", &["char_traits"]),
];

impl Parser<'_> {
    /// `<type>`.
    pub(super) fn parse_type(&mut self) -> Parsed<NodeId> {
        self.deeper(Self::type_inner)
    }

    fn type_inner(&mut self) -> Parsed<NodeId> {
        let code = self.peek();
        if let Some(name) = builtin_name(code) {
            self.at += 1;
            return Ok(self.text(name));
        }
        let id = match code {
            b'r' | b'V' | b'K' => {
                let qualifiers = self.qualifiers();
                // A function type and its qualifiers are one substitution, not two.
                let inner =
                    if self.peek() == b'F' { self.deeper(Self::function_type)? } else { self.parse_type()? };
                self.tree.add(Node::Qualified { inner, qualifiers })
            }
            b'P' => self.indirect(Indirection::Pointer)?,
            b'R' => self.indirect(Indirection::Lvalue)?,
            b'O' => self.indirect(Indirection::Rvalue)?,
            b'C' | b'G' => {
                self.at += 1;
                let inner = self.parse_type()?;
                let word = self.text(if code == b'C' { "_Complex" } else { "_Imaginary" });
                self.tree.add(Node::VendorQualified { inner, word })
            }
            b'F' => self.function_type()?,
            b'A' => self.array_type()?,
            b'M' => {
                self.at += 1;
                let class = self.parse_type()?;
                let member = self.parse_type()?;
                self.tree.add(Node::MemberPointer { class, member })
            }
            b'T' => return self.type_from_template_param(),
            b'D' => return self.d_type(),
            b'u' => {
                self.at += 1;
                let name = self.source_name()?;
                if self.peek() == b'I' {
                    let args = self.template_args()?;
                    self.tree.add(Node::Template { name, args })
                } else {
                    name
                }
            }
            b'U' if self.peek_at(1).is_ascii_digit() => {
                self.at += 1;
                let mut word = self.source_name()?;
                if self.peek() == b'I' {
                    let args = self.template_args()?;
                    word = self.tree.add(Node::Template { name: word, args });
                }
                let inner = self.parse_type()?;
                self.tree.add(Node::VendorQualified { inner, word })
            }
            b'S' if self.peek_at(1) != b't' => {
                let name = self.substitution()?;
                if self.peek() != b'I' {
                    return Ok(name);
                }
                let args = self.template_args()?;
                self.tree.add(Node::Template { name, args })
            }
            b'0'..=b'9' | b'N' | b'Z' | b'S' | b'U' | b'L' => self.class_name()?,
            _ => return Err(Invalid),
        };
        Ok(self.remember(id))
    }

    fn indirect(&mut self, kind: Indirection) -> Parsed<NodeId> {
        self.at += 1;
        let inner = self.parse_type()?;
        Ok(self.tree.add(Node::Indirect { inner, kind }))
    }

    /// Types that start with a template parameter, or with the words struct, union or enum.
    fn type_from_template_param(&mut self) -> Parsed<NodeId> {
        if matches!(self.peek_at(1), b's' | b'u' | b'e') {
            self.at += 2;
            let id = self.class_name()?;
            return Ok(self.remember(id));
        }
        let param = self.template_param()?;
        self.remember(param);
        if self.peek() != b'I' || self.in_conversion_target() {
            return Ok(param);
        }
        let args = self.template_args()?;
        let id = self.tree.add(Node::Template { name: param, args });
        Ok(self.remember(id))
    }

    /// In `cvT_IiE` the arguments belong to the operator unless a second list follows.
    fn in_conversion_target(&mut self) -> bool {
        if !self.in_conversion {
            return false;
        }
        let (at, substitutions) = (self.at, self.substitutions.len());
        let list = self.template_args();
        let second = list.is_ok() && self.peek() == b'I';
        self.at = at;
        self.substitutions.truncate(substitutions);
        !second
    }

    /// Types whose code is `D` and a letter.
    fn d_type(&mut self) -> Parsed<NodeId> {
        let code = self.peek_at(1);
        let id = match code {
            b't' | b'T' => self.decltype()?,
            b'p' => {
                self.at += 2;
                let pattern = self.parse_type()?;
                self.tree.add(Node::Expansion(pattern))
            }
            b'v' => self.vector_type()?,
            b'o' | b'O' | b'w' | b'x' => self.function_type()?,
            b'F' => {
                self.at += 2;
                let bits = self.decimal()?;
                let suffix = if self.eat(b"x") {
                    "x"
                } else if self.eat(b"b") {
                    let name = self.tree.add(Node::Text(format!("std::bfloat{bits}_t").into()));
                    return Ok(name);
                } else {
                    self.expect(b"_")?;
                    ""
                };
                return Ok(self.tree.add(Node::Text(format!("_Float{bits}{suffix}").into())));
            }
            b'B' | b'U' => {
                self.at += 2;
                let bits = if self.peek().is_ascii_digit() {
                    let bits = self.decimal()?;
                    self.tree.add(Node::Text(bits.to_string().into()))
                } else {
                    self.expression()?
                };
                self.expect(b"_")?;
                let prefix = if code == b'B' { "_BitInt(" } else { "unsigned _BitInt(" };
                return Ok(self.sequence_around(prefix, bits, ")"));
            }
            // A constrained `auto`: the constraint says more than a kernel's name needs, but it is what was written.
            b'k' | b'K' => {
                self.at += 2;
                let constraint = self.class_name()?;
                let suffix = if code == b'k' { " auto" } else { " decltype(auto)" };
                return Ok(self.sequence_around("", constraint, suffix));
            }
            _ => {
                let name = extended_builtin_name(code).ok_or(Invalid)?;
                self.at += 2;
                return Ok(self.text(name));
            }
        };
        Ok(self.remember(id))
    }

    /// `Dt expression E` and `DT expression E`.
    pub(super) fn decltype(&mut self) -> Parsed<NodeId> {
        self.at += 2;
        let expression = self.expression()?;
        self.expect(b"E")?;
        Ok(self.sequence_around("decltype(", expression, ")"))
    }

    fn vector_type(&mut self) -> Parsed<NodeId> {
        self.at += 2;
        let dimension = if self.eat(b"_") {
            let dimension = self.expression()?;
            self.expect(b"_")?;
            dimension
        } else {
            let size = self.decimal()?;
            self.expect(b"_")?;
            self.tree.add(Node::Text(size.to_string().into()))
        };
        // AltiVec's `pixel` and `bool` vectors have letters here that are no types; CUDA code has none of them.
        let element = self.parse_type()?;
        let word = self.sequence_around("__vector(", dimension, ")");
        Ok(self.tree.add(Node::VendorQualified { inner: element, word }))
    }

    fn function_type(&mut self) -> Parsed<NodeId> {
        let exception = if self.eat(b"Do") {
            Some(self.text("noexcept"))
        } else if self.eat(b"DO") {
            let condition = self.expression()?;
            self.expect(b"E")?;
            Some(self.sequence_around("noexcept(", condition, ")"))
        } else if self.eat(b"Dw") {
            let mut types = Vec::new();
            while !self.eat(b"E") {
                types.push(self.parse_type()?);
            }
            Some(self.sequence_list("throw(", types, ")"))
        } else {
            None
        };
        self.eat(b"Dx");
        self.expect(b"F")?;
        self.eat(b"Y");
        let result = Some(self.parse_type()?);
        let params = if self.eat(b"v") { Vec::new() } else { self.parameter_types()? };
        let reference = if self.looking_at(b"RE") {
            RefQualifier::Lvalue
        } else if self.looking_at(b"OE") {
            RefQualifier::Rvalue
        } else {
            RefQualifier::None
        };
        self.at += usize::from(reference != RefQualifier::None);
        self.expect(b"E")?;
        Ok(self.tree.add(Node::Function(Box::new(FunctionType { result, params, reference, exception }))))
    }

    fn array_type(&mut self) -> Parsed<NodeId> {
        self.expect(b"A")?;
        let dimension = if self.peek().is_ascii_digit() {
            let size = self.decimal()?;
            Some(self.tree.add(Node::Text(size.to_string().into())))
        } else if self.peek() == b'_' {
            None
        } else {
            Some(self.expression()?)
        };
        self.expect(b"_")?;
        let element = self.parse_type()?;
        Ok(self.tree.add(Node::Array { element, dimension }))
    }

    /// `<template-param>`; what it stands for depends on where it is printed, so the printer looks it up.
    pub(super) fn template_param(&mut self) -> Parsed<NodeId> {
        self.expect(b"T")?;
        // An outer level number occurs only inside lambdas, whose parameters print as `auto`.
        if self.eat(b"L") {
            self.counter()?;
        }
        let number = self.counter()?;
        Ok(self.tree.add(Node::Param(number)))
    }

    /// `<template-args>`.
    pub(super) fn template_args(&mut self) -> Parsed<Vec<NodeId>> {
        self.expect(b"I")?;
        self.deeper(|p| {
            let mut args = Vec::new();
            while !p.eat(b"E") {
                if p.eat(b"Q") {
                    p.expression()?;
                    p.expect(b"E")?;
                    break;
                }
                args.push(p.template_arg()?);
            }
            Ok(args)
        })
    }

    pub(super) fn template_arg(&mut self) -> Parsed<NodeId> {
        match self.peek() {
            b'L' => self.deeper(Self::literal),
            b'X' => {
                self.at += 1;
                let expression = self.expression()?;
                self.expect(b"E")?;
                Ok(expression)
            }
            b'J' => {
                self.at += 1;
                self.deeper(|p| {
                    let mut elements = Vec::new();
                    while !p.eat(b"E") {
                        elements.push(p.template_arg()?);
                    }
                    Ok(p.tree.add(Node::ArgumentPack(elements)))
                })
            }
            // The kind of a template template parameter precedes the argument in the newest manglings.
            b'T' if matches!(self.peek_at(1), b'y' | b'n' | b't' | b'p' | b'k') => {
                self.template_param_decl()?;
                self.template_arg()
            }
            _ => self.parse_type(),
        }
    }

    /// Reads the base 36 number of a substitution: `_` is 0, `0_` is 1.
    pub(super) fn seq_id(&mut self) -> Parsed<usize> {
        if self.eat(b"_") {
            return Ok(0);
        }
        let mut value = 0usize;
        let start = self.at;
        loop {
            let digit = match self.peek() {
                c @ b'0'..=b'9' => c - b'0',
                c @ b'A'..=b'Z' => c - b'A' + 10,
                _ => break,
            };
            value = value.saturating_mul(36).saturating_add(usize::from(digit));
            self.at += 1;
        }
        if self.at == start {
            return Err(Invalid);
        }
        self.expect(b"_")?;
        Ok(value.saturating_add(1))
    }

    /// `<substitution>`: something seen before, or an abbreviated standard class. `St` is the caller's business.
    pub(super) fn substitution(&mut self) -> Parsed<NodeId> {
        self.expect(b"S")?;
        if matches!(self.peek(), b'_' | b'0'..=b'9' | b'A'..=b'Z') {
            let index = self.seq_id()?;
            return self.substitutions.get(index).copied().ok_or(Invalid);
        }
        let code = self.peek();
        let &(_, class, args) = STANDARD_CLASSES.iter().find(|(known, ..)| *known == code).ok_or(Invalid)?;
        self.at += 1;
        let scope = self.text("std");
        let name = self.text(class);
        let class = self.tree.add(Node::Nested { scope, name });
        let class = if args.is_empty() { class } else { self.over_char(class, args) };
        if self.peek() == b'B' {
            let tagged = self.abi_tags(class)?;
            return Ok(self.remember(tagged));
        }
        Ok(class)
    }

    /// Builds `class<char, std::arg<char>...>`.
    fn over_char(&mut self, class: NodeId, args: &[&'static str]) -> NodeId {
        let character = self.text("char");
        let mut list = vec![character];
        for arg in args {
            let scope = self.text("std");
            let name = self.text(arg);
            let name = self.tree.add(Node::Nested { scope, name });
            list.push(self.tree.add(Node::Template { name, args: vec![character] }));
        }
        self.tree.add(Node::Template { name: class, args: list })
    }
}
