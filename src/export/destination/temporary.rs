//! Files and folders that exist until an export is complete, and that whatever ends it early takes along.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// Temporary files and folders of this process, for the signal handler's thread.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(|e| e.into_inner())
}

/// Names tried before giving up. A process number comes back, in containers quickly, and one that was killed may
/// have left a file behind.
const NAMES: u32 = 100;

/// A file or folder that is removed when dropped.
pub struct Temporary(PathBuf);

impl Temporary {
    /// A new file in the folder of `wanted`, under a hidden name.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn file_beside(wanted: &Path) -> io::Result<(Temporary, File)> {
        create(|n| hidden(wanted, n, "part"), |path| File::create_new(path))
    }

    /// A new folder beside `wanted`, under a hidden name.
    ///
    /// # Errors
    /// Fails if the folder cannot be created.
    pub fn folder_beside(wanted: &Path) -> io::Result<Temporary> {
        create(|n| hidden(wanted, n, "part"), |path| fs::create_dir(path)).map(|(temporary, ())| temporary)
    }

    /// A new file in the folder for temporary files.
    ///
    /// # Errors
    /// Fails if the file cannot be created.
    pub fn file_elsewhere() -> io::Result<(Temporary, File)> {
        let folder = std::env::temp_dir();
        create(|n| hidden(&folder.join("gpuprof"), n, "part"), |path| File::create_new(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Gives it its name, in place of what has that name now.
    ///
    /// # Errors
    /// Fails if the system refuses, with the system's own error.
    pub fn rename(self, wanted: &Path) -> io::Result<()> {
        // Behind the lock, so that no signal's handler removes what has just got its name.
        let mut unfinished = unfinished();
        fs::rename(&self.0, wanted)?;
        unfinished.retain(|path| *path != self.0);
        drop(unfinished);
        Ok(())
    }

    /// As [`Temporary::rename`], in place of a folder that is not empty: that one is put aside first. Returns where.
    /// Whatever fails, one of the two has the name.
    ///
    /// # Errors
    /// Fails if the system refuses, with the system's own error.
    pub fn rename_over_folder(self, wanted: &Path) -> io::Result<PathBuf> {
        let aside = (0..NAMES).map(|n| hidden(wanted, n, "old")).find(|path| path.symlink_metadata().is_err());
        let aside = aside.ok_or_else(|| io::Error::from(io::ErrorKind::AlreadyExists))?;
        // A signal's handler waits for this lock, so that it never comes between the two steps.
        let mut unfinished = unfinished();
        fs::rename(wanted, &aside)?;
        if let Err(error) = fs::rename(&self.0, wanted) {
            fs::rename(&aside, wanted)?;
            return Err(error);
        }
        unfinished.retain(|path| *path != self.0);
        drop(unfinished);
        Ok(aside)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut unfinished = unfinished();
        // One that has got its name is not in the list any more.
        let before = unfinished.len();
        unfinished.retain(|path| *path != self.0);
        if unfinished.len() < before {
            remove(&self.0);
        }
    }
}

/// `.NAME.PID.ending`, with a number in it after the first try.
fn hidden(wanted: &Path, attempt: u32, ending: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(wanted.file_name().unwrap_or_default());
    let number = if attempt == 0 { String::new() } else { format!("-{attempt}") };
    name.push(format!(".{}{number}.{ending}", std::process::id()));
    wanted.with_file_name(name)
}

fn create<T>(name: impl Fn(u32) -> PathBuf, create: impl Fn(&Path) -> io::Result<T>) -> io::Result<(Temporary, T)> {
    remove_at_signals()?;
    let mut attempt = 0;
    loop {
        let path = name(attempt);
        let mut unfinished = unfinished();
        match create(&path) {
            Ok(created) => {
                unfinished.push(path.clone());
                drop(unfinished);
                return Ok((Temporary(path), created));
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < NAMES => attempt += 1,
            Err(e) => return Err(e),
        }
    }
}

/// How often a folder is emptied anew, into which another thread goes on writing.
const EMPTIED: u32 = 1000;

fn remove(path: &Path) {
    let mut attempt = 0;
    loop {
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        attempt += 1;
        match removed {
            // At a signal the writer is still at work, and may have made a file since the folder was listed.
            Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty && attempt < EMPTIED => {}
            // Already gone, or not ours to remove any more: there is nobody left to tell.
            _ => return,
        }
    }
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
            // Held to the end: the writer finds its folder gone, and must not come so far as to complain of that.
            let mut unfinished = unfinished();
            unfinished.drain(..).for_each(|path| remove(&path));
            // The same end as if nobody had listened.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_replaced_keeps_its_name() {
        let folder = std::env::temp_dir().join(format!("gpuprof-temporary-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        let wanted = folder.join("tables");
        fs::create_dir_all(&wanted).unwrap();
        fs::write(wanted.join("old"), "").unwrap();
        let temporary = Temporary::folder_beside(&wanted).unwrap();
        fs::remove_dir(temporary.path()).unwrap();
        assert!(temporary.rename_over_folder(&wanted).is_err());
        assert!(wanted.join("old").is_file());
        let temporary = Temporary::folder_beside(&wanted).unwrap();
        fs::write(temporary.path().join("new"), "").unwrap();
        let aside = temporary.rename_over_folder(&wanted).unwrap();
        assert!(wanted.join("new").is_file() && aside.join("old").is_file());
        // One that is given up leaves nothing.
        let (temporary, _) = Temporary::file_beside(&wanted).unwrap();
        let path = temporary.path().to_owned();
        assert!(path.is_file());
        drop(temporary);
        assert!(!path.exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_goes_though_somebody_goes_on_writing_into_it() {
        let folder = std::env::temp_dir().join(format!("gpuprof-temporary-written-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                // As the tables of an export, each of which is a file, until there is no folder for it any more.
                let mut files = 0;
                while files < 2_000 && File::create(folder.join(files.to_string())).is_ok() {
                    files += 1;
                }
                files
            });
            while fs::read_dir(&folder).unwrap().next().is_none() {
                std::thread::yield_now();
            }
            remove(&folder);
            assert!(!folder.exists());
            assert!(writer.join().unwrap() > 0);
        });
    }
}
