//! The writer on outputs that refuse, run full, or are rings.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use crate::common::*;
use serde_json::json;
use trace_format::columns::{BytesColumn, Values};
use trace_format::frame::FrameInfo;
use trace_format::read::{Problem, TraceReader};
use trace_format::tables::*;
use trace_format::write::{Output, SegmentFiles, SegmentedWriter, Segments, TraceWriter, WriteError, WriteOptions};

/// A disk that writes short, fails and refuses to be cut, by chance.
struct Unreliable {
    file: Vec<u8>,
    random: Random,
    may_cut: bool,
}

impl Output for Unreliable {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        match self.random.below(8) {
            0 => Err(io::ErrorKind::StorageFull.into()),
            1 => Err(io::ErrorKind::Interrupted.into()),
            2 => Ok(0),
            3..=5 => {
                let some = 1 + self.random.below(bytes.len() as u64) as usize;
                self.file.write_at(&bytes[..some], offset)
            }
            _ => self.file.write_at(bytes, offset),
        }
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        if self.may_cut {
            Output::truncate(&mut self.file, len)
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
}

#[test]
fn an_output_that_fails_at_random_is_left_a_whole_trace() {
    for seed in 0..60 {
        let mut disk = Unreliable { file: Vec::new(), random: Random(seed), may_cut: seed % 3 != 0 };
        let Ok(mut writer) = TraceWriter::create(&mut disk, &header(30), short_intervals()) else { continue };
        let mut written = 0;
        for round in 0..40 {
            let batch = kernels(written, 10 + round);
            match writer.write_batch(&batch) {
                Ok(()) => written += 10 + round,
                Err(WriteError::Io { .. }) => {}
                Err(other) => panic!("{other}"),
            }
            let _ = writer.write_batch(&strings(1 + 2 * round as u32, 2));
            assert_eq!(writer.rows(&KERNEL), written as u64);
            let reader = TraceReader::new(&writer.output().file).unwrap();
            let last = reader.frames().last().map_or(0, |f| f.end());
            assert!(reader.frames().is_empty() || last == writer.bytes(), "seed {seed}: all frames and no other");
        }
        let closed = (0..20).any(|_| writer.finish(&json!({})).is_ok());
        let (file, may_cut) = (std::mem::take(&mut disk.file), disk.may_cut);
        let reader = TraceReader::new(&file).unwrap();
        assert!(reader.is_closed() >= closed);
        // Where it may not be cut, a longer frame that failed may stick out behind the end.
        assert!(!may_cut || reader.tail_bytes() == 0, "seed {seed}");
        let correlations: Vec<u64> = content(&reader)
            .iter()
            .filter(|f| f.table == KERNEL.id)
            .flat_map(|f| match &reader.read_batch(f, None).unwrap().column("correlation").unwrap().values {
                Values::U64(v) => v.clone(),
                _ => panic!(),
            })
            .collect();
        assert_eq!(correlations, (0..written as u64).collect::<Vec<_>>(), "seed {seed}");
        // Without cutting, a header of zeros may be all that is left of the last attempt.
        let explained = |p: &Problem| !may_cut && p.offset == reader.frames().last().unwrap().end();
        assert!(reader.problems().iter().all(explained), "seed {seed}: {:?}", reader.problems());
    }
}

#[test]
fn a_batch_too_long_for_a_frame_becomes_several() {
    let mut file = Vec::new();
    let mut writer = TraceWriter::create(&mut file, &header(31), Default::default()).unwrap();
    writer.write_batch(&kernels(0, 150_000)).unwrap();
    let reader = TraceReader::new(&file).unwrap();
    let rows: Vec<_> = reader.frames().iter().map(|f| (f.first_row, f.rows)).collect();
    assert_eq!(rows, [(0, 65_536), (65_536, 65_536), (131_072, 18_928)]);

    let options = WriteOptions { max_payload_bytes: 5_000, ..Default::default() };
    let mut file = Vec::new();
    let mut writer = TraceWriter::create(&mut file, &header(31), options).unwrap();
    writer.write_batch(&strings(1, 1_000)).unwrap();
    let reader = TraceReader::new(&file).unwrap();
    assert!(reader.frames().len() > 3 && reader.frames().iter().all(|f| f.payload_len <= 5_000));
    assert_eq!(reader.definitions::<StringRow>().rows.len(), 1_000);

    let mut long = strings(1, 1);
    let mut bytes = BytesColumn::default();
    bytes.push(&[7; 6_000]);
    long.columns[1].values = Values::Bytes(bytes);
    let mut writer = TraceWriter::create(Vec::new(), &header(31), options).unwrap();
    let error = writer.write_batch(&long).unwrap_err();
    assert!(matches!(error, WriteError::TooLong { table: "string", bytes: 6_001.. }), "{error}");
}

#[test]
fn a_batch_that_lies_about_itself_is_refused() {
    let good = kernels(0, 4);
    let mut cases = vec![good.clone(); 4];
    cases[0].rows = 5;
    cases[1].columns[3].values = Values::I64(vec![0; 4]);
    cases[2].columns[1].validity = Some(vec![true; 3]);
    cases[3].columns.pop();
    let mut offsets = strings(1, 2);
    offsets.columns[1].values = Values::Bytes(BytesColumn { offsets: vec![0, 9_999, 3], data: vec![1, 2, 3] });
    cases.push(offsets);
    let mut writer = TraceWriter::create(Vec::new(), &header(32), Default::default()).unwrap();
    let before = writer.bytes();
    for case in &cases {
        let error = writer.write_batch(case).unwrap_err();
        assert!(matches!(error, WriteError::Encode(_)), "{error}");
    }
    assert_eq!(writer.bytes(), before);
}

#[test]
fn at_its_limit_a_trace_still_takes_what_was_lost_and_closes() {
    let mut file = Vec::new();
    let options = WriteOptions { limit_bytes: Some(20_000), ..short_intervals() };
    let mut writer = TraceWriter::create(&mut file, &header(33), options).unwrap();
    let refused = (0..).find(|&i| writer.write_batch(&kernels(i * 500, 500)).is_err()).unwrap();
    assert!(writer.bytes() <= 20_000);
    assert!(matches!(writer.write_batch(&kernels(0, 500)), Err(WriteError::Full { limit_bytes: 20_000 })));
    let mut loss = loss::LossBuilder::default();
    trace_format::schema::RowBuilder::push(&mut loss, LossRow { rows: 500, cause: 6, ..Default::default() });
    writer.write_batch(&trace_format::schema::RowBuilder::take(&mut loss)).unwrap();
    writer.finish(&json!({})).unwrap();
    assert!(matches!(writer.write_batch(&kernels(0, 5)), Err(WriteError::Closed)));
    let reader = TraceReader::new(&file).unwrap();
    assert!(reader.is_closed());
    assert_eq!(reader.closed_totals().unwrap()["tables"]["kernel"]["rows"], refused * 500);
    assert_eq!(reader.definitions::<LossRow>().rows[0].rows, 500);
}

#[test]
fn an_index_finds_every_frame_with_few_bytes_read() {
    let mut file = Vec::new();
    let options = WriteOptions { index_every_bytes: 1 << 20, repeat_every_bytes: 1 << 20, ..Default::default() };
    let mut writer = TraceWriter::create(&mut file, &header(34), options).unwrap();
    writer.write_batch(&strings(1, 50)).unwrap();
    let mut random = Random(34);
    let batch = random_batch(&API, 10_000, &mut random);
    while writer.bytes() < 24 << 20 {
        writer.write_batch(&batch).unwrap();
    }
    let unclosed = writer.output().to_vec();
    writer.finish(&json!({})).unwrap();
    let closed = TraceReader::new(&file).unwrap();
    assert!(closed.frames().len() > 150);
    assert!(closed.bytes_read() < 60_000, "{}", closed.bytes_read());
    // Without an end, one piece of the end is searched for any header; that one knows where the index is.
    let live = TraceReader::new(&unclosed).unwrap();
    let same = |a: &FrameInfo, b: &FrameInfo| {
        (a.offset, a.table, a.rows, a.seq, a.first_row) == (b.offset, b.table, b.rows, b.seq, b.first_row)
    };
    assert!(live.frames().iter().zip(closed.frames()).all(|(a, b)| same(a, b)));
    assert_eq!(live.frames().len(), closed.frames().len() - 2, "the last index and the closing frame");
    assert!(live.bytes_read() < (2 << 20) + 60_000, "{}", live.bytes_read());
    // Hopping all the way gives the same frames.
    let mut broken = file.clone();
    let middle = closed.frames().iter().filter(|f| f.table == INDEX.id).nth(9).unwrap().clone();
    broken[middle.offset as usize + 100] ^= 1;
    let damaged = TraceReader::new(&broken).unwrap();
    assert!(damaged.frames().len() == closed.frames().len());
    assert!(damaged.frames().iter().zip(closed.frames()).all(|(a, b)| same(a, b)));
    assert_eq!(damaged.problems()[0].offset, middle.offset);
}

#[test]
fn a_growing_file_is_followed() {
    let whole = sample(35, true);
    let frames = TraceReader::new(&whole).unwrap().frames().to_vec();
    /// A file of which more and more exists.
    struct Growing(Vec<u8>, Arc<Mutex<usize>>);
    impl trace_format::read::Source for Growing {
        fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
            self.0[..*self.1.lock().unwrap()].as_ref().read_at(buffer, offset)
        }
        fn len(&self) -> io::Result<u64> {
            Ok(*self.1.lock().unwrap() as u64)
        }
    }
    let len = Arc::new(Mutex::new(frames[0].offset as usize));
    let mut reader = TraceReader::new(Growing(whole.clone(), len.clone())).unwrap();
    let mut forgetful = TraceReader::new(Growing(whole.clone(), len.clone())).unwrap();
    assert_eq!((reader.frames().len(), reader.is_closed()), (0, false));
    let mut seen = 0;
    let mut followed = Vec::new();
    for at in (frames[0].offset as usize..=whole.len()).step_by(97).chain([whole.len()]) {
        *len.lock().unwrap() = at;
        seen += reader.refresh().unwrap();
        let expected = frames.iter().filter(|f| f.end() as usize <= at).count();
        assert_eq!((seen, reader.frames().len()), (expected, expected));
        assert_eq!(reader.problems(), []);
        followed.extend(forgetful.follow().unwrap());
        assert_eq!(followed.len(), expected);
        assert_eq!(forgetful.problems(), []);
    }
    // What is read through an index does not know how far it is from it.
    let plain = |frames: &[FrameInfo]| -> Vec<FrameInfo> {
        frames.iter().map(|frame| FrameInfo { index_distance: 0, ..frame.clone() }).collect()
    };
    assert_eq!(plain(&followed), plain(&frames), "followed frame by frame, the same frames in the same order");
    assert!(forgetful.is_closed() && forgetful.frames().len() <= 8, "{} are kept", forgetful.frames().len());
    assert_eq!(forgetful.follow().unwrap(), []);
    assert!(reader.is_closed() && reader.closed_totals().is_some());
    assert_eq!((reader.refresh().unwrap(), reader.tail_bytes()), (0, 0));
    *len.lock().unwrap() = 300;
    assert!(reader.refresh().unwrap_err().to_string().contains("something cut or replaced it"));
    assert!(forgetful.follow().unwrap_err().to_string().contains("something cut or replaced it"));
}

