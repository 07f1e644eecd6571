//! Rules that ask for a dump, judged by the writer thread on what it writes anyway. A new one is a file here, a line in
//! [`RULES`] and a case of [`DumpRule`].

mod error;
mod slow;

use shim_config::{DumpRule, Ring};
use trace_format::tables::RangeRow;

use crate::strides::Strides;

/// Why a rule fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fired {
    /// The reason as it stands in the dump's name.
    pub reason: String,
    /// The reason as the dump's note says it.
    pub text: String,
    /// The call it is about, CUPTI's domain and id, where there is one.
    pub call: Option<(u32, u32)>,
}

/// One rule. Each method may fire.
trait Rule {
    /// A string got an id.
    fn name(&mut self, _id: u32, _name: &[u8]) {}
    /// A range, or mark, as it will be written.
    fn range(&mut self, _row: &RangeRow) -> Option<Fired> {
        None
    }
    /// A block of CUPTI's records.
    fn block(&mut self, _block: &[u8], _strides: &Strides) -> Option<Fired> {
        None
    }
    /// A flush interval is over.
    fn tick(&mut self) -> Option<Fired> {
        None
    }
    /// The recording ends. Nothing follows that could explain what waits for an explanation.
    fn end(&mut self) -> Option<Fired> {
        None
    }
}

/// Makes a rule of the settings that are its own.
type Maker = fn(&DumpRule) -> Option<Box<dyn Rule>>;

/// Every rule that is judged here; each takes the settings that are its own.
const RULES: &[Maker] = &[slow::rule, error::rule];

/// How far a recording has come, when a rule fired: it rests until the ring holds nothing of before.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Monotonic.
    pub now_ns: i64,
    /// Bytes written to the ring so far.
    pub written_bytes: u64,
}

struct Armed {
    rule: Box<dyn Rule>,
    fired_at: Option<Progress>,
}

/// The rules of one recording.
pub struct Rules {
    armed: Vec<Armed>,
    ring: Ring,
    fired: Vec<Fired>,
}

impl Rules {
    /// The rules that `wanted` names, for a ring of that length.
    pub fn new(wanted: &[DumpRule], ring: Ring) -> Rules {
        let made = wanted.iter().filter_map(|wanted| RULES.iter().find_map(|make| make(wanted)));
        Rules { armed: made.map(|rule| Armed { rule, fired_at: None }).collect(), ring, fired: Vec::new() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.armed.is_empty()
    }

    /// Tells a string and its id.
    pub fn name(&mut self, id: u32, name: &[u8]) {
        self.armed.iter_mut().for_each(|armed| armed.rule.name(id, name));
    }

    /// Judges a range.
    pub fn range(&mut self, row: &RangeRow, progress: Progress) {
        self.each(progress, |rule| rule.range(row));
    }

    /// Judges a block of records.
    pub fn block(&mut self, block: &[u8], strides: &Strides, progress: Progress) {
        self.each(progress, |rule| rule.block(block, strides));
    }

    /// Lets an interval pass.
    pub fn tick(&mut self, progress: Progress) {
        self.each(progress, |rule| rule.tick());
    }

    /// Ends the recording.
    pub fn end(&mut self, progress: Progress) {
        self.each(progress, |rule| rule.end());
    }

    /// What fired since the last call.
    pub fn take_fired(&mut self) -> Vec<Fired> {
        std::mem::take(&mut self.fired)
    }

    /// Every rule sees everything; one that rests is not heard.
    fn each(&mut self, progress: Progress, mut judge: impl FnMut(&mut dyn Rule) -> Option<Fired>) {
        for armed in &mut self.armed {
            if let Some(fired) = judge(armed.rule.as_mut())
                && armed.fired_at.is_none_or(|before| is_over(self.ring, before, progress))
            {
                armed.fired_at = Some(progress);
                self.fired.push(fired);
            }
        }
    }
}

/// Whether a ring has gone round since then.
fn is_over(ring: Ring, before: Progress, now: Progress) -> bool {
    let by_time = ring.keep_ns.is_some_and(|keep| now.now_ns.saturating_sub_unsigned(keep) >= before.now_ns);
    let by_bytes =
        ring.most_bytes.is_some_and(|most| now.written_bytes.saturating_sub(before.written_bytes) >= most);
    by_time || by_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fires on every block.
    struct Always;

    impl Rule for Always {
        fn block(&mut self, _: &[u8], _: &Strides) -> Option<Fired> {
            Some(Fired { reason: "always".to_owned(), text: String::new(), call: None })
        }
    }

    #[test]
    fn a_rule_rests_for_one_ring_after_it_fired() {
        let fires = |ring: &[u8], at: &[(i64, u64)]| -> Vec<usize> {
            let armed = vec![Armed { rule: Box::new(Always), fired_at: None }];
            let mut rules = Rules { armed, ring: Ring::parse(ring).unwrap(), fired: Vec::new() };
            let mut fired = Vec::new();
            for (i, &(now_ns, written_bytes)) in at.iter().enumerate() {
                rules.block(&[], &Strides::newest(), Progress { now_ns, written_bytes });
                fired.extend(rules.take_fired().iter().map(|_| i));
            }
            fired
        };
        const S: i64 = 1_000_000_000;
        assert_eq!(fires(b"10s", &[(S, 0), (2 * S, 1 << 40), (11 * S - 1, 0), (11 * S, 0), (12 * S, 0)]), [0, 3]);
        assert_eq!(fires(b"8MiB", &[(0, 5), (90 * S, 5), (91 * S, 8 << 20), (92 * S, (8 << 20) + 5)]), [0, 3]);
        assert_eq!(fires(b"10s,8MiB", &[(0, 0), (S, 8 << 20), (2 * S, 9 << 20), (11 * S, 9 << 20)]), [0, 1, 3]);
    }

    #[test]
    fn rules_of_the_launcher_are_not_judged_here() {
        let ring = Ring::parse(b"10s").unwrap();
        assert!(Rules::new(&DumpRule::parse_list(b"abort").unwrap(), ring).is_empty());
        assert_eq!(Rules::new(&DumpRule::parse_list(b"abort,error,slow:x:2").unwrap(), ring).armed.len(), 2);
    }
}
