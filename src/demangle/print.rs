//! Syntax trees to text, in nvprof's notation.
//!
//! The notation, as read off nvprof's own output where that is right: `const` behind the type with a space on
//! both sides (`float const *`, `Tensor<float const , int>`), no space before `*` and `&` otherwise, `(void)` for no
//! parameters, `(*) (int)` for function pointers, `int=4` and `bool=1` for constants, `>>` without a space.

use std::cell::Cell;

use super::node::{EncodingNode, FunctionType, Indirection, Node, NodeId, Piece, Qualifiers, RefQualifier, Tree};
use super::scope::{Expansion, Frame, ScopedNode};

/// Bytes of output before the printer gives up: substitutions can double the text with every few bytes of input.
const MAX_OUTPUT: usize = 1 << 20;

/// Nodes visited before the printer gives up; stops doublings that print nothing, such as nested empty packs.
const MAX_VISITS: u32 = 1 << 20;

/// Nested nodes before the printer gives up: substitutions let a tree be deeper than its name was to parse.
pub(super) const MAX_DEPTH: u32 = 256;

/// Bytes that the text of most kernels has fewer of.
const USUAL_LENGTH: usize = 128;

/// The text would be too long or too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

pub(super) type Printed = Result<(), TooLarge>;

pub(super) struct Printer<'a> {
    pub(super) tree: &'a Tree<'a>,
    out: String,
    pub(super) frames: Vec<Frame<'a>>,
    pub(super) frame: Option<usize>,
    pub(super) expansion: Option<Expansion>,
    /// Set in the parameter list of a lambda, whose template parameters are its `auto`s.
    pub(super) in_lambda: bool,
    depth: u32,
    visits: u32,
}

/// Prints the tree below `root`.
pub(super) fn print(tree: &Tree, root: NodeId) -> Result<String, TooLarge> {
    let mut printer = Printer {
        tree,
        out: String::with_capacity(USUAL_LENGTH),
        frames: Vec::new(),
        frame: None,
        expansion: None,
        in_lambda: false,
        depth: 0,
        visits: 0,
    };
    printer.node(root)?;
    printer.out.truncate(printer.out.trim_end_matches(' ').len());
    Ok(printer.out)
}

impl<'a> Printer<'a> {
    fn push(&mut self, text: &str) -> Printed {
        if self.out.len() + text.len() > MAX_OUTPUT {
            return Err(TooLarge);
        }
        self.out.push_str(text);
        Ok(())
    }

    /// Adds a space unless one is there, since a trailing `const` brings its own, or a declarator has just begun.
    fn space(&mut self) -> Printed {
        let begun = self.out.trim_end_matches(['*', '&']).ends_with('(');
        if begun || self.out.is_empty() || self.out.ends_with([' ', '<']) { Ok(()) } else { self.push(" ") }
    }

    fn deeper(&mut self, print: impl FnOnce(&mut Self) -> Printed) -> Printed {
        self.visits += 1;
        if self.depth >= MAX_DEPTH || self.visits > MAX_VISITS {
            return Err(TooLarge);
        }
        self.depth += 1;
        let result = print(self);
        self.depth -= 1;
        result
    }

    fn node(&mut self, id: NodeId) -> Printed {
        self.left(id)?;
        self.right(id)
    }

    /// Prints what a declarator has before the declared name; all of it, for what is no declarator.
    pub(super) fn left(&mut self, id: NodeId) -> Printed {
        self.deeper(|p| p.left_inner(id))
    }

