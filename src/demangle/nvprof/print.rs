//! Printing as nvprof does it.
//!
//! The main fault: the signature of a function is printed behind the first qualified name that ends, and that
//! may be a template argument in the function's scope. `vector<ns::Item, ...>::size()` comes out as
//! `vector<ns::Item(void), ...>::size`. What follows a substitution goes astray in the same way: with `S1_` for
//! `list<ns::Item>`, `NS1_8iteratorE` is `list<ns::Item::iterator>`. Here both wait in [`Printer::pending`] until
//! a name takes them.

use super::items::{Item, ItemId, Items, Name};

/// See the limits of the correct printer.
const MAX_OUTPUT: usize = 1 << 20;
const MAX_VISITS: u32 = 1 << 20;
const MAX_DEPTH: u32 = 256;

/// Prints an item; `None` if nvprof would not have, or if the text would be too long or too deep.
pub(super) fn print(items: &Items, root: ItemId) -> Option<String> {
    let mut printer = Printer { items, pending: Vec::new(), depth: 0, visits: 0 };
    printer.item(root)
}

/// Text that waits for a name to attach itself to.
enum Pending<'a> {
    /// The types of a function's signature.
    Signature(&'a [ItemId]),
    /// What follows a substitution: `::text`, or template arguments.
    Suffix(String),
    /// Nothing may enter from outside.
    Barrier,
}

struct Printer<'a> {
    items: &'a Items,
    /// What the next suitable name takes is on top; what it uncovers is then for the names behind it.
    pending: Vec<Pending<'a>>,
    depth: u32,
    visits: u32,
}

impl<'a> Printer<'a> {
    fn item(&mut self, id: ItemId) -> Option<String> {
        self.deeper(|p| p.item_inner(id))
    }

    fn deeper(&mut self, print: impl FnOnce(&mut Self) -> Option<String>) -> Option<String> {
        self.visits += 1;
        if self.depth >= MAX_DEPTH || self.visits > MAX_VISITS {
            return None;
        }
        self.depth += 1;
        let text = print(self).filter(|text| text.len() <= MAX_OUTPUT);
        self.depth -= 1;
        text
    }

    /// Prints something that nothing pending can enter.
    fn closed(&mut self, print: impl FnOnce(&mut Self) -> Option<String>) -> Option<String> {
        self.pending.push(Pending::Barrier);
        let text = print(self);
        self.pending.pop();
        text
    }

    /// Prints with something pending. Returns it along with the text if no name took it.
    fn with_pending(
        &mut self,
        pending: Pending<'a>,
        print: impl FnOnce(&mut Self) -> Option<String>,
    ) -> Option<(String, Option<Pending<'a>>)> {
        let depth = self.pending.len();
        self.pending.push(pending);
        let text = print(self)?;
        let left = if self.pending.len() > depth { self.pending.pop() } else { None };
        Some((text, left))
    }

