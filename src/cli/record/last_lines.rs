//! The lines with which a run ends: what was captured, where it is, what a flight recorder kept, the next command.

use super::outcome::{Counts, Outcome};
use super::run_folder::RunFolder;
use crate::numbers::{BINARY, counted, items, size};
use crate::shell::quoted;
use crate::trace::ring::is_ring;
use shim_config::Cause;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The lines. `cpu_sampling`: the launcher's samples are, or include, what the CPU did.
pub fn lines(outcome: &Outcome, place: &RunFolder, cpu_sampling: bool) -> Vec<String> {
    if let Some(why) = &outcome.why {
        let samples = samples(outcome);
        let nothing = samples
            .as_ref()
            .map_or("nothing was recorded".to_owned(), |samples| format!("nothing was recorded but {samples}"));
        let next = match (samples, outcome.traces.is_empty()) {
            (None, true) => "gpuprof doctor".to_owned(),
            _ => report(outcome, place, cpu_sampling),
        };
        return vec![
            format!("{nothing}: {}: {}", why.whom, why.what),
            format!("what to do: {}", why.remedy),
            format!("next: {next}"),
        ];
    }
    let mut lines = vec![what(outcome), where_it_is(outcome, place)];
    lines.extend(dumps(outcome));
    lines.push(format!("next: {}", report(outcome, place, false)));
    if cpu_sampling && samples(outcome).is_some() {
        lines.push(format!("next, for what the CPU did: {}", view(outcome, place, CPU_VIEW)));
    }
    lines
}

/// Dumps that are named; there may be many.
const MOST_DUMPS: usize = 4;

