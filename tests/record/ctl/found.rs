//! Who is found, who is not, and the reason.

use super::obedient::{Folder, Line, Obedient, obedient, obey, until};
use crate::collector::one;
use crate::collector::sim::{Sim, shim_path};
use crate::common::{answer, command, skip};
use serde_json::Value;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Somebody else.
const NOBODY: u32 = 65_534;

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|m| std::os::unix::fs::MetadataExt::uid(&m) == 0)
}

/// Why a process cannot be controlled; none: it is not listed.
fn why(folder: &Folder, pid: u32) -> Option<String> {
    let row = folder.list("uncontrollable").into_iter().find(|row| row["Pid"] == pid)?;
    row["Why Not"].as_str().map(str::to_owned)
}

#[test]
fn a_locale_without_utf_8_gets_ascii_for_people_and_the_bytes_for_machines() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let idle = sim.folder().join(format!("grün-{}", std::process::id()));
    std::fs::copy("/bin/sleep", &idle).expect("a program");
    let run = sim.program("sh").args(["-c", "exec \"$0\" 120"]).arg(&idle).inject();
    let run = run.env("GPUPROF_RUNTIME_DIR", &folder.0).start();
    let name = idle.file_name().expect("a name").to_str().expect("text").to_owned();
    until("the program", || folder.list("uncontrollable").iter().any(|row| row["Process"] == *name));
    let in_c = |args: &[&str]| {
        let mut ctl = command(&["ctl"]);
        answer(ctl.args(args).env("GPUPROF_RUNTIME_DIR", &folder.0).env("LC_ALL", "C")).stdout
    };
    let text = in_c(&["list"]);
    assert!(text.contains("gr?n-") && text.is_ascii(), "{text}");
    assert!(in_c(&["list", "--format", "json"]).contains(&name));
    assert!(folder.obeyed(&["list"]).contains(&name));
    let pid = run.pid().to_string();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().expect("kill").success());
    run.end();
}

#[test]
fn of_sixty_four_processes_the_two_that_use_cuda_are_controllable() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    // A program with a name of its own, so that nobody else's processes are counted.
    let idle = sim.folder().join(format!("idle-{}", std::process::id()));
    std::fs::copy("/bin/sleep", &idle).expect("a program");
    let script = "i=0; while [ $i -lt 61 ]; do \"$0\" 120 & i=$((i+1)); done; wait";
    let run = sim.program("sh").args(["-c", script]).arg(&idle).inject().env("GPUPROF_RUNTIME_DIR", &folder.0);
    let mut crowd = Some(run.start());
    let players = [obedient(&sim, &folder, &[("RANK", "1")]), obedient(&sim, &folder, &[("RANK", "0")])];
    let name = idle.file_name().expect("a name").to_str().expect("text").to_owned();
    let idles = || folder.list("uncontrollable").iter().filter(|row| row["Process"] == *name).count();
    until("the crowd", || idles() == 61);
    // The device is known with the first records that CUPTI hands over.
    until("the devices", || folder.list("processes").iter().all(|row| row["Devices"] == "0"));
    let list = folder.list("processes");
    let pids: Vec<&Value> = list.iter().map(|row| &row["Pid"]).collect();
    assert_eq!(pids, [players[1].pid(), players[0].pid()], "in the order of their ranks: {list:?}");
    assert!(
        list.iter().all(|row| row["State"] == "open" && row["Process"] == "obey" && row["Devices"] == "0"),
        "{list:?}"
    );
    for row in folder.list("uncontrollable").iter().filter(|row| row["Process"] == *name) {
        assert_eq!(row["Why Not"], "it has not used CUDA yet");
    }
    let text = folder.obeyed(&["list"]);
    assert!(text.contains("Recorded Processes") && text.contains("Processes That Cannot Be Controlled"), "{text}");
    // Nobody said which.
    let refused = folder.ctl(&["stop"]);
    assert_eq!(refused.status, 2);
    assert!(
        refused.stderr.contains("2 processes are recorded") && refused.stderr.contains("rank 1"),
        "{}",
        refused.stderr
    );
    assert_eq!(folder.obeyed(&["stop", "--all"]).lines().count(), 2);
    assert_eq!(folder.obeyed(&["start", "--rank", "1"]).lines().count(), 1);
    let foreign = folder.ctl(&["stop", "1"]);
    assert!(
        foreign.status == 2 && foreign.stderr.contains("pid 1 is not a recorded process"),
        "{}",
        foreign.stderr
    );
    assert_eq!(folder.ctl(&["stop", "--rank", "7"]).status, 1);
    for player in players {
        one(&player.end());
    }
    let gone = folder.ctl(&["stop"]);
    assert_eq!(gone.status, 1, "{}", gone.stdout);
    assert!(gone.stderr.contains("nothing to control") && gone.stderr.contains("not used CUDA"), "{}", gone.stderr);
    let crowd = crowd.take().expect("a crowd");
    let group = format!("-{}", crowd.pid());
    assert!(Command::new("kill").args(["-KILL", "--", &group]).status().expect("kill").success());
    crowd.end();
}

