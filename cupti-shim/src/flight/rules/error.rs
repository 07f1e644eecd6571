//! `error`: a call of CUDA returned an error.
//!
//! Judged by CUPTI's records of calls: a callback on every call would cost the program more, on its own thread
//! (docs/flight-recorder.md). While this rule is set those records are switched on whatever else is collected, also
//! while the gate is closed, and left out of the trace where they do not belong.

use shim_config::DumpRule;

use super::{Fired, Rule};
use crate::chatter;
use crate::decode::{Call, each_call};
use crate::strides::Strides;

/// Results of either API that say no more than how things stand: the driver is going or a profiler is (un)loaded (4
/// to 8), a symbol is not there (500), not ready (600), access between GPUs is on already (704), memory is registered
/// already (712), not supported here (801).
const NO_ERRORS: [u32; 10] = [4, 5, 6, 7, 8, 500, 600, 704, 712, 801];
/// Failed calls of the driver that a runtime call may have made and got over.
const MOST_PENDING: usize = 64;
/// Intervals after which such a call was not the runtime's.
const PATIENCE: u32 = 2;

/// The rule, if that is what is wanted.
pub(super) fn rule(wanted: &DumpRule) -> Option<Box<dyn Rule>> {
    (*wanted == DumpRule::Error).then(|| Box::new(FirstError::default()) as Box<dyn Rule>)
}

#[derive(Default)]
struct FirstError {
    pending: Vec<(Call, u32)>,
}

/// Whether a call says that something went wrong.
fn is_error(call: &Call) -> bool {
    call.result != 0
        && !NO_ERRORS.contains(&call.result)
        && !chatter::CALLS.iter().any(|(domain, id, _)| (*domain, *id) == (call.domain, call.cbid))
}

fn fired(call: &Call) -> Fired {
    let text = format!("returned {}, correlation id {}", call.result, call.correlation);
    Fired { reason: "error".to_owned(), text, call: Some((call.domain, call.cbid)) }
}

impl Rule for FirstError {
    fn block(&mut self, block: &[u8], strides: &Strides) -> Option<Fired> {
        let mut failed = None;
        each_call(block, strides, |call| {
            if call.is_runtime() && !self.pending.is_empty() {
                // The runtime's own answer counts: what it was told by the driver may be nothing to it.
                self.pending.retain(|(inner, _)| inner.correlation != call.correlation);
            }
            if call.result == 0 || !is_error(&call) {
                return;
            }
            if call.is_runtime() {
                failed.get_or_insert(call);
            } else if !is_settled(block, strides, call.correlation) && self.pending.len() < MOST_PENDING {
                self.pending.push((call, 0));
            }
        });
        failed.map(|call| fired(&call))
    }

    fn tick(&mut self) -> Option<Fired> {
        self.pending.iter_mut().for_each(|(_, intervals)| *intervals += 1);
        let first = self.pending.iter().find(|(_, intervals)| *intervals >= PATIENCE).map(|(call, _)| fired(call));
        self.pending.retain(|(_, intervals)| *intervals < PATIENCE);
        first
    }

    fn end(&mut self) -> Option<Fired> {
        std::mem::take(&mut self.pending).first().map(|(call, _)| fired(call))
    }
}