fn dumps(outcome: &Outcome) -> Option<String> {
    if outcome.dumps.is_empty() {
        return None;
    }
    let names: Vec<String> =
        outcome.dumps.iter().take(MOST_DUMPS).map(|dump| format!("{}/", as_typed(dump).display())).collect();
    let more = outcome.dumps.len().saturating_sub(MOST_DUMPS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let count = counted(outcome.dumps.len() as u64, "dump");
    Some(format!("{count} of the flight recorder: {}{more}", names.join(", ")))
}

fn what(outcome: &Outcome) -> String {
    let recorded = outcome.recorded;
    let processes = if outcome.processes > recorded {
        format!("{recorded} of {}", items(outcome.processes as u64, "process", "processes"))
    } else {
        items(recorded as u64, "process", "processes")
    };
    let rest = if outcome.empty.is_empty() || outcome.processes <= recorded {
        String::new()
    } else {
        let causes = outcome.empty.iter().map(|(cause, count)| format!("{count} {}", in_short(cause)));
        format!(" ({})", causes.collect::<Vec<_>>().join(", "))
    };
    let mut text = format!("recorded {processes}{rest}: {}", records(&outcome.counts));
    match outcome.counts.lost {
        0 => text.push_str("; nothing lost"),
        lost => text.push_str(&format!("; {} LOST", counted(lost, "record"))),
    }
    if let Some(samples) = samples(outcome) {
        text.push_str(&format!("; {samples}"));
    }
    if outcome.dropped > 0 {
        text.push_str(&format!("; {} dropped by --ring", counted(outcome.dropped, "older record")));
    }
    if outcome.unclosed > 0 {
        // A process that still runs has not closed its trace either.
        let traces = counted(outcome.unclosed as u64, "trace");
        text.push_str(&format!("; {traces} not closed: killed, or still running"));
    }
    for why in &outcome.unreadable {
        text.push_str(&format!("; {why}"));
    }
    text
}

/// What the launcher measured from outside.
fn samples(outcome: &Outcome) -> Option<String> {
    let rows = outcome.launcher.as_ref().map_or(0, |(_, rows)| *rows);
    (rows > 0).then(|| counted(rows, "sample"))
}

fn records(counts: &Counts) -> String {
    let kinds = [
        (counts.kernels, "kernel", "kernels"),
        (counts.copies, "copy", "copies"),
        (counts.fills, "fill", "fills"),
        (counts.calls, "API call", "API calls"),
        (counts.ranges, "NVTX range", "NVTX ranges"),
        (counts.others, "other record", "other records"),
    ];
    let present = kinds.into_iter().filter(|(count, ..)| *count > 0);
    present.map(|(count, one, many)| items(count, one, many)).collect::<Vec<_>>().join(", ")
}

/// A cause as the end of "3 …".
fn in_short(cause: &Cause) -> String {
    match cause {
        Cause::NoCuda => "without CUDA".to_owned(),
        Cause::NothingLaunched => "launched nothing".to_owned(),
        Cause::GateNeverOpened => "never switched on".to_owned(),
        Cause::AllExcluded => "outside the windows".to_owned(),
        Cause::NotChosen => "not chosen".to_owned(),
        Cause::Killed => "killed".to_owned(),
        other => format!("empty: {other}"),
    }
}

fn where_it_is(outcome: &Outcome, place: &RunFolder) -> String {
    let size = size(outcome.bytes, &BINARY);
    match (&place.folder, files(outcome).as_slice()) {
        (Some(folder), _) => format!("written to {}/ ({size})", folder.display()),
        (None, [one]) => format!("written to {} ({size})", shown(one)),
        (None, many) => {
            let first = many.first().map(|first| shown(first)).unwrap_or_default();
            format!("written to {first} and {} more ({size})", many.len().saturating_sub(1))
        }
    }
}

/// The view of CPU samples, and that of samples of the machine.
const CPU_VIEW: &str = "cprofile";
const SYSTEM_VIEW: &str = "system";

/// The next command; where nothing was recorded but samples, the view that shows them.
fn report(outcome: &Outcome, place: &RunFolder, cpu_sampling: bool) -> String {
    match outcome.counts.is_empty() && samples(outcome).is_some() {
        true => view(outcome, place, if cpu_sampling { CPU_VIEW } else { SYSTEM_VIEW }),
        false => command(outcome, place, &[]),
    }
}

fn view(outcome: &Outcome, place: &RunFolder, view: &str) -> String {
    command(outcome, place, &["--view", view])
}

fn command(outcome: &Outcome, place: &RunFolder, options: &[&str]) -> String {
    let mut words: Vec<OsString> = vec!["gpuprof".into(), "report".into()];
    words.extend(options.iter().map(OsString::from));
    match &place.folder {
        Some(folder) => words.push(folder.into()),
        None => words.extend(files(outcome).into_iter().take(8).map(OsString::from)),
    }
    quoted(&words)
}

/// The traces as a person would write them: segments of a ring go by its name. The launcher's own comes early, or `report`
/// would be shown without it.
fn files(outcome: &Outcome) -> Vec<PathBuf> {
    let of = |trace: &PathBuf| as_typed(ring_of(trace).unwrap_or(trace));
    let mut files: Vec<PathBuf> = outcome.traces.iter().map(of).collect();
    files.dedup();
    if let Some((own, _)) = &outcome.launcher {
        files.insert(files.len().min(1), as_typed(own));
    }
    files
}

/// A folder has a slash behind it.
fn shown(path: &Path) -> String {
    format!("{}{}", path.display(), if is_ring(path) { "/" } else { "" })
}

/// The ring that a segment is of.
fn ring_of(trace: &Path) -> Option<&Path> {
    trace.parent().filter(|folder| is_ring(folder))
}

/// Relative to the current folder, if it lies there.
fn as_typed(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok().map(PathBuf::from)).unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::record::outcome::Why;

    fn place(folder: Option<&str>) -> RunFolder {
        RunFolder {
            template: OsString::new(),
            seen: PathBuf::from("/nowhere"),
            folder: folder.map(PathBuf::from),
            is_new: true,
        }
    }

    #[test]
    fn a_good_run_says_what_where_and_the_next_command() {
        let outcome = Outcome {
            counts: Counts { kernels: 1_234_567, copies: 1, calls: 42, ..Counts::default() },
            bytes: 3 << 19,
            traces: vec!["/x/a.gpuprof".into()],
            recorded: 1,
            processes: 3,
            empty: vec![(Cause::NoCuda, 2)],
            ..Outcome::default()
        };
        assert_eq!(
            lines(&outcome, &place(Some("my run")), false),
            [
                "recorded 1 of 3 processes (2 without CUDA): 1,234,567 kernels, 1 copy, 42 API calls; nothing lost",
                "written to my run/ (1.5 MiB)",
                "next: gpuprof report 'my run'",
            ]
        );
    }

    #[test]
    fn samples_from_outside_are_said_and_their_trace_is_named() {
        let launcher = Some((PathBuf::from("/x/a.launcher.gpuprof"), 1_200));
        let outcome = Outcome {
            counts: Counts { kernels: 2, ..Counts::default() },
            traces: vec!["/x/a.gpuprof".into()],
            recorded: 1,
            processes: 1,
            launcher: launcher.clone(),
            ..Outcome::default()
        };
        let [what, place_line, next] = &lines(&outcome, &place(None), false)[..] else { panic!("not three lines") };
        assert_eq!(what, "recorded 1 process: 2 kernels; nothing lost; 1,200 samples");
        assert_eq!(place_line, "written to /x/a.gpuprof and 1 more (0 bytes)");
        assert_eq!(next, "next: gpuprof report /x/a.gpuprof /x/a.launcher.gpuprof");
        let why = Why { whom: "sleep".into(), what: "used no CUDA".into(), remedy: "use it".into() };
        let outcome = Outcome { why: Some(why), launcher, ..Outcome::default() };
        let [what, _, next] = &lines(&outcome, &place(Some("r")), false)[..] else { panic!("not three lines") };
        assert_eq!(what, "nothing was recorded but 1,200 samples: sleep: used no CUDA");
        assert_eq!(next, "next: gpuprof report --view system r");
    }

    #[test]
    fn samples_of_the_cpu_have_the_view_that_shows_them_in_the_next_command() {
        let launcher = Some((PathBuf::from("/x/a.launcher.gpuprof"), 1_200));
        let why = Why { whom: "python".into(), what: "used no CUDA".into(), remedy: "use it".into() };
        let alone = Outcome { why: Some(why), launcher: launcher.clone(), ..Outcome::default() };
        assert_eq!(lines(&alone, &place(Some("r")), true)[2], "next: gpuprof report --view cprofile r");
        let counts = Counts { kernels: 2, ..Counts::default() };
        let beside = Outcome { counts, recorded: 1, processes: 1, launcher, ..Outcome::default() };
        let lines = lines(&beside, &place(Some("r")), true);
        assert_eq!(
            lines[2..],
            ["next: gpuprof report r", "next, for what the CPU did: gpuprof report --view cprofile r"]
        );
    }

    #[test]
    fn losses_and_unclosed_traces_are_in_the_first_line() {
        let outcome = Outcome {
            counts: Counts { ranges: 1, lost: 1000, ..Counts::default() },
            traces: vec!["/x/a.gpuprof".into(), "/x/b.gpuprof".into()],
            recorded: 2,
            unclosed: 1,
            processes: 2,
            bytes: 10,
            ..Outcome::default()
        };
        let [what, place_line, next] = &lines(&outcome, &place(None), false)[..] else { panic!("not three lines") };
        assert_eq!(
            *what,
            "recorded 2 processes: 1 NVTX range; 1,000 records LOST; 1 trace not closed: killed, or still running"
        );
        assert_eq!(*place_line, "written to /x/a.gpuprof and 1 more (10 bytes)");
        assert_eq!(*next, "next: gpuprof report /x/a.gpuprof /x/b.gpuprof");
    }

    #[test]
    fn a_flight_recorder_says_what_it_dropped_and_what_it_kept() {
        let mut outcome = Outcome {
            counts: Counts { kernels: 10, ..Counts::default() },
            traces: vec!["/x/a.ring/a.000007.gpuprof".into(), "/x/a.ring/a.000008.gpuprof".into()],
            dumps: vec!["/x/a.dump-001-slow-step".into()],
            dropped: 1_234,
            recorded: 1,
            processes: 1,
            bytes: 10,
            ..Outcome::default()
        };
        assert_eq!(
            lines(&outcome, &place(None), false),
            [
                "recorded 1 process: 10 kernels; nothing lost; 1,234 older records dropped by --ring",
                "written to /x/a.ring/ (10 bytes)",
                "1 dump of the flight recorder: /x/a.dump-001-slow-step/",
                "next: gpuprof report /x/a.ring",
            ]
        );
        outcome.dumps = (1..7).map(|i| format!("/x/a.dump-00{i}-x").into()).collect();
        let dumps = &lines(&outcome, &place(Some("run")), false)[2];
        assert!(dumps.starts_with("6 dumps of") && dumps.ends_with("/x/a.dump-004-x/ and 2 more"), "{dumps}");
    }

    #[test]
    fn numbers_are_grouped_and_sizes_scaled() {
        assert_eq!(items(0, "a", "b"), "0 b");
        assert_eq!(items(999, "a", "b"), "999 b");
        assert_eq!(items(1_000, "a", "b"), "1,000 b");
        assert_eq!(size(1023, &BINARY), "1023 bytes");
        assert_eq!(size(1 << 50, &BINARY), "1024.0 TiB");
    }
}
