//! Signals.

use super::*;

/// A program that counts what it gets, started by `record` in a process group of its own.
struct Counting {
    child: Child,
    folder: TempFolder,
}

impl Counting {
    fn start(name: &str) -> Counting {
        let folder = TempFolder::new(name);
        // Signals reach a shell between commands, so the commands are short.
        let script = "for s in TERM INT HUP USR1; do trap \"echo $s >> got\" $s; done; : > ready; \
                      while [ ! -e stop ]; do sleep 0.01; done";
        let mut command = record(&folder, &[], &sh(script));
        let child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("the program runs", || folder.path().join("ready").exists());
        Counting { child, folder }
    }

    fn alone(&self) -> String {
        self.child.id().to_string()
    }

    fn group(&self) -> String {
        format!("-{}", self.child.id())
    }

    fn got(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("got")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn end(mut self) -> Vec<String> {
        self.folder.file("stop", b"");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        self.got()
    }
}

#[test]
fn a_signal_for_us_alone_is_passed_on() {
    let program = Counting::start("record-alone");
    for (count, signal) in (1..).zip(["TERM", "INT", "HUP", "USR1", "TERM"]) {
        kill(&format!("-{signal}"), &program.alone());
        until(signal, || program.got().len() == count);
    }
    assert_eq!(program.end(), ["TERM", "INT", "HUP", "USR1", "TERM"]);
}

#[test]
fn a_signal_for_the_group_comes_once() {
    let program = Counting::start("record-group");
    for (count, signal) in (1..).zip(["INT", "TERM", "INT"]) {
        kill(&format!("-{signal}"), &program.group());
        until(signal, || program.got().len() == count);
    }
    // What was passed on by mistake would come within the time that the witness is given.
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(program.end(), ["INT", "TERM", "INT"]);
}

#[test]
fn timeout_signals_us_and_the_group_and_the_program_hears_it_once() {
    let folder = TempFolder::new("record-timeout");
    let script =
        "trap 'echo TERM >> got; : > stop' TERM; while [ ! -e stop ]; do sleep 0.01; done; sleep 0.3; echo end";
    let mut command = Command::new("timeout");
    command
        .args(["0.5", env!("CARGO_BIN_EXE_gpuprof"), "record", "--"])
        .args(sh(script))
        .current_dir(folder.path());
    let answer = answer(command.process_group(0));
    assert_eq!(answer.stdout, "end\n", "{}", answer.stderr);
    assert_eq!(std::fs::read_to_string(folder.path().join("got")).unwrap(), "TERM\n");
}

#[test]
fn stopping_us_stops_the_program_and_continuing_us_continues_it() {
    let folder = TempFolder::new("record-stop");
    let script = "echo $$ > pid; while [ ! -e stop ]; do sleep 0.01; done";
    // Not in an orphaned group, where nobody could continue us: this test is the leader's parent, in the same session.
    let mut command = record(&folder, &[], &sh(script));
    let mut child = command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid_file = folder.path().join("pid");
    until("the program runs", || std::fs::read_to_string(&pid_file).is_ok_and(|text| text.ends_with('\n')));
    let program = std::fs::read_to_string(&pid_file).unwrap().trim().to_owned();
    let us = child.id().to_string();
    let state = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next())
    };
    kill("-TSTP", &us);
    until("both stop", || state(&us) == Some('T') && state(&program) == Some('T'));
    kill("-CONT", &us);
    until("both go on", || state(&us) != Some('T') && state(&program) != Some('T'));
    folder.file("stop", b"");
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn only_the_program_is_waited_for() {
    let folder = TempFolder::new("record-daemon");
    let begin = Instant::now();
    let mut command = record(&folder, &[], &sh("sleep 20 & echo $!"));
    let output = command.stderr(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = output;
    let status = output.wait().unwrap();
    assert_eq!(status.code(), Some(0));
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    let mut pid = String::new();
    use std::io::BufRead as _;
    std::io::BufReader::new(output.stdout.take().unwrap()).read_line(&mut pid).unwrap();
    kill("-KILL", pid.trim());
}

#[test]
fn as_first_process_of_a_container_it_reaps_and_passes_the_status_on() {
    const TEST: &str = "as_first_process_of_a_container_it_reaps_and_passes_the_status_on";
    let folder = TempFolder::new("record-pid1");
    let unshare = |program: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--fork", "--pid", "--mount-proc", "--kill-child"]).args(program).current_dir(folder.path());
        command
    };
    let works = unshare(&["true"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        return skip(TEST, "no right to make a pid namespace");
    }
    // An orphan whose parent ends at once falls to PID 1; the program sees whether it is still there as a zombie.
    let script = "sh -c '(sleep 0.1; echo orphan >> out) & exit 0'; \
                  n=0; while [ ! -s out ] || grep -qs '^State:.Z' /proc/[0-9]*/status; do \
                  sleep 0.02; n=$((n+1)); [ $n -lt 500 ] || exit 9; done; echo \"$PPID\"; exit 3";
    let gpuprof = [env!("CARGO_BIN_EXE_gpuprof"), "record", "--", "sh", "-c", script];
    let ended = answer(&mut unshare(&gpuprof));
    assert_eq!((ended.stdout.as_str(), ended.status), ("1\n", 3), "{}", ended.stderr);
    let killed =
        answer(&mut unshare(&[env!("CARGO_BIN_EXE_gpuprof"), "record", "--", "sh", "-c", "kill -TERM $$"]));
    assert_eq!(killed.status, 128 + 15, "PID 1 cannot be killed, so it says it as shells do: {}", killed.stderr);
}
