//! All the ways in which a few threads can come between each other's steps in the stack, one after the other.
//!
//! Sequentially consistent ones only, with up to three interruptions: the classic mistake needs one, and every further one
//! costs ten times as many runs. What weaker orderings allow is left to the test with many threads.

use std::cell::RefCell;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Condvar, Mutex};

use super::super::stack::Stack;

thread_local! {
    /// The schedule that this thread obeys, and its number there.
    static UNDER: RefCell<Option<(Arc<Schedule>, usize)>> = const { RefCell::new(None) };
}

/// Called by the stack before each access to memory that others see.
pub(in super::super) fn step() {
    let under = UNDER.with_borrow(Clone::clone);
    if let Some((schedule, me)) = under {
        schedule.wait_for_turn(me);
    }
}

/// How often a thread that could go on is interrupted in one run.
const MOST_INTERRUPTIONS: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Thread {
    Running,
    Waiting,
    Done,
}

struct Schedule {
    threads: Mutex<Vec<Thread>>,
    changed: Condvar,
}

impl Schedule {
    fn wait_for_turn(&self, me: usize) {
        let mut threads = self.threads.lock().unwrap();
        threads[me] = Thread::Waiting;
        self.changed.notify_all();
        while threads[me] == Thread::Waiting {
            threads = self.changed.wait(threads).unwrap();
        }
    }

    fn done(&self, me: usize) {
        self.threads.lock().unwrap()[me] = Thread::Done;
        self.changed.notify_all();
    }

    /// Lets one thread after the other make a step, as `choices` says; 0, and where they end: the same as before.
    /// Returns between how many there was a choice, at each point.
    fn play(&self, choices: &[usize]) -> Vec<usize> {
        let (mut widths, mut last, mut interruptions) = (Vec::new(), 0, 0);
        let mut threads = self.threads.lock().unwrap();
        loop {
            while threads.contains(&Thread::Running) {
                threads = self.changed.wait(threads).unwrap();
            }
            let mut able: Vec<usize> = (0..threads.len()).filter(|&i| threads[i] == Thread::Waiting).collect();
            if able.is_empty() {
                return widths;
            }
            able.sort_by_key(|&i| i != last);
            let goes_on = able[0] == last;
            if goes_on && interruptions == MOST_INTERRUPTIONS {
                able.truncate(1);
            }
            let choice = choices.get(widths.len()).copied().unwrap_or(0);
            widths.push(able.len());
            interruptions += usize::from(goes_on && choice > 0);
            last = able[choice];
            threads[last] = Thread::Running;
            self.changed.notify_all();
        }
    }
}

#[derive(Clone, Copy)]
enum Do {
    Pop,
    /// Pushes what was popped first and is still held.
    PushBack,
}

/// Three numbers on a stack, threads that follow `programs`; in every interleaving each number is in one place.
fn explore(programs: &[&[Do]]) -> usize {
    let mut choices: Vec<usize> = Vec::new();
    let mut runs = 0;
    loop {
        let links = [const { AtomicU32::new(0) }; 3];
        let stack = Stack::new();
        (0..3).for_each(|i| stack.push(i, &links[i as usize]));
        let schedule = Arc::new(Schedule {
            threads: Mutex::new(vec![Thread::Running; programs.len()]),
            changed: Condvar::new(),
        });
        let (widths, mut all) = std::thread::scope(|scope| {
            let threads: Vec<_> = programs
                .iter()
                .enumerate()
                .map(|(me, program)| {
                    let (schedule, stack, links) = (Arc::clone(&schedule), &stack, &links);
                    scope.spawn(move || {
                        UNDER.set(Some((Arc::clone(&schedule), me)));
                        let mut held = Vec::new();
                        for action in *program {
                            match action {
                                Do::Pop => held.extend(stack.pop(|i| &links[i as usize])),
                                Do::PushBack if held.is_empty() => {}
                                Do::PushBack => {
                                    let number = held.remove(0);
                                    stack.push(number, &links[number as usize]);
                                }
                            }
                        }
                        UNDER.set(None);
                        schedule.done(me);
                        held
                    })
                })
                .collect();
            let widths = schedule.play(&choices);
            (widths, threads.into_iter().flat_map(|t| t.join().unwrap()).collect::<Vec<u32>>())
        });
        runs += 1;
        let left = stack.len();
        for _ in 0..left {
            all.extend(stack.pop(|i| &links[i as usize]));
        }
        all.sort_unstable();
        assert_eq!((all, stack.len()), (vec![0, 1, 2], 0), "{choices:?}");
        // The next schedule: the last choice that has another side.
        choices.resize(widths.len(), 0);
        while let Some(last) = choices.pop() {
            if last + 1 < widths[choices.len()] {
                choices.push(last + 1);
                break;
            }
        }
        if choices.is_empty() {
            return runs;
        }
    }
}

#[test]
fn no_interleaving_of_two_threads_doubles_or_loses_a_block() {
    use Do::{Pop, PushBack};
    // The first is the classic: A is seen on top, A and B are taken, A comes back, and B must not be on top again.
    let runs = [
        explore(&[&[Pop], &[Pop, Pop, PushBack]]),
        explore(&[&[Pop, PushBack], &[Pop]]),
        explore(&[&[Pop], &[Pop], &[Pop]]),
    ];
    assert!(runs.iter().all(|r| *r > 40), "{runs:?}");
}
