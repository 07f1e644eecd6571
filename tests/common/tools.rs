//! Other people's programs that some tests run: Python packages in an environment of their own, NVIDIA's tools.
//! What cannot be had, because nothing outside can be reached, is a skip, said loudly and counted.

use super::skip;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// One at a time: tests of one program run beside each other.
static FETCHING: Mutex<()> = Mutex::new(());

/// Where fetched programs stay between runs.
fn cache() -> PathBuf {
    let home = std::env::var_os("HOME").map_or_else(std::env::temp_dir, PathBuf::from);
    home.join(".cache/gpuprof")
}

fn succeeds(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| format!("{command:?}: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let text = String::from_utf8_lossy(&output.stderr);
            Err(format!("{:?}: {}", command.get_program(), text.lines().last().unwrap_or("no message")))
        }
    }
}

/// The Python of an environment that has exactly what the file `requirements` says, made when it is first asked for.
pub fn python(test: &str, name: &str, requirements: &Path) -> Option<PathBuf> {
    let _one = FETCHING.lock().unwrap_or_else(|e| e.into_inner());
    let text = std::fs::read(requirements).expect("a list of packages");
    // FNV-1a: the same on every machine.
    let hash = text.iter().fold(0xcbf2_9ce4_8422_2325u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    let folder = cache().join(format!("venv-{name}-{hash:016x}"));
    let python = folder.join("bin/python");
    let complete = folder.join("complete");
    if complete.is_file() {
        return Some(python);
    }
    let made = succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder)).and_then(|()| {
        let pip =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"];
        succeeds(Command::new(&python).args(pip).arg("-r").arg(requirements))
    });
    match made.and_then(|()| std::fs::write(&complete, "").map_err(|e| e.to_string())) {
        Ok(()) => Some(python),
        Err(why) => {
            skip(test, &format!("the packages of {} cannot be had: {why}", requirements.display()));
            None
        }
    }
}

/// The folder that `benches/fetch-nvidia-tools.sh` fills: nvprof 11.8 and nsys 2022.4, which run without a GPU.
pub fn nvidia(test: &str) -> Option<PathBuf> {
    let _one = FETCHING.lock().unwrap_or_else(|e| e.into_inner());
    let folder = cache().join("nvidia-tools");
    if folder.join("env").is_file() {
        return Some(folder);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/fetch-nvidia-tools.sh");
    match succeeds(Command::new("bash").arg(script).arg(&folder)) {
        Ok(()) => Some(folder),
        Err(why) => {
            skip(test, &format!("NVIDIA's tools cannot be had: {why}"));
            None
        }
    }
}

/// Runs a shell command with NVIDIA's tools on the path; its output, error lines included.
pub fn with_nvidia(tools: &Path, command: &str, arguments: &[&str]) -> String {
    let script = format!(". '{}/env'; {{ {command}; }} 2>&1", tools.display());
    let output = Command::new("bash").args(["-c", &script, "bash"]).args(arguments).stdin(Stdio::null()).output();
    String::from_utf8_lossy(&output.expect("bash").stdout).into_owned()
}

/// The program that a package of npm brings, fetched when it is first asked for: what its `bin` names first.
pub fn node_package(test: &str, name: &str, version: &str) -> Option<PathBuf> {
    let _one = FETCHING.lock().unwrap_or_else(|e| e.into_inner());
    let folder = cache().join(format!("npm-{}-{version}", name.replace(['@', '/'], "-")));
    let package = folder.join("node_modules").join(name);
    if !folder.join("complete").is_file() {
        let npm = ["install", "--silent", "--no-audit", "--no-fund", "--fetch-retries=1", "--prefix"];
        let made = std::fs::create_dir_all(&folder)
            .map_err(|e| e.to_string())
            .and_then(|()| succeeds(Command::new("npm").args(npm).arg(&folder).arg(format!("{name}@{version}"))));
        if let Err(why) = made.and_then(|()| std::fs::write(folder.join("complete"), "").map_err(|e| e.to_string()))
        {
            skip(test, &format!("{name} of npm cannot be had: {why}"));
            return None;
        }
    }
    let about = std::fs::read(package.join("package.json")).expect("a package");
    let about: serde_json::Value = serde_json::from_slice(&about).expect("JSON");
    let programs = about["bin"].as_object().expect("a program");
    Some(package.join(programs.values().next().and_then(serde_json::Value::as_str).expect("a path")))
}
