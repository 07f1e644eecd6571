//! Windows that a range of the program opens and closes.

use shim_config::Capture;

use super::{Edge, GATE, NAMES};
use crate::sync::atomic::Ordering;
use crate::{load, session, sys};

/// Whether NVTX ranges have to be shown to [`nvtx_begin`].
pub fn nvtx_wants() -> bool {
    GATE.wants_nvtx.load(Ordering::Relaxed)
}

/// A range begins. Returns whether it is one that opens the gate; its end must then call [`nvtx_end`].
///
/// `domain`: empty for the default one. Compared as bytes: registered strings and others alike.
pub fn nvtx_begin(domain: &[u8], message: &[u8]) -> bool {
    if !sys::is_ours() {
        return false;
    }
    let Capture::Nvtx { name, domain: wanted } = &load::loaded().settings.capture else { return false };
    if name != message || wanted.as_ref().is_some_and(|w| w != domain) {
        if !GATE.names_done.load(Ordering::Relaxed) {
            note_name(message);
        }
        return false;
    }
    let session = session::current();
    if let Some(session) = session {
        session.synchronize_if_asked();
    }
    let Some(mut state) = GATE.enter(session) else { return false };
    state.depth += 1;
    if let (1, Some(session)) = (state.depth, session) {
        GATE.open(&mut state, session, Edge::Now);
    }
    true
}

fn note_name(message: &[u8]) {
    let Some(mut state) = GATE.enter(None) else { return };
    if state.names.len() >= NAMES {
        GATE.names_done.store(true, Ordering::Relaxed);
    } else if !state.names.iter().any(|n| n == message) {
        state.names.push(message.to_vec());
    }
}

/// A range that opened the gate, or lay inside one that did, ends.
pub fn nvtx_end() {
    if !sys::is_ours() {
        return;
    }
    let session = session::current();
    if let Some(session) = session {
        session.synchronize_if_asked();
    }
    let Some(mut state) = GATE.enter(session) else { return };
    state.depth = state.depth.saturating_sub(1);
    if let (0, Some(session)) = (state.depth, session) {
        GATE.close(&mut state, session, Edge::Now);
    }
}
