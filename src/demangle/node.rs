//! The syntax tree of a mangled name: what the parser builds and the printer walks.
//!
//! Nodes live in one vector and refer to each other by index. A substitution (`S_`) is then simply the index of
//! an earlier node, which keeps the tree linear in the input even when the text it stands for is exponential.

use std::borrow::Cow;

/// Index of a node in its [`Tree`].
pub(super) type NodeId = u32;

/// Const, volatile and restrict, as written after a type or a member function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Qualifiers {
    pub(super) constant: bool,
    pub(super) volatile: bool,
    pub(super) restrict: bool,
}

impl Qualifiers {
    /// The qualifiers that are set, in printing order.
    pub(super) fn words(self) -> impl Iterator<Item = &'static str> {
        [(self.constant, "const"), (self.volatile, "volatile"), (self.restrict, "__restrict__")]
            .into_iter()
            .filter(|(set, _)| *set)
            .map(|(_, word)| word)
    }
}

/// What a member function or a function type says about the object it is called on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RefQualifier {
    #[default]
    None,
    Lvalue,
    Rvalue,
}

/// What follows a type's name in a declarator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Indirection {
    Pointer,
    Lvalue,
    Rvalue,
}

/// One piece of a name, type or expression.
#[derive(Clone, Debug)]
pub(super) enum Node<'a> {
    /// A name or keyword with nothing inside it. Most are parts of the mangled name or words of the language, so that a trace with
    /// a million names does not make a string of each of their parts.
    Text(Cow<'a, str>),
    /// `scope::name`.
    Nested { scope: NodeId, name: NodeId },
    /// `function()::entity`, an entity declared inside a function.
    Local { function: NodeId, entity: NodeId },
    /// `name<args>`.
    Template { name: NodeId, args: Vec<NodeId> },
    /// A template argument pack `J...E`: printed as its elements.
    ArgumentPack(Vec<NodeId>),
    /// A template parameter, by number. It stands for an argument of the function being printed around it, so a
    /// substitution that contains one can mean different things in different places.
    Param(usize),
    /// `pattern...`.
    Expansion(NodeId),
    /// `name[abi:tag]`.
    AbiTag { name: NodeId, tag: Cow<'a, str> },
    /// A constructor or destructor: the printed name is the last part of its class.
    Structor { class: NodeId, destructor: bool },
    /// `operator type`.
    Conversion(NodeId),
    /// `{lambda(params)#number}`.
    Lambda { params: Vec<NodeId>, number: u64 },
    /// `[a, b]` of a structured binding.
    Binding(Vec<NodeId>),
    /// `type const`.
    Qualified { inner: NodeId, qualifiers: Qualifiers },
    /// `type qualifier` with a vendor's own word.
    VendorQualified { inner: NodeId, word: NodeId },
    /// `type*`, `type&`, `type&&`.
    Indirect { inner: NodeId, kind: Indirection },
    /// `member class::*`.
    MemberPointer { class: NodeId, member: NodeId },
    /// `element [dimension]`.
    Array { element: NodeId, dimension: Option<NodeId> },
    /// `result (params)`.
    Function(Box<FunctionType>),
    /// A function with its parameters: the top of most mangled names.
    Encoding(Box<EncodingNode>),
    /// `vtable for name` and its relatives.
    Special { prefix: &'static str, inner: NodeId },
    /// `construction vtable for a-in-b`.
    ConstructionTable { derived: NodeId, base: NodeId },
    /// `type=value`, a template argument that is a number.
    Literal { kind: NodeId, value: String },
    /// Text around operands, in printing order.
    Sequence(Vec<Piece>),
    /// `left op right`.
    Binary { left: NodeId, operator: &'static str, right: NodeId },
    /// `op operand`.
    Prefix { operator: &'static str, operand: NodeId },
    /// `sizeof...(pack)`: printed as the number of elements when the pack is known.
    PackSize(NodeId),
}

/// A function type.
#[derive(Clone, Debug)]
pub(super) struct FunctionType {
    pub(super) result: Option<NodeId>,
    pub(super) params: Vec<NodeId>,
    pub(super) reference: RefQualifier,
    /// `noexcept` and the like, to print after everything else.
    pub(super) exception: Option<NodeId>,
}

/// A function's name, parameters and qualifiers.
#[derive(Clone, Debug)]
pub(super) struct EncodingNode {
    pub(super) name: NodeId,
    pub(super) result: Option<NodeId>,
    pub(super) params: Vec<NodeId>,
    pub(super) qualifiers: Qualifiers,
    pub(super) reference: RefQualifier,
    pub(super) requires: Option<NodeId>,
}

/// A part of a [`Node::Sequence`].
#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text(&'static str),
    Node(NodeId),
    /// The operand in parentheses, unless it is a plain name.
    Operand(NodeId),
    /// A comma-separated list.
    List(Vec<NodeId>),
}

/// Nodes that most names of kernels have fewer of.
const USUAL_NODES: usize = 32;

/// All nodes of one name.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    nodes: Vec<Node<'a>>,
}

impl<'a> Tree<'a> {
    /// A tree with room for the nodes of a usual name.
    pub(super) fn new() -> Self {
        Tree { nodes: Vec::with_capacity(USUAL_NODES) }
    }

    /// Adds a node and returns its index.
    pub(super) fn add(&mut self, node: Node<'a>) -> NodeId {
        self.nodes.push(node);
        // The input is at most 64 KiB and each byte adds a handful of nodes.
        (self.nodes.len() - 1) as NodeId
    }

    /// Returns the node at an index that [`Tree::add`] returned.
    pub(super) fn get(&self, id: NodeId) -> &Node<'a> {
        &self.nodes[id as usize]
    }
}
