//! The ring policy through the whole recorder.

use trace_format::header::FileHeader;
use trace_format::tables::KernelRow;

use super::harness::*;
use crate::flight::Requests;
use crate::writer::dumps::Flight;
use crate::writer::shared::Shared;
use crate::writer::trace::Trace;

#[test]
fn a_ring_keeps_the_newest_and_every_segment_knows_its_names() {
    let shared = shared(8, true);
    let disks = Disks::default();
    let budget_bytes = 2_400_000;
    let trace = Trace::ring(disks.clone(), &FileHeader::new("test", 1), Default::default(), budget_bytes).unwrap();
    let mut recorder = recorder(shared, trace, limits(), NotMultiples(0));
    recorder.begin(serde_json::json!({"pid": 7}), None, 1);
    let texts = Texts::new(7, "kernel_of_a_ring");
    let mut now_ns = 1;
    let mut random = Random(3);
    for block in 0..2_200_u64 {
        let mut records = Records::new();
        for i in 1..=240 {
            // Times and ids that do not compress well: the ring turns sooner.
            records.kernel(block * 240 + i + random.below(1 << 26), texts.pointer(i));
        }
        assert!(records.deliver(shared));
        while recorder.turn(now_ns) == crate::writer::recorder::Turn::Busy {}
        now_ns += 10_000;
    }
    close(shared, &mut recorder, now_ns);
    let disks = disks.0.borrow();
    assert!(disks.len() >= 3 && *disks.keys().next().unwrap() > 1, "{:?}", disks.keys());
    let bytes: usize = disks.values().map(|d| d.0.borrow().bytes.len()).sum();
    assert!(bytes < budget_bytes as usize, "{bytes}");
    for (number, disk) in disks.iter() {
        let read = Read::disk(disk);
        assert!(read.reader.is_closed() && read.reader.verify().unwrap().is_empty(), "{number}");
        assert_eq!(read.reader.header().segment, Some(*number));
        check_definitions_come_first(&read);
        assert!(!read.rows::<KernelRow>().is_empty());
        assert!(read.reader.frames().iter().any(|f| f.table == trace_format::tables::PROCESS.id));
    }
}

/// A recorder whose ring is dumped, on disks in memory.
fn flying(shared: &'static Shared, disks: &Disks, rules: &str) -> (TestRecorder, &'static Requests) {
    let ring = shim_config::Ring { keep_ns: Some(60_000_000_000), most_bytes: Some(8 << 20) };
    let header = FileHeader::new("test", 1);
    let trace = Trace::flight(disks.clone(), &header, Default::default(), ring, None, None, 1).unwrap();
    let mut recorder = recorder(shared, trace, limits(), NotMultiples(0));
    let requests: &'static Requests = Box::leak(Box::new(Requests::new()));
    let settings = shim_config::Settings {
        dump_on: shim_config::DumpRule::parse_list(rules.as_bytes()).unwrap(),
        max_dumps: 3,
        ..Default::default()
    };
    recorder.fly(Flight::new(&settings, ring, requests, || {}));
    recorder.begin(serde_json::json!({"pid": 7}), None, 1);
    (recorder, requests)
}

fn deliver_kernels(shared: &Shared, recorder: &mut TestRecorder, ids: std::ops::Range<u64>, now_ns: i64) {
    let texts = Texts::new(3, "kernel");
    let mut records = Records::new();
    ids.for_each(|i| records.kernel(i, texts.pointer(i)));
    assert!(records.deliver(shared));
    while recorder.turn(now_ns) == crate::writer::recorder::Turn::Busy {}
}

fn kernels(disks: &std::collections::BTreeMap<u32, Disk>) -> Vec<u64> {
    disks.values().flat_map(|disk| Read::disk(disk).rows::<KernelRow>()).map(|k| k.correlation).collect()
}

