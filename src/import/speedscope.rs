//! speedscope files: sampled profiles become sums by function, evented ones ranges.
//!
//! Frames may stand before or after the profiles that name them by number, and weights behind the samples they
//! weigh, so distinct stacks and one number per sample are held until then; nothing else is.

mod evented;
mod sampled;

use self::evented::{Evented, Target};
use self::sampled::Sampled;
use super::json_stream::{Stop, Token, Tokens};
use super::kineto::number::scaled;
use super::kineto::{sniff, unpack};
use super::{Head, Importer};
use crate::demangle::readable;
use crate::error::{Error, Result};
use crate::numbers::{counted, items};
use crate::trace::sink::{Need, ProcessInfo, Sink};
use crate::trace::summaries::{Content, Summary, Weight};
use std::path::Path;
use trace_format::tables::ThreadRow;

/// Reads speedscope files.
pub struct Speedscope;

impl Importer for Speedscope {
    fn name(&self) -> &'static str {
        "speedscope"
    }

    fn describes(&self) -> &'static str {
        "speedscope profile, sampled or evented, JSON, plain or gzip (py-spy speedscope)"
    }

    fn sniff(&self, head: &Head) -> bool {
        sniff::is_speedscope_file(&head.text)
    }

    fn read(&self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let (document, failure) = unpack::with_text(path, |source| {
            let mut tokens = Tokens::new(source);
            let mut document = Document::default();
            let stop = document.read(&mut tokens).err();
            (document, stop)
        })?;
        let (document, stop) = document;
        let shown = path.display();
        if let Some(failure) = failure {
            sink.note(
                "damaged",
                format!("{shown}: the file is damaged ({}); what came before is read", failure.reason),
            );
        }
        match stop {
            Some(Stop::Cut(byte)) => {
                sink.note(
                    "cut-off",
                    format!("{shown}: cut off at byte {byte} of the text; what came before is read"),
                );
            }
            Some(Stop::Broken(byte)) => {
                sink.note(
                    "left-out",
                    format!("{shown}: byte {byte} of the text is no JSON; what came before is read"),
                );
            }
            Some(Stop::End) | None => {}
        }
        document.finish(path, need, sink)
    }
}

/// A function of the profile.
#[derive(Default)]
struct Frame {
    name: Vec<u8>,
    file: Vec<u8>,
    line: Option<i64>,
}

impl Frame {
    /// `name (file:line)`, as far as the file says.
    fn label(&self) -> Vec<u8> {
        let mut label = self.name.clone();
        if !self.file.is_empty() {
            label.extend_from_slice(b" (");
            label.extend_from_slice(&self.file);
            if let Some(line) = self.line {
                label.extend_from_slice(format!(":{line}").as_bytes());
            }
            label.push(b')');
        }
        label
    }
}

/// What weights and times of a profile are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Unit {
    #[default]
    None,
    Bytes,
    /// Seconds times ten to the power of minus this.
    Time(i32),
}

impl Unit {
    fn of(name: &[u8]) -> Unit {
        match name {
            b"bytes" => Unit::Bytes,
            b"seconds" => Unit::Time(9),
            b"milliseconds" => Unit::Time(6),
            b"microseconds" => Unit::Time(3),
            b"nanoseconds" => Unit::Time(0),
            _ => Unit::None,
        }
    }
}

/// One profile, whose unit may come last: numbers stay text until then, or rather an integer of 10^-9.
#[derive(Default)]
struct Profile {
    name: Vec<u8>,
    unit: Unit,
    end: Option<Number>,
    sampled: Sampled,
    evented: Evented,
    is_evented: bool,
}

/// A decimal number in units of 10^-9, which is exact for everything that tools write.
type Number = i128;

fn number(text: &[u8]) -> Option<Number> {
    // What is too large for nine decimals has no more than three that matter, and in the end none.
    let places = [9, 3].into_iter().find_map(|places| {
        let value = scaled(text, places)?;
        (value.abs_diff(0) < i64::MAX as u64).then(|| i128::from(value) * 10i128.pow(9 - places.unsigned_abs()))
    });
    places.or_else(|| Some(i128::from(scaled(text, 0)?) * 1_000_000_000))
}

