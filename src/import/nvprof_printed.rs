//! What nvprof printed: traces (`--print-gpu-trace`, `--print-api-trace`) become records, summaries stay summaries.
//! Text and CSV, every version from CUDA 5.5 to 12; the program's own output may stand around and between.

mod table;
mod trace;

use self::table::{Row, Table, TableKind};
use self::trace::Traces;
use super::lines::{Lines, note_not_rows, with_lines};
use super::shares::Shares;
use super::units;
use super::{Head, Importer};
use crate::demangle::readable;
use crate::error::{Error, Result};
use crate::numbers::items;
use crate::trace::sink::{Need, Sink};
use crate::trace::summaries::{Content, DurationRow, DurationRows, Section, SizeRow, Summary};
use std::path::Path;

/// Reads what nvprof printed.
pub struct NvprofPrinted;

impl Importer for NvprofPrinted {
    fn name(&self) -> &'static str {
        "nvprof-printed"
    }

    fn describes(&self) -> &'static str {
        "traces and summaries that nvprof printed, text or CSV"
    }

    fn sniff(&self, head: &Head) -> bool {
        let mut lines = head.text.split(|&byte| byte == b'\n').take(500);
        lines.any(|line| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            Message::of(line).is_some_and(|message| message.is_of_nvprof()) || Table::of_header(line).is_some()
        })
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let found = with_lines(path, sink, |lines, sink| {
            let mut reader = Reader::new(need, sink);
            reader.read(lines);
            reader.finish(path)
        })?;
        found.conclude(path, sink)
    }
}

/// A line of nvprof itself: `==531== Profiling result:`, or with eight `=` where no process is meant.
struct Message<'l> {
    pid: Option<u32>,
    text: &'l [u8],
}

impl<'l> Message<'l> {
    fn of(line: &'l [u8]) -> Option<Message<'l>> {
        if let Some(text) = line.strip_prefix(b"======== ") {
            return Some(Message { pid: None, text });
        }
        let rest = line.strip_prefix(b"==")?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = rest[digits..].strip_prefix(b"== ").filter(|_| digits > 0)?;
        let pid = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok();
        Some(Message { pid, text })
    }

    /// Valgrind's lines begin in the same way.
    fn is_of_nvprof(&self) -> bool {
        let known: [&[u8]; 8] = [
            b"NVPROF is profiling",
            b"Profiling application:",
            b"Profiling result:",
            b"Unified Memory profiling result:",
            b"Metric result:",
            b"Event result:",
            b"CPU profiling result",
            b"API calls:",
        ];
        known.iter().any(|start| self.text.starts_with(start))
    }
}

/// What the next table is about, as the last message says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum About {
    /// GPU work, or whatever the column `Type` says.
    Result,
    /// API calls: before CUDA 9 they had a table of their own.
    Api,
    /// One NVTX range; the same records stand in the tables before.
    Range,
    /// Something without times.
    Nothing,
}

/// Reads one file.
struct Reader<'r, 's> {
    sink: &'r mut Sink<'s>,
    traces: Traces<'r>,
    pid: Option<u32>,
    about: About,
    device: String,
    sums: Vec<((Option<u32>, Section), DurationRows)>,
    section: Option<Section>,
    /// Shares of the section that is being read.
    shares: Shares,
    shares_of: Option<Section>,
    sizes: Vec<(Option<u32>, Vec<SizeRow>)>,
    found: PrintedFacts,
}

/// What was found, apart from rows.
#[derive(Default)]
struct PrintedFacts {
    csv: bool,
    gpu_rows: u64,
    api_rows: u64,
    summary: bool,
    counters: bool,
    cpu_sampling: bool,
    openacc_trace: bool,
    ranges: bool,
    not_rows: u64,
    first_not_row: u64,
    invalid: u64,
    whole_microseconds: bool,
    whole_durations: bool,
    text_times: bool,
    devices_cut: bool,
    /// A listing of GPU work in text, and what nvprof explains below it has not been met.
    unexplained: bool,
}

