//! What a ring and its dumps hold.

use super::*;

/// The segments of a ring or a dump, oldest first.
pub struct Segments(pub Vec<Trace>);

impl Segments {
    pub fn in_folder(folder: &Path) -> Segments {
        let mut paths: Vec<PathBuf> = folder
            .read_dir()
            .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
            .map(|e| e.unwrap().path())
            .collect();
        paths.retain(|path| path.extension().is_some_and(|e| e == "gpuprof"));
        paths.sort();
        assert!(!paths.is_empty(), "{}", folder.display());
        let segments = Segments(paths.iter().map(|path| Trace::open(path)).collect());
        let numbers: Vec<u32> = segments.0.iter().map(|t| t.reader.header().segment.expect("a number")).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
        let runs: BTreeSet<_> = segments.0.iter().map(|t| t.reader.header().run.clone()).collect();
        assert!(runs.len() == 1 && !runs.contains(&None), "one run");
        segments
    }

    pub fn rows<T: trace_format::schema::Row>(&self) -> Vec<T> {
        self.0.iter().flat_map(Trace::rows::<T>).collect()
    }

    pub fn kernels(&self) -> Vec<KernelRow> {
        self.rows()
    }

    /// Rows of a table before the first segment.
    pub fn before(&self, table: &str) -> u64 {
        self.0[0].reader.header().rows_before.get(table).map_or(0, |rows| rows.as_u64().expect("a number"))
    }

    /// Records before the first segment: rows of activity, ranges apart.
    pub fn records_before(&self) -> u64 {
        let tables = ALL.iter().filter(|t| t.role == Role::Activity && t.name != "range");
        tables.map(|t| self.before(t.name)).sum()
    }

    /// Records in the segments, likewise.
    pub fn records(&self) -> u64 {
        let is_record =
            |table: u16| ALL.iter().any(|t| t.id == table && t.role == Role::Activity && t.name != "range");
        let frames = self.0.iter().flat_map(|t| t.reader.frames()).filter(|f| !f.is_repeat() && is_record(f.table));
        frames.map(|frame| u64::from(frame.rows)).sum()
    }

    /// Times and texts of notes about dumps.
    pub fn notes(&self) -> Vec<(i64, String)> {
        let mut notes = Vec::new();
        for trace in &self.0 {
            for note in trace.rows::<NoteRow>() {
                let text = trace.text(note.text_id);
                notes.extend(text.starts_with("dump ").then_some((note.start_ns.expect("a time"), text)));
            }
        }
        notes
    }

    /// Every segment alone says what its kernels and calls are called, and when it was.
    pub fn check_alone(&self) {
        for trace in &self.0 {
            let strings: BTreeSet<u32> =
                trace.reader.definitions::<StringRow>().rows.iter().map(|r| r.id).collect();
            let shapes = trace.reader.definitions::<ShapeRow>().rows;
            assert!(shapes.iter().all(|shape| strings.contains(&shape.name_id)), "{}", trace.path.display());
            let shapes: BTreeSet<u32> = shapes.iter().map(|r| r.id).collect();
            assert!(trace.kernels().iter().all(|k| shapes.contains(&k.shape_id)), "{}", trace.path.display());
            assert!(
                trace.rows::<ApiRow>().iter().all(|c| strings.contains(&c.name_id)),
                "{}",
                trace.path.display()
            );
            assert!(trace.process()["pid"].is_u64() && trace.reader.verify().unwrap().is_empty());
            assert!(!trace.reader.definitions::<ClockRow>().rows.is_empty(), "{}: no clock", trace.path.display());
        }
    }
}

pub fn end_ns(kernel: &KernelRow) -> i64 {
    kernel.start_ns + kernel.duration_ns.unwrap_or(0)
}

/// The folders of a run with that part of their name. A dump that is being made is hidden until it is whole.
pub fn folders(out: &Path, part: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = out.read_dir().into_iter().flatten().flatten().map(|e| e.path()).collect();
    let is_meant = |name: &str| !name.starts_with('.') && name.contains(part);
    found.retain(|path| path.is_dir() && path.file_name().is_some_and(|n| is_meant(&n.to_string_lossy())));
    found.sort();
    found
}

