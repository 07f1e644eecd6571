//! As if nobody stood before it.

use super::*;

#[test]
fn input_and_output_are_the_programs_own() {
    let folder = TempFolder::new("record-stdio");
    let input = folder.file("input", b"one\0two\xff\nthree");
    let mut command = record(&folder, &[], &["cat"]);
    let output = command.stdin(std::fs::File::open(input).unwrap()).output().unwrap();
    assert_eq!(output.stdout, b"one\0two\xff\nthree");
    let answer = recorded(&folder, &[], &sh("echo out; echo err >&2"));
    assert_eq!(answer.stdout, "out\n");
    assert!(answer.stderr.starts_with("err\ngpuprof: "), "{}", answer.stderr);
    assert_eq!(answer.stderr.lines().count(), 4, "the program's line and three of ours: {}", answer.stderr);
}

#[test]
fn the_exit_status_is_the_programs_own() {
    let folder = TempFolder::new("record-status");
    for status in [0, 1, 2, 42, 126, 127, 255] {
        assert_eq!(recorded(&folder, &[], &sh(&format!("exit {status}"))).status, status);
    }
}

#[test]
fn it_dies_by_the_signal_that_the_program_died_by() {
    let folder = TempFolder::new("record-signal");
    for (name, number) in [("TERM", 15), ("KILL", 9), ("SEGV", 11), ("ABRT", 6), ("INT", 2), ("USR1", 10)] {
        let mut command = record(&folder, &[], &sh(&format!("kill -{name} $$")));
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.signal(), Some(number), "{name}: {status:?}");
    }
}

#[test]
fn the_program_starts_as_we_were_started() {
    let folder = TempFolder::new("record-inherited");
    // The shell changes nothing of what grep shows: its own mask and dispositions come from whoever started it.
    let script = "exec 7</dev/null; trap '' USR2 PIPE; exec \"$@\" <&-";
    let show = "grep -E '^(SigBlk|SigIgn):' /proc/self/status; for f in 0 1 2 3 4 5 6 7 8 9 10 11 12; do \
                [ -e /proc/self/fd/$f ] && echo fd $f; done; ulimit -c";
    let run = |before: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).args(before).args(["bash", "-c", show]).current_dir(folder.path());
        answer(&mut command).stdout
    };
    if Command::new("bash").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skip("the_program_starts_as_we_were_started", "no bash");
    }
    let without = run(&[]);
    assert!(without.contains("fd 7"), "{without}");
    assert_eq!(run(&[env!("CARGO_BIN_EXE_gpuprof"), "record", "--"]), without);
    // And with SIGPIPE at its default, which Rust's runtime ignores in gpuprof itself.
    let masks = |command: &mut Command| answer(command).stdout;
    let script = sh("grep -E '^(SigBlk|SigIgn):' /proc/self/status");
    let mut bare = Command::new(script[0]);
    default_signals(&mut bare);
    assert_eq!(masks(&mut record(&folder, &[], &script)), masks(bare.args(&script[1..])));
}

#[test]
fn a_closed_pipe_ends_the_program_and_not_us() {
    let folder = TempFolder::new("record-pipe");
    let pipeline = format!("{} record -- yes | head -n 1", env!("CARGO_BIN_EXE_gpuprof"));
    let answer = answer(Command::new("sh").args(["-c", &pipeline]).current_dir(folder.path()));
    assert_eq!(answer.stdout, "y\n");
    assert!(answer.stderr.contains("nothing was recorded: yes"), "{}", answer.stderr);
}
