//! Metrics that were sampled of whole GPUs (`--gpu-metrics-devices`): how busy the multiprocessors, the memory and the
//! links were, tens of them thousands of times a second.

use super::{Reader, pid};
use crate::demangle::readable;
use crate::trace::sink::ProcessIx;
use hashbrown::HashMap;
use trace_format::tables::SampleRow;

/// The samples.
const SAMPLES: &str = "GPU_METRICS";

/// Samples that are kept at most, in some 120 MB: a minute of 60 metrics at 10 kHz is 36 million. Of more, so many
/// neighbours become one mean.
const MOST_KEPT: u64 = 4_000_000;

/// Whose metrics the samples of one GPU are.
#[derive(Clone, Copy)]
struct SampledGpu {
    process: ProcessIx,
    device: u32,
}

/// Neighbouring samples of one metric.
#[derive(Default)]
struct Mean {
    start_ns: i64,
    sum: f64,
    samples: u64,
}

/// A GPU by its number in the samples, and a metric.
type Key = (i64, u32);

/// Makes one sample of so many neighbours.
struct Means {
    together: u64,
    open: HashMap<Key, Mean>,
}

impl Means {
    /// Of so many rows no more than `most_kept` samples.
    fn of(rows: u64, most_kept: u64) -> Means {
        Means { together: rows.div_ceil(most_kept).max(1), open: HashMap::new() }
    }

    /// Adds a sample; gives start and mean once there are enough.
    fn add(&mut self, key: Key, start_ns: i64, value: f64) -> Option<(i64, f64)> {
        let mean = self.open.entry(key).or_default();
        if mean.samples == 0 {
            mean.start_ns = start_ns;
        }
        mean.sum += value;
        mean.samples += 1;
        let full = mean.samples >= self.together;
        full.then(|| std::mem::take(mean)).map(|mean| (mean.start_ns, mean.sum / mean.samples as f64))
    }

    /// What has too few neighbours at its end.
    fn rest(self) -> Vec<(Key, i64, f64)> {
        let open = self.open.into_iter().filter(|(_, mean)| mean.samples > 0);
        let mut rest: Vec<_> =
            open.map(|(key, mean)| (key, mean.start_ns, mean.sum / mean.samples as f64)).collect();
        rest.sort_unstable_by_key(|&(key, ..)| key);
        rest
    }
}

/// Reads the samples; all processes are known by then.
pub(super) fn read(r: &mut Reader) {
    let names = names(r);
    let Some(mut scan) = r.scan(SAMPLES) else { return };
    let [time, kind, metric, value] = ["timestamp", "typeId", "metricId", "value"].map(|name| scan.col(name));
    let mut metric_ids: HashMap<(i64, i64), u32> = HashMap::new();
    let mut places: HashMap<i64, SampledGpu> = HashMap::new();
    let mut means = Means::of(rows(r), MOST_KEPT);
    let together = means.together;
    let (mut read, mut kept) = (0_u64, 0_u64);
    let tally = scan.run(|row| {
        let (Some(start_ns), Some(value)) = (row.int(time), row.real(value)) else { return false };
        let (kind, metric) = (row.int(kind).unwrap_or(0), row.int(metric).unwrap_or(0));
        let metric_id = *metric_ids.entry((kind, metric)).or_insert_with(|| match names.get(&(kind, metric)) {
            Some(name) => r.sink.name(name),
            None => r.sink.name(format!("metric {metric}").as_bytes()),
        });
        let gpu = kind & 0xFF;
        let place = match places.get(&gpu) {
            Some(&known) => known,
            None => {
                let place = place(r, gpu);
                places.insert(gpu, place);
                place
            }
        };
        read += 1;
        if let Some(mean) = means.add((gpu, metric_id), start_ns, value) {
            kept += 1;
            push(r, place, metric_id, mean);
        }
        true
    });
    r.close(tally);
    for ((gpu, metric_id), start_ns, value) in means.rest() {
        kept += 1;
        push(r, places[&gpu], metric_id, (start_ns, value));
    }
    if together > 1 {
        let path = r.path.display();
        r.sink.note(
            "averaged-samples",
            format!("{path}: {read} samples of GPU metrics are too many to be kept: the mean of every {together} neighbours of one metric stands for them, which makes {kept}"),
        );
    }
}

fn push(r: &mut Reader, place: SampledGpu, metric_id: u32, (start_ns, value): (i64, f64)) {
    let row = SampleRow { start_ns, metric_id, device: Some(place.device), value, of_pid: None };
    r.sink.push(place.process, row);
}