    fn left_inner(&mut self, id: NodeId) -> Printed {
        let tree = self.tree;
        match tree.get(id) {
            Node::Text(text) => self.push(text),
            Node::Nested { scope, name } => {
                self.node(*scope)?;
                self.push("::")?;
                self.node(*name)
            }
            Node::Local { function, entity } => {
                // The result type is left out: it would read as the type of the local entity.
                match tree.get(*function) {
                    Node::Encoding(encoding) => self.inside(encoding, |p| p.signature(encoding))?,
                    _ => self.node(*function)?,
                }
                self.push("::")?;
                self.node(*entity)
            }
            Node::Template { name, args } => {
                self.node(*name)?;
                // `operator<` and its arguments must not run together into `operator<<`.
                self.push(if self.out.ends_with('<') { " <" } else { "<" })?;
                self.list(args, true)?;
                self.push(">")
            }
            Node::ArgumentPack(elements) => self.list(elements, true),
            Node::Param(number) if self.in_lambda => self.push(&format!("auto:{}", number.saturating_add(1))),
            Node::Param(_) => {
                let place = self.resolve(id)?;
                // The end of an expansion over an empty pack.
                if place.id == id && place.through_param { Ok(()) } else { self.left_of(place) }
            }
            Node::Expansion(pattern) => self.expansion(*pattern),
            Node::AbiTag { name, tag } => {
                self.node(*name)?;
                self.push("[abi:")?;
                self.push(tag)?;
                self.push("]")
            }
            Node::Structor { class, destructor } => {
                if *destructor {
                    self.push("~")?;
                }
                self.last_name(*class)
            }
            Node::Conversion(target) => {
                self.push("operator ")?;
                self.node(*target)
            }
            Node::Lambda { params, number } => {
                self.push("{lambda(")?;
                let outer = std::mem::replace(&mut self.in_lambda, true);
                let printed = self.list(params, false);
                self.in_lambda = outer;
                printed?;
                self.push(&format!(")#{number}}}"))
            }
            Node::Binding(names) => {
                self.push("[")?;
                self.list(names, false)?;
                self.push("]")
            }
            Node::Qualified { inner, qualifiers } => {
                self.left(*inner)?;
                if !self.qualifies_function(*inner)? { self.qualifiers(*qualifiers) } else { Ok(()) }
            }
            Node::VendorQualified { inner, word } => {
                self.left(*inner)?;
                self.space()?;
                self.node(*word)
            }
            Node::Indirect { .. } => self.indirect_left(id),
            Node::MemberPointer { class, member } => {
                self.left(*member)?;
                self.open_declarator(self.here(*member))?;
                self.space()?;
                self.node(*class)?;
                self.push("::*")
            }
            Node::Array { element, .. } => self.left(*element),
            Node::Function(function) => match function.result {
                Some(result) => {
                    self.left(result)?;
                    self.space()
                }
                None => Ok(()),
            },
            Node::Encoding(encoding) => self.inside(encoding, |p| {
                let Some(result) = encoding.result else { return p.signature(encoding) };
                p.left(result)?;
                p.space()?;
                p.signature(encoding)?;
                p.right(result)
            }),
            Node::Special { prefix, inner } => {
                self.push(prefix)?;
                self.node(*inner)
            }
            Node::ConstructionTable { derived, base } => {
                self.push("construction vtable for ")?;
                self.node(*base)?;
                self.push("-in-")?;
                self.node(*derived)
            }
            Node::Literal { kind, value } => {
                self.node(*kind)?;
                if value.is_empty() { Ok(()) } else { self.push("=").and_then(|()| self.push(value)) }
            }
            Node::Sequence(pieces) => self.pieces(pieces),
            Node::Binary { left, operator, right } => {
                // Inside template arguments a bare `>` would read as their end.
                let guarded = operator.contains('>');
                self.push(if guarded { "(" } else { "" })?;
                self.operand(*left)?;
                self.push(operator)?;
                self.operand(*right)?;
                self.push(if guarded { ")" } else { "" })
            }
            Node::Prefix { operator, operand } => {
                self.push(operator)?;
                self.operand(*operand)
            }
            Node::PackSize(pack) => {
                let length = match tree.get(*pack) {
                    Node::Param(number) if !self.in_lambda => match tree.get(self.argument(*number)?) {
                        Node::ArgumentPack(elements) => Some(elements.len()),
                        _ => None,
                    },
                    _ => None,
                };
                match length {
                    Some(length) => self.push(&length.to_string()),
                    None => {
                        self.push("sizeof...(")?;
                        self.node(*pack)?;
                        self.push(")")
                    }
                }
            }
        }
    }

