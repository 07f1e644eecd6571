//! Beginning a recording: the libcupti that this process can bear, the subscriber slot, and what is said where it
//! cannot be.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use shim_config::find::{self, Facts};
use shim_config::{Cause, Settings};

use super::callbacks::on_callback;
use super::{SESSION, Session};
use crate::cupti::{Cupti, CuptiError, Subscriber};
use crate::load::{self, Loaded};
use crate::strides::Strides;
use crate::{control, exit, failure, fork, log, sys};

/// Says once why nothing will be recorded, and keeps it for the file and the list of processes.
pub fn fail(loaded: &Loaded, cause: Cause, detail: String) {
    let remedy = cause.remedy();
    let (colon, semicolon) = (if detail.is_empty() { "" } else { ": " }, if remedy.is_empty() { "" } else { "; " });
    log::line(1, format_args!("nothing is recorded: {cause}{colon}{detail}{semicolon}{remedy}"));
    load::note_seen(loaded, true, None, Some(cause.clone()), Some(detail.clone().into_bytes()));
    failure::keep(cause, detail);
}

/// Begins the recording of this process. Called by the driver inside the first `cuInit`.
pub fn attach() {
    if load::is_privileged() || sys::is_owner() && !SESSION.load(Ordering::Acquire).is_null() {
        return;
    }
    let loaded = load::loaded();
    if loaded.settings.disable {
        return;
    }
    if let Some(cause) = loaded.inert() {
        load::note_seen(loaded, true, None, Some(cause), None);
        return;
    }
    sys::remember_affinity(at_load::processors());
    sys::prepare_to_spawn();
    if !arm() {
        return;
    }
    for problem in &loaded.problems {
        log::line(1, format_args!("{problem}"));
    }
    exit::register();
    let settings = &loaded.settings;
    let (cupti, subscriber) = match choose(loaded) {
        Ok(chosen) => chosen,
        Err((cause, detail)) => return fail(loaded, cause, detail),
    };
    let session = match Session::new(loaded, cupti, subscriber) {
        Ok(session) => session,
        Err(cause) => return fail(loaded, cause, String::new()),
    };
    let session: &'static Session = Box::leak(Box::new(session));
    SESSION.store(std::ptr::from_ref(session).cast_mut(), Ordering::Release);
    if let Err(cause) = session.begin() {
        // Without a session every entry does nothing from here on; the slot is free for the program's own tools.
        SESSION.store(std::ptr::null_mut(), Ordering::Release);
        session.cupti.unsubscribe(session.subscriber.load(Ordering::Relaxed));
        return fail(loaded, cause, session.cupti.path.display().to_string());
    }
    control::listen_to_signal(settings);
    load::note_seen(loaded, true, None, None, None);
    log::line(
        2,
        format_args!(
            "recording with {} (version {}), capture {}",
            session.cupti.path.display(),
            session.cupti_version,
            settings.capture
        ),
    );
}

/// Makes this process the recorded one; a child of a recorded process begins anew. False: it cannot be done.
pub fn arm() -> bool {
    /// Whether this memory has belonged to a recorded process: then what it holds is a parent's.
    static USED: AtomicBool = AtomicBool::new(false);
    sys::claim(|| {
        if !USED.swap(true, Ordering::AcqRel) {
            // SAFETY: the handler only stores a number.
            unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
            return true;
        }
        fork::forget()
    })
}

extern "C" fn in_child() {
    // Kernels before 4.14 do not empty the page for us.
    sys::disown();
}

impl From<CuptiError> for Cause {
    fn from(error: CuptiError) -> Cause {
        Cause::CuptiError { code: error.code, function: error.function.into() }
    }
}

/// Loads the first libcupti that this driver accepts.
fn choose(loaded: &Loaded) -> Result<(Cupti, Subscriber), (Cause, String)> {
    let environment = loaded.environment.iter().map(|(n, v)| (n.as_slice(), v.as_slice()));
    let found = find::search(&Facts::with_env(environment));
    let mut refused: Option<(CuptiError, PathBuf)> = None;
    let mut reasons = Vec::new();
    let mut tried: Vec<String> = Vec::new();
    for candidate in &found.candidates {
        // A second file under a name that is mapped already would be another library than the program gets.
        if candidate.soname.as_ref().is_some_and(|s| tried.contains(s)) {
            continue;
        }
        let mut cupti = match Cupti::load(&candidate.path) {
            Ok(cupti) => cupti,
            Err(why) => {
                reasons.push(format!("{}: {why}", candidate.path.display()));
                continue;
            }
        };
        tried.extend(candidate.soname.clone());
        // The first call of all: before it, a library that was taken by another tool must not be touched.
        match cupti.subscribe(on_callback, &loaded.settings) {
            Ok(subscriber) => return Ok((cupti, subscriber)),
            Err(error) => {
                log::line(2, format_args!("{}: {error}", cupti.path.display()));
                let taken = error.code == cupti_sys::CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
                refused = Some((error, cupti.path.clone()));
                if taken {
                    break;
                }
            }
        }
    }
    match refused {
        Some((error, path)) => {
            let mut detail = path.display().to_string();
            if let Some(holder) = holder() {
                detail.push_str(&format!(" (likely held by {holder})"));
            }
            Err((error.into(), detail))
        }
        None => Err((Cause::CuptiNotFound, reasons.join("; "))),
    }
}

/// Libraries whose purpose is CUPTI, by the beginning of their file names.
const HOLDERS: &[&str] = &[
    "libkineto",
    "libproton",
    "libToolsInjection",
    "libsanitizer-collection",
    "libcudadebugger",
    "libTreeLauncher",
    "libonnxruntime_providers_cuda",
    "libxla",
    "libtorch_cpu",
];

/// The mapped library that most likely uses CUPTI itself.
pub fn holder() -> Option<String> {
    // Without the environment: other threads may be changing it.
    let files = Facts::with_env(std::iter::empty()).mapped;
    HOLDERS.iter().find_map(|beginning| {
        let name = |p: &PathBuf| p.file_name().map(|n| n.to_string_lossy().into_owned());
        files.iter().filter_map(name).find(|n| n.starts_with(beginning))
    })
}

/// The sizes of this library's records. Errors: it does not say that of kernels, so nothing could be read.
pub(super) fn measure(cupti: &Cupti, settings: &Settings) -> Result<Strides, CuptiError> {
    // SAFETY: the probe's buffer is as long as it says and outlives the call; the walker reads it and keeps nothing (seen on
    // 11.7 to 13.5).
    let next = |buffer, bytes, record| unsafe { cupti.next_record(buffer, bytes, record) };
    let mut strides = Strides::probe(next);
    if settings.kinds.iter().any(|kind| strides.of(kind) == 0) {
        // Rather ask twice than lose what lies behind a record of unknown size.
        strides = Strides::probe(next);
    }
    let kernel = cupti_sys::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    if strides.of(kernel) != 0 {
        return Ok(strides);
    }
    let (mut page, mut record) = ([u64::from(kernel); 512], std::ptr::null_mut());
    let code = next(page.as_mut_ptr().cast(), size_of_val(&page), &raw mut record);
    let code = if code == 0 { cupti_sys::CUPTI_ERROR_INVALID_KIND } else { code };
    Err(CuptiError { function: "cuptiActivityGetNextRecord", code })
}
