//! Why there is no trace file, with the remedy.

use std::path::PathBuf;
use std::{fmt, io};

/// The descriptor of the trace is closed, or another file's.
#[derive(Debug)]
pub struct DescriptorTaken;

impl fmt::Display for DescriptorTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program closed the collector's descriptor")
    }
}

impl std::error::Error for DescriptorTaken {}

/// Why no file could be created.
#[derive(Debug)]
pub struct CreateError {
    /// Where it was to be.
    pub path: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

impl CreateError {
    fn remedy(&self) -> &'static str {
        match self.source.raw_os_error() {
            Some(libc::EROFS | libc::EACCES | libc::EPERM) => {
                "choose a folder that can be written with GPUPROF_OUTPUT or -o"
            }
            Some(libc::ENAMETOOLONG) => "choose a shorter name with GPUPROF_OUTPUT or -o",
            Some(libc::EMFILE | libc::ENFILE) => "allow more open files (ulimit -n)",
            Some(libc::ENOSPC | libc::EDQUOT) => "free some space or choose another disk with GPUPROF_OUTPUT or -o",
            Some(libc::EFBIG) => "allow larger files (ulimit -f)",
            Some(libc::ENOTDIR | libc::ELOOP | libc::EISDIR) => "check the folders in GPUPROF_OUTPUT or -o",
            _ => "choose another place with GPUPROF_OUTPUT or -o",
        }
    }
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A path beyond the system's limit would drown the reason.
        let path = self.path.to_string_lossy();
        let shown: String = path.chars().take(300).collect();
        let dots = if shown.len() < path.len() { "..." } else { "" };
        write!(f, "cannot create {shown}{dots}: {}; {}", self.source, self.remedy())
    }
}

impl std::error::Error for CreateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
