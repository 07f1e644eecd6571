//! Help: short with `-h`, whole with `--help` and `gpuprof help COMMAND`, both with examples.

use crate::common::{gpuprof, gpuprof_in};
use std::path::Path;

/// The commands, from the program's own help.
fn commands() -> Vec<String> {
    let help = gpuprof(&["-h"]).stdout;
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<String> = lines
        .filter(|line| line.starts_with("  ") && !line[2..].starts_with(' '))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .filter(|word| word != "help" && word != "nvprof")
        .collect();
    assert!(commands.len() > 15, "{commands:?}");
    commands
}

#[test]
fn every_command_has_examples_and_a_long_help_that_has_all_of_the_short_one() {
    for command in commands() {
        let short = gpuprof(&[&command, "-h"]).stdout;
        let long = gpuprof(&[&command, "--help"]).stdout;
        assert_eq!(long, gpuprof(&["help", &command]).stdout, "{command}");
        for help in [&short, &long] {
            let example = format!("gpuprof {command}");
            let (_, below) =
                help.split_once("\n\nExamples:\n").unwrap_or_else(|| panic!("{command} has none: {help}"));
            assert!(below.contains(&example), "{command}: {help}");
        }
        // What is explained behind an example stands three blanks away.
        let (_, examples) = long.split_once("\n\nExamples:\n").expect("examples");
        for line in examples.lines().take_while(|line| !line.is_empty()).filter(|line| line.contains("gpuprof ")) {
            let typed = line.trim().split("   ").next().unwrap_or_default();
            if !typed.starts_with('{') {
                crate::book::commands::parse(&format!("gpuprof {command} --help"), typed);
            }
        }
        let options = |help: &str| -> Vec<String> {
            let words = help.lines().filter(|line| line.trim_start().starts_with('-'));
            words
                .filter_map(|line| line.split([' ', '=', '[']).find(|word| word.starts_with("--")))
                .map(str::to_owned)
                .collect()
        };
        let all = options(&long);
        assert!(options(&short).iter().all(|option| all.contains(option)), "{command}");
    }
}

#[test]
fn the_short_help_of_the_large_commands_fits_a_screen_or_so() {
    for (command, most, hidden) in [("record", 70, "--block-size"), ("report", 75, "--print-openacc-trace")] {
        let short = gpuprof(&[command, "-h"]).stdout;
        let long = gpuprof(&[command, "--help"]).stdout;
        assert!(short.lines().count() <= most, "{command}: {} lines", short.lines().count());
        assert!(!short.contains(hidden) && long.lines().count() > 2 * short.lines().count(), "{command}");
        assert!(short.contains("see more with '--help'"), "{command}");
        assert!(long.contains(hidden), "{command}: no {hidden}");
    }
    let answer = gpuprof_in(Path::new("."), &["help", "nope"]);
    assert_eq!(answer.status, 2);
}
