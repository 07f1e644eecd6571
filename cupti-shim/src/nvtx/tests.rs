//! The tables driven as NVTX's headers drive them, without NVTX; `tests/record/nvtx.rs` has the real ones.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use trace_format::schema::{Row as _, RowBuilder as _};
use trace_format::tables::range::{RangeBuilder, RangeRow};

use super::abi::{
    self, Callbacks, EventAttributes, Handle, MAX_SLOTS, Module, Slots, VersionInfo, core, core2, cuda,
};
use super::queue::len;
use super::ranges::{Object, RangeCounts};
use super::*;

mod chained;
pub mod gate;
mod player;

use player::*;

#[test]
fn every_slot_of_the_modules_we_serve_is_taken_and_the_others_are_left() {
    let _one = exclusive();
    let dso = attached();
    for (module, len) in [(Module::Core, 16), (Module::Core2, 16), (Module::Cuda, 9), (Module::Cudart, 7)] {
        for slot in 1..len {
            assert_ne!(dso.get(module, slot), NOT_SET, "{module:?} slot {slot}");
        }
        assert_eq!(calls::of(module).len(), len - 1);
    }
    for foreign in [3, 6] {
        assert!(dso.variables[foreign].iter().all(|v| v.load(Ordering::Relaxed) == NOT_SET));
    }
    assert_eq!(VERSION_SET.load(Ordering::Relaxed), 3);
}

#[test]
fn an_older_nvtx_has_fewer_slots_and_none_beyond_them_is_touched() {
    let _one = exclusive();
    // libnvToolsExt of CUDA 11 and 12.1: 15 slots in CORE2, and modules may be missing.
    let dso = dso::<1>([0, 16, 0, 0, 0, 15, 0]);
    // SAFETY: tables as NVTX has them.
    assert_eq!(unsafe { initialize(Some(tables::<1>)) }, 1);
    assert_ne!(dso.get(Module::Core2, core2::DOMAIN_DESTROY), NOT_SET);
    assert_eq!(dso.get(Module::Core2, core2::INITIALIZE), NOT_SET);
    assert_eq!(dso.get(Module::Cuda, cuda::NAME_STREAM_A), NOT_SET);
}

#[test]
fn what_is_no_nvtx_is_refused() {
    unsafe extern "C" fn nothing(_table: u32) -> *const c_void {
        null()
    }
    let _one = exclusive();
    dso::<2>([0; 7]);
    // SAFETY: answers as NVTX may give them.
    unsafe {
        assert_eq!(initialize(None), 0);
        assert_eq!(initialize(Some(nothing)), 0);
        assert_eq!(initialize(Some(tables::<2>)), 0);
    }
}

#[test]
fn nested_ranges_have_levels_and_become_rows_when_they_end() {
    let _one = exclusive();
    let dso = attached();
    assert_eq!([push(dso, c"outer"), push(dso, c"inner")], [0, 1]);
    assert_eq!([range_pop(dso), range_pop(dso)], [1, 0]);
    let trace = trace();
    let [inner, outer] = &trace.rows[..] else { panic!("{:?}", trace.rows) };
    assert_eq!([inner.name_id, outer.name_id], [id("inner"), id("outer")]);
    assert!(outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns);
    assert!(inner.end_ns.unwrap() >= inner.start_ns);
    assert!(inner.style == 0 && inner.domain_id.is_none() && inner.category.is_none() && inner.color.is_none());
    assert_eq!(inner.tid, crate::sys::gettid());
    assert_ne!(inner.range_id, outer.range_id);
}

#[test]
fn a_pop_too_many_is_answered_and_counted() {
    let _one = exclusive();
    let dso = attached();
    let before = counts().pops_without_push;
    assert_eq!(range_pop(dso), abi::NO_TRACKING);
    assert_eq!([push(dso, c"one"), range_pop(dso), range_pop(dso)], [0, 0, abi::NO_TRACKING]);
    assert_eq!(counts().pops_without_push, before + 2);
    assert_eq!(trace().rows.len(), 1);
}

