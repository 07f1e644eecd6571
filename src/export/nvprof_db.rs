//! nvprof's database: what `nvprof -o` wrote up to CUDA 11.8, for nvprof itself, the Visual Profiler and their users'
//! scripts. One file is one process, as most tables name none; several processes make a folder, as nvprof's own
//! `--profile-child-processes` makes several files.
//!
//! Rows stand in order of their starts, times are Unix nanoseconds.

pub mod about;
mod activity;
mod calls;
mod directives;
mod markers;
mod records;
mod schema;
mod target;

use super::database::{Database, Rows};
use super::texts::Texts;
use super::{Columns, Context, Destination, Exporter, KeptTable, KeptTables, Shape};
use crate::error::Result;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use std::path::Path;
use trace_format::columns;
use trace_format::schema::{Row, TableSpec};
use trace_format::tables;
use trace_format::tables::column::{
    api, context, device, event, kernel, memcpy, overhead, range, sample, shape, string, sync,
};

/// The format.
pub static EXPORTER: Exporter = Exporter {
    name: "nvprof",
    extension: "nvvp",
    other_endings: &["nvprof"],
    binary: true,
    doc: "database of nvprof (schema 18), for nvprof -i and the Visual Profiler, one file per process; several processes \
          make a folder",
    shape: Shape::FilePerProcess,
    need: Need::all,
    options: &[],
    keeps: KeptTables::these(KEEPS),
    write,
};

const KEEPS: &[KeptTable] = &[
    KeptTable { table: &tables::PROCESS, columns: Columns::All, note: "the pid" },
    KeptTable {
        table: &tables::STRING,
        columns: Columns::AllBut(&[string::ID]),
        note: "bytes that are not UTF-8 become `\\xff`: Python's sqlite3 could not read them",
    },
    KeptTable {
        table: &tables::SHAPE,
        columns: Columns::AllBut(&[shape::ID, shape::DEMANGLED_ID, shape::BASE_ID]),
        note: "",
    },
    KeptTable { table: &tables::DEVICE, columns: Columns::AllBut(&[device::PCI_BUS_ID]), note: "" },
    KeptTable { table: &tables::CONTEXT, columns: Columns::AllBut(&[context::PARENT_CONTEXT]), note: "" },
    KeptTable { table: &tables::STREAM, columns: Columns::All, note: "" },
    KeptTable { table: &tables::THREAD, columns: Columns::All, note: "" },
    KeptTable {
        table: &tables::KERNEL,
        columns: Columns::AllBut(&[kernel::CHANNEL, kernel::PRIORITY]),
        note: "times of a trace that has no epoch and begins before 1 are moved for nvprof, here and in all tables, and gpuprof moves them back; \
               correlation ids have 32 bits",
    },
    KeptTable {
        table: &tables::MEMCPY,
        columns: Columns::AllBut(&[memcpy::CHANNEL]),
        note: "kinds 11 to 13 (unified memory, from nsys) become events of unified memory",
    },
    KeptTable { table: &tables::MEMSET, columns: Columns::All, note: "" },
    KeptTable {
        table: &tables::API,
        columns: Columns::AllBut(&[api::NAME_ID]),
        note: "nvprof has numbers of CUDA's functions and no names: what has no number (HIP) is called INVALID, and nvprof \
               11.8 has wrong names for functions newer than itself",
    },
    KeptTable { table: &tables::SYNC, columns: Columns::AllBut(&[sync::RESULT]), note: "" },
    KeptTable { table: &tables::OVERHEAD, columns: Columns::AllBut(&[overhead::CORRELATION]), note: "" },
    KeptTable { table: &tables::GRAPH, columns: Columns::All, note: "" },
    KeptTable {
        table: &tables::MEMORY,
        columns: Columns::All,
        note: "operations of pools lose context, stream, kind of memory and name",
    },
    KeptTable { table: &tables::UVM, columns: Columns::All, note: "a CPU page fault counts as one" },
    KeptTable { table: &tables::EVENT, columns: Columns::AllBut(&[event::START_NS]), note: "" },
    KeptTable { table: &tables::EXTERNAL, columns: Columns::All, note: "" },
    KeptTable { table: &tables::JIT, columns: Columns::All, note: "" },
    KeptTable { table: &tables::OPENACC, columns: Columns::All, note: "" },
    KeptTable { table: &tables::OPENMP, columns: Columns::All, note: "" },
    KeptTable {
        table: &tables::RANGE,
        columns: Columns::AllBut(&[range::RANGE_ID]),
        note: "operators, annotations and Python functions are left out; of two payloads the integer is kept",
    },
    KeptTable {
        table: &tables::SAMPLE,
        columns: Columns::AllBut(&[sample::OF_PID]),
        note: "clocks, temperature, power, fans and PCIe links of GPUs, in whole numbers; where one of \
               several was not measured, it comes back as 0",
    },
];

/// What all writers of single tables share.
struct Writer<'a> {
    context: &'a Context<'a>,
    /// The selected rows of the one process.
    filter: &'a Filter,
    database: &'a Database,
    strings: Texts<'a>,
    /// What is added to every time.
    shift_ns: i64,
    /// Ordinal of the process.
    process: u32,
    pid: u32,
}

