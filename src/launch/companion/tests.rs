use super::*;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use trace_format::read::TraceReader;
use trace_format::tables::{self, ClockRow, NoteRow, ROLE, ROLE_LAUNCHER, SampleRow, StringRow};

struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        let path = std::env::temp_dir().join(format!("gpuprof-companion-{name}-{}", std::process::id()));
        fs::write(&path, "").unwrap();
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Pushes the number of its sample, and takes `cost` for it.
struct Counting {
    count: Arc<AtomicU64>,
    period: Duration,
    cost: Duration,
    closed: Arc<AtomicU64>,
}

impl Sampler for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }
    fn period(&self) -> Duration {
        self.period
    }
    fn sample(&mut self, _processes: &Processes, into: &Recorder) {
        let value = self.count.fetch_add(1, Ordering::SeqCst) as f64;
        into.push(SampleRow {
            start_ns: into.now_ns(),
            metric_id: into.name(b"count"),
            value,
            ..SampleRow::default()
        });
        std::thread::sleep(self.cost);
    }
    fn closing(&mut self, _processes: &Processes, into: &Recorder, missed: u64) {
        self.closed.store(missed + 1, Ordering::SeqCst);
        into.remark("it is over");
        into.remark("it is over");
    }
}

fn counting(period_ms: u64, cost_ms: u64) -> (Counting, Arc<AtomicU64>, Arc<AtomicU64>) {
    let (count, closed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (period, cost) = (Duration::from_millis(period_ms), Duration::from_millis(cost_ms));
    (Counting { count: count.clone(), period, cost, closed: closed.clone() }, count, closed)
}

fn companion(file: &File, samplers: Vec<Box<dyn Sampler>>) -> Companion {
    Companion::prepare(file.0.clone(), &["prog".into(), "arg".into()], "".into(), Limits::default(), samplers)
        .unwrap()
}

fn wait_for(what: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !what() {
        assert!(Instant::now() < deadline, "it did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn what_is_sampled_is_in_a_closed_trace_with_clocks_and_who_wrote_it() {
    let file = File::new("closed");
    let (sampler, count, closed) = counting(1, 0);
    let mut companion = companion(&file, vec![Box::new(sampler)]);
    companion.start(std::process::id());
    wait_for(|| count.load(Ordering::SeqCst) >= 5);
    let ended = companion.end();
    let taken = count.load(Ordering::SeqCst);
    assert_eq!((ended.rows, ended.samplers[0].samples), (taken, taken));
    assert_eq!(ended.samplers[0].missed + 1, closed.load(Ordering::SeqCst));
    assert_eq!(ended.remarks, ["it is over"]);

    let reader = TraceReader::open(&file.0).unwrap();
    assert!(reader.is_closed() && reader.problems().is_empty());
    let process = reader.process().unwrap();
    assert_eq!(process[ROLE], ROLE_LAUNCHER);
    assert_eq!(process["launched"][1], "arg");
    assert_eq!(process["samplers"][0]["period_ns"], 1_000_000);
    let names = reader.definitions::<StringRow>().rows;
    let id = names.iter().find(|row| row.bytes == b"count").unwrap().id;
    let samples = reader.definitions::<SampleRow>().rows;
    assert!(samples.iter().all(|row| row.metric_id == id));
    assert!(samples.iter().zip(0..).all(|(row, i)| row.value == f64::from(i)));
    assert!(samples.is_sorted_by_key(|row| row.start_ns));
    assert_eq!(reader.definitions::<NoteRow>().rows.len(), 1);
    let clocks = reader.definitions::<ClockRow>().rows;
    assert!(clocks.len() >= 2 && clocks.iter().all(|c| !c.provisional));
    assert_eq!(clocks[0].trace_ns, clocks[0].unix_ns, "times are Unix times as they are");
    let first = &samples[0];
    assert!((clocks[0].trace_ns..=clocks[clocks.len() - 1].trace_ns).contains(&first.start_ns));
    assert_eq!(reader.frames().iter().filter(|f| f.table == tables::CLOSED.id).count(), 1);
}

#[test]
fn an_unfinished_trace_is_readable_while_it_grows() {
    let file = File::new("growing");
    let (sampler, ..) = counting(1, 0);
    let mut companion = companion(&file, vec![Box::new(sampler)]);
    companion.start(std::process::id());
    wait_for(|| {
        let reader = TraceReader::open(&file.0).unwrap();
        assert!(!reader.is_closed());
        !reader.definitions::<SampleRow>().rows.is_empty()
    });
    companion.end();
}

#[test]
fn periods_that_pass_during_a_sample_are_counted_and_not_made_up() {
    let file = File::new("missed");
    let (sampler, count, _) = counting(10, 45);
    let mut companion = companion(&file, vec![Box::new(sampler)]);
    let began = Instant::now();
    companion.start(std::process::id());
    wait_for(|| count.load(Ordering::SeqCst) >= 3);
    let ended = companion.end();
    let Sampled { samples, missed, .. } = ended.samplers[0];
    // Each sample takes more than four periods.
    assert!(missed >= 3 * samples.saturating_sub(1), "{samples} samples, {missed} missed");
    let periods = began.elapsed().as_millis() / 10;
    assert!(u128::from(samples + missed) <= periods + 2, "{samples} samples, {missed} missed in {periods} periods");
}

#[test]
fn a_sampler_that_hangs_does_not_hold_up_the_end() {
    struct Hanging(Arc<AtomicU64>);
    impl Sampler for Hanging {
        fn name(&self) -> &'static str {
            "hanging"
        }
        fn period(&self) -> Duration {
            Duration::from_millis(1)
        }
        fn sample(&mut self, _processes: &Processes, _into: &Recorder) {
            self.0.store(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
    let file = File::new("hangs");
    let hangs = Arc::new(AtomicU64::new(0));
    let mut companion = companion(&file, vec![Box::new(Hanging(hangs.clone()))]);
    companion.start(std::process::id());
    wait_for(|| hangs.load(Ordering::SeqCst) == 1);
    let ended = companion.end();
    assert!(ended.remarks[0].contains("the sampler hanging did not end in time"), "{:?}", ended.remarks);
    assert!(TraceReader::open(&file.0).unwrap().is_closed());
}

#[test]
fn a_file_that_takes_no_more_is_a_remark_and_still_a_trace() {
    let file = File::new("full");
    let (sampler, count, _) = counting(1, 0);
    let limits = Limits { size_bytes: 0, min_free_percent: 101 };
    let mut companion =
        Companion::prepare(file.0.clone(), &["p".into()], "".into(), limits, vec![Box::new(sampler)]).unwrap();
    companion.start(std::process::id());
    wait_for(|| count.load(Ordering::SeqCst) >= 2);
    let ended = companion.end();
    let early = ended.remarks.iter().filter(|r| r.contains("ends early: less than 101 percent")).count();
    assert_eq!(early, 1, "{:?}", ended.remarks);
    assert!(TraceReader::open(&file.0).unwrap().process().is_some());
}

#[test]
fn a_run_that_did_not_start_leaves_no_file() {
    let file = File::new("abandoned");
    companion(&file, Vec::new()).abandon();
    assert!(!file.0.exists());
    let error = Recorder::create(Path::new("/nowhere/x.gpuprof"), Limits::default()).err().unwrap().to_string();
    assert!(error.contains("the launcher's trace cannot be written") && error.contains("-o"), "{error}");
}
