//! Recordings that keep only the latest: what their segments say about what is no longer there, and the folders that
//! the flight recorder makes.

use super::native::NativeFile;
use super::sink::Note;
use crate::numbers::items;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;
use trace_format::header::FileHeader;
use trace_format::schema::Role;
use trace_format::tables;
use trace_format::write::LOST_BEFORE;

/// Ending of the folder that holds a ring's segments.
pub const RING_ENDING: &str = "ring";

/// Whether a folder holds the segments of a ring: `NAME.ring`.
pub fn is_ring(folder: &Path) -> bool {
    folder.extension() == Some(OsStr::new(RING_ENDING))
}

/// Whether a folder is a dump of a ring: `NAME.dump-001-REASON`. Its segments may be the ring's own.
pub fn is_dump(folder: &Path) -> bool {
    dump_number(folder).is_some()
}

/// The number of a dump.
pub fn dump_number(folder: &Path) -> Option<u32> {
    let name = folder.file_name()?.to_str()?;
    let (_, rest) = name.rsplit_once(".dump-")?;
    let (number, reason) = rest.split_once('-')?;
    (number.len() >= 3 && !reason.is_empty()).then_some(())?;
    number.parse().ok()
}

/// Records that were written before the segment with this header, and those known to be lost before it.
pub fn records_before(header: &FileHeader) -> (u64, u64) {
    let is_activity = |name: &str| tables::by_name(name).is_some_and(|table| table.role == Role::Activity);
    let before = header.rows_before.iter().filter(|(name, _)| is_activity(name));
    let lost = header.other.get(LOST_BEFORE).and_then(|lost| lost.as_u64()).unwrap_or(0);
    (before.filter_map(|(_, rows)| rows.as_u64()).sum(), lost)
}

/// What each recording in segments says about the part that is not there.
pub fn notes(natives: &[NativeFile]) -> Vec<Note> {
    let mut runs: BTreeMap<&str, Vec<&NativeFile>> = BTreeMap::new();
    for native in natives {
        if let Some(run) = native.run() {
            runs.entry(run).or_default().push(native);
        }
    }
    let number = |native: &NativeFile| native.reader().header().segment.unwrap_or(0);
    let mut notes: Vec<(u32, Note)> = Vec::new();
    for mut segments in runs.into_values() {
        segments.sort_by_key(|native| number(native));
        let Some(first) = segments.first() else { continue };
        let (process, place) = (first.process, place_of(first));
        let mut say = |code, text| notes.push((process, Note { code, text }));
        let (dropped, lost) = records_before(first.reader().header());
        if dropped > 0 {
            let lost = if lost > 0 {
                format!("; of that time {} known to be lost", items(lost, "record was", "records were"))
            } else {
                String::new()
            };
            say(
                "ring-dropped",
                format!(
                    "{place}: {} dropped by --ring: this is the latest part{lost}",
                    items(dropped, "older record was", "older records were")
                ),
            );
        }
        for pair in segments.windows(2) {
            let (before, after) = (number(pair[0]), number(pair[1]));
            if after > before + 1 {
                let count = records_before(pair[1].reader().header()).0;
                let had = records_before(pair[0].reader().header()).0 + activity_rows(pair[0]);
                say(
                    "ring-gap",
                    format!(
                        "{place}: segments {} to {} are not there: {} records between the parts shown",
                        before + 1,
                        after - 1,
                        count.saturating_sub(had)
                    ),
                );
            }
        }
    }
    notes.sort_by_key(|(process, _)| *process);
    notes.into_iter().map(|(_, note)| note).collect()
}

fn activity_rows(native: &NativeFile) -> u64 {
    let frames = native.frames().filter(|(_, table)| table.role == Role::Activity);
    frames.map(|(frame, _)| native.frame_rows(frame)).sum()
}

/// The folder of the segments, or their own name where they lie beside each other.
fn place_of(native: &NativeFile) -> String {
    let folder = native.path().parent().filter(|folder| is_ring(folder) || is_dump(folder));
    folder.unwrap_or(native.path()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_and_dumps_are_known_by_their_names() {
        assert!(is_ring(Path::new("run/a-1.ring")) && !is_ring(Path::new("ring")));
        for (name, number) in [
            ("a.dump-001-slow", Some(1)),
            ("x/a.b.dump-1234-error-2", Some(1_234)),
            ("a.dump-001", None),
            ("a.dump-1-x", None),
            ("a.dump-001-", None),
            ("dumps", None),
            ("a.dump-xyz-q", None),
        ] {
            assert_eq!(dump_number(Path::new(name)), number, "{name}");
        }
    }
}
