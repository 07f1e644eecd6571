//! Running the application, and printing what came of it.

use super::collecting;
use super::export;
use super::log::Log;
use super::printing::{self, Source};
use super::request::Request;
use super::samplers;
use super::scratch::Scratch;
use super::watch::Watch;
use crate::analysis::cpu_stacks;
use crate::analysis::labels::Labels;
use crate::cli::record::outcome::Why;
use crate::cli::record::{self, Launch, Launched};
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::launch::supervise::Ended;
use crate::report::nvprof::messages::Message;
use crate::report::nvprof::{Options, cpu};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use shim_config::Cause;
use shim_config::seen::{self, SeenLine};
use shim_config::template;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs the application; says how it ended.
///
/// # Errors
/// Fails if the program cannot be started, or if what was recorded cannot be printed.
pub fn run(request: &Request) -> Result<Ended> {
    let log = Arc::new(Log::open(request)?);
    if let Some(pattern) = &request.export {
        export::check(pattern, request.overwrite)?;
    }
    let mut scratch = Scratch::make()?;
    let arguments = arguments(request, scratch.path())?;
    let mut watch = None;
    let mut failed = None;
    let mut started = |pid: u32, list: &Path| {
        let announced = request.said.iter().try_for_each(|line| log.remark(Some(pid), line));
        failed = announced.err();
        watch = Some(Watch::begin(request, Arc::clone(&log), list.to_owned(), Some(pid)));
    };
    let say = |line: &str| {
        // An unwritable log is found out when the results are written.
        let _ = log.warn(None, line);
    };
    let launched = match record::launch(&arguments, &say, &mut started)? {
        Launch::Ran(launched) => launched,
        Launch::NotStarted(ended) => {
            log.fail(None, &Message::Error("application not found."))?;
            return Ok(ended);
        }
    };
    if let Some(watch) = watch {
        watch.end();
    }
    let ended = launched.ran.ended;
    match failed.map_or_else(|| results(request, &log, &launched), Err) {
        Ok(()) => Ok(ended),
        Err(error) => {
            scratch.stay();
            let place = scratch.path().display();
            log.fail(None, &Message::Error(&format!("{error}")))?;
            log.fail(
                None,
                &Message::Warning(&format!("What was recorded is in {place}; gpuprof report prints it.")),
            )?;
            Err(Error::verbatim(format!("======== Error: the result of this run is in {place}")))
        }
    }
}

/// The arguments with which `gpuprof record` would record this application into `folder`.
fn arguments(request: &Request, folder: &Path) -> Result<record::Args> {
    let mut output = template::escape(folder.as_os_str().as_bytes());
    output.extend(b"/run");
    let mut words: Vec<OsString> = vec!["record".into(), "--output".into(), OsString::from_vec(output)];
    let flags = collecting::flags(request, Some(std::process::id()));
    words.extend(flags);
    words.extend(samplers::flags(request));
    words.push("--".into());
    words.extend(request.command.iter().cloned());
    record::parse(words)
}

/// Prints everything, in nvprof's order.
fn results(request: &Request, log: &Log, launched: &Launched) -> Result<()> {
    let outcome = launched.outcome();
    // Samples of the devices and stacks of the CPU are in the launcher's own trace.
    let launchers: Vec<PathBuf> = outcome.launcher.iter().map(|(path, _)| path.clone()).collect();
    let list = std::fs::read(&launched.place.seen).unwrap_or_default();
    let (processes, _) = seen::processes(&list);
    let with_cuda: Vec<&SeenLine> = processes.iter().filter(|line| line.cuda).collect();
    let is_ours = |line: &&&SeenLine| request.children || line.pid == launched.ran.pid;
    let printed: Vec<&SeenLine> = with_cuda.iter().filter(is_ours).copied().collect();
    for line in &printed {
        let command = match line.pid == launched.ran.pid {
            true => command_of(request),
            false => joined(line.argv.iter().map(Vec::as_slice)),
        };
        let beside: &[PathBuf] = if request.system { &launchers } else { &[] };
        process(request, log, line, &command, beside, outcome.why.as_ref())?;
    }
    if printed.is_empty() {
        log.say(Some(launched.ran.pid), &Message::NoCuda)?;
        explain(log, None, outcome.why.as_ref())?;
    }
    if with_cuda.len() > printed.len() {
        log.say(Some(launched.ran.pid), &Message::ChildrenLeftOut)?;
    }
    if request.cpu.is_on {
        cpu_profile(request, log, launched, &launchers)?;
    }
    let pid = Some(launched.ran.pid);
    match launched.ran.ended {
        Ended::Exited(0) => Ok(()),
        Ended::Exited(status) => log.fail(pid, &Message::ExitCode(status)),
        Ended::Signalled(signal) => log.fail(pid, &Message::Signal(signal)),
    }
}

/// Prints one process, and writes its file. `beside` are traces that hold what else was measured meanwhile, `why` says
/// what kept everything from being recorded.
pub(super) fn process(
    request: &Request,
    log: &Log,
    line: &SeenLine,
    command: &str,
    beside: &[PathBuf],
    why: Option<&Why>,
) -> Result<()> {
    let pid = Some(line.pid);
    log.say(pid, &Message::Application(command))?;
    let Some(trace) = line.trace.as_deref().map(|path| PathBuf::from(OsStr::from_bytes(path))) else {
        log.say(pid, &Message::NoData)?;
        return explain(log, pid, why);
    };
    let mut paths = vec![trace.clone()];
    paths.extend(beside.iter().filter(|path| **path != trace).cloned());
    let source = Source { paths, pid, origin_ns: Some(line.start_unix_ns) };
    let mut found = printing::Shown::Something;
    log.write(pid, |out| {
        found = printing::write(out, request, &source)?;
        Ok(())
    })?;
    if found == printing::Shown::Nothing {
        explain(log, pid, why)?;
    }
    if let Some(pattern) = &request.export {
        let written = export::write(request, pattern, &trace, line.pid)?;
        log.say(pid, &Message::GeneratedFile(&written.display().to_string()))?;
    }
    Ok(())
}

/// Says why there is nothing, where that is more than that CUDA was not used.
fn explain(log: &Log, pid: Option<u32>, why: Option<&Why>) -> Result<()> {
    let Some(why) = why.filter(|why| why.what != Cause::NoCuda.to_string()) else { return Ok(()) };
    log.warn(pid, &format!("Nothing was recorded: {}: {}. What to do: {}.", why.whom, why.what, why.remedy))
}

fn cpu_profile(request: &Request, log: &Log, launched: &Launched, launchers: &[PathBuf]) -> Result<()> {
    if launchers.is_empty() {
        return Ok(());
    }
    let frames = Frames::open(launchers, &cpu_stacks::need())?;
    let labels = Labels::new(&frames, Demangling::On);
    let pid = Some(launched.ran.pid);
    let profile = samplers::cpu_profile(&labels, &Filter::everything(), request.cpu.hertz, pid)?;
    let options = Options { csv: request.csv, unit: request.unit, origin_ns: None };
    log.write(pid, |out| cpu::write(out, &profile, &request.cpu.layout, &options).map_err(|e| Error::output(&e)))
}

/// A command line as nvprof shows it: its words with single spaces between them.
pub(super) fn joined<'a>(words: impl IntoIterator<Item = &'a [u8]>) -> String {
    let words = words.into_iter().map(|word| String::from_utf8_lossy(word).into_owned());
    words.collect::<Vec<_>>().join(" ")
}

/// The application's command line.
pub(super) fn command_of(request: &Request) -> String {
    joined(request.command.iter().map(|word| word.as_bytes()))
}
