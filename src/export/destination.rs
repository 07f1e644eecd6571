//! Where an export goes: whole or not at all.
//!
//! Everything is written under a temporary name beside the wanted one and renamed when it is complete. Whatever ends
//! the export early, Ctrl+C included, takes the temporary file with it.

use super::Shape;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Where an exporter writes, according to its [`Shape`].
pub enum Destination {
    /// A stream of bytes.
    Stream(Box<dyn Write + Send>),
    /// The path of a file to be created.
    File(PathBuf),
    /// An empty folder.
    Folder(PathBuf),
}

impl Destination {
    /// The stream to write to.
    ///
    /// # Errors
    /// The exporter's [`Shape`] is another one.
    pub fn stream(&mut self) -> Result<&mut (dyn Write + Send)> {
        match self {
            Destination::Stream(out) => Ok(&mut **out),
            Destination::File(path) | Destination::Folder(path) => Err(Error::at(path, "is no stream")),
        }
    }

    /// The file or folder to write to.
    ///
    /// # Errors
    /// The exporter's [`Shape`] is another one.
    pub fn path(&self) -> Result<&Path> {
        match self {
            Destination::File(path) | Destination::Folder(path) => Ok(path),
            Destination::Stream(_) => Err(Error::new("this format cannot be written to a stream")),
        }
    }
}

/// Temporary files and folders of this process, for the signal handler's thread.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(|e| e.into_inner())
}

fn remove(path: &Path) {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    // Already gone, or not ours to remove any more: there is nobody left to tell.
    drop(removed);
}

/// The signals that this process ignores, as bits from signal 1 on; none where the system does not tell.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Lets SIGINT, SIGTERM and SIGHUP end the process as ever, but not before its temporary files are gone.
fn remove_at_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    static WATCHING: Mutex<bool> = Mutex::new(false);
    let mut watching = WATCHING.lock().unwrap_or_else(|e| e.into_inner());
    if std::mem::replace(&mut *watching, true) {
        return Ok(());
    }
    // Whoever ignores one of them, `nohup` say, goes on doing so.
    let ignored = ignored_signals();
    let listened = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals = Signals::new(listened)?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            unfinished().drain(..).for_each(|path| remove(&path));
            // The same end as if nobody had listened.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// An output that appears under its name when it is complete.
pub struct Pending {
    wanted: Option<PathBuf>,
    temporary: PathBuf,
}

impl Pending {
    /// Opens a destination of this shape for `path`; `-` is the standard output.
    ///
    /// # Errors
    /// A folder that cannot be written to; something that is in the way and would be lost, unless `force`; a format
    /// that no pipe can carry.
    pub fn open(path: &Path, shape: Shape, force: bool) -> Result<(Pending, Destination)> {
        if path == Path::new("-") {
            if shape != Shape::Stream {
                return Err(Error::new("this format is no stream of bytes, and cannot go to the standard output")
                    .remedy("name a file with -o"));
            }
            let pending = Pending { wanted: None, temporary: PathBuf::new() };
            return Ok((pending, Destination::Stream(Box::new(BufWriter::with_capacity(1 << 18, io::stdout())))));
        }
        if path.is_dir() && shape != Shape::Folder {
            return Err(Error::at(path, "is a folder, and this format is one file").remedy("name a file with -o"));
        }
        let special = path.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir());
        if special && shape == Shape::Stream {
            // A device or a named pipe is written to as it is: there is nothing to rename.
            let file = File::create(path).map_err(|e| Error::at(path, format_args!("cannot be written: {e}")))?;
            let pending = Pending { wanted: None, temporary: PathBuf::new() };
            return Ok((pending, Destination::Stream(Box::new(BufWriter::with_capacity(1 << 18, file)))));
        }
        let in_the_way = match shape {
            Shape::Folder => path.read_dir().map_or(path.exists(), |mut entries| entries.next().is_some()),
            _ => false,
        };
        if in_the_way && !force {
            return Err(Error::at(path, "exists and is not an empty folder").remedy("name another, or add --force"));
        }
        let name = path.file_name().ok_or_else(|| Error::at(path, "is not the name of a file"))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.part", std::process::id()));
        let temporary = path.with_file_name(hidden);
        remove_at_signals().map_err(|e| Error::new(format!("signals cannot be waited for: {e}")))?;
        unfinished().push(temporary.clone());
        let pending = Pending { wanted: Some(path.to_owned()), temporary: temporary.clone() };
        let failed = |e: io::Error| Error::at(path, format_args!("cannot be created: {e}"));
        let destination = match shape {
            Shape::Stream => {
                let file = File::create(&temporary).map_err(failed)?;
                Destination::Stream(Box::new(BufWriter::with_capacity(1 << 18, file)))
            }
            Shape::File => {
                // Created now, so that a folder that cannot be written to is found before everything is read.
                File::create(&temporary).map_err(failed)?;
                Destination::File(temporary)
            }
            Shape::Folder | Shape::FilePerProcess => {
                fs::create_dir(&temporary).map_err(failed)?;
                Destination::Folder(temporary)
            }
        };
        Ok((pending, destination))
    }

    /// Gives the complete output its name.
    ///
    /// # Errors
    /// What was buffered cannot be written, or the name cannot be taken.
    pub fn finish(mut self, mut destination: Destination) -> Result<()> {
        if let Destination::Stream(out) = &mut destination {
            out.flush().map_err(|e| Error::output(&e))?;
        }
        drop(destination);
        let Some(wanted) = self.wanted.take() else { return Ok(()) };
        if self.temporary.is_dir() && wanted.is_dir() {
            remove(&wanted);
        }
        fs::rename(&self.temporary, &wanted)
            .map_err(|e| Error::at(&wanted, format_args!("cannot be given its name: {e}")))?;
        unfinished().retain(|path| *path != self.temporary);
        self.temporary = PathBuf::new();
        Ok(())
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            remove(&self.temporary);
            unfinished().retain(|path| *path != self.temporary);
        }
    }
}
