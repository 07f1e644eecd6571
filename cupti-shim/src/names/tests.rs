use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn drained(names: &Names) -> Vec<(u32, Vec<u8>)> {
    let mut all = Vec::new();
    names.drain(&mut |id, bytes| all.push((id, bytes.to_vec())));
    all
}

#[test]
fn equal_bytes_have_one_id_and_different_bytes_have_different_ones() {
    let names = Names::new();
    let texts: [&[u8]; 6] = [b"", b"\0", b"_Z3addPf", b"\xff\xfe not utf-8", b"12345678", b"1234567812345678"];
    let ids: Vec<u32> = texts.iter().map(|t| names.intern(t)).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6]);
    assert_eq!(texts.iter().map(|t| names.intern(t)).collect::<Vec<_>>(), ids);
    let expected: Vec<(u32, Vec<u8>)> = ids.into_iter().zip(texts.map(<[u8]>::to_vec)).collect();
    assert_eq!(drained(&names), expected);
    assert_eq!(drained(&names), [], "a name is given once");
    assert_eq!(names.intern(b"_Z3addPf"), 3, "and stays known");
}

#[test]
fn a_name_is_what_it_was_when_it_was_interned() {
    let names = Names::new();
    let mut theirs = b"kernel_of_a_module".to_vec();
    let id = names.intern(&theirs);
    theirs.fill(b'x');
    drop(theirs);
    assert_eq!(drained(&names), [(id, b"kernel_of_a_module".to_vec())]);
}

#[test]
fn a_name_that_is_too_long_is_cut_and_counted() {
    let names = Names::new();
    let long = vec![b'k'; MAX_NAME_BYTES + 1];
    let id = names.intern(&long);
    assert_eq!((names.intern(&long[..MAX_NAME_BYTES]), names.cut()), (id, 1));
    assert_eq!(drained(&names), [(id, long[..MAX_NAME_BYTES].to_vec())]);
}

#[test]
fn ids_of_the_writer_come_from_the_same_row() {
    let names = Names::new();
    assert_eq!((names.own(), names.intern(b"a"), names.own(), names.intern(b"b")), (1, 2, 3, 4));
    assert_eq!(drained(&names), [(2, b"a".to_vec()), (4, b"b".to_vec())]);
}

#[test]
fn starting_over_forgets_names_and_ids() {
    let names = Names::new();
    names.intern(b"of the parent");
    names.forget();
    assert_eq!(drained(&names), []);
    assert_eq!(names.intern(b"of the child"), 1);
    assert_eq!(names.intern(b"of the parent"), 2);
    assert_eq!(drained(&names).len(), 2);
}

#[test]
fn any_number_of_names_passes_through_while_the_writer_keeps_up() {
    let names = Names::new();
    let mut seen = HashMap::new();
    for i in 0..300_000_u32 {
        let name = format!("triton_poi_fused_add_mul_{i}_some_more_text_as_generated_names_have_it");
        let id = names.intern(name.as_bytes());
        assert_ne!(id, 0, "{i}");
        if i % 1_000 == 0 {
            for (id, bytes) in drained(&names) {
                assert!(seen.insert(id, bytes).is_none(), "{id} was given twice");
            }
        }
    }
    seen.extend(drained(&names));
    assert_eq!((seen.len(), names.refused()), (300_000, 0));
}

#[test]
fn without_a_writer_names_are_refused_and_counted_and_accepted_again_later() {
    let names = Names::new();
    let ids: Vec<u32> = (0..200_000_u32).map(|i| names.intern(format!("name {i}").as_bytes())).collect();
    let refused = ids.iter().filter(|id| **id == 0).count();
    assert_eq!(names.refused(), refused as u64);
    assert!(refused > 50_000 && refused < 110_000, "{refused}");
    assert_eq!(names.intern(b"name 7"), ids[7], "what was accepted stays known");
    assert_eq!(drained(&names).len(), ids.len() - refused);
    // One generation is full and given: it makes room.
    assert_ne!(names.intern(b"a new one"), 0);
    assert_eq!(names.refused(), refused as u64);
}

#[test]
fn long_names_fill_the_bytes_before_the_entries() {
    let names = Names::new();
    let name = |i: u32| [&i.to_le_bytes()[..], &[b'n'; 60_000]].concat();
    let accepted = (0..1_000).take_while(|i| names.intern(&name(*i)) != 0).count();
    // Twice 7.3 MiB.
    assert!((240..260).contains(&accepted), "{accepted}");
    assert_ne!(names.intern(b"short"), 0, "a short one still finds a gap");
}

#[test]
fn threads_never_confuse_names_and_the_writer_sees_each_id_that_was_used() {
    let names = Names::new();
    let stop = AtomicBool::new(false);
    let (written, used) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut written: HashMap<u32, Vec<u8>> = HashMap::new();
            loop {
                let last = stop.load(Ordering::Acquire);
                for (id, bytes) in drained(&names) {
                    assert!(written.insert(id, bytes).is_none(), "{id} was given twice");
                }
                if last {
                    break written;
                }
            }
        });
        let threads: Vec<_> = (0..6_u32)
            .map(|thread| {
                let names = &names;
                scope.spawn(move || {
                    let mut used = Vec::new();
                    for i in 0..60_000_u32 {
                        // Half of them shared with the other threads, at about the same time.
                        let who = if i % 2 == 0 { 99 } else { thread };
                        let name = format!("name {i} of thread {who} {}", "x".repeat((i % 200) as usize));
                        used.push((names.intern(name.as_bytes()), name.into_bytes()));
                    }
                    used
                })
            })
            .collect();
        let used: Vec<_> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
        stop.store(true, Ordering::Release);
        (writer.join().unwrap(), used)
    });
    let mut refused = 0;
    for (id, name) in &used {
        if *id == 0 {
            refused += 1;
        } else {
            assert_eq!(written.get(id), Some(name));
        }
    }
    assert_eq!(names.refused(), refused);
    assert!(refused < used.len() as u64 / 2, "{refused} of {} refused", used.len());
}

#[test]
fn an_id_returned_before_a_drain_is_among_those_drained() {
    let names = Names::new();
    // A queue of one: the thread offers an id, the writer drains and must know it.
    let offered = AtomicU32::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..20_000_u32 {
                let id = names.intern(&i.to_le_bytes());
                while offered.compare_exchange(0, id, Ordering::AcqRel, Ordering::Relaxed).is_err() {
                    std::thread::yield_now();
                }
            }
            while offered.load(Ordering::Acquire) != 0 {
                std::thread::yield_now();
            }
            offered.store(u32::MAX, Ordering::Release);
        });
        let mut known = HashMap::new();
        loop {
            match offered.load(Ordering::Acquire) {
                u32::MAX => break,
                0 => std::thread::yield_now(),
                id => {
                    known.extend(drained(&names));
                    assert!(known.contains_key(&id), "{id}");
                    offered.store(0, Ordering::Release);
                }
            }
        }
    });
}

#[test]
fn the_hash_tells_names_apart_that_differ_in_one_byte() {
    let mut seen = HashMap::new();
    for len in [1, 7, 8, 9, 15, 16, 17, 63, 200] {
        for at in 0..len {
            for value in 1..=8_u8 {
                let mut name = vec![0; len];
                name[at] = value;
                if let Some(other) = seen.insert(hash(&name) >> 32, name.clone()) {
                    panic!("{other:?} and {name:?}");
                }
            }
        }
    }
}
