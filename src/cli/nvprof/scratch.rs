//! A folder of our own for what is recorded, until it is printed.

use crate::error::{Error, Result};
use crate::os::disk;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder: nobody else may look into it, and it goes when it is dropped, unless it is to stay.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    stays: bool,
}

impl Scratch {
    /// Makes one in the folder for temporary files.
    ///
    /// # Errors
    /// Fails if the folder for temporary files does not exist, or if nothing can be made in it.
    pub fn make() -> Result<Scratch> {
        let parent = std::env::temp_dir();
        let parent = fs::canonicalize(&parent).unwrap_or(parent);
        let failed = |why: String| {
            Error::at(&parent, format_args!("no folder for the traces can be made in it: {why}"))
                .remedy("set TMPDIR to a folder that can be written to")
        };
        let path = disk::private_folder(&parent, "gpuprof-nvprof-").map_err(|e| failed(e.to_string()))?;
        Ok(Scratch { path, stays: false })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets it stay: what is in it has not been printed.
    pub fn stay(&mut self) {
        self.stays = true;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.stays {
            // Nothing can be done about what cannot be removed.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn it_is_private_and_goes_unless_it_is_to_stay() {
        let mut kept = Scratch::make().unwrap();
        let gone = Scratch::make().unwrap();
        assert_ne!(kept.path(), gone.path());
        assert_eq!(fs::metadata(gone.path()).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(gone.path().join("a"), "").unwrap();
        kept.stay();
        let paths = (kept.path().to_owned(), gone.path().to_owned());
        drop((kept, gone));
        assert!(paths.0.is_dir() && !paths.1.exists());
        fs::remove_dir(paths.0).unwrap();
    }
}
