//! Tables of `nsys stats` saved as CSV (`--format csv`): traces become records, summaries stay summaries. Report
//! names changed over the years and columns came and went, so the header of each table says what it is; several
//! tables and lines of other output may follow one another in one file.

mod records;

use self::records::Records;
use super::kineto::number::scaled;
use super::lines::{Lines, fields, separator_of, with_lines};
use super::units;
use super::{Head, Importer};
use crate::error::{Error, Result};
use crate::trace::names::readable;
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
        "tables of nsys stats saved as CSV"
    }

    fn sniff(&self, head: &Head) -> bool {
        let mut lines = head.text.split(|&byte| byte == b'\n').take(100);
        lines.any(|line| Table::of_header(line.strip_suffix(b"\r").unwrap_or(line)).is_some())
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let found = with_lines(path, sink, |lines, sink| {
            let mut reader =
                Reader { records: Records::new(need), found: Found::default(), sizes: Vec::new(), sink };
            reader.read(lines);
            reader.records.finish(reader.sink);
            reader.found.devices_lost = reader.records.devices_lost;
            reader.found
        })?;
        found.conclude(path, sink)
    }
}

/// What a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Sums of durations; the section unless a column `Category` says.
    Durations(Section),
    /// Sums of sizes.
    Sizes,
    /// `cuda_gpu_trace`.
    GpuTrace,
    /// `cuda_api_trace`.
    ApiTrace,
    /// `cuda_kern_exec_trace`.
    ExecTrace,
    /// `nvtx_pushpop_trace`.
    RangeTrace,
    /// Known, but nothing is made of it.
    Other,
}

/// The header of a table.
#[derive(Debug)]
pub struct Table {
    kind: Kind,
    /// Column names without units and spaces, in lower case, and the units.
    columns: Vec<(String, Vec<u8>)>,
    /// What parts its values.
    separator: u8,
}

impl Table {
    fn of_header(line: &[u8]) -> Option<Table> {
        let starts: [&[u8]; 10] = [
            b"Time (%)",
            b"Time(%)",
            b"\"Time",
            b"Start (",
            b"Start(",
            b"\"Start",
            b"Total (",
            b"API Start",
            b"PID,TID,DevId",
            b"Name,",
        ];
        let separator = separator_of(line);
        // Two of the beginnings hold a separator themselves.
        let begin = line.iter().take(40).map(|&byte| if byte == separator { b',' } else { byte });
        let begin: Vec<u8> = begin.collect();
        let is_start = starts.iter().any(|start| begin.starts_with(start)) || begin.starts_with(b"NVTX Range,");
        if !is_start || line.len() > 2000 {
            return None;
        }
        let columns: Vec<(String, Vec<u8>)> = fields(line, separator).iter().map(|name| split_unit(name)).collect();
        let has = |name: &str| columns.iter().any(|(known, _)| known == name);
        let sums = has("totaltime") && (has("min") || has("minimum")) && (has("max") || has("maximum"));
        let kind = if sums && (has("instances") || has("numcalls") || has("count")) {
            Kind::Durations(match (has("numcalls"), has("range"), has("nvtxrange") || has("style")) {
                (true, ..) => Section::Api,
                (_, true, _) | (_, _, true) => Section::Ranges,
                _ => Section::Gpu,
            })
        } else if has("total") && has("count") && has("operation") {
            Kind::Sizes
        } else if has("apistart") && has("kernelstart") && has("kernelname") {
            Kind::ExecTrace
        } else if has("start") && has("duration") && (has("grdx") || has("strm")) && has("name") {
            Kind::GpuTrace
        } else if has("start") && has("duration") && has("corrid") && has("name") {
            Kind::ApiTrace
        } else if has("start") && has("end") && has("rangeid") && has("name") {
            Kind::RangeTrace
        } else if (has("tavg") && has("kernelname")) || has("projectedstart") || has("nvtxinst") {
            Kind::Other
        } else {
            return None;
        };
        Some(Table { kind, columns, separator })
    }
}

/// `Total Time (ns)` is column `totaltime` in `ns`.
fn split_unit(name: &[u8]) -> (String, Vec<u8>) {
    let (name, unit) = match name.iter().position(|&byte| byte == b'(') {
        Some(open) => (&name[..open], name[open + 1..].strip_suffix(b")").unwrap_or_default()),
        None => (name, &b""[..]),
    };
    let letters = name.iter().filter(|byte| !byte.is_ascii_whitespace());
    (letters.map(|&byte| char::from(byte.to_ascii_lowercase())).collect(), unit.to_vec())
}

/// One row.
pub struct Row<'t> {
    table: &'t Table,
    cells: Vec<Vec<u8>>,
}

