//! Whatever happened to a file, what is whole is read and what is not is said.

use crate::common::*;
use trace_format::frame::{FrameInfo, HEADER_BYTES};
use trace_format::header::FileHeader;
use trace_format::read::{ProblemKind, ReadErrorKind, TraceReader};
use trace_format::tables::*;
use trace_format::write::{TraceWriter, WriteOptions};

#[test]
fn every_prefix_of_a_file_opens_with_all_frames_it_holds_whole() {
    for closed in [true, false] {
        let file = sample(1, closed);
        let whole = TraceReader::new(&file).unwrap();
        let begin = whole.frames()[0].offset as usize;
        for len in 0..file.len() {
            let prefix = file[..len].to_vec();
            let reader = match TraceReader::new(&prefix) {
                Ok(reader) => reader,
                Err(error) => {
                    assert!(len < begin, "{len}: {error}");
                    match error.what {
                        ReadErrorKind::Empty => assert_eq!(len, 0),
                        ReadErrorKind::HeaderIncomplete => assert!(error.to_string().contains("header incomplete")),
                        other => panic!("{len}: {other:?}"),
                    }
                    continue;
                }
            };
            assert!(len >= begin);
            let expected: Vec<_> = whole.frames().iter().filter(|f| f.end() as usize <= len).collect();
            assert_eq!(reader.frames().len(), expected.len(), "{len}");
            assert!(reader.frames().iter().zip(expected).all(|(a, b)| (a.offset, a.seq) == (b.offset, b.seq)));
            assert_eq!(reader.problems(), [], "{len}: an incomplete tail is not damage");
            let end = reader.frames().last().map_or(begin as u64, |f| f.end());
            assert_eq!(reader.tail_bytes(), len as u64 - end, "{len}");
        }
    }
}

/// The payloads that can be read, by the offset of their frame.
fn readable(reader: &TraceReader<&Vec<u8>>) -> Vec<(u64, Vec<u8>)> {
    let read = |f: FrameInfo| {
        let mut payload = Vec::new();
        reader.read_payload(&f, &mut payload).ok().map(|()| (f.offset, payload))
    };
    content(reader).into_iter().filter_map(read).collect()
}

#[test]
fn a_flipped_bit_loses_at_most_its_frame_and_is_reported_there() {
    for closed in [true, false] {
        let file = sample(2, closed);
        let whole = TraceReader::new(&file).unwrap();
        let good = readable(&whole);
        assert_eq!(good.len(), content(&whole).len());
        let frames = whole.frames().to_vec();
        let begin = frames[0].offset;
        assert_eq!(whole.verify().unwrap(), []);
        // All bytes of headers, a sample of payloads, each with another bit: everything takes minutes.
        let in_header = |at: usize| frames.iter().any(|f| (f.offset..f.offset + 64).contains(&(at as u64)));
        let structural = |at: usize| at < begin as usize || at + 100 > file.len() || in_header(at);
        for at in (0..file.len()).filter(|&at| at % 17 == 0 || structural(at)) {
            let mut bad = file.clone();
            bad[at] ^= 1 << (at * 5 % 8);
            let at = at as u64;
            let reader = TraceReader::new(&bad).unwrap_or_else(|e| panic!("byte {at}: {e}"));
            let read = readable(&reader);
            let lost: Vec<_> = good.iter().filter(|g| !read.iter().any(|r| r.0 == g.0)).map(|g| g.0).collect();
            let hit = frames.iter().find(|f| (f.offset..f.end()).contains(&at));
            assert!(lost.is_empty() || lost == [hit.unwrap().offset], "byte {at}: lost {lost:?}");
            assert!(read.iter().all(|r| good.contains(r)), "byte {at}: something that was never written");
            let problems = reader.verify().unwrap();
            let reported = match hit {
                Some(frame) => problems.iter().any(|p| {
                    // After the last frame nothing tells whose the bytes were.
                    let table_known = p.table == Some(frame.table)
                        || frame.is_repeat()
                        || frames.iter().all(|f| f.table != frame.table || f.offset <= frame.offset);
                    p.kind == ProblemKind::Frame && p.offset == frame.offset && table_known
                }),
                None if at < begin => problems.iter().any(|p| p.kind == ProblemKind::Header),
                None => problems.iter().any(|p| p.kind == ProblemKind::Trailer),
            };
            assert!(reported, "byte {at} in {hit:?}: {problems:?}");
        }
    }
}

