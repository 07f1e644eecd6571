//! `gpuprof export --format folded|flamegraph|speedscope`, read back by readers of their own: every nanosecond of GPU
//! work is there, every slice, and names cannot break anything.

use crate::common::build::*;
use crate::common::{TempFolder, gpuprof, gpuprof_in, gpuprof_with, refused, shared, skip};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

/// Exports to the standard output.
fn export(format: &str, path: &str, more: &[&str]) -> String {
    gpuprof(&[&["export", "--format", format, path, "-o", "-"], more].concat()).stdout
}

/// Stack and count of every line of a folded file.
fn folded(text: &str) -> BTreeMap<String, u128> {
    let mut stacks = BTreeMap::new();
    for line in text.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no count: {line}"));
        let count = count.parse().unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(stacks.insert(stack.to_owned(), count).is_none(), "twice: {stack}");
    }
    stacks
}

/// Sums by the last frame.
fn by_leaf(stacks: &BTreeMap<String, u128>) -> BTreeMap<String, u128> {
    let mut sums = BTreeMap::new();
    for (stack, count) in stacks {
        *sums.entry(stack.rsplit(';').next().unwrap().to_owned()).or_default() += count;
    }
    sums
}

fn totals(story: &Story) -> BTreeMap<String, u128> {
    story.gpu_totals().into_iter().map(|(name, (_, total))| (name, total)).collect()
}

/// Kernels, copies and fills: correlation, duration, name, device, context, stream.
fn work(story: &Story) -> Vec<(u64, i64, String, [u32; 3])> {
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let kernels = story.kernels.iter();
    let kernels =
        kernels.map(|k| (k.correlation, k.end - k.start, text(&k.name.demangled), [k.device, k.context, k.stream]));
    let word = |kind| match kind {
        1 => "HtoD",
        2 => "DtoH",
        _ => "DtoD",
    };
    let copies = story.copies.iter();
    let copies = copies.map(|c| {
        (c.correlation, c.end - c.start, format!("[CUDA memcpy {}]", word(c.kind)), [c.device, c.context, c.stream])
    });
    let fills = story.fills.iter();
    let fills = fills
        .map(|f| (f.correlation, f.end - f.start, "[CUDA memset]".to_owned(), [f.device, f.context, f.stream]));
    kernels.chain(copies).chain(fills).collect()
}

/// The stack of a piece of work, found the slow way.
fn expected_stack(story: &Story, correlation: u64, name: &str) -> String {
    let Some(call) = story.calls.iter().find(|call| correlation != 0 && call.correlation == correlation) else {
        return format!("process {};[unknown launch];{name}", story.pid);
    };
    let mut around: Vec<&NvtxRange> = story
        .ranges
        .iter()
        .filter(|r| r.style != 2 && r.tid == call.tid)
        .filter(|r| r.start <= call.start && r.end.is_none_or(|end| call.end <= end))
        .collect();
    around.sort_by_key(|r| (r.start, std::cmp::Reverse(r.end.unwrap_or(i64::MAX))));
    let mut stack = format!("process {};thread {} \"python\";", story.pid, call.tid);
    for range in around {
        let domain = range.domain.as_ref().map_or(String::new(), |domain| format!("{domain}:"));
        stack += &format!("{domain}{};", range.name);
    }
    format!("{stack}{};{name}", call.function.0.split("_v").next().unwrap())
}

