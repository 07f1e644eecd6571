//! What shells and `man` get from the program: completions and manual pages.

use crate::common::{TempFolder, gpuprof, refused, skip};
use std::path::Path;
use std::process::Command;

/// Runs a program of the system on a file; `None` if there is no such program, which is said and counted.
fn checked(test: &str, program: &str, arguments: &[&str], file: &Path) -> Option<(bool, String)> {
    let Ok(output) = Command::new(program).args(arguments).arg(file).output() else {
        skip(test, &format!("there is no {program}"));
        return None;
    };
    let text = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

#[test]
fn completions_are_scripts_that_their_shells_accept() {
    let folder = TempFolder::new("completions");
    for shell in ["bash", "zsh", "fish"] {
        let script = gpuprof(&["completions", shell]).stdout;
        assert_eq!(script, gpuprof(&["completions", shell]).stdout, "{shell}: the same every time");
        for word in ["report", "record", "gpu-trace", "percentiles", "ring"] {
            assert!(script.contains(word), "{shell}: no {word}");
        }
        let file = folder.file(shell, script.as_bytes());
        let test = "shells::completions_are_scripts_that_their_shells_accept";
        if let Some((accepted, said)) = checked(test, shell, &["-n"], &file) {
            assert!(accepted && said.is_empty(), "{shell}: {said}");
        }
    }
    let answer = crate::common::gpuprof_in(Path::new("."), &["completions", "tcsh"]);
    assert_eq!((answer.status, answer.stdout.as_str()), (2, ""));
    assert!(answer.stderr.contains("bash") && answer.stderr.contains("tcsh"), "{}", answer.stderr);
}

#[test]
fn bash_completes_commands_and_options() {
    let folder = TempFolder::new("completions-bash");
    let script = folder.argument("gpuprof", gpuprof(&["completions", "bash"]).stdout.as_bytes());
    let complete = |words: &str| {
        // As bash calls it: the words, the place of the last one, and the function of the command.
        let run = format!(
            "source '{script}'; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _gpuprof gpuprof \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash").args(["--norc", "-c", &run]).output().expect("bash");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    assert_eq!(complete("gpuprof rec").lines().collect::<Vec<_>>(), ["record"]);
    let options = complete("gpuprof report --print-gpu");
    assert_eq!(options.lines().collect::<Vec<_>>(), ["--print-gpu-trace", "--print-gpu-summary"]);
    assert!(complete("gpuprof report --format js").contains("json"));
}

#[test]
fn every_command_has_a_manual_page_without_an_error() {
    let folder = TempFolder::new("man");
    let pages = folder.path().join("a/man1");
    gpuprof(&["man", "-o", pages.to_str().expect("a path")]);
    let mut names: Vec<String> = pages
        .read_dir()
        .expect("the folder was made")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    for name in ["gpuprof.1", "gpuprof-record.1", "gpuprof-report.1", "gpuprof-ctl-list.1", "gpuprof-man.1"] {
        assert!(names.iter().any(|known| known == name), "no {name} among {names:?}");
    }
    let help = gpuprof(&["--help"]).stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What is indented further is the rest of a long description.
    let names_one = |line: &&str| line.starts_with("  ") && !line[2..].starts_with(' ');
    for command in commands.filter(names_one).filter_map(|line| line.split_whitespace().next()) {
        if command == "help" {
            continue;
        }
        assert!(names.contains(&format!("gpuprof-{command}.1")), "no page about {command}: {names:?}");
    }
    let test = "shells::every_command_has_a_manual_page_without_an_error";
    for name in &names {
        let file = pages.join(name);
        // Alone or with all others, a page is the same.
        let words: Vec<&str> = name.trim_end_matches(".1").split('-').skip(1).collect();
        if words != ["preload", "path"] {
            let alone = gpuprof(&[&["man"], &words[..]].concat()).stdout;
            assert_eq!(alone, std::fs::read_to_string(&file).expect("the page"), "{name}");
        }
        let Some((_, said)) = checked(test, "mandoc", &["-T", "lint", "-W", "error"], &file) else { return };
        assert_eq!(said, "", "{name}");
    }
}

#[test]
fn a_page_about_nothing_is_refused() {
    refused(&["man", "nope"], &["nope", "no such command", "gpuprof --help"]);
    refused(&["man", "ctl", "nope"], &["nope", "no such command"]);
    refused(&["man", "-o", "/dev/null/pages"], &["/dev/null/pages", "cannot be made"]);
}
