//! Texts and launch shapes of a page, each once.

use super::column::Column;
use super::field::{self, FieldName};
use crate::analysis::cpu_stacks::{HostFrame, function_name};
use crate::analysis::labels::Labels;
use crate::demangle::short_name;
use hashbrown::hash_table::Entry;
use hashbrown::{HashMap, HashTable};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::BuildHasher;
use trace_format::tables::ShapeRow;
use trace_format::vocabulary::frame_kind::PYTHON;

/// Texts by id, as they are shown. Id 0 is none.
pub struct PageNames {
    texts: Vec<Box<str>>,
    shorts: BTreeMap<u32, Box<str>>,
    index: HashTable<u32>,
    hasher: foldhash::fast::FixedState,
}

impl Default for PageNames {
    fn default() -> Self {
        PageNames {
            texts: vec!["".into()],
            shorts: BTreeMap::new(),
            index: HashTable::new(),
            hasher: Default::default(),
        }
    }
}

impl PageNames {
    /// The id of `text`, new or known.
    pub fn intern(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        let (texts, hasher) = (&mut self.texts, &self.hasher);
        let hash = hasher.hash_one(text);
        let entry =
            self.index.entry(hash, |&id| *texts[id as usize] == *text, |&id| hasher.hash_one(&*texts[id as usize]));
        match entry {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(vacant) => {
                let id = texts.len() as u32;
                vacant.insert(id);
                texts.push(text.into());
                id
            }
        }
    }

    /// The id of a function's name, which pages shorten where there is little room.
    pub(super) fn function(&mut self, text: &str) -> u32 {
        let id = self.intern(text);
        if let Cow::Owned(short) = short_name(text) {
            self.shorts.insert(id, short.into());
        }
        id
    }

    /// The text with this id.
    pub fn get(&self, id: u32) -> &str {
        self.texts.get(id as usize).map_or("", |text| text)
    }

    /// All texts by id.
    pub fn all(&self) -> &[Box<str>] {
        &self.texts
    }

    /// The short forms of texts that have one, by id.
    pub fn shorts(&self) -> &BTreeMap<u32, Box<str>> {
        &self.shorts
    }
}

/// Ids of the page for ids of the trace, found once each.
#[derive(Default)]
pub(super) struct Renamed(HashMap<u32, u32>);

impl Renamed {
    /// What `make` gave for `id` the first time.
    pub(super) fn get(&mut self, id: u32, make: impl FnOnce() -> u32) -> u32 {
        *self.0.entry(id).or_insert_with(make)
    }
}

/// What a page says of a launch shape: all but the name.
pub(super) type Extents = [Option<i64>; 12];

/// What the numbers of [`Extents`] are.
pub(super) const EXTENTS: [FieldName; 12] = [
    field::GRID_X,
    field::GRID_Y,
    field::GRID_Z,
    field::BLOCK_X,
    field::BLOCK_Y,
    field::BLOCK_Z,
    field::CLUSTER_X,
    field::CLUSTER_Y,
    field::CLUSTER_Z,
    field::REGISTERS,
    field::STATIC_SMEM_BYTES,
    field::DYNAMIC_SMEM_BYTES,
];

/// Shapes that a page lists at most. Where nearly every launch has one of its own, records hold the numbers.
const MOST_SHAPES: usize = 20_000;

/// The numbers of a launch shape.
fn extents(row: &ShapeRow) -> Extents {
    [
        row.grid_x,
        row.grid_y,
        row.grid_z,
        row.block_x,
        row.block_y,
        row.block_z,
        row.cluster_x,
        row.cluster_y,
        row.cluster_z,
        row.registers,
        row.static_smem_bytes,
        row.dynamic_smem_bytes,
    ]
}

/// Launch shapes by id, without names.
#[derive(Default)]
pub struct PageShapes {
    rows: Vec<Extents>,
    index: HashMap<Extents, u32>,
}

