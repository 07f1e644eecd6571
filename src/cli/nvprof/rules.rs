//! Which options do not go together: nvprof's rules, in nvprof's words.

use super::parse::{error, with_help};
use super::request::Request;
use crate::error::Result;
use crate::report::nvprof::logfile;

/// Checks a request, and adds to what is said about it.
///
/// # Errors
/// Fails if options contradict each other, or if no application was named.
pub fn check(request: &mut Request) -> Result<()> {
    if request.help || request.version {
        return Ok(());
    }
    let print = request.print;
    if (print.any_trace() || print.dependency_trace) && print.any_summary() {
        return Err(with_help("Use either the print summary options or the print trace options."));
    }
    if print.dependency_trace && !request.dependencies {
        return Err(with_help("Showing dependency analysis trace requires dependency analysis to be enabled."));
    }
    if request.import.is_some() {
        return imported(request);
    }
    if request.all_processes {
        if !request.command.is_empty() {
            return Err(with_help(
                "nvprof doesn't accept application argument when \"--profile-all-processes\" is specified.",
            ));
        }
        if request.children {
            let text = "When \"--profile-all-processes\" is used, \"--profile-child-processes\" is implicit.";
            request.said.push(text.to_owned());
        }
    } else if request.command.is_empty() {
        return Err(error("no application specified."));
    }
    several_processes(request)?;
    if request.quiet && request.log_file.is_some() {
        request.quiet = false;
        request.said.push("\"--quiet\" is ignored because \"--log-file\" is specified.".to_owned());
    }
    if request.dependencies && !request.kinds.driver && !request.kinds.runtime {
        return Err(with_help("Dependency analysis requires CUDA driver API tracing to be enabled."));
    }
    Ok(())
}

fn imported(request: &Request) -> Result<()> {
    if !request.command.is_empty() || request.all_processes {
        return Err(with_help("Cannot run an application and import a profile at the same time."));
    }
    if request.export.is_some() {
        return Err(with_help("Can't export profile while importing a profile."));
    }
    Ok(())
}

fn several_processes(request: &Request) -> Result<()> {
    if !request.children && !request.all_processes {
        return Ok(());
    }
    let is_shared = |name: &Option<String>| name.as_ref().is_some_and(|name| !logfile::names_the_process(name));
    if is_shared(&request.export) {
        return Err(with_help(
            "You are profiling multiple processes. Add \"%p\" to the output file name\nto make it unique for each \
             process. See the \"--export-profile\" option.",
        ));
    }
    let is_channel = matches!(request.log_file.as_deref(), Some("%1" | "%2"));
    if is_shared(&request.log_file) && !is_channel {
        return Err(with_help(
            "You are profiling multiple processes. Add \"%p\" to the log file name\nto make it unique for each \
             process. See the \"--log-file\" option.",
        ));
    }
    if request.cpu.is_on {
        let mode = if request.all_processes { "profile-all-processes" } else { "profile-child-processes" };
        return Err(with_help(&format!("CPU profiling is not supported in \"{mode}\" mode.")));
    }
    Ok(())
}
