//! Impossible times.

use super::*;

#[test]
fn records_with_impossible_times_are_counted_and_enter_no_sum() {
    let folder = TempFolder::new("err-times");
    let good = Story::sample(30);
    let mut story = good.clone();
    let (saxpy, launch) = (good.kernels[0].clone(), good.calls[1].clone());
    // 0/0: CUPTI ran out of device buffers; the end before the start; times that no clock shows.
    let huge = i64::MAX - EPOCH - 1;
    for (start, end) in [(0, 0), (20_000_000, 19_999_000), (20_000_000, huge)] {
        story.kernels.push(Kernel { start, end, ..saxpy.clone() });
        story.copies.push(Copy { start, end, ..good.copies[0].clone() });
        story.fills.push(Fill { start, end, ..good.fills[0].clone() });
        story.calls.push(Call { start, end, ..launch.clone() });
    }
    for (kind, bytes) in every_kind(&story) {
        if kind.starts_with("kineto") {
            continue; // Its times are text and durations: see below.
        }
        let path = folder.argument("t", &bytes);
        let answer = gpuprof(&["report", &path]);
        let expected = folder.argument("good", &native(&good));
        assert_eq!(answer.stdout, gpuprof(&["report", &expected]).stdout, "{kind}");
        let said = &answer.stderr;
        assert!(said.contains("9 records have invalid timestamps"), "{kind}: {said}");
        assert!(said.contains("3 API records have invalid timestamps"), "{kind}: {said}");
        // Listings show them, without a duration.
        let trace = gpuprof(&["report", "--print-gpu-trace", "--csv", &path]).stdout;
        let rows = good.kernels.len() + good.copies.len() + good.fills.len() + 9;
        assert_eq!(trace.lines().filter(|line| line.contains("Tesla V100")).count(), rows, "{kind}: {trace}");
    }
}

/// A trace of one good kernel of 5 us, and one event with these `ts` and `dur` as they stand.
fn odd_times(ts: &str, dur: &str) -> String {
    let event = |name: &str, ts: &str, dur: &str| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{ts},"dur":{dur},"args":{{"device":0,"stream":7}}}}"#
        )
    };
    format!(r#"{{"schemaVersion":1,"traceEvents":[{},{}]}}"#, event("good", "100", "5"), event("odd", ts, dur))
}

#[test]
fn impossible_json_times_are_noted_with_their_place_and_enter_no_sum() {
    let folder = TempFolder::new("err-json-times");
    for (ts, dur) in [
        ("NaN", "1"),
        ("1", "NaN"),
        ("Infinity", "1"),
        ("1", "-Infinity"),
        ("1", "-3"),
        ("1e30", "1"),
        ("1", "1e300"),
        ("1", "1e99999999999999999999"),
        ("9223372036854775808", "1"),
        ("1", "9223372036854775808"),
        ("18446744073709551616", "1"),
        ("4611686018427387.904", "1"),
        ("\"soon\"", "1"),
        ("1", "\"long\""),
        ("null", "1"),
        ("1", "null"),
        ("[1]", "1"),
        ("1", "{}"),
        ("1", "true"),
    ] {
        let answer =
            report(&folder, "t.json", odd_times(ts, dur).as_bytes(), &["--print-gpu-summary", "--csv", "-u", "ns"]);
        assert_eq!(answer.status, 0, "ts {ts}, dur {dur}: {}", answer.stderr);
        assert!(
            answer.stdout.contains("100.000000,5000.000000,1,5000.000000,5000.000000,5000.000000,\"good\""),
            "ts {ts}, dur {dur}: {}",
            answer.stdout
        );
        assert!(!answer.stdout.contains("odd"), "ts {ts}, dur {dur}: {}", answer.stdout);
        let place = answer.stderr.contains("at byte ") && answer.stderr.contains("t.json");
        assert!(place, "ts {ts}, dur {dur} must be said with path and place: {}", answer.stderr);
        // Once, and without a cause in CUPTI, of which text knows nothing.
        assert!(
            !answer.stderr.contains("invalid timestamps") && !answer.stderr.contains("CUPTI"),
            "{}",
            answer.stderr
        );
    }
}

#[test]
fn beside_a_file_that_counts_its_own_the_records_of_others_are_still_counted() {
    let folder = TempFolder::new("err-times-two");
    let mut story = Story::sample(10);
    story.kernels.push(Kernel { start: 0, end: 0, ..story.kernels[0].clone() });
    let native = folder.argument("run.gpuprof", &native(&story));
    let text = folder.argument("t.json", odd_times("1", "null").as_bytes());
    let said = gpuprof(&["report", &native, &text]).stderr;
    assert!(said.contains("t.json: 1 record has no valid duration"), "{said}");
    assert!(said.contains("gpuprof: 1 record has invalid timestamps (CUPTI ran out"), "{said}");
    // nvprof's own sentence takes the place of that note, and of no other.
    let as_nvprof = gpuprof(&["nvprof", "-i", &text]);
    let all = as_nvprof.stdout + &as_nvprof.stderr;
    assert_eq!(all.matches("Warning: 1 records have invalid timestamps").count(), 1, "{all}");
}

#[test]
fn odd_but_possible_json_times_are_read_exactly() {
    let folder = TempFolder::new("err-json-odd");
    for (ts, dur, ns) in [
        ("-5", "1.5", 1_500),
        ("1", "0", 0),
        ("1e2", "2.5e0", 2_500),
        ("\"1\"", "\"2\"", 2_000),
        ("1.0000", "0.001", 1),
        ("1700000000000000.123", "0.7", 700),
        ("1", "4294967.296", 4_294_967_296_i64),
    ] {
        let answer =
            report(&folder, "t.json", odd_times(ts, dur).as_bytes(), &["--print-gpu-summary", "--format", "csv"]);
        assert_eq!(answer.status, 0, "ts {ts}, dur {dur}: {}", answer.stderr);
        let row = format!(",{ns},1,{ns}.0,{ns},{ns},odd\n");
        assert!(answer.stdout.contains(&row), "ts {ts}, dur {dur}: {}", answer.stdout);
    }
}

#[test]
fn of_equal_keys_the_last_counts() {
    let folder = TempFolder::new("err-keys");
    let text = r#"{"schemaVersion":1,"schemaVersion":2,"traceEvents":[],"traceEvents":[{"ph":"M","ph":"X","cat":"cpu_op","cat":"kernel","name":"a","name":"b","pid":0,"tid":1,"ts":1,"ts":2,"dur":3,"dur":4,"args":{"device":1},"args":{"device":0,"stream":1}}]}"#;
    let answer = report(&folder, "t.json", text.as_bytes(), &["--print-gpu-trace", "--csv", "-u", "us"]);
    assert_eq!(answer.status, 0, "{}", answer.stderr);
    assert!(answer.stdout.contains("\"b [") || answer.stdout.contains(",\"b\""), "{}", answer.stdout);
    assert!(answer.stdout.contains(",4.000000,") && !answer.stdout.contains(",3.000000,"), "{}", answer.stdout);
}
