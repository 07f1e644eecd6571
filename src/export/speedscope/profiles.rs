//! The timelines of a trace as evented profiles: one for each stream of a GPU and one for each thread, more where
//! slices overlap in part. Written in one pass over the records.

use super::cpu::CpuTimeline;
use super::spill::{Spill, Stream};
use crate::analysis::cpu_stacks::{HostFrame, HostStacks};
use crate::analysis::stacks::{Frame, FrameText};
use crate::error::Result;
use crate::lines::lanes::{FirstFree, Nested, Open};
use crate::lines::line::{Line, range_times};
use crate::trace::frames::Frames;
use crate::trace::ordered::Piece;
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write as _;
use trace_format::schema::Row;
use trace_format::tables::{self, ApiRow, CpuSampleRow, KernelRow, MemcpyRow, MemsetRow, RangeRow};

/// The slices of one line, one stream of events for each lane.
#[derive(Default)]
struct Timeline {
    separate: FirstFree<i64>,
    nested: Nested<u32>,
    /// Slices of a thread that begin now, with what orders those that end together. One that begins at the same time
    /// and lasts longer may follow, and would be around them.
    waiting: Vec<Slice>,
    lanes: Vec<Stream>,
}

struct Slice {
    start_ns: i64,
    end_ns: i64,
    /// Ranges are around calls.
    is_call: bool,
    frame: u32,
}

/// Distinct texts of frames: speedscope's table of frames.
#[derive(Default)]
pub(super) struct FrameTable {
    pub(super) texts: Vec<String>,
    by_text: HashMap<String, u32>,
    by_frame: HashMap<Frame, u32>,
}

impl FrameTable {
    /// The index of a frame in the table.
    pub(super) fn index(&mut self, frame: Frame, text: &FrameText) -> u32 {
        *self.by_frame.entry(frame).or_insert_with(|| {
            let text = match text.text(frame) {
                text if text.is_empty() => "[unnamed]".to_owned(),
                text => text.into_owned(),
            };
            *self.by_text.entry(text).or_insert_with_key(|text| {
                self.texts.push(text.clone());
                (self.texts.len() - 1) as u32
            })
        })
    }
}

/// All timelines of a trace.
pub(super) struct Profiles<'a> {
    frames: &'a Frames,
    text: &'a FrameText<'a>,
    table: &'a mut FrameTable,
    timelines: HashMap<Line, Timeline>,
    host: &'a HostStacks,
    /// By process of the trace, process and thread.
    cpu: BTreeMap<(u32, u32, u32), CpuTimeline>,
    spill: Spill,
    /// Start of the first slice, and end of the last one.
    span: Option<(i64, i64)>,
}

/// All timelines, complete.
pub(super) struct Finished {
    /// Name and events of each profile, in order.
    pub(super) profiles: Vec<(String, Stream)>,
    /// End of the last slice of all, from the start of the first.
    pub(super) end_ns: i64,
    /// Where some of the events are.
    pub(super) spill: Spill,
}

/// One event, with the comma that parts it from the one before.
pub(super) fn event(out: &mut Vec<u8>, is_first: bool, kind: char, frame: u32, at: i64) {
    let comma = if is_first { "" } else { "," };
    // Writing to memory does not fail.
    let _ = write!(out, "{comma}{{\"type\":\"{kind}\",\"frame\":{frame},\"at\":{at}}}");
}

impl<'a> Profiles<'a> {
    pub(super) fn new(
        frames: &'a Frames,
        text: &'a FrameText<'a>,
        table: &'a mut FrameTable,
        host: &'a HostStacks,
    ) -> Self {
        let (timelines, cpu, spill) = (HashMap::new(), BTreeMap::new(), Spill::default());
        Profiles { frames, text, table, timelines, host, cpu, spill, span: None }
    }

    /// Whether there was no slice at all.
    pub(super) fn is_empty(&self) -> bool {
        self.timelines.is_empty() && self.cpu.is_empty()
    }

