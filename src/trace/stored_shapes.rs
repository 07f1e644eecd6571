//! Launch shapes of native files, of which there can be as many as launches: which kernel each is of is read first, a few bytes
//! for each; the numbers of those that somebody asks for, a frame at a time.

use super::names::IdMap;
use super::narrow::Narrow;
use super::stored::Stored;
use hashbrown::HashMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use trace_format::schema::{AnyColumn as _, ColumnSpec, TypedColumn};
use trace_format::tables::SHAPE;
use trace_format::tables::column::shape;

/// The names of a kernel, as ids of all traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// As the producer gave it; 0: not recorded.
    pub name_id: u32,
    /// Demangled, where the producer stored that.
    pub demangled_id: Option<u32>,
    /// Without namespace, arguments and template, where the producer stored that.
    pub base_id: Option<u32>,
}

/// Different kernels, by number.
#[derive(Default)]
pub struct Kernels {
    list: Vec<Kernel>,
    /// The number of each kernel that has its name alone, plus 1, by the id of that: a million of them need no hashing.
    by_name: Vec<u32>,
    /// The numbers of the others.
    numbers: HashMap<Kernel, u32, foldhash::fast::RandomState>,
}

impl Kernels {
    /// The number of a kernel, new or known.
    pub fn intern(&mut self, kernel: Kernel) -> u32 {
        let Kernels { list, by_name, numbers } = self;
        let mut new = || {
            list.push(kernel);
            list.len() as u32 - 1
        };
        let at = kernel.name_id as usize;
        if kernel.demangled_id.is_some() || kernel.base_id.is_some() || kernel.name_id >= MOST_NAMES {
            return *numbers.entry(kernel).or_insert_with(new);
        }
        if at >= by_name.len() {
            by_name.resize(at + 1, 0);
        }
        if by_name[at] == 0 {
            by_name[at] = new() + 1;
        }
        by_name[at] - 1
    }

    /// All by number.
    pub fn list(&self) -> &[Kernel] {
        &self.list
    }
}

/// The columns that say which kernel a shape is of.
const NAMED: [&TypedColumn<u32>; 4] = [shape::ID, shape::NAME_ID, shape::DEMANGLED_ID, shape::BASE_ID];

/// Whether a column of [`SHAPE`] is a number of the launch.
pub fn is_number(column: &ColumnSpec) -> bool {
    !column.unit.is_label()
}

/// The shapes of one file, numbered from 0 in the order of their rows.
pub struct StoredShapes {
    file: Arc<Stored>,
    /// For each shape, the number of its kernel.
    kernels: Vec<u32>,
    ids: Ids,
    parts: Vec<Part>,
}

/// Shapes whose rows stand together in a frame.
struct Part {
    /// Number of the first shape.
    first: u32,
    /// Position of the frame.
    frame: usize,
    /// Its rows.
    rows: Range<usize>,
    /// By column of [`SHAPE`]; none where the frame cannot be read again.
    numbers: OnceLock<Option<Vec<Narrow>>>,
}

/// Where the ids of a file lead.
enum Ids {
    /// Shape `n` has the id `first + n`, as our own writers count.
    Dense { first: u32 },
    /// The number of each id, plus 1.
    Listed(IdMap),
}

