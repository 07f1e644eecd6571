//! Passes over one process after another, several of them at once: what needs the order of time within a process, and no order
//! between processes, need not wait for the others.

use crate::error::Result;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;

/// Calls `pass` for each process, on as many threads as Rayon has. Gives what the passes gave, in order of processes.
///
/// The threads are none of Rayon's: one of those that waits for a part of its pass would begin the pass of another process, and in that
/// one more, which a thousand processes would make a deep stack.
///
/// # Errors
/// Fails with the error of the first process whose pass failed; passes that have not begun by then do not begin.
pub fn each_process<T: Send>(
    processes: &BTreeSet<u32>,
    pass: impl Fn(u32) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let waiting = Mutex::new(processes.iter().copied().enumerate());
    let done: Mutex<Vec<(usize, Result<T>)>> = Mutex::new(Vec::with_capacity(processes.len()));
    let work = || {
        loop {
            let next = waiting.lock().unwrap_or_else(|e| e.into_inner()).next();
            let Some((at, process)) = next else { return };
            let result = pass(process);
            let failed = result.is_err();
            done.lock().unwrap_or_else(|e| e.into_inner()).push((at, result));
            if failed {
                // Nobody takes what is left.
                waiting.lock().unwrap_or_else(|e| e.into_inner()).by_ref().for_each(drop);
            }
        }
    };
    let threads = rayon::current_num_threads().clamp(1, processes.len().max(1));
    match threads {
        1 => work(),
        threads => thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work)))),
    }
    let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn every_process_is_passed_once_and_a_failure_is_told() {
        for count in [0, 1, 2, 500] {
            let processes: BTreeSet<u32> = (0..count).map(|at| at * 3).collect();
            let found = each_process(&processes, |process| Ok(process + 1)).expect("no pass fails");
            assert_eq!(found, processes.iter().map(|process| process + 1).collect::<Vec<u32>>());
        }
        let processes: BTreeSet<u32> = (0..500).collect();
        let failed = each_process(&processes, |process| match process {
            7 => Err(Error::new("process 7")),
            _ => Ok(()),
        });
        assert_eq!(failed.expect_err("a pass fails").to_string(), "process 7");
    }
}