#[test]
fn domains_have_levels_of_their_own_even_under_one_name() {
    let _one = exclusive();
    let dso = attached();
    let (a, b) = (create(dso, c"library"), create(dso, c"library"));
    assert!(a != b && !a.is_null() && !b.is_null());
    let text = attributes(abi::MESSAGE_ASCII, c"work".as_ptr().cast());
    let other = attributes(abi::MESSAGE_ASCII, c"other".as_ptr().cast());
    // Crossed, which one stack would get wrong.
    assert_eq!([push_ex(dso, a, &text), push_ex(dso, b, &other), push(dso, c"default")], [0, 0, 0]);
    assert_eq!([pop_in(dso, a), pop_in(dso, b), range_pop(dso)], [0, 0, 0]);
    let trace = trace();
    let names: Vec<(u32, Option<u32>)> = trace.rows.iter().map(|r| (r.name_id, r.domain_id)).collect();
    let library = Some(id("library"));
    assert_eq!(names, [(id("work"), library), (id("other"), library), (id("default"), None)]);
    assert_eq!(trace.counts.without_end, 0);
}

#[test]
fn all_kinds_of_text_and_all_attributes_arrive() {
    let _one = exclusive();
    let dso = attached();
    let domain = create(dso, c"texts");
    let registered = register(dso, domain, c"registered");
    let wide: Vec<u32> = "weit 東\0".chars().map(u32::from).collect();
    let mark = |a: &EventAttributes| {
        call!(dso, Core2, core2::DOMAIN_MARK_EX, fn(Handle, *const EventAttributes), domain, a);
    };
    mark(&attributes(abi::MESSAGE_REGISTERED, registered));
    mark(&attributes(abi::MESSAGE_WIDE, wide.as_ptr().cast()));
    mark(&attributes(abi::MESSAGE_ASCII, null()));
    mark(&attributes(77, std::ptr::dangling()));
    mark(&EventAttributes {
        category: 4,
        color_type: abi::COLOR_ARGB,
        color: 0x8011_2233,
        payload_type: abi::PAYLOAD_F64,
        payload: 2.5f64.to_bits(),
        ..attributes(abi::MESSAGE_ASCII, c"all".as_ptr().cast())
    });
    mark(&EventAttributes {
        payload_type: abi::PAYLOAD_I32,
        payload: u64::from((-3i32) as u32),
        ..attributes(abi::MESSAGE_ASCII, c"all".as_ptr().cast())
    });
    call!(dso, Core, core::MARK_W, fn(*const u32), wide.as_ptr());
    call!(dso, Core, core::MARK_EX, fn(*const EventAttributes), null());
    let rows = trace().rows;
    let names: Vec<u32> = rows.iter().map(|r| r.name_id).collect();
    let [wide, all, none] = [id("weit 東"), id("all"), id("")];
    assert_eq!(names, [id("registered"), wide, none, none, all, all, wide, none]);
    assert!(rows.iter().all(|r| r.style == 2 && r.end_ns.is_none()));
    assert!(rows[..6].iter().all(|r| r.domain_id == Some(id("texts"))));
    let r = &rows[4];
    assert_eq!((r.category, r.color, r.payload_i64, r.payload_f64), (Some(4), Some(0x8011_2233), None, Some(2.5)));
    assert_eq!((rows[5].payload_i64, rows[5].payload_f64), (Some(-3), None));
}

#[test]
fn a_range_may_end_on_another_thread_and_its_id_is_never_given_twice() {
    let _one = exclusive();
    let dso = attached();
    let start = |text: &CStr| call!(dso, Core, core::RANGE_START_A, fn(*const c_char) -> u64, text.as_ptr());
    let end = |id: u64| call!(dso, Core, core::RANGE_END, fn(u64), id);
    let ids = [start(c"first"), start(c"second")];
    assert!(ids[0] != ids[1] && !ids.contains(&0));
    let ender = std::thread::spawn(move || end(ids[0]));
    ender.join().unwrap();
    // Ended twice, never given, and NVTX's null id.
    end(ids[0]);
    end(u64::MAX / 2);
    end(0);
    let trace = trace();
    let [first, second] = &trace.rows[..] else { panic!("{:?}", trace.rows) };
    assert_eq!((first.name_id, first.style, first.tid), (id("first"), 1, crate::sys::gettid()));
    assert!(first.end_ns.is_some());
    assert_eq!((second.name_id, second.end_ns), (id("second"), None));
    assert_eq!(trace.counts.without_start, 2);
}

