//! Which GPU work had to wait for work of another stream: `cudaStreamWaitEvent` put into the stream, before the work,
//! that it waits for an event; the event was recorded in another stream behind other work.
//!
//! Correlation ids are given out in the order in which a process makes its calls, so they say what was before and after
//! what, and no call has to be read. What is kept grows with the number of waits, not with that of the work.

use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use trace_format::tables;
use trace_format::tables::column::{any, event, sync};
use trace_format::vocabulary::sync_kind::STREAM_WAIT_EVENT;

/// A stream of a context of a process.
type Stream = (u32, u32, u32);

/// A moment in the life of a stream: the correlation id of a call that put something into it.
type Moment = (Stream, u64);

/// Waits of work for work, by the correlation ids of both.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StreamWaits {
    awaited: HashMap<(u32, u64), Vec<u64>>,
}

impl StreamWaits {
    /// Those among the selected rows.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn find(frames: &Frames, filter: &Filter) -> Result<StreamWaits> {
        let waits = waits(frames, filter)?;
        if waits.is_empty() {
            return Ok(StreamWaits::default());
        }
        let records = records(frames, filter)?;
        let recorded = |wait: &Wait| {
            let of_event = records.get(&(wait.stream.0, wait.event))?;
            let count = of_event.partition_point(|&(id, _)| id < wait.correlation);
            let (id, stream) = *of_event.get(count.checked_sub(1)?)?;
            // Work of one stream waits for the work before it anyway.
            (stream != wait.stream).then_some((stream, id))
        };
        let pairs: Vec<(Moment, Moment)> =
            waits.iter().filter_map(|wait| Some(((wait.stream, wait.correlation), recorded(wait)?))).collect();
        let between = Between::read(frames, filter, pairs.iter().flat_map(|&(wait, record)| [wait, record]))?;
        let mut awaited: HashMap<(u32, u64), Vec<u64>> = HashMap::new();
        for (wait, record) in pairs {
            if let (Some(work), Some(before)) = (between.first_after(wait), between.last_before(record)) {
                let list = awaited.entry((wait.0.0, work)).or_default();
                if !list.contains(&before) {
                    list.push(before);
                }
            }
        }
        Ok(StreamWaits { awaited })
    }

    /// The correlation ids of what the work with id `correlation` of a process waited for.
    pub fn awaited(&self, process: u32, correlation: u64) -> &[u64] {
        self.awaited.get(&(process, correlation)).map_or(&[], Vec::as_slice)
    }
}

/// A stream was told to wait for an event.
struct Wait {
    stream: Stream,
    event: u32,
    correlation: u64,
}

/// The waits, by correlation id.
fn waits(frames: &Frames, filter: &Filter) -> Result<Vec<Wait>> {
    let mut waits = frames.fold(
        &tables::SYNC,
        &[sync::KIND, sync::CONTEXT, sync::STREAM, sync::EVENT, sync::CORRELATION],
        filter,
        Vec::new,
        |waits: &mut Vec<Wait>, batch| {
            let [kind, context, stream, event] =
                [sync::KIND, sync::CONTEXT, sync::STREAM, sync::EVENT].map(|column| batch.get(column));
            let correlation = batch.get(sync::CORRELATION);
            batch.for_each_row(|i| {
                if kind.get(i) != Some(STREAM_WAIT_EVENT) {
                    return;
                }
                let cells = (context.get(i), stream.get(i), event.get(i), correlation.get(i));
                if let (Some(context), Some(stream), Some(event), Some(correlation @ 1..)) = cells {
                    waits.push(Wait { stream: (batch.process, context, stream), event, correlation });
                }
            });
        },
        |a, mut b| a.append(&mut b),
    )?;
    waits.sort_unstable_by_key(|wait| (wait.stream.0, wait.correlation));
    Ok(waits)
}

/// Where each event of each process was recorded, by correlation id.
type Records = HashMap<(u32, u32), Vec<(u64, Stream)>>;