fn write(context: &Context, destination: &mut Destination) -> Result<()> {
    match destination {
        Destination::Folder(folder) => {
            let processes = 0..context.frames.processes.len() as u32;
            processes.filter(|&process| context.filter.takes_process(process)).try_for_each(|process| {
                // Padded, so that the order of names is the order of processes.
                write_process(context, process, &folder.join(format!("process-{process:05}.nvvp")))
            })
        }
        _ => write_process(context, 0, destination.path()?),
    }
}

/// Writes one process.
fn write_process(context: &Context, process: u32, path: &Path) -> Result<()> {
    let database = Database::create(path)?;
    database.execute(&schema::create())?;
    Rows::of_existing(&database, &schema::VERSION_TABLE, &["version"]).add([schema::VERSION.into()])?;
    let mut texts = Rows::of_existing(&database, &schema::STRING_TABLE, &["_id_", "value"]);
    // What refers to no text refers to this one.
    texts.add([0u32.into(), "-- null --".into()])?;
    let known = context.frames.processes.get(process as usize);
    let mut writer = Writer {
        context,
        filter: &context.filter.within_process(process),
        database: &database,
        strings: Texts::new(&context.frames.names, texts),
        shift_ns: shift_ns(context)?,
        process,
        pid: known.and_then(|process| process.info.pid).unwrap_or(0),
    };
    target::write(&mut writer)?;
    activity::write(&mut writer)?;
    calls::write(&mut writer)?;
    about::write(&writer)?;
    records::write(&mut writer)?;
    directives::write(&mut writer)?;
    markers::write(&mut writer)?;
    drop(writer);
    context.count(database.inserted());
    database.finish()
}

/// A start of 0 means to nvprof that there was none, so a trace without an epoch is moved to begin after a second if it
/// begins there or before.
fn shift_ns(context: &Context) -> Result<i64> {
    const SECOND_NS: i64 = 1_000_000_000;
    let first = context.frames.time_span()?.map(|(first, _)| first).filter(|&first| first <= 0);
    Ok(first.map_or(0, |first| SECOND_NS.saturating_sub(first)))
}

impl Writer<'_> {
    /// Hands over the selected rows of one table, in order.
    fn each<R: Row>(&mut self, mut each: impl FnMut(&mut Self, R) -> Result<()>) -> Result<()> {
        self.each_of(&[R::TABLE], |writer, rows, i| each(writer, R::from_batch(rows, i)))
    }

    /// The same for several tables whose rows go into one.
    fn each_of(
        &mut self,
        tables: &[&'static TableSpec],
        mut each: impl FnMut(&mut Self, &columns::Batch, usize) -> Result<()>,
    ) -> Result<()> {
        let (frames, filter) = (self.context.frames, self.filter);
        frames.in_order(tables, filter, |chunk| chunk.iter().try_for_each(|(piece, i)| each(self, &piece.rows, i)))
    }

    /// Hands over the rows that define something, of all processes and whatever the filter keeps of the rest.
    fn each_defined<R: Row>(&mut self, mut each: impl FnMut(&mut Self, u32, R) -> Result<()>) -> Result<()> {
        self.context.frames.in_order(&[R::TABLE], &Filter::everything(), |chunk| {
            chunk.iter().try_for_each(|(piece, i)| each(self, piece.process, R::from_batch(&piece.rows, i)))
        })
    }

    fn at(&self, time_ns: i64) -> i64 {
        time_ns.saturating_add(self.shift_ns)
    }

    /// Start and end of a record; one without valid times has the end 0, by which nvprof knows it.
    fn span_of(&self, start_ns: i64, duration_ns: Option<i64>) -> (i64, i64) {
        let start = self.at(start_ns);
        (start, duration_ns.map_or(0, |duration_ns| start.saturating_add(duration_ns)))
    }

    /// The number of a name; 0 for none.
    fn name(&mut self, name: Option<u32>) -> Result<i64> {
        Ok(self.strings.name_if_any(name)?.unwrap_or(0))
    }
}

/// CUPTI's "does not apply".
const NOT_APPLICABLE: u32 = u32::MAX;

/// An id as CUPTI has it where it does not apply.
fn id_or_none(id: Option<u32>) -> u32 {
    id.unwrap_or(NOT_APPLICABLE)
}

/// The 32 bits of a correlation id.
fn correlation(id: u64) -> u32 {
    id as u32
}

/// A thread id, of which nvprof stores the low 32 bits of a pthread id, signed.
fn thread(tid: u32) -> i64 {
    i64::from(tid as i32)
}

/// An `objectId`: what it is depends on its kind. Process and thread, in 4 and 8 bytes.
fn process_object(pid: u32, tid: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&pid.to_le_bytes());
    bytes[4..8].copy_from_slice(&tid.to_le_bytes());
    bytes
}

/// The same for a stream: device, context, stream.
fn stream_object(device: u32, context: u32, stream: u32) -> [u8; 12] {
    let mut bytes = [0; 12];
    for (slot, id) in bytes.chunks_exact_mut(4).zip([device, context, stream]) {
        slot.copy_from_slice(&id.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_packed_as_cupti_packs_them() {
        assert_eq!(process_object(0xCEF1, 0xBC7A_9000), [0xF1, 0xCE, 0, 0, 0, 0x90, 0x7A, 0xBC, 0, 0, 0, 0]);
        assert_eq!(stream_object(1, 2, 7), [1, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(thread(3_162_134_464), -1_132_832_832);
    }
}
