//! What must hold however threads come between each other, and however late their memory reaches each other.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use collector_model::buffers::{Owner, Pool};
use collector_model::decode::Facts;
use collector_model::gate::{Filter, GATE};
use collector_model::messages::Message;
use collector_model::names::Names;
use collector_model::session::{Cupti, Driver, Session};
use collector_model::strides::Strides;
use collector_model::sync;
use collector_model::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use collector_model::writer::Shared;
use collector_model::writer::as_writer as writer;
use collector_model::writer::shared::Phase;
use loom::thread;

/// Goes through everything that up to `preemptions` interruptions can bring about.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(move || {
        sync::begin();
        model();
    });
}

/// The gate is one, and tests run beside each other.
static ONE: Mutex<()> = Mutex::new(());

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Two blocks.
fn pool() -> &'static Pool {
    let pool = leak(Pool::new());
    assert!(pool.prepare(1, 1, false));
    // Looks at every block's address, so that each is known before there is a second thread.
    assert_eq!(pool.complete(std::ptr::null_mut()), Owner::Foreign);
    pool
}

/// As CUPTI does with a block: it writes, and gives back what it has written.
fn use_block(pool: &'static Pool) {
    let block = pool.take();
    if !block.is_null() {
        sync::writes(block);
        assert_eq!(pool.complete(block), Owner::Block);
        pool.give_back(block, 8);
    }
}

#[test]
fn a_block_belongs_to_one_thread_at_a_time() {
    explore(2, || {
        let pool = pool();
        let threads: Vec<_> = (0..2).map(|_| thread::spawn(|| use_block(pool))).collect();
        use_block(pool);
        threads.into_iter().for_each(|t| t.join().unwrap());
        // Both are back.
        let (a, b) = (pool.take(), pool.take());
        assert!(!a.is_null() && !b.is_null() && a != b && pool.take().is_null());
    });
}

#[test]
fn a_block_that_came_back_to_the_top_is_not_mistaken_for_one_that_never_left() {
    explore(3, || {
        let pool = pool();
        use_block(pool);
        let both = [pool.take(), pool.take()];
        for block in both {
            assert_eq!(pool.complete(block), Owner::Block);
            pool.give_back(block, 8);
        }
        let other = thread::spawn(|| pool.take() as usize);
        let (a, b) = (pool.take(), pool.take());
        if !a.is_null() && pool.complete(a) == Owner::Block {
            pool.give_back(a, 8);
        }
        let theirs = other.join().unwrap() as *mut u8;
        assert!(theirs.is_null() || theirs != b, "held twice");
        let last = pool.take();
        assert!(last.is_null() || last != b && last != theirs, "held twice");
    });
}

#[test]
fn trimming_takes_no_block_from_anybody() {
    explore(3, || {
        let pool = pool();
        use_block(pool);
        pool.trim();
        let other = thread::spawn(|| use_block(pool));
        pool.trim();
        pool.trim();
        other.join().unwrap();
        let (a, b) = (pool.take(), pool.take());
        assert!(!a.is_null() && !b.is_null() && a != b);
    });
}

#[test]
fn a_block_completed_twice_is_one_block() {
    explore(3, || {
        let pool = pool();
        let block = pool.take();
        let address = block as usize;
        let other = thread::spawn(move || pool.complete(address as *mut u8));
        let owners = [pool.complete(block), other.join().unwrap()];
        assert!(owners.contains(&Owner::Block) && owners.contains(&Owner::Foreign));
    });
}

fn drain(names: &Names, known: &mut BTreeMap<u32, Vec<u8>>) {
    names.drain(&mut |id, name| assert!(known.insert(id, name.to_vec()).is_none(), "{id} was given twice"));
}

#[test]
fn threads_that_bring_names_get_ids_that_mean_them() {
    explore(2, || {
        let names = leak(Names::new());
        let threads = [&b"same"[..], b"same"].map(|name| thread::spawn(move || (names.intern(name), name)));
        let mut known = BTreeMap::new();
        drain(names, &mut known);
        let ids = threads.map(|t| t.join().unwrap());
        drain(names, &mut known);
        for (id, name) in ids {
            assert_eq!(known.get(&id).map(Vec::as_slice), Some(name));
        }
    });
}

