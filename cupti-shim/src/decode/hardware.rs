//! Buffers as a real CUPTI 13.0 delivered them on an H100: `tests/fixtures/hardware`, whose README says what the
//! programs did. What is expected is known from the programs, not from any decoder.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use trace_format::columns::Batch;

use super::expected::cell;
use super::tests::Made;
use super::*;

/// Begins every buffer in a fixture.
const MAGIC: u64 = 0x4650_524f_4245_5546;

/// A fixture, decoded.
struct Fixture {
    walks: Vec<Walk>,
    by_kind: BTreeMap<u32, u64>,
    tables: BTreeMap<&'static str, Batch>,
    /// Names by the ids that stand for them in the tables; id 0 is none.
    names: Vec<String>,
}

impl Fixture {
    fn load(name: &str) -> Fixture {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/hardware");
        let read = |extension: &str| {
            let path = folder.join(format!("{name}.{extension}"));
            std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
        };
        let mut names = vec![String::new()];
        let mut ids = HashMap::new();
        for line in String::from_utf8(read("names")).unwrap().lines() {
            let fields: Vec<&str> = line.splitn(3, '\t').collect();
            ids.insert(u64::from_str_radix(fields[0].trim_start_matches("0x"), 16).unwrap(), names.len() as u64);
            names.push(fields[2].to_owned());
        }
        let strides = Strides::of_toolkit("13.0").unwrap();
        let mut decoder = Decoder::new(strides.clone());
        let (mut walks, mut by_kind) = (Vec::new(), BTreeMap::new());
        let file = read("buf");
        let mut rest = &file[..];
        while !rest.is_empty() {
            let word = |i: usize| u64::from_le_bytes(rest[8 * i..][..8].try_into().unwrap());
            let (bytes, completed_ns) = (word(1) as usize, word(3) as i64);
            assert_eq!(word(0), MAGIC);
            let mut block = rest[32..][..bytes].to_vec();
            rest = &rest[32 + bytes..];
            name_pointers(&mut block, &strides, &ids, &mut by_kind);
            let walk = decoder.block(&block, &mut Made::default(), &mut |facts| {
                let age_ns = completed_ns - facts.end_ns;
                let has_times = facts.kind != 39 && (facts.start_ns, facts.end_ns) != (0, 0);
                assert!(
                    !has_times || (0..60_000_000_000).contains(&age_ns),
                    "{facts:?} completed at {completed_ns}"
                );
                true
            });
            assert_eq!((walk.unknown_bytes, walk.unknown_kind), (0, None));
            assert_eq!((walk.kept, walk.ignored, walk.excluded), (walk.records, 0, 0));
            walks.push(walk);
        }
        let mut batches = Vec::new();
        decoder.tables.take(1, &mut batches);
        Fixture { walks, by_kind, tables: batches.into_iter().map(|b| (b.table.name, b)).collect(), names }
    }

    /// Rows of a table, as the columns asked for.
    fn rows<const N: usize>(&self, table: &str, columns: [&str; N]) -> Vec<[Option<u64>; N]> {
        self.tables.get(table).map_or_else(Vec::new, |batch| {
            (0..batch.rows).map(|row| columns.map(|column| cell(batch, column, row))).collect()
        })
    }

    /// How often each value of a column occurs.
    fn counts(&self, table: &str, column: &str) -> BTreeMap<Option<u64>, usize> {
        let mut counts = BTreeMap::new();
        self.rows(table, [column]).iter().for_each(|[value]| *counts.entry(*value).or_default() += 1);
        counts
    }

    fn name(&self, id: Option<u64>) -> &str {
        &self.names[id.unwrap() as usize]
    }

    /// Kernels by name.
    fn kernels_by_name(&self) -> BTreeMap<&str, usize> {
        let shapes: HashMap<_, _> = self.rows("shape", ["id", "name_id"]).iter().map(|[id, n]| (*id, *n)).collect();
        let mut counts = BTreeMap::new();
        for [shape] in self.rows("kernel", ["shape_id"]) {
            *counts.entry(self.name(shapes[&shape])).or_default() += 1;
        }
        counts
    }

    /// `correlation` of kernels that no call of the runtime caused.
    fn orphans(&self) -> usize {
        let calls = self.counts("api", "correlation");
        self.rows("kernel", ["correlation"]).iter().filter(|[id]| !calls.contains_key(id)).count()
    }
}

/// What `intern_block` does where the pointers are alive.
fn name_pointers(block: &mut [u8], strides: &Strides, ids: &HashMap<u64, u64>, by_kind: &mut BTreeMap<u32, u64>) {
    let mut at = 0;
    while at < block.len() {
        let id = u32::from_le_bytes(block[at..at + 4].try_into().unwrap());
        *by_kind.entry(id).or_default() += 1;
        for field in kind_of(id).unwrap().names {
            let bytes = &mut block[at + usize::from(field.offset)..][..8];
            let pointer = u64::from_le_bytes((&*bytes).try_into().unwrap());
            bytes.copy_from_slice(&ids[&pointer].to_le_bytes());
        }
        at += strides.of(id);
    }
}

