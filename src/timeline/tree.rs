//! The rows of nvvp: who did what, on which thread, on which GPU, in which context and stream.

use super::counters::Memory;
use super::field;
use super::model::{DIRECTIVE_TABLES, GPU_TABLES, Model, StoreKind};
use super::rows::{Quantity, Row, RowKind};
use crate::lines::line::migrating_device;
use crate::lines::page::{
    COPIES, DIRECTIVE_ROWS, KERNELS, RANGE_ROWS, call_row, migration_label, range_row, work_key, work_row,
};
use crate::lines::page_names::Places;
use hashbrown::HashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use trace_format::vocabulary::api_domain;

/// Kernels that have a row of their own in each context, those that took longest; the rest share one.
const KERNEL_ROWS: usize = 200;

/// All rows in the order in which they are shown, and where records are found.
#[derive(Default)]
pub struct Tree {
    /// The rows.
    pub rows: Vec<Row>,
    /// Rows of GPU work by process, device, context, and what says their kind: copies by direction, fills, graphs, kernels.
    pub work: HashMap<(u32, u32, u32, (u32, u32)), usize>,
    /// Rows of calls by process, thread and domain.
    pub calls: HashMap<(u32, u32, u32), usize>,
    /// Device rows by process and device.
    pub devices: BTreeMap<(u32, u32), usize>,
}

/// Numbers of records by what `key` says of them.
fn group<K: Copy + Eq + Hash + Ord>(
    records: impl Iterator<Item = u32>,
    key: impl Fn(usize) -> K,
) -> BTreeMap<K, Vec<u32>> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<(K, Vec<u32>)> = Vec::new();
    // Records that follow each other often belong together.
    let mut last = None;
    for record in records {
        let key = key(record as usize);
        let place = match last.filter(|(last, _)| *last == key) {
            Some((_, place)) => place,
            None => *places.entry(key).or_insert_with(|| {
                groups.push((key, Vec::new()));
                groups.len() - 1
            }),
        };
        last = Some((key, place));
        groups[place].1.push(record);
    }
    groups.into_iter().collect()
}

/// Records of one thread or device, by what else tells rows apart.
type Rows<K> = BTreeMap<K, Vec<u32>>;
/// Records by process, and by thread or device.
type ByProcess<K> = BTreeMap<u32, BTreeMap<u32, Rows<K>>>;

fn by_process<K: Copy + Eq + Hash + Ord>(
    model: &Model,
    kept: StoreKind,
    key: impl Fn(usize) -> (u32, K),
) -> ByProcess<K> {
    let store = model.store(kept);
    let mut out = ByProcess::new();
    let all = group(0..store.len() as u32, |i| (store.process.id(i, 0), key(i)));
    for ((process, (place, key)), members) in all {
        out.entry(process).or_default().entry(place).or_default().insert(key, members);
    }
    out
}

/// Records of the threads of one process.
struct Threads {
    /// Rows of calls, by their domain.
    calls: BTreeMap<u32, Rows<u32>>,
    /// Rows of ranges, by the number of the row.
    ranges: BTreeMap<u32, Rows<usize>>,
    /// Rows of directives, by the number of their table.
    directives: BTreeMap<u32, Rows<u32>>,
    /// By the process of the thread, where that has no trace.
    functions: BTreeMap<u32, Rows<Option<u64>>>,
}