#[test]
fn names_of_threads_categories_and_objects_reach_the_writer_once() {
    let _one = exclusive();
    let dso = attached();
    let domain = create(dso, c"io");
    for _ in 0..3 {
        call!(dso, Core, core::NAME_OS_THREAD_A, fn(u32, *const c_char), 4711, c"loader".as_ptr());
        call!(
            dso,
            Core2,
            core2::DOMAIN_NAME_CATEGORY_A,
            fn(Handle, u32, *const c_char),
            domain,
            12,
            c"read".as_ptr()
        );
        call!(dso, Core, core::NAME_CATEGORY_A, fn(u32, *const c_char), 4_294_967_295, c"all".as_ptr());
    }
    let stream = 0x5000usize as *mut c_void;
    call!(dso, Cuda, cuda::NAME_STREAM_A, fn(*mut c_void, *const c_char), stream, c"copies".as_ptr());
    call!(dso, Cuda, cuda::NAME_DEVICE_A, fn(c_int, *const c_char), 2, c"third".as_ptr());
    let named = trace().named;
    let texts: Vec<u32> = named
        .iter()
        .map(|n| match n {
            Named::Thread(row) => row.name_id,
            Named::Category(row) => row.text_id,
            Named::Object { name_id, .. } => *name_id,
        })
        .collect();
    let [io, all] = [id("NVTX category 12 of domain io: read"), id("NVTX category 4294967295: all")];
    assert_eq!(texts, [id("loader"), io, all, id("copies"), id("third")]);
    assert!(matches!(&named[0], Named::Thread(row) if row.tid == 4711));
    let found = |named: &Named| match named {
        Named::Object { object, note, .. } => (*object, note.text_id),
        other => panic!("{other:?}"),
    };
    assert_eq!(found(&named[3]), (Object::Stream(0x5000), id("NVTX name of CUDA stream 0x5000: copies")));
    assert_eq!(found(&named[4]), (Object::Device(2), id("NVTX name of CUDA device 2: third")));
}

#[test]
fn a_resource_names_its_object() {
    let _one = exclusive();
    let dso = attached();
    let create = |kind: i32, identifier: u64, name: &CStr| {
        let mut a = abi::ResourceAttributes {
            version: 3,
            size: 32,
            identifier_type: kind,
            identifier,
            message_type: abi::MESSAGE_ASCII,
            padding: 0,
            message: name.as_ptr().cast(),
        };
        type Create = *mut abi::ResourceAttributes;
        call!(dso, Core2, core2::DOMAIN_RESOURCE_CREATE, fn(Handle, Create) -> Handle, null_mut(), &raw mut a)
    };
    let resource = create(abi::RESOURCE_THREAD, 99, c"worker");
    assert!(!resource.is_null());
    assert!(!create(abi::RESOURCE_CUDA_STREAM, 0x77, c"side").is_null());
    assert!(!create(0x1_0001, 0x77, c"a lock").is_null());
    call!(dso, Core2, core2::DOMAIN_RESOURCE_DESTROY, fn(Handle), resource);
    let named = trace().named;
    assert_eq!(named.len(), 2);
    assert!(matches!(&named[0], Named::Thread(row) if row.tid == 99 && row.name_id == id("worker")));
    assert!(
        matches!(&named[1], Named::Object { object: Object::Stream(0x77), name_id, .. } if *name_id == id("side"))
    );
}

#[test]
fn handles_that_we_never_gave_do_no_harm() {
    let _one = exclusive();
    let dso = attached();
    let before = counts().strange_handles;
    let strange = 0xDEAD_BEE0usize as Handle;
    assert_eq!(push_ex(dso, strange, &attributes(abi::MESSAGE_REGISTERED, strange)), 0);
    assert_eq!(pop_in(dso, strange), 0);
    call!(dso, Core2, core2::DOMAIN_DESTROY, fn(Handle), strange);
    assert_eq!(trace().rows.len(), 1);
    assert!(counts().strange_handles >= before + 3);
}

