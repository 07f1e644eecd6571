//! What every test of the collector uses: the simulator's harness, and the laws that hold for every trace.
#![allow(dead_code, missing_docs, reason = "each test binary uses some of it")]

#[path = "../../../common/sim.rs"]
pub mod sim;
#[path = "../../../common/skips.rs"]
pub mod skips;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use sim::{Ended, Run, Totals};
use trace_format::read::TraceReader;
use trace_format::schema::Row;
use trace_format::tables::*;

/// A trace, read whole.
pub struct Trace {
    pub path: PathBuf,
    pub reader: TraceReader<File>,
}

impl Trace {
    pub fn open(path: &Path) -> Trace {
        let reader = TraceReader::open(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(reader.problems().is_empty(), "{}: {:?}", path.display(), reader.problems());
        Trace { path: path.to_owned(), reader }
    }

    /// All rows of one table.
    pub fn rows<T: Row>(&self) -> Vec<T> {
        let mut rows = Vec::new();
        for frame in self.reader.frames() {
            if frame.table == T::TABLE.id && !frame.is_repeat() {
                let batch = self.reader.read_batch(frame, None).expect("a whole frame");
                rows.extend((0..batch.rows).map(|i| T::from_batch(&batch, i)));
            }
        }
        rows
    }

    pub fn kernels(&self) -> Vec<KernelRow> {
        self.rows()
    }

    /// Newest process object.
    pub fn process(&self) -> Value {
        self.reader.process().expect("table process")
    }

    pub fn pid(&self) -> u32 {
        self.process()["pid"].as_u64().expect("a pid") as u32
    }

    /// A number of the writer's totals; the trace must be closed.
    pub fn total(&self, name: &str) -> u64 {
        let closed = self.reader.closed_totals().unwrap_or_else(|| panic!("{}: not closed", self.path.display()));
        closed["writer_totals"][name].as_u64().unwrap_or_else(|| panic!("no {name} in {closed}"))
    }

    /// The text of a string id.
    pub fn text(&self, id: u32) -> String {
        let strings: Vec<StringRow> = self.rows();
        let found = strings.into_iter().find(|row| row.id == id);
        String::from_utf8_lossy(&found.unwrap_or_else(|| panic!("string {id} is missing")).bytes).into_owned()
    }

    /// Names of all kernels that ran, each with how often.
    pub fn kernel_names(&self) -> std::collections::BTreeMap<String, usize> {
        let strings: std::collections::HashMap<u32, String> = self
            .rows::<StringRow>()
            .into_iter()
            .map(|row| (row.id, String::from_utf8_lossy(&row.bytes).into_owned()))
            .collect();
        let shapes: std::collections::HashMap<u32, u32> =
            self.rows::<ShapeRow>().into_iter().map(|row| (row.id, row.name_id)).collect();
        let mut names = std::collections::BTreeMap::new();
        for kernel in self.kernels() {
            let name = shapes.get(&kernel.shape_id).and_then(|id| strings.get(id));
            *names.entry(name.cloned().unwrap_or_default()).or_default() += 1;
        }
        names
    }

    pub fn losses(&self) -> Vec<LossRow> {
        self.rows()
    }

    /// Rows that stand for a record of CUPTI.
    pub fn rows_of_cupti(&self) -> u64 {
        let ours = [
            "process",
            "thread",
            "string",
            "shape",
            "range",
            "capture",
            "loss",
            "clock",
            "note",
            "sample",
            "index",
            "closed",
            "frame",
            "stack",
            "cpu_sample",
            "launch_stack",
        ];
        let frames = self.reader.frames().iter().filter(|frame| !frame.is_repeat());
        let of_cupti = frames.filter(|frame| {
            let name = trace_format::tables::ALL.iter().find(|t| t.id == frame.table).map_or("", |t| t.name);
            !ours.contains(&name)
        });
        of_cupti.map(|frame| u64::from(frame.rows)).sum()
    }
}

/// What must hold for every trace of every run, whatever the program did: it opens, every prefix of it opens, nothing
/// that CUPTI delivered is unaccounted for, and the simulator saw nothing that real CUPTI would crash on.
pub fn laws(ended: &Ended) -> Vec<Trace> {
    assert_eq!(ended.totals().violations, 0, "CUPTI was misused: {}", ended.stderr);
    assert!(!ended.stderr.contains("internal error"), "{}", ended.stderr);
    let traces: Vec<Trace> = ended.traces().iter().map(|path| Trace::open(path)).collect();
    for trace in &traces {
        accounts(trace, &ended.processes);
        prefixes(&trace.path);
    }
    traces
}

/// The laws, for a run that leaves exactly one trace, closed.
pub fn one(ended: &Ended) -> Trace {
    let mut traces = laws(ended);
    assert_eq!(traces.len(), 1, "{:?}\n{}", ended.files(), ended.stderr);
    let trace = traces.remove(0);
    assert!(trace.reader.is_closed(), "{}", ended.stderr);
    trace
}

/// delivered = written + excluded + lost, by the writer's own account and by the simulator's.
fn accounts(trace: &Trace, processes: &[Totals]) {
    if !trace.reader.is_closed() {
        return;
    }
    let [delivered, written, excluded, lost] = ["delivered", "written", "excluded", "lost"].map(|n| trace.total(n));
    let dropped = trace.total("dropped_by_cupti");
    // Records of calls that the collector makes itself; nothing where it makes none.
    let heard = trace.reader.closed_totals().expect("closed")["writer_totals"]["heard"].as_u64().unwrap_or(0);
    assert_eq!(delivered, written + excluded + lost, "{}", trace.path.display());
    let pid = trace.pid();
    if let Some(truth) = processes.iter().find(|p| p.pid == pid)
        && truth.intruded == 0
    {
        assert_eq!(
            delivered - dropped - heard,
            truth.delivered,
            "records that CUPTI handed over, {}",
            trace.path.display()
        );
        assert_eq!(dropped, truth.dropped, "records that CUPTI dropped, {}", trace.path.display());
    }
    // What was written and what was lost is in the file too, not only in the totals.
    assert_eq!(trace.rows_of_cupti(), written, "rows in {}", trace.path.display());
    let rows: i64 = trace.losses().iter().map(|l| l.rows).sum();
    assert_eq!(rows as u64, lost, "{:?}", trace.losses());
}

/// Every prefix of a trace is a trace: tried at every border of frames, and around it.
fn prefixes(path: &Path) {
    let bytes = std::fs::read(path).expect("the trace");
    let whole = TraceReader::open(path).expect("the trace");
    let header = whole.frames().first().map_or(bytes.len() as u64, |f| f.offset);
    let ends: Vec<u64> = whole.frames().iter().map(|f| f.end()).collect();
    let step = ends.len().div_ceil(40).max(1);
    for end in std::iter::once(&header).chain(ends.iter().step_by(step)) {
        for cut in [*end, end + 1, end + 63] {
            let cut = (cut as usize).min(bytes.len());
            let prefix = TraceReader::new(&bytes[..cut]).unwrap_or_else(|e| panic!("cut at {cut}: {e}"));
            assert!(prefix.problems().is_empty(), "cut at {cut}: {:?}", prefix.problems());
            let expected = ends.iter().filter(|e| **e <= cut as u64).count();
            assert_eq!(prefix.frames().len(), expected, "cut at {cut}");
        }
    }
}

/// Runs `body` for every item, several at a time. A failure of one fails the test after all are done.
pub fn in_parallel<T: Send>(items: impl IntoIterator<Item = T>, at_once: usize, body: impl Fn(T) + Sync) {
    let items = std::sync::Mutex::new(items.into_iter().collect::<Vec<T>>().into_iter());
    let next = || items.lock().unwrap_or_else(std::sync::PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(item) = next() {
                    body(item);
                }
            });
        }
    });
}

