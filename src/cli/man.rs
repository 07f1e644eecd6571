//! `gpuprof man`: manual pages, made from the same text as the help.

use crate::error::{Error, Result};
use clap::{Command, CommandFactory as _};
use clap_mangen::Man;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Arguments of `man`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  gpuprof man | man -l -                   the page about gpuprof
  gpuprof man record | man -l -            the page about one command
  gpuprof man -o ~/.local/share/man/man1   all pages, for `man gpuprof-record`")]
pub struct Args {
    /// The command that the page is about, e.g. record or ctl list. Without it, gpuprof itself
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Vec<String>,

    /// Write the pages of all commands to this folder, which is made if it is not there
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Writes the pages; the same bytes every time.
///
/// # Errors
/// Fails if there is no such command, or if the output cannot be written.
pub fn run(args: &Args) -> Result<()> {
    // The commit in the version would make pages of the same text differ.
    let mut root = super::Cli::command().version(env!("CARGO_PKG_VERSION")).disable_help_subcommand(true);
    root.build();
    if let Some(folder) = &args.output {
        return write_all(&root, folder);
    }
    let mut command = &root;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            Error::new(format!("{name}: there is no such command"))
                .remedy("`gpuprof --help` lists the commands, and `gpuprof help ctl` those of ctl, for example")
        })?;
    }
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page).map_err(|e| Error::output(&e))?;
    let mut out = io::stdout();
    out.write_all(&page).and_then(|()| out.flush()).map_err(|e| Error::output(&e))
}

/// The pages of a command and of all below it.
fn write_all(command: &Command, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(|e| Error::at(folder, format_args!("the folder cannot be made: {e}")))?;
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_all(below, folder)?;
    }
    let man = Man::new(command.clone());
    let path = folder.join(man.get_filename());
    man.generate_to(folder).map(drop).map_err(|e| Error::at(&path, format_args!("cannot be written: {e}")))
}