#[test]
fn the_gate_hears_what_a_range_is_called_registered_or_not_and_when_it_ends() {
    let _one = exclusive();
    let dso = attached();
    gate::play(true);
    gate::heard();
    let domain = create(dso, c"model");
    let registered = attributes(abi::MESSAGE_REGISTERED, register(dso, domain, c"train"));
    push(dso, c"epoch");
    push_ex(dso, domain, &registered);
    push(dso, c"train");
    // Ends "train" of the default domain, then that of the other, although "epoch" is still open.
    range_pop(dso);
    pop_in(dso, domain);
    range_pop(dso);
    assert_eq!(gate::heard(), ["epoch@", "train@model", "train@", "end", "end"]);
    let start = |text: &CStr| call!(dso, Core, core::RANGE_START_A, fn(*const c_char) -> u64, text.as_ptr());
    let end = |id: u64| call!(dso, Core, core::RANGE_END, fn(u64), id);
    let ids = [start(c"train"), start(c"validate")];
    end(ids[1]);
    assert_eq!(gate::heard(), ["train@", "validate@"]);
    // Ends once, however often it is ended.
    end(ids[0]);
    end(ids[0]);
    assert_eq!(gate::heard(), ["end"]);
    // Marks are no ranges.
    call!(dso, Core, core::MARK_A, fn(*const c_char), c"train".as_ptr());
    assert!(gate::heard().is_empty());
    events();
}

#[test]
fn a_range_that_opened_the_gate_closes_it_even_if_nobody_asks_any_more() {
    let _one = exclusive();
    let dso = attached();
    gate::play(true);
    gate::heard();
    push(dso, c"train");
    gate::play(false);
    push(dso, c"train");
    range_pop(dso);
    range_pop(dso);
    assert_eq!(gate::heard(), ["train@", "end"]);
    events();
}

#[test]
fn a_full_queue_loses_events_with_count_and_times_and_the_writer_is_woken_before() {
    static WOKEN: AtomicU64 = AtomicU64::new(0);
    let _one = exclusive();
    let dso = attached();
    on_pressure(|| {
        WOKEN.fetch_add(1, Ordering::Relaxed);
    });
    let from_ns = crate::sys::realtime_ns();
    for i in 0..CAPACITY / 2 {
        assert_eq!(WOKEN.load(Ordering::Relaxed), 0, "after {i} of {CAPACITY}");
        push(dso, c"level");
        range_pop(dso);
        if WOKEN.load(Ordering::Relaxed) > 0 {
            break;
        }
    }
    assert!(len() >= CAPACITY / 2 && len() < CAPACITY / 2 + 100);
    assert_eq!(take_lost(), None);
    while len() < CAPACITY {
        call!(dso, Core, core::MARK_A, fn(*const c_char), c"fill".as_ptr());
    }
    // One wake is enough until somebody came.
    assert_eq!(WOKEN.load(Ordering::Relaxed), 1);
    for _ in 0..10 {
        push(dso, c"lost");
        range_pop(dso);
    }
    let lost = take_lost().unwrap();
    assert_eq!(lost.events, 20);
    assert!(from_ns <= lost.start_ns && lost.start_ns <= lost.end_ns && lost.end_ns <= crate::sys::realtime_ns());
    assert_eq!(take_lost(), None);
    let trace = trace();
    assert_eq!(trace.counts.without_start + trace.counts.without_end, 0);
    on_pressure(|| {});
}