#[test]
fn a_name_whose_id_is_known_is_given_by_the_next_drain() {
    explore(3, || {
        let names = leak(Names::new());
        let queued = leak(AtomicU32::new(0));
        let other = thread::spawn(|| {
            names.intern(b"some");
            queued.store(names.intern(b"name"), Ordering::Release);
        });
        let mut known = BTreeMap::new();
        let id = queued.load(Ordering::Acquire);
        drain(names, &mut known);
        assert!(id == 0 || known[&id] == b"name");
        other.join().unwrap();
        drain(names, &mut known);
        assert_eq!(known.len(), 2);
    });
}

#[test]
fn a_generation_is_not_emptied_under_a_reader() {
    explore(2, || {
        let names = leak(Names::new());
        let mut known = BTreeMap::new();
        // The first generation full and given, the second half full: the next drain empties the first.
        for i in 0..8u8 {
            names.intern(&[i]);
        }
        drain(names, &mut known);
        names.intern(&[8]);
        let other = thread::spawn(|| names.intern(&[3]));
        drain(names, &mut known);
        let id = other.join().unwrap();
        drain(names, &mut known);
        assert_eq!(known[&id], [3], "known as before, or anew");
        // And there is room again.
        assert_ne!(names.intern(&[9]), 0);
    });
}

#[test]
fn generations_turn_once_for_two_threads_that_find_one_full() {
    explore(2, || {
        let names = leak(Names::new());
        for i in 0..6u8 {
            names.intern(&[i]);
        }
        let threads = [7u8, 8].map(|i| thread::spawn(move || (names.intern(&[i]), i)));
        let ids = threads.map(|t| t.join().unwrap());
        let mut known = BTreeMap::new();
        drain(names, &mut known);
        for (id, name) in ids {
            assert_eq!(known[&id], [name]);
        }
        assert_eq!(names.refused(), 0);
    });
}

/// With that many blocks, and CUPTI of today.
fn shared(blocks: usize) -> &'static Shared {
    let shared = leak(Shared::new(leak(Names::new())));
    assert!(writer::prepare(shared, blocks, true));
    assert_eq!(shared.pool.complete(std::ptr::null_mut()), Owner::Foreign);
    shared
}

/// A block full of records, from CUPTI's hands into ours.
fn deliver(shared: &Shared) -> bool {
    let (block, bytes) = shared.request();
    if block.is_null() {
        return false;
    }
    sync::writes(block);
    // SAFETY: the block is as long as it says.
    unsafe {
        block.cast::<[u8; 4]>().write(*b"name");
        shared.complete(block, bytes, &Strides);
    }
    true
}

/// Takes that many blocks, as the writer does: asleep while there are none.
fn write(shared: &Shared, blocks: usize) {
    let mut known = BTreeMap::new();
    for _ in 0..blocks {
        let block = loop {
            let seen = writer::wake_count(shared);
            match writer::next_block(shared) {
                Some(block) => break block,
                None => writer::sleep(shared, seen),
            }
        };
        let (block, bytes) = writer::bytes(&block);
        sync::reads(block);
        // SAFETY: it was queued, so it is this thread's.
        let id = u32::from_le_bytes(unsafe { block.cast::<[u8; 4]>().read() });
        drain(shared.names, &mut known);
        assert_eq!(known[&id], b"name");
        shared.pool.give_back(block, bytes);
    }
}

#[test]
fn a_writer_that_sleeps_is_woken_for_every_block() {
    explore(3, || {
        let shared = shared(2);
        let callback = thread::spawn(|| assert!(deliver(shared) && deliver(shared)));
        write(shared, 2);
        callback.join().unwrap();
    });
}

#[test]
fn two_callbacks_and_a_writer_lose_no_block() {
    explore(2, || {
        let shared = shared(2);
        let callbacks = [0, 1].map(|_| thread::spawn(|| assert!(deliver(shared))));
        write(shared, 2);
        callbacks.into_iter().for_each(|t| t.join().unwrap());
    });
}

