//! What template parameters and packs stand for at one point of the output.
//!
//! The printer carries a stack of frames, one for each function it is inside of. A parameter is looked up in the
//! frame of the innermost function, and its argument is then printed in the frame around that.

use std::cell::Cell;

use super::node::{EncodingNode, Indirection, Node, NodeId};
use super::print::{MAX_DEPTH, Printed, Printer, TooLarge};

/// Where an expansion stands.
pub(super) struct Expansion {
    pub(super) index: usize,
    /// Length of the first pack met inside the pattern; a cell, since looking at a pack is what finds it.
    pub(super) length: Cell<Option<usize>>,
}

/// The template arguments that parameters refer to.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    args: &'a [NodeId],
    /// The frame in which the arguments themselves are to be read.
    parent: Option<usize>,
}

/// A node and the frame to read it in.
#[derive(Clone, Copy)]
pub(super) struct ScopedNode {
    pub(super) id: NodeId,
    pub(super) frame: Option<usize>,
    /// The way here led through a parameter, so an expansion around that does not reach in here.
    pub(super) through_param: bool,
}

impl<'a> Printer<'a> {
    /// Follows a reference to a reference: the result is an rvalue reference only if all of them are.
    pub(super) fn collapse(&self, id: NodeId) -> Result<(ScopedNode, Indirection), TooLarge> {
        let mut place = self.here(id);
        let mut kind = Indirection::Rvalue;
        for _ in 0..MAX_DEPTH {
            let resolved = self.resolve_from(place)?;
            match self.tree.get(resolved.id) {
                Node::Indirect { inner, kind: Indirection::Pointer } if place.id == id => {
                    return Ok((ScopedNode { id: *inner, ..resolved }, Indirection::Pointer));
                }
                Node::Indirect { inner, kind: further } if *further != Indirection::Pointer => {
                    if *further == Indirection::Lvalue {
                        kind = Indirection::Lvalue;
                    }
                    place = ScopedNode { id: *inner, ..resolved };
                }
                _ => return Ok((place, kind)),
            }
        }
        Err(TooLarge)
    }

    /// The node at the current point of the output.
    pub(super) fn here(&self, id: NodeId) -> ScopedNode {
        ScopedNode { id, frame: self.frame, through_param: false }
    }

    /// Finds the argument that a parameter stands for at the current point of the output.
    pub(super) fn argument(&self, number: usize) -> Result<NodeId, TooLarge> {
        let frame = self.frame.and_then(|frame| self.frames.get(frame)).ok_or(TooLarge)?;
        frame.args.get(number).copied().ok_or(TooLarge)
    }

    /// Looks through template parameters to what they stand for.
    ///
    /// An empty pack has no element to find: the result is then the parameter itself.
    pub(super) fn resolve(&self, id: NodeId) -> Result<ScopedNode, TooLarge> {
        self.resolve_from(self.here(id))
    }

    pub(super) fn resolve_from(&self, mut place: ScopedNode) -> Result<ScopedNode, TooLarge> {
        for _ in 0..MAX_DEPTH {
            let Node::Param(number) = self.tree.get(place.id) else { return Ok(place) };
            if self.in_lambda {
                return Ok(place);
            }
            let frame = place.frame.and_then(|frame| self.frames.get(frame)).ok_or(TooLarge)?;
            let arg = *frame.args.get(*number).ok_or(TooLarge)?;
            let mut next = ScopedNode { id: arg, frame: frame.parent, through_param: true };
            if let (Node::ArgumentPack(elements), Some(expansion), false) =
                (self.tree.get(arg), &self.expansion, place.through_param)
            {
                if expansion.length.get().is_none() {
                    expansion.length.set(Some(elements.len()));
                }
                match elements.get(expansion.index) {
                    Some(&element) => next.id = element,
                    None => return Ok(ScopedNode { through_param: true, ..place }),
                }
            }
            place = next;
        }
        Err(TooLarge)
    }

    pub(super) fn left_of(&mut self, place: ScopedNode) -> Printed {
        self.at(place, |p| p.left(place.id))
    }

    pub(super) fn right_of(&mut self, place: ScopedNode) -> Printed {
        self.at(place, |p| p.right(place.id))
    }

    /// Prints in another frame.
    fn at(&mut self, place: ScopedNode, print: impl FnOnce(&mut Self) -> Printed) -> Printed {
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
    pub(super) fn inside(&mut self, encoding: &EncodingNode, print: impl FnOnce(&mut Self) -> Printed) -> Printed {
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
}
