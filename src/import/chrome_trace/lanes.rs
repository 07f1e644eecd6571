//! What the lanes of a trace stand for. Tools that trace GPUs put each stream on a lane of its own and say in the names
//! of processes and threads which it is; what runs there is work of a GPU and must not be added up with the CPU's time.

use super::super::kineto::event::Event;
use super::super::kineto::json_tokens::{Tape, Value};
use super::super::kineto::text::unescape;
use hashbrown::HashMap;

/// What a lane stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// A thread of the CPU.
    Host,
    /// Calls of a GPU's API.
    Calls,
    /// A stream of a GPU.
    Stream(u32, u32),
    /// Copies of all GPUs (rocprof); each says where it ran.
    Copies,
    /// Something about a GPU that is no work of its own: XLA's modules lie over their kernels.
    About,
}

/// Names kept at most; each costs memory until the end.
const NAMES: usize = 100_000;

/// A name or an id, as written.
type Text = Box<[u8]>;

/// Process and thread of a lane, as written.
type LaneIds = (Text, Text);

/// Names of processes and threads, and what was made of them.
#[derive(Default)]
pub struct Lanes {
    processes: HashMap<Text, Text>,
    threads: HashMap<LaneIds, Text>,
    places: HashMap<LaneIds, LaneKind>,
    /// The lane that was asked for last: events of one lane stand together.
    last: Option<(LaneIds, LaneKind)>,
}

impl Lanes {
    /// Takes note of a `process_name` or `thread_name` event.
    pub fn metadata(&mut self, event: &Event, tape: Tape) {
        let Value::Nested(arguments) = event.args else { return };
        let name = tape.fields(arguments).filter(|(key, _)| *key == b"name").last();
        let Some((_, Value::Text(name))) = name else { return };
        if self.processes.len() + self.threads.len() >= NAMES {
            return;
        }
        let name: Box<[u8]> = unescape(name).as_ref().into();
        match event.name {
            Value::Text(b"process_name") => {
                self.processes.insert(text(event.pid).into(), name);
            }
            Value::Text(b"thread_name") => {
                self.threads.insert((text(event.pid).into(), text(event.tid).into()), name);
            }
            _ => {}
        }
    }

    /// What the lane of an event stands for.
    pub fn place(&mut self, event: &Event) -> LaneKind {
        let (pid, tid) = (text(event.pid), text(event.tid));
        if let Some(((last_pid, last_tid), place)) = &self.last
            && (&**last_pid, &**last_tid) == (pid, tid)
        {
            return *place;
        }
        let key = (Box::from(pid), Box::from(tid));
        let place = match self.places.get(&key) {
            Some(&known) => known,
            None => {
                let process = self.processes.get(pid).map_or(pid, |name| name);
                let thread = self.threads.get(&key).map_or(tid, |name| name);
                let place = place_of(process, thread, tid);
                if self.places.len() < NAMES {
                    self.places.insert(key, place);
                }
                place
            }
        };
        self.last = Some(((pid.into(), tid.into()), place));
        place
    }

    /// What the thread of an event is called, if the trace has named it or its ids are names.
    pub fn thread_name(&self, event: &Event) -> Option<Vec<u8>> {
        let (pid, tid) = (text(event.pid), text(event.tid));
        if let Some(name) = self.threads.get(&(Box::from(pid), Box::from(tid))) {
            return Some(name.to_vec());
        }
        let is_name = |id: &[u8]| !id.is_empty() && !id.iter().all(|b| b.is_ascii_digit() || *b == b'-');
        match (is_name(pid), is_name(tid)) {
            (_, true) => Some(unescape(tid).into_owned()),
            (true, false) => Some([&unescape(pid), &b" "[..], tid].concat().trim_ascii().to_vec()),
            (false, false) => None,
        }
    }
}

