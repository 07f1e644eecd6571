//! What rows refer to by id, of all open traces: kernels and launch shapes, read when somebody asks for them.

use super::batch::remap_ids;
use super::frames::Frames;
use super::names::some_names;
use super::shapes::{self, Shapes};
use super::stored::DecodedColumns;
use super::stored_shapes::{Kernel, Kernels, StoredShapes, is_number};
use polars::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use trace_format::schema::TableSpec;
use trace_format::tables::{SHAPE, ShapeRow};

/// The launch shapes of all traces: those that importers read, and behind them those of native files.
#[derive(Default)]
pub(super) struct AllShapes {
    pub(super) imported: Shapes,
    read: OnceLock<ReadShapes>,
}

struct ReadShapes {
    kernels: Kernels,
    /// For each rest of the imported shapes, the number of its kernel.
    of_rests: Vec<u32>,
    /// Of each native file, the id of the first shape, and its shapes.
    files: Vec<(u32, StoredShapes)>,
    count: u32,
}

impl Frames {
    fn read_shapes(&self) -> &ReadShapes {
        self.shapes.read.get_or_init(|| {
            let mut kernels = Kernels::default();
            let of_rest = |row: &ShapeRow| {
                let ShapeRow { name_id, demangled_id, base_id, .. } = *row;
                kernels.intern(Kernel { name_id, demangled_id, base_id })
            };
            let of_rests = self.shapes.imported.rests().iter().map(of_rest).collect();
            let mut count = self.shapes.imported.len() as u32;
            let mut files = Vec::new();
            for (number, native) in self.natives().iter().enumerate() {
                let shapes = StoredShapes::read(native.stored(), self.names.ids_of(number), &mut kernels);
                let first = count;
                count = count.saturating_add(shapes.count() as u32);
                files.push((first, shapes));
            }
            ReadShapes { kernels, of_rests, files, count }
        })
    }

    /// How many launch shapes there are; ids are below this. Equal shapes of different files have different ids, and those
    /// of one file may.
    pub fn shape_count(&self) -> usize {
        self.read_shapes().count as usize
    }

    /// All kernels that have a launch shape, by number.
    pub fn kernels(&self) -> &[Kernel] {
        self.read_shapes().kernels.list()
    }

    /// The number of the kernel of a launch shape.
    pub fn kernel_number(&self, shape: u32) -> Option<u32> {
        let read = self.read_shapes();
        match self.shapes.imported.rest_of(shape) {
            Some(rest) => read.of_rests.get(rest as usize).copied(),
            None => {
                let (shapes, number) = read.stored(shape)?;
                shapes.kernels().get(number as usize).copied()
            }
        }
    }

    /// The kernel of a launch shape.
    pub fn kernel(&self, shape: u32) -> Option<Kernel> {
        self.kernels().get(self.kernel_number(shape)? as usize).copied()
    }

    /// For each launch shape, the number of its kernel.
    pub fn kernel_numbers(&self) -> Vec<u32> {
        let read = self.read_shapes();
        let imported = 0..self.shapes.imported.len() as u32;
        let mut numbers: Vec<u32> = Vec::with_capacity(read.count as usize);
        numbers.extend(imported.filter_map(|shape| self.kernel_number(shape)));
        read.files.iter().for_each(|(_, shapes)| numbers.extend_from_slice(shapes.kernels()));
        numbers
    }

    /// A number of a launch shape, by the position of its column in table `shape`.
    pub fn shape_number(&self, shape: u32, column: usize) -> Option<i64> {
        if (shape as usize) < self.shapes.imported.len() {
            return self.shapes.imported.value(shape, SHAPE.columns.get(column)?.name);
        }
        let (shapes, number) = self.read_shapes().stored(shape)?;
        shapes.value(number, column)
    }

    /// Grid and block of a launch shape, each of its three numbers where the trace has it.
    pub fn launch_size(&self, shape: u32) -> [[Option<i64>; 3]; 2] {
        const SIZES: [[&str; 3]; 2] = [["grid_x", "grid_y", "grid_z"], ["block_x", "block_y", "block_z"]];
        if let Some(row) = self.shapes.imported.get(shape) {
            return [[row.grid_x, row.grid_y, row.grid_z], [row.block_x, row.block_y, row.block_z]];
        }
        static COLUMNS: OnceLock<[[usize; 3]; 2]> = OnceLock::new();
        let columns = COLUMNS
            .get_or_init(|| SIZES.map(|names| names.map(|name| SHAPE.column_index(name).unwrap_or(usize::MAX))));
        let Some((shapes, number)) = self.read_shapes().stored(shape) else { return [[None; 3]; 2] };
        columns.map(|columns| columns.map(|column| shapes.value(number, column)))
    }

    /// A launch shape with all it has.
    pub fn shape(&self, shape: u32) -> Option<ShapeRow> {
        if let Some(row) = self.shapes.imported.get(shape) {
            return Some(row);
        }
        let Kernel { name_id, demangled_id, base_id } = self.kernel(shape)?;
        let (shapes, number) = self.read_shapes().stored(shape)?;
        let mut row = ShapeRow { id: shape, name_id, demangled_id, base_id, ..ShapeRow::default() };
        for (at, column) in SHAPE.columns.iter().enumerate().filter(|(_, column)| is_number(column)) {
            if let Some(slot) = shapes::number_mut(&mut row, column.name) {
                *slot = shapes.value(number, at);
            }
        }
        Some(row)
    }

    /// Makes the ids of native file `file` in decoded rows those of all traces.
    pub(super) fn share_ids(&self, file: usize, table: &TableSpec, frame: &mut DataFrame) -> PolarsResult<()> {
        for column in table.columns {
            match column.unit {
                unit if unit.is_name() => remap_ids(frame, column.name, || {
                    let ids = self.names.ids_of(file);
                    move |id| ids.get(id)
                })?,
                unit if unit.is_shape() => remap_ids(frame, column.name, || {
                    let (first, shapes) = &self.read_shapes().files[file];
                    move |id| shapes.number_of(id).map_or(u32::MAX, |number| first + number)
                })?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes shared ids of those names of native file `file` that `ids` lists, without reading all the others.
    pub(super) fn share_some_names(&mut self, file: usize, ids: &BTreeSet<u32>) -> BTreeMap<u32, u32> {
        let named = some_names(self.natives()[file].stored(), ids);
        named.into_iter().map(|(id, name)| (id, self.names.intern(&name))).collect()
    }

    /// What was decoded of native files so far: rows and columns by table.
    pub fn decoded(&self) -> DecodedColumns {
        let mut all = DecodedColumns::new();
        for native in self.natives() {
            for (table, (rows, columns)) in native.stored().decoded() {
                let known = all.entry(table).or_default();
                known.0 += rows;
                known.1.extend(columns);
            }
        }
        all
    }
}

impl ReadShapes {
    /// The file that a launch shape is of, and its number there.
    fn stored(&self, shape: u32) -> Option<(&StoredShapes, u32)> {
        let at = self.files.partition_point(|(first, _)| *first <= shape).checked_sub(1)?;
        let (first, shapes) = &self.files[at];
        Some((shapes, shape - first)).filter(|(shapes, number)| (*number as usize) < shapes.count())
    }
}
