//! Names and launch shapes can be as many as records, so a command reads of them what it shows and no more.

use crate::common::build::{EPOCH, Native, NativeWriter, NvtxRange, Story, native_with};
use crate::common::{TempFolder, gpuprof, gpuprof_in};
use gpuprof::analysis::grouping::Grouping;
use gpuprof::analysis::labels::Labels;
use gpuprof::analysis::summary::{Order, SortKey};
use gpuprof::demangle::Demangling;
use gpuprof::query::session::Session;
use gpuprof::report::classic::{self, ReportKind, Request};
use gpuprof::report::nvprof::{Options, Prefix, TimeUnit};
use gpuprof::trace::frames::Frames;
use gpuprof::trace::select::{Filter, Selection};
use gpuprof::trace::sink::Need;
use std::collections::BTreeMap;
use std::path::Path;
use trace_format::read::TraceReader;
use trace_format::tables::column::kernel;
use trace_format::tables::{KERNEL, KernelRow, SHAPE, STRING, ShapeRow};

const LAUNCHES: u64 = 160;
const ROWS_PER_FRAME: usize = 16;
const NAMES: [&str; 4] = ["base_id", "demangled_id", "id", "name_id"];

/// Every launch has a shape of its own and happens in a range with a name of its own.
fn story() -> Story {
    let mut story = Story::sample(LAUNCHES);
    for (i, kernel) in (0..).zip(&mut story.kernels) {
        kernel.grid = [1_000 + i, 2, 1];
        story.ranges.push(NvtxRange {
            start: kernel.start - 1,
            end: Some(kernel.end + 1),
            style: 0,
            domain: None,
            name: format!("step {i}"),
            tid: 4243,
        });
    }
    story
}

fn file() -> Vec<u8> {
    native_with(&story(), Native { rows_per_frame: ROWS_PER_FRAME, ..Native::default() })
}

fn open(path: &Path) -> Frames {
    Frames::open(&[path.to_owned()], &Need::all()).expect("a trace")
}

/// Rows and columns of a table that were decoded so far.
fn decoded(frames: &Frames, table: &str) -> (u64, Vec<&'static str>) {
    let (rows, columns) = frames.decoded().remove(table).unwrap_or_default();
    (rows, columns.into_iter().collect())
}

fn report(frames: &Frames, what: ReportKind, selection: Selection) -> String {
    let labels = Labels::new(frames, Demangling::On);
    let filter = Filter::resolve(selection, frames, |kernel| labels.name_of(kernel).to_owned()).expect("a filter");
    let request = Request {
        what,
        options: Options { csv: true, unit: TimeUnit::Ns, origin_ns: None },
        grouping: Grouping::default(),
        order: Order { sort: SortKey::Time, top: None },
        per_process: false,
        all_ranges: false,
        openacc_inclusive: true,
        prefix: Prefix(None),
        system: Vec::new(),
    };
    let mut out = Vec::new();
    classic::write(&mut out, &labels, &filter, &request, &mut Vec::new()).expect("a report");
    String::from_utf8(out).expect("text")
}

#[test]
fn a_command_decodes_of_names_and_shapes_what_it_shows() {
    let folder = TempFolder::new("definitions-decoded");
    let path = folder.file("many.gpuprof", &file());

    let frames = open(&path);
    assert_eq!(frames.rows(&SHAPE), LAUNCHES);
    assert_eq!(decoded(&frames, "shape"), (0, Vec::new()), "opening reads no shape");
    let (names, _) = decoded(&frames, "string");
    assert!(names <= 4 * 2 * ROWS_PER_FRAME as u64, "opening looks for the names of devices alone: {names}");

    let frames = open(&path);
    let summary = ReportKind::Summary { gpu: true, api: true, openacc: true, openmp: true };
    assert!(report(&frames, summary, Selection::default()).contains("saxpy"));
    assert_eq!(
        decoded(&frames, "shape"),
        (LAUNCHES, NAMES.to_vec()),
        "a summary needs to know whose shapes they are"
    );

    let frames = open(&path);
    let listing = ReportKind::Trace { gpu: true, api: false };
    let few = Selection { to_ns: Some(EPOCH + 10_000_000 + 5 * 50_000), ..Selection::default() };
    let text = report(&frames, listing, few);
    assert!(text.contains(",1004,2,1,") && !text.contains(",1005,2,1,"), "{text}");
    let (rows, columns) = decoded(&frames, "shape");
    assert_eq!(rows, LAUNCHES + ROWS_PER_FRAME as u64, "the numbers of those shapes alone that were launched then");
    assert!(columns.contains(&"grid_x") && columns.contains(&"registers"), "{columns:?}");
    let all = report(&frames, listing, Selection::default());
    for i in 0..LAUNCHES {
        assert!(all.contains(&format!(",{},2,1,", 1_000 + i)), "{i}");
    }
    assert_eq!(decoded(&frames, "shape").0, 2 * LAUNCHES, "every frame once more");

    let session = Session::new(open(&path));
    session.run("SELECT name, COUNT(*) AS n FROM kernel GROUP BY name").expect("an answer");
    assert_eq!(decoded(session.frames(), "shape").1, NAMES);
    let grids = session.run("SELECT COUNT(DISTINCT grid_x) AS n FROM shape").expect("an answer");
    assert_eq!(grids.column("n").expect("n").get(0).expect("a row").try_extract::<u64>().ok(), Some(LAUNCHES));
    assert!(decoded(session.frames(), "shape").1.contains(&"grid_x"));
}

