//! What is partial.

use super::*;

/// Codes of the notes in JSON, after a check that stderr says the same.
fn codes(answer: &Answer) -> Vec<String> {
    let document: Value = serde_json::from_str(&answer.stdout).expect("JSON");
    let notes = document["notes"].as_array().expect("notes");
    for note in notes {
        let text = note["text"].as_str().expect("a text");
        assert!(answer.stderr.contains(&format!("gpuprof: {text}\n")), "{text} is not in {}", answer.stderr);
    }
    assert_eq!(answer.stderr.lines().count(), notes.len(), "{}", answer.stderr);
    notes.iter().map(|note| note["code"].as_str().expect("a code").to_owned()).collect()
}

#[test]
fn what_is_partial_is_said_on_stderr_and_in_json() {
    let folder = TempFolder::new("cli-partial");
    let run = |paths: &[&str]| gpuprof(&[&["report", "--format", "json"], paths].concat());
    let mut story = Story::sample(10);
    assert_eq!(codes(&run(&[&folder.argument("t", &native(&story))])), [""; 0]);
    // Records without times.
    let kernel = Kernel { start: 0, end: 0, ..story.kernels[0].clone() };
    story.kernels.push(kernel);
    let answer = run(&[&folder.argument("t", &native(&story))]);
    assert_eq!(codes(&answer), ["invalid-timestamps"]);
    assert!(answer.stderr.contains("1 record has invalid timestamps"), "{}", answer.stderr);
    story.kernels.pop();
    // Losses that the collector knows of, each cause once.
    story.losses = vec![(7, 1), (5, 1), (3, 2), (0, 5)];
    let path = folder.argument("lossy", &native(&story));
    let answer = run(&[&path]);
    assert_eq!(codes(&answer), ["lost-records"; 3]);
    for text in [
        "12 records lost: the writer did not keep up",
        "3 records lost: CUPTI dropped them",
        "records lost, how many is unknown: the disk was full",
    ] {
        assert!(answer.stderr.contains(&format!("{path}: {text}")), "{}", answer.stderr);
    }
    story.losses.clear();
    // A program that was killed.
    let open = native_with(&story, Native { close: false, ..Native::default() });
    let path = folder.argument("t", &[&open[..], b"half a fra"].concat());
    let answer = run(&[&path]);
    assert_eq!(codes(&answer), ["not-closed"]);
    assert!(
        answer.stderr.contains(&path) && answer.stderr.contains("10 bytes of an incomplete frame"),
        "{}",
        answer.stderr
    );
    // One of several processes did nothing on the GPU.
    let idle = Story { pid: 999, kernels: Vec::new(), ..Story::sample(10) };
    let paths = [folder.argument("a", &native(&story)), folder.argument("b", &native(&idle))];
    let answer = run(&[&paths[0], &paths[1]]);
    assert_eq!(codes(&answer), ["processes-without-kernels"]);
    assert!(answer.stderr.contains("1 of 2 processes has no kernels: 999"), "{}", answer.stderr);
}

#[test]
fn notes_come_before_listings_and_leave_stdout_as_it_was() {
    let folder = TempFolder::new("cli-notes");
    let story = Story::sample(10);
    let expected = folder.argument("a", &native(&story));
    let lossy = folder.argument("b", &native(&Story { losses: vec![(3, 2)], ..story }));
    for options in
        [&[][..], &["--csv"], &["--print-gpu-trace"], &["--print-api-trace", "--csv"], &["--format", "csv"]]
    {
        let [a, b] = [&expected, &lossy].map(|path| gpuprof(&[&["report"], options, &[path]].concat()));
        assert_eq!(a.stdout, b.stdout, "{options:?}");
        assert_eq!((a.stderr.as_str(), b.stderr.lines().count()), ("", 1), "{options:?}: {}", b.stderr);
    }
}
