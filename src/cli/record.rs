//! `gpuprof record`: runs a program with the collector in every CUDA process it starts.

mod flags;
mod host_stacks;
mod last_lines;
pub(super) mod outcome;
mod rings;
mod run_folder;
mod samplers;
mod stats;

use crate::error::{Error, Result};
use crate::launch::environment::{CUDA_INJECTION, Environment, NVTX_INJECTION, OPENACC_TOOLS, OPENMP_TOOLS};
use crate::launch::program;
use crate::launch::shim::{Places, locate};
use crate::launch::supervise::{self, Ended, NotStarted};
use clap::{Args as _, FromArgMatches as _};
use flags::SettingFlags;
use host_stacks::HostStackFlags;
use outcome::{Outcome, Ran};
use run_folder::RunFolder;
use shim_config::control::RuntimeDir;
use shim_config::{DumpRule, Settings, from_env, seen};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Run a program with the collector in every CUDA process that it starts, and keep what the GPU did as traces.

The program keeps its input, output and exit status. Each process writes a trace of its own while it runs, into a new folder unless \
--output says otherwise; the traces can be read at any moment. By default everything is recorded that reports need; --capture, --budget and \
--ring say when, --preset and --kinds what. Defaults for all options can stand in gpuprof.toml: see `gpuprof help config`.";

/// Arguments of `record`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  gpuprof record -- python train.py
  gpuprof record --capture profiler-api -o step.gpuprof -- python train.py
  gpuprof record --stats -o run -- python train.py
  gpuprof record --capture nvtx:step --max-ranges 3 -- ./simulation input.dat
  gpuprof record --sample 100ms -- python train.py
  mpirun -n 4 gpuprof record -o run -- ./simulation
  gpuprof record --ring 30s --dump-on slow:step:3,abort -- python serve.py

The program keeps its input, output and exit status. 127: it was not found, 126: it could not be executed.")]
pub struct Args {
    /// Where traces go: a new folder, or one FILE.gpuprof per process; with %p (pid), %h (host), %t (start time), %n
    /// (process name), %r (rank), %q{VARIABLE} and %%. Without it a new folder here, gpuprof-NAME-DATE-TIME
    #[arg(short, long, value_name = "PATH")]
    output: Option<OsString>,

    /// Load the collector into every process with LD_PRELOAD, so that those without CUDA are listed too. Programs
    /// built with AddressSanitizer do not start with it
    #[arg(long)]
    preload: bool,

    /// Sample the machine, the program's processes and its GPUs every TIME, 10ms to 3600s (e.g. 100ms), into a trace of
    /// the launcher's own; see report --view system
    #[arg(long, value_name = "TIME", value_parser = samplers::period)]
    sample: Option<Duration>,

    /// When the program has ended, print what `nsys profile --stats=true` prints: sums of NVTX ranges, API calls,
    /// kernels, and copies by time and by size. On the standard error, as the standard output is the program's
    #[arg(long)]
    stats: bool,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    // Below all that have no heading of their own: what follows a heading stands under it.
    #[command(flatten)]
    host_stacks: HostStackFlags,

    #[command(flatten)]
    settings: SettingFlags,
}

/// Runs the program; says how it ended.
///
/// # Errors
/// Fails if the program cannot be started, for example because there is no collector or no place for the traces.
pub fn run(args: &Args) -> Result<Ended> {
    let launched = match launch(args, &say, &mut |_, _| {})? {
        Launch::Ran(launched) => launched,
        Launch::NotStarted(ended) => return Ok(ended),
    };
    if launched.verbose > 0 || args.stats {
        let outcome = launched.outcome();
        if args.stats {
            stats::print(&outcome.traces, &say);
        }
        for line in last_lines::lines(&outcome, &launched.place, args.host_stacks.options().is_some())
            .iter()
            .filter(|_| launched.verbose > 0)
        {
            say(line);
        }
    }
    launched.place.remove_if_empty();
    Ok(launched.ran.ended)
}

/// Reads arguments, the first of which is the program's name.
///
/// # Errors
/// Fails if `gpuprof record` would not take these arguments.
pub(super) fn parse(words: Vec<OsString>) -> Result<Args> {
    let failed = |e: clap::Error| Error::new(e.to_string());
    let matches = Args::augment_args(clap::Command::new("record")).try_get_matches_from(words).map_err(failed)?;
    Args::from_arg_matches(&matches).map_err(failed)
}

/// What came of the attempt to run the program.
pub(super) enum Launch {
    /// It ran.
    Ran(Launched),
    /// It could not be started, which was said; what a shell's status would be.
    NotStarted(Ended),
}