impl PageShapes {
    /// The id of a shape, new or known; none once there are too many.
    pub(super) fn intern(&mut self, row: &ShapeRow) -> Option<u32> {
        let extents = extents(row);
        if let Some(&id) = self.index.get(&extents) {
            return Some(id);
        }
        if self.rows.len() >= MOST_SHAPES {
            return None;
        }
        let id = self.rows.len() as u32;
        self.rows.push(extents);
        self.index.insert(extents, id);
        Some(id)
    }

    /// All shapes by id, for the page.
    pub fn json(&self) -> Value {
        let triple = |e: &[Option<i64>]| e.iter().all(Option::is_some).then(|| json!(e));
        let shape = |e: &Extents| {
            json!({
                "grid": triple(&e[0..3]),
                "block": triple(&e[3..6]),
                "cluster": triple(&e[6..9]),
                "registers": e[9],
                "static_smem_bytes": e[10],
                "dynamic_smem_bytes": e[11],
            })
        };
        self.rows.iter().map(shape).collect()
    }
}

/// Everything that turns ids of the trace into ids of the page.
pub(super) struct Naming<'a> {
    pub labels: &'a Labels<'a>,
    pub names: PageNames,
    pub shapes: PageShapes,
    kernels: Renamed,
    calls: Renamed,
    texts: Renamed,
    functions: HashMap<(u32, u32), u32>,
}

impl<'a> Naming<'a> {
    pub(super) fn new(labels: &'a Labels<'a>) -> Self {
        Naming {
            labels,
            names: PageNames::default(),
            shapes: PageShapes::default(),
            kernels: Renamed::default(),
            calls: Renamed::default(),
            texts: Renamed::default(),
            functions: HashMap::new(),
        }
    }

    /// The name of the kernel of a launch shape.
    pub(super) fn kernel(&mut self, shape: u32) -> u32 {
        self.kernels.get(shape, || self.names.function(self.labels.kernel(shape)))
    }

    /// Launch shapes as the page lists them; `None`: there are too many, ask for [`Naming::extents`] instead.
    pub(super) fn shapes(&mut self, ids: impl Iterator<Item = Option<u64>>) -> Option<Column> {
        let mut column = Column::default();
        for id in ids {
            let row = id.and_then(|id| self.labels.shape(id as u32));
            column.push(match row {
                Some(row) => Some(u64::from(self.shapes.intern(&row)?)),
                None => None,
            });
        }
        Some(column)
    }

    /// The numbers of launch shapes, each in a column of its own.
    pub(super) fn extents(&mut self, ids: impl Iterator<Item = Option<u64>>) -> [Column; EXTENTS.len()] {
        self.shapes = PageShapes::default();
        let mut columns = [const { Column::none() }; EXTENTS.len()];
        for id in ids {
            let row = id.and_then(|id| self.labels.shape(id as u32)).as_ref().map(extents).unwrap_or_default();
            for (column, number) in columns.iter_mut().zip(row) {
                column.push(number.and_then(|number| u64::try_from(number).ok()));
            }
        }
        columns
    }

    /// An API call.
    pub(super) fn call(&mut self, name: u32) -> u32 {
        self.calls.get(name, || self.names.intern(self.labels.api(name)))
    }

    /// A function on a stack, by its kind and name.
    pub(super) fn function(&mut self, kind: u32, name: u32) -> u32 {
        let frame = HostFrame { kind, name, ..HostFrame::default() };
        let (names, labels) = (&mut self.names, self.labels);
        *self.functions.entry((kind, name)).or_insert_with(|| {
            let text = function_name(labels, frame);
            if kind == PYTHON { names.intern(text) } else { names.function(text) }
        })
    }

    /// Any name of the trace.
    pub(super) fn text(&mut self, name: u32) -> u32 {
        self.texts.get(name, || self.names.intern(self.labels.text(name)))
    }
}
