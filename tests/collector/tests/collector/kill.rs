//! SIGKILL at any moment: the file opens, says that it was not closed, and lacks no more than the last flush interval
//! and one block.

use std::sync::Mutex;
use std::time::Duration;

use crate::common::sim::Sim;
use crate::common::{Trace, in_parallel, laws};

const KILLS: u64 = 200;
const AT_ONCE: usize = 8;
/// Launches a second, of each program.
const RATE: u64 = 2000;
const FLUSH_MS: u64 = 100;
const BLOCK_BYTES: u64 = 64 << 10;
/// A launch leaves a kernel's record and two calls' of the least size there is.
const LEAST_LAUNCH_BYTES: u64 = 144 + 2 * 40;

/// splitmix64: the same moments in every run.
fn random(seed: u64) -> u64 {
    let z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[test]
fn after_sigkill_at_200_random_moments_every_file_opens_and_lacks_only_the_end() {
    let missing = Mutex::new(Vec::new());
    let machines: Vec<Sim> = ["11.8", "12.8", "13.0"].into_iter().map(Sim::new).collect();
    in_parallel(0..KILLS, AT_ONCE, |i| {
        let sim = &machines[(i % 3) as usize];
        let run = sim.player("steady").args([RATE.to_string(), "60".into()]);
        let run =
            run.env("GPUPROF_FLUSH_MS", FLUSH_MS.to_string()).env("GPUPROF_BLOCK_BYTES", BLOCK_BYTES.to_string());
        let running = if i % 2 == 0 { run.preload() } else { run.inject() }.start();
        let after = Duration::from_micros(random(i) % 1_200_000);
        std::thread::sleep(after);
        running.signal("KILL");
        let ended = running.end();
        let what = format!("kill {i} after {after:?}, CUPTI {}", sim.version());
        assert_eq!(ended.signal(), Some(9), "{what}: {}", ended.stderr);
        // Its name appears with the header complete, so nothing else is ever there.
        let other: Vec<_> =
            ended.files().into_iter().filter(|f| f.extension().is_none_or(|e| e != "gpuprof")).collect();
        assert!(other.is_empty(), "{what}: {other:?}");
        let traces: Vec<Trace> = laws(&ended);
        assert!(traces.len() <= 1, "{what}: {:?}", ended.files());
        let kernels = traces.first().map_or(0, |trace| {
            assert!(!trace.reader.is_closed(), "{what}: says that it was closed");
            assert!(trace.rows_of_cupti() <= ended.totals().delivered, "{what}");
            trace.kernels().len() as u64
        });
        let launched = ended.totals().launched;
        assert!(kernels <= launched, "{what}: {kernels} of {launched}");
        missing.lock().expect("a list").push(launched - kernels);
    });
    let mut missing = missing.into_inner().expect("a list");
    missing.sort_unstable();
    let bound = RATE * FLUSH_MS / 1000 + BLOCK_BYTES / LEAST_LAUNCH_BYTES;
    let (median, worst) = (missing[missing.len() / 2], missing[missing.len() - 1]);
    println!(
        "missing kernels of {} runs: median {median}, 90 % {}, worst {worst}, bound {bound}",
        missing.len(),
        missing[missing.len() * 9 / 10]
    );
    // Eight programs share few processors here: our threads may be late, but not as a rule.
    assert!(median <= bound, "{missing:?}");
    assert!(worst <= 4 * bound, "{missing:?}");
}