/// A number in nanoseconds, or whole in its unit.
fn in_unit(number: i128, unit: Unit) -> i128 {
    let divisor = match unit {
        Unit::Time(scale) => 10i128.pow((9 - scale).unsigned_abs()),
        Unit::None | Unit::Bytes => 1_000_000_000,
    };
    let half = divisor / 2;
    if number < 0 { -((half - number) / divisor) } else { (number + half) / divisor }
}

#[derive(Default)]
struct Document {
    frames: Vec<Frame>,
    profiles: Vec<Profile>,
    exporter: Vec<u8>,
    is_speedscope: bool,
}

/// Profiles read at most; a profile is a thread.
const PROFILES: usize = 100_000;

type Read = std::result::Result<(), Stop>;

impl Document {
    fn read(&mut self, tokens: &mut Tokens) -> Read {
        if tokens.next()? != Token::Object {
            return Err(Stop::Broken(0));
        }
        each_field(tokens, |tokens, key| match key {
            b"$schema" => {
                let schema = text(tokens)?.unwrap_or_default();
                self.is_speedscope |= schema.windows(10).any(|window| window == b"speedscope");
                Ok(())
            }
            b"exporter" => {
                self.exporter = text(tokens)?.unwrap_or_default();
                Ok(())
            }
            b"shared" => each_field_of(tokens, |tokens, key| match key {
                b"frames" => each_item_of(tokens, |tokens, first| self.frame(tokens, first)),
                _ => tokens.skip(),
            }),
            b"profiles" => each_item_of(tokens, |tokens, first| self.profile(tokens, first)),
            _ => tokens.skip(),
        })
    }

    fn frame(&mut self, tokens: &mut Tokens, first: Token) -> Read {
        // What is no object has its number all the same.
        self.frames.push(Frame::default());
        let Some(frame) = self.frames.last_mut() else { return Ok(()) };
        if first != Token::Object {
            return rest(tokens, &first);
        }
        each_field(tokens, |tokens, key| {
            match key {
                b"name" => frame.name = text(tokens)?.unwrap_or_default(),
                b"file" => frame.file = text(tokens)?.unwrap_or_default(),
                b"line" => frame.line = bare(tokens)?.and_then(|digits| scaled(&digits, 0)),
                _ => tokens.skip()?,
            }
            Ok(())
        })
    }

    fn profile(&mut self, tokens: &mut Tokens, first: Token) -> Read {
        if first != Token::Object || self.profiles.len() >= PROFILES {
            return rest(tokens, &first);
        }
        self.profiles.push(Profile::default());
        let Some(profile) = self.profiles.last_mut() else { return Ok(()) };
        each_field(tokens, |tokens, key| {
            match key {
                b"name" => profile.name = text(tokens)?.unwrap_or_default(),
                b"unit" => profile.unit = Unit::of(&text(tokens)?.unwrap_or_default()),
                b"endValue" => profile.end = bare(tokens)?.and_then(|digits| number(&digits)),
                b"samples" => profile.sampled.samples(tokens)?,
                b"weights" => profile.sampled.weights(tokens)?,
                b"events" => {
                    profile.is_evented = true;
                    profile.evented.events(tokens)?;
                }
                _ => tokens.skip()?,
            }
            Ok(())
        })
    }

