//! The thread as it is in a program: small stack, a real file, others pushing.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use shim_config::{Settings, SizePolicy};
use trace_format::read::TraceReader;
use trace_format::tables::KernelRow;

use super::super::recorder::Recorder;
use super::super::sources::Sources;
use super::super::{STACK_BYTES, Shared, open_at, serve};
use super::harness::*;
use crate::messages::Message;
use crate::strides::Strides;
use crate::sys;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("gpuprof writer {name} {}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn start(shared: &'static Shared, path: PathBuf, settings: Settings) {
    assert!(sys::spawn(c"gpuprof-test", STACK_BYTES, move || {
        let trace = open_at(&path, &settings).unwrap();
        let limits = super::super::recorder::Limits { flush_ns: 20_000_000, min_free_percent: 0, fsync: true };
        let call_name = Box::new(|_, id: u32| Some(format!("call {id}").into_bytes()));
        let mut recorder =
            Recorder::new(shared, trace, limits, Strides::newest(), NotMultiples(0), Sources::NONE, call_name);
        recorder.begin(serde_json::json!({"pid": 1}), None, sys::monotonic_ns());
        serve(shared, |now_ns| recorder.turn(now_ns));
    }));
}

/// Four threads, as many blocks as they get; returns how many records were taken.
fn produce(shared: &'static Shared) -> u64 {
    let taken = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let taken = &taken;
            scope.spawn(move || {
                let texts = Texts::new(50, "kernel_of_a_thread");
                for block in 0..100_u64 {
                    let mut records = Records::new();
                    for i in 0..100 {
                        let id = 1 + (thread * 100 + block) * 100 + i;
                        records.kernel(id, texts.pointer(i));
                        records.call(id);
                    }
                    if records.deliver(shared) {
                        taken.fetch_add(records.count, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    taken.into_inner()
}

fn close_and_wait(shared: &Shared) {
    let ticket = shared.ask(|ticket| Message::Close { ticket, reason: "exit" }).unwrap();
    assert!(shared.wait(ticket, 60_000_000_000));
}

#[test]
fn the_writer_thread_writes_a_whole_trace_on_a_small_stack() {
    let folder = Folder::new("whole");
    let path = folder.0.join("t.gpuprof");
    let shared = shared(8, true);
    start(shared, path.clone(), Settings::default());
    let taken = produce(shared);
    // A reader may look at any time.
    let ticket = shared.ask(|ticket| Message::Flush { ticket }).unwrap();
    assert!(shared.wait(ticket, 60_000_000_000));
    let early = TraceReader::open(&path).unwrap();
    assert!(!early.is_closed() && early.problems().is_empty());
    close_and_wait(shared);
    let read = Read::new(std::fs::read(&path).unwrap());
    read.check_law();
    check_definitions_come_first(&read);
    assert_eq!(read.total("delivered"), taken);
    assert_eq!(read.rows::<KernelRow>().len() as u64, taken / 2);
}

#[test]
fn a_ring_on_disk_stays_within_its_budget() {
    let folder = Folder::new("ring");
    let settings = Settings { size_policy: SizePolicy::Ring, size_limit_bytes: 2_400_000, ..Settings::default() };
    let shared = shared(8, true);
    start(shared, folder.0.join("t.gpuprof"), settings);
    produce(shared);
    close_and_wait(shared);
    for entry in std::fs::read_dir(&folder.0).unwrap() {
        let path = entry.unwrap().path();
        assert!(path.to_str().unwrap().contains("t.00000"), "{path:?}");
        assert!(TraceReader::open(&path).unwrap().is_closed());
    }
}