    /// Prints what a declarator has behind the declared name.
    pub(super) fn right(&mut self, id: NodeId) -> Printed {
        self.deeper(|p| p.right_inner(id))
    }

    fn right_inner(&mut self, id: NodeId) -> Printed {
        let tree = self.tree;
        match tree.get(id) {
            Node::Param(_) if !self.in_lambda => {
                let place = self.resolve(id)?;
                if place.id == id { Ok(()) } else { self.right_of(place) }
            }
            Node::Qualified { inner, qualifiers } => {
                self.right(*inner)?;
                if self.qualifies_function(*inner)? { self.member_qualifiers(*qualifiers) } else { Ok(()) }
            }
            Node::VendorQualified { inner, .. } => self.right(*inner),
            Node::Indirect { .. } => {
                let (target, _) = self.collapse(id)?;
                self.close_declarator(target)?;
                self.right_of(target)
            }
            Node::MemberPointer { member, .. } => {
                self.close_declarator(self.here(*member))?;
                self.right(*member)
            }
            Node::Array { element, dimension } => {
                self.space()?;
                self.push("[")?;
                if let Some(dimension) = dimension {
                    self.node(*dimension)?;
                }
                self.push("]")?;
                self.right(*element)
            }
            Node::Function(function) => self.function_right(function),
            _ => Ok(()),
        }
    }

    fn function_right(&mut self, function: &FunctionType) -> Printed {
        self.space()?;
        self.parameters(&function.params)?;
        self.reference(function.reference)?;
        if let Some(exception) = function.exception {
            self.push(" ")?;
            self.node(exception)?;
        }
        if let Some(result) = function.result { self.right(result) } else { Ok(()) }
    }

    fn indirect_left(&mut self, id: NodeId) -> Printed {
        let (target, kind) = self.collapse(id)?;
        self.left_of(target)?;
        self.open_declarator(target)?;
        self.push(match kind {
            Indirection::Pointer => "*",
            Indirection::Lvalue => "&",
            Indirection::Rvalue => "&&",
        })
    }

    /// Opens the parentheses that a pointer to a function or array needs.
    fn open_declarator(&mut self, target: ScopedNode) -> Printed {
        if self.needs_parentheses(target)? {
            self.space()?;
            self.push("(")?;
        }
        Ok(())
    }

    fn close_declarator(&mut self, target: ScopedNode) -> Printed {
        if self.needs_parentheses(target)? { self.push(")") } else { Ok(()) }
    }

    fn needs_parentheses(&self, target: ScopedNode) -> Result<bool, TooLarge> {
        let target = self.resolve_from(target)?;
        Ok(match self.tree.get(target.id) {
            Node::Function(_) | Node::Array { .. } => true,
            Node::Qualified { inner, .. } => {
                let inner = self.resolve_from(ScopedNode { id: *inner, ..target })?;
                matches!(self.tree.get(inner.id), Node::Function(_) | Node::Array { .. })
            }
            _ => false,
        })
    }

    fn qualifies_function(&self, inner: NodeId) -> Result<bool, TooLarge> {
        Ok(matches!(self.tree.get(self.resolve(inner)?.id), Node::Function(_)))
    }

    /// Prints the qualifiers of a type, with a space on both sides.
    fn qualifiers(&mut self, qualifiers: Qualifiers) -> Printed {
        for word in qualifiers.words() {
            self.space()?;
            self.push(word)?;
            self.push(" ")?;
        }
        Ok(())
    }

    /// Prints the qualifiers of a member function, behind its parameters.
    fn member_qualifiers(&mut self, qualifiers: Qualifiers) -> Printed {
        for word in qualifiers.words() {
            self.push(" ")?;
            self.push(word)?;
        }
        Ok(())
    }

