//! Rows of summaries.

use super::*;

/// Three kernels whose orders by total, count, mean, minimum, maximum and name all differ.
fn orders() -> Story {
    let mut story = Story::empty();
    let mut start = 1_000_000;
    for (name, durations) in [("a", &[100, 100, 100][..]), ("b", &[10, 10, 10, 10, 200]), ("c", &[130, 120])] {
        for &micros in durations {
            story = story.with_kernel(Name::plain(name), start, micros * 1_000);
            start += 1_000_000;
        }
    }
    story
}

#[test]
fn sort_orders_rows_by_each_key() {
    let folder = TempFolder::new("cli-sort");
    let path = folder.argument("t", &native(&orders()));
    // Totals 300, 240, 250; counts 3, 5, 2; means 100, 48, 125; minima 100, 10, 120; maxima 100, 200, 130.
    for (key, expected) in [
        ("time", ["a", "c", "b"]),
        ("calls", ["b", "a", "c"]),
        ("avg", ["c", "a", "b"]),
        ("min", ["c", "a", "b"]),
        ("max", ["b", "c", "a"]),
        ("name", ["a", "b", "c"]),
    ] {
        assert_eq!(names(&["--sort", key, &path], "gpu_summary"), expected, "{key}");
        let text = gpuprof(&["report", "--sort", key, "--print-gpu-summary", &path]).stdout;
        let order: Vec<&str> = text.lines().skip(2).filter_map(|line| line.split_whitespace().last()).collect();
        assert_eq!(order, expected, "{key}: {text}");
    }
}

#[test]
fn top_leaves_rows_out_and_percentages_stay_shares_of_everything() {
    let folder = TempFolder::new("cli-top");
    let path = folder.argument("t", &native(&orders()));
    let document = json(&["--top", "1", &path]);
    let rows = rows(&document, "gpu_summary");
    assert_eq!(rows.len(), 1);
    assert_eq!((&rows[0]["Name"], rows[0]["Time (%)"].as_f64()), (&Value::from("a"), Some(37.97)));
    let text = gpuprof(&["report", "--top", "2", "--sort", "name", &path]).stdout;
    assert!(text.contains("   37.97%  300.00us") && text.contains("   30.38%  240.00us"), "{text}");
    assert!(!text.contains("31.65%"), "{text}");
    let listing = gpuprof(&["report", "--top", "4", "--print-gpu-trace", "--csv", &path]).stdout;
    assert_eq!(listing.lines().filter(|line| line.contains("\"a") || line.contains("\"b")).count(), 4, "{listing}");
    let view = json(&["--top", "2", "--view", "cuda_gpu_kern_sum", &path]);
    assert_eq!(view["tables"][0]["rows"].as_array().map(Vec::len), Some(2));
    assert_eq!(view["tables"][0]["rows"][0]["Time (%)"].as_f64(), Some(38.0));
}

#[test]
fn group_by_each_key_and_several() {
    let folder = TempFolder::new("cli-group");
    let story = |pid: u32| Story { pid, ..Story::sample(24) };
    let paths = [41, 42].map(|pid| folder.argument(&format!("{pid}.gpuprof"), &native(&story(pid))));
    let both = [&paths[0][..], &paths[1]];
    // Sums of all kernels of both processes by what `key` makes of one.
    let kernels = |key: &dyn Fn(u32, &Kernel) -> Option<String>| {
        let mut expected: BTreeMap<String, (u64, u128)> = BTreeMap::new();
        for pid in [41, 42] {
            for kernel in &story(pid).kernels {
                if let Some(key) = key(pid, kernel) {
                    let entry = expected.entry(key).or_default();
                    *entry = (entry.0 + 1, entry.1 + (kernel.end - kernel.start) as u128);
                }
            }
        }
        expected
    };
    let check = |keys: &str, key: &dyn Fn(u32, &Kernel) -> Option<String>| {
        let [gpu, _] = totals(&[&["--group-by", keys], &both[..]].concat());
        let gpu: BTreeMap<_, _> = gpu.into_iter().filter(|(name, _)| !name.contains("[CUDA mem")).collect();
        assert_eq!(gpu, kernels(key), "{keys}");
    };
    let name = |k: &Kernel| String::from_utf8_lossy(&k.name.demangled).into_owned();
    let base = |k: &Kernel| String::from_utf8_lossy(&k.name.base).into_owned();
    check("name", &|_, k| Some(name(k)));
    check("base-name", &|_, k| Some(base(k)));
    check("grid", &|_, k| Some(format!("{} ({} 1 1) (256 1 1)", name(k), k.grid[0])));
    check("process,name", &|pid, k| Some(format!("process {pid}: {}", name(k))));
    check("name,process", &|pid, k| Some(format!("process {pid}: {}", name(k))));
    check("device,base-name", &|pid, k| Some(format!("process {pid}, GPU {}: {}", k.device, base(k))));
    check("stream,name", &|pid, k| {
        Some(format!("process {pid}, GPU {}, context {}, stream {}: {}", k.device, k.context, k.stream, name(k)))
    });
    // Without a name, all work of a place is one row.
    let [gpu, _] = totals(&[&["--group-by", "process"], &both[..]].concat());
    let whole: u64 = story(41).gpu_totals().values().map(|(count, _)| count).sum();
    assert_eq!(
        gpu.iter().map(|(name, (count, _))| (name.as_str(), *count)).collect::<Vec<_>>(),
        [("process 41", whole), ("process 42", whole)]
    );
    let [gpu, _] = totals(&["--group-by", "device", &paths[0]]);
    assert_eq!(gpu.keys().collect::<Vec<_>>(), ["GPU 0", "GPU 1"]);
    assert_eq!(gpu.values().map(|(count, _)| count).sum::<u64>(), whole);
    let [gpu, _] = totals(&["--group-by", "stream", &paths[0]]);
    assert_eq!(gpu.len(), 4, "{gpu:?}");
    assert!(gpu.contains_key("GPU 1, context 2, stream 8"), "{gpu:?}");
}

