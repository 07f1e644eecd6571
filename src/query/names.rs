//! Names as text columns: the distinct texts once, and each row a reference to one.

use crate::analysis::labels::Labels;
use crate::demangle::Demangling;
use crate::trace::frames::Frames;
use hashbrown::HashMap;
use polars::prelude::*;
use std::sync::OnceLock;

/// Which text an id stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// A name id, as it is.
    Text,
    /// A name id of an API call: without its version suffix.
    Api,
    /// A launch shape: its kernel's demangled name.
    Kernel,
    /// A launch shape: its kernel's name without namespaces and arguments.
    KernelBase,
}

/// Distinct texts, and for each name or kernel the index of its own; `IdxSize::MAX`: none.
struct Lookup {
    texts: StringChunked,
    by_number: Vec<IdxSize>,
}

impl Lookup {
    fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Lookup {
        let mut distinct: Vec<&str> = Vec::new();
        let mut known: HashMap<&str, IdxSize> = HashMap::new();
        let index_of = |text: &'a str| {
            if text.is_empty() {
                return IdxSize::MAX;
            }
            *known.entry(text).or_insert_with(|| {
                distinct.push(text);
                distinct.len() as IdxSize - 1
            })
        };
        let by_number = texts.map(index_of).collect();
        Lookup { texts: StringChunked::from_slice("texts".into(), &distinct), by_number }
    }

    fn index(&self, number: u32) -> Option<IdxSize> {
        self.by_number.get(number as usize).copied().filter(|&i| i != IdxSize::MAX)
    }
}

/// The texts of one trace's names, each kind made when first asked for.
#[derive(Default)]
pub struct TraceNames {
    text: OnceLock<Lookup>,
    api: OnceLock<Lookup>,
    kernel: OnceLock<Lookup>,
    base: OnceLock<Lookup>,
}

impl TraceNames {
    fn lookup(&self, frames: &Frames, naming: Naming) -> &Lookup {
        let names = || 0..frames.names.len() as u32;
        let kernels = || frames.kernels().iter().copied();
        let labels = || Labels::new(frames, Demangling::On);
        match naming {
            Naming::Text => self.text.get_or_init(|| {
                let labels = labels();
                Lookup::new(names().map(|id| labels.text(id)))
            }),
            Naming::Api => self.api.get_or_init(|| {
                let labels = labels();
                Lookup::new(names().map(|id| labels.api(id)))
            }),
            Naming::Kernel => self.kernel.get_or_init(|| {
                let labels = labels();
                Lookup::new(kernels().map(|kernel| labels.name_of(kernel)))
            }),
            Naming::KernelBase => self.base.get_or_init(|| {
                let labels = labels();
                Lookup::new(kernels().map(|kernel| labels.base_name_of(kernel)))
            }),
        }
    }

    /// For each of `ids` the number of its text, null where it names nothing; and the distinct texts.
    pub fn numbers(&self, frames: &Frames, naming: Naming, ids: &Column) -> PolarsResult<(IdxCa, &StringChunked)> {
        let lookup = self.lookup(frames, naming);
        let index = |id: u32| match naming {
            Naming::Text | Naming::Api => lookup.index(id),
            Naming::Kernel | Naming::KernelBase => lookup.index(frames.kernel_number(id)?),
        };
        Ok((ids.u32()?.iter().map(|id| id.and_then(index)).collect(), &lookup.texts))
    }
}
