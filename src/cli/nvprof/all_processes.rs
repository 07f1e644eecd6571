//! `--profile-all-processes`: processes that are started elsewhere.
//!
//! nvprof was told of them by the driver. Here they take part if they are started with the variables that are printed,
//! through which the collector gets into them, and write into a folder that is watched until Ctrl+C.

use super::collecting;
use super::live::{self, joined};
use super::log::Log;
use super::request::Request;
use super::scratch::Scratch;
use super::watch::Watch;
use crate::error::{Error, Result};
use crate::launch::environment::{CUDA_INJECTION, NVTX_INJECTION};
use crate::launch::shim::{Places, locate};
use crate::launch::supervise::Ended;
use crate::report::nvprof::messages::Message;
use crate::shell::quoted;
use shim_config::seen::{self, SeenLine};
use shim_config::template;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often ended processes are looked for.
const INTERVAL: Duration = Duration::from_millis(50);

/// Waits for processes and prints them, until it is ended.
///
/// # Errors
/// Fails if there is no collector, if there is no place for the traces, or if what was recorded cannot be printed.
pub fn run(request: &Request) -> Result<Ended> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|e| Error::new(format!("signals cannot be waited for: {e}")))?;
    }
    let log = Arc::new(Log::open(request)?);
    let mut scratch = Scratch::make()?;
    let list = scratch.path().join(seen::FILE_NAME);
    fs::write(&list, "").map_err(|e| Error::at(&list, format_args!("cannot be made: {e}")))?;
    for line in &request.said {
        log.warn(None, line)?;
    }
    let user = std::env::var("USER").unwrap_or_else(|_| "the current user".to_owned());
    log.say(None, &Message::AllProcesses(&user))?;
    log.warn(None, "Processes take part that are started with these variables:")?;
    for (name, value) in variables(request, scratch.path(), &list)? {
        log.write(None, |out| writeln!(out, "export {name}={}", quoted(&[value])).map_err(|e| Error::output(&e)))?;
    }
    log.say(None, &Message::CtrlC)?;
    let watch = Watch::begin(request, Arc::clone(&log), list.clone(), None);
    let mut printed = BTreeSet::new();
    let outcome = loop {
        let is_last = stop.load(Ordering::Acquire);
        let done = ended(&list, &printed, is_last);
        if let Err(error) = done.iter().try_for_each(|line| show(request, &log, line, &mut printed)) {
            break Err(error);
        }
        if is_last {
            break Ok(());
        }
        std::thread::sleep(INTERVAL);
    };
    watch.end();
    match outcome {
        Ok(()) if printed.is_empty() => log.say(None, &Message::NoData).map(|()| Ended::Exited(0)),
        Ok(()) => Ok(Ended::Exited(0)),
        Err(error) => {
            scratch.stay();
            let place = scratch.path().display();
            log.fail(None, &Message::Error(&error.to_string()))?;
            Err(Error::verbatim(format!("======== Error: what was recorded is in {place}")))
        }
    }
}

/// The variables that bring the collector into a process.
fn variables(request: &Request, folder: &Path, list: &Path) -> Result<Vec<(&'static str, OsString)>> {
    let shim = locate(&Places::here())?;
    let mut output = template::escape(folder.as_os_str().as_bytes());
    output.push(b'/');
    output.extend(template::DEFAULT.as_bytes());
    let mut variables = vec![
        (CUDA_INJECTION, shim.clone().into_os_string()),
        (NVTX_INJECTION, shim.into_os_string()),
        ("GPUPROF_OUTPUT", OsString::from_vec(output)),
        ("GPUPROF_SEEN", list.as_os_str().to_owned()),
    ];
    variables.extend(collecting::variables(request, None));
    Ok(variables)
}

/// Processes that have ended, or all of them at the end, that used CUDA and were not printed.
fn ended(list: &Path, printed: &BTreeSet<(u32, i64)>, is_last: bool) -> Vec<SeenLine> {
    let (mut processes, _) = seen::processes(&fs::read(list).unwrap_or_default());
    processes.retain(|line| line.cuda && !printed.contains(&(line.pid, line.start_unix_ns)));
    // A number that was given away again stands for a process that runs: it is printed at the end.
    processes.retain(|line| is_last || !Path::new("/proc").join(line.pid.to_string()).exists());
    processes
}

fn show(request: &Request, log: &Log, line: &SeenLine, printed: &mut BTreeSet<(u32, i64)>) -> Result<()> {
    let command = joined(line.argv.iter().map(Vec::as_slice));
    live::process(request, log, line, &command, &[], None)?;
    printed.insert((line.pid, line.start_unix_ns));
    Ok(())
}
