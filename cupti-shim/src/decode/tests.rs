//! Every kind, every toolkit: what is put into a record is what comes out of the tables.

use std::collections::BTreeMap;

use cupti_sys::layouts;
use trace_format::columns::{Batch, Values};

use super::expected::{EXPECTED, SEPARATE, api_name, cell, compare};
use super::synthetic::{NOW_NS, Writer, set};
use super::*;

/// Kinds that have a table and that nobody asks for, and why.
const NOT_ASKED_FOR: &[(u32, &str)] = &[
    (
        cupti_sys::CUPTI_ACTIVITY_KIND_KERNEL,
        "kernels that CUPTI had one after another; read where another tool asks for them",
    ),
    (cupti_sys::CUPTI_ACTIVITY_KIND_CDP_KERNEL, "comes with the kernels of toolkits that have it"),
    (cupti_sys::CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE, "comes with the graphs of toolkits that have it"),
    (
        cupti_sys::CUPTI_ACTIVITY_KIND_MEMORY,
        "allocations as CUPTI had them before 11.2, where kinds 49 and 50 took their place",
    ),
];

/// Kinds whose records come with the calls or at once, or with kernels and copies, so that nothing has to be kept on for
/// them while a window drains.
const NOT_WAITED_FOR: &[u32] = &[
    cupti_sys::CUPTI_ACTIVITY_KIND_KERNEL,
    cupti_sys::CUPTI_ACTIVITY_KIND_CDP_KERNEL,
    cupti_sys::CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE,
    cupti_sys::CUPTI_ACTIVITY_KIND_RUNTIME,
    cupti_sys::CUPTI_ACTIVITY_KIND_DRIVER,
    cupti_sys::CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
    cupti_sys::CUPTI_ACTIVITY_KIND_OVERHEAD,
    cupti_sys::CUPTI_ACTIVITY_KIND_DEVICE,
    cupti_sys::CUPTI_ACTIVITY_KIND_CONTEXT,
    cupti_sys::CUPTI_ACTIVITY_KIND_STREAM,
    cupti_sys::CUPTI_ACTIVITY_KIND_NAME,
    cupti_sys::CUPTI_ACTIVITY_KIND_MEMORY,
    cupti_sys::CUPTI_ACTIVITY_KIND_MEMORY2,
    cupti_sys::CUPTI_ACTIVITY_KIND_MEMORY_POOL,
    cupti_sys::CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
    cupti_sys::CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
    cupti_sys::CUPTI_ACTIVITY_KIND_CUDA_EVENT,
    cupti_sys::CUPTI_ACTIVITY_KIND_JIT,
    cupti_sys::CUPTI_ACTIVITY_KIND_ENVIRONMENT,
    cupti_sys::CUPTI_ACTIVITY_KIND_OPENACC_DATA,
    cupti_sys::CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH,
    cupti_sys::CUPTI_ACTIVITY_KIND_OPENACC_OTHER,
    cupti_sys::CUPTI_ACTIVITY_KIND_OPENMP,
];

/// The places that have forgotten a kind that is decoded.
fn forgotten(kind: u32) -> Vec<&'static str> {
    let asked = shim_config::kinds::GROUPS.iter().any(|group| group.kinds.contains(&kind));
    let excused = NOT_ASKED_FOR.iter().any(|(excused, _)| *excused == kind);
    let waited = crate::session::GPU_KINDS.contains(&kind);
    let compared = EXPECTED.iter().any(|expected| expected.0 == kind) || SEPARATE.contains(&kind);
    let places = [
        (asked != excused, "a group of cupti-shim/config/src/kinds.rs, or NOT_ASKED_FOR here"),
        (
            waited != NOT_WAITED_FOR.contains(&kind),
            "GPU_KINDS of cupti-shim/src/session.rs, or NOT_WAITED_FOR here",
        ),
        (compared, "cupti-shim/src/decode/expected.rs"),
    ];
    places.into_iter().filter(|(is_right, _)| !is_right).map(|(_, place)| place).collect()
}

