//! Whatever comes in at a socket, and whatever the program does to its descriptors: the program is as it was.

use super::obedient::{Folder, Line, obedient, until};
use crate::collector::one;
use crate::collector::sim::Sim;
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const STATUS: &str = "{\"gpuprof\":1,\"do\":\"status\"}";

#[test]
fn garbage_is_answered_by_one_error_and_the_end_of_the_connection() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let player = obedient(&sim, &folder, &[]);
    let long = format!("{{\"gpuprof\":1,\"do\":\"mark\",\"text\":\"{}\"}}\n", "x".repeat(5000));
    let deep = format!("{}\n", "[".repeat(4000));
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"\n",
        b"\xff\xfe\x00\n",
        b"[]\n",
        b"{\"gpuprof\":99,\"do\":\"status\"}\n",
        b"{\"do\":\"status\"}\n",
        long.as_bytes(),
        deep.as_bytes(),
    ] {
        let mut line = Line::to(&folder);
        line.send(garbage);
        let answer = line.receive().unwrap_or_else(|| panic!("no answer to {}", String::from_utf8_lossy(garbage)));
        assert_eq!((&answer["gpuprof"], &answer["ok"]), (&1.into(), &false.into()), "{answer}");
        assert!(answer["error"].as_str().is_some_and(|why| !why.is_empty()));
        assert_eq!(line.receive(), None, "after {}", String::from_utf8_lossy(garbage));
    }
    // A well-formed request that cannot be obeyed is an answer like others: the conversation goes on.
    let mut line = Line::to(&folder);
    let refused = line.ask("{\"gpuprof\":1,\"do\":\"dance\"}");
    assert!(
        refused["error"].as_str().is_some_and(|why| why.contains("dance") && why.contains("status")),
        "{refused}"
    );
    assert!(line.ask("{\"gpuprof\":1,\"do\":\"mark\"}")["error"].as_str().is_some_and(|why| why.contains("text")));
    assert!(line.ask("{\"gpuprof\":1,\"do\":\"start\",\"at_unix_ns\":\"now\"}")["error"].is_string());
    assert_eq!(line.ask(STATUS)["ok"], true);
    // Several requests at once, and one in pieces.
    line.send(format!("{STATUS}\n{STATUS}\n").as_bytes());
    assert!((0..2).all(|_| line.receive().is_some_and(|answer| answer["ok"] == true)));
    line.send(b"{\"gpuprof\":1,");
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(line.ask("\"do\":\"status\"}")["ok"], true);
    player.order("launch 10");
    assert_eq!(one(&player.end()).kernels().len(), 10);
}

#[test]
fn a_client_that_says_nothing_more_is_dropped_and_hinders_nobody() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let player = obedient(&sim, &folder, &[]);
    let path = folder.sockets().remove(0);
    // More than are served at a time: they hang in the middle of a line, or say nothing at all.
    let mut hanging: Vec<UnixStream> = (0..40)
        .map(|i| {
            let mut stream = UnixStream::connect(&path).expect("a connection");
            let _ = stream.write_all(if i % 2 == 0 { b"{\"gpuprof\":1" } else { b"" });
            stream
        })
        .collect();
    let begin = Instant::now();
    assert_eq!(Line::to(&folder).ask(STATUS)["ok"], true);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    // Whoever hangs is told so in the end, or was dropped for another.
    let last = hanging.iter_mut().rev().find(|s| s.peer_addr().is_ok()).expect("a connection");
    last.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
    let mut text = String::new();
    let _ = last.read_to_string(&mut text);
    assert!(text.is_empty() || text.contains("\"ok\":false"), "{text}");
    player.order("launch 10");
    assert_eq!(one(&player.end()).kernels().len(), 10);
}

/// How long a run takes that launches so much, while `meanwhile` goes on; and what it prints.
fn timed(sim: &Sim, meanwhile: impl Fn(&Folder, &AtomicBool) + Sync) -> (Duration, String) {
    let folder = Folder::new();
    let player = obedient(sim, &folder, &[]);
    let is_over = AtomicBool::new(false);
    let took = std::thread::scope(|scope| {
        scope.spawn(|| meanwhile(&folder, &is_over));
        std::thread::sleep(Duration::from_millis(200));
        let begin = Instant::now();
        for _ in 0..50 {
            player.order("launch 2000");
        }
        let took = begin.elapsed();
        is_over.store(true, Ordering::Relaxed);
        took
    });
    // Still there for whoever is decent.
    assert_eq!(Line::to(&folder).ask(STATUS)["ok"], true);
    let ended = player.end();
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
    let trace = one(&ended);
    assert_eq!((trace.kernels().len(), trace.losses().len()), (100_000, 0));
    (took, ended.stdout)
}

