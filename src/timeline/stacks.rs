//! CPU samples as records: each function from the first sample that has it to the end of the last.

use super::field::{self, FieldName};
use super::read::Raw;
use crate::analysis::cpu_slices::{self, SampledThread};
use crate::analysis::cpu_stacks::HostFrame;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;

/// What a record is made of, beside its times. `depth` comes first, so that of slices that begin and end together the
/// outer one does.
const FIELDS: [FieldName; 7] =
    [field::DEPTH, field::TID, field::UNTRACED_PID, field::KIND, field::NAME_ID, field::FILE_ID, field::SAMPLES];

/// All functions of all sampled threads that pass, in no order.
///
/// # Errors
/// Fails if a part of a file cannot be read.
pub(super) fn read(frames: &Frames, filter: &Filter) -> Result<Raw> {
    let mut raw = Raw::with_fields(&FIELDS);
    let mut open: HashMap<SampledThread, Vec<(HostFrame, i64)>> = HashMap::new();
    cpu_slices::each(frames, filter, |thread, edge| {
        let begun = open.entry(thread).or_default();
        let Some(samples) = edge.samples else {
            begun.push((edge.frame, edge.at_ns));
            return Ok(());
        };
        if let Some((frame, start_ns)) = begun.pop() {
            let numbers = [
                Some(u64::from(edge.depth)),
                Some(u64::from(thread.tid)),
                thread.untraced_pid.map(u64::from),
                Some(u64::from(frame.kind)),
                Some(u64::from(frame.name)),
                Some(u64::from(frame.file)).filter(|&file| file != 0),
                Some(samples),
            ];
            raw.push(thread.process, (start_ns, edge.at_ns), &numbers);
        }
        Ok(())
    })?;
    Ok(raw)
}
