//! `gpuprof record`: runs a program with the collector in every CUDA process it starts.

mod closing;
mod flags;
mod outcome;
mod place;
mod rings;

use crate::error::{Error, Result};
use crate::launch::environment::{CUDA_INJECTION, Environment, NVTX_INJECTION};
use crate::launch::program;
use crate::launch::shim::{Places, locate};
use crate::launch::supervise::{self, Ended, NotStarted};
use flags::SettingFlags;
use outcome::{Outcome, Ran};
use place::Place;
use shim_config::{DumpRule, Settings, from_env, seen};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Arguments of `record`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  gpuprof record -- python train.py
  gpuprof record --capture profiler-api -o step.gpuprof -- python train.py
  gpuprof record --capture nvtx:step --max-ranges 3 -- ./simulation input.dat
  mpirun -n 4 gpuprof record -o run -- ./simulation
  gpuprof record --ring 30s --dump-on slow:step:3,abort -- python serve.py

The program keeps its input, output and exit status. 127: it was not found, 126: it could not be executed.")]
pub struct Args {
    /// Where traces go: a new folder, or one FILE.gpuprof per process; with %p (pid), %h (host), %t (start time), %n
    /// (process name), %r (rank), %q{VARIABLE} and %%. Without it a new folder here, gpuprof-NAME-DATE-TIME
    #[arg(short, long, value_name = "PATH")]
    output: Option<OsString>,

    /// Load the collector into every process with LD_PRELOAD, so that those without CUDA are listed too. Programs
    /// built with AddressSanitizer do not bear it
    #[arg(long)]
    preload: bool,

    #[command(flatten)]
    settings: SettingFlags,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the program; says how it ended.
///
/// # Errors
/// What keeps it from being started: no collector, no place for the traces.
pub fn run(args: &Args) -> Result<Ended> {
    let mut environment = Environment::new(std::env::vars_os());
    for (name, value) in args.settings.variables() {
        environment.set(name, value);
    }
    let (settings, problems) = from_env(environment.pairs());
    for problem in &problems {
        if settings.verbose > 0 {
            say(&problem.to_string());
        }
        // Said once, here, and not by every process. What nobody knows stays: it may be the program's own.
        if shim_config::VARIABLES.iter().any(|variable| variable.name == problem.variable) {
            environment.remove(&problem.variable);
        }
    }
    let shim = locate(&Places::here())?;
    environment.put_in(&shim, settings.nvtx, args.preload);
    if let Some(other) = &environment.foreign_cuda {
        let other = other.display();
        say(&format!(
            "{CUDA_INJECTION} names another tool ({other}); it is left in place and nothing is recorded; unset it to \
             record with gpuprof"
        ));
    } else if let (Some(other), None) = (&environment.foreign_nvtx, &settings.nvtx_chain) {
        let other = other.display();
        say(&format!(
            "{NVTX_INJECTION} named another tool, which hears of no range now; --nvtx-chain {other} serves both"
        ));
    }
    if settings.ring.is_none() && (!settings.dump_on.is_empty() || settings.dump_signal.is_some()) {
        say("--dump-on and --dump-signal dump a ring; without --ring (e.g. --ring 30s) they do nothing");
    }
    let is_slow = |rule: &DumpRule| matches!(rule, DumpRule::Slow { .. });
    if !settings.nvtx && settings.dump_on.iter().any(is_slow) {
        say("--dump-on slow:… goes by NVTX ranges, which --nvtx off leaves out: it never fires");
    }
    if settings.disable {
        say("GPUPROF_DISABLE is set, so nothing is recorded; unset it to record");
    }
    let wanted = args.output.clone().or_else(|| environment.get("GPUPROF_OUTPUT").map(Into::into));
    let place = Place::make(wanted.as_deref(), &args.command[0])?;
    environment.set("GPUPROF_OUTPUT", &place.template);
    environment.set("GPUPROF_SEEN", place.seen.as_os_str());

    let mut pid = 0;
    let ended = match supervise::run(&args.command, environment.strings(), |started| pid = started) {
        Ok(ended) => ended,
        Err(error) => {
            place.remove_if_empty();
            return not_started(&args.command[0], error);
        }
    };
    if settings.ring.is_some() {
        let is_bad_end = !matches!(ended, Ended::Exited(0));
        see_to_rings(&place, &settings, is_bad_end && settings.dump_on.contains(&DumpRule::Abort));
    }
    if settings.verbose > 0 {
        let program = program::find(&args.command[0], environment.get("PATH"));
        // As the collector sees it: by the file itself, not by the link that was followed.
        let file = program.as_deref().and_then(|path| path.canonicalize().ok());
        let name = file.as_deref().and_then(Path::file_name).unwrap_or(&args.command[0]);
        let ran = Ran {
            pid,
            ended,
            is_chosen: settings.processes.wants(name.as_bytes()),
            program,
            command: args.command[0].clone(),
            preloaded: args.preload,
            disabled: settings.disable,
            foreign: environment.foreign_cuda.clone(),
        };
        let outcome = Outcome::of(&place, ran);
        for line in closing::lines(&outcome, &place) {
            say(&line);
        }
    }
    place.remove_if_empty();
    Ok(ended)
}

/// The program has ended. `keeps`: badly, and what its rings hold is kept.
fn see_to_rings(place: &Place, settings: &Settings, keeps: bool) {
    let (seen, _) = seen::processes(&std::fs::read(&place.seen).unwrap_or_default());
    for ring in rings::rings(place, &seen) {
        rings::remove_leftovers(&ring);
        if keeps
            && let Err(error) = rings::keep(&ring, "abort")
            && settings.verbose > 0
        {
            say(&format!("{}: no dump could be made of it: {error}; it stays where it is", ring.display()));
        }
    }
}

/// One line on the standard error. Nobody may be listening any more.
fn say(line: &str) {
    use io::Write as _;
    let _ = writeln!(io::stderr(), "gpuprof: {line}");
}

/// What shells say in such a case, and with their status.
fn not_started(command: &std::ffi::OsStr, error: NotStarted) -> Result<Ended> {
    let name = command.display();
    let error = match error {
        NotStarted::Exec(error) => error,
        NotStarted::Fork(error) => {
            return Err(Error::new(format!("{name}: no process can be started: {error}"))
                .remedy("end some, or raise the limit with ulimit -u"));
        }
    };
    if error.kind() != io::ErrorKind::NotFound {
        let why = match error.raw_os_error() {
            Some(libc::EACCES) => {
                "cannot be executed: no permission (is it a folder, or not marked executable?)".to_owned()
            }
            Some(libc::ENOEXEC) => {
                "cannot be executed: no program of this machine, and no script with a #! line".to_owned()
            }
            _ => format!("cannot be executed: {error}"),
        };
        say(&format!("{name}: {why}"));
        return Ok(Ended::Exited(126));
    }
    if !name.to_string().contains('/') {
        say(&format!("{name}: command not found in PATH"));
    } else if Path::new(command).exists() {
        // The file is there; what it names to run it is not.
        say(&format!("{name}: not found: the loader or interpreter that it asks for is missing"));
    } else {
        say(&format!("{name}: no such file"));
    }
    Ok(Ended::Exited(127))
}