    /// Takes row `i` of `piece`. Rows come in the order of their start; those without valid times are left out.
    ///
    /// # Errors
    /// Fails if the temporary file cannot be written.
    pub(super) fn row(&mut self, piece: &Piece, i: usize) -> Result<()> {
        let process = piece.process;
        macro_rules! work {
            ($row:ty, $frame:expr) => {{
                let row = <$row>::from_batch(&piece.rows, i);
                let Some(duration_ns) = row.duration_ns else { return Ok(()) };
                let end_ns = row.start_ns.saturating_add(duration_ns);
                let (device, context, stream) = (row.device, row.context, row.stream);
                let frame: fn(&$row) -> Frame = $frame;
                self.on_stream(Line::Stream { process, device, context, stream }, row.start_ns, end_ns, frame(&row))
            }};
        }
        match piece.table() {
            table if table == &tables::KERNEL => work!(KernelRow, |row| Frame::Kernel(row.shape_id)),
            table if table == &tables::MEMCPY => work!(MemcpyRow, |row| Frame::Copy(row.kind)),
            table if table == &tables::MEMSET => work!(MemsetRow, |_| Frame::Fill),
            table if table == &tables::API => {
                let row = ApiRow::from_batch(&piece.rows, i);
                let Some(duration_ns) = row.duration_ns else { return Ok(()) };
                let end_ns = row.start_ns.saturating_add(duration_ns);
                self.on_thread(process, row.tid, row.start_ns, Some(end_ns), Frame::Call(row.name_id))
            }
            table if table == &tables::CPU_SAMPLE => {
                self.sample(process, &CpuSampleRow::from_batch(&piece.rows, i))
            }
            table if table == &tables::RANGE => {
                let row = RangeRow::from_batch(&piece.rows, i);
                let Some((start_ns, end_ns)) = range_times(&row, self.frames.offset_ns(process)) else {
                    return Ok(());
                };
                let frame = Frame::Range { domain: row.domain_id.unwrap_or(0), name: row.name_id };
                self.on_thread(process, row.tid, start_ns, end_ns, frame)
            }
            _ => Ok(()),
        }
    }

    /// Widens the span and gives the time relative to its start.
    fn span(&mut self, start_ns: i64, end_ns: i64) {
        let (first, last) = self.span.get_or_insert((start_ns, end_ns));
        // Rows come in order, so the first one was the earliest.
        *last = end_ns.max(*last).max(*first);
    }

    /// Start of the first slice.
    fn first_ns(&self) -> i64 {
        self.span.map_or(0, |(first, _)| first)
    }

    fn sample(&mut self, process: u32, row: &CpuSampleRow) -> Result<()> {
        self.span(row.start_ns, row.start_ns.saturating_add(row.weight_ns));
        let first_ns = self.first_ns();
        let mut path: Vec<HostFrame> = Vec::new();
        self.host.path(process, row.stack_id, &mut path);
        let frames: Vec<u32> = path.iter().map(|f| self.table.index(Frame::Host(*f), self.text)).collect();
        let timeline = self.cpu.entry((process, row.of_pid, row.tid)).or_default();
        timeline.sample(&mut self.spill, row.start_ns.saturating_sub(first_ns), row.weight_ns, &frames)
    }

    fn on_stream(&mut self, line: Line, start_ns: i64, end_ns: i64, frame: Frame) -> Result<()> {
        self.span(start_ns, end_ns);
        let (first_ns, frame) = (self.first_ns(), self.table.index(frame, self.text));
        let timeline = self.timelines.entry(line).or_default();
        let lane = timeline.separate.place(start_ns, end_ns) as usize;
        if lane == timeline.lanes.len() {
            timeline.lanes.push(Stream::default());
        }
        let stream = &mut timeline.lanes[lane];
        let is_first = stream.is_empty();
        self.spill.append(stream, |out| {
            event(out, is_first, 'O', frame, start_ns.saturating_sub(first_ns));
            event(out, false, 'C', frame, end_ns.saturating_sub(first_ns));
        })
    }

