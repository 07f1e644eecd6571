//! Dumps that were asked for and are not made yet.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::sys;

/// Requests that wait at most.
const MOST_WAITING: usize = 16;
/// Answers that are kept for who asked: nobody may ask for those of rules and signals.
const MOST_ANSWERS: usize = 64;
/// After this long the writer goes ahead without a flush.
const FLUSH_PATIENCE_NS: i64 = 2_000_000_000;
/// Longest reason in a file name.
const MOST_REASON_BYTES: usize = 48;

/// One dump that somebody wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The number by which its answer is found.
    pub id: u32,
    /// A few letters and digits, for the dump's name.
    pub reason: String,
    /// More about it, for its note.
    pub text: String,
    asked_ns: i64,
    is_flushed: bool,
}

#[derive(Default)]
struct State {
    next_id: u32,
    waiting: Vec<Request>,
    answers: VecDeque<(u32, Result<PathBuf, String>)>,
}

/// The list of them. Its lock is held for moments, by threads of ours, and never while CUPTI is called.
pub struct Requests {
    state: Mutex<State>,
    /// How many wait, for who looks often.
    waiting: AtomicU32,
    /// How many of those wait for a flush.
    unflushed: AtomicU32,
}

impl Requests {
    /// Nothing is asked for.
    pub fn new() -> Requests {
        Requests { state: Mutex::default(), waiting: AtomicU32::new(0), unflushed: AtomicU32::new(0) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, state: &State) {
        let unflushed = state.waiting.iter().filter(|request| !request.is_flushed).count();
        self.waiting.store(state.waiting.len() as u32, Ordering::Release);
        self.unflushed.store(unflushed as u32, Ordering::Release);
    }

    /// Asks for a dump; the flush thread must then be woken. None: too many are waiting.
    pub fn ask(&self, reason: &str, text: &str) -> Option<u32> {
        let mut state = self.lock();
        if state.waiting.len() >= MOST_WAITING {
            return None;
        }
        state.next_id = state.next_id.wrapping_add(1);
        let (id, reason, text) = (state.next_id, file_name_part(reason), text.to_owned());
        state.waiting.push(Request { id, reason, text, asked_ns: sys::monotonic_ns(), is_flushed: false });
        self.count(&state);
        Some(id)
    }

    /// Whether any waits.
    pub fn are_waiting(&self) -> bool {
        self.waiting.load(Ordering::Acquire) != 0
    }

    /// The requests that wait for a flush.
    pub fn unflushed(&self) -> Vec<u32> {
        if self.unflushed.load(Ordering::Acquire) == 0 {
            return Vec::new();
        }
        self.lock().waiting.iter().filter(|request| !request.is_flushed).map(|request| request.id).collect()
    }

    /// All that CUPTI had has been handed over since these were asked for.
    pub fn flushed(&self, ids: &[u32]) {
        let mut state = self.lock();
        for request in state.waiting.iter_mut().filter(|request| ids.contains(&request.id)) {
            request.is_flushed = true;
        }
        self.count(&state);
    }

    /// Takes the first that can be carried out at monotonic `now_ns`. `i64::MAX`: whichever there is.
    pub fn due(&self, now_ns: i64) -> Option<Request> {
        if !self.are_waiting() {
            return None;
        }
        let mut state = self.lock();
        let is_due = |r: &Request| r.is_flushed || now_ns.saturating_sub(r.asked_ns) >= FLUSH_PATIENCE_NS;
        let first = state.waiting.iter().position(is_due)?;
        let request = state.waiting.remove(first);
        self.count(&state);
        Some(request)
    }

    /// What became of a request.
    pub fn answer(&self, id: u32, answer: Result<PathBuf, String>) {
        let mut state = self.lock();
        if state.answers.len() >= MOST_ANSWERS {
            state.answers.pop_front();
        }
        state.answers.push_back((id, answer));
    }

    /// Takes the answer to a request, if it is there.
    pub fn take_answer(&self, id: u32) -> Option<Result<PathBuf, String>> {
        let mut state = self.lock();
        let at = state.answers.iter().position(|(of, _)| *of == id)?;
        state.answers.remove(at).map(|(_, answer)| answer)
    }
}

/// Letters, digits and a few signs; others become dashes.
fn file_name_part(reason: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '-' };
    let mut part: String = reason.chars().take(MOST_REASON_BYTES).map(plain).collect();
    while part.contains("--") {
        part = part.replace("--", "-");
    }
    let part = part.trim_matches(['-', '.']);
    if part.is_empty() { "asked".to_owned() } else { part.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_carried_out_after_a_flush_or_when_none_comes() {
        let requests = Requests::new();
        assert!(!requests.are_waiting() && requests.due(i64::MAX).is_none());
        let [first, second] = ["one", "two"].map(|reason| requests.ask(reason, "").unwrap());
        let now_ns = sys::monotonic_ns();
        assert_eq!(requests.unflushed(), [first, second]);
        assert!(requests.due(now_ns).is_none());
        requests.flushed(&[second]);
        assert_eq!(requests.due(now_ns).map(|r| r.id), Some(second));
        assert_eq!((requests.unflushed(), requests.are_waiting()), (vec![first], true));
        assert_eq!(requests.due(now_ns + FLUSH_PATIENCE_NS + 1).map(|r| r.id), Some(first));
        assert!(!requests.are_waiting());
    }

    #[test]
    fn who_asked_gets_the_answer_once() {
        let requests = Requests::new();
        let ids: Vec<u32> = (0..MOST_WAITING).map(|_| requests.ask("x", "").unwrap()).collect();
        assert_eq!(requests.ask("x", ""), None);
        requests.answer(ids[2], Err("no".to_owned()));
        requests.answer(ids[3], Ok("a dump".into()));
        assert_eq!(requests.take_answer(ids[3]), Some(Ok("a dump".into())));
        assert_eq!(requests.take_answer(ids[3]), None);
        assert_eq!(requests.take_answer(ids[4]), None);
        assert_eq!(requests.take_answer(ids[2]), Some(Err("no".to_owned())));
        (0..1_000).for_each(|id| requests.answer(1_000 + id, Err(String::new())));
        assert!(requests.lock().answers.len() <= MOST_ANSWERS);
    }

    #[test]
    fn reasons_are_names_of_files() {
        for (reason, part) in [
            ("slow", "slow"),
            ("slow-train step/1", "slow-train-step-1"),
            ("../../etc", "etc"),
            ("", "asked"),
            ("ä", "asked"),
            ("a.b_c", "a.b_c"),
        ] {
            assert_eq!(file_name_part(reason), part);
        }
        assert!(file_name_part(&"x".repeat(500)).len() <= MOST_REASON_BYTES);
    }
}
