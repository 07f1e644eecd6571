//! The terminal as a screen, and as it was before, whatever happens.

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether the terminal is a screen at this moment: the panic hook must not touch one that is not.
static IS_SCREEN: AtomicBool = AtomicBool::new(false);

/// Signals that end the program.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// The terminal while it is a screen. Dropping it gives it back.
pub struct Held {
    /// What is drawn on.
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
    ending: Arc<AtomicUsize>,
    stopping: Arc<AtomicBool>,
}

impl Held {
    /// Makes the terminal a screen.
    ///
    /// # Errors
    /// Fails if the output is not a terminal, or if the terminal refuses.
    pub fn take() -> io::Result<Held> {
        let (ending, stopping) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        for signal in ENDING {
            signal_hook::flag::register_usize(signal, ending.clone(), signal as usize)?;
        }
        signal_hook::flag::register(SIGTSTP, stopping.clone())?;
        enter()?;
        let terminal = Terminal::new(CrosstermBackend::new(stdout())).inspect_err(|_| leave())?;
        Ok(Held { terminal, ending, stopping })
    }

    /// The signal that has come since the last look, if one has.
    pub fn signal(&self) -> Option<i32> {
        if self.stopping.swap(false, Ordering::Relaxed) {
            return Some(SIGTSTP);
        }
        let signal = self.ending.load(Ordering::Relaxed);
        i32::try_from(signal).ok().filter(|signal| *signal != 0)
    }

    /// Stops the program as Ctrl+Z does, and takes the terminal again when it goes on.
    ///
    /// # Errors
    /// Fails if the terminal cannot be taken back.
    pub fn suspend(&mut self) -> io::Result<()> {
        leave();
        signal_hook::low_level::emulate_default_handler(SIGTSTP)?;
        enter()?;
        // A new one knows that nothing is on the screen. (`clear` of the old one asks the terminal where its cursor is, and
        // fails where none answers.)
        self.terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        leave();
    }
}

/// From now on a panic gives the terminal back before it prints. To be called before anything else that has a hook of
/// its own for panics that it catches: those print nothing and must leave the screen alone.
pub fn give_back_on_panic() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        leave();
        usual(info);
    }));
}

/// Ends the program by a signal that was caught, as it would have ended without us.
pub fn end_by(signal: i32) {
    let _ = signal_hook::low_level::emulate_default_handler(signal);
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    IS_SCREEN.store(true, Ordering::Relaxed);
    execute!(stdout(), EnterAlternateScreen, Clear(ClearType::All), cursor::Hide).inspect_err(|_| leave())
}

/// Gives the terminal back. It may be gone, so nobody is told of failures.
fn leave() {
    if IS_SCREEN.swap(false, Ordering::Relaxed) {
        let _ = execute!(stdout(), LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }
}
