//! The three lines.

use super::*;

/// A shell that plays a process with the collector in it: leaves `trace` where it was told to and a line about itself.
fn play(trace: &Path, name: &str, line: &str) -> String {
    format!(
        "out=\"${{GPUPROF_OUTPUT%/*}}/{name}.gpuprof\"; cp {} \"$out\"; \
         printf '{{\"pid\":%d,\"ppid\":1,\"start_unix_ns\":1,\"exe\":\"/bin/{name}\",\"cuda\":true,{line}\"trace\":\"%s\"}}\\n' \
         $$ \"$out\" >> \"$GPUPROF_SEEN\"; ",
        trace.display()
    )
}

fn closing(answer: &Answer) -> [String; 3] {
    let lines: Vec<String> = answer.stderr.lines().map(str::to_owned).collect();
    lines.try_into().unwrap_or_else(|lines| panic!("not three lines: {lines:?}"))
}

#[test]
fn the_end_says_what_was_recorded_where_and_the_next_command() {
    let folder = TempFolder::new("record-end");
    let trace = folder.file("made", &build::native(&Story::sample(1000).with_ranges()));
    let list = "printf '{\"pid\":7,\"ppid\":1,\"start_unix_ns\":1,\"exe\":\"/bin/sh\",\"cuda\":false}\\n' >> \"$GPUPROF_SEEN\"; ";
    let script = format!("{}{list}", play(&trace, "train", ""));
    let answer = recorded(&folder, &["-o", "my run"], &sh(&script));
    let [what, place, next] = closing(&answer);
    assert_eq!(
        what,
        "gpuprof: recorded 1 of 2 processes (1 without CUDA): 1,000 kernels, 200 copies, 143 fills, 1,345 API calls, \
         5 NVTX ranges; nothing lost"
    );
    assert!(place.starts_with("gpuprof: written to my run/ ("), "{place}");
    assert_eq!(next, "gpuprof: next: gpuprof report 'my run'");
    assert_eq!(names(&folder.path().join("my run")), ["seen.jsonl", "train.gpuprof"]);
    // The next command is one that works.
    let report = common::gpuprof_in(folder.path(), &["report", "my run"]);
    assert_eq!(report.status, 0, "{}", report.stderr);
}

#[test]
fn one_trace_of_ones_own_leaves_nothing_else() {
    let folder = TempFolder::new("record-one");
    let trace = folder.file("made", &build::native(&Story::sample(3)));
    let answer = recorded(&folder, &["-o", "out/step.gpuprof"], &sh(&play(&trace, "step", "")));
    let [what, place, next] = closing(&answer);
    assert!(what.starts_with("gpuprof: recorded 1 process: 3 kernels"), "{what}");
    assert!(place.starts_with("gpuprof: written to out/step.gpuprof ("), "{place}");
    assert_eq!(next, "gpuprof: next: gpuprof report out/step.gpuprof");
    assert_eq!(names(&folder.path().join("out")), ["step.gpuprof"]);
}

#[test]
fn losses_and_traces_that_were_not_closed_are_said() {
    let folder = TempFolder::new("record-loss");
    let story = Story { losses: vec![(1_200, 1), (34, 2)], ..Story::sample(2) };
    let unclosed = build::Native { close: false, ..build::Native::default() };
    let trace = folder.file("made", &build::native_with(&story, unclosed));
    let answer = recorded(&folder, &[], &sh(&format!("{}exit 5", play(&trace, "a", ""))));
    let [what, ..] = closing(&answer);
    assert!(what.contains("1,234 records LOST"), "{what}");
    assert!(what.contains("1 trace not closed"), "{what}");
    assert_eq!(answer.status, 5);
}