impl Tree {
    /// Finds the rows of all records.
    pub(super) fn build(model: &Model, places: &Places, memory: &Memory) -> Tree {
        let mut tree = Tree::default();
        let (api, ranges) = (model.store(StoreKind::Api), model.store(StoreKind::Range));
        let (directives, uvm) = (model.store(StoreKind::Directive), model.store(StoreKind::Uvm));
        let (tid, domain) = (api.field(field::TID), api.field(field::DOMAIN));
        let mut calls = by_process(model, StoreKind::Api, |i| (tid.id(i, 0), domain.id(i, api_domain::RUNTIME)));
        let (tid, style) = (ranges.field(field::TID), ranges.field(field::STYLE));
        let mut ranges = by_process(model, StoreKind::Range, |i| (tid.id(i, 0), range_row(style.id(i, 0))));
        let (tid, table) = (directives.field(field::TID), directives.field(field::TABLE));
        let mut directives = by_process(model, StoreKind::Directive, |i| (tid.id(i, 0), table.id(i, 0)));
        let functions = model.store(StoreKind::Stack);
        let (tid, pid) = (functions.field(field::TID), functions.field(field::UNTRACED_PID));
        let mut functions = by_process(model, StoreKind::Stack, |i| (tid.id(i, 0), pid.get(i)));
        let mut overhead = by_process(model, StoreKind::Overhead, |_| (0, ()));
        let mut syncs = by_process(model, StoreKind::Sync, |_| (0, ()));
        let (to, from, kind) = (uvm.field(field::DST_DEVICE), uvm.field(field::SRC_DEVICE), uvm.field(field::KIND));
        let device = |i: usize| migrating_device(to.get(i), from.get(i)).unwrap_or(0) as u32;
        let mut migrations = by_process(model, StoreKind::Uvm, |i| (device(i), kind.id(i, 0)));
        let gpu = model.store(StoreKind::Gpu);
        let (device, context) = (gpu.field(field::DEVICE), gpu.field(field::CONTEXT));
        let mut work = by_process(model, StoreKind::Gpu, |i| (device.id(i, 0), context.id(i, 0)));

        let mut processes = BTreeSet::new();
        processes.extend(calls.keys().chain(ranges.keys()).chain(directives.keys()));
        processes.extend(functions.keys());
        processes.extend(overhead.keys().chain(syncs.keys()).chain(migrations.keys()).chain(work.keys()));
        for process in processes {
            let root = tree.push(Row::heading(RowKind::Process, None, places.process(process)));
            let threads = Threads {
                calls: take(&mut calls, process),
                ranges: take(&mut ranges, process),
                directives: take(&mut directives, process),
                functions: take(&mut functions, process),
            };
            tree.threads(process, root, places, threads);
            for ((), members) in take(&mut overhead, process).into_values().flatten() {
                tree.leaf(
                    RowKind::Overhead,
                    root,
                    "Profiling Overhead",
                    Some("overhead"),
                    StoreKind::Overhead,
                    members,
                );
            }
            for ((), members) in take(&mut syncs, process).into_values().flatten() {
                tree.leaf(RowKind::Sync, root, "Synchronization", Some("sync"), StoreKind::Sync, members);
            }
            let (mut work, mut migrations) = (take(&mut work, process), take(&mut migrations, process));
            let devices: BTreeSet<u32> = work.keys().chain(migrations.keys()).copied().collect();
            for device in devices {
                let row = tree.push(Row::heading(RowKind::Device, Some(root), places.device(process, device)));
                tree.devices.insert((process, device), row);
                for (kind, members) in migrations.remove(&device).into_iter().flatten() {
                    tree.leaf(
                        RowKind::Migration,
                        row,
                        &migration_label(kind),
                        Some("uvm"),
                        StoreKind::Uvm,
                        members,
                    );
                }
                let mut found = [false; 2];
                for (context, members) in work.remove(&device).into_iter().flatten() {
                    let table = gpu.field(field::TABLE);
                    let has = |wanted| members.iter().any(|&i| table.get(i as usize) == Some(wanted));
                    found = [found[0] || has(KERNELS), found[1] || has(COPIES)];
                    tree.context(model, places, (process, device, context), row, &members);
                }
                let quantities = [
                    (tree.rows.len() > row + 1, Quantity::Busy),
                    (found[0], Quantity::Queue),
                    (found[1], Quantity::Copies),
                    (memory.knows((process, device)), Quantity::Memory),
                ];
                for (_, quantity) in quantities.into_iter().filter(|(known, _)| *known) {
                    let counter = Row::heading(RowKind::Counter, Some(row), quantity.words().0.to_owned());
                    tree.push(Row { counter: Some(quantity), adds_up: false, ..counter });
                }
            }
        }
        tree
    }

    pub(super) fn push(&mut self, row: Row) -> usize {
        self.rows.push(row);
        self.rows.len() - 1
    }

    fn leaf(
        &mut self,
        kind: RowKind,
        parent: usize,
        label: &str,
        table: Option<&'static str>,
        kept: StoreKind,
        members: Vec<u32>,
    ) -> usize {
        let row = Row::heading(kind, Some(parent), label.to_owned());
        self.push(Row { table, kept: Some(kept), members, ..row })
    }