#[test]
fn a_socket_goes_with_its_process_and_what_a_killed_one_leaves_is_removed() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    one(&obedient(&sim, &folder, &[]).end());
    assert_eq!(folder.sockets(), [] as [&Path; 0], "a clean end");
    let killed = obedient(&sim, &folder, &[]);
    let pid = killed.pid();
    killed.kill();
    assert_eq!(folder.sockets().len(), 1);
    assert_eq!(why(&folder, pid).as_deref(), Some("it has ended"));
    assert_eq!(folder.sockets(), [] as [&Path; 0]);
    assert_eq!(why(&folder, pid), None, "said once");
}

#[test]
fn a_child_that_inherits_the_socket_does_not_keep_it_alive_and_has_its_own() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let player = obedient(&sim, &folder, &[]);
    let pid = player.pid();
    let mut line = Line::to(&folder);
    let child = u32::try_from(player.order("fork")).expect("a pid");
    // It answers nothing; its parent still does.
    assert_eq!(line.ask("{\"gpuprof\":1,\"do\":\"status\"}")["pid"], pid);
    assert_eq!(why(&folder, child).as_deref(), Some("it has no CUDA context yet, or is not recorded"));
    player.signal("KILL");
    let state = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    until("its end", || state().contains(") Z "));
    assert_eq!(why(&folder, pid).as_deref(), Some("it has ended"), "though its child holds the descriptor");
    assert_eq!(folder.sockets(), [] as [&Path; 0]);
    let _ = Command::new("kill").args(["-KILL", &child.to_string()]).status();
    player.kill();
    // A child that begins CUDA for itself listens for itself.
    let run = sim.player("forks").arg("both").inject().env("GPUPROF_RUNTIME_DIR", &folder.0);
    let ended = run.env("GPUPROF_VERBOSE", "2").run();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert_eq!(folder.sockets(), [] as [&Path; 0], "both have removed theirs");
}

#[test]
fn exec_in_the_middle_of_a_conversation_ends_it_and_leaves_nothing() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let player = obedient(&sim, &folder, &[]);
    let before = folder.sockets();
    let mut line = Line::to(&folder);
    assert_eq!(line.ask("{\"gpuprof\":1,\"do\":\"status\"}")["ok"], true);
    player.order("exec");
    assert_eq!(line.receive(), None);
    assert_eq!(player.wait_for_answer(), i64::from(player.pid()), "ready again");
    // The same pid: the new socket takes the place of the old one.
    player.order("launch 3");
    until("a new socket", || folder.sockets().len() == 1 && folder.sockets() != before);
    let list = folder.list("processes");
    assert_eq!((list.len(), &list[0]["Pid"]), (1, &player.pid().into()), "{list:?}");
    let ended = player.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    assert_eq!(folder.sockets(), [] as [&Path; 0]);
}

#[test]
fn another_user_is_refused() {
    const TEST: &str = "another_user_is_refused";
    // One that others may execute: this one's own may lie in a home.
    const PYTHON: &str = "/usr/bin/python3";
    if !is_root() {
        return skip(TEST, "not root, so no process of another user can be made");
    }
    if !Path::new(PYTHON).exists() {
        return skip(TEST, "no /usr/bin/python3");
    }
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let player = obedient(&sim, &folder, &[]);
    let socket = folder.sockets().remove(0);
    let modes = |path: &Path| path.metadata().expect("a file").permissions().mode() & 0o777;
    assert_eq!((modes(&folder.0), modes(&socket)), (0o700, 0o600));
    let script = "import socket, sys\n\
                  s = socket.socket(socket.AF_UNIX)\n\
                  try: s.connect(sys.argv[1])\n\
                  except PermissionError: print('denied'); sys.exit()\n\
                  try: s.sendall(b'{\"gpuprof\":1,\"do\":\"stop\"}\\n')\n\
                  except OSError: pass\n\
                  print(s.makefile().readline())\n";
    let stranger = || {
        let mut python = Command::new(PYTHON);
        python.args(["-c", script]).arg(&socket).current_dir("/").uid(NOBODY).gid(NOBODY);
        let output = python.stdout(Stdio::piped()).output().expect("python3");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert_eq!(stranger(), "denied\n");
    // Even where modes let him through.
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    std::fs::set_permissions(&socket, std::fs::Permissions::from_mode(0o666)).expect("a mode");
    let said: Value = serde_json::from_str(&stranger()).expect("one line of JSON");
    assert_eq!(said["ok"], false);
    assert!(said["error"].as_str().is_some_and(|why| why.contains("only the user who runs the program")), "{said}");
    assert_eq!(folder.list("processes")[0]["State"], "open", "he was not obeyed");
    one(&player.end());
}

#[test]
fn hostile_folders_are_refused_in_one_line_and_the_program_is_recorded_all_the_same() {
    let sim = Sim::new("12.8");
    let base = Folder::new();
    std::fs::create_dir(&base.0).expect("a folder");
    let made = |name: &str| {
        let path = base.0.join(name);
        std::fs::create_dir(&path).expect("a folder");
        path
    };
    let link = base.0.join("link");
    symlink(made("goal"), &link).expect("a link");
    let open = made("open");
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).expect("a mode");
    let file = base.0.join("file");
    std::fs::write(&file, b"").expect("a file");
    let foreign = made("foreign");
    let mut ways = vec![(link, "symbolic link"), (open, "written to by others"), (file, "is no folder")];
    match is_root() {
        true => {
            chown(&foreign, Some(NOBODY), Some(NOBODY)).expect("another owner");
            ways.push((foreign, "another user (uid 65534)"));
        }
        false => skip("hostile_folders_are_refused", "not root: no folder of another user can be made"),
    }
    for (path, word) in ways {
        let folder = Folder(path.clone());
        let run = sim.player("obey").inject();
        let player = Obedient::start_in(run, &path);
        player.order("launch 10");
        let pid = player.pid();
        // Nobody but root looks into a folder that is refused; the others are told why it is.
        let asked = folder.ctl(&["list", "--format", "json"]);
        let told = format!("{}{}", asked.stdout, asked.stderr);
        assert!(told.contains(word), "{told}");
        let elsewhere = Folder::new();
        let reason = || why(&elsewhere, pid).unwrap_or_default();
        assert!(reason().contains(word), "{}", reason());
        let ended = player.end();
        assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
        let said: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("gpuprof: ")).collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(word) && said[0].contains("GPUPROF_RUNTIME_DIR"), "{said:?}");
        assert_eq!(one(&ended).kernels().len(), 10);
        // What it is made of must stay.
        std::mem::forget(folder);
    }
}

