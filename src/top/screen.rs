//! What the screen shows and what keys do, without a terminal.

use super::view::{Kernel, Process};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::cmp::Ordering;

/// Windows that + and - step through, in seconds.
const WINDOWS_S: [i64; 9] = [1, 2, 5, 10, 20, 30, 60, 120, 300];
const NS_PER_S: i64 = 1_000_000_000;

/// Order of the kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The longest together first.
    #[default]
    Total,
    /// The most first.
    Count,
    /// The longest on average first.
    Mean,
    /// The longest single one first.
    Max,
    /// By name.
    Name,
}

impl Sort {
    /// The next one, round and round.
    fn next(self) -> Sort {
        match self {
            Sort::Total => Sort::Count,
            Sort::Count => Sort::Mean,
            Sort::Mean => Sort::Max,
            Sort::Max => Sort::Name,
            Sort::Name => Sort::Total,
        }
    }

    /// The heading of its column.
    pub fn column(self) -> &'static str {
        match self {
            Sort::Total => "total",
            Sort::Count => "count",
            Sort::Mean => "mean",
            Sort::Max => "max",
            Sort::Name => "kernel",
        }
    }

    /// Puts kernels in order; equal ones stay in the order of their totals.
    pub fn sort(self, kernels: &mut [&Kernel]) {
        kernels.sort_by(|a, b| match self {
            Sort::Total => Ordering::Equal,
            Sort::Count => b.count.cmp(&a.count),
            Sort::Mean => b.mean_ns.total_cmp(&a.mean_ns),
            Sort::Max => b.max_ns.cmp(&a.max_ns),
            Sort::Name => a.short_name.cmp(&b.short_name).then_with(|| a.name.cmp(&b.name)),
        });
    }
}

/// What a key asks of whoever runs the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Draw again.
    Draw,
    /// Measure again over another window, and draw.
    Measure,
    /// Stop the program as Ctrl+Z does.
    Suspend,
    /// End.
    Quit,
}

/// The screen.
#[derive(Clone, Debug)]
pub struct Screen {
    /// The processes, in the order in which they were met.
    pub processes: Vec<Process>,
    /// Which of them is shown in full.
    pub selected: usize,
    /// Order of its kernels.
    pub sort: Sort,
    /// Kernels that are scrolled away.
    pub scrolled: usize,
    /// Whether names are whole.
    pub full_names: bool,
    /// Whether the numbers stand still.
    pub paused: bool,
    /// Length of the window asked for, in nanoseconds.
    pub window_ns: i64,
    /// The longest there may be.
    pub longest_ns: i64,
    /// What to say while there is no process.
    pub waiting: String,
    /// Whether the terminal has nothing but ASCII.
    pub ascii: bool,
}

impl Screen {
    /// A screen without processes.
    pub fn new(window_ns: i64, longest_ns: i64) -> Self {
        Screen {
            processes: Vec::new(),
            selected: 0,
            sort: Sort::default(),
            scrolled: 0,
            full_names: false,
            paused: false,
            window_ns,
            longest_ns: longest_ns.max(window_ns),
            waiting: String::new(),
            ascii: false,
        }
    }

    /// The process that is shown in full.
    pub fn process(&self) -> Option<&Process> {
        self.processes.get(self.selected.min(self.processes.len().saturating_sub(1)))
    }

    /// Does what a key means.
    pub fn key(&mut self, key: KeyEvent) -> Option<Wish> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if control => return Some(Wish::Quit),
            KeyCode::Char('z') if control => return Some(Wish::Suspend),
            KeyCode::Char('q') | KeyCode::Esc => return Some(Wish::Quit),
            KeyCode::Tab | KeyCode::Down | KeyCode::Right | KeyCode::Char('j') => self.step(1),
            KeyCode::BackTab | KeyCode::Up | KeyCode::Left | KeyCode::Char('k') => self.step(-1),
            KeyCode::PageDown => self.scroll(10),
            KeyCode::PageUp => self.scroll(-10),
            KeyCode::Home => self.scrolled = 0,
            KeyCode::Char('s') => (self.sort, self.scrolled) = (self.sort.next(), 0),
            KeyCode::Char('f') => self.full_names = !self.full_names,
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('+' | '=') => return self.widen(),
            KeyCode::Char('-' | '_') => return self.narrow(),
            _ => return None,
        }
        Some(Wish::Draw)
    }

    fn step(&mut self, by: isize) {
        let count = self.processes.len().max(1) as isize;
        self.selected = (self.selected as isize + by).rem_euclid(count) as usize;
        self.scrolled = 0;
    }

    fn scroll(&mut self, by: isize) {
        let most = self.process().map_or(0, |process| process.kernels.len().saturating_sub(1));
        self.scrolled = self.scrolled.saturating_add_signed(by).min(most);
    }

    fn widen(&mut self) -> Option<Wish> {
        let mut windows_ns = WINDOWS_S.iter().map(|s| s * NS_PER_S);
        let wider = windows_ns.find(|ns| *ns > self.window_ns && *ns <= self.longest_ns)?;
        self.window_ns = wider;
        Some(Wish::Measure)
    }

    fn narrow(&mut self) -> Option<Wish> {
        let narrower = WINDOWS_S.iter().rev().map(|s| s * NS_PER_S).find(|ns| *ns < self.window_ns)?;
        self.window_ns = narrower;
        Some(Wish::Measure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(screen: &mut Screen, code: KeyCode) -> Option<Wish> {
        screen.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn keys_do_what_the_last_line_says() {
        let mut screen = Screen::new(5_000_000_000, 120_000_000_000);
        assert_eq!(press(&mut screen, KeyCode::Char('q')), Some(Wish::Quit));
        assert_eq!(screen.key(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Some(Wish::Quit));
        assert_eq!(screen.key(KeyEvent::new(KeyCode::Char('z'), KeyModifiers::CONTROL)), Some(Wish::Suspend));
        assert_eq!(press(&mut screen, KeyCode::Char('+')), Some(Wish::Measure));
        assert_eq!(screen.window_ns, 10_000_000_000);
        for _ in 0..20 {
            let _ = press(&mut screen, KeyCode::Char('+'));
        }
        assert_eq!(screen.window_ns, 120_000_000_000, "no further than what is kept");
        for _ in 0..20 {
            let _ = press(&mut screen, KeyCode::Char('-'));
        }
        assert_eq!(screen.window_ns, 1_000_000_000);
        assert_eq!(press(&mut screen, KeyCode::Char('-')), None);
        press(&mut screen, KeyCode::Char('p'));
        assert!(screen.paused);
        press(&mut screen, KeyCode::Char('s'));
        assert_eq!(screen.sort, Sort::Count);
        assert_eq!(press(&mut screen, KeyCode::Char('y')), None);
        // Without a process nothing is selected and nothing breaks.
        for code in [KeyCode::Tab, KeyCode::Up, KeyCode::PageDown, KeyCode::PageUp, KeyCode::Home] {
            assert_eq!(press(&mut screen, code), Some(Wish::Draw));
        }
        assert_eq!((screen.selected, screen.scrolled), (0, 0));
    }
}
