//! What the ending of an output's name says about the format that is to be written.

use crate::error::{Error, Result};
use crate::export::destination::sources;
use crate::open::inputs;
use std::path::{Path, PathBuf};

/// The format that the ending of `output` stands for, of those `known`, or `default`: where the name has no ending, and
/// where it is no ordinary file, such as `/dev/stdout` or a pipe. `paths` are what is read.
///
/// # Errors
/// Fails if no format has this ending, so that nobody who asks for `x.xlsx` finds a text table in it.
pub fn format<F: Copy>(output: &Path, known: &[(&str, F)], default: F, paths: &[PathBuf]) -> Result<F> {
    let Some(ending) = output.extension().map(|ending| ending.to_string_lossy()) else { return Ok(default) };
    let lower = ending.to_ascii_lowercase();
    if let Some((_, format)) = known.iter().find(|(name, _)| *name == lower) {
        return Ok(*format);
    }
    if output.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Ok(default);
    }
    // If the output is also a trace that is read, the error says so instead: that explains the mistake better.
    let read: Vec<PathBuf> = inputs::expand(paths).unwrap_or_default().into_iter().map(|file| file.path).collect();
    sources::protect(output, output, &read)?;
    let endings: Vec<String> = known.iter().map(|(name, _)| format!(".{name}")).collect();
    Err(Error::at(output, format_args!("no format has the ending .{ending}"))
        .remedy(&format!("give it one of {}, or say --format FORMAT", endings.join(", "))))
}