impl StoredShapes {
    /// Reads which kernels the shapes of a file are of.
    pub(super) fn read(file: &Arc<Stored>, names: &IdMap, kernels: &mut Kernels) -> StoredShapes {
        let mut shapes = StoredShapes {
            file: file.clone(),
            kernels: Vec::new(),
            ids: Ids::Dense { first: 0 },
            parts: Vec::new(),
        };
        // Most shapes of a file share few names, and hashing takes longer than all the rest.
        let mut by_name: Vec<u32> = Vec::new();
        let mut all_ids: Vec<Vec<u32>> = Vec::new();
        file.definitions(&SHAPE, &NAMED.map(|column| column.name()), &mut |frame, rows, decoded| {
            let first = shapes.kernels.len() as u32;
            let column =
                |column: &TypedColumn<u32>| decoded.column(column.name()).ok().and_then(|column| column.u32().ok());
            let cells = |name| column(name).map(|ids| ids.iter().skip(rows.start).take(rows.len()));
            let (Some(ids), Some(mut name)) = (cells(shape::ID), cells(shape::NAME_ID)) else { return true };
            let (mut demangled, mut base) = (cells(shape::DEMANGLED_ID), cells(shape::BASE_ID));
            let stores_forms = demangled.is_some() || base.is_some();
            for _ in 0..rows.len() {
                let name_id = name.next().flatten().unwrap_or(0);
                let shared = |id: Option<Option<u32>>| id.flatten().map(|id| names.get(id));
                let kernel = match by_name.get(name_id as usize) {
                    Some(&known) if !stores_forms && known != u32::MAX => known,
                    _ => {
                        let number = kernels.intern(Kernel {
                            name_id: names.get(name_id),
                            demangled_id: shared(demangled.as_mut().and_then(Iterator::next)),
                            base_id: shared(base.as_mut().and_then(Iterator::next)),
                        });
                        if !stores_forms && name_id < MOST_NAMES {
                            let room = by_name.len().max(name_id as usize + 1);
                            by_name.resize(room, u32::MAX);
                            by_name[name_id as usize] = number;
                        }
                        number
                    }
                };
                shapes.kernels.push(kernel);
            }
            all_ids.push(ids.map(Option::unwrap_or_default).collect());
            let at = file.reader().frames().partition_point(|f| f.offset < frame.offset);
            shapes.parts.push(Part { first, frame: at, rows, numbers: OnceLock::new() });
            true
        });
        let first = all_ids.iter().flatten().next().copied().unwrap_or(0);
        let dense =
            all_ids.iter().flatten().zip(u64::from(first)..).all(|(id, expected)| u64::from(*id) == expected);
        shapes.ids = match dense {
            true => Ids::Dense { first },
            false => {
                let mut map = IdMap::default();
                all_ids.iter().flatten().zip(1..).for_each(|(id, number)| map.insert(*id, number));
                Ids::Listed(map)
            }
        };
        shapes
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.kernels.len()
    }

    /// For each shape, the number of its kernel.
    pub fn kernels(&self) -> &[u32] {
        &self.kernels
    }

    /// The number of the shape that the file calls `id`.
    pub fn number_of(&self, id: u32) -> Option<u32> {
        let number = match &self.ids {
            Ids::Dense { first } => id.checked_sub(*first)?,
            Ids::Listed(map) => map.get(id).checked_sub(1)?,
        };
        (number < self.kernels.len() as u32).then_some(number)
    }

    /// The number in `column` of [`SHAPE`] of shape `number`.
    pub fn value(&self, number: u32, column: usize) -> Option<i64> {
        let part = self.parts.partition_point(|part| part.first <= number).checked_sub(1)?;
        let part = &self.parts[part];
        let numbers = part.numbers.get_or_init(|| self.numbers(part));
        numbers.as_ref()?.get(column)?.get((number - part.first) as usize)
    }

    fn numbers(&self, part: &Part) -> Option<Vec<Narrow>> {
        let wanted: Vec<&str> = SHAPE.columns.iter().filter(|c| is_number(c)).map(|c| c.name).collect();
        let (decoded, _) = self.file.decode(part.frame, &SHAPE, &wanted, &mut Vec::new(), &|_| Ok(()))?;
        let narrow = |spec: &ColumnSpec| {
            let column = decoded.column(spec.name).ok().filter(|_| is_number(spec));
            let Some(Ok(values)) = column.map(|column| column.i64()) else { return Narrow::Same(None) };
            let values: Vec<Option<i64>> = values.iter().skip(part.rows.start).take(part.rows.len()).collect();
            Narrow::new(&values)
        };
        Some(SHAPE.columns.iter().map(narrow).collect())
    }
}

/// Name ids for which a list is kept, so that a damaged one does not make us allocate gigabytes.
const MOST_NAMES: u32 = 1 << 24;
