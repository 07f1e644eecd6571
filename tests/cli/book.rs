//! The book in `docs/` and the README tell the truth: their commands run, or can be parsed where they need what is not
//! here, and their links lead somewhere.

pub mod commands;
mod links;
mod pages;

use crate::common::build::{Story, native};
use crate::common::{TempFolder, answer, gpuprof, skip};
use crate::diff::trace;
use crate::ranks::with_slow;
use pages::{Fence, Page};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// What a command may need that tests do not have: `console,needs=WHAT`.
const NEEDS: &[(&str, &str)] = &[
    ("gpu", "a GPU and a program that uses it"),
    ("sim", "a program that uses CUDA: tests/record/book.rs runs them on the simulator"),
    ("cluster", "several machines, or the scheduler of a cluster"),
    ("container", "a container engine, or a cluster of containers"),
    ("file", "a file that is not part of this repository"),
    ("terminal", "somebody who types"),
    ("package", "the network, or the right to install"),
    ("source", "this repository and minutes: other tests and `.ci/run` run it"),
];

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder with traces under the names that the book uses.
fn workplace() -> TempFolder {
    let folder = TempFolder::new("book");
    let run = folder.argument("run.gpuprof", &native(&Story::sample(200).with_ranges()));
    for (name, seed, percent) in [("old", 1, 100), ("new", 2, 100), ("old-1", 3, 100), ("old-2", 4, 100)] {
        trace(&folder, &format!("{name}.gpuprof"), seed, percent);
    }
    for (name, seed) in [("new-1", 5), ("new-2", 6), ("run-1", 7), ("run-2", 8)] {
        trace(&folder, &format!("{name}.gpuprof"), seed, 100);
    }
    for name in ["run-a", "run-b"] {
        folder.file(&format!("{name}/1.gpuprof"), &native(&Story::sample(50)));
    }
    with_slow(4, 2, 1_500_000, 0).write(&folder, "run");
    for name in ["report1.sqlite", "run.nvvp", "trace.json.gz"] {
        gpuprof(&["export", &run, "-o", folder.path().join(name).to_str().expect("a path")]);
    }
    let sample = folder.path().join("sample.gpuprof");
    let made = Command::new(crate::readme::make_native()).arg(&sample).arg("--sample").status();
    assert!(made.expect("the example; `cargo test` builds it, `cargo test --test cli` does not").success());
    folder.file("busiest.sql", b"SELECT name, total_ns FROM kernels_by_name ORDER BY total_ns DESC LIMIT 3");
    let call = r#"{"function": "step", "execution_time": 0.002, "timestamp": 1700000000.02}"#;
    folder.file("performance.log", format!("{call}\n{call}\n").as_bytes());
    std::fs::create_dir(folder.path().join("bin")).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_gpuprof"), folder.path().join("bin/gpuprof")).expect("a link");
    folder
}

/// Runs the commands of a page one after the other, in one folder.
fn run(page: &Page, fences: &[&Fence]) {
    let folder = workplace();
    let path = std::env::var("PATH").unwrap_or_default();
    for command in fences.iter().flat_map(|fence| &fence.commands) {
        let mut shell = Command::new("bash");
        shell.args(["-c", &command.line]).current_dir(folder.path()).env("HOME", folder.path());
        shell.env("PATH", format!("{}:{path}", folder.path().join("bin").display())).env("GPUPROF_NO_CONFIG", "");
        shell.env_remove("XDG_CONFIG_HOME");
        let answer = answer(&mut shell);
        assert_eq!(answer.status, 0, "{}: {}: {}{}", page.name, command.line, answer.stdout, answer.stderr);
        if let Some(shown) = &command.output {
            assert_eq!(&answer.stdout, shown, "{}: {}: the page shows something else", page.name, command.line);
        }
    }
}