#[test]
fn floods_of_connections_and_bytes_harm_neither_program_nor_records() {
    let sim = Sim::new("12.8");
    let (bare, output) = timed(&sim, |_, _| {});
    let flood = |folder: &Folder, is_over: &AtomicBool| {
        let path = folder.sockets().remove(0);
        let megabyte = vec![b'x'; 1 << 20];
        let requests = format!("{STATUS}\n").repeat(1000);
        let mut connections = 0;
        while !is_over.load(Ordering::Relaxed) || connections < 1000 {
            let Ok(mut stream) = UnixStream::connect(&path) else { continue };
            stream.set_write_timeout(Some(Duration::from_millis(50))).expect("a limit");
            // Megabytes without a line; requests whose answers nobody reads; nothing.
            let _ = match connections % 50 {
                1 => stream.write_all(&megabyte),
                2 => stream.write_all(requests.as_bytes()),
                _ => Ok(()),
            };
            connections += 1;
        }
    };
    let (flooded, same) = timed(&sim, flood);
    println!("100,000 launches: {bare:?} in peace, {flooded:?} in a flood");
    assert_eq!(output, same);
    // The flood itself takes a processor of this machine; a program that were stopped by it would never end.
    assert!(flooded < bare * 10 + Duration::from_secs(10), "{flooded:?} against {bare:?}");
}

#[test]
fn a_program_that_closes_every_descriptor_keeps_its_files() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let player = obedient(&sim, &folder, &[]);
    player.order("launch 10");
    folder.obeyed(&["flush"]);
    let mut line = Line::to(&folder);
    assert_eq!(line.ask(STATUS)["ok"], true);
    player.order("closeall");
    line.send(format!("{STATUS}\n").as_bytes());
    assert_eq!(line.receive(), None, "its number is the program's now");
    until("the socket to go", || {
        let _ = folder.sockets().first().map(UnixStream::connect);
        folder.sockets().is_empty()
    });
    player.order("launch 10");
    player.order("checkown");
    let ended = player.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
}

#[test]
fn a_program_that_goes_into_a_sandbox_is_left_alone() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let player = obedient(&sim, &folder, &[]);
    assert_eq!(Line::to(&folder).ask(STATUS)["ok"], true);
    player.order("sandbox");
    player.order("launch 10");
    // Taking this connection would kill the program.
    let path = folder.sockets().remove(0);
    if let Ok(mut stream) = UnixStream::connect(path) {
        let _ = stream.write_all(format!("{STATUS}\n").as_bytes());
        let mut text = String::new();
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a limit");
        let _ = stream.read_to_string(&mut text);
        assert_eq!(text, "");
    }
    player.order("launch 10");
    let ended = player.end();
    assert_eq!(ended.code(), Some(0), "{:?} {}", ended.signal(), ended.stderr);
    assert_eq!(one(&ended).kernels().len(), 20);
    // What could not be removed from inside is by the next who looks.
    assert_eq!(folder.ctl(&["stop"]).status, 1);
    assert!(folder.sockets().is_empty());
}

#[test]
fn a_program_that_may_have_few_descriptors_keeps_them_all() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let run = sim.player("fds").args(["nofile", "40"]).inject().env("GPUPROF_RUNTIME_DIR", &folder.0);
    let ended = run.run();
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(one(&ended).kernels().len(), 200);
    assert!(folder.sockets().is_empty());
}

#[test]
fn what_was_promised_to_a_client_that_left_is_off() {
    let (sim, folder) = (Sim::new("12.8"), Folder::new());
    let player = obedient(&sim, &folder, &[("GPUPROF_CAPTURE", "manual")]);
    let soon = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
        now.as_nanos() + 5_000_000_000
    };
    let mut line = Line::to(&folder);
    line.send(format!("{{\"gpuprof\":1,\"do\":\"start\",\"at_unix_ns\":{}}}\n", soon()).as_bytes());
    // Others are served while it waits.
    assert_eq!(Line::to(&folder).ask(STATUS)["state"], "closed");
    drop(line);
    player.order("sleep 6000");
    let state = Line::to(&folder).ask(STATUS);
    assert_eq!(state["state"], Value::from("closed"), "{state}");
    one(&player.end());
}
