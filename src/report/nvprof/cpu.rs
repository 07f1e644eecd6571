//! `--cpu-profiling on`: where the application's threads were, as trees of functions or as a flat list.
//!
//! The layout is that of logs of nvprof 8 to 11; how separate threads, libraries and CSV looked is guessed.

use super::messages::Prefix;
use super::{Options, fmt};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

/// One function on a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frame {
    /// Its name; empty where none is known.
    pub name: String,
    /// The library or source file that it is from; empty where none is known.
    pub library: String,
}

/// A stack and how often it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stack {
    /// The thread's id.
    pub thread: u64,
    /// Its functions, from the outermost to the innermost.
    pub frames: Vec<Frame>,
    /// How many samples found it so.
    pub samples: u64,
}

/// All samples of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The stacks, in any order, the same one several times if need be.
    pub stacks: Vec<Stack>,
    /// Samples per second and thread: what one sample stands for.
    pub hertz: u32,
}

/// `--cpu-profiling-mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Callers below the functions that they called.
    #[default]
    BottomUp,
    /// Callers above.
    TopDown,
    /// Functions alone.
    Flat,
}

/// How the section looks: nvprof's options `--cpu-profiling-…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The kind of tree.
    pub mode: Mode,
    /// Levels of a tree that are shown; 0: all.
    pub max_depth: usize,
    /// What took less than this share of all samples, in percent, is left out.
    pub threshold_percent: u32,
    /// Whether functions are shown with their libraries.
    pub show_library: bool,
    /// Whether each thread has a table of its own.
    pub by_thread: bool,
    /// Whether stacks are looked at beyond the innermost function.
    pub unwind: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Layout {
            mode: Mode::BottomUp,
            max_depth: 0,
            threshold_percent: 0,
            show_library: false,
            by_thread: false,
            unwind: true,
        }
    }
}

/// Writes the section.
pub fn write(out: &mut dyn io::Write, profile: &Profile, layout: &Layout, options: &Options) -> io::Result<()> {
    let prefix = Prefix(None);
    let mode = match layout.mode {
        Mode::BottomUp => "bottom up",
        Mode::TopDown => "top down",
        Mode::Flat => "flat",
    };
    writeln!(out, "\n{prefix}CPU profiling result ({mode}):")?;
    if layout.by_thread {
        let mut threads: Vec<u64> = profile.stacks.iter().map(|stack| stack.thread).collect();
        threads.sort_unstable();
        threads.dedup();
        for thread in threads {
            writeln!(out, "{prefix}Thread {thread}")?;
            let own = profile.stacks.iter().filter(|stack| stack.thread == thread);
            table(out, own, profile.hertz, layout, options)?;
        }
    } else {
        table(out, profile.stacks.iter(), profile.hertz, layout, options)?;
    }
    writeln!(out, "\n{prefix}Data collected at {}Hz frequency", profile.hertz)?;
    if layout.threshold_percent > 0 {
        writeln!(out, "{prefix}Percentage threshold: {}%", layout.threshold_percent)?;
    }
    Ok(())
}

/// A function, what was found in it, and what is below it in the tree.
#[derive(Default)]
struct Node {
    samples: u64,
    below: BTreeMap<String, Node>,
}

impl Node {
    fn add<'f>(
        &mut self,
        mut frames: impl Iterator<Item = &'f Frame>,
        samples: u64,
        layout: &Layout,
        depth: usize,
    ) {
        if layout.max_depth > 0 && depth == layout.max_depth {
            return;
        }
        let Some(frame) = frames.next() else { return };
        let node = self.below.entry(shown(frame, layout)).or_default();
        node.samples += samples;
        node.add(frames, samples, layout, depth + 1);
    }
}

fn shown(frame: &Frame, layout: &Layout) -> String {
    let name = if frame.name.is_empty() { "???" } else { &frame.name };
    let mut text = match layout.show_library && !frame.library.is_empty() {
        true => format!("{name} ({})", frame.library),
        false => name.to_owned(),
    };
    fmt::flatten(&mut text, 0);
    text
}