    fn take_signature(&mut self) -> Option<&'a [ItemId]> {
        let Some(Pending::Signature(types)) = self.pending.last() else { return None };
        let types = *types;
        self.pending.pop();
        Some(types)
    }

    fn take_suffix(&mut self) -> Option<String> {
        if !matches!(self.pending.last(), Some(Pending::Suffix(_))) {
            return None;
        }
        match self.pending.pop() {
            Some(Pending::Suffix(suffix)) => Some(suffix),
            _ => None,
        }
    }

    fn item_inner(&mut self, id: ItemId) -> Option<String> {
        let items = self.items;
        Some(match items.get(id) {
            Item::Text(text) => text.clone(),
            Item::Name(name) => self.name(name)?,
            Item::Encoding { name, types } => {
                match self.with_pending(Pending::Signature(types), |p| p.item(*name))? {
                    (text, Some(_)) => self.with_signature(text, types, is_template(items, *name))?,
                    (text, None) => text,
                }
            }
            Item::Wrapped { word, inner } => {
                let inner = self.closed(|p| p.list(inner))?;
                format!("{word}({inner})")
            }
            Item::Qualified { inner, word } => {
                if let Some(text) = self.function_declarator(id) {
                    return text;
                }
                format!("{} {word}", self.closed(|p| p.item(*inner))?)
            }
            Item::Indirect { inner, symbol } => {
                if let Some(text) = self.function_declarator(id) {
                    return text;
                }
                format!("{}{symbol}", self.closed(|p| p.item(*inner))?)
            }
            Item::MemberPointer { class, member } => {
                if let Some(text) = self.function_declarator(id) {
                    return text;
                }
                let member = self.closed(|p| p.item(*member))?;
                format!("{member} {}::*", self.closed(|p| p.item(*class))?)
            }
            Item::Function { types } => self.function(types, "")?,
            Item::Array { element, dimension } => {
                let element = self.closed(|p| p.item(*element))?;
                format!("{element}{}", self.dimension(*dimension)?)
            }
            Item::Pack => match self.take_signature() {
                Some(types) => self.with_signature(String::new(), types, false)?,
                None => String::new(),
            },
            Item::Literal { kind, value } => {
                let kind = self.item(*kind)?;
                match value {
                    Some(value) => format!("{kind}={value}"),
                    None => kind,
                }
            }
            Item::Local { function, entity } => {
                let entity = self.closed(|p| p.item(*entity))?;
                match self.with_pending(Pending::Suffix(entity), |p| p.item(*function))? {
                    // It finds its way behind a name among the parameters, or the whole name stays mangled.
                    (text, None) => text,
                    (_, Some(_)) => return None,
                }
            }
        })
    }

    /// The size of an array in its brackets, which are empty where it has none.
    fn dimension(&mut self, size: Option<ItemId>) -> Option<String> {
        let size = size.map_or(Some(String::new()), |size| self.closed(|p| p.item(size)))?;
        Some(format!("[{size}]"))
    }

    /// Prints pointers to a function type; `None` if there is no function behind them.
    ///
    /// Qualifiers on the way end up behind the parameters.
    fn function_declarator(&mut self, id: ItemId) -> Option<Option<String>> {
        let items = self.items;
        let mut steps = Vec::new();
        let mut trailer = String::new();
        let mut at = id;
        // First find out whether there is a function: the classes of member pointers are costly to print.
        for _ in 0..MAX_DEPTH {
            match items.get(at) {
                Item::Indirect { inner, symbol } => {
                    steps.push((None, *symbol));
                    at = *inner;
                }
                Item::Qualified { inner, word } => {
                    trailer.push(' ');
                    trailer.push_str(word);
                    at = *inner;
                }
                Item::MemberPointer { class, member } => {
                    steps.push((Some(*class), '*'));
                    at = *member;
                }
                // No type of C++, but nvprof prints it as if the pointer were the function's.
                Item::Array { element, dimension } if matches!(items.get(*element), Item::Function { .. }) => {
                    let Some(size) = self.dimension(*dimension) else { return Some(None) };
                    trailer.push_str(&size);
                    at = *element;
                }
                Item::Function { types } => {
                    let mut declarator = String::new();
                    for (class, symbol) in steps.into_iter().rev() {
                        if let Some(class) = class {
                            let Some(class) = self.closed(|p| p.item(class)) else { return Some(None) };
                            declarator.push_str(&class);
                            declarator.push_str("::");
                        }
                        declarator.push(symbol);
                    }
                    return Some(self.function(types, &declarator).map(|text| text + &trailer));
                }
                _ => return None,
            }
        }
        Some(None)
    }

    fn function(&mut self, types: &'a [ItemId], declarator: &str) -> Option<String> {
        let (result, params) = types.split_first()?;
        let result = self.closed(|p| p.item(*result))?;
        let params = self.closed(|p| p.list(params))?;
        Some(format!("{result} ({declarator}) ({params})"))
    }

    /// Prints a name with what it takes of what is pending.
    fn name(&mut self, name: &'a Name) -> Option<String> {
        let mut text = self.stem(name)?;
        if name.attracts
            && let Some(types) = self.take_signature()
        {
            text += &self.closed(|p| p.args(name))?;
            return self.with_signature(text, types, name.args.is_some());
        }
        if !matches!(self.pending.last(), Some(Pending::Suffix(_))) {
            text += &self.closed(|p| p.args(name))?;
            return Some(text);
        }
        let depth = self.pending.len();
        text += &self.args(name)?;
        if !name.attracts {
            return Some(text);
        }
        if self.pending.len() == depth {
            if let Some(suffix) = self.take_suffix() {
                append_suffix(&mut text, &suffix);
            }
            return Some(text);
        }
        // An argument took the suffix and so uncovered the signature behind it.
        match self.take_signature() {
            Some(types) => self.with_signature(text, types, name.args.is_some()),
            None => Some(text),
        }
    }

    /// Prints a name up to its template arguments.
    fn stem(&mut self, name: &'a Name) -> Option<String> {
        let Some(prefix) = name.prefix else { return Some(name.text.clone()) };
        if !name.substituted {
            return Some(self.prefix(prefix)? + name.separator + &name.text);
        }
        let suffix = if name.text.is_empty() {
            self.closed(|p| p.arg_list(name))?
        } else {
            format!("{}{}", name.separator, name.text)
        };
        match self.with_pending(Pending::Suffix(suffix), |p| p.item(prefix))? {
            (mut text, Some(Pending::Suffix(suffix))) => {
                append_suffix(&mut text, &suffix);
                Some(text)
            }
            (text, _) => Some(text),
        }
    }

    /// Prints the scope of a name: it takes nothing itself, but lets what is pending into its arguments.
    fn prefix(&mut self, id: ItemId) -> Option<String> {
        let items = self.items;
        self.deeper(|p| match items.get(id) {
            Item::Name(name) => Some(p.stem(name)? + &p.args(name)?),
            _ => p.closed(|p| p.item(id)),
        })
    }

    /// Prints the template arguments of a name, unless they are part of its stem.
    fn args(&mut self, name: &'a Name) -> Option<String> {
        if name.text.is_empty() { Some(String::new()) } else { self.arg_list(name) }
    }

    fn arg_list(&mut self, name: &'a Name) -> Option<String> {
        let Some(args) = &name.args else { return Some(String::new()) };
        Some(format!("<{}>", self.list(args)?))
    }

    fn list(&mut self, list: &[ItemId]) -> Option<String> {
        let mut text = String::new();
        for &id in list {
            let item = self.item(id)?;
            if item.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push_str(", ");
            }
            text.push_str(&item);
            if text.len() > MAX_OUTPUT {
                return None;
            }
        }
        Some(text)
    }

    /// Puts a signature around a name. Whether it starts with a result depends on the name that took it.
    fn with_signature(&mut self, name: String, types: &'a [ItemId], template: bool) -> Option<String> {
        if !template {
            return Some(format!("{name}({})", self.list(types)?));
        }
        let (result, params) = types.split_first()?;
        let result = self.item(*result)?;
        Some(format!("{result} {name}({})", self.list(params)?))
    }
}

fn is_template(items: &Items, id: ItemId) -> bool {
    matches!(items.get(id), Item::Name(Name { args: Some(_), .. }))
}

/// Appends `::name` or `<args>`. Arguments for what has some already join the existing list.
fn append_suffix(text: &mut String, suffix: &str) {
    match suffix.strip_prefix('<') {
        Some(args) if text.ends_with('>') => {
            text.pop();
            text.push_str(", ");
            text.push_str(args);
        }
        _ => text.push_str(suffix),
    }
}
