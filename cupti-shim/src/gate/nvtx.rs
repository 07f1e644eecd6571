//! Windows that a range of the program opens and closes.

use shim_config::{Capture, Cycle};

use super::{Edge, GATE, Gate, NAMES, State};
use crate::session::Session;
use crate::sync::atomic::Ordering;
use crate::{load, session, sys};

/// Whether NVTX ranges have to be shown to [`nvtx_begin`].
pub fn nvtx_wants() -> bool {
    GATE.wants_nvtx.load(Ordering::Relaxed)
}

/// A range begins. Returns whether it is one that the gate knows; its end must then call [`nvtx_end`].
///
/// `domain`: empty for the default one. Compared as bytes: registered strings and others alike.
pub fn nvtx_begin(domain: &[u8], message: &[u8]) -> bool {
    if !sys::is_ours() {
        return false;
    }
    let Capture::Nvtx { name, is_prefix, domain: wanted, cycle } = &load::loaded().settings.capture else {
        return false;
    };
    let is_named = if *is_prefix { message.starts_with(name) } else { message == name };
    if !is_named || wanted.as_ref().is_some_and(|w| w != domain) {
        if !GATE.names_done.load(Ordering::Relaxed) {
            note_name(message);
        }
        return false;
    }
    let session = session::current();
    // Steps that are passed over keep the program waiting for nothing.
    let is_recorded = |state: &State| if state.depth > 0 { state.is_chosen } else { has(*cycle, state.steps) };
    synchronize(session, is_recorded);
    let Some(mut state) = GATE.enter(session) else { return false };
    state.depth += 1;
    if state.depth == 1 {
        state.is_chosen = has(*cycle, state.steps) && Gate::allows_step(&mut state);
        state.steps += 1;
        if let (true, Some(session)) = (state.is_chosen, session) {
            GATE.open(&mut state, session, Edge::Now);
        }
    }
    true
}

fn has(cycle: Option<Cycle>, step: u64) -> bool {
    cycle.is_none_or(|cycle| cycle.has(step))
}

/// Waits for the GPU where that is asked for at the edges of ranges, and this range is one that is recorded.
fn synchronize(session: Option<&Session>, is_recorded: impl FnOnce(&State) -> bool) {
    let Some(session) = session.filter(|session| session.settings.sync_at_range) else { return };
    // Without the lock: waiting takes as long as the GPU works.
    if GATE.enter(None).is_some_and(|state| is_recorded(&state)) {
        session.synchronize_if_asked();
    }
}

fn note_name(message: &[u8]) {
    let Some(mut state) = GATE.enter(None) else { return };
    if state.names.len() >= NAMES {
        GATE.names_done.store(true, Ordering::Relaxed);
    } else if !state.names.iter().any(|n| n == message) {
        state.names.push(message.to_vec());
    }
}

/// A range that the gate knows ends.
pub fn nvtx_end() {
    if !sys::is_ours() {
        return;
    }
    let session = session::current();
    synchronize(session, |state| state.is_chosen);
    let Some(mut state) = GATE.enter(session) else { return };
    state.depth = state.depth.saturating_sub(1);
    if let (0, true, Some(session)) = (state.depth, state.is_chosen, session) {
        GATE.close(&mut state, session, Edge::Now);
    }
}
