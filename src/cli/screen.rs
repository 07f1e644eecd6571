//! Where answers for people go: the standard output, through a pager where that is a terminal and the answer is longer than it.

use crate::error::{Error, Result};
use crate::os::terminal;
use crate::render::terminal_text::TerminalText;
use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How an answer is shown on a terminal.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct ScreenArgs {
    /// Do not cut long names and lines to the width of the terminal. What is piped is never cut
    #[arg(long)]
    pub wide: bool,

    /// Print everything at once, not through GPUPROF_PAGER, PAGER or less. What is piped never goes through a pager
    #[arg(long, hide_short_help = true)]
    pub no_pager: bool,
}

impl ScreenArgs {
    /// How the text of this answer is written: as it is, unless it is `for_people`.
    pub fn text(self, for_people: bool) -> TerminalText {
        if for_people { TerminalText::of_stdout(self.wide) } else { TerminalText::default() }
    }

    /// The standard output, with a pager between only where the answer is `for_people`.
    pub fn open(self, for_people: bool) -> Screen {
        let rows = terminal::rows().filter(|_| for_people && !self.no_pager && io::stdout().is_terminal());
        match (rows, pager()) {
            (Some(rows), Some(pager)) => Screen::Holding { rows, pager, held: Vec::new() },
            _ => Screen::Direct(BufWriter::new(io::stdout())),
        }
    }
}

/// What a write to a [`Screen`] came to. Whoever leaves a pager has seen enough: that is no failure, and the command's own
/// exit status counts.
///
/// # Errors
/// Fails if the output could not be written.
pub fn written(result: io::Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe && io::stdout().is_terminal() => Ok(()),
        result => result.map_err(|e| Error::output(&e)),
    }
}

/// The standard output, or a pager before it. What is held is shown, and a pager is waited for, when this is dropped.
pub enum Screen {
    /// Straight to the standard output.
    Direct(BufWriter<Stdout>),
    /// It may fit the terminal, and then there is no pager.
    Holding {
        /// Lines of the terminal.
        rows: usize,
        /// What to start when there are more.
        pager: Pager,
        /// What was written so far.
        held: Vec<u8>,
    },
    /// A pager shows it.
    Paging {
        /// The pager.
        child: Child,
        /// Its standard input; gone once it was closed.
        input: Option<BufWriter<ChildStdin>>,
    },
}

impl Screen {
    /// Starts the pager, or does without one where it cannot be started.
    fn overflow(pager: &Pager, held: &[u8]) -> io::Result<Screen> {
        let mut screen = match pager.start() {
            Ok(mut child) => {
                let input = child.stdin.take().map(BufWriter::new);
                Screen::Paging { child, input }
            }
            Err(error) => {
                if let Some(named_by) = pager.named_by {
                    let name = pager.command.display();
                    let _ =
                        writeln!(io::stderr(), "gpuprof: {named_by}={name}: the pager cannot be started: {error}");
                }
                Screen::Direct(BufWriter::new(io::stdout()))
            }
        };
        screen.write_all(held).map(|()| screen)
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Screen::Direct(out) => return out.write(bytes),
            Screen::Paging { input, .. } => {
                return match input {
                    Some(input) => input.write(bytes),
                    None => Err(io::ErrorKind::BrokenPipe.into()),
                };
            }
            Screen::Holding { rows, pager, held } => {
                held.extend_from_slice(bytes);
                // One line is left for the prompt of the shell.
                if held.iter().filter(|&&byte| byte == b'\n').count() >= *rows {
                    let (pager, held) = (pager.clone(), std::mem::take(held));
                    *self = Screen::overflow(&pager, &held)?;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Screen::Direct(out) => out.flush(),
            Screen::Paging { input: Some(input), .. } => input.flush(),
            Screen::Paging { .. } | Screen::Holding { .. } => Ok(()),
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        match self {
            Screen::Direct(_) => {}
            Screen::Holding { held, .. } => {
                // A terminal that takes no more is gone.
                let _ = io::stdout().write_all(held).and_then(|()| io::stdout().flush());
            }
            Screen::Paging { child, input } => {
                if let Some(input) = input.take() {
                    // Its buffer is written first; a pager that has ended wants none of it.
                    let _ = input.into_inner();
                }
                let _ = child.wait();
            }
        }
    }
}

/// The program that shows long answers page by page.
#[derive(Clone)]
pub struct Pager {
    command: OsString,
    /// The variable that names it; `None`: nothing does.
    named_by: Option<&'static str>,
}

/// The pager that is wanted; `None`: none is.
fn pager() -> Option<Pager> {
    choose(|name| std::env::var_os(name))
}

fn choose(variable: impl Fn(&str) -> Option<OsString>) -> Option<Pager> {
    for name in ["GPUPROF_PAGER", "PAGER"] {
        match variable(name) {
            // As for git: empty, or cat, means that nobody wants one.
            Some(command) if command.is_empty() || command == "cat" => return None,
            Some(command) => return Some(Pager { command, named_by: Some(name) }),
            None => {}
        }
    }
    Some(Pager { command: "less".into(), named_by: None })
}

impl Pager {
    fn start(&self) -> io::Result<Child> {
        let mut command = match self.command.to_str() {
            // A shell would say that there is no such program only once the answer has gone into it.
            Some(word) if word.bytes().all(|b| b.is_ascii_alphanumeric() || b"/._-+".contains(&b)) => {
                Command::new(word)
            }
            _ => {
                let mut shell = Command::new("sh");
                shell.arg("-c").arg(&self.command);
                shell
            }
        };
        if std::env::var_os("LESS").is_none() {
            // Ends by itself if all fits, shows colours, and leaves what it showed on the terminal.
            command.env("LESS", "FRX");
        }
        let child = command.stdin(Stdio::piped()).spawn()?;
        // Ctrl+C is for the pager, which has it to interrupt a search, say; it ends when the user says so.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::new(AtomicBool::new(false)));
        Ok(child)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(pairs: &[(&str, &str)]) -> Option<(String, Option<&'static str>)> {
        let find = |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
        choose(find).map(|pager| (pager.command.to_string_lossy().into_owned(), pager.named_by))
    }

    #[test]
    fn our_own_variable_comes_first_and_cat_means_none() {
        let both = [("GPUPROF_PAGER", "less -S"), ("PAGER", "more")];
        assert_eq!(chosen(&both), Some(("less -S".to_owned(), Some("GPUPROF_PAGER"))));
        assert_eq!(chosen(&both[1..]), Some(("more".to_owned(), Some("PAGER"))));
        assert_eq!(chosen(&[]), Some(("less".to_owned(), None)));
        assert_eq!(chosen(&[("GPUPROF_PAGER", ""), ("PAGER", "more")]), None);
        assert_eq!(chosen(&[("PAGER", "cat")]), None);
    }
}
