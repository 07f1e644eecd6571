//! Where an export goes: whole or not at all, and never over what somebody else wrote.
//!
//! A file or folder is written under a temporary name beside the wanted one and renamed when it is complete. Whatever
//! ends the export early, Ctrl+C included, takes the temporary file with it. What has no name to give, a device, a
//! named pipe or a stream that is open already, is written into and never replaced ([`target`]). Traces that are read
//! are never written over ([`sources`]), and of folders only those are replaced that hold nothing but what gpuprof
//! wrote ([`replace`]).

pub mod replace;
pub mod sources;
pub mod target;
mod temporary;

use self::target::{Node, Target};
use self::temporary::Temporary;
use super::Shape;
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 1 << 18;

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
    /// Fails if the exporter has another [`Shape`].
    pub fn stream(&mut self) -> Result<&mut (dyn Write + Send)> {
        match self {
            Destination::Stream(out) => Ok(&mut **out),
            Destination::File(path) | Destination::Folder(path) => Err(Error::at(path, "is not a stream")),
        }
    }

    /// The file or folder to write to.
    ///
    /// # Errors
    /// Fails if the exporter has another [`Shape`].
    pub fn path(&self) -> Result<&Path> {
        match self {
            Destination::File(path) | Destination::Folder(path) => Ok(path),
            Destination::Stream(_) => Err(Error::new("this format cannot be written to a stream")),
        }
    }
}

/// What may be lost to make room for an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Replace {
    /// Nothing: the user did not say this name.
    Nothing,
    /// A file of that name.
    Files,
    /// A file of that name even if it is write-protected, and a folder that gpuprof wrote.
    Everything,
}

/// What is to be written, and where.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The name that the user gave; `-` is the standard output.
    pub path: &'a Path,
    /// How the format lies on disk.
    pub shape: Shape,
    /// Whether the format is for programs alone, so that a terminal is no place for it.
    pub binary: bool,
    /// What may be lost.
    pub replace: Replace,
    /// The files that are read: none of them is written over.
    pub sources: &'a [PathBuf],
}

/// How much was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Bytes of all files.
    pub bytes: u64,
    /// How many files there are in the folder; `None` if it is not a folder.
    pub files: Option<usize>,
}

/// An output that appears under its name when it is complete.
pub struct Pending(End);

/// What remains to be done at the end.
enum End {
    /// Nothing: what is written goes to its place at once.
    Direct(Arc<AtomicU64>),
    /// The complete file is copied into this.
    Copied(Temporary, Box<dyn Write + Send>),
    /// The complete file or folder gets this name.
    Renamed { temporary: Temporary, wanted: PathBuf, replace: Replace },
}

impl Pending {
    /// Opens a destination.
    ///
    /// # Errors
    /// Fails if the folder cannot be written to, if something is in the way and would be lost, if a trace that is read
    /// would be lost, if the format cannot go through a pipe, or if the output is a terminal and the format is not
    /// text.
    pub fn open(request: &Request) -> Result<(Pending, Destination)> {
        let path = request.path;
        let wanted = match target::of(path)? {
            Target::Node(node) => return into_node(request, node),
            Target::Ordinary(wanted) => wanted,
        };
        sources::protect(path, &wanted, request.sources)?;
        let failed = |e: io::Error| Error::at(path, format_args!("cannot be created: {e}"));
        match request.shape {
            Shape::Stream | Shape::File => {
                replace::check_file(path, &wanted, request.replace)?;
                let (temporary, file) = Temporary::file_beside(&wanted).map_err(failed)?;
                let destination = match request.shape {
                    Shape::Stream => Destination::Stream(Box::new(BufWriter::with_capacity(BUFFER_BYTES, file))),
                    _ => Destination::File(temporary.path().to_owned()),
                };
                Ok((Pending(End::Renamed { temporary, wanted, replace: request.replace }), destination))
            }
            Shape::Folder | Shape::FilePerProcess => {
                replace::check_folder(path, &wanted, request.replace)?;
                let temporary = Temporary::folder_beside(&wanted).map_err(failed)?;
                let destination = Destination::Folder(temporary.path().to_owned());
                Ok((Pending(End::Renamed { temporary, wanted, replace: request.replace }), destination))
            }
        }
    }

    /// Gives the complete output its name.
    ///
    /// # Errors
    /// Fails if what was buffered cannot be written, or if the name cannot be taken.
    pub fn finish(self, mut destination: Destination) -> Result<Size> {
        if let Destination::Stream(out) = &mut destination {
            out.flush().map_err(|e| Error::output(&e))?;
        }
        drop(destination);
        match self.0 {
            End::Direct(bytes) => Ok(Size { bytes: bytes.load(Ordering::Relaxed), files: None }),
            End::Copied(temporary, mut into) => {
                let file = File::open(temporary.path());
                let mut file =
                    file.map_err(|e| Error::at(temporary.path(), format_args!("cannot be read: {e}")))?;
                let bytes = io::copy(&mut file, &mut into).and_then(|bytes| into.flush().map(|()| bytes));
                Ok(Size { bytes: bytes.map_err(|e| Error::output(&e))?, files: None })
            }
            End::Renamed { temporary, wanted, replace } => take_name(temporary, &wanted, replace),
        }
    }
}

/// Writes into what has no name to give.
fn into_node(request: &Request, node: Node) -> Result<(Pending, Destination)> {
    let Node { writer, metadata, is_terminal, name } = node;
    if matches!(request.shape, Shape::Folder | Shape::FilePerProcess) {
        return Err(Error::new(format!("{name}: this format is a folder of files, which cannot go there"))
            .remedy("name a folder with -o"));
    }
    if request.binary && is_terminal {
        return Err(Error::new(format!("{name}: this format is not text, and a terminal cannot show it"))
            .remedy("name a file with -o, or send it into a pipe"));
    }
    if let Some(metadata) = metadata {
        sources::protect_node(&name, &metadata, request.sources)?;
    }
    if request.shape == Shape::Stream {
        let bytes = Arc::new(AtomicU64::new(0));
        let counted = Counted { writer: BufWriter::with_capacity(BUFFER_BYTES, writer), bytes: bytes.clone() };
        return Ok((Pending(End::Direct(bytes)), Destination::Stream(Box::new(counted))));
    }
    // Written at several places, which no pipe allows: made as a file somewhere else first.
    let (temporary, _) = Temporary::file_elsewhere()
        .map_err(|e| Error::at(&std::env::temp_dir(), format_args!("no temporary file can be created: {e}")))?;
    let destination = Destination::File(temporary.path().to_owned());
    Ok((Pending(End::Copied(temporary, writer)), destination))
}

/// Renames what is complete.
fn take_name(temporary: Temporary, wanted: &Path, replace: Replace) -> Result<Size> {
    let unnamed = |e: io::Error| Error::at(wanted, format_args!("cannot be given its name: {e}"));
    if temporary.path().is_dir() {
        let size = replace::list_files(temporary.path())?;
        replace::take_folder(temporary, wanted, replace)?;
        return Ok(size);
    }
    let bytes = fs::metadata(temporary.path()).map_err(unnamed)?.len();
    if let Ok(old) = fs::metadata(wanted) {
        // Whoever kept others from reading the old file means the new one too. Not every file system knows modes.
        let _ = fs::set_permissions(temporary.path(), old.permissions());
    }
    temporary.rename(wanted).map_err(unnamed)?;
    Ok(Size { bytes, files: None })
}

/// Counts the bytes that are written.
struct Counted<W> {
    writer: W,
    bytes: Arc<AtomicU64>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.writer.write(bytes)?;
        self.bytes.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