/// A program that ran with the collector in it.
pub(super) struct Launched {
    /// Where its traces are.
    pub place: RunFolder,
    /// What is known about it.
    pub ran: Ran,
    /// How much is to be said.
    verbose: u8,
}

impl Launched {
    /// Looks at what it left behind.
    pub fn outcome(&self) -> Outcome {
        Outcome::of(&self.place, &self.ran)
    }
}

/// Runs the program with the collector in every process as the arguments ask, until it ends. `say` gets what a person
/// has to know, line by line; `started` the program's process id and the list of processes, once it runs.
///
/// # Errors
/// Fails if the program cannot be started, for example because there is no collector or no place for the traces.
pub(super) fn launch(args: &Args, say: &dyn Fn(&str), started: &mut dyn FnMut(u32, &Path)) -> Result<Launch> {
    let mut environment = Environment::new(std::env::vars_os());
    let given = |name: &str| args.settings.variables().any(|(given, _)| given == name);
    if given("GPUPROF_PRESET") && !given("GPUPROF_KINDS") {
        // What is asked for here takes the place of what the shell has.
        environment.remove("GPUPROF_KINDS");
    }
    for (name, value) in args.settings.variables() {
        environment.set(name, value);
    }
    let (settings, problems) = from_env(environment.pairs());
    for problem in &problems {
        if problem.variable == "GPUPROF_BUDGET" && given("GPUPROF_BUDGET") {
            // What was asked for here and cannot be: without it the program would pay for a recording of all it does.
            let why = problem.why.trim_end_matches("; it is left out");
            return Err(Error::new(format!("--budget {} {why}", problem.value)));
        }
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
    if environment.foreign_cuda.is_none() {
        for (group, variable, separator) in [("openacc", OPENACC_TOOLS, b';'), ("openmp", OPENMP_TOOLS, b':')] {
            if settings.kinds.contains_group(group) {
                environment.append(variable, separator, &shim);
            }
        }
    }
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
    let place = RunFolder::make(wanted.as_deref(), &args.command[0])?;
    environment.set("GPUPROF_OUTPUT", &place.template);
    environment.set("GPUPROF_SEEN", place.seen.as_os_str());
    if let RuntimeDir::Folder(folder) = &settings.runtime_dir {
        // The program may go elsewhere before it uses CUDA.
        let folder = Path::new(OsStr::from_bytes(folder));
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        environment.set("GPUPROF_RUNTIME_DIR", folder.as_os_str());
    }

    let mut companion = samplers::companion(args, &settings, &place)?;
    let mut pid = 0;
    let begun = |begun| {
        pid = begun;
        if let Some(companion) = &mut companion {
            companion.start(begun);
        }
        started(begun, &place.seen);
    };
    let ended = match supervise::run(&args.command, environment.strings(), begun) {
        Ok(ended) => ended,
        Err(error) => {
            if let Some(companion) = companion {
                companion.abandon();
            }
            place.remove_if_empty();
            return not_started(&args.command[0], error, say).map(Launch::NotStarted);
        }
    };
    let launcher = companion.map(|companion| {
        let path = companion.path().to_owned();
        (path, companion.end())
    });
    for remark in launcher.iter().flat_map(|(_, ended)| &ended.remarks).filter(|_| settings.verbose > 0) {
        say(remark);
    }
    if settings.ring.is_some() {
        let is_bad_end = !matches!(ended, Ended::Exited(0));
        see_to_rings(&place, &settings, is_bad_end && settings.dump_on.contains(&DumpRule::Abort), say);
    }
    let program = program::find(&args.command[0], environment.get("PATH"));
    // As the collector sees it: by the file itself, not by the link that was followed.
    let file = program.as_deref().and_then(|path| path.canonicalize().ok());
    let name = file.as_deref().and_then(Path::file_name).unwrap_or(&args.command[0]);
    let ran = Ran {
        pid,
        ended,
        is_chosen: settings.processes.wants(name.as_bytes(), std::process::id()),
        program,
        command: args.command[0].clone(),
        preloaded: args.preload,
        disabled: settings.disable,
        foreign: environment.foreign_cuda.clone(),
        launcher: launcher.map(|(path, ended)| (path, ended.rows)),
    };
    Ok(Launch::Ran(Launched { place, ran, verbose: settings.verbose }))
}

/// The program has ended. `keeps`: badly, and what its rings hold is kept.
fn see_to_rings(place: &RunFolder, settings: &Settings, keeps: bool, say: &dyn Fn(&str)) {
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
fn not_started(command: &std::ffi::OsStr, error: NotStarted, say: &dyn Fn(&str)) -> Result<Ended> {
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
                "cannot be executed: not a program for this machine, and not a script with a #! line".to_owned()
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