#[test]
fn folded_stacks_say_where_every_nanosecond_was_launched() {
    let mut story = Story::sample(60).with_ranges();
    // A graph: one call, many kernels. And work whose call was not recorded.
    let launch = story.kernels[8].correlation;
    for kernel in &mut story.kernels[9..14] {
        kernel.correlation = launch;
    }
    story.kernels[30].correlation = 999_999;
    let folder = TempFolder::new("folded");
    for (kind, bytes) in [
        ("native", native(&story)),
        ("small frames", native_with(&story, Native { rows_per_frame: 7, ..Native::default() })),
        ("nsys", nsys(&story, NsysEra::Of2026)),
    ] {
        let path = folder.argument("t", &bytes);
        let text = export("folded", &path, &[]);
        let mut expected: BTreeMap<String, u128> = BTreeMap::new();
        for (correlation, duration, name, _) in work(&story) {
            *expected.entry(expected_stack(&story, correlation, &name)).or_default() += duration as u128;
        }
        assert_eq!(folded(&text), expected, "{kind}");
        assert!(text.lines().is_sorted_by_key(|line| line.rsplit_once(' ').unwrap().0));
        assert_eq!(by_leaf(&folded(&text)), totals(&story), "{kind}");
    }
}

#[test]
fn folded_stacks_by_stream_say_where_it_ran() {
    let story = Story::sample(60);
    let folder = TempFolder::new("folded-stream");
    let text = export("folded", &folder.argument("t", &native(&story)), &["--option", "by=stream"]);
    let mut expected: BTreeMap<String, u128> = BTreeMap::new();
    for (_, duration, name, [device, context, stream]) in work(&story) {
        let stack = format!("process 4242;GPU {device} (Tesla V100);context {context}, stream {stream};{name}");
        *expected.entry(stack).or_default() += duration as u128;
    }
    assert_eq!(folded(&text), expected);
    refused(
        &[
            "export",
            "--format",
            "folded",
            &folder.argument("t", &native(&story)),
            "-o",
            "-",
            "--option",
            "by=colour",
        ],
        &["by=colour", "by=range"],
    );
}

/// Total GPU time as `report` prints it.
fn reported_ns(path: &str) -> u128 {
    let answer = gpuprof_in(Path::new("."), &["report", "--csv", "-u", "ns", path]);
    // Tables of ranges follow, which count the same work again.
    let summary = answer.stdout.split("======== NVTX result").next().unwrap();
    let activities = summary.lines().filter(|line| line.starts_with("\"GPU activities\""));
    let whole = |line: &str| line.split(',').nth(2).and_then(|ns| ns.split('.').next()?.parse::<u128>().ok());
    activities.map(|line| whole(line).unwrap_or_else(|| panic!("{line}"))).sum()
}

/// Files of the shared collection that hold GPU work, small enough for a test.
fn shared_traces(test: &str) -> Vec<String> {
    let Some(shared) = shared(test) else { return Vec::new() };
    let mut paths = Vec::new();
    for folder in ["nsys", "nvprof", "torch"] {
        let entries = std::fs::read_dir(shared.join("data").join(folder)).expect("the collection");
        let files = entries.map(|entry| entry.unwrap().path());
        paths.extend(files.filter(|path| {
            let name = path.to_str().unwrap();
            [".sqlite", ".nvvp", ".json.gz"].iter().any(|end| name.ends_with(end)) && !name.contains("probe")
        }));
    }
    paths.sort();
    paths.into_iter().map(|path| path.to_str().unwrap().to_owned()).collect()
}

#[test]
fn folded_stacks_of_the_collection_add_up_to_what_report_says() {
    let (mut files, mut sum) = (0, 0);
    for path in shared_traces("folded stacks of the collection") {
        let expected = reported_ns(&path);
        for by in ["by=range", "by=stream"] {
            let answer =
                gpuprof_in(Path::new("."), &["export", "--format", "folded", &path, "-o", "-", "--option", by]);
            assert!(answer.status == 0, "{path}: {}", answer.stderr);
            assert_eq!(folded(&answer.stdout).values().sum::<u128>(), expected, "{path} {by}");
        }
        files += usize::from(expected > 0);
        sum += expected;
    }
    eprintln!("{files} files with GPU work, {sum} ns in all");
}

/// A profile of a speedscope file that passed the checks.
struct Profile {
    name: String,
    /// Slices by name: how many, and their lengths together.
    slices: BTreeMap<String, (u64, u128)>,
    /// How deep they lie in each other.
    depth: usize,
}