    fn finish(self, path: &Path, need: &Need, sink: &mut Sink) -> Result<()> {
        let Document { frames, profiles, exporter, is_speedscope } = self;
        let shown = path.display();
        if !is_speedscope && profiles.is_empty() {
            return Err(Error::at(path, "JSON without trace events and without profiles")
                .remedy("speedscope profiles have a `$schema` and a list `profiles`"));
        }
        let labels: Vec<Vec<u8>> = frames.iter().map(Frame::label).collect();
        let (mut sampled, mut evented) = (0u64, 0u64);
        let (mut missing, mut begun) = (0, 0);
        let mut process = None;
        for (number, profile) in profiles.into_iter().enumerate() {
            let name = readable(&profile.name).into_owned();
            if profile.is_evented {
                evented += 1;
                let process = *process.get_or_insert_with(|| sink.process(ProcessInfo::default()));
                let tid = number as u32;
                let name_id = sink.name(&profile.name);
                sink.push(process, ThreadRow { tid, name_id });
                let mut target = Target { process, tid, labels: &labels, need, sink };
                let closed = profile.evented.finish(profile.unit, profile.end, &mut begun, &mut target);
                missing += closed.unusable;
                if closed.left_open > 0 {
                    let open = counted(closed.left_open, "range");
                    sink.note(
                        "left-open",
                        format!("{shown}: {open} of \"{name}\" had not ended: the end of the profile is taken for the end"),
                    );
                }
                continue;
            }
            sampled += 1;
            let weight = match profile.unit {
                Unit::Time(_) => Weight::Time,
                Unit::Bytes => Weight::Bytes,
                Unit::None => Weight::Count,
            };
            if let Some((weights, samples)) = profile.sampled.unlike_weights() {
                sink.note(
                    "unlike-weights",
                    format!(
                        "{shown}: \"{name}\" has {} for {}: as many as there are samples are taken from the front, and which they belong to is doubtful",
                        counted(weights, "weight"),
                        counted(samples, "sample")
                    ),
                );
            }
            let (samples, unusable) = profile.sampled.finish(profile.unit, &labels);
            missing += unusable;
            let content = Content::Samples(samples.finish(name, weight));
            sink.summary(Summary { maker: "a sampling profiler", pid: None, content });
        }
        if missing > 0 {
            sink.note(
                "left-out",
                format!(
                    "{shown}: {} left out",
                    items(
                        missing,
                        "sample or event names no frame or has no number and is",
                        "samples or events name no frame or have no number and are"
                    )
                ),
            );
        }
        if sampled > 0 {
            sink.note(
                "samples-only",
                format!(
                    "{shown}: holds sampled call stacks of the CPU alone, {}: no times of single calls and nothing of a GPU",
                    counted(sampled, "profile")
                ),
            );
        }
        if evented > 0 {
            sink.note(
                "no-gpu-records",
                format!(
                    "{shown}: holds ranges of the CPU alone, {}: nothing of a GPU",
                    counted(evented, "profile")
                ),
            );
        }
        let by = String::from_utf8_lossy(&exporter).into_owned();
        sink.origin =
            if by.is_empty() { "speedscope profile".to_owned() } else { format!("speedscope profile by {by}") };
        Ok(())
    }
}

/// Calls `field` for every key of the object whose bracket was just read; it reads the value.
fn each_field(tokens: &mut Tokens, mut field: impl FnMut(&mut Tokens, &[u8]) -> Read) -> Read {
    loop {
        match tokens.next()? {
            Token::Key(key) => field(tokens, &key)?,
            _ => return Ok(()),
        }
    }
}

/// As [`each_field`], if an object comes next.
fn each_field_of(tokens: &mut Tokens, field: impl FnMut(&mut Tokens, &[u8]) -> Read) -> Read {
    match tokens.next()? {
        Token::Object => each_field(tokens, field),
        other => rest(tokens, &other),
    }
}

/// If an array comes next, calls `item` with the first token of each item; it reads what follows of it.
fn each_item_of(tokens: &mut Tokens, mut item: impl FnMut(&mut Tokens, Token) -> Read) -> Read {
    let first = tokens.next()?;
    if first != Token::Array {
        return rest(tokens, &first);
    }
    loop {
        match tokens.next()? {
            Token::EndArray => return Ok(()),
            first => item(tokens, first)?,
        }
    }
}

/// Passes over what follows the first token of a value.
fn rest(tokens: &mut Tokens, first: &Token) -> Read {
    if !matches!(first, Token::Object | Token::Array) {
        return Ok(());
    }
    let inside = tokens.depth();
    while tokens.depth() >= inside {
        tokens.next()?;
    }
    Ok(())
}

/// The string that comes next; `None` if it is something else.
fn text(tokens: &mut Tokens) -> std::result::Result<Option<Vec<u8>>, Stop> {
    match tokens.next()? {
        Token::Text(text) => Ok(Some(text)),
        other => rest(tokens, &other).map(|()| None),
    }
}

/// The number that comes next; `None` if it is something else.
fn bare(tokens: &mut Tokens) -> std::result::Result<Option<Vec<u8>>, Stop> {
    match tokens.next()? {
        Token::Bare(text) => Ok(Some(text)),
        other => rest(tokens, &other).map(|()| None),
    }
}
