//! Launch stacks on their way into the file.

use trace_format::schema::RowBuilder;
use trace_format::tables::frame::FrameBuilder;
use trace_format::tables::launch_stack::LaunchStackBuilder;
use trace_format::tables::stack::StackBuilder;
use trace_format::tables::{FrameRow, LaunchStackRow, StackRow};
use trace_format::vocabulary::frame_kind::PYTHON;
use trace_format::write::Segments;

use super::recorder::{FRAME_ROWS, Keep, Recorder};
use super::trace::TraceOutput;

/// Rows that wait.
#[derive(Default)]
pub(super) struct Launches {
    frames: FrameBuilder,
    stacks: StackBuilder,
    rows: LaunchStackBuilder,
}

impl Launches {
    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.frames.len() + self.stacks.len() + self.rows.len()
    }
}

impl<S: Segments, K: Keep> Recorder<S, K>
where
    S::Output: TraceOutput,
{
    /// Takes what the launching threads have left.
    pub(super) fn take_launches(&mut self, now_ns: i64) {
        let counter = self.decoder.correlation();
        let Launches { frames, stacks, rows } = &mut self.launches;
        (self.sources.drain_launches)(
            &mut |launch| {
                let correlation = counter.widen(launch.correlation);
                rows.push(LaunchStackRow { correlation, stack_id: launch.stack });
            },
            &mut |id, def| {
                let (file_id, line) = ((def.file != 0).then_some(def.file), i64::from(def.line));
                let line = (line != 0).then_some(line);
                frames.push(FrameRow { id, name_id: def.name, file_id, line, kind: PYTHON });
            },
            &mut |id, def| {
                let parent_id = (def.parent != 0).then_some(def.parent);
                stacks.push(StackRow { id, parent_id, frame_id: def.frame });
            },
        );
        if self.launches.rows.len() >= FRAME_ROWS {
            self.write_launches(now_ns);
        }
    }

    /// Writes them, after what they refer to.
    pub(super) fn write_launches(&mut self, now_ns: i64) {
        if self.launches.len() == 0 {
            return;
        }
        // Names were interned before the frames that have them were handed over.
        self.drain_names();
        let Launches { frames, stacks, rows } = &mut self.launches;
        let definitions =
            [(!frames.is_empty()).then(|| frames.take()), (!stacks.is_empty()).then(|| stacks.take())];
        let launches = (!rows.is_empty()).then(|| rows.take());
        for batch in definitions.into_iter().flatten() {
            self.write_definitions(Some(batch), now_ns);
        }
        if let Some(launches) = launches {
            self.write_activity(&launches, now_ns);
        }
    }
}