#[test]
fn a_lost_header_is_counted_in_rows_of_its_table() {
    let mut file = sample(3, false);
    let reader = TraceReader::new(&file).unwrap();
    let victim = reader.frames().iter().filter(|f| f.table == KERNEL.id).nth(2).unwrap().clone();
    drop(reader);
    file[victim.offset as usize + 20] ^= 4;
    let reader = TraceReader::new(&file).unwrap();
    let [problem] = reader.problems() else { panic!("{:?}", reader.problems()) };
    assert_eq!((problem.offset, problem.bytes), (victim.offset, victim.end() - victim.offset));
    assert_eq!((problem.table, problem.rows), (Some(KERNEL.id), Some(20)));
    assert_eq!(
        problem.to_string(),
        format!("byte {}: {} bytes damaged, table kernel, 20 rows lost", victim.offset, problem.bytes)
    );
}

#[test]
fn a_destroyed_stretch_is_counted_per_table() {
    let mut file = sample(4, true);
    let reader = TraceReader::new(&file).unwrap();
    let kernels: Vec<_> = reader.frames().iter().filter(|f| f.table == KERNEL.id).cloned().collect();
    let (from, to) = (kernels[1].offset as usize, kernels[3].end() as usize);
    drop(reader);
    file[from..to].fill(0x55);
    // Without the trailer there is no way but to scan, so nothing but row numbers tells.
    file.truncate(file.len() - 1);
    let reader = TraceReader::new(&file).unwrap();
    let rows =
        |table| reader.problems().iter().filter(|p| p.table == Some(table)).map(|p| p.rows.unwrap()).sum::<u64>();
    assert_eq!((rows(KERNEL.id), rows(API.id)), (60, 30));
    assert_eq!(rows(STRING.id), 0, "strings come again later");
    let found = reader.definitions::<StringRow>();
    assert_eq!(found.problems, []);
    assert_eq!(found.rows.iter().map(|r| r.id).collect::<Vec<_>>(), (1..25).collect::<Vec<_>>());
}

#[test]
fn a_damaged_definition_is_taken_from_the_next_repetition() {
    let file = sample(5, true);
    let reader = TraceReader::new(&file).unwrap();
    let all = reader.definitions::<StringRow>().rows;
    let originals: Vec<_> = content(&reader).into_iter().filter(|f| f.table == STRING.id).collect();
    let last_repeat = reader.frames().iter().rfind(|f| f.table == STRING.id && f.is_repeat()).unwrap().clone();
    for frame in &originals {
        let mut bad = file.clone();
        bad[frame.offset as usize + HEADER_BYTES + 9] ^= 1;
        let found = TraceReader::new(&bad).unwrap().definitions::<StringRow>();
        if frame.row_range().end <= last_repeat.row_range().end {
            assert_eq!((found.rows, found.problems), (all.clone(), vec![]));
        } else {
            assert_eq!(found.rows.len(), all.len() - frame.rows as usize);
            assert_eq!((found.problems[0].offset, found.problems[0].rows), (frame.offset, Some(4)));
        }
    }
    assert!(last_repeat.row_range().end >= 16, "the test has nothing to show");
}

#[test]
fn what_is_no_trace_is_refused_with_its_reason() {
    let message = |bytes: &[u8]| TraceReader::new(bytes.to_vec()).err().unwrap().to_string();
    assert!(message(b"").contains("the file is empty"));
    assert!(message(&[0; 100_000]).contains("begins with zeros"));
    assert!(
        message(b"PK\x03\x04 something else altogether, and long enough for a header").contains("not a .gpuprof")
    );
    assert!(message(b"{}").contains("not a .gpuprof"));
    assert!(message(b"GPUPROF\n").contains("header incomplete"));
    assert!(message(&[b"GPUPROF\n".as_slice(), &[7; 500]].concat()).contains("the header is damaged"));
}

#[test]
fn a_file_full_of_zeros_behind_a_frame_keeps_that_frame() {
    let mut file = sample(6, false);
    let frames = TraceReader::new(&file).unwrap().frames().len();
    file.extend([0; 5_000]);
    let reader = TraceReader::new(&file).unwrap();
    assert_eq!(reader.frames().len(), frames);
    assert_eq!((reader.problems()[0].bytes, reader.tail_bytes()), (5_000, 0));
}