impl Row<'_> {
    /// The cell of a column and the column's unit; `None` if it has no value. Some versions write `None`.
    fn cell(&self, column: &str) -> Option<(&[u8], &[u8])> {
        let at = self.table.columns.iter().position(|(known, _)| known == column)?;
        let cell = self.cells.get(at)?.trim_ascii();
        (!matches!(cell, b"" | b"None" | b"-")).then(|| (cell, &self.table.columns[at].1[..]))
    }

    /// The text in a column.
    pub fn text(&self, column: &str) -> Option<&[u8]> {
        self.cell(column).map(|(cell, _)| cell)
    }

    /// The whole number in a column, which may have digit groups.
    pub fn integer(&self, column: &str) -> Option<i64> {
        let number = units::plain_number(self.text(column)?, self.table.separator)?;
        std::str::from_utf8(&number).ok()?.parse().ok()
    }

    /// An id.
    pub fn id<T: TryFrom<i64>>(&self, column: &str) -> Option<T> {
        T::try_from(self.integer(column)?).ok()
    }

    /// The time in a column; nanoseconds where the header says nothing.
    pub fn nanoseconds(&self, column: &str) -> Option<i64> {
        let (cell, unit) = self.cell(column)?;
        let digits = units::plain_number(cell, self.table.separator)?;
        let unit: &[u8] = match unit {
            b"" | b"nsec" => b"ns",
            b"usec" => b"us",
            b"msec" => b"ms",
            b"sec" => b"s",
            unit => unit,
        };
        units::nanoseconds(&digits, unit)
    }

    /// The size in a column: here a megabyte is a million bytes.
    pub fn bytes(&self, column: &str) -> Option<i64> {
        let (cell, unit) = self.cell(column)?;
        let scale = match unit {
            b"" | b"byte" | b"bytes" | b"B" => 0,
            b"KB" | b"kB" => 3,
            b"MB" => 6,
            b"GB" => 9,
            _ => return None,
        };
        scaled(&units::plain_number(cell, self.table.separator)?, scale)
    }

    fn first_time(&self, columns: &[&str]) -> Option<u64> {
        let found = columns.iter().find_map(|column| self.nanoseconds(column))?;
        u64::try_from(found).ok()
    }
}

struct Reader<'r, 's> {
    records: Records<'r>,
    found: Found,
    sizes: Vec<SizeRow>,
    sink: &'r mut Sink<'s>,
}

/// What was found, apart from rows.
#[derive(Default)]
struct Found {
    records: u64,
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
        loop {
            let number = lines.number + 1;
            let Some(line) = lines.next_record() else { break };
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
            if let Some(new) = Table::of_header(&line) {
                self.flush(&mut sums);
                self.begin(new.kind);
                table = Some(new);
                continue;
            }
            let Some(table) = &table else {
                lines.vouch();
                continue;
            };
            let cells = fields(&line, table.separator);
            let row = Row { table, cells };
            let taken = row.cells.len() == table.columns.len()
                && match table.kind {
                    Kind::Durations(section) => sum(&row, section, &mut sums),
                    Kind::Sizes => self.size(&row),
                    Kind::Other => true,
                    kind => self.record(kind, &row),
                };
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

    fn begin(&mut self, kind: Kind) {
        let found = &mut self.found;
        match kind {
            Kind::GpuTrace => found.gpu = true,
            Kind::ApiTrace => found.api = true,
            Kind::ExecTrace => found.launches = true,
            Kind::RangeTrace => found.ranges = true,
            Kind::Other => found.other += 1,
            Kind::Durations(_) | Kind::Sizes => {}
        }
    }

    fn record(&mut self, kind: Kind, row: &Row) -> bool {
        let taken = match kind {
            Kind::GpuTrace => self.records.gpu(self.sink, row),
            Kind::ApiTrace => self.records.call(self.sink, row),
            Kind::ExecTrace => self.records.launch(self.sink, row),
            _ => self.records.range(self.sink, row),
        };
        self.found.records += u64::from(taken.is_some());
        taken.is_some()
    }

    fn size(&mut self, row: &Row) -> bool {
        let (Some(count), Some(name)) = (row.text("count").and_then(units::count), row.text("operation")) else {
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
        if !self.sizes.is_empty() {
            let content = Content::Sizes(std::mem::take(&mut self.sizes));
            self.sink.summary(Summary { maker: "nsys stats", pid: None, content });
        }
    }
}

fn sum(row: &Row, section: Section, sums: &mut Vec<(Section, DurationRows)>) -> bool {
    let counts = ["instances", "numcalls", "count"];
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
        None => section,
    };
    let at = sums.iter().position(|(known, _)| *known == section).unwrap_or_else(|| {
        sums.push((section, DurationRows::default()));
        sums.len() - 1
    });
    let name = readable(name).into_owned();
    sums[at].1.add(DurationRow { name, calls, total_ns, min_ns, max_ns, mean_ns: None });
    true
}

/// What `nsys stats` says between its tables.
fn is_talk(line: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [b"Processing [", b"Generating ", b"NOTICE:", b"Using ", b"Exporting ", b"WARNING:"];
    starts.iter().any(|start| line.starts_with(start)) || line.starts_with(b" ** ")
}

impl Found {
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
        sink.origin = format!("{what} by nsys stats (CSV)");
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
        if self.other > 0 {
            let other = self.other;
            sink.note("left-out", format!("{shown}: {other} tables of other kinds are not read"));
        }
        if self.not_rows > 0 {
            let (count, first) = (self.not_rows, self.first_not_row);
            sink.note(
                "left-out",
                format!(
                    "{shown}: {count} lines among the rows are not rows and are left out; the first is line {first}"
                ),
            );
        }
        Ok(())
    }
}