#[test]
fn every_cause_of_an_empty_run_has_its_text() {
    let folder = TempFolder::new("record-causes");
    let empty = folder.file("made", &build::native(&Story::empty()));
    for (line, words) in [
        (
            "\"cause\":\"gate_never_opened\",\"detail\":\"no cudaProfilerStart was called\",",
            ["never switched on (no cudaProfilerStart was called)", "choose another --capture"],
        ),
        ("\"cause\":\"all_excluded\",", ["lay outside the capture windows", "widen the window"]),
        (
            "\"cause\":\"cupti_error\",\"cause_code\":35,\"cause_function\":\"cuptiActivityEnable\",",
            [
                "cuptiActivityEnable returned CUPTI error 35 (insufficient privileges)",
                "NVreg_RestrictProfilingToAdminUsers",
            ],
        ),
        ("\"cause\":\"cupti_not_found\",", ["no usable libcupti", "GPUPROF_CUPTI"]),
        ("\"cause\":\"cupti_taken\",", ["took CUPTI over", "switch off the other profiler"]),
        ("\"cause\":\"disk\",", ["could not be written", "make room"]),
        ("\"cause\":\"killed\",", ["killed before anything was written", "--flush-interval"]),
        ("\"cause\":\"not_chosen\",", ["--processes leaves it out", "name:GLOB"]),
        ("\"cause\":\"nothing_launched\",", ["launched nothing", "nothing is wrong"]),
        ("\"cause\":\"solar_flare\",", ["solar_flare", ""]),
    ] {
        let answer = recorded(&folder, &[], &sh(&play(&empty, "python", line)));
        let [why, remedy, next] = closing(&answer);
        assert!(why.starts_with("gpuprof: nothing was recorded: python (pid "), "{why}");
        assert!(why.contains(words[0]), "{line}: {why}");
        assert!(remedy.contains(words[1]), "{line}: {remedy}");
        assert!(next.starts_with("gpuprof: next: gpuprof report gpuprof-sh-"), "{next}");
        assert_eq!(answer.status, 0, "the program's own status");
    }
}

#[test]
fn without_a_trace_the_cause_is_found_all_the_same() {
    let folder = TempFolder::new("record-no-trace");
    let line = |fields: &str| {
        format!(
            "printf '{{\"pid\":%d,\"start_unix_ns\":1,\"exe\":\"/bin/app\",{fields}}}\\n' $$ >> \"$GPUPROF_SEEN\"; "
        )
    };
    let why = |options: &[&str], script: &str| {
        let mut command = record(&folder, options, &sh(script));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        text.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(why(&[], "true"), "gpuprof: nothing was recorded: sh: it used no CUDA");
    let seen = why(&[], &line("\"cuda\":false"));
    assert!(
        seen.starts_with("gpuprof: nothing was recorded: app (pid ") && seen.ends_with(": it used no CUDA"),
        "{seen}"
    );
    let both = why(&[], &line("\"cuda\":false").replace("\\n'", "\\n{\"pid\":1,\"start_unix_ns\":1}\\n'"));
    assert_eq!(both, "gpuprof: nothing was recorded: sh, 2 processes: none of them used CUDA");
    let killed = why(&[], &format!("{}kill -KILL $$", line("\"cuda\":true")));
    assert!(killed.contains("it was killed before anything was written"), "{killed}");
    let mut disabled = record(&folder, &[], &["true"]);
    let answer = answer(disabled.env("GPUPROF_DISABLE", "1"));
    assert!(answer.stderr.contains("nothing was recorded: true: GPUPROF_DISABLE is set"), "{}", answer.stderr);
}

/// A whole program of 64-bit x86 that ends at once, loading nothing: `exit(7)`.
fn static_program() -> Vec<u8> {
    let code = [0xbf, 7, 0, 0, 0, 0xb8, 60, 0, 0, 0, 0x0f, 0x05];
    let mut elf = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    elf.extend([2, 0, 62, 0, 1, 0, 0, 0]);
    for word in [0x40_0078u64, 64, 0] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend([0, 0, 0, 0, 64, 0, 56, 0, 1, 0, 64, 0, 0, 0, 0, 0]);
    elf.extend([1, 0, 0, 0, 5, 0, 0, 0]);
    let size = 120 + code.len() as u64;
    for word in [0u64, 0x40_0000, 0x40_0000, size, size, 0x1000] {
        elf.extend(word.to_le_bytes());
    }
    elf.extend(code);
    elf
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_static_program_runs_and_is_named_as_the_reason() {
    let folder = TempFolder::new("record-static");
    let program = folder.argument("still", &static_program());
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    for options in [&[][..], &["--preload"]] {
        let answer = recorded(&folder, options, &[&program]);
        assert_eq!(answer.status, 7, "{}", answer.stderr);
        let [why, remedy, _] = closing(&answer);
        assert!(why.contains("still: libgpuprof.so was not loaded into it: it is linked statically"), "{why}");
        assert!(remedy.contains("link it dynamically"), "{remedy}");
    }
}
