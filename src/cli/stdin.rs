//! A trace on the standard input. Readers look at several places of a file at once, so it is kept in one while they do.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::{self, IsTerminal as _};
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// The name that stands for the standard input.
const STDIN: &str = "-";

/// The traces of a command. What came from the standard input is removed when they go.
#[derive(Debug, Default)]
pub struct Paths {
    list: Vec<PathBuf>,
    spool: Option<Spool>,
}

impl Paths {
    /// `named`, with the standard input read where it is named.
    ///
    /// # Errors
    /// Fails if the standard input is a terminal, is named twice, is empty, or cannot be kept.
    pub fn new(named: &[PathBuf]) -> Result<Paths> {
        let mut paths = Paths::default();
        for path in named {
            if path != Path::new(STDIN) {
                paths.list.push(path.clone());
                continue;
            }
            if paths.spool.is_some() {
                return Err(Error::new("-: the standard input can be read once only").remedy("name it once"));
            }
            let spool = Spool::fill()?;
            paths.list.push(spool.file());
            paths.spool = Some(spool);
        }
        Ok(paths)
    }
}

impl Deref for Paths {
    type Target = Vec<PathBuf>;

    fn deref(&self) -> &Vec<PathBuf> {
        &self.list
    }
}

/// A folder of its own with one file in it, called `stdin`: outputs that are named after the trace have a decent name.
#[derive(Debug)]
struct Spool(PathBuf);

impl Spool {
    fn fill() -> Result<Spool> {
        if io::stdin().is_terminal() {
            return Err(Error::new("-: the standard input is a terminal")
                .remedy("pipe a trace into it, e.g. `zstd -dc run.sqlite.zst | gpuprof report -`"));
        }
        let folder = std::env::temp_dir().join(format!("gpuprof-stdin-{}", std::process::id()));
        let failed =
            |e: io::Error| Error::at(&folder, format_args!("the standard input cannot be kept there: {e}"));
        std::fs::create_dir(&folder).map_err(failed)?;
        let spool = Spool(folder.clone());
        let mut file = File::create_new(spool.file()).map_err(failed)?;
        match io::copy(&mut io::stdin().lock(), &mut file).map_err(failed)? {
            0 => Err(Error::new("-: nothing came from the standard input")),
            _ => Ok(spool),
        }
    }

    fn file(&self) -> PathBuf {
        self.0.join("stdin")
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
