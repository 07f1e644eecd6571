pub(super) mod interleave;

use std::collections::HashSet;
use std::sync::Mutex;

use super::*;

const BLOCK: usize = 128 << 10;

fn pool(blocks: usize, with_drops: bool) -> Pool {
    let pool = Pool::new();
    assert!(pool.prepare(BLOCK, blocks * BLOCK, with_drops));
    pool
}

fn bytes(ptr: *mut u8, len: usize) -> &'static mut [u8] {
    // SAFETY: a block of the pool that the test holds.
    unsafe { std::slice::from_raw_parts_mut(ptr, len) }
}

fn resident_pages(ptr: *mut u8, len: usize) -> usize {
    let mut pages = vec![0_u8; len / PAGE_BYTES];
    // SAFETY: one byte per page.
    assert_eq!(unsafe { libc::mincore(ptr.cast(), len, pages.as_mut_ptr()) }, 0);
    pages.iter().filter(|p| **p & 1 != 0).count()
}

#[test]
fn a_pool_without_blocks_gives_none() {
    let pool = Pool::new();
    assert!(pool.take().is_null());
    assert_eq!(pool.take_or_drop(), (null_mut(), 0));
    assert_eq!(pool.complete(null_mut()), Owner::Foreign);
    assert_eq!((pool.block_bytes(), pool.requested(), pool.completed()), (0, 2, 2));
}

#[test]
fn blocks_are_distinct_aligned_and_zero_and_cost_no_memory_before_they_are_used() {
    let pool = pool(32, false);
    let taken: Vec<*mut u8> = (0..32).map(|_| pool.take()).collect();
    let distinct: HashSet<usize> = taken.iter().map(|p| *p as usize).collect();
    assert_eq!(distinct.len(), 32);
    for ptr in taken {
        assert!((ptr as usize).is_multiple_of(PAGE_BYTES));
        assert!(resident_pages(ptr, BLOCK) <= 2);
        assert!(bytes(ptr, BLOCK).iter().all(|b| *b == 0));
    }
}

#[test]
fn a_dry_pool_gives_null_and_remembers_since_when() {
    let pool = pool(2, false);
    let (first, second) = (pool.take(), pool.take());
    assert!(!first.is_null() && !second.is_null() && pool.take_dry().is_none());
    let before = crate::sys::realtime_ns();
    assert!(pool.take().is_null() && pool.take().is_null());
    let dry = pool.take_dry().unwrap();
    assert_eq!(dry.requests, 2);
    assert!(before <= dry.first_unix_ns && dry.first_unix_ns <= dry.last_unix_ns);
    assert_eq!((pool.take_dry(), pool.requested(), pool.completed()), (None, 4, 2), "two are with CUPTI");
    assert_eq!(pool.complete(first), Owner::Block);
    pool.give_back(first, 0);
    assert_eq!(pool.take(), first);
}

#[test]
fn the_block_given_back_last_comes_first_and_is_zero_again() {
    let pool = pool(8, false);
    let (a, b) = (pool.take(), pool.take());
    bytes(b, 10_000).fill(7);
    for ptr in [a, b] {
        assert_eq!(pool.complete(ptr), Owner::Block);
        pool.give_back(ptr, 10_000);
    }
    assert_eq!(pool.take(), b);
    assert!(bytes(b, BLOCK).iter().all(|x| *x == 0));
    assert_eq!(pool.take(), a);
}

#[test]
fn what_is_not_ours_or_not_out_is_left_alone() {
    let pool = pool(2, true);
    let mut theirs = [9_u8; 64];
    assert_eq!(pool.complete(theirs.as_mut_ptr()), Owner::Foreign);
    pool.give_back(theirs.as_mut_ptr(), 64);
    assert_eq!(theirs, [9; 64]);
    let ours = pool.take();
    pool.give_back(ours, BLOCK);
    assert_eq!(pool.free(), 1, "CUPTI has not completed it yet");
    assert_eq!((pool.complete(ours), pool.complete(ours)), (Owner::Block, Owner::Foreign));
    pool.give_back(ours, 0);
    pool.give_back(ours, 0);
    assert_eq!((pool.free(), pool.completed()), (2, 1), "twice given back counts once");
}

#[test]
fn a_block_that_somebody_else_frees_is_only_one_block_less() {
    let pool = pool(3, false);
    let lost = pool.take();
    // SAFETY: from `aligned_alloc`; this is what an intruder does.
    unsafe { libc::free(lost.cast()) };
    let (a, b) = (pool.take(), pool.take());
    assert!(!a.is_null() && !b.is_null() && pool.take().is_null());
}