#[test]
fn a_path_of_two_hundred_characters_serves_too() {
    let (sim, base) = (Sim::new("12.8"), Folder::new());
    let long = Folder(base.0.join("x".repeat(100)).join("y".repeat(100)));
    let player = obedient(&sim, &long, &[]);
    assert!(long.sockets()[0].as_os_str().len() > 200);
    assert!(long.obeyed(&["stop"]).contains("stopped"));
    one(&player.end());
    assert_eq!(long.sockets(), [] as [&Path; 0]);
}

#[test]
fn switched_off_there_is_no_socket_and_the_list_says_so() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let player = Obedient::start_in(sim.player("obey").inject(), Path::new("off"));
    player.order("launch 10");
    assert_eq!(
        why(&folder, player.pid()).as_deref(),
        Some("control is switched off in it (GPUPROF_RUNTIME_DIR=off)")
    );
    assert_eq!(one(&player.end()).kernels().len(), 10);
    let other = obedient(&sim, &folder, &[]);
    let elsewhere = Folder::new();
    let reason = why(&elsewhere, other.pid()).expect("a reason");
    assert!(reason.contains(&format!("--runtime-dir {}", folder.0.display())), "{reason}");
    one(&other.end());
}

/// Whether this machine lets us make a pid namespace.
fn has_namespaces(test: &str) -> bool {
    let done = Command::new("unshare").args(["--pid", "--fork", "true"]).stderr(Stdio::null()).status();
    let can = done.is_ok_and(|status| status.success());
    if !can {
        skip(test, "unshare --pid is not allowed here");
    }
    can
}

#[test]
fn pid_1_of_two_namespaces_that_share_a_folder_are_two_processes() {
    if !has_namespaces("pid_1_of_two_namespaces_that_share_a_folder_are_two_processes") {
        return;
    }
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let start = |rank| {
        let run = sim.program("unshare").args(["--pid", "--fork"]).arg(obey()).inject();
        Obedient::start(run.env("GPUPROF_CAPTURE", "manual").env("RANK", rank), &folder).with_cuda(&folder)
    };
    let players = [start("0"), start("1")];
    assert_eq!(players.each_ref().map(Obedient::pid), [1, 1]);
    let list = folder.list("processes");
    assert_eq!(list.len(), 2, "{list:?}");
    assert!(list.iter().all(|row| row["Own Pid"] == 1 && row["Pid"] != 1), "{list:?}");
    let refused = folder.ctl(&["start", "1"]);
    assert!(refused.status == 2 && refused.stderr.contains("pid 1 names 2 processes"), "{}", refused.stderr);
    let pid = list[1]["Pid"].to_string();
    let said = folder.obeyed(&["start", &pid]);
    assert!(said.contains("rank 1") && said.contains("pid 1 in its namespace"), "{said}");
    players[1].order("launch 30");
    players[0].order("launch 10");
    let [first, second] = players.map(|player| one(&player.end()));
    assert_eq!((first.kernels().len(), second.kernels().len()), (0, 30));
    assert!(shim_path().exists());
}
