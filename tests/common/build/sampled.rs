//! A launcher's trace: CPU samples of processes that were looked at from outside.

use super::*;

/// The time that a sample stands for.
pub const SAMPLE_NS: i64 = 10_000_000;

/// One sample.
pub struct Sampled {
    pub start: i64,
    pub pid: u32,
    pub tid: u32,
    /// Functions, outermost first.
    pub stack: &'static [&'static str],
}

/// A function that is seen by successive samples.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    pub pid: u32,
    pub tid: u32,
    pub start: i64,
    pub duration: i64,
    pub name: String,
    pub samples: u64,
}

/// What a launcher saw of process 4242, whose trace there is, and of process 5000, whose trace there is not: its
/// samples, and the functions that a timeline has to show, in order.
pub fn seen() -> (Vec<Sampled>, Vec<Seen>) {
    const MS: i64 = 1_000_000;
    let sample = |at: i64, pid, tid, stack| Sampled { start: at * MS + 100_000, pid, tid, stack };
    let samples = vec![
        sample(0, 4242, THREAD, &["main", "load"][..]),
        sample(5, 5000, 5001, &["worker"]),
        sample(10, 4242, THREAD, &["main", "load"]),
        sample(20, 4242, THREAD, &["main", "train"]),
        // Nobody knows what was in between.
        sample(100, 4242, THREAD, &["main", "train"]),
    ];
    let seen = |pid, tid, from: i64, to: i64, name: &str, samples| {
        let (start, duration) = (from * MS + 100_000, (to - from) * MS);
        Seen { pid, tid, start, duration, name: name.to_owned(), samples }
    };
    let seen = vec![
        seen(4242, THREAD, 0, 20, "load", 2),
        seen(4242, THREAD, 0, 30, "main", 3),
        seen(4242, THREAD, 20, 30, "train", 1),
        seen(4242, THREAD, 100, 110, "main", 1),
        seen(4242, THREAD, 100, 110, "train", 1),
        seen(5000, 5001, 5, 15, "worker", 1),
    ];
    (samples, seen)
}

/// The trace of the launcher.
pub fn launcher(samples: &[Sampled]) -> Vec<u8> {
    let mut file = Vec::new();
    let story = Story { pid: 4241, ..Story::empty() };
    let mut writer = NativeWriter::begin(&mut file, &story, Native { launcher: true, ..Native::default() });
    let file_id = Some(writer.string(b"/srv/train.py"));
    let (mut frames, mut stacks): (Vec<FrameRow>, Vec<StackRow>) = Default::default();
    let mut rows = Vec::new();
    for sample in samples {
        let mut stack_id = None;
        for (line, function) in (1..).zip(sample.stack) {
            let name_id = writer.string(function.as_bytes());
            // Lines differ from sample to sample, as they do in life.
            let id = frames.len() as u32 + 1;
            frames.push(FrameRow { id, name_id, file_id, line: Some(line + i64::from(id)), kind: 0 });
            let parent_id = stack_id.replace(stacks.len() as u32 + 1);
            stacks.push(StackRow { id: stacks.len() as u32 + 1, parent_id, frame_id: id });
        }
        rows.push(CpuSampleRow {
            start_ns: sample.start,
            of_pid: sample.pid,
            tid: sample.tid,
            stack_id: stack_id.unwrap_or(0),
            weight_ns: SAMPLE_NS,
            flags: 1,
        });
    }
    writer.define();
    writer.rows(frames);
    writer.rows(stacks);
    writer.rows(rows);
    writer.close();
    drop(writer);
    file
}
