//! `gpuprof doctor`: can programs be recorded here, and if not, what is to be done.

use crate::doctor::probe::{self, Line};
use crate::doctor::{Request, World, examine};
use crate::error::{Error, Result};
use crate::launch::shim::{Places, locate};
use crate::render::schemas;
use crate::render::terminal_text::TerminalText;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// How the answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Lines for people.
    #[value(alias = "table")]
    Text,
    /// One JSON object for programs.
    Json,
}

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Say whether programs can be recorded here, and if not, what to do: driver, GPUs, every libcupti and whether the driver takes it, other \
tools in the way, permissions and space on the disk. Exit status: 0 if programs can be recorded, 2 if not.";

/// Arguments of `doctor`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  gpuprof doctor\n  gpuprof doctor -- python train.py\n  gpuprof doctor --format json"
)]
pub struct Args {
    /// How the answer is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// The folder that traces are to go to
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// The program that is to be recorded: which Python it is decides which libcupti is right (without one, the
    /// Python in PATH is assumed)
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
    /// Ask the driver, for the parent
    #[arg(long, hide = true)]
    probe_driver: bool,
    /// Try one libcupti, for the parent
    #[arg(long, hide = true, value_name = "PATH")]
    probe_cupti: Option<PathBuf>,
    /// Load the collector, for the parent
    #[arg(long, hide = true, value_name = "PATH")]
    probe_collector: Option<PathBuf>,
}

/// Runs `doctor`.
///
/// # Errors
/// Fails if something prevents recording, if the program that was named does not exist, or if the output cannot be
/// written.
pub fn run(args: Args) -> Result<()> {
    if args.probe_driver {
        probe::say(&Line::Answer(probe::driver()));
        return Ok(());
    }
    if let Some(path) = &args.probe_cupti {
        probe::say(&Line::Answer(probe::cupti(path)));
        return Ok(());
    }
    if let Some(path) = &args.probe_collector {
        probe::say(&Line::Answer(probe::collector(path)));
        return Ok(());
    }
    let request = Request { program: args.program.into_iter().next(), output: args.output, collector: collector() };
    let report = examine(&World::here(), &request).map_err(Error::new)?;
    let terminal =
        if args.format == Format::Text { TerminalText::of_stdout(true) } else { TerminalText::default() };
    let mut out = terminal.lines(BufWriter::new(io::stdout()));
    let write = |out: &mut dyn Write| {
        match args.format {
            Format::Text => report.write(out)?,
            Format::Json => {
                let mut json = json!({ "schema": schemas::DOCTOR });
                if let (Some(json), Value::Object(report)) = (json.as_object_mut(), serde_json::to_value(&report)?)
                {
                    json.extend(report);
                }
                serde_json::to_writer_pretty(&mut *out, &json)?;
                writeln!(out)?;
            }
        }
        if report.can_record && args.format == Format::Text {
            writeln!(out, "{}", report.verdict())?;
        }
        out.flush()
    };
    write(&mut out).map_err(|e| Error::output(&e))?;
    if report.can_record { Ok(()) } else { Err(Error::new(report.verdict())) }
}

/// Where the launcher finds our own library.
fn collector() -> std::result::Result<PathBuf, String> {
    locate(&Places::here()).map_err(|why| why.to_string())
}