#[test]
fn info_reads_neither_shapes_nor_names_of_ranges() {
    let folder = TempFolder::new("definitions-info");
    let path = folder.file("many.gpuprof", &file());
    let text = path.to_str().expect("a path");
    let whole = gpuprof(&["info", text]);
    assert!(whole.stdout.contains("160 ranges") && whole.stdout.contains("Tesla V100"), "{}", whole.stdout);
    let report = gpuprof(&["report", text]);
    assert!(!report.stderr.contains("lost") && !report.stdout.contains("lost"), "{}", report.stderr);

    let mut bytes = file();
    let frames = TraceReader::new(&bytes).expect("a trace").frames().to_vec();
    let names = frames.iter().filter(|frame| frame.table == STRING.id && !frame.is_repeat()).skip(1);
    let shapes = frames.iter().filter(|frame| frame.table == SHAPE.id);
    let repeats = frames.iter().filter(|frame| frame.table == STRING.id && frame.is_repeat());
    for frame in names.chain(shapes).chain(repeats) {
        bytes[frame.offset as usize + 66] ^= 4;
    }
    folder.file("many.gpuprof", &bytes);
    assert_eq!(gpuprof(&["info", text]).stdout, whole.stdout);
    // Whoever asks for them is told.
    let report = gpuprof_in(Path::new("."), &["report", text]);
    let said = report.stderr + &report.stdout;
    assert!(said.contains("16 rows of shape lost") && said.contains("16 rows of string lost"), "{said}");
}

#[test]
fn every_launch_has_its_own_shape_whatever_the_ids_in_the_files() {
    let folder = TempFolder::new("definitions-ids");
    let kernel =
        |start_ns, shape_id| KernelRow { start_ns, duration_ns: Some(5), shape_id, ..KernelRow::default() };
    let write = |name: &str, ids: &[u32], launched: &[u32]| {
        let mut bytes = Vec::new();
        let mut writer =
            NativeWriter::begin(&mut bytes, &Story::empty(), Native { rows_per_frame: 3, ..Native::default() });
        let name_ids = [writer.string(b"first"), writer.string(b"second")];
        writer.define();
        let shape = |(i, &id): (usize, &u32)| ShapeRow {
            id,
            name_id: name_ids[i % 2],
            grid_x: Some(100 * i64::from(id) + 1),
            grid_y: (i % 2 == 0).then_some(7),
            dynamic_smem_bytes: Some(1 << 40),
            ..ShapeRow::default()
        };
        writer.rows(ids.iter().enumerate().map(shape).collect());
        writer.rows((0..).zip(launched).map(|(i, &id)| kernel(i, id)).collect());
        writer.close();
        drop(writer);
        folder.file(name, &bytes);
    };
    write("dense.gpuprof", &[4, 5, 6, 7, 8, 9, 10], &[10, 4, 7, 9]);
    write("sparse.gpuprof", &[70_000, 3, 9, 8, 1, 0], &[8, 0, 70_000, 5]);
    let frames = open(folder.path());
    assert_eq!(frames.shape_count(), 13);
    let found = frames
        .fold(
            &KERNEL,
            &[kernel::SHAPE_ID, kernel::START_NS],
            &Filter::everything(),
            BTreeMap::new,
            |found: &mut BTreeMap<(u32, i64), u32>, batch| {
                let (shape, start) = (batch.get(kernel::SHAPE_ID), batch.get(kernel::START_NS));
                batch.for_each_row(|i| {
                    found.insert((batch.process, start.get(i).expect("a start")), shape.get(i).expect("a shape"));
                });
            },
            |all, more| all.extend(more),
        )
        .expect("kernels");
    let expected =
        [((0, 0), 10), ((0, 1), 4), ((0, 2), 7), ((0, 3), 9), ((1, 0), 8), ((1, 1), 0), ((1, 2), 70_000)];
    for (key, id) in expected {
        let shape = frames.shape(found[&key]).expect("a shape");
        assert_eq!(shape.grid_x, Some(100 * id + 1), "{key:?}");
        assert_eq!((shape.dynamic_smem_bytes, shape.grid_z), (Some(1 << 40), None));
        let is_first = shape.grid_y == Some(7);
        assert_eq!(frames.names.text(shape.name_id), if is_first { "first" } else { "second" }, "{key:?}");
        assert_eq!(frames.kernel(found[&key]).expect("a kernel").name_id, shape.name_id);
    }
    assert_eq!(frames.shape(found[&(1, 3)]), None, "nothing defines it");
    assert_eq!(frames.kernels().len(), 2, "kernels of one name are one in all files");
}
