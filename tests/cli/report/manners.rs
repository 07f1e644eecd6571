//! What is asked for in a way that cannot be answered is refused with the way that can, and nothing is ignored.

use super::*;
use std::io::Write as _;

fn sample(name: &str) -> (TempFolder, String) {
    let folder = TempFolder::new(name);
    let path = folder.argument("run.gpuprof", &native(&Story::sample(20).with_ranges()));
    (folder, path)
}

#[test]
fn what_would_be_ignored_is_refused() {
    let (_folder, path) = sample("cli-manners");
    let none = gpuprof_in(Path::new("."), &["report", &path, "--top", "0"]);
    assert!(none.status == 2 && none.stderr.contains("0 rows show nothing"), "{}", none.stderr);
    refused(&["report", &path, "--view", "cuda_gpu_kern_sum", "-u", "ms"], &["-u", "views"]);
    refused(&["report", &path, "--format", "csv", "-u", "ms"], &["-u"]);
    refused(&["report", &path, "--view", "nvtx_sum", "--nvtx"], &["--nvtx", "nvtx_sum"]);
    refused(&["report", &path, "--filter", "devise=1"], &["devise", "device", "kernel=devise=1"]);
    refused(&["report", &path, "--filter", "a", "--filter", "kernel=b"], &["--filter kernel=gemm"]);
}

#[test]
fn a_view_in_the_place_of_a_command_is_told_where_it_belongs_and_a_file_is_reported_on() {
    let (_folder, path) = sample("cli-manners-command");
    let (word, remedy) = ("cuda_gpu_kern_sum", "gpuprof report --view cuda_gpu_kern_sum TRACE");
    let answer = gpuprof_in(Path::new("."), &[word]);
    assert!(answer.status == 2 && answer.stderr.contains(remedy), "{word}: {}", answer.stderr);
    assert_eq!(gpuprof(&[&path]).stdout, gpuprof(&["report", &path]).stdout);
    refused(&["report", "cuda_gpu_kern_sum"], &["name of a view", "report --view cuda_gpu_kern_sum TRACE"]);
    let unknown = gpuprof_in(Path::new("."), &["reprot"]);
    assert!(unknown.status == 2 && unknown.stderr.contains("report"), "{}", unknown.stderr);
}

#[test]
fn a_trace_is_read_from_the_standard_input() {
    let (folder, path) = sample("cli-manners-stdin");
    let spools = || {
        let entries = folder.path().read_dir().expect("a folder").flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("gpuprof-stdin")).count()
    };
    let run = |bytes: &[u8]| {
        let mut program = command(&["report", "-"]);
        program.current_dir(folder.path()).env("TMPDIR", folder.path());
        let mut child =
            program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("gpuprof");
        let _ = child.stdin.take().expect("a pipe").write_all(bytes);
        child.wait_with_output().expect("an answer")
    };
    let answer = run(&std::fs::read(&path).expect("the trace"));
    assert_eq!(String::from_utf8_lossy(&answer.stdout), gpuprof(&["report", &path]).stdout);
    let nothing = run(b"");
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("nothing came from the standard input"));
    assert_eq!((nothing.status.code(), spools()), (Some(2), 0));
}

#[test]
fn a_filter_without_a_key_goes_for_api_calls_too() {
    let (_folder, path) = sample("cli-manners-filter");
    let all = totals(&[&path]);
    let called = |name: &str| BTreeMap::from([(name.to_owned(), all[1][name])]);
    let name = all[1].keys().find(|name| !name.contains("Launch")).expect("a call that launches no kernel");
    assert_eq!(totals(&["--filter", &format!("^{name}$"), &path]), [BTreeMap::new(), called(name)]);
    // With its key the calls, and what they launched; kernels by name, and the calls that launched them.
    let [work, calls] = totals(&["--filter", "api=Launch", &path]);
    assert!(!work.is_empty() && work.keys().all(|name| !name.starts_with("[CUDA")), "{work:?}");
    assert!(!calls.is_empty() && calls.keys().all(|name| name.contains("Launch")), "{calls:?}");
}

#[test]
fn a_star_in_a_range_stands_for_anything() {
    let (_folder, path) = sample("cli-manners-range");
    assert_eq!(totals(&["--range", "for*", &path]), totals(&["--range", "forward", &path]));
    assert_eq!(totals(&["--range", "s*p", &path]), totals(&["--range", "step", &path]));
    let nothing = gpuprof_in(Path::new("."), &["report", "--range", "f*x", &path]);
    assert_eq!(nothing.status, 1, "{}", nothing.stdout);
}

