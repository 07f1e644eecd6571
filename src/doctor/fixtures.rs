//! Invented machines for the tests of this module.

use super::World;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A machine in a temporary folder.
pub struct Room {
    folder: PathBuf,
    pub world: World,
}

impl Room {
    pub fn new() -> Room {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("gpuprof-doctor-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a temporary folder");
        let folder = fs::canonicalize(folder).expect("it exists");
        let world = World {
            root: folder.clone(),
            env: BTreeMap::new(),
            cwd: folder.clone(),
            gpuprof: folder.join("no-such-program"),
        };
        Room { folder, world }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a temporary folder");
        fs::write(&path, bytes).expect("a temporary file");
        path
    }

    pub fn set(&mut self, name: &str, value: impl AsRef<Path>) {
        self.world.env.insert(name.into(), value.as_ref().into());
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
