//! Puts the trace together: the first packet, descriptors, names, and what happens.

use super::event::{Events, annotate, annotate_text, room_for_shapes, track_event};
use super::items::{Item, Items};
use super::names::{CATEGORIES, Columns, Names, category_iid, entry};
use super::schema::{ARGUMENTS, TRACE_PACKET, argument, event, interned, packet};
use super::stage::queue_iid;
use super::tracks::Tracks;
use super::wire;
use crate::analysis::cpu_slices::{self, SampledThread, earlier};
use crate::analysis::stream_waits::StreamWaits;
use crate::error::Result;
use crate::export::Context;
use crate::export::write_thread::WriteThread;
use crate::lines::line::{Form, Line};
use crate::lines::naming::Naming;
use crate::lines::place::{Placed, Placing, Track};
use crate::trace::ordered::Chunk;
use hashbrown::HashMap;
use rayon::prelude::*;
use std::sync::OnceLock;

/// Items that one thread makes packets of at a time.
const PART_ITEMS: usize = 16_384;

/// How much is written at once.
const WRITTEN_BYTES: usize = 1 << 20;

/// About how long a packet is.
const PACKET_BYTES: usize = 96;

/// Writes a packet; `time` is in nanoseconds.
#[inline]
pub fn packet(out: &mut Vec<u8>, prefix: &[u8], time: Option<u64>, write: impl FnOnce(&mut Vec<u8>)) {
    wire::message(out, TRACE_PACKET, |out| {
        out.extend_from_slice(prefix);
        if let Some(time) = time {
            wire::unsigned(out, packet::TIMESTAMP, time);
        }
        write(out);
    });
}

/// Writes a trace.
pub struct Writer<'a, 'n> {
    context: &'a Context<'a>,
    output: &'n mut WriteThread,
    placing: Placing<'a>,
    names: Names<'a>,
    tracks: Tracks<'a, 'n>,
    items: Items,
    shapes: Vec<OnceLock<Box<[u8]>>>,
    prefix: Vec<u8>,
    /// When the first CPU sample was taken.
    first_sample_ns: Option<i64>,
    /// Once the first packet is written.
    shift_ns: Option<i64>,
    extras: Extras,
    /// What work waited for, where it is written as stages of GPUs.
    waits: StreamWaits,
}

/// What is written beside slices.
#[derive(Clone, Copy, Debug)]
pub struct Extras {
    /// Arrows from calls to the work they caused.
    pub flows: bool,
    /// Counters.
    pub counters: bool,
    /// Stages of GPUs.
    pub stages: bool,
}

