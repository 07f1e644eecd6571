//! `gpuprof completions`: what a shell needs to complete gpuprof's commands and options.

use crate::error::{Error, Result};
use clap::CommandFactory as _;
use clap_complete::Shell;
use std::io::{self, Write as _};

/// Arguments of `completions`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  source <(gpuprof completions bash)                                  in this shell, until it ends
  gpuprof completions bash > ~/.local/share/bash-completion/completions/gpuprof
  gpuprof completions zsh > ~/.zfunc/_gpuprof                         with ~/.zfunc in fpath
  gpuprof completions fish > ~/.config/fish/completions/gpuprof.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Prints the script; the same bytes every time.
///
/// # Errors
/// Fails if the output cannot be written.
pub fn run(args: &Args) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "gpuprof", &mut script);
    let mut out = io::stdout();
    out.write_all(&script).and_then(|()| out.flush()).map_err(|e| Error::output(&e))
}