fn records(frames: &Frames, filter: &Filter) -> Result<Records> {
    let mut records = frames.fold(
        &tables::EVENT,
        &[event::EVENT, event::CONTEXT, event::STREAM, event::CORRELATION],
        filter,
        HashMap::new,
        |records: &mut Records, batch| {
            let [event, context, stream] =
                [event::EVENT, event::CONTEXT, event::STREAM].map(|column| batch.get(column));
            let correlation = batch.get(event::CORRELATION);
            batch.for_each_row(|i| {
                let cells = (event.get(i), context.get(i), stream.get(i), correlation.get(i));
                if let (Some(event), Some(context), Some(stream), Some(correlation @ 1..)) = cells {
                    let of_event = records.entry((batch.process, event)).or_default();
                    of_event.push((correlation, (batch.process, context, stream)));
                }
            });
        },
        |a, b| b.into_iter().for_each(|(event, mut list)| a.entry(event).or_default().append(&mut list)),
    )?;
    records.values_mut().for_each(|of_event| of_event.sort_unstable());
    Ok(records)
}

/// The smallest and the largest correlation id of the work between two moments.
type Gap = (u64, u64);

/// Nothing between two moments.
const NOTHING: Gap = (u64::MAX, 0);

/// The gaps between moments of streams.
struct Between {
    /// The moments of each stream, ascending, and where their gaps begin in `gaps`: one before each moment, one after
    /// the last.
    moments: HashMap<Stream, (Vec<u64>, usize)>,
    gaps: Vec<Gap>,
}

impl Between {
    fn read(frames: &Frames, filter: &Filter, all: impl Iterator<Item = Moment>) -> Result<Between> {
        let mut moments: HashMap<Stream, (Vec<u64>, usize)> = HashMap::new();
        for (stream, id) in all {
            moments.entry(stream).or_default().0.push(id);
        }
        let mut count = 0;
        for (ids, first_gap) in moments.values_mut() {
            ids.sort_unstable();
            ids.dedup();
            *first_gap = count;
            count += ids.len() + 1;
        }
        let mut gaps = vec![NOTHING; count];
        for table in [&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::GRAPH] {
            let of_table = frames.fold(
                table,
                &[any::CONTEXT, any::STREAM, any::CORRELATION],
                filter,
                || vec![NOTHING; count],
                |gaps: &mut Vec<Gap>, batch| {
                    let [context, stream] = [any::CONTEXT, any::STREAM].map(|column| batch.get(column));
                    let correlation = batch.get(any::CORRELATION);
                    batch.for_each_row(|i| {
                        let cells = (context.get(i), stream.get(i), correlation.get(i));
                        let (Some(context), Some(stream), Some(id @ 1..)) = cells else { return };
                        let Some((ids, first_gap)) = moments.get(&(batch.process, context, stream)) else { return };
                        add(&mut gaps[first_gap + ids.partition_point(|&moment| moment < id)], (id, id));
                    });
                },
                |a, b| a.iter_mut().zip(b).for_each(|(gap, more)| add(gap, more)),
            )?;
            gaps.iter_mut().zip(of_table).for_each(|(gap, more)| add(gap, more));
        }
        Ok(Between { moments, gaps })
    }

    /// The gaps of a stream before a moment of it, and those after.
    fn around(&self, (stream, id): Moment) -> Option<(&[Gap], &[Gap])> {
        let (ids, first_gap) = self.moments.get(&stream)?;
        let gaps = self.gaps.get(*first_gap..)?.get(..=ids.len())?;
        gaps.split_at_checked(ids.partition_point(|&moment| moment < id) + 1)
    }

    fn last_before(&self, moment: Moment) -> Option<u64> {
        let (before, _) = self.around(moment)?;
        before.iter().rev().find(|gap| **gap != NOTHING).map(|gap| gap.1)
    }

    fn first_after(&self, moment: Moment) -> Option<u64> {
        let (_, after) = self.around(moment)?;
        after.iter().find(|gap| **gap != NOTHING).map(|gap| gap.0)
    }
}

fn add(gap: &mut Gap, more: Gap) {
    *gap = (gap.0.min(more.0), gap.1.max(more.1));
}