#[test]
fn every_kind_that_is_decoded_is_where_it_has_to_be() {
    for kind in KINDS.iter().map(|kind| kind.id) {
        assert!(forgotten(kind).is_empty(), "put kind {kind} into: {:?}", forgotten(kind));
        assert!(kind_of(kind).is_some_and(|known| known.id == kind));
    }
    for group in shim_config::kinds::GROUPS {
        for kind in group.kinds.iter().filter(|kind| **kind != shim_config::kinds::LATENCY) {
            assert!(kind_of(*kind).is_some(), "kind {kind} of group {} is decoded nowhere", group.name);
        }
    }
}

#[test]
fn a_made_up_kind_is_missed_wherever_it_was_forgotten() {
    const MADE_UP: u32 = 63;
    assert!(kind_of(MADE_UP).is_none());
    let files =
        ["cupti-shim/config/src/kinds.rs", "cupti-shim/src/session.rs", "cupti-shim/src/decode/expected.rs"];
    let places = forgotten(MADE_UP);
    assert_eq!(places.len(), files.len(), "{places:?}");
    for (place, file) in places.iter().zip(files) {
        assert!(place.contains(file), "{place} is not {file}");
    }
}

/// Names made up from what is asked.
#[derive(Default)]
pub struct Made {
    pub asked: usize,
    pub texts: Vec<&'static str>,
}

impl Own for Made {
    fn api_name(&mut self, domain: u32, cbid: u32) -> u32 {
        self.asked += 1;
        api_name(domain, cbid)
    }

    fn text(&mut self, text: &'static str) -> u32 {
        let at = self.texts.iter().position(|t| *t == text).unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        });
        at as u32 + 1
    }
}

/// Decodes a block, keeping everything; the tables by name.
pub fn decode(block: &[u8], strides: &Strides) -> (Walk, BTreeMap<&'static str, Batch>) {
    let mut decoder = Decoder::new(strides.clone());
    let walk = decoder.block(block, &mut Made::default(), &mut |_| true);
    (walk, taken(&mut decoder))
}

fn taken(decoder: &mut Decoder) -> BTreeMap<&'static str, Batch> {
    let mut batches = Vec::new();
    decoder.tables.take(1, &mut batches);
    assert_eq!(decoder.tables.rows_pending(), 0);
    batches.iter().for_each(|batch| assert_eq!(batch.check(), Ok(())));
    batches.into_iter().map(|batch| (batch.table.name, batch)).collect()
}

/// Packages that the tests go through. Miri, which is 100 times slower, takes some.
fn packages() -> impl Iterator<Item = &'static cupti_sys::PackageStrides> {
    layouts::STRIDES.iter().filter(|p| p.toolkit >= 1108).step_by(if cfg!(miri) { 9 } else { 1 })
}

#[test]
fn every_field_of_every_kind_arrives_in_its_column_from_every_toolkit() {
    const SEEDS: u64 = if cfg!(miri) { 1 } else { 40 };
    let mut compared = 0;
    for package in packages() {
        let strides = Strides::of_toolkit(package.package).unwrap();
        for kind in KINDS.iter().map(|k| k.id).filter(|id| !SEPARATE.contains(id)) {
            if strides.of(kind) == 0 {
                continue;
            }
            for seed in 0..SEEDS {
                let mut block = Writer::new(&strides);
                block.full(kind, package.toolkit, seed);
                if kind == 25 {
                    // Counter kinds 3 to 7 have rules of their own, below.
                    set(&mut block.bytes, kind, "counterKind", seed % 3 + 8 * (seed % 2));
                }
                let (walk, tables) = decode(&block.bytes, &strides);
                assert_eq!((walk.records, walk.kept, walk.unknown_bytes), (1, 1, 0));
                compare(&block.bytes, kind, &tables, 0, package.package);
                compared += 1;
            }
        }
    }
    assert!(compared > if cfg!(miri) { 50 } else { 20_000 }, "{compared}");
}

