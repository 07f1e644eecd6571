//! No input makes the readers, the analyses or the reports panic: files mutated in every way, values that no program
//! would write, and bytes of no format at all. The seeds are fixed, so that a failure is the same on every machine;
//! `fuzz/` holds the same entry points for whoever wants to search longer.
//!
//! A failure names its seed and leaves the file in the folder for temporary files of tests.

use crate::common::TempFolder;
use crate::common::build::*;
use crate::common::exercise::{Depth, exercise, exercise_reader, export_folder};
use crate::common::foreign::foreign_kinds;
use gpuprof::demangle::{Demangling, base_name, demangle};
use gpuprof::import::{Head, IMPORTERS, choose};
use proptest::prelude::*;
use rusqlite::Connection;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use trace_format::columns::{Batch, BytesColumn, Column, Values};
use trace_format::frame::{FrameInfo, HEADER_BYTES};
use trace_format::read::TraceReader;
use trace_format::schema::{ColumnType, Role, TableSpec};
use trace_format::tables;
use trace_format::write::{TraceWriter, WriteOptions};

/// The seeds of one search: a fixed number of them, and no more than this machine can do in `TIME`; or all that it can
/// do in `GPUPROF_FUZZ_SECONDS`, for whoever wants to search longer; or `GPUPROF_FUZZ_SEED` alone.
fn seeds(count: u64) -> impl Iterator<Item = u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (longer, alone) = (number("GPUPROF_FUZZ_SECONDS"), number("GPUPROF_FUZZ_SEED"));
    let count = if longer.is_some() { u64::MAX } else { count };
    let seeds = alone.map_or(0..count, |seed| seed..seed + 1);
    let (begun, time) = (Instant::now(), longer.map_or(TIME, Duration::from_secs));
    seeds.take_while(move |_| begun.elapsed() < time)
}

const TIME: Duration = Duration::from_secs(5);

/// Asks everything of the bytes; on a panic, keeps them and says which they were.
fn survives(folder: &TempFolder, bytes: &[u8], depth: Depth, what: &dyn std::fmt::Display) -> bool {
    let path = folder.file("t", bytes);
    survives_file(&path, depth, what)
}

fn survives_file(path: &Path, depth: Depth, what: &dyn std::fmt::Display) -> bool {
    does_not_panic(path, what, || exercise(path, depth))
}

fn does_not_panic(path: &Path, what: &dyn std::fmt::Display, asks: impl FnOnce() -> bool) -> bool {
    catch_unwind(AssertUnwindSafe(asks)).unwrap_or_else(|_| {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("panicked-trace");
        let _ = std::fs::copy(path, &kept);
        panic!("{what}: panicked; the file is {}", kept.display());
    })
}

/// A story with some of everything.
fn story() -> Story {
    let mut story = Story { losses: vec![(3, 1)], ..Story::sample(12).with_ranges() };
    let event = |kind, value, src, dst| Migration { start: 2_000_000, end: Some(2_001_000), kind, value, src, dst };
    story.migrations = vec![event(1, 4_096, None, Some(0)), event(4, 3, Some(1), None)];
    story
}

/// One change of the kinds that disks, transfers and people make.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    if bytes.is_empty() {
        return;
    }
    let length = bytes.len() as u64;
    let at = random.below(length) as usize;
    let some = (1 + random.below(64) as usize).min(bytes.len() - at);
    match random.below(9) {
        // Single bits and bytes, the likeliest damage, get the largest share.
        0..=2 => bytes[at] ^= 1 << random.below(8),
        3 => bytes[at] = [0, 0xff, 0x7f, 0x80, b'"', b'{', b']', b'-'][random.below(8) as usize],
        4 => bytes[at..at + some].fill(random.below(2) as u8 * 0xff),
        5 => bytes.truncate(at),
        6 => {
            let piece = bytes[at..at + some].to_vec();
            let to = random.below(length) as usize;
            bytes.splice(to..to, piece);
        }
        7 => drop(bytes.drain(at..at + some)),
        _ => {
            let from = random.below(other.len() as u64) as usize;
            let piece = &other[from..(from + some).min(other.len())];
            let end = (at + piece.len()).min(bytes.len());
            bytes.splice(at..end, piece.iter().copied());
        }
    }
}