    fn reference(&mut self, reference: RefQualifier) -> Printed {
        match reference {
            RefQualifier::None => Ok(()),
            RefQualifier::Lvalue => self.push(" &"),
            RefQualifier::Rvalue => self.push(" &&"),
        }
    }

    /// A function without its result: name, parameters and what follows them.
    fn signature(&mut self, encoding: &EncodingNode) -> Printed {
        self.node(encoding.name)?;
        self.parameters(&encoding.params)?;
        self.member_qualifiers(encoding.qualifiers)?;
        self.reference(encoding.reference)?;
        if let Some(requires) = encoding.requires {
            self.push(" requires ")?;
            self.node(requires)?;
        }
        Ok(())
    }

    fn parameters(&mut self, params: &[NodeId]) -> Printed {
        self.push("(")?;
        let start = self.out.len();
        self.list(params, false)?;
        // Expanding an empty pack can leave nothing even where parameters were mangled.
        if self.out.len() == start {
            self.push("void")?;
        }
        self.push(")")
    }

    /// Prints nodes between commas. Elements that print nothing (empty packs) leave no comma behind.
    fn list(&mut self, list: &[NodeId], all_of_packs: bool) -> Printed {
        let start = self.out.len();
        for &id in list {
            let before = self.out.len();
            if before > start {
                self.push(", ")?;
            }
            let content = self.out.len();
            match self.tree.get(id) {
                Node::ArgumentPack(elements) if all_of_packs => self.deeper(|p| p.list(elements, true))?,
                _ => self.node(id)?,
            }
            if self.out.len() == content {
                self.out.truncate(before);
            }
        }
        Ok(())
    }

    fn pieces(&mut self, pieces: &[Piece]) -> Printed {
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.push(text)?,
                Piece::Node(id) => self.node(*id)?,
                Piece::Operand(id) => self.operand(*id)?,
                Piece::List(list) => self.list(list, false)?,
            }
        }
        Ok(())
    }

    /// Prints an operand in parentheses, unless it is a name.
    fn operand(&mut self, id: NodeId) -> Printed {
        let plain = match self.tree.get(self.resolve(id)?.id) {
            // Has parentheses of its own.
            Node::Binary { operator, .. } if operator.contains('>') => true,
            Node::Text(_) | Node::Nested { .. } | Node::Template { .. } => true,
            // A plain member is named without its parameters: `&Class::member` is how C++ spells it.
            Node::Encoding(encoding) if encoding.result.is_none() => {
                return self.inside(encoding, |p| p.node(encoding.name));
            }
            _ => false,
        };
        if plain {
            return self.node(id);
        }
        self.push("(")?;
        self.node(id)?;
        self.push(")")
    }

    /// Prints a pattern once for each element of the packs in it.
    fn expansion(&mut self, pattern: NodeId) -> Printed {
        let outer = self.expansion.replace(Expansion { index: 0, length: Cell::new(None) });
        let start = self.out.len();
        self.node(pattern)?;
        match self.expansion.as_ref().and_then(|e| e.length.get()) {
            // No pack inside: the expansion belongs to something that is not resolved here.
            None => self.push("...")?,
            Some(0) => self.out.truncate(start),
            Some(length) => {
                for index in 1..length {
                    let before = self.out.len();
                    self.push(", ")?;
                    self.expansion = Some(Expansion { index, length: Cell::new(Some(length)) });
                    let content = self.out.len();
                    self.node(pattern)?;
                    if self.out.len() == content {
                        self.out.truncate(before);
                    }
                }
            }
        }
        self.expansion = outer;
        Ok(())
    }

    /// Prints the name a constructor takes from its class: the last part, without template arguments.
    fn last_name(&mut self, class: NodeId) -> Printed {
        let mut id = class;
        for _ in 0..MAX_DEPTH {
            id = match self.tree.get(id) {
                Node::Nested { name, .. } | Node::AbiTag { name, .. } | Node::Template { name, .. } => *name,
                Node::Local { entity, .. } => *entity,
                _ => return self.node(id),
            };
        }
        Err(TooLarge)
    }
}
