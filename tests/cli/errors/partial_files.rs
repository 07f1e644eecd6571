//! Partial files.

use super::*;

#[test]
fn a_file_cut_anywhere_is_read_as_far_as_it_goes_and_says_so() {
    let folder = TempFolder::new("err-cut");
    let story = Story::sample(40);
    for (kind, bytes) in every_kind(&story) {
        let path = folder.file("t", &bytes);
        let (whole, _) = totals(&path).unwrap_or_else(|e| panic!("{kind}: {e}"));
        let mut random = Random(bytes.len() as u64);
        let lengths = (0..60).map(|i| match i {
            0..16 => i,
            16..40 => bytes.len() as u64 * (i - 16) / 24,
            _ => random.below(bytes.len() as u64),
        });
        let mut used = 0;
        for length in lengths {
            std::fs::write(&path, &bytes[..length as usize]).unwrap();
            match totals(&path) {
                Ok((part, notes)) => {
                    used += 1;
                    assert!(
                        part.0 <= whole.0 && part.1 <= whole.1,
                        "{kind}, {length} bytes: {part:?} of {whole:?}"
                    );
                    let silent = notes.is_empty() && part != whole;
                    assert!(!silent, "{kind}, {length} of {} bytes: {part:?} of {whole:?}, unsaid", bytes.len());
                }
                Err(message) => assert!(message.contains(path.to_str().unwrap()), "{kind}: {message}"),
            }
        }
        // What was on the disk must not be lost because the end was not; a session is packed as one piece.
        assert!(used > 0 || kind == "nvvp session", "{kind}: no prefix could be used");
    }
}

#[test]
fn every_prefix_of_a_native_file_keeps_its_whole_frames() {
    let folder = TempFolder::new("err-prefix");
    let story = Story::sample(24);
    let bytes = native_with(&story, Native { rows_per_frame: 4, ..Native::default() });
    let path = folder.file("t.gpuprof", &bytes);
    let mut most = 0;
    // The last 16 bytes say where the index is; without them the trace is found whole by looking through it.
    let closed = bytes.len() - 16;
    for length in (200..closed).step_by(97) {
        std::fs::write(&path, &bytes[..length]).unwrap();
        if let Ok(((count, _), notes)) = totals(&path) {
            assert!(count >= most, "{length} bytes have fewer rows than a shorter prefix");
            assert!(notes.iter().any(|note| note.code == "not-closed"), "{length}: {notes:?}");
            most = count;
        }
    }
    assert!(most >= 20, "{most}");
    for length in closed..=bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        let ((count, _), notes) = totals(&path).expect("a whole trace");
        assert!(count >= most && notes.is_empty(), "{length} of {}: {notes:?}", bytes.len());
    }
}

#[test]
fn zeroed_parts_of_checked_files_are_missed_by_name() {
    let folder = TempFolder::new("err-holes");
    let story = Story::sample(60);
    let small_frames = Native { rows_per_frame: 8, ..Native::default() };
    for (kind, bytes) in [
        ("native", native_with(&story, small_frames)),
        ("kineto gzip", gzip(&kineto(&story, KinetoEra::Base2024))),
        ("nvvp session", nvvp_session(&nvprof(&story, 16), 2)),
    ] {
        let path = folder.file("t", &bytes);
        let (whole, _) = totals(&path).unwrap();
        for hole in 1..20 {
            let mut damaged = bytes.clone();
            let from = bytes.len() * hole / 20;
            let to = (from + 300).min(bytes.len() - 16);
            damaged[from.min(to)..to].fill(0);
            std::fs::write(&path, &damaged).unwrap();
            match totals(&path) {
                Ok((part, notes)) if part != whole => {
                    assert!(!notes.is_empty(), "{kind}, hole at {from}: {part:?} of {whole:?}, unsaid");
                    assert!(notes.iter().any(|n| n.text.contains(path.to_str().unwrap())), "{notes:?}");
                }
                Ok(_) => {}
                Err(message) => assert!(message.contains(path.to_str().unwrap()), "{kind}: {message}"),
            }
        }
    }
}

#[test]
fn a_damaged_frame_costs_its_rows_and_is_named_with_its_offset() {
    let folder = TempFolder::new("err-frame");
    let story = Story::sample(40);
    let run = |close: bool, at: usize| {
        let bytes = native_with(&story, Native { rows_per_frame: 10, close, ..Native::default() });
        let reader = trace_format::read::TraceReader::new(&bytes[..]).unwrap();
        let mut kernel_frames = reader.frames().iter().filter(|f| f.table == trace_format::tables::KERNEL.id);
        let offset = kernel_frames.nth(1).unwrap().offset;
        let mut damaged = bytes.clone();
        damaged[offset as usize + at] ^= 4;
        let answer = report(&folder, "t.gpuprof", &damaged, &["--print-gpu-summary", "--format", "json"]);
        assert_eq!(answer.status, 0, "{}", answer.stderr);
        let document: serde_json::Value = serde_json::from_str(&answer.stdout).unwrap();
        let codes: Vec<String> = document["notes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|note| note["code"].as_str().unwrap().into())
            .collect();
        let rows = document["tables"][0]["rows"].as_array().unwrap();
        let kernels = rows.iter().filter(|row| !row["Name"].as_str().unwrap().starts_with('['));
        let kernels: u64 = kernels.map(|row| row["Calls"].as_u64().unwrap()).sum();
        if !codes.is_empty() {
            let place = format!("byte {offset}");
            let named = answer.stderr.contains(&place) && answer.stderr.contains("10 rows of kernel lost");
            assert!(named, "{}", answer.stderr);
        }
        (codes, kernels)
    };
    let (payload, header) = (100, 20);
    assert_eq!(run(true, payload), (vec!["unreadable-frame".to_owned()], 30));
    // The index of a closed file holds what the header says, too.
    assert_eq!(run(true, header), (Vec::new(), 40));
    let codes = ["unreadable-frame", "not-closed"].map(str::to_owned).to_vec();
    assert_eq!(run(false, header), (codes.clone(), 30));
    assert_eq!(run(false, payload), (codes.into_iter().rev().collect(), 30));
}