#[test]
fn frames_of_another_file_are_not_taken_for_ours() {
    let mut file = sample(7, false);
    let ours = TraceReader::new(&file).unwrap().frames().len();
    file.extend(sample(8, true));
    let reader = TraceReader::new(&file).unwrap();
    assert_eq!((reader.frames().len(), reader.is_closed()), (ours, false));
    assert_eq!(reader.problems().len(), 1);
}

#[test]
fn no_mutation_panics() {
    let files = [sample(9, true), sample(9, false)];
    let mut random = Random(0x6770_7570);
    for round in 0..4_000 {
        let mut file = files[round % 2].clone();
        for _ in 0..=random.below(4) {
            let at = random.below(file.len() as u64) as usize;
            let len = (random.below(200) as usize).min(file.len() - at);
            match random.below(6) {
                0 => file[at] ^= 1 << random.below(8),
                1 => file[at] = random.next() as u8,
                2 => drop(file.drain(at..at + len)),
                3 => file[at..at + len].fill(0xff),
                4 => {
                    let piece = file[at..at + len].to_vec();
                    let to = random.below(file.len() as u64) as usize;
                    file.splice(to..to, piece);
                }
                _ => file.truncate(at.max(1)),
            }
            if file.is_empty() {
                break;
            }
        }
        let Ok(mut reader) = TraceReader::new(file) else { continue };
        for frame in reader.frames() {
            let _ = reader.read_batch(frame, None);
        }
        let _ = (reader.process(), reader.definitions::<ShapeRow>(), reader.definitions::<StringRow>());
        let _ = (reader.verify(), reader.tail_bytes());
        let _ = reader.refresh();
    }
}

#[test]
fn no_mutated_payload_gets_a_panic_out_of_the_decoder() {
    // The checksum keeps accidents away from the decoder; this is about files made to harm.
    let mut random = Random(0x6465_636f);
    for table in trace_format::tables::ALL.iter().filter(|t| !t.columns.is_empty()) {
        let mut payload = Vec::new();
        trace_format::frame::encode(&random_batch(table, 40, &mut random), &mut payload).unwrap();
        for _ in 0..200 {
            let mut bad = payload.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bad.len() as u64) as usize;
                bad[at] = if random.below(2) == 0 { bad[at] ^ 1 << random.below(8) } else { random.next() as u8 };
            }
            let _ = trace_format::frame::decode(table, bad.into(), None);
        }
    }
}

#[test]
fn many_gaps_are_filled_from_few_repetitions() {
    let mut file = Vec::new();
    let options = WriteOptions { index_every_bytes: 1 << 14, repeat_every_bytes: 1 << 14, ..Default::default() };
    let mut w = TraceWriter::create(&mut file, &FileHeader::new("test", 0), options).unwrap();
    for id in 1..=600 {
        w.write_batch(&strings(id, 1)).unwrap();
    }
    w.finish(&serde_json::json!({})).unwrap();
    let frames = TraceReader::new(&file).unwrap().frames().to_vec();
    let of_strings = |repeat: bool| {
        frames.iter().filter(move |f| f.table == STRING.id && f.is_repeat() == repeat).cloned().collect::<Vec<_>>()
    };
    let (originals, repeats) = (of_strings(false), of_strings(true));
    let reach = repeats.iter().map(|f| f.row_range().end).max().unwrap();
    assert!(originals.len() == 600 && reach > 200, "{} originals, {reach} repeated", originals.len());
    for frame in originals.iter().step_by(2) {
        file[frame.offset as usize + HEADER_BYTES + 2] ^= 1;
    }
    let reader = TraceReader::new(&file).unwrap();
    let (mut reads, mut rows) = (0, 0);
    reader.definition_parts(
        &STRING,
        &mut |frame| {
            reads += u64::from(frame.is_repeat());
            reader.read_batch(frame, None).ok()
        },
        &mut |_, range, _| {
            rows += range.len() as u64;
            true
        },
    );
    assert!(rows >= 300 + reach / 2, "{rows} rows of 600, {reach} repeated");
    // Not one for each gap.
    assert!(reads <= repeats.len() as u64, "{reads} reads of {} repetitions for {} gaps", repeats.len(), reach / 2);
}