#[test]
fn every_command_in_the_book_runs_or_is_parsed() {
    let (mut ran, mut needs) = (0, BTreeMap::<&str, usize>::new());
    for page in pages::all() {
        let (here, elsewhere): (Vec<_>, Vec<_>) = page.fences.iter().partition(|fence| fence.needs.is_none());
        ran += here.iter().map(|fence| fence.commands.len()).sum::<usize>();
        for fence in page.fences.iter() {
            for command in &fence.commands {
                commands::parse(&page.name, &command.line);
            }
        }
        for fence in elsewhere {
            let what = fence.needs.as_deref().unwrap_or_default();
            let (what, _) = NEEDS.iter().find(|(known, _)| *known == what).unwrap_or_else(|| {
                let known: Vec<&str> = NEEDS.iter().map(|(name, _)| *name).collect();
                panic!("{}: needs={what}: known are {known:?}", page.name)
            });
            *needs.entry(what).or_default() += fence.commands.len();
        }
        if !here.is_empty() {
            run(&page, &here);
        }
    }
    eprintln!("{ran} commands of the book were run");
    for (what, count) in &needs {
        let (_, why) = NEEDS.iter().find(|(known, _)| known == what).expect("known");
        eprintln!("{count} commands of the book are parsed and not run, because they need {why}");
    }
    assert!(ran >= 40, "only {ran} commands of the book ran");
    // Of more than today, some could surely be made to run.
    needs.remove("sim");
    assert!(needs.values().sum::<usize>() <= 90, "too many commands of the book are not run: {needs:?}");
}

#[test]
fn commands_stand_in_fences_that_say_so() {
    for page in pages::all() {
        for (line, text) in &page.plain_lines {
            let is_command = ["$ ", "gpuprof "].iter().any(|start| text.starts_with(start));
            assert!(!is_command, "{} line {line}: \"{text}\" stands in a fence that is not ```console", page.name);
        }
        for fence in &page.fences {
            assert!(!fence.commands.is_empty(), "{} line {}: ```console without a command", page.name, fence.line);
        }
    }
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_are_there() {
    let broken = links::broken();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn every_page_is_in_the_table_of_contents_once() {
    let summary = std::fs::read_to_string(root().join("docs/SUMMARY.md")).expect("docs/SUMMARY.md");
    // What is commented out is in no book.
    let summary: String =
        summary.lines().filter(|line| !line.starts_with("<!--")).map(|line| format!("{line}\n")).collect();
    for page in pages::all().iter().filter(|page| page.name.starts_with("docs/")) {
        let link = format!("]({})", page.name.trim_start_matches("docs/"));
        assert_eq!(summary.matches(&link).count(), 1, "{} in docs/SUMMARY.md", page.name);
    }
}

#[test]
fn the_readme_fits_two_screens_and_keeps_its_commands() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README");
    assert!(readme.lines().count() <= 100, "{} lines", readme.lines().count());
    for word in ["./scripts/demo", "./scripts/test", "cargo install --path .", "scripts/release"] {
        assert!(readme.contains(word), "README does not name {word}");
    }
}

#[test]
fn the_tutorial_holds_for_a_real_trace() {
    let test = "book::the_tutorial_holds_for_a_real_trace";
    let Some(shared) = crate::common::shared(test) else { return };
    // The walk of the tutorial, on a trace of PyTorch, of nvprof and of nsys that others have published.
    let mut seen = 0;
    for name in ["torch", "nvprof", "nsys"] {
        let folder = shared.join("data").join(name);
        let mut files: Vec<_> =
            folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
        files.retain(|path| {
            path.extension().is_some_and(|ending| ["gz", "nvvp", "sqlite"].iter().any(|e| ending == *e))
        });
        files.sort_by_key(|path| path.metadata().map(|about| about.len()).unwrap_or(u64::MAX));
        let Some(path) = files.first().and_then(|path| path.to_str()) else { continue };
        for args in [&["info", path][..], &[path, "--top", "5"], &["report", path, "--view", "cuda_gpu_kern_sum"]] {
            let answer = answer(&mut crate::common::command(args));
            // Not every trace has kernels; what it has, `info` says of every one.
            let expected = if args[0] == "info" { 0..=0 } else { 0..=1 };
            assert!(expected.contains(&answer.status), "{args:?}: {}", answer.stderr);
            assert!(args[0] != "info" || answer.stdout.contains("(tables)"), "{args:?}: {}", answer.stdout);
        }
        seen += 1;
    }
    if seen < 3 {
        skip(test, "traces of one of the three tools are not among the shared files");
    }
}