/// Formats of folders of tables, which one reader reads by their manifest.
const FOLDERS: [&str; 3] = ["csv-tables", "parquet", "arrow"];

/// The name of the manifest.
const MANIFEST: &str = "gpuprof-export.json";

/// The story as a folder of tables; the folder, and the files in it.
fn folder_of_tables(folder: &TempFolder, format: &str) -> (PathBuf, Vec<(PathBuf, Vec<u8>)>) {
    let (trace, tables) = (folder.file("trace.gpuprof", &native(&story())), folder.path().join(format));
    std::fs::create_dir(&tables).expect("a folder");
    export_folder(&trace, format, &tables).unwrap_or_else(|e| panic!("{e}"));
    let entries = std::fs::read_dir(&tables).expect("the export").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> = entries.collect();
    files.sort();
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("a file of the export");
        (path, bytes)
    };
    (tables, files.into_iter().map(read).collect())
}

#[test]
fn files_of_every_reader_are_mutated() {
    let folder = TempFolder::new("panic-kinds");
    let mut read = BTreeSet::new();
    for (kind, bytes) in every_kind(&story()).into_iter().chain(foreign_kinds()) {
        let path = folder.file("trace", &bytes);
        let head = Head::read(Path::new(&path)).unwrap_or_else(|e| panic!("{kind}: {e}"));
        read.extend(choose(&head).ok().map(|importer| importer.name()));
    }
    for format in FOLDERS {
        let (tables, _) = folder_of_tables(&folder, format);
        let head = Head::read(&tables.join(MANIFEST)).unwrap_or_else(|e| panic!("{format}: {e}"));
        read.extend(choose(&head).ok().map(|importer| importer.name()));
    }
    for importer in IMPORTERS.iter().map(|importer| importer.name()) {
        assert!(
            read.contains(importer),
            "{importer} has no file in tests/common/build.rs that is damaged here: {read:?}"
        );
    }
}

#[test]
fn every_reader_is_given_the_files_of_all_others() {
    let folder = TempFolder::new("panic-others");
    let kinds: Vec<_> = every_kind(&story()).into_iter().chain(foreign_kinds()).collect();
    for (kind, bytes) in &kinds {
        let path = folder.file("trace", bytes);
        for importer in IMPORTERS {
            let what = format_args!("{} reads {kind}", importer.name());
            does_not_panic(&path, &what, || exercise_reader(*importer, &path, Depth::Summaries));
        }
    }
}

#[test]
fn mutated_files_of_folders_of_tables() {
    let folder = TempFolder::new("panic-folders");
    let exports = FOLDERS.map(|format| folder_of_tables(&folder, format));
    let (mut tried, mut opened) = (0, 0);
    for seed in seeds(240) {
        let (tables, files) = &exports[seed as usize % exports.len()];
        let mut random = Random(5_000_000 + seed);
        let (path, original) = &files[random.below(files.len() as u64) as usize];
        let mut bytes = original.clone();
        let other = &files[random.below(files.len() as u64) as usize].1;
        for _ in 0..1 + random.below(4) {
            mutate(&mut bytes, other, &mut random);
        }
        std::fs::write(path, &bytes).expect("a file of the export");
        let depth = if random.below(6) == 0 { Depth::Everything } else { Depth::Summaries };
        let what = format_args!("{}, seed {seed}", path.display());
        tried += 1;
        opened += u64::from(does_not_panic(path, &what, || exercise(tables, depth)));
        std::fs::write(path, original).expect("a file of the export");
    }
    // By what there was time for: on a machine with other work these are a few.
    assert!(
        opened > tried / 12,
        "only {opened} of {tried} could be opened: the mutations are too coarse to test much"
    );
}

#[test]
fn mutated_files_of_every_kind() {
    let folder = TempFolder::new("panic-mutated");
    let kinds = every_kind(&story());
    let mut opened = 0;
    for seed in seeds(1_000) {
        let (kind, original) = &kinds[seed as usize % kinds.len()];
        let mut random = Random(seed);
        let mut bytes = original.clone();
        let other = &kinds[random.below(kinds.len() as u64) as usize].1;
        for _ in 0..1 + random.below(4) {
            mutate(&mut bytes, other, &mut random);
        }
        let depth = if random.below(6) == 0 { Depth::Everything } else { Depth::Summaries };
        opened += u64::from(survives(&folder, &bytes, depth, &format_args!("{kind}, seed {seed}")));
    }
    assert!(opened > 20, "only {opened} mutated files could be opened: the mutations are too coarse to test much");
}

