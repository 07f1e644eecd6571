//! Kernels that seem to go on behind the end of the next kernel of their stream.
//!
//! A stream runs its kernels one after another; a dependent launch may let the next begin early, and still it ends later.
//! A record that ends behind its successor has an end that was lost or misread (a kernel of 1.6 s among some of 15 us was
//! seen), and every sum that it enters is too large.

use super::batch::Batch;
use super::kept::Piece;
use super::sink::Sink;
use crate::error::Result;
use crate::numbers::items;
use hashbrown::HashMap;
use std::path::Path;
use trace_format::schema::{AnyColumn as _, TypedColumn};
use trace_format::tables;
use trace_format::tables::column::kernel;

/// The kernel of a stream that ends last so far.
struct Last {
    start_ns: i64,
    end_ns: i64,
    counted: bool,
}

/// What was found in one file.
#[derive(Default)]
struct Overruns {
    kernels: u64,
    /// Start, duration and name of the longest.
    longest: Option<(i64, i64)>,
}

/// Notes kernels of a file that overrun the next of their stream.
///
/// # Errors
/// Fails if the temporary file of the sink cannot be read.
pub(super) fn note(path: &Path, sink: &mut Sink) -> Result<()> {
    let (mut found, mut buffer) = (Overruns::default(), Vec::new());
    for process in &sink.processes {
        let mut streams: HashMap<[u32; 3], Last> = HashMap::new();
        for piece in process.kept.iter().filter(|piece| piece.table() == &tables::KERNEL) {
            match piece {
                Piece::Here(batch) => {
                    let (start, duration) = (batch.get(kernel::START_NS), batch.get(kernel::DURATION_NS));
                    let place = PLACE.map(|column| batch.get(column));
                    let row = |row| Some((start.get(row)?, duration.get(row)?, place.map(|of| of.get(row))));
                    look((0..batch.rows).filter_map(row), &mut streams, &mut found);
                }
                Piece::Away(away) => {
                    let mut columns = vec![kernel::START_NS.name(), kernel::DURATION_NS.name()];
                    columns.extend(PLACE.map(|column| column.name()));
                    let batch = Batch::of_kept(0, away.table, away.decode(&columns, &mut buffer)?, away.rows);
                    let (start, duration) = (batch.get(kernel::START_NS), batch.get(kernel::DURATION_NS));
                    let place = PLACE.map(|column| batch.get(column));
                    let row = |row| Some((start.get(row)?, duration.get(row)?, place.map(|of| of.get(row))));
                    look((0..batch.rows).filter_map(row), &mut streams, &mut found);
                }
            }
        }
    }
    let Some((start_ns, duration_ns)) = found.longest else { return Ok(()) };
    let path = path.display();
    let kernels = items(found.kernels, "kernel ends", "kernels end");
    sink.note(
        "overrunning-records",
        format!("{path}: {kernels} behind the next kernel of the same stream, which a stream does not do: such an end is doubtful and with it every sum; the longest begins at {start_ns} ns and takes {duration_ns} ns"),
    );
    Ok(())
}

/// Which stream a kernel ran on.
const PLACE: [&TypedColumn<u32>; 3] = [kernel::DEVICE, kernel::CONTEXT, kernel::STREAM];

/// A kernel with valid times: its start, its duration, and its stream as of [`PLACE`].
type Kernel = (i64, i64, [Option<u32>; 3]);

fn look(kernels: impl Iterator<Item = Kernel>, streams: &mut HashMap<[u32; 3], Last>, found: &mut Overruns) {
    for (start_ns, length_ns, place) in kernels {
        let end_ns = start_ns.saturating_add(length_ns);
        let stream = streams.entry(place.map(Option::unwrap_or_default));
        let last = stream.or_insert(Last { start_ns, end_ns: i64::MIN, counted: false });
        // Files are nearly in order of time; of two records whichever begins first is the earlier one.
        let mut next = Last { start_ns, end_ns, counted: false };
        if next.start_ns < last.start_ns {
            std::mem::swap(last, &mut next);
        }
        let overruns = last.start_ns < next.start_ns && last.end_ns > next.end_ns && next.end_ns > next.start_ns;
        if !overruns {
            *last = next;
        } else if !std::mem::replace(&mut last.counted, true) {
            found.kernels += 1;
            let duration_ns = last.end_ns - last.start_ns;
            if found.longest.is_none_or(|(_, longest)| longest < duration_ns) {
                found.longest = Some((last.start_ns, duration_ns));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::names::{Names, Shapes};
    use crate::trace::sink::ProcessInfo;
    use trace_format::tables::KernelRow;

    /// Notes about kernels with these starts, durations and streams.
    fn notes(kernels: &[(i64, i64, u32)]) -> Vec<String> {
        let (mut names, mut shapes) = (Names::default(), Shapes::default());
        let mut sink = Sink::new(&mut names, &mut shapes);
        let process = sink.process(ProcessInfo::default());
        for &(start_ns, duration, stream) in kernels {
            let duration_ns = Some(duration);
            sink.push(process, KernelRow { start_ns, duration_ns, stream, ..KernelRow::default() });
        }
        sink.finish();
        note(Path::new("a.json"), &mut sink).expect("all rows are in memory");
        sink.notes.into_iter().map(|note| note.text).collect()
    }

    #[test]
    fn a_kernel_that_ends_behind_the_next_of_its_stream_is_noted_once() {
        let said = notes(&[(100, 15, 7), (120, 1_600_000, 7), (140, 15, 7), (160, 15, 7), (180, 15, 7)]);
        assert_eq!(said.len(), 1);
        assert!(said[0].contains("1 kernel ends behind") && said[0].contains("takes 1600000 ns"), "{}", said[0]);
    }

    #[test]
    fn streams_beside_each_other_and_early_starts_are_no_overruns() {
        assert_eq!(notes(&[(100, 1000, 7), (200, 10, 8), (1050, 100, 7), (1150, 5, 7)]), Vec::<String>::new());
        assert_eq!(notes(&[(200, 10, 7), (100, 50, 7)]), Vec::<String>::new(), "not in order of time");
    }
}