pub fn ring(out: &Path) -> Segments {
    let rings = folders(out, ".ring");
    assert_eq!(rings.len(), 1, "{rings:?}");
    Segments::in_folder(&rings[0])
}

/// What a run that ended in order must have left: nothing is unaccounted for, by the writer's books and by ours.
pub fn closed_ring(ended: &Ended, out: &Path) -> Segments {
    assert_eq!(ended.totals().violations, 0, "{}", ended.stderr);
    let ring = ring(out);
    let last = ring.0.last().expect("a segment");
    assert!(last.reader.is_closed(), "{}", ended.stderr);
    let [delivered, written, excluded, lost, dropped] =
        ["delivered", "written", "excluded", "lost", "dropped_by_ring"].map(|name| last.total(name));
    assert_eq!(delivered, written + excluded + lost + dropped);
    let truth: Totals = ended.totals();
    assert_eq!(delivered - last.total("dropped_by_cupti"), truth.delivered);
    assert_eq!(ring.records_before(), dropped, "what the segments say is what the books say");
    // Records that define devices, contexts, streams and their names are not dropped.
    let defining: u64 = [8, 9, 11, 37].map(|kind| truth.delivered_of(kind)).iter().sum();
    assert_eq!(ring.records() + defining, written, "{lost} lost");
    ring.check_alone();
    ring
}

pub fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_there() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what} did not come");
        std::thread::sleep(Duration::from_millis(3));
    }
}

/// Sends the signal that asks for a dump, and waits for it.
pub fn dump(running: &Running, number: usize) -> PathBuf {
    running.signal("USR2");
    wait_for("the dump", || folders(&running.out(), ".dump-").len() >= number);
    folders(&running.out(), ".dump-").remove(number - 1)
}

pub fn ringed<'s>(run: Run<'s>, limit: &str) -> Run<'s> {
    run.env("GPUPROF_RING", limit).env("GPUPROF_DUMP_SIGNAL", "USR2").env("GPUPROF_FLUSH_MS", "100").inject()
}

pub fn bytes_in(folder: &Path) -> u64 {
    let files = folder.read_dir().into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|m| m.len()).sum()
}

/// Launches at that pace into a ring in memory, watched; prints what was seen. Returns peaks of disk and of memory.
pub fn watched(launches: u64, per_second: u64, limit: &str, most: Duration) -> (u64, u64) {
    let sim = Sim::new("13.0");
    let folder = Path::new("/dev/shm").join(format!("gpuprof-ring-{}-{launches}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder in memory");
    let run = sim.player("burst").args([launches.to_string(), "1".into(), per_second.to_string()]);
    let run = run.env("GPUPROF_OUTPUT", folder.join("t.gpuprof")).env("GPUPROF_RING", limit);
    let running = run.inject().timeout(most).start();
    let mut peak = 0;
    let pid = running.pid();
    let alive = || {
        Path::new(&format!("/proc/{pid}/stat")).exists() && {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !stat.contains(") Z ")
        }
    };
    while alive() {
        peak = peak.max(bytes_in(&folder.join("t.ring")));
        std::thread::sleep(Duration::from_millis(5));
    }
    let ended = running.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    let ring = closed_ring(&ended, &folder);
    let kernels = ring.kernels();
    let span_ns =
        kernels.iter().map(end_ns).max().unwrap_or(0) - kernels.iter().map(|k| k.start_ns).min().unwrap_or(0);
    let last = ring.0.last().expect("a segment");
    let rss = ended.number("rss_bytes");
    println!(
        "simulated: {} records in {:.1} s ({:.0} a second), ring {limit}: {:.1} MiB on disk at most, {} records of the last \
         {:.2} s held, {} dropped by the ring, {} lost, RSS at most {:.1} MiB",
        ended.totals().generated,
        ended.number("ns") as f64 / 1e9,
        ended.totals().generated as f64 * 1e9 / ended.number("ns") as f64,
        peak as f64 / 1048576.0,
        ring.records(),
        span_ns as f64 / 1e9,
        last.total("dropped_by_ring"),
        last.total("lost"),
        rss as f64 / 1048576.0,
    );
    let _ = std::fs::remove_dir_all(folder);
    (peak, rss)
}
