//! Tables of `nsys stats` and `nsys profile --stats=true`, saved as CSV or as they were printed: traces become records,
//! summaries stay summaries. Report names changed over the years and columns came and went, so the header of each table
//! says what it is; several tables and lines of other output may follow one another in one file.

mod records;
mod table;

use self::records::Records;
use self::table::{Row, Table, TableKind};
use super::lines::{Lines, note_not_rows, with_lines};
use super::shares::Shares;
use super::units;
use super::{Head, Importer};
use crate::demangle::readable;
use crate::error::{Error, Result};
use crate::numbers::{counted, items};
use crate::trace::sink::{Need, Sink};
use crate::trace::summaries::{Content, DurationRow, DurationRows, Section, SizeRow, Summary};
use std::path::Path;

/// Reads tables of `nsys stats`.
pub struct NsysStats;

impl Importer for NsysStats {
    fn name(&self) -> &'static str {
        "nsys-stats"
    }

    fn describes(&self) -> &'static str {
        "tables of nsys stats saved as CSV or as they were printed"
    }

    fn sniff(&self, head: &Head) -> bool {
        // What the program printed may stand before tables that were printed behind it.
        let lines = head.text.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let mut before: &[u8] = b"";
        lines.enumerate().any(|(number, line)| {
            let is_csv = number < 100 && Table::of_header(line).is_some();
            let is_printed = Table::of_printed(b"", before, line).is_some();
            before = line;
            is_csv || is_printed
        })
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let found = with_lines(path, sink, |lines, sink| {
            let mut reader = Reader {
                records: Records::new(need),
                found: StatsFacts::default(),
                sizes: Vec::new(),
                shares: Shares::default(),
                sink,
            };
            reader.read(lines);
            reader.shares.note(path, reader.sink);
            reader.records.finish(reader.sink);
            reader.found.devices_lost = reader.records.devices_lost;
            reader.found
        })?;
        found.conclude(path, sink)
    }
}

struct Reader<'r, 's> {
    records: Records<'r>,
    found: StatsFacts,
    sizes: Vec<SizeRow>,
    /// Shares of the table that is being read.
    shares: Shares,
    sink: &'r mut Sink<'s>,
}

/// What was found, apart from rows.
#[derive(Default)]
struct StatsFacts {
    records: u64,
    /// Tables as they were printed, which are text.
    printed: bool,
    /// Names that were cut to the width of the table.
    cut_names: u64,
    gpu: bool,
    api: bool,
    launches: bool,
    ranges: bool,
    other: u64,
    not_rows: u64,
    first_not_row: u64,
    skipped: u64,
    devices_lost: bool,
}

impl Reader<'_, '_> {
    fn read(&mut self, lines: &mut Lines) {
        let mut table: Option<Table> = None;
        let mut sums: Vec<(Section, DurationRows)> = Vec::new();
        // The two lines before, blank ones apart: the title of a printed table and its header.
        let (mut title, mut before): (Vec<u8>, Vec<u8>) = Default::default();
        loop {
            let number = lines.number + 1;
            // A quote is part of a name where columns are of a width.
            let is_printed = table.as_ref().is_some_and(Table::is_printed);
            let next = if is_printed { lines.next().map(<[u8]>::to_vec) } else { lines.next_record() };
            let Some(line) = next else { break };
            if line.trim_ascii().is_empty() {
                self.flush(&mut sums);
                table = None;
                lines.vouch();
                continue;
            }
            if line.starts_with(b"SKIPPED:") {
                lines.vouch();
                self.found.skipped += 1;
                continue;
            }
            if let Some(new) = Table::of_header(&line).or_else(|| Table::of_printed(&title, &before, &line)) {
                self.flush(&mut sums);
                self.begin(new.kind);
                self.found.printed |= new.is_printed();
                table = Some(new);
                continue;
            }
            let Some(table) = &table else {
                title = std::mem::replace(&mut before, line);
                lines.vouch();
                continue;
            };
            let row = table.row(&line);
            self.found.cut_names += u64::from(row.as_ref().is_some_and(Row::has_cut_name));
            let taken = row.is_some_and(|row| match table.kind {
                TableKind::Durations(section) => sum(&row, section, &mut sums, &mut self.shares),
                TableKind::Sizes => self.size(&row),
                TableKind::Other => true,
                kind => self.record(kind, &row),
            });
            if !taken && !is_talk(&line) {
                if self.found.not_rows == 0 {
                    self.found.first_not_row = number;
                }
                self.found.not_rows += 1;
            } else if !taken {
                lines.vouch();
            }
        }
        self.flush(&mut sums);
    }

    fn begin(&mut self, kind: TableKind) {
        let found = &mut self.found;
        match kind {
            TableKind::GpuTrace => found.gpu = true,
            TableKind::ApiTrace => found.api = true,
            TableKind::ExecTrace => found.launches = true,
            TableKind::RangeTrace => found.ranges = true,
            TableKind::Other => found.other += 1,
            TableKind::Durations(_) | TableKind::Sizes => {}
        }
    }

    fn record(&mut self, kind: TableKind, row: &Row) -> bool {
        let taken = match kind {
            TableKind::GpuTrace => self.records.gpu(self.sink, row),
            TableKind::ApiTrace => self.records.call(self.sink, row),
            TableKind::ExecTrace => self.records.launch(self.sink, row),
            _ => self.records.range(self.sink, row),
        };
        self.found.records += u64::from(taken.is_some());
        taken.is_some()
    }

