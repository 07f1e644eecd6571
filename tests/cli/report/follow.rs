//! Follow.

use super::*;

#[test]
fn follow_prints_again_when_the_trace_has_grown_and_ends_with_it() {
    let folder = TempFolder::new("cli-follow");
    let path = folder.path().join("t.gpuprof");
    let story = Story::sample(60);
    let file = File::create_new(&path).expect("a file");
    let mut writer = NativeWriter::begin(file, &story, Native::default());
    let mut child =
        command(&["report", "--follow", "--print-gpu-summary", "--format", "csv", path.to_str().expect("a path")])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
    let (sender, lines) = channel();
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    // Waits until a table shows `calls` kernels of one name.
    let begun = Instant::now();
    let wait_for = |calls: usize| {
        let (calls, name) = (format!(",{calls},"), ",\"saxpy(int, float, float*, float*)\"");
        loop {
            let left = DEADLINE.saturating_sub(begun.elapsed());
            let line = lines.recv_timeout(left).unwrap_or_else(|e| panic!("no table with {calls} kernels: {e}"));
            if line.contains(&calls) && line.ends_with(name) {
                return;
            }
        }
    };
    for (step, kernels) in story.kernels.chunks(15).enumerate() {
        writer.kernels(kernels);
        wait_for(5 * (step + 1));
    }
    assert!(child.try_wait().expect("a child").is_none(), "it goes on while the program runs");
    writer.rest(&story);
    writer.close();
    // All remaining lines, until the program closes its output.
    let mut last = Vec::new();
    while let Ok(line) = lines.recv_timeout(DEADLINE.saturating_sub(begun.elapsed())) {
        last.push(line);
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let whole =
        gpuprof(&["report", "--print-gpu-summary", "--format", "csv", path.to_str().expect("a path")]).stdout;
    let last = last.join("\n") + "\n";
    assert!(last.ends_with(&whole), "{last} does not end with {whole}");
}

#[test]
fn follow_waits_for_a_file_that_is_still_empty() {
    let folder = TempFolder::new("cli-follow-empty");
    let path = folder.argument("t", b"");
    let mut child = command(&["report", "--follow", &path]).stdout(Stdio::piped()).spawn().expect("it starts");
    // Long enough to look at the file at least once; a program that gave up has ended by then.
    let begun = Instant::now();
    while begun.elapsed() < std::time::Duration::from_secs(1) {
        assert!(child.try_wait().expect("a child").is_none(), "it gave up");
        std::thread::yield_now();
    }
    std::fs::write(&path, native(&Story::sample(5))).expect("a trace");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), gpuprof(&["report", "--no-insights", &path]).stdout);
}

#[test]
fn follow_of_a_trace_that_has_ended_prints_once() {
    let folder = TempFolder::new("cli-follow-closed");
    for (kind, bytes) in [("native", native(&Story::sample(5))), ("nsys", nsys(&Story::sample(5), NsysEra::Of2026))]
    {
        let path = folder.argument("t", &bytes);
        // What is printed again and again has no insights.
        let once = gpuprof(&["report", "--no-insights", &path]).stdout;
        assert_eq!(gpuprof(&["report", "--follow", &path]).stdout, once, "{kind}");
    }
}

#[test]
fn colours_and_clearing_the_screen_are_for_terminals_alone() {
    let folder = TempFolder::new("cli-colour");
    let path = folder.argument("t", &native(&Story::sample(5)));
    for options in [&["report"][..], &["report", "--follow"], &["info"], &["report", "--help"], &["--help"]] {
        let answer = gpuprof_with(&[("TERM", "xterm-256color")], &[options, &[&path]].concat());
        assert!(!answer.stdout.contains('\u{1b}'), "{options:?}");
    }
}