/// Different summaries kept at most: one per process and section.
const SUMMARIES: usize = 10_000;

impl<'r, 's> Reader<'r, 's> {
    fn new(need: &'r Need, sink: &'r mut Sink<'s>) -> Self {
        Reader {
            sink,
            traces: Traces::new(need),
            pid: None,
            about: About::Result,
            device: String::new(),
            sums: Vec::new(),
            section: None,
            shares: Shares::default(),
            shares_of: None,
            sizes: Vec::new(),
            found: PrintedFacts::default(),
        }
    }

    fn read(&mut self, lines: &mut Lines) {
        let mut table: Option<Table> = None;
        loop {
            let number = lines.number + 1;
            let Some(line) = lines.next() else { return };
            if let Some(message) = Message::of(line) {
                table = None;
                self.message(&message);
                lines.vouch();
                continue;
            }
            if line.trim_ascii().is_empty() {
                table = None;
                lines.vouch();
                continue;
            }
            if let Some(new) = Table::of_header(line) {
                self.begin(&new);
                table = Some(new);
                continue;
            }
            let Some(table) = &mut table else {
                self.found.unexplained &= !line.starts_with(b"Regs: ");
                lines.vouch();
                continue;
            };
            if table.takes_units(line) {
                continue;
            }
            if !self.row(table, line) {
                if self.found.not_rows == 0 {
                    self.found.first_not_row = number;
                }
                self.found.not_rows += 1;
            }
        }
    }

    fn message(&mut self, message: &Message) {
        let text = message.text;
        let is = |start: &[u8]| text.starts_with(start);
        if is(b"Profiling result:") || is(b"Unified Memory profiling result:") {
            self.pid = message.pid;
            self.about = About::Result;
            self.section = None;
            self.device.clear();
        } else if is(b"API calls:") {
            self.about = About::Api;
        } else if is(b"NVTX result:") {
            self.about = About::Range;
        } else if is(b"Metric result:") || is(b"Event result:") {
            self.about = About::Nothing;
            self.found.counters = true;
        } else if is(b"CPU profiling result") {
            self.about = About::Nothing;
            self.found.cpu_sampling = true;
        } else if let Some(rest) = text.strip_prefix(b"Device \"") {
            self.device = readable(rest.strip_suffix(b"\"").unwrap_or(rest)).into_owned();
        } else if let Some(rest) = text.strip_prefix(b"Warning: ")
            && let Some(at) = rest.windows(30).position(|w| w == b" records have invalid timestam")
        {
            self.found.invalid += units::count(&rest[..at]).unwrap_or(0);
        }
    }

    fn begin(&mut self, table: &Table) {
        let found = &mut self.found;
        found.csv |= table.csv;
        found.unexplained |= table.is_explained_below();
        self.shares.end();
        self.shares_of = None;
        self.section = match self.about {
            About::Api => Some(Section::Api),
            _ => Some(Section::Gpu),
        };
        match (self.about, table.kind) {
            (About::Nothing, _) | (_, TableKind::GpuTrace | TableKind::ApiTrace | TableKind::Sizes) => {}
            (About::Range, _) => found.ranges = true,
            (_, TableKind::Summary) => found.summary = true,
            (_, TableKind::OpenaccTrace) => found.openacc_trace = true,
        }
    }

    /// Takes one row; false if the line is none.
    fn row(&mut self, table: &Table, line: &[u8]) -> bool {
        if matches!(self.about, About::Nothing | About::Range) {
            return true;
        }
        if table.kind == TableKind::Sizes {
            return self.size(table, line);
        }
        // The notes below a trace, which follow an empty line, and the dashes of none of them get here.
        let Some(row) = table.row(line) else { return false };
        match table.kind {
            TableKind::Summary => self.sum(&row),
            TableKind::GpuTrace | TableKind::ApiTrace => {
                let Some(is_api) = self.traces.row(self.sink, self.pid, &row) else { return false };
                *(if is_api { &mut self.found.api_rows } else { &mut self.found.gpu_rows }) += 1;
                self.found.text_times |= !table.csv;
                self.found.whole_microseconds |= row.unit("Start") == b"s";
                self.found.whole_durations |= row.unit("Duration") == b"s";
                true
            }
            TableKind::OpenaccTrace => true,
            TableKind::Sizes => false,
        }
    }

