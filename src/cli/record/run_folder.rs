//! Where a run's traces go.

use crate::error::{Error, Result};
use crate::launch::folder::{create_file, create_new, create_or_join, plain_name};
use shim_config::seen;
use shim_config::template::{self, TemplateFacts};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// The folder of a run, and what its processes are told.
#[derive(Debug)]
pub struct RunFolder {
    /// Name of each process's trace: `GPUPROF_OUTPUT`.
    pub template: OsString,
    /// Where processes list themselves: `GPUPROF_SEEN`.
    pub seen: PathBuf,
    /// The run's folder, as a person would write it; `None`: each trace has a name of its own.
    pub folder: Option<PathBuf>,
    /// Whether all that is in the folder is of this run.
    pub is_new: bool,
}

impl RunFolder {
    /// Makes the place that `-o` or `GPUPROF_OUTPUT` asks for, or a new folder here named after the command.
    ///
    /// # Errors
    /// Fails if the template would fail in every process, or if nothing can be made at the place.
    pub fn make(wanted: Option<&OsStr>, command: &OsStr) -> Result<RunFolder> {
        let here = std::env::current_dir().map_err(|e| {
            Error::new(format!("the current folder cannot be told: {e}")).remedy("choose a place with -o /path")
        })?;
        let Some(wanted) = wanted else {
            let folder = create_new(Path::new(&format!("gpuprof-{}-{}", plain_name(command), local_time())))?;
            return RunFolder::in_folder(&here, folder, true);
        };
        let lookup = |name: &[u8]| std::env::var_os(OsStr::from_bytes(name)).map(OsString::into_vec);
        template::check(wanted.as_bytes(), &lookup)
            .map_err(|e| Error::new(format!("-o {}: {e}", wanted.display())))?;
        if is_file_name(wanted) {
            return RunFolder::one_file(&here, wanted);
        }
        let name = plain_name(command);
        let facts = TemplateFacts {
            pid: std::process::id(),
            host: &host(),
            start_unix_s: unix_s(),
            name: name.as_bytes(),
            lookup: &lookup,
        };
        // Without its slashes at the end: a template that ends in one would name a file in it.
        let bytes = wanted.as_bytes();
        let end = bytes.iter().rposition(|b| *b != b'/').map_or(1, |last| last + 1);
        let path =
            template::expand(&bytes[..end.min(bytes.len())], &facts).map_err(|e| Error::new(e.to_string()))?;
        let folder = PathBuf::from(OsString::from_vec(path));
        let is_new = create_or_join(&folder)?;
        RunFolder::in_folder(&here, folder, is_new)
    }

    fn in_folder(here: &Path, folder: PathBuf, is_new: bool) -> Result<RunFolder> {
        // Several launchers may share the folder; each has a list of its own.
        let seen = here.join(create_file(&folder, seen::FILE_NAME)?);
        let mut template = template::escape(here.join(&folder).as_os_str().as_bytes());
        template.push(b'/');
        template.extend(template::DEFAULT.as_bytes());
        Ok(RunFolder { template: OsString::from_vec(template), seen, folder: Some(folder), is_new })
    }

    /// The list of processes lies beside the trace while the program runs, and goes when it ends.
    fn one_file(here: &Path, wanted: &OsStr) -> Result<RunFolder> {
        let folder = Path::new(wanted).parent().filter(|p| !p.as_os_str().is_empty()).map(Path::to_owned);
        // A folder whose name is not known yet is made by the processes.
        if let Some(folder) = folder.as_deref().filter(|f| !f.as_os_str().as_bytes().contains(&b'%')) {
            fs::create_dir_all(folder).map_err(|e| {
                Error::at(folder, format_args!("the folder for the trace cannot be made: {e}"))
                    .remedy("choose another place with -o")
            })?;
        }
        let name = format!("gpuprof-seen-{}.jsonl", std::process::id());
        let seen = create_file(&std::env::temp_dir(), &name)?;
        let mut template = template::escape(here.as_os_str().as_bytes());
        if Path::new(wanted).is_absolute() {
            template.clear();
        } else {
            template.push(b'/');
        }
        template.extend(wanted.as_bytes());
        Ok(RunFolder { template: OsString::from_vec(template), seen, folder: None, is_new: false })
    }

    /// Makes the empty file of the launcher's own trace: `launcher-HOST-PID.gpuprof` in the run's folder, or beside the
    /// trace that was named, `NAME.launcher.gpuprof`, with the launcher's own facts for placeholders. A name that is
    /// taken gets a suffix.
    ///
    /// # Errors
    /// Fails if nothing can be made at the place.
    pub fn launcher_trace(&self, command: &OsStr) -> Result<PathBuf> {
        let host = host();
        if let Some(folder) = self.folder.as_ref() {
            let host = plain_name(OsStr::from_bytes(&host));
            let here = self.seen.parent().unwrap_or(folder);
            return create_file(here, &format!("launcher-{host}-{}.gpuprof", std::process::id()));
        }
        let lookup = |name: &[u8]| std::env::var_os(OsStr::from_bytes(name)).map(OsString::into_vec);
        let name = plain_name(command);
        let facts = TemplateFacts {
            pid: std::process::id(),
            host: &host,
            start_unix_s: unix_s(),
            name: name.as_bytes(),
            lookup: &lookup,
        };
        let path = template::expand(self.template.as_bytes(), &facts).map_err(|e| Error::new(e.to_string()))?;
        let path = PathBuf::from(OsString::from_vec(path));
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(|e| {
            Error::at(folder, format_args!("the folder for the launcher's trace cannot be made: {e}"))
                .remedy("choose another place with -o")
        })?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        create_file(folder, &format!("{stem}.launcher.gpuprof"))
    }

    /// Removes what has nothing in it.
    pub fn remove_if_empty(&self) {
        let is_empty = fs::metadata(&self.seen).is_ok_and(|m| m.len() == 0);
        if is_empty || self.folder.is_none() {
            let _ = fs::remove_file(&self.seen);
        }
        if let Some(folder) = self.folder.as_ref().filter(|_| self.is_new) {
            // Fails if there is anything in it, as it should.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Whether it is the name of a trace, and not of a folder.
fn is_file_name(wanted: &OsStr) -> bool {
    let path = Path::new(wanted);
    path.extension() == Some(OsStr::new("gpuprof")) && !path.is_dir() && !wanted.as_bytes().ends_with(b"/")
}

fn host() -> Vec<u8> {
    crate::os::identity::host().unwrap_or_default().into_vec()
}

fn unix_s() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Date and time as the person at the terminal knows them: `20261128-024741`.
fn local_time() -> String {
    let date = crate::os::local_time::local_time(unix_s()).map_or([0; 6], |time| time.date);
    let [year, month, day, hour, minute, second] = date;
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}
