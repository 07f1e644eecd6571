//! NVIDIA's management library: found when it is needed, and lived without where it is not.

use crate::launch::companion::Recorder;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use std::ffi::{OsStr, OsString};

/// Where the driver's library is; the last is Windows' subsystem for Linux.
const PLACES: [&str; 3] = ["libnvidia-ml.so.1", "libnvidia-ml.so", "/usr/lib/wsl/lib/libnvidia-ml.so.1"];

/// The open library.
pub(super) struct Library {
    nvml: Nvml,
    /// What it was found as.
    pub name: OsString,
    devices: u32,
}

impl Library {
    /// Opens the library at `path`, or the driver's; `None`: there is none, or no GPU, which is remarked once.
    pub(super) fn open(path: Option<&OsStr>, into: &Recorder) -> Option<Library> {
        let opened = match path {
            Some(path) => load(path).map_err(|error| (OsString::from(path), error)),
            None => first_of_places(),
        };
        let missing = |library: &OsStr, why: &dyn std::fmt::Display| {
            into.remark(&format!("no samples of GPUs: {}: {why}", library.display()));
        };
        match opened {
            Ok((nvml, library)) => match nvml.device_count() {
                Ok(0) => {
                    missing(&library, &"it knows no GPU");
                    None
                }
                Ok(devices) => Some(Library { nvml, name: library, devices }),
                Err(error) => {
                    missing(&library, &error);
                    None
                }
            },
            Err((library, error)) => {
                missing(&library, &said(&error));
                None
            }
        }
    }

    /// Calls `each` with the number of every device and what one asks it by. Numbers are those of the library: all GPUs
    /// of the machine in the order of their places on the bus. CUDA may number them otherwise; which is the same GPU is
    /// told by its UUID.
    pub(super) fn each(&self, mut each: impl FnMut(u32, Result<Device, NvmlError>)) {
        (0..self.devices).for_each(|index| each(index, self.nvml.device_by_index(index)));
    }
}

type Opened = Result<(Nvml, OsString), (OsString, NvmlError)>;

fn first_of_places() -> Opened {
    let mut first = None;
    for place in PLACES {
        match load(OsStr::new(place)) {
            Ok(opened) => return Ok(opened),
            // The first place is the usual one; that a library was there and refused says more than its absence.
            Err(error) => {
                let is_absent = matches!(error, NvmlError::LibloadingError(_));
                if first.is_none() || !is_absent {
                    first = Some((OsString::from(place), error));
                }
                if !is_absent {
                    break;
                }
            }
        }
    }
    Err(first.unwrap_or((OsString::new(), NvmlError::LibraryNotFound)))
}

fn load(path: &OsStr) -> Result<(Nvml, OsString), NvmlError> {
    Nvml::builder().lib_path(path).init().map(|nvml| (nvml, path.to_owned()))
}

/// The error in one line.
fn said(error: &NvmlError) -> String {
    match error {
        // The loader's own words name the file again, and every folder that was searched on some systems.
        NvmlError::LibloadingError(_) => "cannot be loaded (no NVIDIA driver here?)".to_owned(),
        other => other.to_string().lines().next().unwrap_or_default().to_owned(),
    }
}

/// Whether asking again is of no use.
pub(super) fn is_final(error: &NvmlError) -> bool {
    matches!(
        error,
        NvmlError::NotSupported
            | NvmlError::FailedToLoadSymbol(_)
            | NvmlError::FunctionNotFound
            | NvmlError::NoPermission
            | NvmlError::InvalidArg
            | NvmlError::OperatingSystem
    )
}

/// Whether the device will tell nothing any more.
pub(super) fn is_lost(error: &NvmlError) -> bool {
    matches!(error, NvmlError::GpuLost | NvmlError::ResetRequired | NvmlError::Uninitialized)
}