impl<'a, 'n> Writer<'a, 'n> {
    /// A trace of which nothing is written yet.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn new(
        context: &'a Context<'a>,
        output: &'n mut WriteThread,
        naming: &'n mut Naming<'a>,
        placing: Placing<'a>,
        extras: Extras,
    ) -> Result<Self> {
        let sequence = sequence_id(context);
        let mut prefix = Vec::new();
        wire::unsigned(&mut prefix, packet::SEQUENCE_ID, sequence);
        wire::unsigned(&mut prefix, packet::SEQUENCE_FLAGS, 2);
        Ok(Writer {
            context,
            output,
            placing,
            names: Names::new(context.labels, extras.stages),
            // Tracks of several traces in one file must not have the same ids.
            tracks: Tracks::new(naming, sequence << 24, prefix.clone()),
            items: Items::new(extras.counters),
            shapes: room_for_shapes(context.frames.shape_count()),
            prefix,
            first_sample_ns: cpu_slices::first_ns(context.frames, context.filter)?,
            shift_ns: None,
            extras,
            waits: match extras.stages {
                true => StreamWaits::find(context.frames, context.filter)?,
                false => StreamWaits::default(),
            },
        })
    }

    /// Writes the next rows.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn chunk(&mut self, chunk: &Chunk) -> Result<()> {
        let placed = self.placing.place(chunk);
        self.placed(&placed, false)
    }

    /// Writes what is left of the rows.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn finish(&mut self) -> Result<()> {
        let placed = self.placing.rest();
        self.placed(&placed, true)
    }

    /// Writes the functions of CPU samples as slices, once all rows are written.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read, or if the output cannot be written.
    pub fn stacks(&mut self) -> Result<()> {
        let (frames, filter, labels) = (self.context.frames, self.context.filter, self.context.labels);
        let mut out = Vec::new();
        let shift_ns = self.begin(&Placed::default(), &mut out);
        let category = category_iid("cpu_stack");
        let mut opened: HashMap<SampledThread, u64> = HashMap::new();
        cpu_slices::each(frames, filter, |thread, edge| {
            let track = *opened.entry(thread).or_insert_with(|| {
                self.tracks.open(&Track { line: thread.into(), lane: 0 }, &mut out);
                self.tracks.slices.last().copied().unwrap_or(0)
            });
            let name = self.names.function(edge.frame);
            self.new_names(&mut out);
            let time = edge.at_ns.saturating_sub(shift_ns).max(0) as u64;
            match edge.samples {
                None => track_event(&mut out, &self.prefix, (time, 1, track), |out| {
                    wire::unsigned(out, event::NAME, name);
                    wire::unsigned(out, event::CATEGORY, category);
                    if edge.frame.file != 0 {
                        annotate_text(out, argument("file"), labels.text(edge.frame.file));
                    }
                }),
                // Arguments of an end are added to those of the beginning.
                Some(samples) => track_event(&mut out, &self.prefix, (time, 2, track), |out| {
                    annotate(out, argument("samples"), i64::try_from(samples).ok());
                }),
            }
            if out.len() >= WRITTEN_BYTES {
                self.output.push(std::mem::take(&mut out))?;
            }
            Ok(())
        })?;
        self.output.push(out)
    }

    /// Writes the names that were given numbers since.
    fn new_names(&mut self, out: &mut Vec<u8>) {
        let new = self.names.take_new();
        if !new.is_empty() {
            packet(out, &self.prefix, None, |out| wire::bytes(out, packet::INTERNED_DATA, &new));
        }
    }

    fn placed(&mut self, placed: &Placed, is_last: bool) -> Result<()> {
        let mut head = Vec::new();
        let shift_ns = self.begin(placed, &mut head);
        for track in placed.new_tracks.clone() {
            let placed = self.placing.tracks[track];
            self.tracks.open(&placed, &mut head);
            if self.extras.stages && matches!(placed.line, Line::Stream { .. }) {
                self.queue(track as u32, placed.line, &mut head);
            }
        }
        let columns: Vec<Columns> = placed.pieces.iter().map(|piece| Columns::of(&piece.rows)).collect();
        self.items.add(placed, &columns, &mut self.names, &mut self.tracks, &mut head);
        if is_last {
            self.items.end_all(&mut self.tracks, &mut head);
        }
        self.new_names(&mut head);
        self.output.push(head)?;
        let events = Events {
            context: self.context,
            prefix: &self.prefix,
            shift_ns,
            slices: &self.tracks.slices,
            counters: &self.tracks.counter_uuids,
            shapes: &self.shapes,
            stages: self.extras.stages,
            waits: &self.waits,
            flows: self.extras.flows,
        };
        let part = |items: &[Item]| {
            let mut out = Vec::with_capacity(items.len() * PACKET_BYTES);
            items.iter().for_each(|item| events.write(&mut out, placed, &columns, item));
            out
        };
        let parts: Vec<Vec<u8>> = self.items.list.par_chunks(PART_ITEMS).map(part).collect();
        self.items.list.clear();
        parts.into_iter().try_for_each(|part| self.output.push(part))
    }

    /// Writes the first packet, unless that is done. Returns what is to be taken from all times.
    fn begin(&mut self, placed: &Placed, out: &mut Vec<u8>) -> i64 {
        if let Some(shift_ns) = self.shift_ns {
            return shift_ns;
        }
        let first = placed.slots.iter().find(|slot| slot.form != Form::Timeless);
        let first_ns = earlier(first.map(|slot| slot.start_ns), self.first_sample_ns);
        let zero_ns = first_ns.unwrap_or(0);
        let shift_ns = zero_ns.min(0);
        self.shift_ns = Some(shift_ns);
        let mut prefix = Vec::new();
        wire::unsigned(&mut prefix, packet::SEQUENCE_ID, sequence_id(self.context));
        // What comes now needs nothing that came before.
        wire::unsigned(&mut prefix, packet::SEQUENCE_FLAGS, 3);
        wire::unsigned(&mut prefix, packet::FIRST_ON_SEQUENCE, 1);
        packet(out, &prefix, None, |out| {
            wire::message(out, packet::INTERNED_DATA, |out| {
                for (i, name) in (1..).zip(CATEGORIES) {
                    entry(out, interned::CATEGORY, i, name);
                }
                for (i, name) in (1..).zip(ARGUMENTS) {
                    entry(out, interned::ANNOTATION, i, name);
                }
            });
        });
        if self.context.frames.processes.iter().all(|p| p.info.epoch_ns().is_some()) && zero_ns > 0 {
            // Times are Unix times already: Perfetto's default clock (6) and the wall clock (1) agree.
            packet(out, &self.prefix, None, |out| {
                wire::message(out, packet::CLOCK_SNAPSHOT, |out| {
                    for clock in [6, 1] {
                        wire::message(out, 1, |out| {
                            wire::unsigned(out, 1, clock);
                            wire::unsigned(out, 2, zero_ns as u64);
                        });
                    }
                });
            });
        }
        shift_ns
    }

    /// Describes the hardware queue and the context that a track stands for.
    fn queue(&self, track: u32, line: Line, out: &mut Vec<u8>) {
        let name = self.tracks.queue_name(line);
        packet(out, &self.prefix, None, |out| {
            wire::message(out, packet::INTERNED_DATA, |out| {
                wire::message(out, interned::CONTEXT, |out| {
                    wire::unsigned(out, 1, queue_iid(track));
                    wire::unsigned(out, 2, self.tracks.pid(line.process()).into());
                    wire::unsigned(out, 3, 4);
                });
                wire::message(out, interned::SPECIFICATION, |out| {
                    wire::unsigned(out, 1, queue_iid(track));
                    wire::string(out, 2, &name);
                    wire::unsigned(out, 4, 2);
                });
            });
        });
    }
}

/// A number for the sequence of packets that depends on what is exported alone (FNV-1a), so that two exports can be
/// put into one file and one export is the same bytes every time. It takes 28 bits.
fn sequence_id(context: &Context) -> u64 {
    let frames = context.frames;
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for process in &frames.processes {
        add(&process.info.pid.unwrap_or(0).to_le_bytes());
        add(&process.info.epoch_ns().unwrap_or(0).to_le_bytes());
    }
    for file in &frames.files {
        add(file.origin.as_bytes());
        add(file.path.file_name().unwrap_or_default().as_encoded_bytes());
    }
    (hash >> 36).max(2)
}
