//! The ring policy through the whole recorder.

use trace_format::header::FileHeader;
use trace_format::tables::KernelRow;

use super::harness::*;
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
