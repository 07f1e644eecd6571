//! A progress bar on the standard error for whatever takes more than a second, and never where nobody looks.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal as _, stderr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long work may take before a bar appears: what is over sooner needs none.
const PATIENCE: Duration = Duration::from_secs(1);
const REDRAW: Duration = Duration::from_millis(100);

/// What is being done, how much of it there is, and a counter that whoever does it moves.
#[derive(Default)]
struct Stage {
    what: &'static str,
    rows: u64,
    done: Arc<AtomicU64>,
    over: bool,
}

/// A bar that appears after a second and vanishes when dropped.
pub struct Progress {
    shared: Arc<(Mutex<Stage>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Begins with `what` being done, of unknown length. `quiet`, or a standard error that is no terminal: no bar.
    pub fn new(quiet: bool, what: &'static str) -> Progress {
        let shared = Arc::new((Mutex::new(Stage { what, ..Stage::default() }), Condvar::new()));
        let seen = shared.clone();
        let draws = !quiet && stderr().is_terminal();
        let draw = move || draw(&seen);
        let thread =
            draws.then(|| std::thread::Builder::new().name("progress".to_owned()).spawn(draw).ok()).flatten();
        Progress { shared, thread }
    }

    /// From here on `what` is done, of `rows` rows, which `done` counts.
    pub fn stage(&self, what: &'static str, rows: u64, done: Arc<AtomicU64>) {
        let mut stage = self.shared.0.lock().unwrap_or_else(|e| e.into_inner());
        *stage = Stage { what, rows, done, over: stage.over };
    }

    /// Takes the bar away, so that lines can be written.
    pub fn finish(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.shared.0.lock().unwrap_or_else(|e| e.into_inner()).over = true;
        self.shared.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A bar that could not be drawn is no reason to fail.
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

fn draw(shared: &(Mutex<Stage>, Condvar)) {
    let (stage, changed) = shared;
    let stage = stage.lock().unwrap_or_else(|e| e.into_inner());
    let (mut stage, _) =
        changed.wait_timeout_while(stage, PATIENCE, |stage| !stage.over).unwrap_or_else(|e| e.into_inner());
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    while !stage.over {
        let template = match stage.rows {
            0 => "{spinner} {msg} {elapsed}",
            _ => "{msg:8} {wide_bar} {human_pos} of {human_len} rows, {eta} left",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(stage.what);
        if stage.rows > 0 {
            bar.set_length(stage.rows);
            bar.set_position(stage.done.load(Ordering::Relaxed).min(stage.rows));
        }
        bar.tick();
        stage = changed.wait_timeout(stage, REDRAW).unwrap_or_else(|e| e.into_inner()).0;
    }
    bar.finish_and_clear();
}
