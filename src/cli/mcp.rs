//! `gpuprof mcp`: a server for programs that ask about traces.

use crate::error::{Error, Result};
use crate::mcp::{Folders, Server};
use std::io::{self, BufReader};
use std::path::PathBuf;
use std::time::Duration;

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Answer programs that ask about traces, over the Model Context Protocol: each of their questions is one of gpuprof's commands, with a \
bounded answer. Nothing outside of the named folders is read, and nothing is written.";

/// Arguments of `mcp`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "It speaks the Model Context Protocol on its standard input and output, and ends when the input does.

Examples:
  gpuprof mcp /data/traces             as a client is told to start it:
  {\"mcpServers\": {\"gpuprof\": {\"command\": \"gpuprof\", \"args\": [\"mcp\", \"/data/traces\"]}}}"
)]
pub struct Args {
    /// The folders whose traces may be read. Nothing else is, and nothing is written
    #[arg(value_name = "FOLDER", required = true)]
    folders: Vec<PathBuf>,

    /// How long one answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

/// Runs `mcp`.
///
/// # Errors
/// Fails if a folder cannot be read or the output cannot be written to.
pub(super) fn run(args: &Args) -> Result<()> {
    let folders = Folders::new(&args.folders)?;
    let program = std::env::current_exe()
        .map_err(|why| Error::new(format!("this program does not know where it is itself: {why}")))?;
    let server = Server { folders, program, patience: Duration::from_secs(args.timeout) };
    let mut output = io::stdout();
    server.serve(BufReader::new(io::stdin()), &mut output).map_err(|why| Error::output(&why))
}