    fn sum(&mut self, row: &Row) -> bool {
        if let Some(label) = row.get("Type").filter(|label| !label.is_empty()) {
            self.section = Some(match label.strip_suffix(b":").unwrap_or(label) {
                b"GPU activities" => Section::Gpu,
                b"API calls" => Section::Api,
                b"OpenACC (excl)" => Section::OpenaccExclusive,
                b"OpenACC (incl)" => Section::OpenaccInclusive,
                label if label.starts_with(b"OpenMP") => Section::Openmp,
                b"Range" => Section::Ranges,
                _ => return false,
            });
        }
        let Some(section) = self.section else { return false };
        let time = |column| u64::try_from(row.nanoseconds(column)?).ok();
        let (Some(calls), Some(total_ns), Some(name)) =
            (row.get("Calls").and_then(units::count), time("Time"), row.get("Name"))
        else {
            return false;
        };
        let (Some(min_ns), Some(max_ns)) = (time("Min"), time("Max")) else { return false };
        let name = readable(trace::without_correlation(name).0).into_owned();
        let key = (self.pid, section);
        let at = match self.sums.iter().position(|(known, _)| *known == key) {
            Some(at) => at,
            None if self.sums.len() >= SUMMARIES => return false,
            None => {
                self.sums.push((key, DurationRows::default()));
                self.sums.len() - 1
            }
        };
        if self.shares_of.replace(section) != Some(section) {
            self.shares.end();
        }
        self.shares.add(row.share().as_deref(), total_ns);
        let extremes_ns = Some((min_ns, max_ns));
        self.sums[at].1.add(DurationRow { name, calls, total_ns, extremes_ns, mean_ns: time("Avg") });
        true
    }

    /// A row of the unified memory summary, or one of the counts below it.
    fn size(&mut self, table: &Table, line: &[u8]) -> bool {
        let size = if let Some(total) = line.strip_prefix(b"Total ")
            && let Some(colon) = total.iter().rposition(|&byte| byte == b':')
        {
            let name = readable(&total[..colon]).into_owned();
            let Some(count) = units::count(total[colon + 1..].trim_ascii()) else { return false };
            SizeRow { name, count: Some(count), ..SizeRow::default() }
        } else {
            let Some(row) = table.row(line) else { return false };
            let Some(name) = row.get("Name").filter(|name| !name.is_empty()) else { return false };
            let name = readable(name).into_owned();
            let device = row.get("Device").map_or(self.device.clone(), |d| readable(d).into_owned());
            let counted = row.get("Count").and_then(units::count);
            let total = row.bytes("Total Size");
            // In CSV the number of page fault groups stands under `Total Size`, with a B behind it.
            let is_count = counted.is_none() && name.to_ascii_lowercase().contains("fault");
            SizeRow {
                device,
                name,
                count: counted.or(total.filter(|_| is_count).and_then(|n| u64::try_from(n).ok())),
                total_bytes: total.filter(|_| !is_count),
                min_bytes: row.bytes("Min Size"),
                max_bytes: row.bytes("Max Size"),
                // CSV has 0 here whatever it took.
                total_ns: row.nanoseconds("Total Time").filter(|_| !table.csv),
            }
        };
        if let Some((_, rows)) = self.sizes.iter_mut().find(|(pid, _)| *pid == self.pid) {
            rows.push(size);
            return true;
        }
        let has_room = self.sizes.len() < SUMMARIES;
        if has_room {
            self.sizes.push((self.pid, vec![size]));
        }
        has_room
    }

