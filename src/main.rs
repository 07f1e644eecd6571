//! The `gpuprof` program: parse, run, exit.

use gpuprof::cli::{Asked, keep_freed_memory, nvprof, read, run};
use gpuprof::render::terminal_text;
use std::process::ExitCode;

fn main() -> ExitCode {
    keep_freed_memory();
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let outcome = match words.as_slice() {
        // By nvprof's rules alone: what follows the application is none of ours.
        [name, rest @ ..] if nvprof::is_our_name(Some(name)) => nvprof::run_as_nvprof(rest),
        [_, command, rest @ ..] if command == "nvprof" => nvprof::run_as_nvprof(rest),
        words => match read(words) {
            Ok(Asked::For(cli)) => run(*cli),
            Ok(Asked::Nothing(error)) => error.exit(),
            Err(error) => Err(error),
        },
    };
    match outcome {
        Ok(ended) => ended.leave(),
        Err(error) => {
            // A reader that closes the pipe early (`| head`) has what it wanted.
            if error.is_closed_pipe() {
                return ExitCode::SUCCESS;
            }
            if error.is_verbatim() {
                eprintln!("{error}");
            } else {
                eprintln!("gpuprof: {}", terminal_text::text(&error.to_string()));
            }
            ExitCode::from(match error.outcome() {
                gpuprof::error::Outcome::Nothing => 1,
                gpuprof::error::Outcome::Failed => 2,
            })
        }
    }
}