#[test]
fn mutated_files_of_formats_that_hold_no_story() {
    let folder = TempFolder::new("panic-foreign");
    let kinds = foreign_kinds();
    let mut opened = 0;
    for seed in seeds(1_600) {
        let (kind, original) = &kinds[seed as usize % kinds.len()];
        let mut random = Random(2_000_000 + seed);
        let mut bytes = original.clone();
        let other = &kinds[random.below(kinds.len() as u64) as usize].1;
        for _ in 0..1 + random.below(4) {
            mutate(&mut bytes, other, &mut random);
        }
        let depth = if random.below(6) == 0 { Depth::Everything } else { Depth::Summaries };
        opened += u64::from(survives(&folder, &bytes, depth, &format_args!("{kind}, seed {seed}")));
    }
    assert!(opened > 20, "only {opened} mutated files could be opened: the mutations are too coarse to test much");
}

#[test]
fn mutated_contents_behind_a_right_checksum() {
    let folder = TempFolder::new("panic-inner");
    let story = story();
    let (json, database) = (kineto(&story, KinetoEra::Base2024), nvprof(&story, 16));
    let trace = native_with(&story, Native { rows_per_frame: 9, ..Native::default() });
    for seed in seeds(250) {
        let mut random = Random(1_000_000 + seed);
        let depth = if seed % 6 == 0 { Depth::Everything } else { Depth::Summaries };
        let mut inner = json.clone();
        mutate(&mut inner, &database, &mut random);
        survives(&folder, &gzip_members(&inner, 2), depth, &format_args!("gzip, seed {seed}"));
        let mut inner = database.clone();
        mutate(&mut inner, &json, &mut random);
        survives(&folder, &nvvp_session(&inner, 2), depth, &format_args!("session, seed {seed}"));
        let mut forged = trace.clone();
        forge(&mut forged, &mut random);
        survives(&folder, &forged, depth, &format_args!("native, seed {seed}"));
    }
}

/// Changes the payload or the header of one frame and makes its checksums right again.
fn forge(file: &mut [u8], random: &mut Random) {
    let (frames, marker) = {
        let reader = TraceReader::new(&*file).expect("our own trace");
        (reader.frames().to_vec(), reader.header().marker())
    };
    let mut frame = frames[random.below(frames.len() as u64) as usize].clone();
    let start = frame.offset as usize + HEADER_BYTES;
    let payload = &mut file[start..start + frame.payload_len as usize];
    match random.below(4) {
        0 => frame.rows = [0, 1, frame.rows + 1, u32::MAX][random.below(4) as usize],
        1 => frame.table = random.below(70) as u16,
        2 => {
            let extremes = [Some(i64::MIN), Some(i64::MAX), None, Some(0)];
            frame.min_start_ns = extremes[random.below(4) as usize];
            frame.max_end_ns = extremes[random.below(4) as usize];
            frame.first_row = [u64::MAX, 0, 1 << 40][random.below(3) as usize];
        }
        _ => {
            for _ in 0..1 + random.below(3) {
                let at = random.below(payload.len() as u64) as usize;
                payload[at] ^= 1 << random.below(8);
            }
        }
    }
    frame.payload_crc = crc32c(payload);
    let offset = frame.offset as usize;
    file[offset..offset + HEADER_BYTES].copy_from_slice(&frame.to_bytes(marker));
}

/// The checksum that frames carry, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

#[test]
fn the_checksum_here_is_the_one_of_the_format() {
    let bytes = native(&story());
    let reader = TraceReader::new(&bytes[..]).expect("our own trace");
    let right = |frame: &FrameInfo| {
        let start = frame.offset as usize + HEADER_BYTES;
        crc32c(&bytes[start..start + frame.payload_len as usize]) == frame.payload_crc
    };
    assert!(reader.frames().iter().all(right));
}