/// No fewer rows than the table has: counting them would read all of it.
fn rows(r: &Reader) -> u64 {
    let table = r.tables.find(SAMPLES).unwrap_or(SAMPLES);
    let one = |what: &str| {
        let sql = format!("SELECT {what} FROM \"{table}\"");
        r.db.query_row(&sql, [], |row| row.get::<_, Option<i64>>(0)).ok().flatten()
    };
    let last = one("max(rowid) - min(rowid) + 1");
    last.or_else(|| one("count(*)")).map_or(0, |rows| rows.max(0) as u64)
}

/// Names with their units, by type and number; numbers mean different metrics on different kinds of GPU.
fn names(r: &mut Reader) -> HashMap<(i64, i64), Vec<u8>> {
    let mut names = HashMap::new();
    let Some(mut scan) = r.scan("TARGET_INFO_GPU_METRICS") else { return names };
    let [kind, metric, name] = ["typeId", "metricId", "metricName"].map(|name| scan.col(name));
    let tally = scan.run(|row| {
        let (Some(metric), Some(name)) = (row.int(metric), row.bytes(name)) else { return false };
        names.insert((row.int(kind).unwrap_or(0), metric), readable(name).trim().as_bytes().to_vec());
        true
    });
    r.close(tally);
    names
}

/// The process that sees the GPU with this number of nsys's, and CUDA's number of it there. Where the file does not say,
/// the first process, and nsys's number as everywhere.
fn place(r: &mut Reader, sampled: i64) -> SampledGpu {
    let gpu = gpu_id(r, sampled);
    let processes = processes(r);
    let process = processes.first().map(|&(_, index)| index).unwrap_or_else(|| r.process(None));
    let mut place = SampledGpu { process, device: gpu as u32 };
    let Some(mut scan) = r.scan("TARGET_INFO_CUDA_DEVICE") else { return place };
    let [id, cuda, owner] = ["gpuId", "cudaId", "pid"].map(|name| scan.col(name));
    let mut found = false;
    let tally = scan.run(|row| {
        let sees = |(global, _): &&(i64, ProcessIx)| row.id(owner).is_some() && pid(*global) == row.id(owner);
        if let (false, true, Some(device)) = (found, row.int(id) == Some(gpu), row.id(cuda))
            && let Some(&(_, process)) = processes.iter().find(sees)
        {
            (found, place) = (true, SampledGpu { process, device });
        }
        true
    });
    r.close(tally);
    place
}

/// All processes that used a GPU, whatever else is read: samples are always of the same one.
fn processes(r: &mut Reader) -> Vec<(i64, ProcessIx)> {
    for table in ["CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY"] {
        let Some(mut scan) = r.scan(table) else { continue };
        scan.distinct();
        let process = scan.col("globalPid");
        let tally = scan.run(|row| {
            r.process(row.int(process));
            true
        });
        r.close(tally);
    }
    let mut processes: Vec<_> = r.processes.iter().map(|(&global, &index)| (global, index)).collect();
    processes.sort_unstable_by_key(|&(global, _)| global);
    processes
}

/// nsys's number of a GPU, from the one that samples of its metrics have.
fn gpu_id(r: &mut Reader, sampled: i64) -> i64 {
    let Some(mut scan) = r.scan("TARGET_INFO_GPU") else { return sampled };
    let [id, own] = ["id", "pwGpuId"].map(|name| scan.col(name));
    let mut found = None;
    let tally = scan.run(|row| {
        found = found.or(row.int(id).filter(|_| row.int(own) == Some(sampled)));
        true
    });
    r.close(tally);
    found.unwrap_or(sampled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_neighbours_become_one_that_no_more_than_the_most_are_kept() {
        let mut all = Means::of(8, 8);
        assert_eq!(all.add((0, 1), 5, 2.5), Some((5, 2.5)));
        assert!(all.rest().is_empty());
        let mut means = Means::of(10, 4);
        assert_eq!(means.together, 3);
        let added: Vec<_> = (0..8).map(|i| means.add((i % 2, 1), i, (i * i) as f64)).collect();
        let mut expected = vec![None; 8];
        expected[4] = Some((0, (0.0 + 4.0 + 16.0) / 3.0));
        expected[5] = Some((1, (1.0 + 9.0 + 25.0) / 3.0));
        assert_eq!(added, expected);
        assert_eq!(means.rest(), [((0, 1), 6, 36.0), ((1, 1), 7, 49.0)]);
    }
}