#[test]
fn copies_fills_kernels_and_waits_of_a_mixed_program() {
    let f = Fixture::load("mixed");
    let by_kind =
        [(1, 300), (2, 100), (4, 421), (5, 1007), (8, 1), (9, 1), (10, 300), (17, 13), (37, 9), (38, 201)];
    assert_eq!(f.by_kind, BTreeMap::from(by_kind));
    assert_eq!(f.counts("memcpy", "kind"), [1, 2, 8].map(|kind| (Some(kind), 100)).into());
    assert_eq!(f.counts("memcpy", "bytes"), [(Some(4_194_304), 300)].into());
    assert_eq!(f.counts("memset", "bytes"), [(Some(4_194_304), 100)].into());
    assert_eq!(f.counts("memset", "value"), [(Some(7), 100)].into());
    let names = ["_Z4axpyfPKfPfi", "_Z4spinx", "_Z9templatedILi4EdEvPT0_"];
    assert_eq!(f.kernels_by_name(), names.map(|name| (name, 100)).into());
    assert_eq!(f.tables["shape"].rows, 3);
    assert_eq!(f.counts("sync", "kind"), [(Some(2), 100), (Some(3), 100), (Some(4), 1)].into());
    for table in ["kernel", "memcpy", "memset", "api", "sync", "overhead"] {
        assert!(!f.counts(table, "duration_ns").contains_key(&None), "{table}: impossible times");
    }
    for column in ["graph_id", "graph_node_id", "queued_ns", "submitted_ns", "priority", "flags"] {
        assert_eq!(f.counts("kernel", column), [(None, 300)].into(), "{column}");
    }
    assert_eq!(f.orphans(), 0);
    let [device] = f.rows("device", ["name_id", "compute_major", "compute_minor", "multiprocessors"])[..] else {
        panic!("not one device")
    };
    assert_eq!(f.name(device[0]), "NVIDIA H100 80GB HBM3");
    assert_eq!(device[1..], [Some(9), Some(0), Some(132)]);
    let streams = f.rows("stream", ["stream", "priority"]);
    assert!(
        streams.contains(&[Some(13), Some(0)]) && streams.contains(&[Some(14), Some(-1i64 as u64)]),
        "{streams:?}"
    );
    assert_eq!(f.counts("api", "result"), [(Some(0), 1428)].into());
    assert_eq!(f.counts("api", "domain"), [(Some(0), 1007), (Some(1), 421)].into());
    assert_eq!(f.rows("context", ["context", "device", "parent_context"]), [[Some(1), Some(0), None]]);
}

#[test]
fn a_window_holds_the_kernels_between_start_and_stop() {
    let f = Fixture::load("range");
    assert_eq!(f.by_kind, [(4, 21), (5, 21), (10, 21), (17, 4)].into());
    assert!(f.rows("kernel", ["correlation"]).iter().all(|[id]| (2..44).contains(&id.unwrap())));
    assert_eq!(f.kernels_by_name().into_values().sum::<usize>(), 21);
    let f = Fixture::load("keep-range");
    let inside = f.rows("kernel", ["correlation"]).iter().filter(|[id]| (193..235).contains(&id.unwrap())).count();
    assert_eq!((f.tables["kernel"].rows, inside), (140, 21));
    let calls = f.rows("api", ["domain", "cbid", "correlation"]);
    assert!(calls.contains(&[Some(0), Some(171), Some(192)]) && calls.contains(&[Some(0), Some(172), Some(235)]));
}

#[test]
fn kernels_of_a_graph_carry_graph_node_and_the_launch_that_they_share() {
    let f = Fixture::load("graph-first-window");
    assert_eq!(f.by_kind, [(5, 21), (10, 2000), (17, 4), (38, 1)].into());
    assert_eq!(f.counts("kernel", "graph_id"), [(Some(2), 2000)].into());
    let nodes = f.counts("kernel", "graph_node_id");
    assert_eq!(nodes, (0x2_0000_0000..=0x2_0000_0063).map(|node| (Some(node), 20)).collect());
    let launches = f.counts("kernel", "correlation");
    assert_eq!((launches.len(), launches.values().all(|&n| n == 100)), (20, true));
    assert_eq!(f.orphans(), 0);
}

#[test]
fn kernels_that_never_ended_are_kept_and_have_no_duration() {
    let f = Fixture::load("backlog-tail");
    assert_eq!(f.by_kind, [(4, 323), (5, 969), (10, 323), (17, 18), (38, 323)].into());
    assert_eq!(f.walks.len(), 11);
    let times = f.rows("kernel", ["start_ns", "duration_ns"]);
    assert_eq!(times.iter().filter(|t| **t == [Some(0), None]).count(), 64);
    assert_eq!(times.iter().filter(|[_, duration]| duration.is_none()).count(), 64);
    assert!(f.walks.iter().all(|w| w.first_ns > 1_790_000_000_000_000_000 || w.first_ns == i64::MAX));
}

#[test]
fn every_launch_of_simple_programs_is_there() {
    for (name, kernels) in [("exit-reset", 1000), ("fork-parent", 200), ("fork-child", 100)] {
        let f = Fixture::load(name);
        assert_eq!(f.by_kind[&10], kernels, "{name}");
        assert_eq!(f.tables["kernel"].rows as u64, kernels, "{name}");
        assert_eq!(f.orphans(), 0, "{name}");
        assert_eq!(f.counts("kernel", "duration_ns").get(&None), None, "{name}");
        assert_eq!(f.tables["shape"].rows, 1, "{name}");
    }
}

#[test]
fn a_window_of_a_training_loop_is_read_to_its_last_byte() {
    let f = Fixture::load("train-window");
    assert_eq!(f.by_kind, [(1, 18), (2, 24), (4, 2441), (5, 6861), (10, 666), (17, 5)].into());
    assert_eq!(f.tables["kernel"].rows, 666);
    assert!(f.kernels_by_name().keys().all(|name| !name.is_empty()));
    // Two threads call: the main one and the one of the backward pass.
    assert_eq!(f.counts("api", "tid").len(), 2);
    // Far fewer shapes than launches: what the table `shape` is for.
    assert!(f.tables["shape"].rows < 200, "{}", f.tables["shape"].rows);
}