#[test]
fn a_ticket_is_answered_or_the_end_of_the_writer_seen() {
    explore(3, || {
        let shared = shared(2);
        writer::set_phase(shared, Phase::Running);
        let end = thread::spawn(|| {
            let seen = writer::wake_count(shared);
            match writer::next_message(shared) {
                Some(Message::Flush { ticket }) => writer::answer(shared, ticket),
                Some(Message::Capture(_) | Message::Loss(_)) => {}
                None => writer::sleep(shared, seen),
            }
            writer::set_phase(shared, Phase::Ended);
        });
        // Time stands still, so whoever is not woken waits for ever.
        if let Some(ticket) = shared.ask(|ticket| Message::Flush { ticket }) {
            shared.wait(ticket, 10);
        } else {
            shared.nudge();
        }
        end.join().unwrap();
    });
}

fn session() -> &'static Session {
    GATE.forget();
    let settings = shim_config::Settings { capture: shim_config::Capture::ProfilerApi, ..Default::default() };
    leak(Session {
        settings: leak(settings),
        shared: shared(2),
        cupti: Cupti,
        driver: Driver,
        gpu_kinds: AtomicBool::new(false),
        api_kinds: AtomicBool::new(false),
    })
}

fn kernel(correlation: u64) -> Facts {
    let kind = cupti_sys::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    Facts { kind, correlation: Some(correlation), start_ns: 1, end_ns: 2, tid: 0 }
}

#[test]
fn what_was_launched_inside_a_window_is_kept_and_what_came_after_its_end_is_not() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    explore(3, || {
        let session = session();
        // Where the program is: every number is that of a call which has come back.
        let calls = leak(AtomicU64::new(0));
        let program = thread::spawn(|| {
            GATE.profiler_start(session, 10);
            calls.store(11, Ordering::Release);
            GATE.profiler_stop(session, 20);
            calls.store(21, Ordering::Release);
        });
        let mut filter = Filter::new(shim_config::Membership::Launched);
        for _ in 0..2 {
            // A block with a record of the newest call has come.
            let newest = calls.load(Ordering::Acquire);
            filter.refresh();
            assert!(!filter.keeps(&kernel(9)) && !filter.keeps(&kernel(10)));
            assert!(newest < 11 || filter.keeps(&kernel(11)));
            assert!(newest < 21 || !filter.keeps(&kernel(21)) && filter.keeps(&kernel(19)));
        }
        program.join().unwrap();
    });
}

#[test]
fn the_end_of_a_drain_switches_nothing_off_in_a_window_that_opened_meanwhile() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    explore(3, || {
        let session = session();
        GATE.profiler_start(session, 10);
        GATE.profiler_stop(session, 20);
        let flush = thread::spawn(|| {
            if GATE.is_draining() {
                let version = GATE.version();
                GATE.all_came(session, version);
            }
        });
        GATE.profiler_start(session, 30);
        assert!(GATE.is_open() && session.gpu_kinds.load(Ordering::Relaxed), "when Start returns");
        flush.join().unwrap();
        assert!(GATE.is_open() && session.gpu_kinds.load(Ordering::Relaxed));
        GATE.profiler_stop(session, 40);
        GATE.all_came(session, GATE.version());
        assert!(!session.gpu_kinds.load(Ordering::Relaxed) && !session.api_kinds.load(Ordering::Relaxed));
    });
}

#[test]
fn the_end_of_a_drain_does_not_end_that_of_a_later_window() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    explore(3, || {
        let session = session();
        GATE.profiler_start(session, 10);
        GATE.profiler_stop(session, 20);
        let flush = thread::spawn(|| {
            let version = GATE.version();
            GATE.all_came(session, version);
            version
        });
        GATE.profiler_start(session, 30);
        GATE.profiler_stop(session, 40);
        if flush.join().unwrap() != GATE.version() {
            assert!(
                GATE.is_draining() && session.gpu_kinds.load(Ordering::Relaxed),
                "its kernels are still awaited"
            );
        }
    });
}

#[test]
fn two_threads_that_stop_end_one_window() {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    explore(3, || {
        let session = session();
        GATE.profiler_start(session, 10);
        let other = thread::spawn(|| GATE.profiler_stop(session, 20));
        GATE.profiler_stop(session, 21);
        other.join().unwrap();
        let mut filter = Filter::new(shim_config::Membership::Launched);
        filter.refresh();
        assert!(filter.keeps(&kernel(19)) && !filter.keeps(&kernel(22)));
        assert_eq!(GATE.finish(session, 0).map(|s| (s.opened, s.idle_stops)), Some((1, 1)));
    });
}
