//! Which processes are meant.

use super::list;
use crate::control::{self, Process, ProcessSearch, without_socket};
use crate::error::{Error, Result};
use shim_config::control::RuntimeDir;
use shim_config::glob;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;

/// Flags that choose processes.
#[derive(clap::Args, Debug)]
pub struct Choice {
    /// All recorded processes
    #[arg(long)]
    all: bool,
    /// Those with these ranks, e.g. 0-7,9
    #[arg(long, value_name = "RANKS")]
    rank: Option<Ranks>,
    /// Those whose program's file name matches a pattern, e.g. 'python*'
    #[arg(long, value_name = "GLOB")]
    name: Option<String>,
    #[command(flatten)]
    place: PlaceArg,
}

/// Where sockets are looked for.
#[derive(clap::Args, Debug)]
pub struct PlaceArg {
    /// The folder in which the processes have their sockets, if it was chosen [default: $GPUPROF_RUNTIME_DIR, else
    /// $XDG_RUNTIME_DIR/gpuprof and /tmp/gpuprof-UID]
    #[arg(long, value_name = "FOLDER")]
    runtime_dir: Option<OsString>,
}

impl PlaceArg {
    /// The folder, by the flag or by the variable.
    ///
    /// # Errors
    /// Fails if the value of the variable cannot be a path.
    pub fn chosen(&self) -> Result<RuntimeDir> {
        let variable = || std::env::var_os("GPUPROF_RUNTIME_DIR").filter(|value| !value.is_empty());
        match (&self.runtime_dir, variable()) {
            (Some(folder), _) => Ok(RuntimeDir::Folder(folder.as_bytes().to_vec())),
            (None, Some(value)) => RuntimeDir::parse(value.as_bytes())
                .map_err(|why| Error::new(format!("GPUPROF_RUNTIME_DIR={}: {why}", value.display()))),
            (None, None) => Ok(RuntimeDir::Default),
        }
    }
}

/// Pids, and the flags.
#[derive(clap::Args, Debug)]
pub struct Targets {
    /// Pids, as `gpuprof ctl list` shows them
    #[arg(value_name = "PID")]
    pids: Vec<u32>,
    #[command(flatten)]
    choice: Choice,
}

impl Targets {
    /// The processes that are meant; at least one.
    ///
    /// # Errors
    /// Fails if there is no such process, or if there are several and nobody said which one is meant.
    pub fn find(&self) -> Result<Vec<Process>> {
        self.choice.find(&self.pids)
    }
}

impl Choice {
    /// See [`Targets::find`].
    pub fn find(&self, pids: &[u32]) -> Result<Vec<Process>> {
        let chosen = self.place.chosen()?;
        let found = control::find(&chosen)?;
        if found.processes.is_empty() {
            return Err(nothing(&found, &chosen));
        }
        self.choose(found.processes, pids)
    }

    fn is_open(&self, pids: &[u32]) -> bool {
        pids.is_empty() && !self.all && self.rank.is_none() && self.name.is_none()
    }

    /// Those of `processes` that are meant.
    fn choose(&self, mut processes: Vec<Process>, pids: &[u32]) -> Result<Vec<Process>> {
        if self.is_open(pids) {
            if processes.len() == 1 {
                return Ok(processes);
            }
            return Err(Error::new(format!(
                "{} processes are recorded: choose with PID, --rank, --name, or --all\n{}",
                processes.len(),
                titles(&processes)
            )));
        }
        for pid in pids {
            let numbers: Vec<(u32, u32)> = processes.iter().map(|p| (p.pid, p.own_pid)).collect();
            check_pid(*pid, &numbers).map_err(|why| Error::new(format!("{why}\n{}", titles(&processes))))?;
        }
        processes.retain(|process| self.wants(process, pids));
        if processes.is_empty() {
            return Err(
                Error::nothing("no recorded process is among those chosen").remedy("`gpuprof ctl list` shows them")
            );
        }
        Ok(processes)
    }

    fn wants(&self, process: &Process, pids: &[u32]) -> bool {
        let is_named = |pid: &u32| *pid == process.pid || *pid == process.own_pid;
        let by_pid = pids.is_empty() || pids.iter().any(is_named);
        let by_rank =
            self.rank.as_ref().is_none_or(|ranks| process.rank().is_some_and(|rank| ranks.contains(rank)));
        let by_name =
            self.name.as_ref().is_none_or(|name| glob::matches(name.as_bytes(), process.name().as_bytes()));
        by_pid && by_rank && by_name
    }
}

/// A number must name one process: as we see it, or as it sees itself. `numbers`: both of each process.
fn check_pid(pid: u32, numbers: &[(u32, u32)]) -> std::result::Result<(), String> {
    if numbers.iter().any(|(seen, _)| *seen == pid) {
        // It may be another one's own number too; that one is then not meant.
        return match numbers.iter().any(|(seen, own)| *seen != pid && *own == pid) {
            true => Err(format!(
                "pid {pid} names two processes, one of them in its own namespace: choose by --rank or --name"
            )),
            false => Ok(()),
        };
    }
    match numbers.iter().filter(|(_, own)| *own == pid).count() {
        0 => Err(format!("pid {pid} is not a recorded process; these are:")),
        1 => Ok(()),
        n => Err(format!(
            "pid {pid} names {n} processes, each in a namespace of its own: choose by --rank or --name"
        )),
    }
}

fn titles(processes: &[Process]) -> String {
    processes.iter().map(|process| format!("  {}", process.title())).collect::<Vec<_>>().join("\n")
}

/// There is nothing to control: where was looked, and whom one could have meant.
pub fn nothing(found: &ProcessSearch, chosen: &RuntimeDir) -> Error {
    let folders: Vec<String> = found.folders.iter().map(|folder| folder.display().to_string()).collect();
    let mut text =
        format!("nothing to control: no recorded process with a CUDA context in {}", folders.join(" or "));
    for why in list::reasons(found, &without_socket::find(&[], chosen)) {
        text.push_str("\n  ");
        text.push_str(&why);
    }
    Error::nothing(text)
}

/// Ranks as they are written: `0-7,9`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranks(Vec<(u64, u64)>);

impl Ranks {
    fn contains(&self, rank: u64) -> bool {
        self.0.iter().any(|(first, last)| (*first..=*last).contains(&rank))
    }
}

impl std::str::FromStr for Ranks {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Ranks, String> {
        let span = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
            (first <= last).then_some((first, last))
        };
        let spans: Option<Vec<(u64, u64)>> = text.split(',').map(span).collect();
        spans.map(Ranks).ok_or_else(|| "is not a list of ranks such as 0-7,9".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_numbers_and_spans() {
        let ranks: Ranks = "0-2,9".parse().expect("ranks");
        let inside: Vec<u64> = (0..12).filter(|rank| ranks.contains(*rank)).collect();
        assert_eq!(inside, [0, 1, 2, 9]);
        for bad in ["", "a", "3-1", "1-", "-1", "1,,2", "1-2-3"] {
            assert!(bad.parse::<Ranks>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_pid_names_one_process_or_none() {
        assert_eq!(check_pid(5, &[(5, 5), (6, 6)]), Ok(()));
        assert_eq!(check_pid(1, &[(50, 1), (6, 6)]), Ok(()), "as it sees itself");
        assert!(check_pid(7, &[(5, 5)]).is_err());
        assert!(check_pid(1, &[(50, 1), (60, 1)]).is_err());
        assert!(check_pid(1, &[(1, 1), (60, 1)]).is_err());
    }
}
