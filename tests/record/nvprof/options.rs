//! Every option of nvprof 11.8.

use super::bench::Bench;
use crate::common::tools::{nvidia, with_nvidia};
use gpuprof::cli::nvprof::{Argument, Does, NvprofOption, OPTIONS, PAGE, page};

/// An argument that nvprof takes, one that makes a difference.
fn value(option: &NvprofOption) -> Option<String> {
    Some(match (option.name, option.argument) {
        (_, Argument::None) => return None,
        ("concurrent-kernels", _) => "off".to_owned(),
        ("profile-from-start" | "openacc-profiling" | "demangling", Argument::Switch) => "on".to_owned(),
        (_, Argument::Switch) => "on".to_owned(),
        ("cpu-profiling-scope", _) => "instruction".to_owned(),
        ("annotate-mpi", _) => "openmpi".to_owned(),
        (_, Argument::Word(words)) => words[0].to_owned(),
        (_, Argument::Number(least, most)) => least.max(10).min(most).to_string(),
        ("devices", _) => "0".to_owned(),
        ("kernels", _) => "1:foo:bar:2".to_owned(),
        ("trace", _) => "gpu,api".to_owned(),
        ("log-file", _) => "%2".to_owned(),
        ("export-profile", _) => "all-options.nvvp".to_owned(),
        (_, Argument::Text(_)) => "text".to_owned(),
    })
}

#[test]
fn every_option_works_says_why_not_or_is_refused() {
    let bench = Bench::new();
    for option in OPTIONS {
        let value = value(option);
        let mut words = vec![format!("--{}", option.name)];
        words.extend(value.clone());
        let program = match option.name {
            "import-profile" | "profile-all-processes" => continue, // Files of their own test these.
            "print-dependency-analysis-trace" => "--dependency-analysis ./a.out 1",
            _ => "./a.out 1",
        };
        let ended = bench.run(&format!("nvprof -f {} {program}", words.join(" ")));
        let log = &ended.stderr;
        if let Does::Refused(why) = option.does {
            assert_eq!(ended.code(), Some(2), "{words:?}: {log}");
            assert_eq!(*log, format!("======== Error: --{}: {why}\n", option.name));
            assert_eq!(ended.stdout, "", "{words:?}: the program is not run");
            continue;
        }
        assert_eq!(ended.code(), Some(0), "{words:?}: {log}");
        if matches!(option.name, "help" | "version") {
            assert!(ended.stdout.contains("nvprof"), "{words:?}: {}", ended.stdout);
            continue;
        }
        assert!(ended.stdout.starts_with("{\"kernels\":1,"), "{words:?}: {}", ended.stdout);
        let shown = value.map(|value| format!(" \"{value}\"")).unwrap_or_default();
        let says = format!("Warning: The option --{}{shown} has no effect: ", option.name);
        let sampler = matches!(option.name, "system-profiling" | "cpu-profiling");
        match option.does {
            Does::Says(why) => assert!(log.contains(&format!("{says}{why}.\n")), "{words:?}: {log}"),
            _ => assert!(sampler || !log.contains("has no effect"), "{words:?}: {log}"),
        }
        assert_eq!(log.is_empty(), option.name == "quiet", "{words:?}: {log}");
    }
    // One by one with another name.
    for (short, long) in OPTIONS.iter().filter_map(|option| Some((option.short?, option.name))) {
        let known = OPTIONS.iter().filter(|option| option.short == Some(short)).count();
        assert_eq!(known, 1, "-{short} is --{long} alone");
    }
}

#[test]
fn all_options_of_the_real_nvprof_are_there() {
    let Some(tools) = nvidia("all_options_of_the_real_nvprof_are_there") else { return };
    let help = with_nvidia(&tools, "nvprof --help", &[]);
    let name = |rest: &str| rest.split(' ').next().unwrap_or_default().to_owned();
    // `       --csv`, `  -e,  --events <event names>`: nothing else in it begins so.
    let heading = |line: &str| match line.strip_prefix("       --") {
        Some(rest) => Some((name(rest), None)),
        None => {
            let (letter, rest) = line.strip_prefix("  -")?.split_once(",  --")?;
            Some((name(rest), letter.chars().next()))
        }
    };
    let real: Vec<(String, Option<char>)> = help.lines().filter_map(heading).collect();
    let ours: Vec<(String, Option<char>)> =
        OPTIONS.iter().map(|option| (option.name.to_owned(), option.short)).collect();
    assert!(real.len() > 60, "{real:?}");
    assert_eq!(ours, real, "in the order of its help");
}

