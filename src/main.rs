//! The `gpuprof` program: parse, run, exit.

use clap::Parser as _;
use gpuprof::cli::{Cli, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(ended) => ended.leave(),
        Err(error) => {
            // A reader that closes the pipe early (`| head`) has what it wanted.
            if error.is_closed_pipe() {
                return ExitCode::SUCCESS;
            }
            if error.is_verbatim() {
                eprintln!("{error}");
            } else {
                eprintln!("gpuprof: {error}");
            }
            ExitCode::from(match error.outcome() {
                gpuprof::error::Outcome::Nothing => 1,
                gpuprof::error::Outcome::Failed => 2,
            })
        }
    }
}
