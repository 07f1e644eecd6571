//! Measuring again and again: for the screen, and for whoever reads lines.

use super::draw::draw;
use super::machine;
use super::screen::{Screen, Wish};
use super::state::State;
use super::terminal::{self, Held};
use super::text;
use super::view::{self, Process};
use crate::error::{Error, Result};
use crate::live::recording::{Fate, Recording};
use crate::live::watch::{Target, Watch};
use crate::render::terminal_text;
use crate::trace::guard::guarded;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use signal_hook::consts::SIGTSTP;
use std::io::{self, Write};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest window that the screen can be widened to, in nanoseconds.
const WIDEST_NS: i64 = 120_000_000_000;
/// How often signals are looked for.
const TICK: Duration = Duration::from_millis(100);
/// How often a trace is looked for while there is none.
const WAIT: Duration = Duration::from_millis(200);

/// What is measured, and how often.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is watched.
    pub target: Target,
    /// Length of the window in nanoseconds.
    pub window_ns: i64,
    /// Time between two measurements.
    pub interval: Duration,
    /// How long at most; `None`: until it is over or somebody ends it.
    pub limit: Option<Duration>,
    /// Kernels of each process that text lists.
    pub kernels: Option<usize>,
}

/// How numbers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people.
    #[value(alias = "table")]
    Text,
    /// One object per measurement, one per line.
    Json,
    /// One figure per line.
    Csv,
}

/// Watches and measures.
struct Meter {
    watch: Watch<State>,
    begun: Instant,
    longest_ns: i64,
    window_ns: i64,
}

impl Meter {
    fn new(request: &Request, longest_ns: i64) -> Self {
        Meter {
            watch: Watch::new(request.target.clone()),
            begun: Instant::now(),
            longest_ns,
            window_ns: request.window_ns,
        }
    }

    /// Reads what is new.
    fn poll(&mut self) -> Result<()> {
        let (longest_ns, window_ns) = (self.longest_ns, self.window_ns);
        // A file made to harm may bring a decoder to panic; that must not print into the screen.
        guarded(|| self.watch.poll(|_| State::new(longest_ns, window_ns)))
            .unwrap_or_else(|panic| Err(Error::new(format!("a trace cannot be read: {panic}"))))
    }

    /// The numbers of the last `window_ns`.
    fn measure(&mut self, window_ns: i64) -> Vec<Process> {
        let (now, at) = (SystemTime::now(), self.begun.elapsed());
        let one = |(recording, state): &mut (Recording, State)| {
            let bytes_per_s = state.growth.measure(at, recording.len_bytes());
            view::process(recording, state, window_ns, now, bytes_per_s)
        };
        self.watch.recordings.iter_mut().map(one).collect()
    }

    /// Whether there are traces and none of them can grow.
    fn is_over(&self) -> bool {
        let mut fates = self.watch.recordings.iter().map(|(recording, _)| recording.fate());
        !self.watch.recordings.is_empty() && fates.all(|fate| fate != Fate::Live)
    }
}

fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Measures once and writes that.
///
/// # Errors
/// Fails if what was named cannot be used or holds nothing yet, or if the output cannot be written.
pub fn once(request: &Request, format: Format, out: &mut dyn Write) -> Result<()> {
    let mut meter = Meter::new(request, request.window_ns);
    meter.poll()?;
    if meter.watch.recordings.is_empty() {
        return Err(meter.watch.nothing());
    }
    let processes = meter.measure(request.window_ns);
    Writer { format, request, has_written: false }.write(&processes, out).map_err(|e| Error::output(&e))
}

/// Measures again and again and writes each measurement, until all traces are finished or the time is up.
///
/// # Errors
/// Fails as [`once`] does.
pub fn lines(request: &Request, format: Format, out: &mut dyn Write) -> Result<()> {
    let mut meter = Meter::new(request, request.window_ns);
    let mut writer = Writer { format, request, has_written: false };
    let mut has_said = false;
    loop {
        let begun = Instant::now();
        meter.poll()?;
        let is_late = request.limit.is_some_and(|limit| meter.begun.elapsed() >= limit);
        if meter.watch.recordings.is_empty() {
            if is_late {
                return Err(meter.watch.nothing());
            }
            if !std::mem::replace(&mut has_said, true) {
                let _ = writeln!(io::stderr(), "gpuprof: {}; waiting", meter.watch.nothing());
            }
            std::thread::sleep(WAIT);
            continue;
        }
        // Before measuring: what came in between is in the next one.
        let is_over = meter.is_over();
        let processes = meter.measure(request.window_ns);
        writer.write(&processes, out).map_err(|e| Error::output(&e))?;
        if is_over || is_late {
            return Ok(());
        }
        let left = request.limit.map_or(request.interval, |limit| limit.saturating_sub(meter.begun.elapsed()));
        std::thread::sleep(
            request.interval.saturating_sub(begun.elapsed()).min(left.max(Duration::from_millis(1))),
        );
    }
}

