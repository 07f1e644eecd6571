//! Mangled names to syntax trees: encodings and names (Itanium C++ ABI, section 5.1).
//!
//! Types are in `types.rs`, expressions in `expressions.rs`; all three extend the same [`Parser`].

use super::node::{EncodingNode, Node, NodeId, Piece, Qualifiers, RefQualifier, Tree};
use super::operators::OPERATORS;
use crate::demangle::readable;
use std::borrow::Cow;

/// Nested constructs before the parser gives up.
///
/// Real names stay below 60. One level costs several stack frames, and the limit must hold on the 2 MiB stack of
/// a worker thread in an unoptimised build.
const MAX_DEPTH: u32 = 200;

/// Rules tried before the parser gives up.
///
/// Two rules look ahead by parsing twice, which nested input can make exponential. A valid name needs less than
/// one rule per byte, so this leaves a factor of eight for the longest accepted name.
const MAX_STEPS: u32 = 512 * 1024;

/// The name is not a valid mangled name, or is too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Invalid;

/// The result of one grammar rule.
pub(super) type Parsed<T> = Result<T, Invalid>;

/// What the innermost name being parsed has said about the function it names.
#[derive(Clone, Copy, Default)]
struct NameState {
    /// Constructors, destructors and conversions have no return type in the mangling, even as templates.
    no_result: bool,
    ends_with_template: bool,
    qualifiers: Qualifiers,
    reference: RefQualifier,
}

/// A recursive descent parser over one mangled name.
pub(super) struct Parser<'a> {
    pub(super) input: &'a [u8],
    pub(super) at: usize,
    pub(super) tree: Tree<'a>,
    pub(super) substitutions: Vec<NodeId>,
    /// Set inside the target of a conversion operator, where template arguments may be the operator's own.
    pub(super) in_conversion: bool,
    depth: u32,
    steps: u32,
}

impl<'a> Parser<'a> {
    /// Starts at the first byte after `_Z`.
    pub(super) fn new(input: &'a [u8]) -> Self {
        Parser {
            input,
            at: 0,
            tree: Tree::new(),
            substitutions: Vec::new(),
            in_conversion: false,
            depth: 0,
            steps: 0,
        }
    }

