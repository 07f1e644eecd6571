//! An evented profile: frames open and close in order, so they nest.

use super::{Number, Read, Unit, bare, each_field, each_item_of, in_unit, number, rest, text};
use crate::import::json_stream::{Token, Tokens};
use crate::import::kineto::number::scaled;
use crate::trace::sink::{Need, ProcessIx, Sink, valid_duration};
use hashbrown::HashMap;
use trace_format::tables::{self, RangeRow};
use trace_format::vocabulary::range_style::ANNOTATION;

/// What was read of it. The unit may come last, so events are held.
#[derive(Default)]
pub struct Evented {
    events: Vec<Event>,
    unusable: u64,
}

/// A frame opens or closes.
struct Event {
    at: Number,
    frame: u32,
    opens: bool,
}

/// What became of the events.
pub struct Closed {
    /// Frames that were open at the end.
    pub left_open: u64,
    /// Events that could not be used.
    pub unusable: u64,
}

/// Where the ranges of a profile go.
pub struct Target<'t, 's> {
    /// The process.
    pub process: ProcessIx,
    /// The thread that the profile is.
    pub tid: u32,
    /// What frames are called, by number.
    pub labels: &'t [Vec<u8>],
    /// What the caller wants.
    pub need: &'t Need,
    /// Where rows are pushed.
    pub sink: &'t mut Sink<'s>,
}

/// A frame that has opened. Ranges are numbered in the order in which they begin, which tells those of equal times
/// apart.
struct Open {
    frame: u32,
    start_ns: i64,
    id: u64,
}

impl Target<'_, '_> {
    fn push(&mut self, open: &Open, end_ns: i64) {
        let &Open { frame, start_ns, id: range_id } = open;
        if !self.need.wants(&tables::RANGE) {
            return;
        }
        let name_id = self.labels.get(frame as usize).map_or(0, |label| self.sink.name(label));
        // A range may well last from 0 to 0 here.
        let is_valid = (start_ns, end_ns) == (0, 0) || valid_duration(start_ns, end_ns).is_some();
        let end_ns = is_valid.then_some(end_ns);
        let row = RangeRow {
            start_ns,
            end_ns,
            style: ANNOTATION,
            range_id,
            name_id,
            tid: self.tid,
            ..RangeRow::default()
        };
        self.sink.push(self.process, row);
    }
}

impl Evented {
    /// Reads the list of events.
    pub fn events(&mut self, tokens: &mut Tokens) -> Read {
        each_item_of(tokens, |tokens, first| {
            if first != Token::Object {
                self.unusable += 1;
                return rest(tokens, &first);
            }
            let (mut at, mut frame, mut opens) = (None, None, None);
            each_field(tokens, |tokens, key| {
                match key {
                    b"at" => at = bare(tokens)?.and_then(|digits| number(&digits)),
                    b"frame" => frame = bare(tokens)?.and_then(|d| u32::try_from(scaled(&d, 0)?).ok()),
                    b"type" => {
                        opens = match text(tokens)?.as_deref() {
                            Some(b"O") => Some(true),
                            Some(b"C") => Some(false),
                            _ => None,
                        };
                    }
                    _ => tokens.skip()?,
                }
                Ok(())
            })?;
            match (at, frame, opens) {
                (Some(at), Some(frame), Some(opens)) => self.events.push(Event { at, frame, opens }),
                _ => self.unusable += 1,
            }
            Ok(())
        })
    }

    /// Makes ranges of them, numbered on from `begun`. Frames still open end at `end`, or with the last event.
    pub fn finish(self, unit: Unit, end: Option<Number>, begun: &mut u64, target: &mut Target) -> Closed {
        let mut closed = Closed { left_open: 0, unusable: self.unusable };
        let time = |at: Number| in_unit(at, unit).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let mut open: Vec<Open> = Vec::new();
        // How often each frame is open, so that one that is not need not be looked for.
        let mut counts: HashMap<u32, u64> = HashMap::new();
        let mut last = i64::MIN;
        for event in &self.events {
            let at = time(event.at);
            last = last.max(at);
            if event.opens {
                *begun += 1;
                open.push(Open { frame: event.frame, start_ns: at, id: *begun });
                *counts.entry(event.frame).or_default() += 1;
                continue;
            }
            if counts.get(&event.frame).is_none_or(|&count| count == 0) {
                closed.unusable += 1;
                continue;
            }
            // Files in order close the innermost frame; in others, those inside the one that closes end with it.
            while let Some(closing) = open.pop() {
                target.push(&closing, at);
                if let Some(count) = counts.get_mut(&closing.frame) {
                    *count -= 1;
                }
                if closing.frame == event.frame {
                    break;
                }
            }
        }
        let end = end.map_or(last, |end| time(end).max(last));
        closed.left_open = open.len() as u64;
        for open in open.iter().rev() {
            target.push(open, end);
        }
        closed
    }
}