#[test]
fn a_dump_has_all_that_was_delivered_before_it_and_is_answered() {
    let (shared, disks) = (shared(8, true), Disks::default());
    let (mut recorder, requests) = flying(shared, &disks, "abort");
    deliver_kernels(shared, &mut recorder, 1..101, 1_000);
    let [first, second] = ["by hand", "again"].map(|reason| requests.ask(reason, "in a test").unwrap());
    while recorder.turn(2_000) == crate::writer::recorder::Turn::Busy {}
    assert!(disks.1.borrow().is_empty(), "neither is flushed yet");
    // What comes with the flush is queued before the dump is due.
    let mut records = Records::new();
    (101..201).for_each(|i| records.call(i));
    assert!(records.deliver(shared));
    requests.flushed(&[first, second]);
    while recorder.turn(3_000) == crate::writer::recorder::Turn::Busy {}
    assert_eq!(requests.take_answer(first), Some(Ok("001-by-hand".into())));
    assert_eq!(requests.take_answer(second), Some(Ok("002-again".into())));
    deliver_kernels(shared, &mut recorder, 201..301, 4_000);
    // The limit, and one that nobody flushed for, at the end.
    let ids = ["three", "four"].map(|reason| requests.ask(reason, "").unwrap());
    close(shared, &mut recorder, 5_000);
    assert_eq!(requests.take_answer(ids[0]), Some(Ok("003-three".into())));
    assert!(requests.take_answer(ids[1]).unwrap().unwrap_err().contains("the limit"));
    let dumps = disks.1.borrow();
    assert_eq!(kernels(&dumps["001-by-hand"]), (1..101).collect::<Vec<_>>());
    assert_eq!(kernels(&dumps["003-three"]).len(), 200);
    let calls: usize =
        dumps["001-by-hand"].values().map(|d| Read::disk(d).rows::<trace_format::tables::ApiRow>().len()).sum();
    assert_eq!(calls, 100);
    let last = disks.0.borrow().values().last().cloned().unwrap();
    let last = Read::disk(&last);
    assert_eq!(last.totals()["dumps"], serde_json::json!({"made": 3, "failed": 0, "refused": 1}));
    assert_eq!((last.total("delivered"), last.total("written"), last.total("dropped_by_ring")), (300, 300, 0));
    let notes: Vec<String> = dumps["002-again"]
        .values()
        .flat_map(|disk| {
            let read = Read::disk(disk);
            let strings = read.strings();
            read.rows::<trace_format::tables::NoteRow>().into_iter().map(move |n| strings[&n.text_id].clone())
        })
        .collect();
    assert_eq!(notes, ["dump 1, by-hand: in a test", "dump 2, again: in a test"]);
}

#[test]
fn rules_that_fire_with_the_last_records_make_their_dump_at_the_end() {
    let (shared, disks) = (shared(8, true), Disks::default());
    let (mut recorder, requests) = flying(shared, &disks, "error");
    let mut records = Records::new();
    records.call(1);
    use cupti_sys::fields::driver as f;
    records.record(f::KIND, &[(f::CBID, 31), (f::CORRELATION_ID, 2), (f::RETURN_VALUE, 700)]);
    assert!(records.deliver(shared));
    close(shared, &mut recorder, 1_000);
    assert_eq!(requests.take_answer(1), Some(Ok("001-error".into())));
    let dumps = disks.1.borrow();
    let rows = |disk: &Disk| Read::disk(disk).rows::<trace_format::tables::ApiRow>().len();
    assert_eq!(dumps["001-error"].values().map(rows).sum::<usize>(), 2);
    let last = Read::disk(disks.0.borrow().values().last().unwrap());
    assert!(last.reader.is_closed());
    assert_eq!((last.total("delivered"), last.total("written"), last.total("dropped_by_ring")), (2, 2, 0));
}

#[test]
fn a_failed_call_asks_for_a_dump_also_where_calls_are_not_kept() {
    use cupti_sys::fields::runtime as f;
    let (shared, disks) = (shared(8, true), Disks::default());
    let (mut recorder, requests) = flying(shared, &disks, "error");
    let mut records = Records::new();
    records.call(1);
    records.record(f::KIND, &[(f::CBID, 31), (f::CORRELATION_ID, 2), (f::RETURN_VALUE, 700)]);
    assert!(records.deliver(shared));
    while recorder.turn(1_000) == crate::writer::recorder::Turn::Busy {}
    let ids = requests.unflushed();
    assert_eq!(ids.len(), 1);
    requests.flushed(&ids);
    while recorder.turn(2_000) == crate::writer::recorder::Turn::Busy {}
    assert_eq!(requests.take_answer(ids[0]), Some(Ok("001-error".into())));
    let dumps = disks.1.borrow();
    let texts: Vec<String> =
        dumps["001-error"].values().flat_map(|d| Read::disk(d).strings().into_values()).collect();
    assert!(texts.iter().any(|t| t == "dump 1, error: call 2 31 returned 700, correlation id 2"), "{texts:?}");
}