    pub(super) fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    /// Returns the byte `ahead` places on, or 0 (which no mangled name contains) past the end.
    pub(super) fn peek_at(&self, ahead: usize) -> u8 {
        self.input.get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(super) fn looking_at(&self, text: &[u8]) -> bool {
        self.input[self.at..].starts_with(text)
    }

    pub(super) fn eat(&mut self, text: &[u8]) -> bool {
        let found = self.looking_at(text);
        if found {
            self.at += text.len();
        }
        found
    }

    pub(super) fn expect(&mut self, text: &[u8]) -> Parsed<()> {
        if self.eat(text) { Ok(()) } else { Err(Invalid) }
    }

    pub(super) fn at_end(&self) -> bool {
        self.at >= self.input.len()
    }

    /// Runs one rule a level deeper, so that no input can exhaust the stack.
    pub(super) fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.steps += 1;
        if self.depth >= MAX_DEPTH || self.steps > MAX_STEPS {
            return Err(Invalid);
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    pub(super) fn text(&mut self, text: &'static str) -> NodeId {
        self.tree.add(Node::Text(Cow::Borrowed(text)))
    }

    pub(super) fn remember(&mut self, id: NodeId) -> NodeId {
        self.substitutions.push(id);
        id
    }

    /// Reads a run of decimal digits; there must be at least one.
    pub(super) fn decimal(&mut self) -> Parsed<usize> {
        let start = self.at;
        let mut value = 0usize;
        while self.peek().is_ascii_digit() {
            value = value.saturating_mul(10).saturating_add(usize::from(self.peek() - b'0'));
            self.at += 1;
        }
        if self.at == start { Err(Invalid) } else { Ok(value) }
    }

    /// Reads `_` as 0 and `n_` as n + 1, the ABI's way to count things of which most names have one.
    pub(super) fn counter(&mut self) -> Parsed<usize> {
        let value = if self.peek().is_ascii_digit() { self.decimal()?.saturating_add(1) } else { 0 };
        self.expect(b"_")?;
        Ok(value)
    }

    /// Reads a whole mangled name, `_Z` already consumed, with any `.suffix` that a compiler pass appended.
    pub(super) fn mangled_name(&mut self) -> Parsed<NodeId> {
        let name = self.encoding()?;
        if self.at_end() {
            return Ok(name);
        }
        if self.peek() != b'.' {
            return Err(Invalid);
        }
        let suffix = readable(&self.input[self.at..]).into_owned();
        self.at = self.input.len();
        let suffix = self.tree.add(Node::Text(format!(" [clone {suffix}]").into()));
        Ok(self.tree.add(Node::Sequence(vec![Piece::Node(name), Piece::Node(suffix)])))
    }

    /// `<encoding>`: a function with its parameters, an object, or a special name.
    pub(super) fn encoding(&mut self) -> Parsed<NodeId> {
        self.deeper(|p| {
            let conversion = std::mem::replace(&mut p.in_conversion, false);
            let result = p.encoding_inner();
            p.in_conversion = conversion;
            result
        })
    }

    fn encoding_inner(&mut self) -> Parsed<NodeId> {
        if matches!(self.peek(), b'T' | b'G') {
            return self.special_name();
        }
        let mut state = NameState::default();
        let name = self.name(Some(&mut state))?;
        if self.at_end() || matches!(self.peek(), b'E' | b'.') {
            return Ok(name);
        }
        let result = if state.ends_with_template && !state.no_result { Some(self.parse_type()?) } else { None };
        let params = self.parameter_types()?;
        let requires = if self.eat(b"Q") { Some(self.expression()?) } else { None };
        Ok(self.tree.add(Node::Encoding(Box::new(EncodingNode {
            name,
            result,
            params,
            qualifiers: state.qualifiers,
            reference: state.reference,
            requires,
        }))))
    }

    /// `<bare-function-type>` without the result: one or more types, where a lone `v` means none.
    pub(super) fn parameter_types(&mut self) -> Parsed<Vec<NodeId>> {
        if self.peek() == b'v' && matches!(self.peek_at(1), 0 | b'E' | b'.' | b'Q') {
            self.at += 1;
            return Ok(Vec::new());
        }
        let mut params = Vec::new();
        loop {
            params.push(self.parse_type()?);
            // `RE` and `OE` end a function type; a reference parameter has its type after the letter instead.
            let ends = self.looking_at(b"RE") || self.looking_at(b"OE");
            if ends || self.at_end() || matches!(self.peek(), b'E' | b'.' | b'Q') {
                return Ok(params);
            }
        }
    }

    /// `<name>`. `state` collects what the function type needs and is given only for the name of an encoding.
    fn name(&mut self, mut state: Option<&mut NameState>) -> Parsed<NodeId> {
        match self.peek() {
            b'N' => return self.nested_name(state),
            b'Z' => return self.local_name(state),
            _ => {}
        }
        let name = if self.peek() == b'S' && self.peek_at(1) != b't' {
            let name = self.substitution()?;
            if self.peek() != b'I' {
                return Err(Invalid);
            }
            name
        } else {
            let scope = if self.eat(b"St") { Some(self.text("std")) } else { None };
            let name = self.unqualified_name(scope, state.as_deref_mut())?;
            if self.peek() == b'I' {
                self.remember(name);
            }
            name
        };
        if self.peek() != b'I' {
            return Ok(name);
        }
        let args = self.template_args()?;
        if let Some(state) = state {
            state.ends_with_template = true;
        }
        Ok(self.tree.add(Node::Template { name, args }))
    }

    /// A name other than that of the function whose signature follows.
    pub(super) fn class_name(&mut self) -> Parsed<NodeId> {
        self.name(None)
    }

    pub(super) fn qualifiers(&mut self) -> Qualifiers {
        let restrict = self.eat(b"r");
        let volatile = self.eat(b"V");
        let constant = self.eat(b"K");
        Qualifiers { constant, volatile, restrict }
    }

    fn ref_qualifier(&mut self) -> RefQualifier {
        if self.eat(b"R") {
            RefQualifier::Lvalue
        } else if self.eat(b"O") {
            RefQualifier::Rvalue
        } else {
            RefQualifier::None
        }
    }

    fn nested_name(&mut self, mut state: Option<&mut NameState>) -> Parsed<NodeId> {
        self.expect(b"N")?;
        // `H` marks a member function with an explicit object parameter; its signature says the rest.
        self.eat(b"H");
        let qualifiers = self.qualifiers();
        let reference = self.ref_qualifier();
        if let Some(state) = state.as_deref_mut() {
            state.qualifiers = qualifiers;
            state.reference = reference;
        }
        let mut current: Option<NodeId> = None;
        loop {
            let first = current.is_none();
            if self.eat(b"E") {
                return current.ok_or(Invalid);
            }
            // Only the last part decides about the result type.
            let ended_with_name = !matches!(self.peek(), b'I');
            if let (Some(state), true) = (state.as_deref_mut(), ended_with_name) {
                state.ends_with_template = false;
                state.no_result = false;
            }
            let mut substitutable = true;
            let part = match self.peek() {
                b'S' if first && self.peek_at(1) == b't' => {
                    self.at += 2;
                    substitutable = false;
                    self.text("std")
                }
                b'S' if first => {
                    substitutable = false;
                    self.substitution()?
                }
                b'T' if first => self.template_param()?,
                b'D' if first && matches!(self.peek_at(1), b't' | b'T') => self.decltype()?,
                b'I' => {
                    let name = current.ok_or(Invalid)?;
                    let args = self.template_args()?;
                    if let Some(state) = state.as_deref_mut() {
                        state.ends_with_template = true;
                    }
                    self.tree.add(Node::Template { name, args })
                }
                // A closure in a data member's initialiser: the member is already the scope.
                b'M' if !first => {
                    self.at += 1;
                    continue;
                }
                _ => self.unqualified_name(current, state.as_deref_mut())?,
            };
            if substitutable && self.peek() != b'E' {
                self.remember(part);
            }
            current = Some(part);
        }
    }

    fn local_name(&mut self, state: Option<&mut NameState>) -> Parsed<NodeId> {
        self.expect(b"Z")?;
        let function = self.encoding()?;
        self.expect(b"E")?;
        let entity = if self.eat(b"s") {
            self.text("string literal")
        } else if self.eat(b"d") {
            // A default argument's scope, counted from the last parameter.
            let number = self.counter()? + 1;
            let scope = self.tree.add(Node::Text(format!("{{default arg#{number}}}").into()));
            let name = self.deeper(|p| p.name(state))?;
            let entity = self.tree.add(Node::Nested { scope, name });
            return Ok(self.tree.add(Node::Local { function, entity }));
        } else {
            self.deeper(|p| p.name(state))?
        };
        self.discriminator();
        Ok(self.tree.add(Node::Local { function, entity }))
    }

    /// Skips the number that tells equal local names apart; nothing is printed for it.
    fn discriminator(&mut self) {
        let start = self.at;
        let valid = if self.eat(b"__") {
            self.decimal().is_ok() && self.eat(b"_")
        } else {
            self.eat(b"_") && self.peek().is_ascii_digit() && {
                self.at += 1;
                true
            }
        };
        if !valid {
            self.at = start;
        }
    }

    /// `<unqualified-name>` with its ABI tags, qualified by `scope`.
    fn unqualified_name(&mut self, scope: Option<NodeId>, state: Option<&mut NameState>) -> Parsed<NodeId> {
        // `L`: internal linkage, `F`: a friend declared inside a class; neither shows in the source name.
        while matches!(self.peek(), b'L' | b'F') {
            self.at += 1;
        }
        let mut name = match self.peek() {
            b'0'..=b'9' => self.source_name()?,
            b'U' => self.unnamed_type()?,
            b'C' => {
                let class = scope.ok_or(Invalid)?;
                self.constructor(class, state)?
            }
            b'D' if self.peek_at(1) == b'C' => {
                self.at += 2;
                let mut names = Vec::new();
                while !self.eat(b"E") {
                    names.push(self.source_name()?);
                }
                self.tree.add(Node::Binding(names))
            }
            b'D' => {
                let class = scope.ok_or(Invalid)?;
                if !matches!(self.peek_at(1), b'0'..=b'5') {
                    return Err(Invalid);
                }
                self.at += 2;
                if let Some(state) = state {
                    state.no_result = true;
                }
                self.tree.add(Node::Structor { class, destructor: true })
            }
            b'a'..=b'z' => self.operator_name(state)?,
            _ => return Err(Invalid),
        };
        name = self.abi_tags(name)?;
        Ok(match scope {
            Some(scope) => self.tree.add(Node::Nested { scope, name }),
            None => name,
        })
    }

    pub(super) fn abi_tags(&mut self, mut name: NodeId) -> Parsed<NodeId> {
        while self.eat(b"B") {
            let tag = self.identifier()?;
            name = self.tree.add(Node::AbiTag { name, tag });
        }
        Ok(name)
    }

    fn constructor(&mut self, class: NodeId, state: Option<&mut NameState>) -> Parsed<NodeId> {
        self.expect(b"C")?;
        let inheriting = self.eat(b"I");
        if !matches!(self.peek(), b'1'..=b'5') {
            return Err(Invalid);
        }
        self.at += 1;
        if let Some(state) = state {
            state.no_result = true;
        }
        // An inheriting constructor is named after the base class it comes from.
        let class = if inheriting { self.parse_type()? } else { class };
        Ok(self.tree.add(Node::Structor { class, destructor: false }))
    }

    fn identifier(&mut self) -> Parsed<Cow<'a, str>> {
        let length = self.decimal()?;
        let end = self.at.checked_add(length).filter(|&end| end <= self.input.len()).ok_or(Invalid)?;
        if length == 0 {
            return Err(Invalid);
        }
        let input: &'a [u8] = self.input;
        let text = readable(&input[self.at..end]);
        self.at = end;
        Ok(text)
    }

    pub(super) fn source_name(&mut self) -> Parsed<NodeId> {
        let text = self.identifier()?;
        // GCC writes `_GLOBAL__N_1`, nvcc adds a hash and the file name after `_GLOBAL__N__`.
        let text = if is_anonymous_namespace(&text) { Cow::Borrowed("(anonymous namespace)") } else { text };
        Ok(self.tree.add(Node::Text(text)))
    }

    /// `<unnamed-type-name>`: unnamed classes and lambdas.
    fn unnamed_type(&mut self) -> Parsed<NodeId> {
        if self.eat(b"Ut") {
            let number = self.counter()? + 1;
            return Ok(self.tree.add(Node::Text(format!("{{unnamed type#{number}}}").into())));
        }
        if self.eat(b"Ub") {
            let number = self.counter()? + 1;
            return Ok(self.tree.add(Node::Text(format!("{{block literal#{number}}}").into())));
        }
        self.expect(b"Ul")?;
        let params = self.lambda_signature()?;
        self.expect(b"E")?;
        let number = self.counter()? as u64 + 1;
        Ok(self.tree.add(Node::Lambda { params, number }))
    }

    fn lambda_signature(&mut self) -> Parsed<Vec<NodeId>> {
        while self.peek() == b'T' && matches!(self.peek_at(1), b'y' | b'n' | b't' | b'p' | b'k') {
            self.template_param_decl()?;
        }
        if self.eat(b"Q") {
            self.expression()?;
        }
        let params = self.parameter_types()?;
        if self.eat(b"Q") {
            self.expression()?;
        }
        Ok(params)
    }

    /// `<template-param-decl>` of a lambda with an explicit template head; the head itself is not printed.
    pub(super) fn template_param_decl(&mut self) -> Parsed<()> {
        self.deeper(|p| {
            p.expect(b"T")?;
            let kind = p.peek();
            p.at += 1;
            match kind {
                b'y' => Ok(()),
                b'n' => p.parse_type().map(|_| ()),
                b'p' => p.template_param_decl(),
                b'k' => p.class_name().map(|_| ()),
                b't' => {
                    while !p.eat(b"E") {
                        p.template_param_decl()?;
                    }
                    Ok(())
                }
                _ => Err(Invalid),
            }
        })
    }

    pub(super) fn operator_spelling(&self) -> Option<(&'static str, u8)> {
        let code = [self.peek(), self.peek_at(1)];
        OPERATORS.iter().find(|(known, _, _)| **known == code).map(|&(_, text, arity)| (text, arity))
    }

    fn operator_name(&mut self, state: Option<&mut NameState>) -> Parsed<NodeId> {
        if self.eat(b"cv") {
            if let Some(state) = state {
                state.no_result = true;
                let outer = std::mem::replace(&mut self.in_conversion, true);
                let target = self.parse_type();
                self.in_conversion = outer;
                return Ok(self.tree.add(Node::Conversion(target?)));
            }
            let target = self.parse_type()?;
            return Ok(self.tree.add(Node::Conversion(target)));
        }
        if self.eat(b"li") {
            let suffix = self.identifier()?;
            return Ok(self.tree.add(Node::Text(format!("operator\"\" {suffix}").into())));
        }
        if self.peek() == b'v' && self.peek_at(1).is_ascii_digit() {
            self.at += 2;
            let name = self.identifier()?;
            return Ok(self.tree.add(Node::Text(format!("operator {name}").into())));
        }
        let (spelling, _) = self.operator_spelling().ok_or(Invalid)?;
        self.at += 2;
        let space = if spelling.starts_with(|c: char| c.is_ascii_alphabetic()) { " " } else { "" };
        Ok(self.tree.add(Node::Text(format!("operator{space}{}", spelling.trim_end()).into())))
    }
}

/// Says whether an identifier is a compiler's name for an anonymous namespace.
pub(super) fn is_anonymous_namespace(name: &str) -> bool {
    // The byte before the `N` is whatever the target allows in symbols: `_`, `.` or `$`.
    name.strip_prefix("_GLOBAL_").and_then(|rest| rest.get(1..)).is_some_and(|rest| rest.starts_with('N'))
}
