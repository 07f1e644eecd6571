//! What nvprof says besides tables. Lines about one process start with its pid, others with eight `=`.

use std::{fmt, io};

/// What nvprof's own lines start with: `==531== ` for one process, eight `=` where none is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prefix(pub Option<u32>);

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(pid) => write!(f, "=={pid}== "),
            None => f.write_str("======== "),
        }
    }
}

/// Stands for the GPU rows when there are none, and for OpenACC rows in a trace.
pub const NO_KERNELS: &str = "No kernels were profiled.";
/// Stands for the API rows when there are none.
pub const NO_API: &str = "No API activities were profiled.";
/// Stands for the OpenACC rows of a summary when there are none.
pub const NO_OPENACC: &str = "No OpenACC activities were profiled.";
/// Stands for the GPU rows of an NVTX range.
pub const NO_KERNELS_IN_RANGE: &str = "No kernels were profiled in this range.";
/// Stands for the API rows of an NVTX range.
pub const NO_API_IN_RANGE: &str = "No API activities were profiled in this range.";

/// Stands for the OpenACC rows of an NVTX range.
pub const NO_OPENACC_IN_RANGE: &str = "No OpenACC activities were profiled in this range.";

/// One thing to say, in the order in which a run says them. Displayed without prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// When the program starts; pid, and its arguments joined by single spaces.
    IsProfiling(u32, &'a str),
    /// When the program has ended; its arguments as above.
    Application(&'a str),
    /// Above the tables: so many activities have impossible times and are in no table.
    InvalidTimestamps(u64),
    /// Above the tables of NVTX ranges: so many were never closed.
    InvalidRanges(u64),
    /// Above every table; with a stored file it is the first line.
    Result,
    /// Instead of all tables.
    NoData,
    /// Below the tables: the program ended before all was written.
    NotFlushed,
    /// Last with `-o`: the file written, as absolute path.
    GeneratedFile(&'a str),
    /// Last: the signal that ended the program.
    Signal(i32),
    /// Last: the program's exit code.
    ExitCode(i32),
    /// Summaries and traces asked for at once; nvprof prints either.
    SummaryAndTrace,
    /// Above the samples of clocks, power and temperature.
    SystemResult,
    /// Above the critical path.
    DependencyAnalysis,
    /// Instead of everything: no process used CUDA.
    NoCuda,
    /// Other processes used CUDA, and were not to be profiled.
    ChildrenLeftOut,
    /// The application has run for as long as it was to.
    Timeout,
    /// Processes started elsewhere are profiled; the user's name.
    AllProcesses(&'a str),
    /// How that is ended.
    CtrlC,
    /// Anything else that is wrong.
    Error(&'a str),
    /// Anything else that has to be known.
    Warning(&'a str),
}

impl Message<'_> {
    /// Writes the message, its lines prefixed as nvprof prefixes them.
    pub fn write(&self, out: &mut dyn io::Write, prefix: Prefix) -> io::Result<()> {
        // These are about the whole session, whoever asks.
        let prefix = match self {
            Message::NoData
            | Message::Signal(_)
            | Message::ExitCode(_)
            | Message::SummaryAndTrace
            | Message::NoCuda
            | Message::AllProcesses(_)
            | Message::CtrlC => Prefix(None),
            _ => prefix,
        };
        writeln!(out, "{prefix}{self}")?;
        match self {
            Message::SummaryAndTrace => writeln!(out, "{prefix}Use \"nvprof --help\" to get more information."),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Message::IsProfiling(pid, command) => {
                write!(f, "NVPROF is profiling process {pid}, command: {command}")
            }
            Message::Application(command) => write!(f, "Profiling application: {command}"),
            Message::InvalidTimestamps(n) => write!(
                f,
                "Warning: {n} records have invalid timestamps due to insufficient device buffer space. You can \
                 configure the buffer space using the option --device-buffer-size."
            ),
            Message::InvalidRanges(n) => write!(f, "Warning: Found {n} invalid range marker(s)"),
            Message::Result => f.write_str("Profiling result:"),
            Message::NoData => f.write_str("Warning: No profile data collected."),
            Message::NotFlushed => f.write_str(
                "Warning: Some profiling data are not recorded. Make sure cudaProfilerStop() or cuProfilerStop() \
                 is called before application exit to flush profile data.",
            ),
            Message::GeneratedFile(path) => write!(f, "Generated result file: {path}"),
            Message::Signal(signal) => write!(f, "Error: Application received signal {signal}"),
            Message::ExitCode(code) => write!(f, "Error: Application returned non-zero code {code}"),
            Message::SummaryAndTrace => {
                f.write_str("Error: Use either the print summary options or the print trace options.")
            }
            Message::SystemResult => f.write_str("System profiling result:"),
            Message::DependencyAnalysis => f.write_str("Dependency Analysis:"),
            Message::NoCuda => f.write_str("Warning: No CUDA application was profiled, exiting"),
            Message::ChildrenLeftOut => f.write_str(
                "Warning: Child processes are not profiled. Use option --profile-child-processes to profile them.",
            ),
            Message::Timeout => f.write_str("Execution timeout, stopping the application..."),
            Message::AllProcesses(user) => write!(f, "Profiling all processes launched by user \"{user}\""),
            Message::CtrlC => f.write_str("Type \"Ctrl-c\" to exit"),
            Message::Error(text) => write!(f, "Error: {text}"),
            Message::Warning(text) => write!(f, "Warning: {text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: Message, prefix: Prefix) -> String {
        let mut out = Vec::new();
        message.write(&mut out, prefix).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_about_a_process_name_it() {
        let one = Prefix(Some(531));
        for (message, expected) in [
            (
                Message::IsProfiling(531, "./app arg1"),
                "==531== NVPROF is profiling process 531, command: ./app arg1\n",
            ),
            (Message::Application("./app arg1"), "==531== Profiling application: ./app arg1\n"),
            (Message::Result, "==531== Profiling result:\n"),
            (Message::GeneratedFile("/tmp/a.nvvp"), "==531== Generated result file: /tmp/a.nvvp\n"),
            (
                Message::InvalidTimestamps(2),
                "==531== Warning: 2 records have invalid timestamps due to insufficient device buffer space. You can \
                 configure the buffer space using the option --device-buffer-size.\n",
            ),
            (
                Message::NotFlushed,
                "==531== Warning: Some profiling data are not recorded. Make sure cudaProfilerStop() or \
                 cuProfilerStop() is called before application exit to flush profile data.\n",
            ),
        ] {
            assert_eq!(said(message, one), expected);
        }
        assert_eq!(said(Message::Result, Prefix(None)), "======== Profiling result:\n");
    }

    #[test]
    fn lines_about_the_session_never_name_a_process() {
        for (message, expected) in [
            (Message::NoData, "======== Warning: No profile data collected.\n"),
            (Message::Signal(139), "======== Error: Application received signal 139\n"),
            (Message::ExitCode(-20), "======== Error: Application returned non-zero code -20\n"),
            (Message::NoCuda, "======== Warning: No CUDA application was profiled, exiting\n"),
            (Message::AllProcesses("ada"), "======== Profiling all processes launched by user \"ada\"\n"),
            (Message::CtrlC, "======== Type \"Ctrl-c\" to exit\n"),
            (
                Message::SummaryAndTrace,
                "======== Error: Use either the print summary options or the print trace options.\n\
                 ======== Use \"nvprof --help\" to get more information.\n",
            ),
        ] {
            assert_eq!(said(message, Prefix(Some(7))), expected);
        }
    }
}