#[test]
fn percentiles_are_exact_by_nearest_rank() {
    let folder = TempFolder::new("cli-percentiles");
    let mut story = Story::empty();
    let mut random = Random(5);
    // 1 to 200 us in no order; one of 5 s, more than 32 bits of ns, on its own.
    let mut durations: Vec<i64> = (1..=200).map(|micros| micros * 1_000).collect();
    random.shuffle(&mut durations);
    for (i, duration) in durations.into_iter().enumerate() {
        story = story.with_kernel(Name::plain("k"), 1_000_000 * (i as i64 + 1), duration);
    }
    for (i, duration) in [5_000_000_000, 6_000_000_000, 7].into_iter().enumerate() {
        story = story.with_kernel(Name::plain("long"), 1_000_000_000_000 + 10_000_000_000 * i as i64, duration);
    }
    for bytes in [
        native(&story),
        native_with(&story, Native { rows_per_frame: 13, ..Native::default() }),
        nsys(&story, NsysEra::Of2026),
    ] {
        let path = folder.argument("t", &bytes);
        let document = json(&["--percentiles", &path]);
        let columns = ["Min (ns)", "P50 (ns)", "P95 (ns)", "P99 (ns)", "Max (ns)"];
        let values = |row: &Value| columns.map(|column| row[column].as_u64().expect("a number"));
        let rows = rows(&document, "gpu_summary");
        assert_eq!(values(&rows[0]), [7, 5_000_000_000, 6_000_000_000, 6_000_000_000, 6_000_000_000]);
        assert_eq!(values(&rows[1]), [1_000, 100_000, 190_000, 198_000, 200_000]);
    }
    // Without --format, they are columns of a table for people.
    let text =
        gpuprof(&["report", "--percentiles", "--print-gpu-summary", &folder.argument("t", &native(&story))]).stdout;
    assert!(text.contains("P95 (ns)") && text.contains("190,000"), "{text}");
}

#[test]
fn per_process_prints_one_result_for_each() {
    let folder = TempFolder::new("cli-per-process");
    let paths = [77, 78].map(|pid| {
        let story = Story { pid, ..Story::sample(u64::from(pid) - 70) };
        folder.argument(&format!("{pid}.gpuprof"), &native(&story))
    });
    let alone = [0, 1].map(|i| gpuprof(&["report", "--no-insights", &paths[i]]).stdout);
    let text = gpuprof(&["report", "--per-process", &paths[0], &paths[1]]).stdout;
    let expected =
        [77, 78].into_iter().zip(&alone).map(|(pid, text)| text.replace("======== ", &format!("=={pid}== ")));
    assert_eq!(text, expected.collect::<String>());
    // Merged, every count is the sum.
    let merged = totals(&[&paths[0], &paths[1]]);
    let parts = [0, 1].map(|i| totals(&[&paths[i]]));
    for (table, totals) in merged.iter().enumerate() {
        for (name, &(count, _)) in totals {
            let part = |i: usize| parts[i][table].get(name).map_or(0, |(count, _)| *count);
            assert_eq!(count, part(0) + part(1), "{name}");
        }
    }
    let [gpu, api] = totals(&["--per-process", &paths[0], &paths[1]]);
    assert!(gpu.keys().chain(api.keys()).all(|name| name.starts_with("process 7")), "{gpu:?}");
}
