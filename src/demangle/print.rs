//! Syntax trees to text, in nvprof's notation.
//!
//! The notation, as read off nvprof's own output where that is right: `const` behind the type with a space on
//! both sides (`float const *`, `Tensor<float const , int>`), no space before `*` and `&` otherwise, `(void)` for no
//! parameters, `(*) (int)` for function pointers, `int=4` and `bool=1` for constants, `>>` without a space.

use std::cell::Cell;

use super::node::{EncodingNode, FunctionType, Indirection, Node, NodeId, Piece, Qualifiers, RefQualifier, Tree};

/// Bytes of output before the printer gives up: substitutions can double the text with every few bytes of input.
const MAX_OUTPUT: usize = 1 << 20;

/// Nodes visited before the printer gives up; stops doublings that print nothing, such as nested empty packs.
const MAX_VISITS: u32 = 1 << 20;

/// Nested nodes before the printer gives up: substitutions let a tree be deeper than its name was to parse.
const MAX_DEPTH: u32 = 256;

/// The text would be too long or too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

type Printed = Result<(), TooLarge>;

/// Where an expansion stands.
struct Expansion {
    index: usize,
    /// Length of the first pack met inside the pattern; a cell, since looking at a pack is what finds it.
    length: Cell<Option<usize>>,
}

/// The template arguments that parameters refer to.
#[derive(Clone, Copy)]
struct Frame<'a> {
    args: &'a [NodeId],
    /// The frame in which the arguments themselves are to be read.
    parent: Option<usize>,
}

/// A node and the frame to read it in.
#[derive(Clone, Copy)]
struct Place {
    id: NodeId,
    frame: Option<usize>,
    /// The way here led through a parameter, so an expansion around that does not reach in here.
    through_param: bool,
}

struct Printer<'a> {
    tree: &'a Tree,
    out: String,
    frames: Vec<Frame<'a>>,
    frame: Option<usize>,
    expansion: Option<Expansion>,
    /// Set in the parameter list of a lambda, whose template parameters are its `auto`s.
    in_lambda: bool,
    depth: u32,
    visits: u32,
}