/// Whether the block has the runtime call that a call of the driver was made in: it may lie before it or after.
fn is_settled(block: &[u8], strides: &Strides, correlation: u32) -> bool {
    let mut found = false;
    each_call(block, strides, |call| found |= call.is_runtime() && call.correlation == correlation);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use cupti_sys::Field;
    use cupti_sys::fields::{driver, runtime as f};

    struct Block {
        strides: Strides,
        bytes: Vec<u8>,
    }

    impl Block {
        fn new() -> Block {
            Block { strides: Strides::newest(), bytes: Vec::new() }
        }
        fn call(mut self, kind: u32, cbid: u32, correlation: u32, result: u32) -> Block {
            let start = self.bytes.len();
            self.bytes.resize(start + self.strides.of(kind), 0);
            self.bytes[start..start + 4].copy_from_slice(&kind.to_le_bytes());
            let mut put = |field: Field, value: u32| {
                self.bytes[start + usize::from(field.offset)..][..4].copy_from_slice(&value.to_le_bytes());
            };
            put(f::CBID, cbid);
            put(f::CORRELATION_ID, correlation);
            put(f::RETURN_VALUE, result);
            self
        }
        fn judged_by(&self, rule: &mut dyn Rule) -> Option<Fired> {
            rule.block(&self.bytes, &self.strides)
        }
    }

    #[test]
    fn a_failed_runtime_call_fires_and_what_is_no_error_does_not() {
        let mut rule = rule(&DumpRule::Error).unwrap();
        let fine = Block::new().call(f::KIND, 211, 1, 0).call(f::KIND, 31, 2, 600).call(driver::KIND, 307, 1, 0);
        assert_eq!(fine.judged_by(rule.as_mut()), None);
        for code in NO_ERRORS {
            assert_eq!(Block::new().call(f::KIND, 31, 2, code).judged_by(rule.as_mut()), None);
        }
        // A question, and its answer.
        assert_eq!(Block::new().call(f::KIND, 151, 2, 1).judged_by(rule.as_mut()), None);
        let bad = Block::new().call(f::KIND, 211, 7, 0).call(f::KIND, 31, 8, 2).call(f::KIND, 31, 9, 700);
        let fired = bad.judged_by(rule.as_mut()).unwrap();
        assert_eq!((fired.reason.as_str(), fired.call), ("error", Some((2, 31))));
        assert_eq!(fired.text, "returned 2, correlation id 8", "the first of them");
        assert_eq!(rule.tick().or(rule.tick()).or(rule.tick()), None);
    }

    #[test]
    fn a_failed_driver_call_inside_a_runtime_call_is_the_runtimes_business() {
        let mut rule = rule(&DumpRule::Error).unwrap();
        for block in [
            Block::new().call(driver::KIND, 307, 5, 801 + 1).call(f::KIND, 211, 5, 0),
            Block::new().call(f::KIND, 211, 5, 0).call(driver::KIND, 307, 5, 1),
        ] {
            assert_eq!(block.judged_by(rule.as_mut()), None);
            assert_eq!((rule.tick(), rule.tick()), (None, None));
        }
        // The runtime's record comes with the next block.
        assert_eq!(Block::new().call(driver::KIND, 307, 6, 1).judged_by(rule.as_mut()), None);
        assert_eq!(rule.tick(), None);
        assert_eq!(Block::new().call(f::KIND, 211, 6, 0).judged_by(rule.as_mut()), None);
        assert_eq!((rule.tick(), rule.tick()), (None, None));
    }

    #[test]
    fn a_failed_driver_call_of_the_program_fires_a_little_later() {
        let mut rule = rule(&DumpRule::Error).unwrap();
        assert_eq!(Block::new().call(driver::KIND, 307, 6, 700).judged_by(rule.as_mut()), None);
        assert_eq!(rule.tick(), None);
        assert_eq!(rule.tick().unwrap().call, Some((1, 307)));
        assert_eq!(rule.tick(), None);
        let many = (0..1_000).fold(Block::new(), |block, i| block.call(driver::KIND, 307, 10 + i, 1));
        assert_eq!(many.judged_by(rule.as_mut()), None);
    }

    #[test]
    fn at_the_end_a_failed_driver_call_waits_for_no_runtime_call() {
        let mut rule = rule(&DumpRule::Error).unwrap();
        let block = Block::new().call(driver::KIND, 307, 6, 700).call(driver::KIND, 307, 7, 1);
        assert_eq!(block.judged_by(rule.as_mut()), None);
        assert_eq!(rule.end().unwrap().text, "returned 700, correlation id 6");
        assert_eq!(rule.end(), None);
        let inside = Block::new().call(driver::KIND, 307, 5, 1).call(f::KIND, 211, 5, 0);
        assert_eq!((inside.judged_by(rule.as_mut()), rule.end()), (None, None));
    }
}
