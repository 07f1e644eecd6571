//! Tables of AMD's rocprof saved as CSV: sums of calls and kernels by name (`--stats`) stay sums, and the list of kernels
//! becomes records. What else rocprof knows stands in the JSON file that it writes beside them.

use super::lines::{Lines, fields, note_not_rows, with_lines};
use super::units;
use super::{Head, Importer};
use crate::demangle::readable;
use crate::error::{Error, Result};
use crate::trace::sink::{Need, ProcessInfo, ProcessIx, Sink, valid_duration};
use crate::trace::summaries::{Content, DurationRow, DurationRows, Section, Summary};
use hashbrown::HashMap;
use std::path::Path;
use trace_format::tables::{self, KernelRow, ShapeRow};

/// Reads rocprof's CSV.
pub struct RocprofCsv;

impl Importer for RocprofCsv {
    fn name(&self) -> &'static str {
        "rocprof-csv"
    }

    fn describes(&self) -> &'static str {
        "tables of AMD's rocprof saved as CSV: sums by name, kernels"
    }

    fn sniff(&self, head: &Head) -> bool {
        let line = head.text.split(|&byte| byte == b'\n').next().unwrap_or_default();
        Table::of_header(line.strip_suffix(b"\r").unwrap_or(line)).is_some()
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let found = with_lines(path, sink, |lines, sink| {
            let header = lines.next().and_then(Table::of_header)?;
            let mut reader =
                Reader { table: header, need, sink, processes: HashMap::new(), found: RocprofFacts::default() };
            reader.read(lines);
            Some(reader.found)
        })?;
        // The head of the file had the header.
        let Some(found) = found else {
            return Err(Error::at(path, "a table of rocprof that changed while it was read"));
        };
        found.conclude(path, sink)
    }
}

/// What the rows are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TableKind {
    /// Sums by name.
    Sums,
    /// One kernel each.
    Kernels,
}

/// The header.
struct Table {
    kind: TableKind,
    columns: Vec<Vec<u8>>,
}

impl Table {
    fn of_header(line: &[u8]) -> Option<Table> {
        if line.len() > 2000 {
            return None;
        }
        let columns = fields(line, b',');
        let has = |names: &[&[u8]]| names.iter().all(|name| columns.iter().any(|known| known == name));
        let kind = if has(&[b"Name", b"Calls", b"TotalDurationNs"]) {
            TableKind::Sums
        } else if has(&[b"KernelName", b"BeginNs", b"EndNs"]) {
            TableKind::Kernels
        } else {
            return None;
        };
        Some(Table { kind, columns })
    }
}

/// The cells of one row.
struct Row<'t> {
    table: &'t Table,
    cells: Vec<Vec<u8>>,
}

impl Row<'_> {
    fn text(&self, column: &[u8]) -> Option<&[u8]> {
        let at = self.table.columns.iter().position(|known| known == column)?;
        self.cells.get(at).map(|cell| cell.trim_ascii()).filter(|cell| !cell.is_empty())
    }

    fn integer(&self, column: &[u8]) -> Option<i64> {
        units::nanoseconds(self.text(column)?, b"ns")
    }

    fn count(&self, column: &[u8]) -> Option<u64> {
        u64::try_from(self.integer(column)?).ok()
    }

    fn id(&self, column: &[u8]) -> Option<u32> {
        u32::try_from(self.integer(column)?).ok()
    }
}

/// What was found.
#[derive(Default)]
struct RocprofFacts {
    sums: Vec<(Section, DurationRows)>,
    kernels: u64,
    not_rows: u64,
    first_not_row: u64,
}

struct Reader<'r, 's> {
    table: Table,
    need: &'r Need,
    sink: &'r mut Sink<'s>,
    processes: HashMap<Option<u32>, ProcessIx>,
    found: RocprofFacts,
}

/// Processes told apart at most; a process costs memory even without rows.
const PROCESSES: usize = 1000;

impl Reader<'_, '_> {
    fn read(&mut self, lines: &mut Lines) {
        loop {
            let number = lines.number + 1;
            let Some(line) = lines.next_record() else { break };
            if line.trim_ascii().is_empty() {
                lines.vouch();
                continue;
            }
            let cells = fields(&line, b',');
            let taken = cells.len() == self.table.columns.len() && self.row(cells);
            if !taken {
                if self.found.not_rows == 0 {
                    self.found.first_not_row = number;
                }
                self.found.not_rows += 1;
            }
        }
    }