const EXTREMES: [i64; 12] = [
    0,
    1,
    -1,
    i64::MIN,
    i64::MAX,
    i64::MIN + 1,
    1 << 62,
    (1 << 62) - 1,
    -(1 << 62),
    u32::MAX as i64,
    i32::MIN as i64,
    7,
];

/// Rows of any table with values that no collector would write, ids of one another among them.
fn hostile_batch(table: &'static TableSpec, rows: usize, random: &mut Random) -> Batch {
    let columns = table.columns.iter().map(|spec| {
        let mut extreme = || EXTREMES[random.below(EXTREMES.len() as u64) as usize];
        let values = match spec.ty {
            ColumnType::U32 => {
                Values::U32((0..rows).map(|i| if i % 2 == 0 { i as u32 % 5 } else { extreme() as u32 }).collect())
            }
            ColumnType::U64 => Values::U64((0..rows).map(|_| extreme() as u64).collect()),
            ColumnType::I64 => Values::I64((0..rows).map(|_| extreme()).collect()),
            ColumnType::F64 => Values::F64((0..rows).map(|_| f64::from_bits(extreme() as u64)).collect()),
            ColumnType::Bool => Values::Bool((0..rows).map(|_| extreme() < 0).collect()),
            ColumnType::Bytes => {
                let mut bytes = BytesColumn::default();
                let texts: [&[u8]; 5] = [b"", b"step", b"_Z5saxpyifPfS_", b"\xff\n\"|,\t", b"_ZN1aI"];
                (0..rows).for_each(|_| bytes.push(texts[extreme().rem_euclid(5) as usize]));
                Values::Bytes(bytes)
            }
        };
        let validity = match random.below(3) {
            _ if !spec.nullable => None,
            0 => None,
            1 => Some(vec![false; rows]),
            _ => Some((0..rows).map(|_| random.below(2) == 1).collect()),
        };
        Column { values, validity }
    });
    Batch { table, rows, columns: columns.collect() }
}

#[test]
fn native_traces_of_values_that_nobody_writes() {
    let folder = TempFolder::new("panic-hostile");
    for seed in seeds(40) {
        let mut random = Random(2_000_000 + seed);
        let mut file = Vec::new();
        let header = trace_format::header::FileHeader::new("fuzz", 0);
        let mut writer = TraceWriter::create(&mut file, &header, WriteOptions::default()).expect("a header");
        let process = serde_json::json!({"pid": EXTREMES[seed as usize % 12], "rank": -1, "host": 7});
        writer.write_json(&tables::PROCESS, &process).expect("a process");
        for table in tables::ALL.iter().filter(|table| table.role != Role::Json) {
            for _ in 0..random.below(3) {
                let rows = 1 + random.below(12) as usize;
                writer.write_batch(&hostile_batch(table, rows, &mut random)).expect("a frame");
            }
        }
        if seed % 2 == 0 {
            writer.finish(&serde_json::json!({})).expect("the end");
        }
        survives(&folder, &file, Depth::Everything, &format_args!("seed {seed}"));
    }
}

#[test]
fn databases_of_values_that_nobody_writes() {
    let folder = TempFolder::new("panic-cells");
    let story = story();
    let originals =
        [nvprof(&story, 8), nvprof(&story, 16), nsys(&story, NsysEra::Of2020), nsys(&story, NsysEra::Of2026)];
    let mut values: Vec<String> = EXTREMES.iter().map(i64::to_string).collect();
    values.extend(
        ["'text'", "''", "x''", "x'00ff00ff00ff00ff'", "1e300", "-1e300", "'9223372036854775808'"]
            .map(str::to_owned),
    );
    for seed in seeds(240) {
        let mut random = Random(3_000_000 + seed);
        let path = folder.file("t", &originals[seed as usize % 4]);
        let db = Connection::open(&path).expect("a database");
        // Nothing here has to survive a crash.
        db.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; BEGIN").expect("settings");
        let columns: Vec<(String, String)> = db
            .prepare(
                "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'",
            )
            .and_then(|mut s| s.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect())
            .expect("the columns");
        let mut changes = Vec::new();
        for _ in 0..1 + random.below(6) {
            let (table, column) = &columns[random.below(columns.len() as u64) as usize];
            let value = &values[random.below(values.len() as u64) as usize];
            let every = ["", "WHERE rowid % 3 = 1", "WHERE rowid = 2"][random.below(3) as usize];
            let sql = format!("UPDATE OR IGNORE \"{table}\" SET \"{column}\" = {value} {every}");
            // A few columns do not take it: keys, for instance.
            if db.execute_batch(&sql).is_ok() {
                changes.push(sql);
            }
        }
        db.execute_batch("COMMIT").expect("a commit");
        drop(db);
        survives_file(&path, Depth::Everything, &format_args!("seed {seed}: {changes:?}"));
    }
}