#[test]
fn older_cupti_gets_drop_blocks_when_dry_and_more_of_them_than_were_made() {
    let pool = pool(2, true);
    assert_eq!((pool.take_or_drop().1, pool.take_or_drop().1), (BLOCK, BLOCK));
    let drops: Vec<*mut u8> = (0..DROP_BLOCKS + 10)
        .map(|_| {
            let (ptr, size) = pool.take_or_drop();
            assert!(!ptr.is_null() && size == DROP_BLOCK_BYTES);
            bytes(ptr, size).fill(1);
            ptr
        })
        .collect();
    assert_eq!(drops.iter().map(|p| *p as usize).collect::<HashSet<_>>().len(), drops.len());
    for ptr in &drops {
        assert_eq!(pool.complete(*ptr), Owner::DropBlock);
        pool.give_back(*ptr, DROP_BLOCK_BYTES);
    }
    for _ in 0..drops.len() {
        let (ptr, size) = pool.take_or_drop();
        assert!(drops.contains(&ptr));
        assert!(bytes(ptr, size).iter().all(|b| *b == 0));
    }
}

#[test]
fn memory_of_blocks_that_are_not_needed_goes_back_little_by_little() {
    let pool = pool(8, false);
    let taken: Vec<*mut u8> = (0..8).map(|_| pool.take()).collect();
    for ptr in &taken {
        bytes(*ptr, BLOCK).fill(1);
        assert_eq!(pool.complete(*ptr), Owner::Block);
        pool.give_back(*ptr, BLOCK);
    }
    assert_eq!(pool.warm(), 8);
    pool.trim();
    assert_eq!(pool.warm(), 8, "they were just used");
    pool.trim();
    assert_eq!(pool.warm(), 4);
    while pool.warm() > 0 {
        pool.trim();
    }
    assert_eq!(pool.free(), 8);
    assert_eq!(taken.iter().map(|p| resident_pages(*p, BLOCK)).sum::<usize>(), 0);
    for _ in 0..8 {
        assert!(bytes(pool.take(), BLOCK).iter().all(|b| *b == 0));
    }
}

#[test]
fn a_block_that_stays_in_use_keeps_its_memory() {
    let pool = pool(8, false);
    for _ in 0..20 {
        let ptr = pool.take();
        assert_eq!(pool.complete(ptr), Owner::Block);
        pool.give_back(ptr, BLOCK);
        pool.trim();
    }
    assert_eq!(pool.warm(), 1);
}

#[test]
fn no_block_is_ever_in_two_hands() {
    let pool = pool(6, true);
    let queue = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 1..=8_u64 {
            let (pool, queue) = (&pool, &queue);
            scope.spawn(move || {
                for i in 0..20_000_u64 {
                    let (ptr, size) = pool.take_or_drop();
                    assert!(!ptr.is_null());
                    let words = ptr.cast::<u64>();
                    // SAFETY: the block is this thread's until it completes it.
                    unsafe {
                        assert_eq!(words.read_volatile(), 0);
                        words.write_volatile(thread << 32 | i);
                        words.add(size / 8 - 1).write_volatile(thread);
                        assert_eq!(words.read_volatile(), thread << 32 | i);
                    }
                    let owner = pool.complete(ptr);
                    assert_ne!(owner, Owner::Foreign);
                    if i % 3 == 0 {
                        // By way of another thread.
                        queue.lock().unwrap().push((ptr as usize, size));
                        let other = queue.lock().unwrap().pop();
                        if let Some((ptr, size)) = other {
                            pool.give_back(ptr as *mut u8, size);
                        }
                    } else {
                        pool.give_back(ptr, size);
                    }
                }
            });
        }
        scope.spawn(|| (0..2_000).for_each(|_| pool.trim()));
    });
    for (ptr, size) in queue.into_inner().unwrap() {
        pool.give_back(ptr as *mut u8, size);
    }
    assert_eq!(pool.free(), 6);
    assert_eq!(pool.completed(), 8 * 20_000);
}

#[test]
fn a_block_for_records_of_our_own_is_none_of_cuptis_and_comes_back_clear() {
    let pool = pool(2, false);
    let (own, theirs) = (pool.take_own(), pool.take());
    assert!(!own.is_null() && !theirs.is_null() && pool.take_own().is_null());
    assert_eq!((pool.requested(), pool.completed(), pool.take_dry()), (1, 0, None), "only theirs is counted");
    assert_eq!((pool.is_out_since(1), pool.complete(own)), (true, Owner::Foreign));
    assert_eq!(pool.complete(theirs), Owner::Block);
    assert!(!pool.is_out_since(1), "ours is awaited by nobody");
    bytes(own, 200).fill(7);
    pool.give_back(own, 200);
    let again = pool.take();
    assert_eq!(again, own);
    assert!(bytes(again, BLOCK).iter().all(|b| *b == 0));
}
