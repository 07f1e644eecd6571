//! A trace in a sentence: what it is, when it was made, how long it is, what is inside.

use crate::analysis::own_cost;
use crate::numbers::{DECIMAL, items, size};
use crate::trace::frames::{Frames, OpenedFile};
use std::collections::BTreeMap;
use trace_format::schema::TableSpec;
use trace_format::tables;

/// What is counted, and its name for one and for several.
const COUNTED: [(&TableSpec, &str, &str); 13] = [
    (&tables::KERNEL, "kernel", "kernels"),
    (&tables::MEMCPY, "copy", "copies"),
    (&tables::MEMSET, "fill", "fills"),
    (&tables::GRAPH, "graph launch", "graph launches"),
    (&tables::API, "API call", "API calls"),
    (&tables::RANGE, "range", "ranges"),
    (&tables::UVM, "unified memory event", "unified memory events"),
    (&tables::MEMORY, "allocation or release", "allocations and releases"),
    (&tables::OPENACC, "OpenACC region", "OpenACC regions"),
    (&tables::OPENMP, "OpenMP region", "OpenMP regions"),
    (&tables::HOST_CALL, "OS runtime or MPI call", "OS runtime and MPI calls"),
    (&tables::SAMPLE, "system measurement", "system measurements"),
    (&tables::CPU_SAMPLE, "CPU sample", "CPU samples"),
];

/// One sentence for each file, one for all that is inside, and one for what the recording itself took, where that is known.
/// `spans`: the first and the last nanosecond of each process, as far as they are known.
pub fn sentences(frames: &Frames, spans: &BTreeMap<u32, (i64, i64)>) -> Vec<String> {
    let mut sentences = Vec::new();
    for file in &frames.files {
        let own = file.processes.clone().filter_map(|process| spans.get(&process).copied());
        let span = own.reduce(|(a, b), (start, end)| (a.min(start), b.max(end)));
        let has_epoch = file.processes.clone().any(|p| frames.processes[p as usize].info.epoch_ns().is_some());
        sentences.push(of_file(frames, file, span, has_epoch));
    }
    sentences.push(inside(frames));
    sentences.extend(own_cost::of_budget(frames).map(|sentence| format!("gpuprof itself: {sentence}")));
    sentences.extend(own_cost::sentence(frames).map(|sentence| format!("gpuprof itself: {sentence}")));
    sentences
}

fn of_file(frames: &Frames, file: &OpenedFile, span: Option<(i64, i64)>, has_epoch: bool) -> String {
    let mut sentence = format!("{}: {}", file.path.display(), file.origin);
    if let Ok(bytes) = file.path.metadata().map(|m| m.len()) {
        sentence.push_str(&format!(", {}", size(bytes, &DECIMAL)));
    }
    if let Some((start, end)) = span {
        if has_epoch && let Some(date) = date(start) {
            sentence.push_str(&format!(", begins at {date} UTC"));
        }
        sentence.push_str(&format!(", {} long", duration(end.saturating_sub(start))));
    }
    let native = frames.natives().iter().find(|native| native.path() == file.path);
    if native.is_some_and(|native| !native.reader().is_closed()) {
        sentence.push_str("; it is still being written, or was cut off");
    }
    sentence
}

fn inside(frames: &Frames) -> String {
    let counted = COUNTED.iter().filter_map(|(table, one, many)| {
        let rows = frames.rows(table);
        (rows > 0).then(|| items(rows, one, many))
    });
    let counted: Vec<String> = counted.collect();
    let processes = items(frames.recorded_processes() as u64, "process", "processes");
    let mut devices: Vec<String> =
        frames.devices.iter().map(|(_, row)| frames.names.text(row.name_id).into_owned()).collect();
    devices.sort();
    devices.dedup();
    devices.retain(|name| !name.is_empty());
    let on = if devices.is_empty() { String::new() } else { format!(", on {}", devices.join(" and ")) };
    match counted.is_empty() {
        true => format!("Inside: no records of {processes}"),
        false => format!("Inside: {} of {processes}{on}", counted.join(", ")),
    }
}

fn duration(ns: i64) -> String {
    let ns = ns.max(0);
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{:.1} us", ns as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", ns as f64 / 1e6),
        1_000_000_000..120_000_000_000 => format!("{:.2} s", ns as f64 / 1e9),
        _ => format!("{} min {} s", ns / 60_000_000_000, ns / 1_000_000_000 % 60),
    }
}

/// A moment since 1970 as `2026-11-28 14:05:00`; `None` for one that no trace was made at.
fn date(unix_ns: i64) -> Option<String> {
    let seconds = u64::try_from(unix_ns).ok()? / 1_000_000_000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // The calendar by Howard Hinnant's `civil_from_days`: years begin in March, so that leap days come last.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    Some(format!("{year}-{month:02}-{day:02} {hours:02}:{minutes:02}:{seconds:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_format::schema::Role;

    /// Tables of activity that the sentence leaves out, and why. The table below it counts the rows of all of them.
    const NOT_COUNTED: &[(&TableSpec, &str)] = &[
        (&tables::SYNC, "part of the calls that wait"),
        (&tables::OVERHEAD, "time of the driver and the profiler, not of the program"),
        (&tables::EVENT, "part of the calls that record or await them"),
        (&tables::EXTERNAL, "ids beside calls"),
        (&tables::JIT, "part of the calls that load code"),
        (&tables::LAUNCH_STACK, "stacks beside calls"),
        (&tables::FOREIGN, "what no table of records has columns for"),
        (&tables::DETAILS, "arguments of records that are counted"),
    ];

    #[test]
    fn every_table_of_activity_is_in_the_sentence_or_has_a_reason() {
        for table in tables::ALL.iter().filter(|table| table.role == Role::Activity) {
            let is_counted = COUNTED.iter().any(|(counted, ..)| counted == table);
            let is_excused = NOT_COUNTED.iter().any(|(excused, _)| excused == table);
            let place = "put it into COUNTED (src/cli/info/words.rs), or into NOT_COUNTED with the reason";
            assert_ne!(is_counted, is_excused, "table {}: {place}, and not into both", table.name);
        }
    }

    #[test]
    fn moments_have_the_date_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (1_700_000_000, "2023-11-14 22:13:20"),
            (4_102_444_800, "2100-01-01 00:00:00"),
        ] {
            assert_eq!(date(seconds * 1_000_000_000).as_deref(), Some(expected));
        }
        assert_eq!(date(-1), None);
    }

    #[test]
    fn sizes_and_lengths_are_in_units_that_people_read() {
        let sizes = [999, 47_200, 1_500_000_000].map(|bytes| size(bytes, &DECIMAL));
        assert_eq!(sizes, ["999 bytes", "47.2 KB", "1.5 GB"]);
        assert_eq!([duration(7), duration(1_500), duration(2_340_000)], ["7 ns", "1.5 us", "2.3 ms"]);
        assert_eq!([duration(1_500_000_000), duration(187_000_000_000)], ["1.50 s", "3 min 7 s"]);
        assert_eq!([items(1, "copy", "copies"), items(1_204, "copy", "copies")], ["1 copy", "1,204 copies"]);
    }
}