#[test]
fn json_of_values_that_nobody_writes() {
    let folder = TempFolder::new("panic-json");
    let story = story();
    let originals = KINETO_ERAS.map(|era| String::from_utf8(kineto(&story, era)).expect("text"));
    let values = [
        "NaN",
        "-Infinity",
        "1e999",
        "-1e999",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551616",
        "null",
        "true",
        "[]",
        "{}",
        "[[[[]]]]",
        "\"\"",
        "\"\\ud800\"",
        "\"\\u0000\"",
        "0.0000000000000000001",
        "-0",
        "1e-400",
        "99999999999999999999999999999999999999999999999999",
        "{\"a\":{\"ph\":\"X\"}}",
        "\"x\\",
        "",
    ];
    for seed in seeds(300) {
        let mut random = Random(4_000_000 + seed);
        let mut text = originals[seed as usize % 5].clone();
        for _ in 0..1 + random.below(8) {
            // One value, that of a random key.
            let colons: Vec<usize> =
                text.match_indices("\": ").chain(text.match_indices("\":")).map(|(i, _)| i).collect();
            let start = colons[random.below(colons.len() as u64) as usize] + 2;
            let end = text[start..].find([',', '}', ']', '\n']).map_or(text.len(), |length| start + length);
            text.replace_range(start..end, values[random.below(values.len() as u64) as usize]);
        }
        let depth = if seed % 6 == 0 { Depth::Everything } else { Depth::Summaries };
        survives(&folder, text.as_bytes(), depth, &format_args!("seed {seed}"));
    }
}

/// What the readers know files by, so that bytes behind it get past the door.
const MAGICS: [&[u8]; 8] = [
    b"",
    b"GPUPROF\n",
    b"SQLite format 3\0",
    b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
    b"{\"traceEvents\":[",
    b"[{\"ph\":\"X\",\"cat\":\"kernel\",",
    b"<?xml version=\"1.0\"?><session version=\"2\"><timelinepdm><pdm><split>",
    b"\xef\xbb\xbf {\"deviceProperties\": [",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_of_no_format(magic in 0..MAGICS.len(), bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let folder = TempFolder::new("panic-bytes");
        survives(&folder, &[MAGICS[magic], &bytes].concat(), Depth::Summaries, &"bytes");
    }

    #[test]
    fn text_that_looks_like_json(text in "([\\[\\]{}\",:]|\"(ph|cat|ts|dur|args|traceEvents|X|kernel)\"|-?[0-9]{1,22}(\\.[0-9]{1,4})?|[ \\\\a-z]){0,60}", magic in 4..6_usize) {
        let folder = TempFolder::new("panic-text");
        survives(&folder, &[MAGICS[magic], text.as_bytes()].concat(), Depth::Summaries, &"text");
    }

    #[test]
    fn names_of_any_bytes(name in proptest::collection::vec(any::<u8>(), 0..200)) {
        for how in [Demangling::On, Demangling::Nvprof, Demangling::Off] {
            let text = demangle(&name, how);
            let _ = base_name(&text);
        }
    }

    #[test]
    fn names_that_look_mangled(name in "_Z(N|K|P|R|S[0-9_tas]|T[0-9]?_|I|E|L[ijb]|[0-9]{1,3}|[a-z]{1,4}|D[nptoC]|X|J|v|_){0,60}") {
        for how in [Demangling::On, Demangling::Nvprof] {
            let text = demangle(name.as_bytes(), how);
            // What cannot be demangled is shown as it is.
            prop_assert!(!text.is_empty());
            let _ = base_name(&text);
        }
    }
}