fn table<'s>(
    out: &mut dyn io::Write,
    stacks: impl Iterator<Item = &'s Stack>,
    hertz: u32,
    layout: &Layout,
    options: &Options,
) -> io::Result<()> {
    let mut root = Node::default();
    for stack in stacks {
        root.samples += stack.samples;
        let innermost_first = stack.frames.iter().rev();
        match (layout.mode, layout.unwind) {
            (Mode::Flat, _) | (_, false) => root.add(innermost_first.take(1), stack.samples, layout, 0),
            (Mode::BottomUp, true) => root.add(innermost_first, stack.samples, layout, 0),
            (Mode::TopDown, true) => root.add(stack.frames.iter(), stack.samples, layout, 0),
        }
    }
    let head = if options.csv { "\"Time(%)\",\"Time\",\"Name\"\n%,s,\n" } else { "Time(%)      Time  Name\n" };
    out.write_all(head.as_bytes())?;
    let lines = Lines { total: root.samples, hertz, layout, csv: options.csv };
    lines.below(out, &root, "")
}

/// What the rows of one table have in common.
struct Lines<'a> {
    total: u64,
    hertz: u32,
    layout: &'a Layout,
    csv: bool,
}

impl Lines<'_> {
    /// Writes the rows below `node`: by falling time, then by name. `indent` is what stands before their names.
    fn below(&self, out: &mut dyn io::Write, node: &Node, indent: &str) -> io::Result<()> {
        let least = u128::from(self.layout.threshold_percent) * u128::from(self.total);
        let mut rows: Vec<(&String, &Node)> =
            node.below.iter().filter(|(_, node)| u128::from(node.samples) * 100 >= least).collect();
        rows.sort_by(|a, b| b.1.samples.cmp(&a.1.samples).then_with(|| a.0.cmp(b.0)));
        for (i, (name, node)) in rows.iter().enumerate() {
            self.row(out, node.samples, indent, name)?;
            // A line leads on to the next of the same level.
            let more = if i + 1 < rows.len() { "| " } else { "  " };
            self.below(out, node, &format!("{indent}{more}"))?;
        }
        Ok(())
    }

    fn row(&self, out: &mut dyn io::Write, samples: u64, indent: &str, name: &str) -> io::Result<()> {
        let mut line = String::new();
        let ns = samples as f64 * 1e9 / f64::from(self.hertz.max(1));
        if self.csv {
            let share = fmt::share(u128::from(samples), u128::from(self.total));
            let _ = write!(line, "{share:.6},{:.6},", ns * 1e-9);
            fmt::push_quoted(&mut line, &format!("{indent}{name}"));
        } else {
            let share = format!("{}%", fmt::percent(u128::from(samples), u128::from(self.total)));
            let _ = write!(line, "{share:>7}  {:>8}  {indent}{name}", six_digits(ns));
        }
        writeln!(out, "{line}")
    }
}

