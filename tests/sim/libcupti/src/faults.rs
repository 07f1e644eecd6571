//! What goes wrong on demand.
//!
//! - `SIM_FAIL=cuptiSubscribe:39@1,cuptiActivityEnable:35@3+,cuptiActivityEnable#25:28`: the code instead of the call,
//!   at the Nth call, from the Nth on, or always; `#n` only for that first argument (kinds).
//! - `SIM_STALL=cuptiActivityFlushAll:500` (ms) or `:forever`, with `@` and `#` as above.

use crate::{driver, settings};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

struct Rule {
    value: String,
    argument: Option<i64>,
    from: u32,
    to: u32,
}

impl Rule {
    /// Whether it is about this call; rules for an argument are asked for by [`argument_refusal`].
    fn applies(&self, call: u32) -> bool {
        self.argument.is_none() && (self.from..=self.to).contains(&call)
    }

    /// Sleeps for as many milliseconds as it says, or for ever.
    fn stall(&self) {
        match self.value.parse::<u64>() {
            Ok(ms) => std::thread::sleep(std::time::Duration::from_millis(ms)),
            Err(_) => loop {
                std::thread::sleep(std::time::Duration::from_secs(3600));
            },
        }
    }
}

/// The rules of a variable that name this function.
fn rules(variable: &std::ffi::CStr, function: &str) -> Vec<Rule> {
    let text = settings::text(variable).unwrap_or_default();
    let mut rules = Vec::new();
    for rule in text.split(',') {
        let Some((name, rest)) = rule.trim().split_once(':') else { continue };
        let (name, argument) = name.split_once('#').map_or((name, None), |(name, n)| (name, n.parse().ok()));
        if name != function {
            continue;
        }
        let (value, calls) = rest.split_once('@').unwrap_or((rest, "1+"));
        let from = calls.trim_end_matches('+').parse().unwrap_or(1);
        let to = if calls.ends_with('+') { u32::MAX } else { from };
        rules.push(Rule { value: value.to_owned(), argument, from, to });
    }
    rules
}

/// One exported function.
pub struct Function {
    name: &'static str,
    hot: bool,
    calls: AtomicU32,
    rules: OnceLock<(Vec<Rule>, Vec<Rule>)>,
}

/// Called so often that counting them in the totals and asking the kernel for the pid would be what is measured: the
/// walker and the clock.
const fn is_hot(name: &str) -> bool {
    let bytes = name.as_bytes();
    // cuptiActivityGetNextRecord, cuptiGetTimestamp, with or without _v2
    matches!(bytes, [b'c', b'u', b'p', b't', b'i', b'G', b'e', b't', b'T', ..])
        || (bytes.len() > 20 && matches!(bytes[16], b'N') && matches!(bytes[17], b'e') && matches!(bytes[18], b'x'))
}

impl Function {
    pub const fn new(name: &'static str) -> Function {
        Function { name, hot: is_hot(name), calls: AtomicU32::new(0), rules: OnceLock::new() }
    }

    /// 0 if the call goes on.
    pub fn enter(&'static self) -> i32 {
        driver::check_process(self.name, self.hot);
        let refusal = driver::refusal(self.name);
        if refusal != 0 {
            return refusal;
        }
        if !self.hot {
            settings::add(settings::word::CALLS, 1);
        }
        let (fail, stall) =
            self.rules.get_or_init(|| (rules(c"SIM_FAIL", self.name), rules(c"SIM_STALL", self.name)));
        if fail.is_empty() && stall.is_empty() {
            return 0;
        }
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(rule) = stall.iter().find(|rule| rule.applies(call)) {
            settings::log(&format!("stall {} call {call}", self.name));
            rule.stall();
        }
        if let Some(rule) = fail.iter().find(|rule| rule.applies(call)) {
            settings::log(&format!("fail {} call {call} with {}", self.name, rule.value));
            settings::add(settings::word::FAILED_CALLS, 1);
            return rule.value.parse().unwrap_or(999);
        }
        0
    }
}