/// Segments in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<BTreeMap<u32, Vec<u8>>>>);

struct MemorySegment(Memory, u32);

impl Output for MemorySegment {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        // A segment that was removed while open is written all the same, as a file would be.
        self.0.0.lock().unwrap().get_mut(&self.1).map_or(Ok(bytes.len()), |f| f.write_at(bytes, offset))
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.0.0.lock().unwrap().get_mut(&self.1).map_or(Ok(()), |f| Output::truncate(f, len))
    }
}

impl Segments for Memory {
    type Output = MemorySegment;
    fn open(&mut self, number: u32) -> io::Result<MemorySegment> {
        self.0.lock().unwrap().insert(number, Vec::new());
        Ok(MemorySegment(self.clone(), number))
    }
    fn remove(&mut self, number: u32) -> io::Result<()> {
        self.0.lock().unwrap().remove(&number).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }
}

#[test]
fn each_segment_of_a_ring_opens_alone_with_all_definitions() {
    let memory = Memory::default();
    let mut ring =
        SegmentedWriter::create(memory.clone(), &header(36), short_intervals(), 40_000, 200_000).unwrap();
    ring.write_json(&PROCESS, &json!({"pid": 1})).unwrap();
    for round in 0..400 {
        ring.write_batch(&strings(1 + round, 1)).unwrap();
        ring.write_batch(&kernels(i64::from(round) * 100, 100)).unwrap();
        assert!(ring.bytes() <= 205_000, "{}", ring.bytes());
    }
    assert_eq!(ring.rows(&KERNEL), 40_000);
    ring.finish(&json!({})).unwrap();
    let files = memory.0.lock().unwrap();
    assert!(files.len() >= 3 && !files.contains_key(&1));
    let mut run = None;
    let mut next_kernel = None;
    for (number, file) in files.iter() {
        let reader = TraceReader::new(file).unwrap();
        assert!(reader.is_closed());
        assert_eq!(reader.verify().unwrap(), []);
        assert_eq!(reader.header().segment, Some(*number));
        assert_eq!(*run.get_or_insert(reader.header().run.clone()), reader.header().run);
        assert_eq!(reader.process().unwrap()["pid"], 1);
        let ids: Vec<_> = reader.definitions::<StringRow>().rows.iter().map(|r| r.id).collect();
        assert_eq!(ids, (1..=ids.len() as u32).collect::<Vec<_>>());
        let kernels = reader.definitions::<KernelRow>().rows;
        let before = reader.header().rows_before["kernel"].as_u64().unwrap();
        assert_eq!((kernels[0].correlation, *next_kernel.get_or_insert(before)), (before, before));
        next_kernel = Some(before + kernels.len() as u64);
        assert!(ids.len() as u64 * 100 >= before + kernels.len() as u64);
    }
    assert_eq!(next_kernel, Some(40_000));
}

