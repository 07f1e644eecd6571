//! The collector.

use super::*;

#[test]
fn a_named_collector_is_checked() {
    let folder = TempFolder::new("record-shim");
    let text = folder.argument("text.so", b"hello");
    for (named, words) in
        [("/no/such/libgpuprof.so", "cannot be used"), (text.as_str(), "is no 64-bit shared library")]
    {
        let mut command = record(&folder, &[], &["echo", "ran"]);
        let answer = answer(command.env("GPUPROF_SHIM", named));
        assert_eq!((answer.status, answer.stdout.as_str()), (2, ""), "{}", answer.stderr);
        assert!(answer.stderr.contains(words) && answer.stderr.contains("GPUPROF_SHIM="), "{}", answer.stderr);
    }
}

#[test]
fn the_cache_is_for_its_owner_alone() {
    let folder = TempFolder::new("record-cache");
    let shim = common::gpuprof(&["preload-path"]).stdout.trim_end().to_owned();
    // Not a name that can be preloaded, so it is copied.
    let odd = folder.path().join("lib:gpuprof.so");
    std::fs::copy(&shim, &odd).unwrap();
    let path = |variables: &[(&str, &OsStr)]| {
        let mut command = command(&["preload-path"]);
        command.env("GPUPROF_SHIM", &odd).env_remove("XDG_CACHE_HOME").env_remove("HOME").env_remove("TMPDIR");
        let answer = answer(command.envs(variables.iter().copied()));
        assert_eq!(answer.status, 0, "{}", answer.stderr);
        PathBuf::from(answer.stdout.trim_end())
    };
    let home = folder.path().join("home");
    let in_home = path(&[("HOME", home.as_os_str())]);
    assert!(in_home.starts_with(home.join(".cache/gpuprof")), "{}", in_home.display());
    assert_eq!(in_home.parent().unwrap().metadata().unwrap().mode() & 0o777, 0o700);
    let spaced = folder.path().join("a home");
    let temporary = folder.path().join("tmp");
    let elsewhere = path(&[("HOME", spaced.as_os_str()), ("TMPDIR", temporary.as_os_str())]);
    assert!(elsewhere.starts_with(&temporary), "{}", elsewhere.display());
    let nowhere = path(&[]);
    assert!(nowhere.is_absolute() && nowhere.exists(), "no HOME at all: {}", nowhere.display());
}
