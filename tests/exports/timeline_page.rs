//! The timeline page in a real browser: `tests/page/run.py` drives headless Chromium over pages made by the CLI. What the
//! page holds is checked in `timeline.rs`; here it is what a person sees and does.

use crate::common::build::{self, Kernel, Name, Story};
use crate::common::{TempFolder, command, gpuprof, shared, skip};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// What `run.py` ends with where there is no browser.
const NO_BROWSER: i32 = 77;

/// Runs all checks of `run.py` on a page; `expected`: records by table.
fn try_page(test: &str, folder: &TempFolder, page: &str, expected: &Value) {
    let expect = folder.argument("expected.json", expected.to_string().as_bytes());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/run.py");
    let run = Command::new("python3").arg(script).args([page, "--expect", &expect]).stdin(Stdio::null()).output();
    let run = match run {
        Ok(run) => run,
        Err(e) => return skip(test, &format!("no python3: {e}")),
    };
    let said = String::from_utf8_lossy(&run.stdout);
    if run.status.code() == Some(NO_BROWSER) {
        return skip(test, said.trim());
    }
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    eprintln!("{said}");
}

/// Writes the page of a trace and tries it.
fn try_trace(test: &str, folder: &TempFolder, trace: &str, expected: &Value) {
    let page = folder.path().join("page.html");
    let page = page.to_str().unwrap();
    gpuprof(&["timeline", trace, "-o", page]);
    try_page(test, folder, page, expected);
}

fn totals(story: &Story) -> Value {
    json!({
        "kernel": story.kernels.len(), "memcpy": story.copies.len(), "memset": story.fills.len(),
        "api": story.calls.len(), "range": story.ranges.len(),
    })
}

#[test]
fn a_page_does_what_a_person_wants() {
    let folder = TempFolder::new("page-sample");
    let story = Story::sample(20_000).with_ranges();
    let trace = folder.argument("a.gpuprof", &build::native(&story));
    try_trace("a_page_does_what_a_person_wants", &folder, &trace, &totals(&story));
}

#[test]
fn hostile_names_are_only_names() {
    let folder = TempFolder::new("page-hostile");
    let mut story = Story::sample(400);
    let names: [&[u8]; 10] = [
        b"</script><script>window.__hacked=1</script>",
        b"\"><img src=x onerror=\"window.__hacked=1\">",
        b"=cmd()|'/c calc'!A1",
        b"two\nlines\tand a bell\x07 and a nul\x00",
        b"/*SCRIPT*/<!--META--><!--TILES-->",
        b"${window.__hacked=1} `quoted` \\",
        b"__proto__",
        b"constructor",
        "\u{202e}txet \u{2028}".as_bytes(),
        b"not \xff\xfe UTF-8 \xc3",
    ];
    let long = vec![b'x'; 64 << 10];
    let all = names.into_iter().chain([&*long]);
    let plain: Vec<Name> = all.map(Name::plain).collect();
    let rename = |(i, kernel): (usize, Kernel)| Kernel { name: plain[i % plain.len()].clone(), ..kernel };
    story.kernels = story.kernels.into_iter().enumerate().map(rename).collect();
    let trace = folder.argument("<img src=x onerror=window.__hacked=1>.gpuprof", &build::native(&story));
    try_trace("hostile_names_are_only_names", &folder, &trace, &totals(&story));
}

#[test]
fn functions_of_cpu_samples_are_drawn_however_deep_they_are() {
    const DEEP: [&str; 40] = ["deep"; 40];
    let folder = TempFolder::new("page-functions");
    let story = Story::sample(400);
    let (mut samples, seen) = build::seen();
    samples.push(build::Sampled { start: 150_000_000, pid: 5000, tid: 5001, stack: &DEEP });
    for (name, trace) in [("app", build::native(&story)), ("launcher", build::launcher(&samples))] {
        folder.file(&format!("run/{name}.gpuprof"), &trace);
    }
    let mut expected = totals(&story);
    expected["sampled_function"] = json!(seen.len() + DEEP.len());
    let run = folder.path().join("run").display().to_string();
    try_trace("functions_of_cpu_samples_are_drawn_however_deep_they_are", &folder, &run, &expected);
}

#[test]
fn a_trace_of_nsight_systems_is_shown_whole() {
    let test = "a_trace_of_nsight_systems_is_shown_whole";
    let Some(shared) = shared(test) else { return };
    let trace = shared.join("data/nsys/cloverleaf_a100_2024.5_s3.13.sqlite");
    let truth = std::fs::read(trace.with_extension("sqlite.truth.json")).expect("the truth");
    let truth: Value = serde_json::from_slice(&truth).expect("the truth is JSON");
    let folder = TempFolder::new("page-nsys");
    try_trace(test, &folder, trace.to_str().unwrap(), &truth["records"]);
}

/// `gpuprof timeline --serve`, ended when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn pages_of_ranks_show_who_waited() {
    let folder = TempFolder::new("page-ranks");
    let run = folder.path().join("run");
    let mut kernels = 0;
    for rank in [0, 1] {
        let mut story = Story { pid: 500 + rank, rank: Some((rank, 2)), ..Story::empty() };
        story.devices.push("GPU".into());
        for at in 0..40_i64 {
            // Rank 1 works for longer each time, so that rank 0 waits; every collective ends on both at once.
            let (begin, works) = (1_000_000 + at * 5_000_000, if rank == 0 { 1_000_000 } else { 2_500_000 });
            let end = begin + 3_000_000 + at * at % 7 * 10_000;
            story = story.with_kernel(Name::plain("gemm"), begin, works);
            story = story.with_kernel(
                Name::plain("ncclDevKernel_AllReduce_Sum_f32_RING_LL(args)"),
                begin + works,
                end - begin - works,
            );
        }
        kernels += story.kernels.len();
        folder.file(&format!("run/rank{rank}.gpuprof"), &build::native(&story));
    }
    let run = run.to_str().expect("a path");
    try_trace("pages_of_ranks_show_who_waited", &folder, run, &json!({ "kernel": kernels }));
    let page = std::fs::read_to_string(folder.path().join("page.html")).expect("a page");
    let (_, waits) = page.split_once("\"waits\":").expect("waits");
    let waits: Value = serde_json::Deserializer::from_str(waits).into_iter().next().expect("JSON").expect("JSON");
    let of = |rank: usize| -> i64 {
        let bins = waits["ranks"][rank]["wait_ns"].as_array().expect("bins");
        bins.iter().map(|ns| ns.as_i64().expect("a number")).sum()
    };
    assert_eq!([of(0), of(1)], [40 * 1_500_000, 0]);
}

#[test]
fn a_served_page_does_the_same() {
    let folder = TempFolder::new("page-served");
    let story = Story::sample(20_000).with_ranges();
    let trace = folder.argument("a.gpuprof", &build::native(&story));
    let mut serve = command(&["timeline", "--serve", &trace]);
    let mut server = Server(serve.stdout(Stdio::piped()).stdin(Stdio::null()).spawn().expect("the server starts"));
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().expect("its output")).read_line(&mut line).expect("its address");
    let address = line.split_whitespace().find(|word| word.starts_with("http://")).expect("an address");
    try_page("a_served_page_does_the_same", &folder, address, &totals(&story));
}
