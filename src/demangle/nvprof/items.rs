//! The pieces of a name as nvprof sees it.

/// Index of an item in [`Items`].
pub(super) type ItemId = u32;

/// One piece of a name as nvprof sees it.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A builtin type, or a class the ABI abbreviates.
    Text(String),
    Name(Name),
    /// A function: `types` holds its parameters, preceded by the result if the printer finds it is a template.
    Encoding {
        name: ItemId,
        types: Vec<ItemId>,
    },
    /// `__word__(inner)`.
    Wrapped {
        word: String,
        inner: Vec<ItemId>,
    },
    /// `inner const `.
    Qualified {
        inner: ItemId,
        word: &'static str,
    },
    /// `inner*` or `inner&`.
    Indirect {
        inner: ItemId,
        symbol: char,
    },
    MemberPointer {
        class: ItemId,
        member: ItemId,
    },
    /// The first of `types` is the result.
    Function {
        types: Vec<ItemId>,
    },
    Array {
        element: ItemId,
        dimension: Option<ItemId>,
    },
    /// A pack: nothing of it is printed.
    Pack,
    /// `kind=value`; only builtin types and unscoped enumerations show the value.
    Literal {
        kind: ItemId,
        value: Option<String>,
    },
    Local {
        function: ItemId,
        entity: ItemId,
    },
}

/// A name of a function, class or object.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) prefix: Option<ItemId>,
    /// The prefix came from a substitution or a template parameter: what follows it is a suffix that may land
    /// inside the prefix.
    pub(super) substituted: bool,
    /// Abbreviations and template parameters are not followed by `::`.
    pub(super) separator: &'static str,
    pub(super) text: String,
    pub(super) args: Option<Vec<ItemId>>,
    /// Whether the name can attract the signature of the function around it.
    pub(super) attracts: bool,
}

/// All items of one name.
#[derive(Debug, Default)]
pub(super) struct Items(Vec<Item>);

impl Items {
    pub(super) fn get(&self, id: ItemId) -> &Item {
        &self.0[id as usize]
    }

    pub(super) fn add(&mut self, item: Item) -> ItemId {
        self.0.push(item);
        // The input is at most 64 KiB and each byte adds a handful of items.
        (self.0.len() - 1) as ItemId
    }
}