/// A time in the unit that suits it, with six digits and no zeros at the end: `26.7635s`, `180.4ms`, `90ms`.
fn six_digits(ns: f64) -> String {
    let unit = fmt::suited(ns, &fmt::TIME);
    let value = fmt::in_unit(ns, unit);
    let whole = value.max(1.0).log10().floor() as usize + 1;
    let text = format!("{value:.*}", 6usize.saturating_sub(whole));
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{}", unit.name)
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{CSV, TEXT, written};
    use super::*;

    fn stack(thread: u64, names: &str, samples: u64) -> Stack {
        let frame = |name: &str| {
            let (name, library) = name.split_once('@').unwrap_or((name, ""));
            Frame { name: name.to_owned(), library: library.to_owned() }
        };
        Stack { thread, frames: names.split(';').map(frame).collect(), samples }
    }

    /// The stacks of a conjugate gradient program, of which a log of nvprof's is public.
    fn profile() -> Profile {
        let stacks = vec![
            stack(1, "main;matvec(matrix const &)", 2500),
            stack(1, "main;allocate(matrix&)", 164),
            stack(1, "main;free_matrix(matrix&);munmap@libc.so.6", 3),
            stack(1, "waxpby(double)", 535),
            stack(2, "dot(vector const &)", 140),
            stack(2, "free_vector(vector&);munmap@libc.so.6", 1),
        ];
        Profile { stacks, hertz: 100 }
    }

    fn section(layout: Layout, options: &Options) -> String {
        written(|out| write(out, &profile(), &layout, options))
    }

    #[test]
    fn top_down_draws_lines_between_siblings() {
        assert_eq!(
            section(Layout { mode: Mode::TopDown, ..Layout::default() }, &TEXT),
            "
======== CPU profiling result (top down):
Time(%)      Time  Name
 79.78%    26.67s  main
 74.78%       25s  | matvec(matrix const &)
  4.91%     1.64s  | allocate(matrix&)
  0.09%      30ms  | free_matrix(matrix&)
  0.09%      30ms  |   munmap
 16.00%     5.35s  waxpby(double)
  4.19%      1.4s  dot(vector const &)
  0.03%      10ms  free_vector(vector&)
  0.03%      10ms    munmap

======== Data collected at 100Hz frequency
"
        );
    }

    #[test]
    fn bottom_up_has_callers_below() {
        let text = section(Layout { threshold_percent: 5, ..Layout::default() }, &TEXT);
        assert_eq!(
            text,
            "
======== CPU profiling result (bottom up):
Time(%)      Time  Name
 74.78%       25s  matvec(matrix const &)
 74.78%       25s  | main
 16.00%     5.35s  waxpby(double)

======== Data collected at 100Hz frequency
======== Percentage threshold: 5%
"
        );
        let deep = section(Layout::default(), &TEXT);
        assert!(deep.contains("  0.12%      40ms  munmap\n  0.09%      30ms    free_matrix(matrix&)\n"), "{deep}");
    }

    #[test]
    fn flat_sums_the_innermost_functions_of_all_stacks() {
        let text = section(Layout { mode: Mode::Flat, show_library: true, ..Layout::default() }, &TEXT);
        assert!(text.contains("result (flat):\n"), "{text}");
        assert!(text.contains("  0.12%      40ms  munmap (libc.so.6)\n"), "{text}");
        assert!(!text.contains("main"), "{text}");
        let without_callers = section(Layout { unwind: false, ..Layout::default() }, &TEXT);
        assert_eq!(without_callers.lines().count(), text.lines().count());
    }

    #[test]
    fn depth_is_cut_and_threads_are_apart() {
        let shallow = section(Layout { mode: Mode::TopDown, max_depth: 1, ..Layout::default() }, &TEXT);
        assert!(shallow.contains(" main\n") && !shallow.contains("matvec"), "{shallow}");
        let apart = section(Layout { mode: Mode::Flat, by_thread: true, ..Layout::default() }, &TEXT);
        let second = apart.split("======== Thread 2\n").nth(1).unwrap();
        assert!(second.starts_with("Time(%)      Time  Name\n 99.29%      1.4s  dot(vector const &)\n"), "{apart}");
    }

    #[test]
    fn csv_has_seconds() {
        let text = section(Layout { mode: Mode::Flat, threshold_percent: 10, ..Layout::default() }, &CSV);
        assert!(
            text.contains("\"Time(%)\",\"Time\",\"Name\"\n%,s,\n74.783129,25.000000,\"matvec(matrix const &)\"\n"),
            "{text}"
        );
    }

    #[test]
    fn times_have_six_digits_and_no_zeros_at_their_end() {
        for (ns, expected) in [
            (26_763_500_000.0, "26.7635s"),
            (1_404_910_000.0, "1.40491s"),
            (211_766_000_000.0, "211.766s"),
            (30_105_000.0, "30.105ms"),
            (150_010_000.0, "150.01ms"),
            (180_400_000.0, "180.4ms"),
            (90_000_000.0, "90ms"),
            (0.0, "0ns"),
        ] {
            assert_eq!(six_digits(ns), expected);
        }
    }

    #[test]
    fn no_samples_are_an_empty_table() {
        let text = written(|out| write(out, &Profile { hertz: 50, stacks: vec![] }, &Layout::default(), &TEXT));
        assert!(text.ends_with("Time(%)      Time  Name\n\n======== Data collected at 50Hz frequency\n"), "{text}");
    }
}
