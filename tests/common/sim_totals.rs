//! Part of the simulator's harness: what the simulator counted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// What the simulator counted in one process, or in several together. Kept in a shared mapping, so that it is right
/// whatever ended the process. (`tests/sim/shared/settings.rs` has the same numbers of words.)
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub pid: u32,
    /// Buffers that CUPTI asked for.
    pub requested: u64,
    /// Completed callbacks that returned.
    pub completed: u64,
    /// Completed callbacks that began.
    pub handed: u64,
    /// Records in completed callbacks that returned.
    pub delivered: u64,
    pub delivered_bytes: u64,
    /// Records that CUPTI itself dropped, and says so in `cuptiActivityGetNumDroppedRecords`.
    pub dropped: u64,
    pub null_buffers: u64,
    pub flushes: u64,
    /// Records that were made.
    pub generated: u64,
    /// Callbacks of the callback API.
    pub callbacks: u64,
    pub violations: u64,
    pub subscribes: u64,
    /// Records delivered before their work was done.
    pub unfinished: u64,
    pub zero_times: u64,
    /// Kernels that ran, recorded or not.
    pub launched: u64,
    /// Registrations of activity callbacks after the first.
    pub intruded: u64,
    /// Calls of CUPTI functions, but for the walker and the clock.
    pub calls: u64,
    pub failed_calls: u64,
    /// Buffers that a plain flush kept back.
    pub withheld: u64,
    /// Buffers that CUPTI holds now.
    pub buffers_owned: u64,
    /// API calls at which CUPTI looked, for a record or a callback.
    pub intercepted: u64,
    /// CPU time that recording took because `SIM_CALL_COST_NS` and `SIM_WORK_COST_NS` say so.
    pub cost_ns: u64,
    delivered_of: BTreeMap<u32, u64>,
    generated_of: BTreeMap<u32, u64>,
    dropped_of: BTreeMap<u32, u64>,
}

const SLOTS: usize = 256;
const WORDS: usize = 2048;
pub const TOTALS_BYTES: u64 = (SLOTS * WORDS * 8) as u64;

impl Totals {
    fn of(words: &[u64]) -> Totals {
        let kinds = |from: usize| {
            let kinds = (0..128).map(|kind| (kind as u32, words[from + kind]));
            kinds.filter(|(_, n)| *n > 0).collect()
        };
        let mut generated_of = BTreeMap::new();
        for (i, &n) in words[1024..].iter().enumerate().filter(|(_, n)| **n > 0) {
            *generated_of.entry(i as u32 % 128).or_default() += n;
        }
        Totals {
            pid: words[0] as u32,
            requested: words[1],
            completed: words[2],
            handed: words[3],
            delivered: words[4],
            delivered_bytes: words[5],
            dropped: words[6],
            null_buffers: words[7],
            flushes: words[8],
            generated: generated_of.values().sum(),
            callbacks: words[11],
            violations: words[12],
            subscribes: words[13],
            unfinished: words[15],
            zero_times: words[16],
            launched: words[17],
            intruded: words[18],
            calls: words[19],
            failed_calls: words[20],
            withheld: words[21],
            buffers_owned: words[23],
            intercepted: words[24],
            cost_ns: words[25],
            delivered_of: kinds(64),
            generated_of,
            dropped_of: kinds(320),
        }
    }

    pub fn sum(list: &[Totals]) -> Totals {
        let mut sum = Totals::default();
        for one in list {
            sum.pid = one.pid;
            sum.requested += one.requested;
            sum.completed += one.completed;
            sum.handed += one.handed;
            sum.delivered += one.delivered;
            sum.delivered_bytes += one.delivered_bytes;
            sum.dropped += one.dropped;
            sum.null_buffers += one.null_buffers;
            sum.flushes += one.flushes;
            sum.generated += one.generated;
            sum.callbacks += one.callbacks;
            sum.violations += one.violations;
            sum.subscribes += one.subscribes;
            sum.unfinished += one.unfinished;
            sum.zero_times += one.zero_times;
            sum.launched += one.launched;
            sum.intruded += one.intruded;
            sum.calls += one.calls;
            sum.failed_calls += one.failed_calls;
            sum.withheld += one.withheld;
            sum.buffers_owned += one.buffers_owned;
            sum.intercepted += one.intercepted;
            sum.cost_ns += one.cost_ns;
            let maps = [
                (&mut sum.delivered_of, &one.delivered_of),
                (&mut sum.generated_of, &one.generated_of),
                (&mut sum.dropped_of, &one.dropped_of),
            ];
            for (to, from) in maps {
                for (kind, n) in from {
                    *to.entry(*kind).or_default() += n;
                }
            }
        }
        sum
    }

    /// Records of a kind that were delivered.
    pub fn delivered_of(&self, kind: u32) -> u64 {
        self.delivered_of.get(&kind).copied().unwrap_or(0)
    }

    /// Records of a kind that were made.
    pub fn generated_of(&self, kind: u32) -> u64 {
        self.generated_of.get(&kind).copied().unwrap_or(0)
    }

    /// Records of a kind that CUPTI dropped or forgot.
    pub fn dropped_of(&self, kind: u32) -> u64 {
        self.dropped_of.get(&kind).copied().unwrap_or(0)
    }

    /// All kinds that were delivered, with their records.
    pub fn delivered_by_kind(&self) -> &BTreeMap<u32, u64> {
        &self.delivered_of
    }
}

/// The totals of every process so far. The file has room for [`SLOTS`] processes and tests ask for it every few
/// milliseconds, so only what is filled is read.
pub fn read_totals(folder: &Path) -> Vec<Totals> {
    let Ok(mut file) = File::open(folder.join("sim.totals")) else { return Vec::new() };
    let mut slot = vec![0; WORDS * 8];
    let mut list = Vec::new();
    while file.read_exact(&mut slot).is_ok() && slot[..8] != [0; 8] {
        let words: Vec<u64> =
            slot.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("8 bytes"))).collect();
        list.push(Totals::of(&words));
    }
    list
}
