//! A player that does what it is told, and the folder of its socket.

use crate::collector::sim::{Ended, Run, Running, Sim, player};
use crate::common::{Answer, answer, command};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A folder for sockets with a short path that everybody may pass through. It is made by whoever needs it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("gpuprof-ctl-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    /// Runs `gpuprof ctl` on this folder.
    pub fn ctl(&self, args: &[&str]) -> Answer {
        let mut command = command(&["ctl"]);
        answer(command.args(args).env("GPUPROF_RUNTIME_DIR", &self.0))
    }

    /// As above; it must succeed.
    pub fn obeyed(&self, args: &[&str]) -> String {
        let answer = self.ctl(args);
        assert_eq!(answer.status, 0, "ctl {args:?}: {}{}", answer.stdout, answer.stderr);
        answer.stdout
    }

    /// The rows of one table of `ctl list`.
    pub fn list(&self, table: &str) -> Vec<Value> {
        let list: Value = serde_json::from_str(&self.obeyed(&["list", "--format", "json"])).expect("JSON");
        let tables = list["tables"].as_array().expect("tables");
        let found = tables.iter().find(|t| t["name"] == table).expect("the table");
        found["rows"].as_array().expect("rows").clone()
    }

    /// Sockets in the folder.
    pub fn sockets(&self) -> Vec<PathBuf> {
        let files = self.0.read_dir().into_iter().flatten().flatten().map(|e| e.path());
        let mut sockets: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "sock")).collect();
        sockets.sort();
        sockets
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Waits until something holds.
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}: not in 60 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A player that runs.
pub struct Obedient {
    running: Option<Running>,
    pid: u32,
    folder: PathBuf,
    orders: std::fs::File,
    answers: std::cell::Cell<usize>,
}

impl Obedient {
    /// Starts one under `run`'s conditions, with its socket in `folder`.
    pub fn start(run: Run<'_>, folder: &Folder) -> Obedient {
        Obedient::start_in(run, &folder.0)
    }

    /// As above.
    pub fn start_in(run: Run<'_>, sockets: &Path) -> Obedient {
        let folder = run.folder().to_path_buf();
        let fifo = std::process::Command::new("mkfifo").arg(folder.join("orders")).status();
        assert!(fifo.expect("mkfifo").success());
        let running = run.env("GPUPROF_RUNTIME_DIR", sockets).start();
        let orders = std::fs::OpenOptions::new().write(true).open(folder.join("orders")).expect("the player's ear");
        let mut player =
            Obedient { running: Some(running), pid: 0, folder, orders, answers: std::cell::Cell::new(0) };
        player.pid = u32::try_from(player.wait_for_answer()).expect("a pid");
        player
    }

    /// Its pid, as it sees itself.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits for the next thing that it says.
    pub fn wait_for_answer(&self) -> i64 {
        let at = self.answers.get();
        let mut line = String::new();
        until("an answer of the player", || {
            let text = std::fs::read_to_string(self.folder.join("answers")).unwrap_or_default();
            line = text.lines().nth(at).unwrap_or_default().to_owned();
            text.matches('\n').count() > at
        });
        self.answers.set(at + 1);
        line.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    }

    /// Has something done, and waits until it is.
    pub fn order(&self, order: &str) -> i64 {
        (&self.orders).write_all(format!("{order}\n").as_bytes()).expect("the player's ear");
        self.wait_for_answer()
    }

    /// Has CUDA begun, and waits for the socket.
    pub fn with_cuda(self, folder: &Folder) -> Obedient {
        let before = folder.sockets().len();
        self.order("launch 0");
        until("a socket", || folder.sockets().len() > before);
        self
    }

    /// Ends it in order.
    pub fn end(mut self) -> Ended {
        (&self.orders).write_all(b"exit 0\n").expect("the player's ear");
        self.running.take().expect("a player").end()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: &str) {
        self.running.as_ref().expect("a player").signal(signal);
    }

    /// Kills it.
    pub fn kill(mut self) -> Ended {
        self.signal("KILL");
        self.running.take().expect("a player").end()
    }
}

impl Drop for Obedient {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        if self.running.is_some() {
            self.signal("KILL");
        }
    }
}

/// An obedient player with CUDA and these settings.
pub fn obedient(sim: &Sim, folder: &Folder, settings: &[(&str, &str)]) -> Obedient {
    let run = settings.iter().fold(sim.player("obey").inject(), |run, (name, value)| run.env(name, value));
    Obedient::start(run, folder).with_cuda(folder)
}

/// The player's program.
pub fn obey() -> PathBuf {
    player("obey")
}

/// A connection to the only socket of a folder, past the command line.
pub struct Line(BufReader<UnixStream>);

impl Line {
    pub fn to(folder: &Folder) -> Line {
        let sockets = folder.sockets();
        assert_eq!(sockets.len(), 1, "{sockets:?}");
        let stream = UnixStream::connect(&sockets[0]).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        Line(BufReader::new(stream))
    }

    pub fn send(&mut self, bytes: &[u8]) -> bool {
        self.0.get_mut().write_all(bytes).is_ok()
    }

    /// The next line; none: the connection is over.
    pub fn receive(&mut self) -> Option<Value> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(n) if n > 0 => Some(serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))),
            _ => None,
        }
    }

    pub fn ask(&mut self, request: &str) -> Value {
        assert!(self.send(format!("{request}\n").as_bytes()), "{request}");
        self.receive().unwrap_or_else(|| panic!("no answer to {request}"))
    }
}