#[test]
fn several_tables_in_one_stream_have_names() {
    let (_folder, path) = sample("cli-manners-tables");
    let csv = gpuprof(&["report", "--format", "csv", &path]).stdout;
    let heads: Vec<&str> = csv.lines().filter(|line| line.starts_with("# ")).collect();
    assert_eq!(heads, ["# gpu_summary", "# api_summary"], "{csv}");
    let markdown = gpuprof(&["report", "--format", "markdown", &path]).stdout;
    assert!(markdown.contains("### API calls (api_summary)\n\n| "), "{markdown}");
    let one = gpuprof(&["report", "--format", "csv", "--print-api-summary", &path]).stdout;
    assert!(one.starts_with("Time (%),"), "{one}");
}

#[test]
fn what_is_piped_is_never_cut() {
    let folder = TempFolder::new("cli-manners-wide");
    let long = "k".repeat(300);
    let name = Name { mangled: long.clone().into_bytes(), ..sample_names()[0].clone() };
    let path = folder.argument("run.gpuprof", &native(&Story::empty().with_kernel(name, 1_000, 500)));
    for options in [&["--view", "cuda_gpu_kern_sum"][..], &["--print-gpu-summary"], &["--print-gpu-trace"]] {
        let text = gpuprof_with(&[("COLUMNS", "80")], &[&["report", &path], options].concat()).stdout;
        assert!(text.contains(&long), "{options:?}: {text}");
    }
    let text = gpuprof_with(&[("COLUMNS", "80")], &["query", &path, "SELECT name FROM kernels_by_name"]).stdout;
    assert!(text.contains(&long), "{text}");
}

#[test]
fn gaps_print_times_that_from_and_to_take() {
    let (_folder, path) = sample("cli-manners-gaps");
    let sql = "SELECT from_time, to_time, device FROM gaps ORDER BY duration_ns DESC LIMIT 1";
    let csv = gpuprof(&["query", &path, sql, "--format", "csv"]).stdout;
    let cells: Vec<&str> = csv.lines().nth(1).expect("a gap").split(',').collect();
    // No work begins inside the gap, and some does where it ends.
    let device = format!("device={}", cells[2]);
    let on_it = ["report", &path, "--print-gpu-summary", "--filter", &device, "--from"];
    let inside = gpuprof_in(Path::new("."), &[&on_it[..], &[cells[0], "--to", cells[1]]].concat());
    assert!(!inside.stdout.contains("GPU activities:"), "{cells:?}: {}", inside.stdout);
    let behind = gpuprof(&[&on_it[..], &[cells[1]]].concat()).stdout;
    assert!(behind.contains("GPU activities:"), "{cells:?}: {behind}");
}

#[test]
fn a_locale_without_utf_8_gets_ascii_for_people_and_the_bytes_for_machines() {
    let folder = TempFolder::new("cli-manners-ascii");
    let name = Name { mangled: "grün…".as_bytes().to_vec(), ..sample_names()[0].clone() };
    let path = folder.argument("run.gpuprof", &native(&Story::empty().with_kernel(name, 1_000, 500)));
    let in_c = |options: &[&str]| gpuprof_with(&[("LC_ALL", "C")], &[&["report", &path], options].concat()).stdout;
    for options in [&["--print-gpu-summary"][..], &["--view", "cuda_gpu_kern_sum"]] {
        let text = in_c(options);
        assert!(text.contains("gr?n...") && text.is_ascii(), "{options:?}: {text}");
    }
    assert!(in_c(&["--print-gpu-summary", "--csv"]).contains("grün…"));
    assert!(gpuprof_with(&[("LC_ALL", "C.UTF-8")], &["report", &path]).stdout.contains("grün…"));
}

#[test]
fn help_has_every_option_under_its_own_heading_and_names_commands_that_exist() {
    let help = gpuprof(&["record", "--help"]).stdout;
    let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("no {text}: {help}"));
    assert!(at("--stats") < at("Host stacks") && at("Host stacks") < at("--cpu-sampling"), "{help}");
    assert!(at("Arguments:") < at("Options:"), "{help}");
    let nvprof = gpuprof_in(Path::new("."), &["nvprof", "--help"]);
    assert!(!format!("{}{}", nvprof.stdout, nvprof.stderr).contains("query --sql"));
}