/// The lines on standard error that are ours.
pub fn said(ended: &Ended) -> Vec<&str> {
    ended.stderr.lines().filter(|line| line.contains("gpuprof")).collect()
}

/// The program's own output and its end are those of a run without us.
pub fn same_end(bare: &Ended, ended: &Ended, what: &str) {
    assert_eq!(bare.status, ended.status, "{what}\n{}{}", ended.stdout, ended.stderr);
    assert_eq!(bare.stdout, ended.stdout, "{what}\n{}", ended.stderr);
    let rest: Vec<&str> = ended.stderr.lines().filter(|line| !line.contains("gpuprof")).collect();
    assert_eq!(bare.stderr.lines().collect::<Vec<_>>(), rest, "{what}");
}

/// Runs what `run` makes until it ends less than `bound` later than the bare run, three times at most. A busy machine keeps a
/// program waiting now and then; what waits for us does so every time.
pub fn in_time<'s>(
    bare: &Ended,
    bound: impl Fn(&Ended) -> Duration,
    what: &str,
    run: impl Fn() -> Run<'s>,
) -> Ended {
    let mut all = Vec::new();
    loop {
        let ended = run().run();
        let (late, bound) = (ended.duration.saturating_sub(bare.duration), bound(&ended));
        if late < bound {
            return ended;
        }
        all.push(late);
        assert!(all.len() < 3, "{what}: {all:?} later, {bound:?} allowed\n{}", ended.stderr);
    }
}

/// A C program or library of a test's own. `flags` are those of the compiler.
pub fn compiled(name: &str, source: &str, flags: &[&str]) -> PathBuf {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("c-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (text, out) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&text, source).expect("the source");
    let mut cc = std::process::Command::new("cc");
    cc.args(["-O1", "-g", "-Wall", "-o"]).arg(&out).arg(&text).args(flags);
    let done = cc.output().expect("cc, the C compiler");
    assert!(done.status.success(), "{cc:?}: {}", String::from_utf8_lossy(&done.stderr));
    out
}