#[test]
fn mixed_blocks_of_every_known_kind_are_walked_to_the_end() {
    const ROUNDS: u64 = if cfg!(miri) { 2 } else { 20 };
    for package in packages() {
        let strides = Strides::of_toolkit(package.package).unwrap();
        let mut block = Writer::new(&strides);
        let kinds: Vec<u32> = (1..64).filter(|&kind| strides.of(kind) != 0).collect();
        for round in 0..ROUNDS {
            for &kind in &kinds {
                block.full(kind, package.toolkit, round);
            }
        }
        let (walk, tables) = decode(&block.bytes, &strides);
        let decoded = kinds.iter().filter(|&&kind| kind_of(kind).is_some()).count() as u64;
        assert_eq!(walk.records, ROUNDS * kinds.len() as u64, "{}", package.package);
        assert_eq!(
            (walk.kept, walk.excluded, walk.ignored),
            (ROUNDS * decoded, 0, walk.records - ROUNDS * decoded)
        );
        assert_eq!((walk.unknown_bytes, walk.unknown_kind), (0, None));
        assert_eq!(tables["kernel"].rows as u64, 3 * ROUNDS);
        assert!(walk.first_ns >= NOW_NS as i64 && walk.last_ns > walk.first_ns);
    }
}

#[test]
fn a_cupti_newer_than_any_known_is_read_as_far_as_it_agrees() {
    let newest = layouts::STRIDES.last().unwrap();
    let mut strides = Strides::newest();
    for kind in 1..64 {
        let bytes = strides.of(kind);
        if bytes != 0 {
            strides.set(kind, bytes as u16 + 8 * (kind as u16 % 5));
        }
    }
    strides.set(77, 48);
    for kind in KINDS.iter().map(|k| k.id).filter(|id| !SEPARATE.contains(id) && *id != 25) {
        let mut block = Writer::new(&strides);
        block.full(kind, newest.toolkit, 3);
        let record = block.bytes.clone();
        block.bytes.extend_from_slice(&77u32.to_le_bytes());
        block.bytes.resize(record.len() + 48, 0xA5);
        block.bytes.extend_from_slice(&record);
        let (walk, tables) = decode(&block.bytes, &strides);
        assert_eq!((walk.records, walk.kept, walk.ignored, walk.unknown_bytes), (3, 2, 1, 0));
        compare(&record, kind, &tables, 0, "a newer one");
    }
}

#[test]
fn what_cannot_be_walked_is_counted_in_bytes() {
    let strides = Strides::of_toolkit("12.0").unwrap();
    let mut block = Writer::new(&strides);
    block.full(10, 1200, 1).full(5, 1200, 2);
    let whole = block.bytes.len();
    for cut in 1..40 {
        let (walk, _) = decode(&block.bytes[..whole - cut], &strides);
        assert_eq!((walk.records, walk.unknown_bytes, walk.unknown_kind), (1, 40 - cut, None), "{cut}");
    }
    for alien in [0, 53, 59, 200, u32::MAX] {
        let mut block = block.bytes.clone();
        block.extend_from_slice(&alien.to_le_bytes());
        block.resize(whole + 100, 1);
        let (walk, _) = decode(&block, &strides);
        assert_eq!((walk.records, walk.unknown_bytes, walk.unknown_kind), (2, 100, Some(alien)));
    }
    assert_eq!(decode(&[], &strides).0, Walk::EMPTY);
}

#[test]
fn noise_never_panics() {
    let strides = Strides::newest();
    let mut state = 1u64;
    for _ in 0..if cfg!(miri) { 20 } else { 3000 } {
        let mut block = vec![0u8; 512];
        for byte in &mut block {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = (state >> 33) as u8;
        }
        for at in (0..512).step_by(8) {
            // Kinds that exist, and a few that do not.
            let kind = u32::from(block[at]) % 62;
            block[at..at + 4].copy_from_slice(&kind.to_le_bytes());
        }
        let (walk, _) = decode(&block, &strides);
        assert_eq!(walk.records, walk.kept + walk.ignored);
    }
}