    fn threads(&mut self, process: u32, root: usize, places: &Places, threads: Threads) {
        let Threads { mut calls, mut ranges, mut directives, mut functions } = threads;
        let tids = calls.keys().chain(ranges.keys()).chain(directives.keys()).chain(functions.keys());
        let mut tids: Vec<u32> = tids.copied().collect();
        // The main thread first: it has the number of its process.
        tids.sort_unstable_by_key(|&tid| (places.pid(process) != Some(tid), tid));
        tids.dedup();
        for tid in tids {
            let functions = functions.remove(&tid).unwrap_or_default();
            let untraced = functions.keys().copied().flatten().next();
            let of = untraced.map(|pid| format!(" of process {pid}")).unwrap_or_default();
            let label = format!("{}{of}", places.thread(process, tid));
            let thread = self.push(Row::heading(RowKind::Thread, Some(root), label));
            for (domain, members) in calls.remove(&tid).into_iter().flatten() {
                let (kind, label, table) = call_row(domain);
                let row = self.leaf(kind, thread, label, Some(table), StoreKind::Api, members);
                self.calls.insert((process, tid, domain), row);
            }
            for (row, members) in ranges.remove(&tid).into_iter().flatten() {
                let (kind, label) = RANGE_ROWS[row];
                self.leaf(kind, thread, label, Some("range"), StoreKind::Range, members);
            }
            for (table, members) in directives.remove(&tid).into_iter().flatten() {
                let label = DIRECTIVE_ROWS[table as usize % DIRECTIVE_ROWS.len()];
                let table = DIRECTIVE_TABLES[table as usize % 2].name;
                self.leaf(RowKind::Directives, thread, label, Some(table), StoreKind::Directive, members);
            }
            for members in functions.into_values() {
                self.leaf(
                    RowKind::Functions,
                    thread,
                    "CPU samples",
                    Some("sampled_function"),
                    StoreKind::Stack,
                    members,
                );
            }
        }
    }

    fn context(
        &mut self,
        model: &Model,
        places: &Places,
        (process, device, context): (u32, u32, u32),
        parent: usize,
        members: &[u32],
    ) {
        let gpu = model.store(StoreKind::Gpu);
        let root = self.push(Row::heading(RowKind::Context, Some(parent), places.context(process, context)));
        let (table, kind, stream) = (gpu.field(field::TABLE), gpu.field(field::KIND), gpu.field(field::STREAM));
        let order = |i: usize| work_key(table.get(i), kind.id(i, 0));
        for ((place, direction), members) in group(members.iter().copied(), order) {
            let name = GPU_TABLES[[1, 2, 3, 0][place as usize]].name;
            let (kind, label) = work_row((place, direction));
            let names = (place == 3).then(|| kernel_rows(model, &members));
            let row = self.leaf(kind, root, &label, Some(name), StoreKind::Gpu, members);
            self.work.insert((process, device, context, (place, direction)), row);
            for (label, members) in names.into_iter().flatten() {
                let kernel = self.leaf(RowKind::Kernel, row, &label, None, StoreKind::Gpu, members);
                self.rows[kernel].adds_up = false;
            }
        }
        let streams = self.push(Row::heading(RowKind::Streams, Some(root), "Streams".to_owned()));
        self.rows[streams].adds_up = false;
        for (stream, members) in group(members.iter().copied(), |i| stream.id(i, 0)) {
            let label = places.stream(process, context, stream);
            self.leaf(RowKind::Stream, streams, &label, None, StoreKind::Gpu, members);
        }
    }
}

fn take<K>(groups: &mut ByProcess<K>, process: u32) -> BTreeMap<u32, Rows<K>> {
    groups.remove(&process).unwrap_or_default()
}

/// Kernels by name, the longest in total first; what is beyond the limit in one.
fn kernel_rows(model: &Model, members: &[u32]) -> Vec<(String, Vec<u32>)> {
    let gpu = model.store(StoreKind::Gpu);
    let total = |members: &[u32]| -> u128 {
        members.iter().map(|&i| u128::from(gpu.duration_ns.get(i as usize).unwrap_or(0))).sum()
    };
    let by_name = group(members.iter().copied(), |i| gpu.name.id(i, 0));
    let mut rows: Vec<(u128, &str, Vec<u32>)> =
        by_name.into_iter().map(|(name, members)| (total(&members), model.names.get(name), members)).collect();
    rows.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let rest: Vec<_> = rows.drain(rows.len().min(KERNEL_ROWS)..).collect();
    let mut out: Vec<(String, Vec<u32>)> = rows
        .into_iter()
        .map(|(_, name, members)| (if name.is_empty() { "(no name)" } else { name }.to_owned(), members))
        .collect();
    if !rest.is_empty() {
        let label = format!("{} other kernels", rest.len());
        let mut members: Vec<u32> = rest.into_iter().flat_map(|(.., members)| members).collect();
        members.sort_unstable();
        out.push((label, members));
    }
    out
}
