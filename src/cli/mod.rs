//! The command line: one file per subcommand, holding its arguments and its `run`.

mod choosing;
pub mod info;
mod newest;
pub mod report;
mod times;

use crate::error::Result;
use clap::{Parser, Subcommand};

/// Where did the GPU time go.
#[derive(Parser, Debug)]
#[command(
    name = "gpuprof",
    version = concat!(env!("CARGO_PKG_VERSION"), " (", env!("GPUPROF_COMMIT"), ")"),
    about = "Reads GPU traces (gpuprof, nvprof, Nsight Systems, PyTorch) and says where the time went",
    after_help = "Examples:\n  gpuprof report run.nvvp\n  gpuprof report trace.json.gz --top 10\n  gpuprof info run.gpuprof"
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The subcommands.
#[derive(Subcommand, Debug)]
enum Command {
    /// Summarise traces, or list every activity in them
    Report(report::Args),
    /// Say what a file is, who wrote it, and what is in it
    Info(info::Args),
}

/// Runs what the command line asks for.
///
/// # Errors
/// Whatever keeps the command from its answer; `main` prints it and picks the exit status.
pub fn run(cli: Cli) -> Result<()> {
    match cli.command {
        Command::Report(args) => report::run(args),
        Command::Info(args) => info::run(&args),
    }
}
