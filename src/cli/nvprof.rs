//! `gpuprof nvprof`: nvprof's command line, output and habits, over our collector and report. The same when the program
//! is started under the name `nvprof`.

mod all_processes;
mod collecting;
mod export;
mod help;
mod kernels;
mod live;
mod log;
mod names;
mod parse;
mod printing;
mod request;
mod rules;
mod samplers;
mod scratch;
mod table;
mod watch;

use crate::error::{Error, Result};
use crate::export::destination::sources;
use crate::launch::supervise::Ended;
use log::Log;
use request::Request;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

pub use help::{PAGE, page};
pub use table::{Argument, Does, NvprofOption, OPTIONS};

/// Arguments of `nvprof`: they are read by nvprof's rules, see `parse`.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// nvprof's options, then the application and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS AND COMMAND")]
    words: Vec<OsString>,
}

/// Runs `nvprof` as a subcommand.
///
/// # Errors
/// Fails where nvprof itself reports an error.
pub fn run(args: &Args) -> Result<Ended> {
    run_as_nvprof(&args.words)
}

/// Whether this program was started under nvprof's name.
pub fn is_our_name(program: Option<&std::ffi::OsStr>) -> bool {
    program.map(Path::new).and_then(Path::file_name).is_some_and(|name| name == "nvprof")
}

/// Runs nvprof's command line, without the name of the program.
///
/// # Errors
/// Fails where nvprof itself reports an error.
pub fn run_as_nvprof(words: &[OsString]) -> Result<Ended> {
    carry_out(words).map_err(|error| match error.is_verbatim() || error.is_closed_pipe() {
        true => error,
        // All that nvprof says begins alike.
        false => parse::error(&error.to_string()),
    })
}

fn carry_out(words: &[OsString]) -> Result<Ended> {
    let request = parse::parse(words)?;
    if request.help || request.version {
        let text = if request.help { help::text() } else { help::version() };
        io::stdout().write_all(text.as_bytes()).map_err(|e| Error::output(&e))?;
        return Ok(Ended::Exited(0));
    }
    match &request.import {
        Some(path) => import(&request, path).map(|()| Ended::Exited(0)),
        None if request.all_processes => all_processes::run(&request),
        None => live::run(&request),
    }
}

/// Prints a stored profile.
fn import(request: &Request, path: &Path) -> Result<()> {
    // The log replaces what has its name, and nothing is read by then.
    if let Some(pattern) = &request.log_file {
        let log = PathBuf::from(names::expand(pattern, 0));
        sources::protect(&log, &log, &[path.to_owned()])?;
    }
    let log = Log::open(request)?;
    for line in &request.said {
        log.warn(None, line)?;
    }
    let source = printing::Source { paths: vec![path.to_owned()], pid: None, origin_ns: None };
    log.write(None, |out| printing::write(out, request, &source).map(drop))
}