#[test]
fn a_filter_sees_every_record_of_activity_and_no_definition() {
    let strides = Strides::newest();
    let mut block = Writer::new(&strides);
    block.record(8, &[("id", 3)]).record(37, &[("streamId", 7)]);
    block.record(10, &[("start", 5), ("end", 9), ("correlationId", 21)]);
    block.record(5, &[("start", 2), ("end", 3), ("correlationId", 22)]);
    block.record(39, &[("correlationId", 22), ("externalId", 4)]);
    block.record(12, &[("timestamp", 4)]);
    let mut seen = Vec::new();
    let mut decoder = Decoder::new(strides.clone());
    let walk = decoder.block(&block.bytes, &mut Made::default(), &mut |facts| {
        seen.push(*facts);
        facts.correlation == Some(22)
    });
    let facts = |kind, correlation, start_ns, end_ns| Facts { kind, correlation, start_ns, end_ns, tid: 0 };
    assert_eq!(seen, [facts(10, Some(21), 5, 9), facts(5, Some(22), 2, 3), facts(39, Some(22), 0, 0)]);
    assert_eq!((walk.records, walk.kept, walk.excluded, walk.ignored), (6, 4, 1, 1));
    assert_eq!((walk.first_ns, walk.last_ns), (2, 9));
    let tables = taken(&mut decoder);
    assert_eq!(tables.keys().copied().collect::<Vec<_>>(), ["api", "device", "external", "stream"]);
}

#[test]
fn definitions_come_before_what_refers_to_them_and_small_tables_wait() {
    let strides = Strides::newest();
    let mut block = Writer::new(&strides);
    block.full(5, 1305, 1).full(10, 1305, 1).full(10, 1305, 2).full(8, 1305, 1).full(2, 1305, 1);
    let mut decoder = Decoder::new(strides.clone());
    decoder.block(&block.bytes, &mut Made::default(), &mut |_| true);
    assert_eq!((decoder.tables.rows_pending(), decoder.tables.most_pending()), (7, 2));
    let mut batches = Vec::new();
    decoder.tables.take(3, &mut batches);
    assert!(batches.is_empty());
    decoder.tables.take(2, &mut batches);
    assert_eq!(batches.iter().map(|b| b.table.name).collect::<Vec<_>>(), ["device", "shape", "kernel"]);
    batches.clear();
    decoder.tables.take(1, &mut batches);
    assert_eq!(batches.iter().map(|b| b.table.name).collect::<Vec<_>>(), ["memset", "api"]);
}

#[test]
fn what_cupti_marks_as_absent_is_null() {
    let strides = Strides::newest();
    let mut block = Writer::new(&strides);
    let never = u64::from(u32::MAX);
    block.record(10, &[("channelID", never), ("priority", -5i32 as u32 as u64)]);
    block.record(38, &[("contextId", never), ("streamId", never), ("cudaEventId", never)]);
    block.record(1, &[("channelID", never)]);
    block.record(
        51,
        &[("deviceId", 0x7FFF_FFFF), ("contextId", 0x7FFF_FFFF), ("endDeviceId", 2), ("endContextId", 3)],
    );
    block.record(51, &[("deviceId", 0x7FFF_FFFF), ("endDeviceId", 0x7FFF_FFFF)]);
    block.record(17, &[("objectKind", 2), ("objectId.pt.threadId", 77)]);
    block.record(17, &[("objectKind", 1), ("objectId.pt.threadId", 77)]);
    let (_, tables) = decode(&block.bytes, &strides);
    let null = |table: &str, columns: &[&str]| {
        columns.iter().for_each(|c| assert_eq!(cell(&tables[table], c, 0), None, "{table}.{c}"));
    };
    null("kernel", &["channel", "graph_id", "graph_node_id", "queued_ns", "submitted_ns", "flags", "duration_ns"]);
    null("shape", &["cluster_x", "cluster_y", "cluster_z"]);
    null("sync", &["context", "stream", "event"]);
    null("memcpy", &["channel", "graph_id", "graph_node_id"]);
    null("overhead", &["correlation"]);
    assert_eq!(cell(&tables["kernel"], "priority", 0), Some(-5i64 as u64));
    assert_eq!([0, 1].map(|row| cell(&tables["graph"], "device", row)), [Some(2), Some(0x7FFF_FFFF)]);
    assert_eq!(cell(&tables["graph"], "context", 0), Some(3));
    assert_eq!([0, 1].map(|row| cell(&tables["overhead"], "tid", row)), [Some(77), None]);
}

