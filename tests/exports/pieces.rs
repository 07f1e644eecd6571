//! A piece of a trace is a trace: what is true of the whole, and what belongs to the rows that are kept, stays.

use crate::common::build::*;
use crate::common::{TempFolder, gpuprof};
use trace_format::tables::{ExternalRow, LaunchStackRow, LossRow};

/// A native trace of launches 50 us apart, each with an operator's id, a stack and correlation id 10 i + 1.
fn trace(launches: u64) -> Vec<u8> {
    let story = Story::sample(launches);
    let mut file = Vec::new();
    let mut w = NativeWriter::begin(&mut file, &story, Native::default());
    w.kernels(&story.kernels);
    w.rest(&story);
    let ids = || (0..launches).map(|i| 10 * i + 1);
    w.rows(ids().map(|id| ExternalRow { correlation: id, external_kind: 1, external_id: id }).collect());
    w.rows(ids().map(|id| LaunchStackRow { correlation: id, stack_id: 1 }).collect());
    w.rows(vec![LossRow { rows: 7, ..LossRow::default() }]);
    w.close();
    drop(w);
    file
}

fn info(path: &str) -> String {
    gpuprof(&["info", path]).stdout
}

/// How many rows of a table `info` counts.
fn rows(info: &str, table: &str) -> u64 {
    let row =
        info.lines().find_map(|line| line.trim_start().strip_prefix(table).filter(|rest| rest.starts_with(' ')));
    row.map_or(0, |rest| rest.trim().replace(',', "").parse().expect("a number"))
}

#[test]
fn a_piece_keeps_the_clock_and_what_belongs_to_its_rows() {
    let folder = TempFolder::new("pieces");
    let whole = folder.argument("whole.gpuprof", &trace(100));
    assert!(info(&whole).contains("begins at 2023-11-14"), "{}", info(&whole));
    for format in ["gpuprof", "parquet", "arrow", "csv-tables"] {
        let piece = folder.path().join(format!("piece-{format}"));
        let piece = match format {
            "gpuprof" => piece.with_extension("gpuprof"),
            _ => piece,
        };
        let piece = piece.to_str().expect("a path");
        // The trace begins with a call 9.02 ms before the first launch; launches 20 to 39 are kept.
        let piece_args = ["--from", "10.02ms", "--to", "11.02ms"];
        gpuprof(&[&["export", "-q", "-F", format, &whole, "-o", piece], &piece_args[..]].concat());
        let info = info(piece);
        assert!(info.contains("begins at 2023-11-14") && info.contains(" Unix "), "{format}: {info}");
        let api = rows(&info, "api");
        assert!(api > 15 && api < 40, "{format}: {info}");
        for table in ["external", "launch_stack"] {
            let all = rows(&info, table);
            assert!((19..=22).contains(&all), "{format}: {table}: {info}");
        }
        assert_eq!(rows(&info, "loss"), 1, "{format}: what was lost at no known time: {info}");
    }
}

#[test]
fn a_piece_chosen_by_something_else_keeps_its_stacks_too() {
    let folder = TempFolder::new("pieces-device");
    let whole = folder.argument("whole.gpuprof", &trace(100));
    let name = String::from_utf8_lossy(&sample_names()[0].base).into_owned();
    for filter in ["device=0".to_owned(), format!("kernel={name}")] {
        let piece = folder.path().join(format!("piece-{}.gpuprof", filter.len()));
        let piece = piece.to_str().expect("a path");
        gpuprof(&["export", "-q", "--filter", &filter, &whole, "-o", piece]);
        let info = info(piece);
        assert!(rows(&info, "kernel") > 30 && rows(&info, "kernel") < 60, "{filter}: {info}");
        assert!(rows(&info, "launch_stack") >= rows(&info, "kernel"), "{filter}: {info}");
        assert!(info.contains("begins at 2023-11-14"), "{filter}: {info}");
    }
}

#[test]
fn times_that_were_moved_to_begin_at_0_are_not_dates() {
    let folder = TempFolder::new("pieces-aligned");
    let story = Story::sample(20);
    // Kineto's times and those of nsys have an epoch as well.
    for (kind, bytes) in
        [("kineto.json", kineto(&story, KinetoEra::Float2024)), ("nsys.sqlite", nsys(&story, NsysEra::Of2026))]
    {
        let whole = folder.argument(kind, &bytes);
        for (format, name) in [
            ("csv", "t.csv"),
            ("parquet", "p"),
            ("sqlite", "s.sqlite"),
            ("nvprof", "n.nvprof"),
            ("chrome", "c.json"),
        ] {
            let out = folder.path().join(format!("{kind}-{name}"));
            let out = out.to_str().expect("a path");
            gpuprof(&["export", "-q", "--align", "start", "-F", format, &whole, "-o", out]);
            let info = info(out);
            assert!(!info.contains("begins at") && !info.contains(" Unix "), "{kind} as {format}: {info}");
        }
    }
}
