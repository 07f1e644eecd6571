//! One trace event, its fields found but not yet understood.

use super::tape::{Step, Tape, Value};
use super::text::unescape;

/// The fields of an event that anybody here asks for. The last of equal keys counts, as in Python's `json`.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Event<'t> {
    /// The phase: `X` is a complete event, `M` metadata.
    pub phase: Value<'t>,
    /// The category.
    pub category: Value<'t>,
    /// What it is called.
    pub name: Value<'t>,
    /// Process, or device of GPU work.
    pub pid: Value<'t>,
    /// Thread, or stream of GPU work.
    pub tid: Value<'t>,
    /// Start, microseconds.
    pub ts: Value<'t>,
    /// Duration, microseconds.
    pub dur: Value<'t>,
    /// Everything else.
    pub args: Value<'t>,
}

/// What became of reading an event.
pub enum Read<'t> {
    /// It is all there; the token after it.
    Whole(Event<'t>, usize),
    /// The text ends before it does.
    Cut,
    /// It is no JSON object.
    Broken,
}

impl<'t> Event<'t> {
    /// Reads the event whose opening bracket is token `open`.
    pub fn read(tape: Tape<'t>, open: usize) -> Read<'t> {
        let mut event = Event::default();
        let mut fields = tape.fields(open);
        loop {
            match fields.step() {
                Step::Field(key, value) => event.set(key, value),
                Step::End(next) => return Read::Whole(event, next),
                Step::Cut => return Read::Cut,
                Step::Broken => return Read::Broken,
            }
        }
    }

    #[inline]
    fn set(&mut self, key: &[u8], value: Value<'t>) {
        let field = match key {
            b"ph" => &mut self.phase,
            b"cat" => &mut self.category,
            b"name" => &mut self.name,
            b"pid" => &mut self.pid,
            b"tid" => &mut self.tid,
            b"ts" => &mut self.ts,
            b"dur" => &mut self.dur,
            b"args" => &mut self.args,
            _ if key.contains(&b'\\') => {
                let key = unescape(key);
                if !key.contains(&b'\\') {
                    self.set(&key, value);
                }
                return;
            }
            _ => return,
        };
        *field = value;
    }

    /// Whether the phase is this one.
    #[inline]
    pub fn is(&self, phase: u8) -> bool {
        self.phase == Value::Text(&[phase])
    }
}

/// What an event is about, by its category. The names changed in case and prefix over the years and in nothing
/// else that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// GPU kernel.
    Kernel,
    /// GPU copy.
    Memcpy,
    /// GPU fill.
    Memset,
    /// CUDA or HIP runtime call.
    Runtime,
    /// CUDA driver call.
    Driver,
    /// PyTorch operator.
    Operator,
    /// Annotation by the program; not its copy on the GPU's rows, which is no work.
    Annotation,
    /// Python call.
    Python,
    /// Synchronisation.
    Sync,
    /// Overhead of the tracing itself.
    Overhead,
    /// None of these.
    Other,
}

impl Category {
    /// The category of this name.
    #[inline]
    pub fn of(category: Value) -> Category {
        let Value::Text(raw) = category else { return Category::Other };
        let known: &[(&[u8], Category)] = match raw.len() {
            6 => &[
                (b"cpu_op", Category::Operator),
                (b"kernel", Category::Kernel),
                (b"memcpy", Category::Memcpy),
                (b"memset", Category::Memset),
            ],
            7 => &[(b"runtime", Category::Runtime)],
            8 => &[(b"operator", Category::Operator), (b"overhead", Category::Overhead)],
            9 => &[(b"cuda_sync", Category::Sync)],
            10 => &[(b"gpu_memcpy", Category::Memcpy), (b"gpu_memset", Category::Memset)],
            11 => &[(b"cuda_driver", Category::Driver), (b"hip_runtime", Category::Runtime)],
            12 => &[(b"cuda_runtime", Category::Runtime)],
            15 => &[(b"python_function", Category::Python), (b"user_annotation", Category::Annotation)],
            _ => &[],
        };
        let found = known.iter().find(|(name, _)| raw.eq_ignore_ascii_case(name));
        found.map_or(Category::Other, |&(_, category)| category)
    }
}