#[test]
fn a_ring_that_cannot_open_its_next_segment_goes_on_in_the_old_one_for_a_while() {
    struct Once(bool);
    impl Segments for Once {
        type Output = Vec<u8>;
        fn open(&mut self, _: u32) -> io::Result<Vec<u8>> {
            if std::mem::replace(&mut self.0, true) {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                Ok(Vec::new())
            }
        }
        fn remove(&mut self, _: u32) -> io::Result<()> {
            Ok(())
        }
    }
    let mut ring = SegmentedWriter::create(Once(false), &header(37), short_intervals(), 10_000, 80_000).unwrap();
    let written = (0..).find(|&i| ring.write_batch(&kernels(i * 100, 100)).is_err()).unwrap();
    assert!((15_000..20_001).contains(&ring.current().bytes()));
    assert_eq!(ring.rows(&KERNEL), written as u64 * 100);
}

#[test]
fn segment_files_lie_beside_each_other_and_overwrite_nothing() {
    let folder = std::env::temp_dir().join(format!("gpuprof-segments-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut files = SegmentFiles { trace: folder.join("run.gpuprof") };
    let output = files.open(1).unwrap();
    let mut writer = TraceWriter::create(output, &header(38), Default::default()).unwrap();
    writer.write_batch(&kernels(0, 10)).unwrap();
    writer.finish(&json!({})).unwrap();
    assert_eq!(files.open(1).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    let reader = TraceReader::open(folder.join("run.000001.gpuprof")).unwrap();
    assert_eq!(reader.definitions::<KernelRow>().rows.len(), 10);
    let missing = TraceReader::open(folder.join("run.000002.gpuprof")).err().unwrap().to_string();
    assert!(missing.contains("run.000002.gpuprof") && missing.contains("No such file"), "{missing}");
    files.remove(1).unwrap();
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn definitions_beyond_their_memory_are_written_once_and_not_repeated() {
    let mut file = Vec::new();
    let options = WriteOptions { definitions_limit_bytes: 400, ..short_intervals() };
    let mut writer = TraceWriter::create(&mut file, &header(39), options).unwrap();
    for round in 0..20 {
        writer.write_batch(&strings(1 + round * 3, 3)).unwrap();
        writer.write_batch(&kernels(i64::from(round) * 100, 100)).unwrap();
    }
    let reader = TraceReader::new(&file).unwrap();
    assert_eq!(reader.definitions::<StringRow>().rows.len(), 60);
    let repeats: Vec<_> = reader.frames().iter().filter(|f| f.is_repeat()).collect();
    assert!(!repeats.is_empty() && repeats.iter().all(|f| f.row_range().end < 20));
}

#[test]
fn writing_and_closing_need_little_stack() {
    // The shim's threads live in other people's programs and have small stacks; debug builds need the most.
    let write = || {
        let mut writer = TraceWriter::create(Vec::new(), &header(44), short_intervals()).unwrap();
        let mut random = Random(44);
        for table in ALL.iter().filter(|t| !t.columns.is_empty()) {
            writer.write_batch(&random_batch(table, 2_000, &mut random)).unwrap();
        }
        writer.finish(&json!({})).unwrap();
    };
    let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(write).unwrap();
    assert!(thread.join().is_ok());
}
