//! Which CUPTI activity kinds are collected: the grammar of `--kinds` and `GPUPROF_KINDS`.

use crate::nearest::nearest;
use crate::values::shown;

/// A name that a person can write, and the CUPTI kinds that it means.
pub struct KindGroup {
    /// The name as people write it.
    pub name: &'static str,
    /// Numbers of CUPTI's `CUpti_ActivityKind`.
    pub kinds: &'static [u32],
    /// Whether it is collected without being asked for.
    pub default: bool,
    /// What it is good for.
    pub doc: &'static str,
}

const fn group(name: &'static str, kinds: &'static [u32], default: bool, doc: &'static str) -> KindGroup {
    KindGroup { name, kinds, default, doc }
}

/// CUPTI's kernel records, of concurrent kernels: the serialising kind 3 is never used.
pub const CONCURRENT_KERNEL: u32 = 10;
/// CUPTI's records of whole graph launches; while they are collected there are none of graph nodes.
pub const GRAPH_TRACE: u32 = 51;

/// No kind of CUPTI's, which has none of this number: two more times in kernels' records.
pub const LATENCY: u32 = 127;

/// Every group. A kind belongs to one only.
pub static GROUPS: &[KindGroup] = &[
    group("kernel", &[CONCURRENT_KERNEL], true, "kernels"),
    group("memcpy", &[1, 22], true, "copies, also between devices"),
    group("memset", &[2], true, "fills"),
    group("runtime", &[5], true, "calls of the runtime API (cuda...)"),
    group("driver", &[4], true, "calls of the driver API (cu...)"),
    group("sync", &[38], true, "waiting for events, streams and contexts"),
    group("overhead", &[17], true, "time that CUPTI itself and the driver took"),
    group("device", &[8], true, "properties of devices"),
    group("context", &[9], true, "contexts"),
    group("stream", &[37], true, "streams and their priorities"),
    group("name", &[11], true, "names that programs give to threads, contexts and streams"),
    group("graph", &[GRAPH_TRACE], false, "whole graph launches instead of their nodes, as --graph graph"),
    group("memory", &[49, 50], false, "allocations and memory pools"),
    group("uvm", &[25], false, "unified memory: migrations and page faults"),
    group("external", &[39], false, "correlation ids pushed by frameworks"),
    group("event", &[36], false, "CUDA events"),
    group("jit", &[52], false, "compilation at run time"),
    group("environment", &[20], false, "clocks, power, temperature, fan"),
    group(
        "latency",
        &[LATENCY],
        false,
        "when each kernel was queued and submitted (queued_ns, submitted_ns); not part of all",
    ),
    group("openacc", &[33, 34, 35], false, "OpenACC constructs, from the first CUDA call on"),
    group(
        "openmp",
        &[47],
        false,
        "OpenMP constructs, from the first CUDA call on (LLVM's, Intel's and NVIDIA's runtimes, not gcc's)",
    ),
];

/// How much is collected where no kinds are named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// What the GPU did, and the names that go with it.
    Light,
    /// Beside it the API calls, and what waited for what.
    #[default]
    Default,
    /// Everything that has a group, but for whole graph launches, which would hide their nodes, and for times that only
    /// kernels' records have.
    Full,
}

/// The presets as they are written.
pub static PRESETS: [(&str, Preset); 3] =
    [("light", Preset::Light), ("default", Preset::Default), ("full", Preset::Full)];

impl Preset {
    /// What it collects.
    pub fn kinds(self) -> Kinds {
        match self {
            // One record for each device, context and stream: they cost nothing, and reports name them.
            Preset::Light => Kinds::of(|group| {
                matches!(group.name, "kernel" | "memcpy" | "memset" | "device" | "context" | "stream" | "name")
            }),
            Preset::Default => Kinds::default(),
            // Whole graph launches hide their nodes, and latencies change how kernels are launched: never without being
            // named.
            Preset::Full => Kinds::of(|group| !matches!(group.name, "graph" | "latency")),
        }
    }
}

/// A set of CUPTI activity kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u128);

impl Default for Kinds {
    fn default() -> Self {
        Kinds::of(|group| group.default)
    }
}

impl Kinds {
    /// No kind at all: NVTX ranges alone.
    pub const NONE: Kinds = Kinds(0);

    fn of(wanted: impl Fn(&KindGroup) -> bool) -> Kinds {
        let mut kinds = Kinds::NONE;
        for group in GROUPS.iter().filter(|group| wanted(group)) {
            kinds.set(group.kinds, true);
        }
        kinds
    }

    /// Whether `kind` is in the set.
    pub fn contains(self, kind: u32) -> bool {
        kind < 128 && self.0 >> kind & 1 == 1
    }

    /// Whether a kind of the group of this name is in the set.
    pub fn contains_group(self, name: &str) -> bool {
        let groups = GROUPS.iter().filter(|group| group.name == name);
        groups.flat_map(|group| group.kinds).any(|kind| self.contains(*kind))
    }

