//! One trace event, its fields found but not yet understood.

use super::json_tokens::{Step, Tape, Value};
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
    /// What joins the beginning and the end of an asynchronous range: `id`, or `id2`, which is an object.
    pub id: Value<'t>,
    /// Everything else.
    pub args: Value<'t>,
}

/// What became of reading an event.
#[allow(clippy::large_enum_variant, reason = "there is one at a time, and nearly every one is an event")]
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
            b"id" | b"id2" => &mut self.id,
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
        found.map_or_else(|| Category::of_other_device(raw), |&(_, category)| category)
    }

    /// What Kineto calls the host's side of accelerators that are not NVIDIA's: `xpu_runtime`, `privateuse1_driver`,
    /// `xpu_sync`. Their device's side has the categories of all devices.
    fn of_other_device(raw: &[u8]) -> Category {
        let Some(bar) = raw.iter().position(|&byte| byte == b'_') else { return Category::Other };
        let (device, side) = (raw[..bar].to_ascii_lowercase(), raw[bar + 1..].to_ascii_lowercase());
        if !OTHER_DEVICES.contains(&&device[..]) {
            return Category::Other;
        }
        match &side[..] {
            b"runtime" => Category::Runtime,
            b"driver" => Category::Driver,
            b"sync" => Category::Sync,
            _ => Category::Other,
        }
    }
}

/// Accelerators with categories of their own. A list, because programs of all kinds write categories of their own.
const OTHER_DEVICES: &[&[u8]] =
    &[b"glow", b"hip", b"hpu", b"mlu", b"mtia", b"musa", b"npu", b"privateuse1", b"xpu"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::kineto::index::Indexer;

    fn read(text: &str, check: impl FnOnce(Read)) {
        let mut indexer = Indexer::default();
        indexer.index(text.as_bytes(), 0, true);
        check(Event::read(Tape { text: text.as_bytes(), tokens: indexer.tokens() }, 0));
    }

    fn whole(text: &str, check: impl FnOnce(Event)) {
        read(text, |read| match read {
            Read::Whole(event, _) => check(event),
            _ => panic!("{text} is an event"),
        });
    }

    #[test]
    fn the_last_of_equal_keys_counts() {
        whole(r#"{"ts":1,"ph":"M","ph":"X","ts":2}"#, |event| {
            assert_eq!((event.ts, event.phase), (Value::Bare(b"2"), Value::Text(b"X")));
        });
    }

    #[test]
    fn keys_may_be_escaped_and_unknown_ones_are_passed_over() {
        whole(r#"{"p\u0068":"X","xid":[{"ts":7}],"a\\b":1,"cname":"good"}"#, |event| {
            assert_eq!(event, Event { phase: Value::Text(b"X"), ..Event::default() });
        });
    }

    #[test]
    fn an_event_is_whole_cut_or_broken() {
        for text in ["{", r#"{"ph""#, r#"{"ph":"X""#, r#"{"args":{"a":[1]"#, r#"{"ts":1"#] {
            read(text, |read| assert!(matches!(read, Read::Cut), "{text}"));
        }
        for text in [r#"{"ph" "X"}"#, r#"{"ph":}"#, "{{}}", "{[]}", "{]"] {
            read(text, |read| assert!(matches!(read, Read::Broken), "{text}"));
        }
    }

    #[test]
    fn categories_of_every_era_are_known() {
        let of = |name: &str| Category::of(Value::Text(name.as_bytes()));
        for name in ["Kernel", "kernel", "KERNEL"] {
            assert_eq!(of(name), Category::Kernel);
        }
        assert_eq!([of("Memcpy"), of("gpu_memcpy")], [Category::Memcpy; 2]);
        assert_eq!([of("Memset"), of("gpu_memset")], [Category::Memset; 2]);
        assert_eq!([of("Runtime"), of("cuda_runtime"), of("hip_runtime")], [Category::Runtime; 3]);
        assert_eq!([of("Operator"), of("cpu_op")], [Category::Operator; 2]);
        assert_eq!(of("cuda_driver"), Category::Driver);
        assert_eq!([of("xpu_runtime"), of("privateuse1_runtime"), of("mtia_runtime")], [Category::Runtime; 3]);
        assert_eq!([of("xpu_driver"), of("PrivateUse1_Driver")], [Category::Driver; 2]);
        assert_eq!(of("xpu_sync"), Category::Sync);
        assert_eq!(of("user_annotation"), Category::Annotation);
        assert_eq!(of("python_function"), Category::Python);
        for name in [
            "gpu_user_annotation",
            "Trace",
            "ac2g",
            "cpu_instant_event",
            "cuda_profiler_range",
            "",
            "_sync",
            "go_runtime",
        ] {
            assert_eq!(of(name), Category::Other, "{name}");
        }
        assert_eq!(Category::of(Value::Bare(b"kernel")), Category::Other);
    }
}