#[test]
fn counters_of_unified_memory_mean_what_their_kind_says() {
    let strides = Strides::newest();
    let mut block = Writer::new(&strides);
    for kind in 1..=8 {
        let values =
            [("counterKind", kind), ("value", 900), ("start", 10), ("end", 30), ("srcId", 1), ("dstId", 2)];
        block.record(25, &values);
    }
    let (_, tables) = decode(&block.bytes, &strides);
    let column = |name| (0..8).map(|row| cell(&tables["uvm"], name, row)).collect::<Vec<_>>();
    let all = |value: u64, but: &[u64]| (1..=8).map(|k| (!but.contains(&k)).then_some(value)).collect::<Vec<_>>();
    assert_eq!(column("duration_ns"), all(20, &[3, 5, 7]));
    assert_eq!(column("src_device"), all(1, &[3, 5]));
    assert_eq!(column("dst_device"), all(2, &[3, 4, 5, 6]));
    assert_eq!(column("pc"), all(900, &[1, 2, 4, 5, 6, 7, 8]));
    assert_eq!((column("value")[2], column("value")[3]), (Some(1), Some(900)));
}

#[test]
fn a_lifetime_of_memory_is_an_allocation_and_a_release() {
    let strides = Strides::newest();
    let mut block = Writer::new(&strides);
    block.record(45, &[("address", 64), ("bytes", 9), ("start", 5), ("end", 8), ("name", 3), ("contextId", 2)]);
    block.record(45, &[("address", 128), ("bytes", 7), ("start", 6)]);
    let (walk, tables) = decode(&block.bytes, &strides);
    assert_eq!((walk.records, walk.kept), (2, 2));
    let memory = &tables["memory"];
    let rows: Vec<_> = (0..memory.rows)
        .map(|row| {
            ["operation", "start_ns", "address", "bytes", "name_id"].map(|c| cell(memory, c, row).unwrap_or(0))
        })
        .collect();
    assert_eq!(rows, [[1, 5, 64, 9, 3], [2, 8, 64, 9, 3], [1, 6, 128, 7, 0]]);
}

#[test]
fn names_reach_streams_with_what_is_known_of_them_and_threads() {
    let strides = Strides::newest();
    let mut block = Writer::new(&strides);
    block.record(37, &[("contextId", 1), ("streamId", 13), ("priority", 0xFFFF_FFFF), ("flag", 2)]);
    let of = |kind| ("objectKind", kind);
    block.record(11, &[of(5), ("objectId.dcs.contextId", 1), ("objectId.dcs.streamId", 13), ("name", 40)]);
    block.record(11, &[of(5), ("objectId.dcs.contextId", 2), ("objectId.dcs.streamId", 14), ("name", 41)]);
    block.record(11, &[of(2), ("objectId.pt.threadId", 4711), ("name", 42)]);
    block.record(11, &[of(1), ("name", 43)]);
    let (walk, tables) = decode(&block.bytes, &strides);
    assert_eq!(walk.kept, 5);
    let streams: Vec<_> = (0..3)
        .map(|row| ["context", "stream", "priority", "flag", "name_id"].map(|c| cell(&tables["stream"], c, row)))
        .collect();
    let known = [Some(1), Some(13), Some(u64::MAX), Some(2)];
    assert_eq!(streams[0], [known[0], known[1], known[2], known[3], None]);
    assert_eq!(streams[1], [known[0], known[1], known[2], known[3], Some(40)]);
    assert_eq!(streams[2], [Some(2), Some(14), None, None, Some(41)]);
    assert_eq!(["tid", "name_id"].map(|c| cell(&tables["thread"], c, 0)), [Some(4711), Some(42)]);
    assert_eq!(tables["thread"].rows, 1);
}

