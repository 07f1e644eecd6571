//! `gpuprof preload-path`: where the collector is, for `LD_PRELOAD` and `CUDA_INJECTION64_PATH`.

use crate::error::{Error, Result};
use crate::launch::shim::{Places, locate_preload};
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;

/// Arguments of `preload-path`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  LD_PRELOAD=$(gpuprof preload-path) python train.py
  CUDA_INJECTION64_PATH=$(gpuprof preload-path) mpirun -n 4 ./simulation")]
pub struct Args {}

/// Prints the path, one line.
///
/// # Errors
/// Fails if there is no collector, or no folder for it.
pub fn run(_: &Args) -> Result<()> {
    let path = locate_preload(&Places::here())?;
    let mut out = std::io::stdout();
    let line = [path.as_os_str().as_bytes(), b"\n"].concat();
    out.write_all(&line).and_then(|()| out.flush()).map_err(|e| Error::output(&e))
}