    /// No end: the range was still open when the recording ended.
    fn on_thread(
        &mut self,
        process: u32,
        tid: u32,
        start_ns: i64,
        end_ns: Option<i64>,
        frame: Frame,
    ) -> Result<()> {
        self.span(start_ns, end_ns.unwrap_or(start_ns));
        let is_call = matches!(frame, Frame::Call(_));
        let (first_ns, frame) = (self.first_ns(), self.table.index(frame, self.text));
        let timeline = self.timelines.entry(Line::Thread { process, tid }).or_default();
        if timeline.waiting.first().is_some_and(|slice| slice.start_ns != start_ns) {
            timeline.place_waiting(&mut self.spill, first_ns)?;
        }
        timeline.waiting.push(Slice { start_ns, end_ns: end_ns.unwrap_or(i64::MAX), is_call, frame });
        Ok(())
    }

    /// Closes everything.
    ///
    /// # Errors
    /// Fails if the temporary file cannot be written.
    pub(super) fn finish(mut self) -> Result<Finished> {
        let (first_ns, last_ns) = self.span.unwrap_or((0, 0));
        let mut timelines: Vec<_> = std::mem::take(&mut self.timelines).into_iter().collect();
        timelines.sort_unstable_by_key(|(line, _)| *line);
        let mut profiles = Vec::new();
        for (line, mut timeline) in timelines {
            timeline.place_waiting(&mut self.spill, first_ns)?;
            let (lanes, spill) = (&mut timeline.lanes, &mut self.spill);
            timeline.nested.finish(|lane, open| close(lanes, spill, lane, &open, first_ns, last_ns))?;
            let name = self.name(line);
            for (lane, events) in timeline.lanes.into_iter().enumerate() {
                let name = if lane == 0 { name.clone() } else { format!("{name} (overlapping, {})", lane + 1) };
                profiles.push((name, events));
            }
        }
        for ((process, pid, tid), mut timeline) in std::mem::take(&mut self.cpu) {
            timeline.close(&mut self.spill)?;
            let thread = self.text.text(Frame::Thread { process, tid });
            profiles.push((format!("{}, {thread}, CPU samples", self.text.text(Frame::Pid(pid))), timeline.events));
        }
        Ok(Finished { profiles, end_ns: last_ns.saturating_sub(first_ns), spill: self.spill })
    }

    fn name(&self, line: Line) -> String {
        let frames = match line {
            Line::Stream { process, device, context, stream } => {
                [Frame::Process(process), Frame::Device { process, device }, Frame::Stream { context, stream }]
                    .to_vec()
            }
            Line::Thread { process, tid } => [Frame::Process(process), Frame::Thread { process, tid }].to_vec(),
            // No record is put on another line here.
            other => [Frame::Process(other.process())].to_vec(),
        };
        // One process needs no telling.
        let from = usize::from(self.frames.processes.len() == 1);
        let texts: Vec<_> = frames[from..].iter().map(|&frame| self.text.text(frame)).collect();
        texts.join(", ")
    }
}

impl Timeline {
    fn place_waiting(&mut self, spill: &mut Spill, first_ns: i64) -> Result<()> {
        self.waiting.sort_by_key(|slice| (Reverse(slice.end_ns), slice.is_call));
        for slice in self.waiting.drain(..) {
            let lanes = &mut self.lanes;
            let open = Open { end_ns: slice.end_ns, what: slice.frame };
            let lane = self
                .nested
                .place(slice.start_ns, open, |lane, open| close(lanes, spill, lane, &open, first_ns, i64::MAX))?;
            if lane == self.lanes.len() {
                self.lanes.push(Stream::default());
            }
            let stream = &mut self.lanes[lane];
            let is_first = stream.is_empty();
            let at = slice.start_ns.saturating_sub(first_ns);
            spill.append(stream, |out| event(out, is_first, 'O', slice.frame, at))?;
        }
        Ok(())
    }
}

/// Ends a slice; one that was still open when the recording ended, with the last of all.
fn close(
    lanes: &mut [Stream],
    spill: &mut Spill,
    lane: usize,
    open: &Open<u32>,
    first_ns: i64,
    last_ns: i64,
) -> Result<()> {
    let at = open.end_ns.min(last_ns).saturating_sub(first_ns);
    spill.append(&mut lanes[lane], |out| event(out, false, 'C', open.what, at))
}