    fn row(&mut self, cells: Vec<Vec<u8>>) -> bool {
        let row = Row { table: &self.table, cells };
        match self.table.kind {
            TableKind::Sums => sum(&row, &mut self.found.sums),
            TableKind::Kernels => {
                let Some((pid, kernel, name)) = kernel(&row) else { return false };
                let Some(process) = self.process(pid) else { return false };
                self.found.kernels += 1;
                if self.need.wants(&tables::KERNEL) {
                    let name_id = self.sink.name(&name);
                    let shape_id =
                        self.sink.shape(ShapeRow { name_id, demangled_id: Some(name_id), ..ShapeRow::default() });
                    self.sink.push(process, KernelRow { shape_id, ..kernel });
                }
                true
            }
        }
    }

    fn process(&mut self, pid: Option<u32>) -> Option<ProcessIx> {
        if let Some(&known) = self.processes.get(&pid) {
            return Some(known);
        }
        let has_room = self.processes.len() < PROCESSES;
        has_room.then(|| {
            let process = self.sink.process(ProcessInfo { pid, ..ProcessInfo::default() });
            self.processes.insert(pid, process);
            process
        })
    }
}

/// Adds a row of sums. Nothing but its name says what it sums.
fn sum(row: &Row, sums: &mut Vec<(Section, DurationRows)>) -> bool {
    let (Some(name), Some(calls), Some(total_ns)) =
        (row.text(b"Name"), row.count(b"Calls"), row.count(b"TotalDurationNs"))
    else {
        return false;
    };
    let is_call = |prefix: &[u8]| {
        name.strip_prefix(prefix)
            .and_then(<[u8]>::first)
            .is_some_and(|byte| byte.is_ascii_uppercase() || *byte == b'_')
    };
    let section = if is_call(b"hip") || is_call(b"hsa") || is_call(b"__hip") { Section::Api } else { Section::Gpu };
    let at = sums.iter().position(|(known, _)| *known == section).unwrap_or_else(|| {
        sums.push((section, DurationRows::default()));
        sums.len() - 1
    });
    // Version 1 prints neither.
    let extremes_ns = row.count(b"MinNs").zip(row.count(b"MaxNs"));
    let name = readable(name).into_owned();
    sums[at].1.add(DurationRow { name, calls, total_ns, extremes_ns, mean_ns: None });
    true
}

/// A row of the list of kernels: its process, the record and the name.
fn kernel(row: &Row) -> Option<(Option<u32>, KernelRow, Vec<u8>)> {
    let (start_ns, end_ns) = (row.integer(b"BeginNs")?, row.integer(b"EndNs")?);
    let name = row.text(b"KernelName")?;
    let kernel = KernelRow {
        start_ns,
        duration_ns: valid_duration(start_ns, end_ns),
        device: row.id(b"gpu-id").unwrap_or(0),
        stream: row.id(b"queue-id").unwrap_or(0),
        ..KernelRow::default()
    };
    // It marks what runs on the device.
    let name = name.strip_suffix(b" [clone .kd]").or(name.strip_suffix(b".kd")).unwrap_or(name);
    Some((row.id(b"pid"), kernel, name.to_vec()))
}

impl RocprofFacts {
    fn conclude(self, path: &Path, sink: &mut Sink) -> Result<()> {
        let has_sums = self.sums.iter().any(|(_, rows)| !rows.is_empty());
        if self.kernels == 0 && !has_sums {
            return Err(Error::at(path, "a table of rocprof without rows")
                .remedy("open the .json file that `rocprof --hip-trace` writes beside it"));
        }
        note_not_rows(path, self.not_rows, self.first_not_row, sink);
        let shown = path.display();
        if has_sums {
            sink.origin = "summary by rocprof (CSV)".to_owned();
            sink.note(
                "summary-only",
                format!("{shown}: holds sums that rocprof printed, no records behind them: they are shown as they are, and no listing, view or filter knows them"),
            );
        } else {
            sink.origin = "kernels listed by rocprof (CSV)".to_owned();
            sink.note(
                "printed-trace",
                format!("{shown}: it lists kernels alone: copies and calls stand in the .json file that `rocprof --hip-trace` writes beside it"),
            );
        }
        for (section, rows) in self.sums {
            sink.summary(Summary {
                maker: "rocprof",
                pid: None,
                content: Content::Durations(section, rows.finish()),
            });
        }
        Ok(())
    }
}
