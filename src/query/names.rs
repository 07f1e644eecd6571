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

/// Distinct texts, and for each id the index of its own; `IdxSize::MAX`: none.
struct Lookup {
    texts: StringChunked,
    by_id: Vec<IdxSize>,
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
        let by_id = texts.map(index_of).collect();
        Lookup { texts: StringChunked::from_slice("texts".into(), &distinct), by_id }
    }

    fn column(&self, name: &'static str, ids: &UInt32Chunked) -> PolarsResult<Column> {
        let index = |id: u32| self.by_id.get(id as usize).copied().filter(|&i| i != IdxSize::MAX);
        let indices: IdxCa = ids.iter().map(|id| id.and_then(index)).collect();
        Ok(self.texts.take(&indices)?.with_name(name.into()).into_column())
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
        let shapes = || 0..frames.shapes.len() as u32;
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
                Lookup::new(shapes().map(|id| labels.kernel(id)))
            }),
            Naming::KernelBase => self.base.get_or_init(|| {
                let labels = labels();
                Lookup::new(shapes().map(|id| labels.kernel_base(id)))
            }),
        }
    }

    /// A text column called `name` for `ids`; null where an id names nothing.
    pub fn column(
        &self,
        frames: &Frames,
        naming: Naming,
        name: &'static str,
        ids: &Column,
    ) -> PolarsResult<Column> {
        self.lookup(frames, naming).column(name, ids.u32()?)
    }
}
