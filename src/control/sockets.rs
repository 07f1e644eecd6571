//! The folders in which recorded processes have their sockets, and the sockets in them.

use super::talk::{Connection, Trouble};
use super::without_socket;
use crate::error::{Error, Result};
use crate::os::identity::effective_user;
use shim_config::control::{self, Folder, Refusal, RuntimeDir, SocketName};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folders that are looked into, by what the variables say.
pub fn chosen_folders(chosen: &RuntimeDir) -> Vec<PathBuf> {
    let xdg = std::env::var_os("XDG_RUNTIME_DIR");
    chosen.folders(xdg.as_deref().map(|xdg| xdg.as_bytes()), effective_user())
}

/// A folder of sockets.
#[derive(Debug)]
pub struct SocketFolder {
    path: PathBuf,
    folder: std::result::Result<Arc<Folder>, Refusal>,
}

impl SocketFolder {
    /// All places where sockets may be.
    ///
    /// # Errors
    /// Fails if the folder that was named is refused, or if `chosen` says that no folder is to be looked at.
    pub fn all(chosen: &RuntimeDir) -> Result<Vec<SocketFolder>> {
        if *chosen == RuntimeDir::Off {
            return Err(Error::new("GPUPROF_RUNTIME_DIR is off").remedy("name a folder with --runtime-dir"));
        }
        // Root may look after everybody, where it is told to.
        let named = matches!(chosen, RuntimeDir::Folder(_));
        let owner = Some(effective_user()).filter(|uid| !(named && *uid == 0));
        let places = chosen_folders(chosen).into_iter().map(|path| {
            let folder = Folder::open(&path, owner).map(Arc::new);
            SocketFolder { path, folder }
        });
        let places: Vec<SocketFolder> = places.collect();
        match places.as_slice() {
            [SocketFolder { path, folder: Err(refusal) }] if named && refusal.is_suspicious() => {
                let remedy = "name the folder that the program was given as GPUPROF_RUNTIME_DIR";
                Err(Error::at(path, refusal).remedy(remedy))
            }
            _ => Ok(places),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why nothing in it is believed; one that is merely missing is nothing to speak of.
    pub fn refused(&self) -> Option<String> {
        let refusal = self.folder.as_ref().err()?;
        refusal.is_suspicious().then(|| format!("{} {refusal}", self.path.display()))
    }

    /// The sockets in it.
    pub fn entries(&self) -> Vec<Entry> {
        let Ok(folder) = &self.folder else { return Vec::new() };
        let names = folder.names();
        let names = names.iter().filter_map(|name| SocketName::parse(name));
        names.map(|name| Entry { name, folder: Arc::clone(folder) }).collect()
    }
}

/// A socket that may be a process's.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What its name tells.
    pub name: SocketName,
    folder: Arc<Folder>,
}

impl Entry {
    /// Connects to it.
    ///
    /// # Errors
    /// Fails if the socket cannot be connected to, for example because no process listens on it.
    pub fn connect(&self) -> std::result::Result<Connection, Trouble> {
        let (name, own) = (self.name.to_string(), Path::new("/proc/self"));
        match control::address(&self.folder.path, &name, own, self.folder.fd()) {
            Some(address) => Connection::to(&address),
            None => Err(Trouble::System(std::io::Error::from_raw_os_error(libc::ENAMETOOLONG))),
        }
    }

    /// Whether its process is gone though somebody still holds the socket.
    pub fn is_orphan(&self, connection: &Connection) -> bool {
        let Some(pid) = connection.peer_pid() else { return false };
        let proc = PathBuf::from(format!("/proc/{pid}"));
        // One that has ended and that its parent has not asked for is still there in name.
        Path::new("/proc/self").exists() && without_socket::state(&proc).is_none_or(|state| state == 'Z')
    }

    /// Removes it: its process is gone.
    pub fn remove(&self) {
        self.folder.remove(&self.name.to_string());
    }
}