    /// CUPTI's kinds in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..LATENCY).filter(move |kind| self.contains(*kind))
    }

    /// Puts `kinds` in or takes them out; numbers above 127 are left out, no CUPTI has them.
    pub fn set(&mut self, kinds: &[u32], on: bool) {
        for kind in kinds.iter().filter(|kind| **kind < 128) {
            let bit = 1u128 << kind;
            self.0 = if on { self.0 | bit } else { self.0 & !bit };
        }
    }

    /// Reads a list: `+NAME` and `-NAME` change the default set, names without a sign replace it.
    ///
    /// # Errors
    /// Fails if the value is not valid. The error says why, as the end of a sentence that begins with the value.
    pub fn parse(value: &[u8]) -> Result<Kinds, String> {
        let value = std::str::from_utf8(value).map_err(|_| "is not text".to_owned())?;
        let words: Vec<&str> = value.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
        let signed = words.iter().filter(|word| word.starts_with(['+', '-'])).count();
        if words.is_empty() {
            return Err("names no kind; write none to collect NVTX ranges alone".to_owned());
        }
        if signed != 0 && signed != words.len() {
            return Err("mixes names with and without a sign; +NAME and -NAME change the default set, names \
                        without a sign replace it"
                .to_owned());
        }
        let mut kinds = if signed == 0 { Kinds::NONE } else { Kinds::default() };
        for word in words {
            let (on, name) = match (word.strip_prefix('+'), word.strip_prefix('-')) {
                (Some(name), _) => (true, name),
                (_, Some(name)) => (false, name),
                _ => (true, word),
            };
            kinds.apply(name, on)?;
        }
        Ok(kinds)
    }

    fn apply(&mut self, name: &str, on: bool) -> Result<(), String> {
        let other = match name {
            "default" => Some(Kinds::default()),
            "all" => Some(Preset::Full.kinds()),
            "none" => Some(Kinds::NONE),
            "api" => Some(Kinds::of(|group| matches!(group.name, "runtime" | "driver"))),
            _ => GROUPS.iter().find(|group| group.name == name).map(|group| Kinds::of(|g| g.name == group.name)),
        };
        match other {
            Some(other) if on => self.0 |= other.0,
            Some(other) => self.0 &= !other.0,
            None => return Err(unknown(name)),
        }
        Ok(())
    }
}

/// Names that stand for several groups.
const COLLECTIONS: [&str; 4] = ["default", "all", "none", "api"];

fn unknown(name: &str) -> String {
    let known: Vec<&str> = GROUPS.iter().map(|group| group.name).chain(COLLECTIONS).collect();
    let meant = nearest(name, known.iter().copied()).map(|near| format!(", did you mean \"{near}\"?"));
    format!("has the unknown kind \"{}\"{}; known are {}", shown(name.as_bytes()), meant.unwrap_or_default(), {
        known.join(", ")
    })
}

impl std::fmt::Display for Kinds {
    /// The difference to the default set if it has all of it, else every name.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let default = Kinds::default();
        if *self == default {
            return f.write_str("default");
        }
        if *self == Kinds::NONE {
            return f.write_str("none");
        }
        let has = |group: &KindGroup| group.kinds.iter().all(|kind| self.contains(*kind));
        let mut words: Vec<String> = Vec::new();
        if self.0 & default.0 == 0 {
            words.extend(GROUPS.iter().filter(|g| has(g)).map(|g| g.name.to_owned()));
        } else {
            for group in GROUPS.iter().filter(|g| has(g) != g.default) {
                words.push(format!("{}{}", if has(group) { '+' } else { '-' }, group.name));
            }
        }
        f.write_str(&words.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(value: &str) -> Vec<u32> {
        Kinds::parse(value.as_bytes()).unwrap().iter().collect()
    }

    #[test]
    fn these_kinds_are_collected_by_default() {
        let default: Vec<u32> = Kinds::default().iter().collect();
        assert_eq!(default, [1, 2, 4, 5, 8, 9, 10, 11, 17, 22, 37, 38]);
    }

    #[test]
    fn signs_change_the_default_and_bare_names_replace_it() {
        assert_eq!(kinds("kernel,memcpy"), [1, 10, 22]);
        assert_eq!(kinds("+uvm,-sync"), [1, 2, 4, 5, 8, 9, 10, 11, 17, 22, 25, 37]);
        assert_eq!(kinds("-api"), [1, 2, 8, 9, 10, 11, 17, 22, 37, 38]);
        assert_eq!(kinds(" default , openacc "), [1, 2, 4, 5, 8, 9, 10, 11, 17, 22, 33, 34, 35, 37, 38]);
        assert_eq!(kinds("none"), [] as [u32; 0]);
        assert_eq!(kinds("-all,+kernel"), [10]);
        assert!(!kinds("all").contains(&GRAPH_TRACE), "it would hide graph nodes");
        let latency = Kinds::parse(b"+latency").unwrap();
        assert!(latency.contains(LATENCY) && latency.iter().eq(Kinds::default().iter()), "no kind of CUPTI's");
        assert!(!Kinds::parse(b"all").unwrap().contains(LATENCY));
    }

    #[test]
    fn mistakes_are_explained() {
        let why = |value: &str| Kinds::parse(value.as_bytes()).unwrap_err();
        assert!(why("").contains("names no kind"));
        assert!(why("kernel,+uvm").contains("mixes"));
        assert!(why("kernels").contains("did you mean \"kernel\"?"), "{}", why("kernels"));
        assert!(why("+zebra").contains("known are kernel, memcpy"), "{}", why("+zebra"));
    }

    #[test]
    fn no_kind_is_in_two_groups_and_none_is_the_serialising_one() {
        let mut all: Vec<u32> = GROUPS.iter().flat_map(|g| g.kinds).copied().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
        assert!(!all.contains(&3));
    }

    #[test]
    fn what_is_shown_reads_back() {
        for value in [
            "default",
            "none",
            "+uvm",
            "-sync",
            "-runtime,-driver,+jit",
            "openacc,openmp",
            "-all,+kernel",
            "+latency",
        ] {
            let kinds = Kinds::parse(value.as_bytes()).unwrap();
            assert_eq!(Kinds::parse(kinds.to_string().as_bytes()), Ok(kinds), "{value} {kinds}");
        }
    }
}