/// Rules for a function called with a certain first argument: stalls first, then the code instead of the call.
pub fn argument_refusal(name: &str, argument: i64) -> i32 {
    if let Some(rule) = rules(c"SIM_STALL", name).iter().find(|rule| rule.argument == Some(argument)) {
        settings::log(&format!("stall {name} of {argument}"));
        rule.stall();
    }
    let rules = rules(c"SIM_FAIL", name);
    let rule = rules.iter().find(|rule| rule.argument == Some(argument));
    rule.map_or(0, |rule| rule.value.parse().unwrap_or(999))
}

/// `SIM_UNKNOWN=77` or `77:48`: a kind that no tool knows, and its bytes; 0 bytes: not even the walker.
pub fn unknown_kind() -> Option<(u32, u16)> {
    let text = settings::text(c"SIM_UNKNOWN")?;
    let (kind, bytes) = text.split_once(':').unwrap_or((&text, "40"));
    Some((kind.parse().ok()?, bytes.parse().ok()?))
}

/// What `SIM_*` variables want of records.
pub struct Wishes {
    /// Every Nth record is dropped and counted (`SIM_DROP`).
    pub drop: u64,
    /// Every Nth kernel has times 0/0 (`SIM_ZERO_TIMES`).
    pub zero_times: u64,
    /// Every Nth kernel ends before it starts (`SIM_BAD_TIMES`).
    pub bad_times: u64,
    /// `SIM_ORDER=shuffle`, seeded by `SIM_SEED`.
    pub shuffle: bool,
    pub seed: u64,
    /// One record of an unknown kind after every tenth record.
    pub unknown: Option<(u32, u16)>,
    /// `SIM_UNKNOWN_ENUMS`: kinds of copies and the like that nobody knows.
    pub unknown_enums: bool,
    /// Correlation ids between two OVERHEAD records with heap blocks (`SIM_OVERHEAD`, 1000; 0 none).
    pub overhead: u64,
    /// `SIM_DISABLE=keep`: records of running work outlive the disabling of their kind.
    pub keep_on_disable: bool,
    /// For how long what a flush has sealed waits for CUPTI's own thread, which hands it over after the flush has returned
    /// (`SIM_HANDOVER_MS`); none: the flush hands it over itself.
    pub handover: Option<std::time::Duration>,
    /// How long after its end a work's record is finished (`SIM_LATE_NS`).
    pub late_ns: u64,
}

pub fn wishes() -> &'static Wishes {
    static WISHES: OnceLock<Wishes> = OnceLock::new();
    WISHES.get_or_init(|| Wishes {
        drop: settings::number(c"SIM_DROP", 0),
        zero_times: settings::number(c"SIM_ZERO_TIMES", 0),
        bad_times: settings::number(c"SIM_BAD_TIMES", 0),
        shuffle: settings::text(c"SIM_ORDER").as_deref() == Some("shuffle"),
        seed: settings::number(c"SIM_SEED", 1),
        unknown: unknown_kind(),
        unknown_enums: settings::number(c"SIM_UNKNOWN_ENUMS", 0) != 0,
        overhead: settings::number(c"SIM_OVERHEAD", 1000),
        keep_on_disable: settings::text(c"SIM_DISABLE").as_deref() == Some("keep"),
        handover: settings::text(c"SIM_HANDOVER_MS")
            .and_then(|ms| ms.parse().ok().map(std::time::Duration::from_millis)),
        late_ns: settings::number(c"SIM_LATE_NS", 0),
    })
}

/// Every Nth call of this with the same counter is true; never for 0.
pub fn nth(counter: &AtomicU64, n: u64) -> bool {
    n > 0 && (counter.fetch_add(1, Ordering::Relaxed) + 1).is_multiple_of(n)
}