#[test]
fn ranges_of_many_threads_pair_up_exactly() {
    let _one = exclusive();
    let dso = attached();
    let domain = create(dso, c"shared") as usize;
    let work = move |thread: usize| {
        let name = std::ffi::CString::new(format!("thread {thread}")).unwrap();
        let text = attributes(abi::MESSAGE_ASCII, name.as_ptr().cast());
        for _ in 0..100 {
            push(dso, &name);
            push_ex(dso, domain as Handle, &text);
            range_pop(dso);
            pop_in(dso, domain as Handle);
        }
    };
    let threads: Vec<_> = (0..16).map(|t| std::thread::spawn(move || work(t))).collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    let trace = trace();
    assert_eq!(trace.rows.len(), 16 * 200);
    assert!(trace.rows.iter().all(|r| r.end_ns.is_some_and(|end| end >= r.start_ns)));
    let mut by_thread: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for row in &trace.rows {
        by_thread.entry(row.tid).or_default().push(row.name_id);
    }
    assert!(by_thread.values().all(|names| names.iter().all(|n| *n == names[0])));
    assert_eq!(trace.counts.without_start + trace.counts.without_end, 0);
}

#[test]
fn a_forked_child_says_nothing_and_its_program_notices_nothing() {
    let _one = exclusive();
    let dso = attached();
    push(dso, c"before the fork");
    // SAFETY: the child calls nothing that takes a lock, and leaves with `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let before = len();
        let silent = push(dso, c"child") == abi::NO_TRACKING && range_pop(dso) == abi::NO_TRACKING;
        let handles = !create(dso, c"child's").is_null() && !register(dso, null_mut(), c"child's").is_null();
        let quiet = len() == before;
        // It becomes ours: from then on it is like any other process.
        let own = crate::sys::claim(|| true);
        forget();
        let again = len() == 0 && push(dso, c"own") == 0 && range_pop(dso) == 0 && len() == 2;
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(if silent && handles && quiet && own && again { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: our own child.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    assert_eq!(range_pop(dso), 0);
    assert_eq!(trace().rows.len(), 1);
}

#[test]
fn string_ids_of_registered_texts_are_new_in_a_process_that_starts_over() {
    let _one = exclusive();
    let dso = attached();
    let text = attributes(abi::MESSAGE_REGISTERED, register(dso, null_mut(), c"kept for good"));
    push_ex(dso, null_mut(), &text);
    forget();
    assert_eq!(push_ex(dso, null_mut(), &text), 0, "the stack is new as well");
    pop_in(dso, null_mut());
    assert_eq!(trace().rows[0].name_id, id("kept for good"));
}

/// `cargo test -p cupti-shim -- --ignored --nocapture cost_of_a_pair`: a measurement, not a check. Processor time of
/// this thread, queue emptied in between: what the program pays where nobody else pushes.
#[test]
#[ignore = "a measurement"]
fn cost_of_a_pair() {
    const PAIRS: usize = CAPACITY / 2 - 100;
    fn cpu_ns() -> i64 {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes to `t`.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
        t.tv_sec * 1_000_000_000 + t.tv_nsec
    }
    let _one = exclusive();
    let dso = attached();
    let domain = create(dso, c"cost");
    let registered = attributes(abi::MESSAGE_REGISTERED, register(dso, domain, c"a registered string"));
    let ascii = attributes(abi::MESSAGE_ASCII, c"a text of some length".as_ptr().cast());
    let took = |what: &str, body: &dyn Fn()| {
        let mut best = i64::MAX;
        for _ in 0..50 {
            while pop().is_some() {}
            let start = cpu_ns();
            (0..PAIRS).for_each(|_| body());
            best = best.min(cpu_ns() - start);
        }
        println!("{what}: {:.1} ns per pair", best as f64 / PAIRS as f64);
    };
    took("pushA + pop", &|| {
        push(dso, c"a text of some length");
        range_pop(dso);
    });
    took("domain, ascii", &|| {
        push_ex(dso, domain, &ascii);
        pop_in(dso, domain);
    });
    took("domain, registered", &|| {
        push_ex(dso, domain, &registered);
        pop_in(dso, domain);
    });
    took("of which two clock readings", &|| {
        std::hint::black_box(crate::sys::realtime_ns() + crate::sys::realtime_ns());
    });
    took("of which one name", &|| {
        std::hint::black_box(intern(b"a text of some length"));
    });
    assert_eq!(take_lost(), None);
}