struct Writer<'a> {
    format: Format,
    request: &'a Request,
    has_written: bool,
}

impl Writer<'_> {
    fn write(&mut self, processes: &[Process], out: &mut dyn Write) -> io::Result<()> {
        let is_first = !std::mem::replace(&mut self.has_written, true);
        match self.format {
            Format::Json => writeln!(out, "{}", machine::json(processes, self.request.window_ns, unix_ns()))?,
            Format::Csv => {
                if is_first {
                    writeln!(out, "{}", machine::CSV_HEADINGS)?;
                }
                out.write_all(machine::csv(processes, unix_ns()).as_bytes())?;
            }
            Format::Text => {
                if !is_first {
                    writeln!(out)?;
                }
                let text = text::text(processes, self.request.kernels);
                out.write_all(terminal_text::text(&text).as_bytes())?;
            }
        }
        out.flush()
    }
}

/// Draws the screen until somebody ends it.
///
/// # Errors
/// Fails if what was named cannot be used, if there is no terminal, or if the terminal is gone.
pub fn screen(request: &Request) -> Result<()> {
    terminal::give_back_on_panic();
    let mut meter = Meter::new(request, WIDEST_NS.max(request.window_ns));
    // What cannot be used is said on the terminal as it was.
    meter.poll()?;
    let refused = |e: io::Error| {
        Error::new(format!("the terminal cannot be used as a screen: {e}"))
            .remedy("`gpuprof top --once` prints one measurement, --format text one after the other")
    };
    let mut held = Held::take().map_err(refused)?;
    let mut screen = Screen::new(request.window_ns, WIDEST_NS);
    screen.ascii = terminal_text::ascii_only();
    let ended_by = run(&mut meter, &mut screen, &mut held, request);
    drop(held);
    if let Some(signal) = ended_by? {
        terminal::end_by(signal);
    }
    Ok(())
}

/// Returns the signal that has ended it, if one has.
fn run(meter: &mut Meter, screen: &mut Screen, held: &mut Held, request: &Request) -> Result<Option<i32>> {
    let failed = |e: io::Error| Error::output(&e);
    let mut next = Instant::now();
    let mut wish = Some(Wish::Measure);
    loop {
        if Instant::now() >= next {
            next = Instant::now() + request.interval;
            meter.poll()?;
            // What stands still on the screen is read on: nothing is missing when it goes on.
            wish = wish.or((!screen.paused).then_some(Wish::Measure));
        }
        match wish.take() {
            Some(Wish::Quit) => return Ok(None),
            Some(Wish::Suspend) => {
                held.suspend().map_err(failed)?;
                held.terminal.draw(|frame| draw(frame, screen)).map_err(failed)?;
            }
            Some(wish) => {
                if wish == Wish::Measure {
                    screen.processes = meter.measure(screen.window_ns);
                    screen.waiting = meter.watch.nothing().to_string();
                }
                held.terminal.draw(|frame| draw(frame, screen)).map_err(failed)?;
            }
            None => {}
        }
        if request.limit.is_some_and(|limit| meter.begun.elapsed() >= limit) {
            return Ok(None);
        }
        match held.signal() {
            Some(SIGTSTP) => {
                wish = Some(Wish::Suspend);
                continue;
            }
            Some(signal) => return Ok(Some(signal)),
            None => {}
        }
        if event::poll(TICK.min(next.saturating_duration_since(Instant::now()))).map_err(failed)? {
            wish = match event::read().map_err(failed)? {
                Event::Key(key) if key.kind != KeyEventKind::Release => screen.key(key),
                Event::Resize(..) => Some(Wish::Draw),
                _ => None,
            };
        }
    }
}
