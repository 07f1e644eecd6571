//! Command lines.

use super::*;

#[test]
fn arguments_behind_the_program_are_the_programs_own() {
    let folder = TempFolder::new("record-arguments");
    let program = ["printf", "%s,", "-o", "--capture", "--", "--help", "-x y", ""];
    assert_eq!(recorded(&folder, &[], &program).stdout, "-o,--capture,--,--help,-x y,,");
    // The two dashes may be left out.
    let mut without = command(&["record", "--verbose", "0"]);
    without.args(program).current_dir(folder.path());
    let answer = answer(&mut without);
    assert_eq!(answer.stdout, "-o,--capture,--,--help,-x y,,");
    assert_eq!(answer.stderr, "", "--verbose 0 says nothing");
}

#[test]
fn a_program_that_cannot_be_started_gives_the_shells_status() {
    let folder = TempFolder::new("record-absent");
    let folder_path = folder.path().to_str().unwrap();
    let text = folder.argument("text", b"hello");
    let broken = folder.argument("script", b"#!/no/such/interpreter\n");
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).unwrap();
    for (program, status, words) in [
        ("no-such-command-anywhere", 127, "command not found in PATH"),
        ("./absent", 127, "no such file"),
        (broken.as_str(), 127, "interpreter that it asks for is missing"),
        (text.as_str(), 126, "no permission"),
        (folder_path, 126, "no permission"),
    ] {
        let answer = recorded(&folder, &[], &[program]);
        assert_eq!(answer.status, status, "{program}: {}", answer.stderr);
        assert_eq!(answer.stderr.lines().count(), 1, "{program}: {}", answer.stderr);
        assert!(answer.stderr.starts_with(&format!("gpuprof: {program}: ")), "{}", answer.stderr);
        assert!(answer.stderr.contains(words), "{program}: {}", answer.stderr);
    }
    assert_eq!(names(folder.path()), ["script", "text"], "no folder is left");
    // As execvp has it, and so every shell: a script without a first line that names an interpreter is the shell's.
    let script = folder.argument("plain", b"echo plain $1\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(recorded(&folder, &[], &[&script, "script"]).stdout, "plain script\n");
}

#[test]
fn options_that_nobody_knows_and_a_missing_program_are_refused() {
    let answer = common::gpuprof_in(Path::new("."), &["record", "--no-such-option", "--", "true"]);
    assert_eq!(answer.status, 2);
    assert!(answer.stderr.contains("--no-such-option"), "{}", answer.stderr);
    let answer = common::gpuprof_in(Path::new("."), &["record"]);
    assert_eq!(answer.status, 2);
    assert!(answer.stderr.contains("COMMAND"), "{}", answer.stderr);
}

#[test]
fn every_setting_has_its_flag_in_the_help() {
    use shim_config::variables::Flag;
    let help = common::gpuprof(&["record", "--help"]).stdout;
    for variable in shim_config::VARIABLES {
        if let Flag::Value(name, _) | Flag::Switch(name) = variable.flag {
            assert!(help.contains(&format!("--{name}")), "--{name} is not in the help");
        }
    }
}