#[test]
fn an_environment_record_is_one_sample_per_measurement() {
    let strides = Strides::newest();
    let mut block = Writer::new(&strides);
    let base = [("deviceId", 3), ("timestamp", 50)];
    let record = |block: &mut Writer, more: &[(&str, u64)]| {
        block.record(20, &[&base[..], more].concat());
    };
    record(
        &mut block,
        &[
            ("environmentKind", 1),
            ("data.speed.smClock", 1980),
            ("data.speed.memoryClock", 2619),
            ("data.speed.pcieLinkGen", 5),
            ("data.speed.pcieLinkWidth", 16),
            ("data.speed.clocksThrottleReasons", 4),
        ],
    );
    record(&mut block, &[("environmentKind", 2), ("data.temperature.gpuTemperature", 61)]);
    record(
        &mut block,
        &[("environmentKind", 3), ("data.power.power", 412_000), ("data.power.powerLimit", 700_000)],
    );
    record(&mut block, &[("environmentKind", 4), ("data.cooling.fanSpeed", 33)]);
    record(&mut block, &[("environmentKind", 99)]);
    let mut decoder = Decoder::new(strides.clone());
    let mut own = Made::default();
    decoder.block(&block.bytes, &mut own, &mut |_| true);
    let tables = taken(&mut decoder);
    let sample = &tables["sample"];
    let values: Vec<_> = (0..sample.rows)
        .map(|row| {
            let metric = own.texts[cell(sample, "metric_id", row).unwrap() as usize - 1];
            assert_eq!(["start_ns", "device"].map(|c| cell(sample, c, row)), [Some(50), Some(3)]);
            (metric, f64::from_bits(cell(sample, "value", row).unwrap()))
        })
        .collect();
    let want = [
        ("sm_clock_mhz", 1980.0),
        ("memory_clock_mhz", 2619.0),
        ("pcie_link_gen", 5.0),
        ("pcie_link_width_lanes", 16.0),
        ("clocks_throttle_reasons_mask", 4.0),
        ("gpu_temperature_celsius", 61.0),
        ("power_mw", 412_000.0),
        ("power_limit_mw", 700_000.0),
        ("fan_speed_percent", 33.0),
    ];
    assert_eq!(values, want);
}

#[test]
fn a_device_keeps_all_bytes_of_its_uuid() {
    let strides = Strides::newest();
    let mut block = Writer::new(&strides);
    block.record(8, &[]);
    let uuid: [u8; 16] = std::array::from_fn(|i| i as u8 * 7);
    block.bytes[120..136].copy_from_slice(&uuid);
    let (_, tables) = decode(&block.bytes, &strides);
    let Values::Bytes(uuids) = &tables["device"].column("uuid").unwrap().values else { panic!() };
    assert_eq!(uuids.get(0), uuid);
}

#[test]
fn api_names_are_asked_for_once_and_ids_wrap() {
    let strides = Strides::newest();
    let mut decoder = Decoder::new(strides.clone());
    let mut own = Made::default();
    for id in [0xFFFF_FFFEu32, 0xFFFF_FFFF, 1, 2] {
        let mut block = Writer::new(&strides);
        for kind in [4, 5] {
            block.record(kind, &[("cbid", 307), ("correlationId", id.into())]);
            block.record(kind, &[("cbid", 0xFFFF_0000), ("correlationId", id.into())]);
        }
        decoder.block(&block.bytes, &mut own, &mut |_| true);
    }
    assert_eq!(own.asked, 2 + 8, "once per call, and every time for numbers out of all bounds");
    let api = &taken(&mut decoder)["api"];
    let ids: Vec<_> = (0..16).step_by(4).map(|row| cell(api, "correlation", row)).collect();
    assert_eq!(ids, [0xFFFF_FFFE, 0xFFFF_FFFF, 0x1_0000_0001, 0x1_0000_0002].map(Some));
    assert_eq!(decoder.correlation().widen(3), 0x1_0000_0003);
}
