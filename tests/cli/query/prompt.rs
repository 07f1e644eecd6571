//! The prompt of `gpuprof query`, on a terminal of its own.
#![allow(unsafe_code, reason = "a terminal and its foreground process are had from libc alone")]

use crate::common::{DEADLINE, TempFolder, build::*, command};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// A program on a terminal.
struct Terminal {
    child: Child,
    keys: File,
    screen: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn start(path: &str, home: Option<&Path>) -> Terminal {
        let (mut master, mut slave) = (-1, -1);
        let none = std::ptr::null_mut();
        // SAFETY: both numbers are written before they are read; the other arguments may be null.
        let opened = unsafe { libc::openpty(&mut master, &mut slave, none, std::ptr::null(), std::ptr::null()) };
        assert_eq!(opened, 0, "a terminal");
        // SAFETY: openpty has just given us both.
        let (master, slave) = unsafe { (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        let mut command = command(&["query", path]);
        command.env_remove("XDG_STATE_HOME").env_remove("HOME").env("TERM", "xterm");
        if let Some(home) = home {
            command.env("HOME", home);
        }
        let end = || Stdio::from(slave.try_clone().expect("the terminal"));
        command.stdin(end()).stdout(end()).stderr(end());
        let terminal = slave.as_raw_fd();
        // SAFETY: all of them may be called between fork and exec.
        unsafe {
            command.pre_exec(move || {
                // Whoever runs the tests may have had it ignored.
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                libc::setsid();
                let taken = libc::ioctl(terminal, libc::TIOCSCTTY, 0);
                if taken == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
            });
        }
        let child = command.spawn().expect("gpuprof");
        drop(command);
        drop(slave);
        let (keys, mut shown) = (File::from(master.try_clone().expect("the terminal")), File::from(master));
        let (sender, screen) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(n @ 1..) = shown.read(&mut bytes) {
                if sender.send(bytes[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        let mut terminal = Terminal { child, keys, screen, seen: String::new() };
        terminal.wait_for("gpuprof> ");
        terminal
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("the terminal");
    }

    /// Waits until `text` is shown, and forgets what was shown up to it.
    fn wait_for(&mut self, text: &str) -> String {
        let until = Instant::now() + DEADLINE;
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.screen.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(why) => panic!("no {text:?} ({why}) in {:?}", self.seen),
            }
        }
    }

    fn end(mut self) -> ExitStatus {
        let until = Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                return status;
            }
            if Instant::now() > until {
                let _ = self.child.kill();
                panic!("no end after {DEADLINE:?}: {}", self.seen);
            }
            // Whatever is shown is taken, so that the program can go on.
            let _ = self.screen.recv_timeout(std::time::Duration::from_millis(20));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Nothing to do after a good end; a test that gave up leaves no program behind.
        let _ = self.child.kill();
    }
}

#[test]
fn the_prompt_completes_answers_remembers_and_forgets_a_line() {
    let folder = TempFolder::new("query-prompt");
    let path = folder.argument("run.gpuprof", &native(&Story::sample(12)));
    let home = folder.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let mut terminal = Terminal::start(&path, Some(&home));
    // Keyword, source and column are completed; the statement goes over two lines.
    terminal.press("selec\t count(correl\t) as n\r");
    terminal.wait_for("...> ");
    terminal.press("from memc\t;\r");
    let shown = terminal.wait_for("1 row");
    assert!(shown.contains("from memcpy") && shown.lines().any(|line| line.trim() == "3"), "{shown}");
    terminal.wait_for("gpuprof> ");
    terminal.press("complete nonsense\x03");
    terminal.wait_for("nonsense");
    terminal.wait_for("gpuprof> ");
    terminal.press(".tab\t\r");
    let shown = terminal.wait_for("Views of report:");
    assert!(!shown.contains("nonsense"), "{shown}");
    terminal.wait_for("gpuprof> ");
    terminal.press("SELECT nmae FROM kernel;\r");
    terminal.wait_for("did you mean name?");
    terminal.wait_for("gpuprof> ");
    terminal.press(".quit\r");
    assert_eq!(terminal.end().code(), Some(0));
    let history = home.join(".local/state/gpuprof/query_history");
    let kept = std::fs::read_to_string(&history).expect("a history");
    assert!(kept.contains("select count(correlation) as n from memcpy;"), "{kept}");
    assert_eq!(history.metadata().unwrap().permissions().mode() & 0o077, 0, "others can read it");
    // The next prompt knows it: up past .quit, the wrong query and .tables.
    let mut terminal = Terminal::start(&path, Some(&home));
    terminal.press("\x1b[A\x1b[A\x1b[A\x1b[A\r");
    let shown = terminal.wait_for("1 row");
    assert!(shown.contains("select count(correlation)"), "{shown}");
    terminal.wait_for("gpuprof> ");
    terminal.press("\x04");
    assert_eq!(terminal.end().code(), Some(0));
}

#[test]
fn without_a_home_nothing_is_remembered() {
    let folder = TempFolder::new("query-homeless");
    let path = folder.argument("run.gpuprof", &native(&Story::sample(3)));
    let mut terminal = Terminal::start(&path, None);
    terminal.press("SELECT COUNT(*) FROM kernel;\r");
    terminal.wait_for("1 row");
    terminal.wait_for("gpuprof> ");
    terminal.press("\x04");
    assert_eq!(terminal.end().code(), Some(0));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn ctrl_c_during_a_query_ends_the_program_by_the_signal() {
    let folder = TempFolder::new("query-interrupt");
    let mut story = Story::empty();
    for i in 0..1000 {
        story = story.with_kernel(Name::plain([b'x'; 60_000]), 1000 * i, 10);
    }
    let path = folder.argument("run.gpuprof", &native(&story));
    let mut terminal = Terminal::start(&path, None);
    // Long, but not large: many texts, one after the other.
    let work: Vec<String> = (0..80).map(|i| format!("COUNT(DISTINCT UPPER(name || '{i}'))")).collect();
    terminal.press(&format!("SELECT {} FROM kernel;\r", work.join(", ")));
    terminal.wait_for("FROM kernel;");
    // Pressed until it is a signal: while the editor still has the terminal, it is a key.
    let until = Instant::now() + DEADLINE;
    while terminal.child.try_wait().expect("a status").is_none() && Instant::now() < until {
        terminal.press("\x03");
        let _ = terminal.screen.recv_timeout(std::time::Duration::from_millis(100));
    }
    assert_eq!(terminal.end().signal(), Some(libc::SIGINT));
}