/// What lanes of these names stand for, by what tools call them; `tid` is the thread's id as written.
fn place_of(process: &[u8], thread: &[u8], tid: &[u8]) -> LaneKind {
    let (process, thread) = (process.to_ascii_lowercase(), thread.to_ascii_lowercase());
    let stream = || number(&thread).or_else(|| number(tid)).unwrap_or(0);
    // XLA, and what reads it: JAX, TensorFlow 2.
    if let Some(device) = after(&process, b"/device:gpu:").and_then(leading) {
        return if thread.starts_with(b"stream") { LaneKind::Stream(device, stream()) } else { LaneKind::About };
    }
    if let Some(device) = after(&process, b"/device:tpu:").and_then(leading) {
        return if thread == b"xla ops" { LaneKind::Stream(device, 0) } else { LaneKind::About };
    }
    // PyTorch before Kineto.
    if process == b"cuda functions" {
        return LaneKind::Stream(0, stream());
    }
    // rocprof.
    if process == b"copy" {
        return LaneKind::Copies;
    }
    if process.starts_with(b"cpu ") && process.ends_with(b" api") {
        return LaneKind::Calls;
    }
    if let Some(device) = process.strip_prefix(b"gpu").map(<[u8]>::trim_ascii_start).and_then(whole) {
        return LaneKind::Stream(device, stream());
    }
    if process == b"ascend hardware" {
        return LaneKind::Stream(0, stream());
    }
    // Proton puts both into the process, nsys2json the stream into the thread.
    if let Some(device) = process.strip_prefix(b"device ").and_then(leading) {
        if let Some(stream) = after(&process, b" stream ").and_then(leading) {
            return LaneKind::Stream(device, stream);
        }
        if thread.starts_with(b"stream ") {
            return LaneKind::Stream(device, stream());
        }
    }
    LaneKind::Host
}

fn after<'t>(text: &'t [u8], sign: &[u8]) -> Option<&'t [u8]> {
    let at = text.windows(sign.len()).position(|window| window == sign)?;
    Some(&text[at + sign.len()..])
}

/// The number that a text begins with.
fn leading(text: &[u8]) -> Option<u32> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

/// The number that a text is.
fn whole(text: &[u8]) -> Option<u32> {
    text.iter().all(u8::is_ascii_digit).then(|| leading(text))?
}

/// The first number in a text.
pub fn number(text: &[u8]) -> Option<u32> {
    leading(&text[text.iter().position(u8::is_ascii_digit)?..])
}

fn text<'t>(value: Value<'t>) -> &'t [u8] {
    match value {
        Value::Text(text) | Value::Bare(text) => text,
        Value::Missing | Value::Nested(_) => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_gpus_are_known_by_what_tools_call_them() {
        let place =
            |process: &str, thread: &str| place_of(process.as_bytes(), thread.as_bytes(), thread.as_bytes());
        assert_eq!(place("/device:GPU:1", "Stream #14(Compute)"), LaneKind::Stream(1, 14));
        assert_eq!(place("/device:GPU:1", "XLA Modules"), LaneKind::About);
        assert_eq!(place("/device:TPU:0", "XLA Ops"), LaneKind::Stream(0, 0));
        assert_eq!(place("CUDA functions", "3"), LaneKind::Stream(0, 3));
        assert_eq!(place("GPU1", "0"), LaneKind::Stream(1, 0));
        assert_eq!(place("Device 2 stream 7", "matmul"), LaneKind::Stream(2, 7));
        assert_eq!(place("Device 0", "Stream 7"), LaneKind::Stream(0, 7));
        assert_eq!(place("COPY", "0"), LaneKind::Copies);
        assert_eq!(place("CPU HIP API", "900"), LaneKind::Calls);
        for (process, thread) in [("GPU Process", "1"), ("Device 0", "main"), ("/host:CPU", "python"), ("gpu", "")]
        {
            assert_eq!(place(process, thread), LaneKind::Host, "{process}");
        }
    }
}