/// Reads a speedscope file as strictly as its documentation asks for.
fn speedscope(text: &str) -> (BTreeMap<Vec<String>, u128>, Vec<Profile>) {
    let file: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
    let frames: Vec<&str> =
        file["shared"]["frames"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    let unique: std::collections::BTreeSet<_> = frames.iter().collect();
    assert_eq!(unique.len(), frames.len(), "a frame is in the table twice");
    let name = |index: &Value| frames[index.as_u64().unwrap() as usize].to_owned();
    let (mut sampled, mut evented) = (BTreeMap::new(), Vec::new());
    for profile in file["profiles"].as_array().unwrap() {
        assert_eq!((&profile["unit"], &profile["startValue"]), (&"nanoseconds".into(), &0.into()));
        let end = profile["endValue"].as_u64().unwrap();
        if profile["type"] == "sampled" {
            let (samples, weights) =
                (profile["samples"].as_array().unwrap(), profile["weights"].as_array().unwrap());
            assert_eq!(samples.len(), weights.len());
            let mut sum = 0;
            for (sample, weight) in samples.iter().zip(weights) {
                let stack = sample.as_array().unwrap().iter().map(name).collect();
                let weight = weight.as_u64().unwrap();
                sum += weight;
                // Of the same work there may be other views, and beside it time of the CPU.
                if profile["name"] == "GPU time by range" {
                    *sampled.entry(stack).or_default() += u128::from(weight);
                }
            }
            assert_eq!(sum, end, "of profile {}", profile["name"]);
            continue;
        }
        let mut found =
            Profile { name: profile["name"].as_str().unwrap().to_owned(), slices: BTreeMap::new(), depth: 0 };
        let (mut open, mut now) = (Vec::new(), 0);
        for event in profile["events"].as_array().unwrap() {
            let at = event["at"].as_u64().unwrap();
            assert!(at >= now, "{}: back from {now} to {at}", found.name);
            now = at;
            let frame = name(&event["frame"]);
            match event["type"].as_str().unwrap() {
                "O" => {
                    open.push((frame, at));
                    found.depth = found.depth.max(open.len());
                }
                _ => {
                    let (opened, since) = open.pop().expect("something is open");
                    assert_eq!(opened, frame, "{}: closed out of order at {at}", found.name);
                    let entry = found.slices.entry(frame).or_default();
                    *entry = (entry.0 + 1, entry.1 + u128::from(at - since));
                }
            }
        }
        assert!(open.is_empty() && now <= end, "{}", found.name);
        evented.push(found);
    }
    (sampled, evented)
}

/// Slices of all profiles whose name passes.
fn slices(profiles: &[Profile], of: impl Fn(&str) -> bool) -> BTreeMap<String, (u64, u128)> {
    let mut all: BTreeMap<String, (u64, u128)> = BTreeMap::new();
    for (name, (count, total)) in profiles.iter().filter(|p| of(&p.name)).flat_map(|p| &p.slices) {
        let entry = all.entry(name.clone()).or_default();
        *entry = (entry.0 + count, entry.1 + total);
    }
    all
}

#[test]
fn speedscope_has_every_slice_once_and_nested() {
    let mut story = Story::sample(60).with_ranges();
    // Kernels of one stream that overlap, as programmatic dependent launches do.
    for i in [4, 8, 12] {
        story.kernels[i].end = story.kernels[i + 4].start + 500;
    }
    let folder = TempFolder::new("speedscope");
    let text = export("speedscope", &folder.argument("t", &native(&story)), &[]);
    let (sampled, profiles) = speedscope(&text);
    let mut expected: BTreeMap<String, u128> = BTreeMap::new();
    for (correlation, duration, name, _) in work(&story) {
        *expected.entry(expected_stack(&story, correlation, &name)).or_default() += duration as u128;
    }
    let joined: BTreeMap<String, u128> = sampled.into_iter().map(|(stack, ns)| (stack.join(";"), ns)).collect();
    assert_eq!(joined, expected);
    assert_eq!(slices(&profiles, |name| name.starts_with("GPU")), story.gpu_totals());
    let streams: Vec<&Profile> = profiles.iter().filter(|p| p.name.starts_with("GPU")).collect();
    assert!(streams.iter().all(|p| p.depth == 1), "nothing is inside a kernel");
    let names: Vec<&str> = streams.iter().map(|p| p.name.as_str()).collect();
    let mut first: Vec<&str> = names.iter().map(|name| name.split(" (over").next().unwrap()).collect();
    first.dedup();
    let stream =
        |device: u32, stream: u32| format!("GPU {device} (Tesla V100), context {}, stream {stream}", device + 1);
    assert_eq!(first, [stream(0, 7), stream(0, 8), stream(1, 7), stream(1, 8)]);
    assert_eq!(names[..2], [stream(0, 7), format!("{} (overlapping, 2)", stream(0, 7))]);
    assert!(!names.iter().any(|name| name.ends_with(", 3)")), "two lanes are enough: {names:?}");
    let threads = slices(&profiles, |name| name.starts_with("thread"));
    let mut expected = story.api_totals();
    let last =
        story.calls.iter().map(|c| c.end).chain(work_ends(&story)).chain(story.ranges.iter().filter_map(|r| r.end));
    let last = last.max().unwrap();
    for range in story.ranges.iter().filter(|r| r.style != 2) {
        let name = range.domain.as_ref().map_or(range.name.clone(), |domain| format!("{domain}:{}", range.name));
        expected.insert(name, (1, (range.end.unwrap_or(last) - range.start) as u128));
    }
    assert_eq!(threads, expected);
    let deepest = profiles.iter().find(|p| p.name == format!("thread {THREAD} \"python\"")).unwrap().depth;
    assert_eq!(deepest, 3, "a call in a range in a range");
}

fn work_ends(story: &Story) -> impl Iterator<Item = i64> {
    let kernels = story.kernels.iter().map(|k| k.end);
    kernels.chain(story.copies.iter().map(|c| c.end)).chain(story.fills.iter().map(|f| f.end))
}

#[test]
fn speedscope_of_the_collection_has_as_many_slices_as_the_traces() {
    for path in shared_traces("speedscope of the collection") {
        let truth: Value = serde_json::from_slice(&std::fs::read(format!("{path}.truth.json")).unwrap()).unwrap();
        let sum = |list: &str, field: &str| -> u64 {
            truth[list].as_array().into_iter().flatten().map(|entry| entry[field].as_u64().unwrap_or(0)).sum()
        };
        let answer = gpuprof_in(Path::new("."), &["export", "--format", "speedscope", &path, "-o", "-"]);
        if answer.status == 1 {
            continue;
        }
        assert_eq!(answer.status, 0, "{path}: {}", answer.stderr);
        let (sampled, profiles) = speedscope(&answer.stdout);
        assert_eq!(sampled.values().sum::<u128>(), reported_ns(&path), "{path}");
        let all: u64 = slices(&profiles, |name| name.contains("stream")).values().map(|(count, _)| count).sum();
        let ns: u128 = slices(&profiles, |name| name.contains("stream")).values().map(|(_, ns)| ns).sum();
        assert_eq!(ns, reported_ns(&path), "{path}");
        if path.contains("/nsys/") {
            let expected = ["kernels", "memcpy", "memset"].map(|list| sum(list, "count")).iter().sum::<u64>();
            assert_eq!(all, expected, "{path}");
        }
    }
}

/// Names that want to break something.
fn hostile() -> Story {
    let mut story = Story::sample(12).with_ranges();
    let names: Vec<Vec<u8>> = vec![
        b"</script><script>alert(1)</script>".to_vec(),
        b"\"quotes\" & 'more' <b>".to_vec(),
        b"two\nlines;and a semicolon\r\n".to_vec(),
        b"=cmd()".to_vec(),
        [b"long ".as_slice(), &b"x".repeat(65_536)].concat(),
        b"\xff\xfe not UTF-8".to_vec(),
        b"\x01\x1b[31mcontrol\x7f 12".to_vec(),
        "\u{2028}separators\u{2029}\u{ffff}".into(),
        b" 77".to_vec(),
        b"\t \n".to_vec(),
        b"--".to_vec(),
        b"]]>".to_vec(),
    ];
    for (kernel, name) in story.kernels.iter_mut().zip(&names) {
        kernel.name = Name::plain(name);
    }
    for (range, name) in story.ranges.iter_mut().zip(["</title><x>", "a;b 5\n", "\u{1}", "{\"x\":", "\\"]) {
        range.name = name.to_owned();
    }
    story.threads[0].1 = "<py>;\"thread\" 3".to_owned();
    story.devices[0] = "Tesla </svg>; 1".to_owned();
    story
}

#[test]
fn hostile_names_break_nothing() {
    let story = hostile();
    let folder = TempFolder::new("hostile-stacks");
    let path = folder.argument("</title> & t.gpuprof", &native(&story));
    let total: u128 = totals(&story).values().sum();
    for by in ["by=range", "by=stream"] {
        let text = export("folded", &path, &["--option", by]);
        let stacks = folded(&text);
        assert_eq!(stacks.values().sum::<u128>(), total);
        assert!(!text.contains(|c: char| c != '\n' && (c.is_control() || c == '\u{2028}')));
        // Every stack is as deep as it is, whatever its names hold: process, GPU, stream, kernel.
        assert!(by == "by=range" || stacks.keys().all(|stack| stack.split(';').count() == 4), "{stacks:?}");
    }
    let (sampled, profiles) = speedscope(&export("speedscope", &path, &[]));
    assert_eq!(sampled.values().sum::<u128>(), total);
    let work = slices(&profiles, |name| name.starts_with("GPU"));
    assert_eq!(work.values().map(|(_, ns)| ns).sum::<u128>(), total);
    assert!(work.contains_key("</script><script>alert(1)</script>"), "JSON carries every name as it is");
    assert!(work.keys().any(|name| name.len() > 65_536));
    for by in ["by=range", "by=stream"] {
        let svg = export("flamegraph", &path, &["--option", by]);
        assert_eq!(flamegraph_total(&folder, &svg), Some(total).filter(|_| python()));
    }
}

fn python() -> bool {
    Command::new("python3").arg("--version").output().is_ok_and(|answer| answer.status.success())
}

/// What Python's XML reader finds in a flame graph: its total. `None` where there is no Python.
fn flamegraph_total(folder: &TempFolder, svg: &str) -> Option<u128> {
    if !python() {
        skip("flame graphs are XML", "no python3");
        return None;
    }
    let path = folder.argument("flame.svg", svg.as_bytes());
    let script = "import sys, xml.etree.ElementTree as E
root = E.parse(sys.argv[1]).getroot()
ns = '{http://www.w3.org/2000/svg}'
frames = root.find(f\"{ns}svg[@id='frames']\")
titles = [t.text for t in frames.iter(ns + 'title')]
scripts = list(root.iter(ns + 'script'))
assert len(scripts) == 1 and 'alert' not in scripts[0].text
assert any(t.startswith('all (') and t.endswith(' ns, 100%)') for t in titles), titles
print(frames.get('total_samples'))";
    let answer = Command::new("python3").args(["-c", script, &path]).output().unwrap();
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    Some(String::from_utf8_lossy(&answer.stdout).trim().parse().unwrap())
}

#[test]
fn a_flame_graph_is_as_wide_as_the_gpu_time() {
    let story = Story::sample(60).with_ranges();
    let folder = TempFolder::new("flamegraph");
    let path = folder.argument("t.gpuprof", &native(&story));
    let svg = export("flamegraph", &path, &[]);
    let total: u128 = totals(&story).values().sum();
    assert!(svg.contains(&format!("total_samples=\"{total}\"")));
    assert!(svg.contains("t.gpuprof") && svg.contains("saxpy(int, float, float*, float*)"));
    // Boxes show the beginning of a name.
    assert!(svg.contains("<title>scale&lt;float&gt; = void scale&lt;float&gt;(float*, int) ("), "{svg}");
    flamegraph_total(&folder, &svg);
    let wide = export(
        "flamegraph",
        &path,
        &["--option", "width=2000", "--option", "inverted=yes", "--option", "title=A <b>"],
    );
    assert!(wide.contains("width=\"2000\"") && wide.contains("A &lt;b&gt;"));
    let arguments = ["export", "--format", "flamegraph", &path, "-o", "-", "--option"];
    refused(&[&arguments[..], &["width=0"]].concat(), &["width=0", "200"]);
    refused(&[&arguments[..], &["min-width=NaN"]].concat(), &["min-width=NaN"]);
}

#[test]
fn nothing_to_draw_is_no_picture() {
    let folder = TempFolder::new("no-stacks");
    let path = folder.argument("t.gpuprof", &native(&Story::empty()));
    for format in ["flamegraph", "speedscope"] {
        let answer = gpuprof_in(Path::new("."), &["export", "--format", format, &path, "-o", "-"]);
        assert_eq!((answer.status, answer.stdout.as_str()), (1, ""), "{}", answer.stderr);
    }
    assert_eq!(export("folded", &path, &[]), "");
}

#[test]
fn output_names_choose_format_and_compression() {
    let story = Story::sample(20).with_ranges();
    let folder = TempFolder::new("stacks-names");
    let path = folder.argument("t.gpuprof", &native(&story));
    for (format, name) in [("folded", "o.folded"), ("flamegraph", "o.svg"), ("speedscope", "o.speedscope.json")] {
        let plain = export(format, &path, &[]);
        let output = folder.path().join(format!("{name}.gz"));
        gpuprof(&["export", &path, "-o", output.to_str().unwrap()]);
        let mut text = String::new();
        let bytes = std::fs::read(&output).unwrap();
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
        assert!(text == plain, "{name}");
    }
}

#[test]
fn threads_and_frames_change_no_byte() {
    let story = Story::sample(200).with_ranges();
    let folder = TempFolder::new("stacks-threads");
    let whole = folder.argument("a/t.gpuprof", &native(&story));
    let cut =
        folder.argument("b/t.gpuprof", &native_with(&story, Native { rows_per_frame: 9, ..Native::default() }));
    for format in ["folded", "flamegraph", "speedscope"] {
        let expected = export(format, &whole, &[]);
        for threads in ["1", "2", "7"] {
            let arguments = ["export", "--format", format, &cut, "-o", "-"];
            let answer = gpuprof_with(&[("RAYON_NUM_THREADS", threads)], &arguments);
            assert!(answer.stdout == expected, "{format} with {threads} threads: {}", answer.stderr);
        }
    }
}

#[test]
fn speedscope_files_obey_their_schema() {
    let folder = TempFolder::new("speedscope-schema");
    let mut files = Vec::new();
    for (name, story) in [("sample", Story::sample(40).with_ranges()), ("hostile", hostile())] {
        let path = folder.argument(&format!("{name}.gpuprof"), &native(&story));
        files.push(folder.argument(&format!("{name}.json"), export("speedscope", &path, &[]).as_bytes()));
    }
    let cache = std::env::var_os("GPUPROF_INTEROP_CACHE")
        .map_or_else(|| Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop"), std::path::PathBuf::from);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/speedscope_schema.py");
    let answer = Command::new("python3").arg(script).arg(cache).args(&files).output();
    let test = "speedscope's schema";
    match answer {
        Err(error) => skip(test, &format!("python3: {error}")),
        Ok(answer) if answer.status.code() == Some(3) => {
            skip(test, String::from_utf8_lossy(&answer.stdout).trim());
        }
        Ok(answer) => {
            let printed = [answer.stdout, answer.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            assert!(answer.status.success(), "{}", printed.concat());
            assert_eq!(printed[0].trim(), "valid: 2");
        }
    }
}