#[test]
fn the_command_line_is_read_as_nvprof_reads_it() {
    let bench = Bench::new();
    let help = "======== Use \"nvprof --help\" to get more information.\n";
    let invalid = |what: &str| format!("======== Error: Encountered invalid option : {what}\n{help}");
    let missing = |what: &str| {
        format!(
            "======== Error: Missing argument for option : {what}\n======== Error: missing command-line arguments.\n"
        )
    };
    for (line, expected) in [
        ("nvprof", "======== Error: no application specified.\n".to_owned()),
        ("nvprof --bogus ./a.out", invalid("--bogus")),
        ("nvprof --print-gpu ./a.out", invalid("--print-gpu")),
        ("nvprof --csv=on ./a.out", invalid("--csv=on")),
        ("nvprof --demangling maybe ./a.out", invalid("maybe")),
        ("nvprof --demangling ./a.out", invalid("./a.out")),
        ("nvprof -u fortnight ./a.out", invalid("fortnight")),
        ("nvprof --timeout x ./a.out", invalid("x")),
        ("nvprof -ox2.nvvp ./a.out", invalid("x")),
        ("nvprof -us ./a.out", missing("-us")),
        ("nvprof --log-file 'a%x' ./a.out", invalid("a%x")),
        ("nvprof -o 'y%x' ./a.out", invalid("y%x")),
        ("nvprof --kernels", missing("--kernels")),
        ("nvprof --log-file - ./a.out", missing("--log-file")),
        (
            "nvprof --log-file '%q{NOPE}' ./a.out",
            "======== Error: cannot find environment variable \"NOPE\"\n".to_owned(),
        ),
        (
            "nvprof --print-gpu-trace --print-gpu-summary ./a.out",
            format!("======== Error: Use either the print summary options or the print trace options.\n{help}"),
        ),
        (
            "nvprof --print-dependency-analysis-trace ./a.out",
            format!(
                "======== Error: Showing dependency analysis trace requires dependency analysis to be enabled.\n{help}"
            ),
        ),
        (
            "nvprof --profile-child-processes --cpu-profiling on ./a.out",
            format!("======== Error: CPU profiling is not supported in \"profile-child-processes\" mode.\n{help}"),
        ),
    ] {
        for line in [line.to_owned(), line.replacen("nvprof", "gpuprof nvprof", 1)] {
            let ended = bench.run(&line);
            assert_eq!(ended.code(), Some(2), "{line}: {}", ended.stderr);
            assert_eq!(ended.stderr, expected, "{line}");
        }
    }
    // Letters in a row, an argument after a sign, the end of options, options of the application.
    for line in
        ["nvprof -fso x.nvvp ./a.out 1", "nvprof --demangling=off -- ./a.out 1", "nvprof ./a.out 1 64 --csv --help"]
    {
        let ended = bench.run(line);
        assert_eq!(ended.code(), Some(0), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(" GPU activities:  "), "{line}: {}", ended.stderr);
    }
}

#[test]
fn the_page_of_options_is_fresh() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let (begin, end) = ("<!-- options: generated from src/cli/nvprof/table.rs -->\n", "<!-- end of options -->");
    let text = std::fs::read_to_string(&path).expect("the page");
    let (before, rest) = text.split_once(begin).expect("the mark before the table");
    let (table, after) = rest.split_once(end).expect("the mark after the table");
    if std::env::var_os("GPUPROF_BLESS").is_some() {
        std::fs::write(&path, format!("{before}{begin}{}{end}{after}", page())).expect("the page");
        return;
    }
    assert!(table == page(), "{PAGE} is stale: run GPUPROF_BLESS=1 cargo test --test record");
}
