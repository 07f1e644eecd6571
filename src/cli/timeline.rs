//! `gpuprof timeline`: what happened when, as a page for a browser.

use super::choosing::Choosing;
use super::newest;
use crate::analysis::labels::Labels;
use crate::demangle::Demangling;
use crate::error::{Error, Result};
use crate::timeline::serve::Server;
use crate::timeline::{Timeline, need};
use crate::trace::frames::Frames;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Arguments of `timeline`.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  gpuprof timeline run.gpuprof\n  gpuprof timeline trace.sqlite -o page.html --from 1.5s --to 2s\n  gpuprof timeline --serve huge.gpuprof"
)]
pub struct Args {
    /// Trace files, folders or globs [default: the newest trace here]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Write the page here; - for the standard output [default: NAME.html, here]
    #[arg(short, long, value_name = "FILE", conflicts_with = "serve")]
    output: Option<PathBuf>,
    /// Show it at a local address instead, piece by piece, until Ctrl+C: for traces that are too large for one page
    #[arg(long)]
    serve: bool,
    /// Port of that address; 0: any that is free
    #[arg(long, value_name = "PORT", default_value_t = 0, requires = "serve")]
    port: u16,
    /// Kernel names: on (correct), nvprof (as nvprof printed them, bugs included) or off (as stored)
    #[arg(long, value_name = "HOW", default_value = "on")]
    demangling: Demangling,
    #[command(flatten)]
    choosing: Choosing,
}

/// Runs `timeline`.
///
/// # Errors
/// Paths that hold no trace, nothing to show, a page that would be too large, an output that cannot be written.
pub fn run(args: &Args) -> Result<()> {
    let paths = if args.paths.is_empty() { vec![newest::trace_here()?] } else { args.paths.clone() };
    // A port that is taken is better known before minutes of reading.
    let server = if args.serve { Some(Server::bind(args.port)?) } else { None };
    let mut frames = Frames::open(&paths, &need())?;
    args.choosing.align(&mut frames, true)?;
    let labels = Labels::new(&frames, args.demangling);
    let filter = args.choosing.filter(args.choosing.selection()?, &labels)?;
    let timeline = Timeline::build(&labels, &filter)?;
    // The timeline has columns of its own; what it was made from may be several times as large.
    drop((filter, labels));
    drop(frames);
    for note in &timeline.notes {
        // A closed stderr must not cost the page.
        let _ = writeln!(io::stderr(), "gpuprof: {note}");
    }
    let say = |text: String| {
        let mut out = io::stdout().lock();
        writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|e| Error::output(&e))
    };
    let records = timeline.model.records();
    if let Some(server) = server {
        say(format!("{records} records at {} until Ctrl+C", server.url()))?;
        return server.run(&timeline);
    }
    let page = timeline.page()?;
    let output = args.output.clone().unwrap_or_else(|| default_output(&paths[0]));
    if output == Path::new("-") {
        let mut out = io::stdout().lock();
        return out.write_all(page.as_bytes()).and_then(|()| out.flush()).map_err(|e| Error::output(&e));
    }
    write_whole(&output, page.as_bytes())?;
    say(format!("{}: {records} records, {} bytes; open it in a browser", output.display(), page.len()))
}

/// The name of the trace, here.
fn default_output(path: &Path) -> PathBuf {
    let mut name = path.file_name().map_or_else(|| "timeline".into(), std::ffi::OsStr::to_os_string);
    name.push(".html");
    PathBuf::from(name)
}

/// Writes to a temporary name and renames: whoever interrupts it finds no half page.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    if path.is_dir() {
        return Err(Error::at(path, "is a folder").remedy("name a file in it"));
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}.part", std::process::id()));
    let temporary = PathBuf::from(temporary);
    let written = std::fs::File::create(&temporary).and_then(|mut file| file.write_all(bytes));
    let renamed = written.and_then(|()| std::fs::rename(&temporary, path));
    renamed.map_err(|e| {
        let _ = std::fs::remove_file(&temporary);
        Error::at(path, format_args!("cannot be written: {e}"))
    })
}
