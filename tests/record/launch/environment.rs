//! The environment.

use super::*;

#[test]
fn only_the_variables_of_the_collector_are_added() {
    let folder = TempFolder::new("record-env");
    let mut bare = Command::new("env");
    for name in FOREIGN {
        bare.env_remove(name);
    }
    // The harness sets this one for gpuprof itself.
    let before = environment(bare.env("GPUPROF_NO_CONFIG", "1").current_dir(folder.path()));
    let after = environment(&mut record(&folder, &["--flush-interval", "100ms", "--fsync"], &["env"]));
    let added: Vec<&str> =
        after.iter().filter(|l| !before.contains(l)).map(|l| l.split('=').next().unwrap()).collect();
    let expected = [
        "CUDA_INJECTION64_PATH",
        "GPUPROF_FLUSH_MS",
        "GPUPROF_FSYNC",
        "GPUPROF_OUTPUT",
        "GPUPROF_SEEN",
        "NVTX_INJECTION64_PATH",
    ];
    assert_eq!(added, expected);
    assert!(before.iter().all(|line| after.contains(line)), "nothing is taken away");
    assert!(after.contains(&"GPUPROF_FLUSH_MS=100ms".to_owned()) && after.contains(&"GPUPROF_FSYNC=on".to_owned()));
}

/// The collector behind the door that `preload-path` prints.
fn collector() -> String {
    let door = common::gpuprof(&["preload-path"]).stdout;
    format!("{}.so", door.strip_suffix("_preload.so\n").expect("a door, on one line"))
}

#[test]
fn both_injections_name_the_collector_behind_what_preload_path_prints() {
    let folder = TempFolder::new("record-path");
    let path = &*collector();
    assert!(Path::new(path).is_absolute() && !path.contains([' ', ':', '\n']), "{path}");
    let lines = environment(&mut record(&folder, &[], &["env"]));
    assert_eq!(variable(&lines, "CUDA_INJECTION64_PATH").as_deref(), Some(path));
    assert_eq!(variable(&lines, "NVTX_INJECTION64_PATH").as_deref(), Some(path));
    assert_eq!(variable(&lines, "LD_PRELOAD"), None);
    // A path that the loader would take apart does not get there.
    let spaced = folder.path().join("with space").join("libgpuprof.so");
    std::fs::create_dir(spaced.parent().unwrap()).unwrap();
    std::fs::copy(path, &spaced).unwrap();
    let mut command = command(&["preload-path"]);
    command.env("GPUPROF_SHIM", &spaced).env("XDG_CACHE_HOME", folder.path().join("cache"));
    let copy = answer(&mut command).stdout;
    assert!(copy.starts_with(&format!("{}/cache/gpuprof/libgpuprof-", folder.path().display())), "{copy}");
    assert_eq!(std::fs::read(copy.trim_end()).unwrap(), std::fs::read(path).unwrap());
    assert_eq!(std::fs::metadata(copy.trim_end()).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn what_else_is_preloaded_stays_behind_the_collector() {
    let folder = TempFolder::new("record-preload");
    let shim = collector();
    let Some(other) = some_library() else { return skip("what_else_is_preloaded", "no library to preload") };
    let lines = environment(record(&folder, &["--preload"], &["env"]).env("LD_PRELOAD", &other));
    assert_eq!(variable(&lines, "LD_PRELOAD"), Some(format!("{shim}:{other}")));
    let lines = environment(&mut record(&folder, &["--preload"], &["env"]));
    assert_eq!(variable(&lines, "LD_PRELOAD"), Some(shim.clone()));
    // A shell that has the door preloaded: the two would be two tools to each other.
    let door = common::gpuprof(&["preload-path"]).stdout.trim_end().to_owned();
    let both = format!("{door}:{other}");
    let lines = environment(record(&folder, &["--preload"], &["env"]).env("LD_PRELOAD", &both));
    assert_eq!(variable(&lines, "LD_PRELOAD"), Some(format!("{shim}:{other}")));
}

/// A library that is loaded into this very process, and so can be into others.
fn some_library() -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
    paths.find(|path| path.contains("/libc.so") || path.contains("/libm.so")).map(str::to_owned)
}

#[test]
fn another_tools_injection_is_left_in_place_and_said() {
    let folder = TempFolder::new("record-foreign");
    let mut command = record(&folder, &["--preload"], &["env"]);
    let answer = answer(command.env("CUDA_INJECTION64_PATH", "/opt/nsight/inject.so"));
    assert!(answer.stdout.contains("CUDA_INJECTION64_PATH=/opt/nsight/inject.so\n"), "{}", answer.stdout);
    assert!(!answer.stdout.contains("LD_PRELOAD"), "{}", answer.stdout);
    let mut lines = answer.stderr.lines();
    let first = lines.next().unwrap();
    assert!(first.contains("/opt/nsight/inject.so") && first.contains("unset it"), "{first}");
    let why = lines.next().unwrap();
    assert!(
        why.starts_with("gpuprof: nothing was recorded: env: CUDA_INJECTION64_PATH names another tool"),
        "{why}"
    );
}

#[test]
fn values_that_make_no_sense_are_refused_as_flags_and_reported_as_variables() {
    let folder = TempFolder::new("record-values");
    for (option, value, words) in [
        ("--capture", "sometimes", "profiler-api"),
        ("--kinds", "kernels", "did you mean \"kernel\"?"),
        ("--block-size", "5MB", "known are B, KiB"),
        ("--min-free", "90", "is outside 0 to 50"),
    ] {
        let answer = recorded(&folder, &[option, value], &["echo", "ran"]);
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{option}");
        assert!(answer.stderr.contains(words), "{option}: {}", answer.stderr);
    }
    let mut command = record(&folder, &[], &["env"]);
    let answer = answer(command.env("GPUPROF_FLUSH_MS", "soon").env("GPUPROF_CAPTRUE", "all"));
    let first: Vec<&str> = answer.stderr.lines().take(2).collect();
    assert!(
        answer.stderr.contains("GPUPROF_CAPTRUE=all: unknown variable, did you mean GPUPROF_CAPTURE?"),
        "{first:?}"
    );
    assert!(answer.stderr.contains("GPUPROF_FLUSH_MS=soon: is not a duration"), "{first:?}");
    assert!(!answer.stdout.contains("GPUPROF_FLUSH_MS"), "said once, not by every process");
    assert!(answer.stdout.contains("GPUPROF_CAPTRUE=all"), "what nobody knows is the program's own");
    assert_eq!(answer.status, 0);
}