    fn size(&mut self, row: &Row) -> bool {
        let count = row.integer("count").or(row.integer("operations")).and_then(|count| u64::try_from(count).ok());
        let (Some(count), Some(name)) = (count, row.text("operation").or(row.text("name"))) else {
            return false;
        };
        self.sizes.push(SizeRow {
            device: String::new(),
            name: readable(name).into_owned(),
            count: Some(count),
            total_bytes: row.bytes("total"),
            min_bytes: row.bytes("min").or(row.bytes("minimum")),
            max_bytes: row.bytes("max").or(row.bytes("maximum")),
            total_ns: None,
        });
        true
    }

    /// A table ended: hands over its sums. Two tables may sum the same records, so they are never added up.
    fn flush(&mut self, sums: &mut Vec<(Section, DurationRows)>) {
        for (section, rows) in std::mem::take(sums) {
            let content = Content::Durations(section, rows.finish());
            self.sink.summary(Summary { maker: "nsys stats", pid: None, content });
        }
        self.shares.end();
        if !self.sizes.is_empty() {
            let content = Content::Sizes(std::mem::take(&mut self.sizes));
            self.sink.summary(Summary { maker: "nsys stats", pid: None, content });
        }
    }
}

fn sum(row: &Row, section: Section, sums: &mut Vec<(Section, DurationRows)>, shares: &mut Shares) -> bool {
    let counts = ["instances", "numcalls", "count", "calls", "operations"];
    let calls = counts.iter().find_map(|column| units::count(&row.integer(column)?.to_string().into_bytes()));
    let names = ["name", "operation", "range", "kernelname", "nvtxrange"];
    let name = names.iter().find_map(|column| row.text(column));
    let (Some(calls), Some(name), Some(total_ns)) = (calls, name, row.first_time(&["totaltime"])) else {
        return false;
    };
    let (Some(min_ns), Some(max_ns)) = (row.first_time(&["min", "minimum"]), row.first_time(&["max", "maximum"]))
    else {
        return false;
    };
    let section = match row.text("category") {
        Some(b"CUDA_API") => Section::Api,
        Some(_) => Section::Gpu,
        // Sums of calls of the operating system have the same columns as those of CUDA's.
        None if section == Section::Api && !is_of_cuda(name) => Section::HostCalls,
        None => section,
    };
    let at = sums.iter().position(|(known, _)| *known == section).unwrap_or_else(|| {
        sums.push((section, DurationRows::default()));
        sums.len() - 1
    });
    let name = readable(name).into_owned();
    shares.add(row.share().as_deref(), total_ns);
    sums[at].1.add(DurationRow { name, calls, total_ns, extremes_ns: Some((min_ns, max_ns)), mean_ns: None });
    true
}

/// Whether a function is of the CUDA runtime or driver: `cudaMalloc`, `cuMemAlloc`.
fn is_of_cuda(name: &[u8]) -> bool {
    let behind = name.strip_prefix(b"cu").and_then(<[u8]>::first);
    name.starts_with(b"cuda") || behind.is_some_and(u8::is_ascii_uppercase)
}

/// What `nsys stats` says between its tables.
fn is_talk(line: &[u8]) -> bool {
    let starts: [&[u8]; 8] = [
        b"Processing [",
        b"Generating ",
        b"NOTICE:",
        b"Using ",
        b"Exporting ",
        b"WARNING:",
        b"Generated:",
        b" ** ",
    ];
    let is_step = line.starts_with(b"[") && line.windows(12).any(|words| words == b"] Executing ");
    is_step || starts.iter().any(|start| line.starts_with(start))
}

impl StatsFacts {
    fn conclude(self, path: &Path, sink: &mut Sink) -> Result<()> {
        let summaries = sink.summaries.len();
        let shown = path.display();
        if self.records == 0 && summaries == 0 {
            let why = match (self.other, self.skipped) {
                (0, 0) => "a table of nsys stats without rows",
                (0, _) => "a table of nsys stats that says only that there is no such data",
                _ => {
                    "a table of nsys stats of which gpuprof makes nothing: it has sums of launches or ranges alone"
                }
            };
            return Err(Error::at(path, why).remedy(
                "run `nsys export --type sqlite` on the report it was made from and open what that writes",
            ));
        }
        let what = match (self.records > 0, summaries > 0) {
            (true, true) => "traces and summaries",
            (true, false) => "trace",
            _ => "summary",
        };
        let form = if self.printed { "text" } else { "CSV" };
        sink.origin = format!("{what} by nsys stats ({form})");
        if self.records > 0 {
            let missing = match (self.gpu, self.api || self.launches) {
                (true, false) => "it lists GPU work alone, so no API call is known",
                (false, true) if self.launches => {
                    "it lists kernels and the calls that launched them, no copies and no other calls"
                }
                (false, true) => "it lists API calls alone, so nothing of the GPU is known",
                (false, false) => "it lists ranges alone",
                (true, true) => "NVTX ranges are not in it",
            };
            let sizes = if self.gpu { "; sizes are rounded to kilobytes" } else { "" };
            sink.note("printed-trace", format!("{shown}: a trace as nsys stats printed it: {missing}{sizes}"));
        }
        if summaries > 0 {
            sink.note(
                "summary-only",
                format!("{shown}: holds sums that nsys stats printed, no records behind them: they are shown as they are, and no listing, view or filter knows them"),
            );
        }
        if self.devices_lost {
            sink.note(
                "device-ids-lost",
                format!("{shown}: some devices have no number: they are taken for device 0"),
            );
        }
        if self.cut_names > 0 {
            let cut = counted(self.cut_names, "name");
            sink.note(
                "names-cut",
                format!("{shown}: nsys stats cut {cut} to the width of its table; what begins alike is one row"),
            );
        }
        if self.other > 0 {
            let other = items(self.other, "table of another kind is", "tables of other kinds are");
            sink.note("left-out", format!("{shown}: {other} not read"));
        }
        note_not_rows(path, self.not_rows, self.first_not_row, sink);
        Ok(())
    }
}