/// Prints the tree below `root`.
pub(super) fn print(tree: &Tree, root: NodeId) -> Result<String, TooLarge> {
    let mut printer = Printer {
        tree,
        out: String::new(),
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

    /// Adds a space unless one is there, since a trailing `const` brings its own.
    fn space(&mut self) -> Printed {
        if self.out.is_empty() || self.out.ends_with([' ', '(', '<']) { Ok(()) } else { self.push(" ") }
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
    fn left(&mut self, id: NodeId) -> Printed {
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
    fn right(&mut self, id: NodeId) -> Printed {
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
                if self.qualifies_function(*inner)? { self.qualifiers(*qualifiers) } else { Ok(()) }
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

    /// Follows a reference to a reference: the result is an rvalue reference only if all of them are.
    fn collapse(&self, id: NodeId) -> Result<(Place, Indirection), TooLarge> {
        let mut place = self.here(id);
        let mut kind = Indirection::Rvalue;
        for _ in 0..MAX_DEPTH {
            let resolved = self.resolve_from(place)?;
            match self.tree.get(resolved.id) {
                Node::Indirect { inner, kind: Indirection::Pointer } if place.id == id => {
                    return Ok((Place { id: *inner, ..resolved }, Indirection::Pointer));
                }
                Node::Indirect { inner, kind: further } if *further != Indirection::Pointer => {
                    if *further == Indirection::Lvalue {
                        kind = Indirection::Lvalue;
                    }
                    place = Place { id: *inner, ..resolved };
                }
                _ => return Ok((place, kind)),
            }
        }
        Err(TooLarge)
    }

    /// The node at the current point of the output.
    fn here(&self, id: NodeId) -> Place {
        Place { id, frame: self.frame, through_param: false }
    }

    /// Finds the argument that a parameter stands for at the current point of the output.
    fn argument(&self, number: usize) -> Result<NodeId, TooLarge> {
        let frame = self.frame.and_then(|frame| self.frames.get(frame)).ok_or(TooLarge)?;
        frame.args.get(number).copied().ok_or(TooLarge)
    }

    /// Looks through template parameters to what they stand for.
    ///
    /// An empty pack has no element to find: the result is then the parameter itself.
    fn resolve(&self, id: NodeId) -> Result<Place, TooLarge> {
        self.resolve_from(self.here(id))
    }

    fn resolve_from(&self, mut place: Place) -> Result<Place, TooLarge> {
        for _ in 0..MAX_DEPTH {
            let Node::Param(number) = self.tree.get(place.id) else { return Ok(place) };
            if self.in_lambda {
                return Ok(place);
            }
            let frame = place.frame.and_then(|frame| self.frames.get(frame)).ok_or(TooLarge)?;
            let arg = *frame.args.get(*number).ok_or(TooLarge)?;
            let mut next = Place { id: arg, frame: frame.parent, through_param: true };
            if let (Node::ArgumentPack(elements), Some(expansion), false) =
                (self.tree.get(arg), &self.expansion, place.through_param)
            {
                if expansion.length.get().is_none() {
                    expansion.length.set(Some(elements.len()));
                }
                match elements.get(expansion.index) {
                    Some(&element) => next.id = element,
                    None => return Ok(Place { through_param: true, ..place }),
                }
            }
            place = next;
        }
        Err(TooLarge)
    }

    fn left_of(&mut self, place: Place) -> Printed {
        self.at(place, |p| p.left(place.id))
    }

    fn right_of(&mut self, place: Place) -> Printed {
        self.at(place, |p| p.right(place.id))
    }

    /// Prints in another frame.
    fn at(&mut self, place: Place, print: impl FnOnce(&mut Self) -> Printed) -> Printed {
        let frame = std::mem::replace(&mut self.frame, place.frame);
        let expansion = if place.through_param { self.expansion.take() } else { None };
        let result = print(self);
        self.frame = frame;
        if expansion.is_some() {
            self.expansion = expansion;
        }
        result
    }

    /// Prints a function, whose own template arguments its parameters refer to.
    fn inside(&mut self, encoding: &EncodingNode, print: impl FnOnce(&mut Self) -> Printed) -> Printed {
        let outer = self.frame;
        let lambda = std::mem::replace(&mut self.in_lambda, false);
        let expansion = self.expansion.take();
        let depth = self.frames.len();
        if let Some(args) = self.own_arguments(encoding.name) {
            self.frames.push(Frame { args, parent: outer });
            self.frame = Some(depth);
        }
        let result = print(self);
        self.frames.truncate(depth);
        self.frame = outer;
        self.in_lambda = lambda;
        self.expansion = expansion;
        result
    }

    /// The template arguments of a function's name, if it ends with some.
    fn own_arguments(&self, mut name: NodeId) -> Option<&'a [NodeId]> {
        loop {
            name = match self.tree.get(name) {
                Node::Local { entity, .. } => *entity,
                Node::Template { args, .. } => return Some(args),
                _ => return None,
            };
        }
    }

    /// Opens the parentheses that a pointer to a function or array needs.
    fn open_declarator(&mut self, target: Place) -> Printed {
        if self.needs_parentheses(target)? {
            self.space()?;
            self.push("(")?;
        }
        Ok(())
    }

    fn close_declarator(&mut self, target: Place) -> Printed {
        if self.needs_parentheses(target)? { self.push(")") } else { Ok(()) }
    }

    fn needs_parentheses(&self, target: Place) -> Result<bool, TooLarge> {
        let target = self.resolve_from(target)?;
        Ok(match self.tree.get(target.id) {
            Node::Function(_) | Node::Array { .. } => true,
            Node::Qualified { inner, .. } => {
                let inner = self.resolve_from(Place { id: *inner, ..target })?;
                matches!(self.tree.get(inner.id), Node::Function(_) | Node::Array { .. })
            }
            _ => false,
        })
    }

    fn qualifies_function(&self, inner: NodeId) -> Result<bool, TooLarge> {
        Ok(matches!(self.tree.get(self.resolve(inner)?.id), Node::Function(_)))
    }

    fn qualifiers(&mut self, qualifiers: Qualifiers) -> Printed {
        if qualifiers.is_empty() {
            return Ok(());
        }
        for (set, word) in [
            (qualifiers.constant, "const "),
            (qualifiers.volatile, "volatile "),
            (qualifiers.restrict, "__restrict__ "),
        ] {
            if set {
                self.space()?;
                self.push(word)?;
            }
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
        let qualifiers = encoding.qualifiers;
        for (set, word) in [
            (qualifiers.constant, " const"),
            (qualifiers.volatile, " volatile"),
            (qualifiers.restrict, " __restrict__"),
        ] {
            if set {
                self.push(word)?;
            }
        }
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