    fn finish(self, path: &Path) -> PrintedFacts {
        let Reader { sink, traces, sums, sizes, shares, mut found, .. } = self;
        shares.note(path, sink);
        found.devices_cut = traces.devices_cut;
        for ((pid, section), rows) in sums {
            let content = Content::Durations(section, rows.finish());
            sink.summary(Summary { maker: "nvprof", pid, content });
        }
        for (pid, rows) in sizes {
            found.summary = true;
            sink.summary(Summary { maker: "nvprof", pid, content: Content::Sizes(rows) });
        }
        found
    }
}

impl PrintedFacts {
    fn conclude(self, path: &Path, sink: &mut Sink) -> Result<()> {
        let records = self.gpu_rows + self.api_rows;
        if records == 0 && sink.summaries.is_empty() {
            return Err(self.nothing(path));
        }
        let form = if self.csv { "CSV" } else { "text" };
        let what = match (records > 0, self.summary) {
            (true, true) => "trace and summary",
            (true, false) => "trace",
            _ => "summary",
        };
        sink.origin = format!("{what} printed by nvprof ({form})");
        let shown = path.display();
        if records > 0 {
            let missing = match (self.gpu_rows, self.api_rows) {
                (0, _) => "it lists API calls alone, so nothing of the GPU is known",
                (_, 0) => "it lists GPU work alone, so no API call is known",
                _ => "launches of driver calls and threads are not in it",
            };
            let rounded = match (self.text_times, self.whole_microseconds) {
                (true, _) => "times have the four to six digits that were printed",
                (false, true) if self.whole_durations => "times are in whole microseconds",
                (false, true) => "starts are in whole microseconds",
                (false, false) => "times are in nanoseconds",
            };
            sink.note(
                "printed-trace",
                format!("{shown}: a trace as nvprof printed it: {rounded}, counted from its first record or its program's start; {missing}"),
            );
        }
        if self.summary {
            sink.note(
                "summary-only",
                format!("{shown}: holds sums that nvprof printed, no records behind them: they are shown as they are, and no listing, view or filter knows them"),
            );
        }
        if self.devices_cut {
            sink.note(
                "device-ids-lost",
                format!(
                    "{shown}: nvprof cut names of devices off before their number: they are all taken for device 0"
                ),
            );
        }
        if self.unexplained {
            sink.note(
                "incomplete-file",
                format!("{shown}: what nvprof explains below a listing (\"Regs: …\") is not there: the file may have been cut off at the end of a line; print it again to have all"),
            );
        }
        if self.invalid > 0 {
            let invalid =
                items(self.invalid, "record with an invalid timestamp", "records with invalid timestamps");
            sink.note("invalid-timestamps", format!("{shown}: nvprof left out {invalid}"));
        }
        let left_out = [
            (self.counters, "counters of kernels"),
            (self.cpu_sampling, "CPU samples"),
            (self.openacc_trace, "the list of OpenACC regions"),
            (self.ranges, "tables of single NVTX ranges"),
        ];
        let left_out: Vec<&str> = left_out.iter().filter(|(is, _)| *is).map(|(_, what)| *what).collect();
        if !left_out.is_empty() {
            sink.note("left-out", format!("{shown}: {} are not read", left_out.join(", ")));
        }
        note_not_rows(path, self.not_rows, self.first_not_row, sink);
        Ok(())
    }

    fn nothing(&self, path: &Path) -> Error {
        if self.counters {
            return Error::at(
                path,
                "printed output of nvprof with counters of kernels (--metrics or --events), which hold no times",
            )
            .remedy("record times with gpuprof, or without these options");
        }
        if self.openacc_trace || self.cpu_sampling {
            return Error::at(path, "printed output of nvprof with neither GPU work nor API calls in it")
                .remedy("print it again with --print-gpu-trace or --print-api-trace");
        }
        Error::at(path, "printed output of nvprof without a table of times")
            .remedy("nothing may have been profiled, or the file was cut off: print it again")
    }
}
