//! The activities of one process, and what each depends on.

use super::Kind;
use crate::analysis::activity::{ActivityKind, ApiCall, GpuActivity};
use crate::analysis::in_time::WorkKind;
use crate::analysis::labels::Labels;
use crate::analysis::listing;
use crate::analysis::work_class::{Class, CommunicationKernels};
use crate::cupti::operation;
use crate::error::Result;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use trace_format::tables;
use trace_format::tables::column::{event, sync};
use trace_format::vocabulary::sync_kind::{EVENT, STREAM, STREAM_WAIT_EVENT};

/// A call of the program's, of the runtime or the driver. Calls inside other calls are not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub start_ns: i64,
    pub end_ns: i64,
    pub tid: u32,
    pub name: usize,
    /// The work that it waits for.
    pub awaits: Option<usize>,
}

/// Work on the GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    pub start_ns: i64,
    pub end_ns: i64,
    pub name: usize,
    /// The call that launched it.
    pub launch: Option<usize>,
    /// The work before it in its stream.
    pub before: Option<usize>,
    /// Work of another stream that its stream was told to wait for.
    pub awaits: Option<usize>,
    /// How long that held it back.
    pub held_back_ns: i64,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Graph {
    pub names: Vec<String>,
    /// What each of `names` is the name of.
    pub kinds: Vec<Kind>,
    /// Calls, ordered by their start.
    pub calls: Vec<Call>,
    /// Work of the GPU, ordered by its start.
    pub work: Vec<Work>,
    /// Calls of each thread, by start.
    pub threads: Vec<Vec<usize>>,
    /// Which of `threads` a call is in, and where.
    pub place: Vec<(usize, usize)>,
}

/// A context, or a stream in it.
type Scope = (u32, Option<u32>);

/// The work of each scope in order of launch, each with the one of it and its predecessors that ends last.
#[derive(Default)]
struct Launched(HashMap<Scope, Vec<(i64, usize)>>);

impl Launched {
    fn new(work: &[Work], places: &[(u32, u32)], launched_ns: &[i64]) -> Launched {
        let mut order: Vec<usize> = (0..work.len()).collect();
        order.sort_by_key(|&i| (launched_ns[i], i));
        let mut scopes: HashMap<Scope, Vec<(i64, usize)>> = HashMap::new();
        for i in order {
            let (context, stream) = places[i];
            for scope in [(context, None), (context, Some(stream))] {
                let list = scopes.entry(scope).or_default();
                let last = list.last().map(|&(_, last)| last).filter(|&last| work[last].end_ns >= work[i].end_ns);
                list.push((launched_ns[i], last.unwrap_or(i)));
            }
        }
        Launched(scopes)
    }

    /// Of what was launched there before a time: the work that ends last.
    fn before(&self, scope: Scope, at_ns: i64) -> Option<usize> {
        let list = self.0.get(&scope)?;
        let count = list.partition_point(|&(launched, _)| launched < at_ns);
        Some(list[count.checked_sub(1)?].1)
    }
}

/// A row of table `sync`.
struct Sync {
    kind: u32,
    context: u32,
    stream: Option<u32>,
    event: Option<u32>,
}

/// A record of an event: when it was asked for, and where.
struct Recorded {
    call_ns: i64,
    context: u32,
    stream: Option<u32>,
}

impl Graph {
    /// Reads one process.
    pub fn read(labels: &Labels, filter: &Filter) -> Result<Graph> {
        let frames = labels.frames();
        let mut names = Names::default();
        let mut communication = CommunicationKernels::new(labels);
        let calls = outermost(listing::api_calls(frames, filter)?);
        let gpu = listing::gpu_activities(frames, filter, false)?;
        let mut by_correlation = HashMap::with_capacity(calls.len());
        for (i, call) in calls.iter().enumerate() {
            for &id in &call.correlations {
                by_correlation.entry(id).or_insert(i);
            }
        }
        let gpu: Vec<&GpuActivity> = gpu.iter().filter(|work| work.duration_ns.is_some()).collect();
        let mut work: Vec<Work> = gpu
            .iter()
            .map(|row| Work {
                start_ns: row.start_ns,
                end_ns: row.start_ns.saturating_add(row.duration_ns.unwrap_or(0)),
                name: names.index(name_of(row, labels), Kind::Work(class_of(row, &mut communication))),
                launch: by_correlation.get(&row.correlation).copied().filter(|_| row.correlation != 0),
                before: None,
                awaits: None,
                held_back_ns: 0,
            })
            .collect();
        let places: Vec<(u32, u32)> = gpu.iter().map(|row| (row.context, row.stream)).collect();
        let launched_ns: Vec<i64> =
            work.iter().map(|w| w.launch.map_or(w.start_ns, |call| calls[call].start_ns)).collect();
        let launched = Launched::new(&work, &places, &launched_ns);
        link_streams(&mut work, &places);

        let syncs = syncs(labels, filter)?;
        let events = recorded_events(labels, filter, &calls, &by_correlation)?;
        let own_work = own_work(&work, &calls);
        let mut graph = Graph::default();
        let mut stream_waits: HashMap<(u32, u32), Vec<(i64, usize)>> = HashMap::new();
        for (i, call) in calls.iter().enumerate() {
            let name = labels.api(call.name);
            let sync = call.correlations.iter().find_map(|id| syncs.get(id));
            if let Some(sync) = sync.filter(|sync| sync.kind == STREAM_WAIT_EVENT) {
                let awaited = sync.event.and_then(|event| awaited_event(&events, event, call.start_ns, &launched));
                if let (Some(awaited), Some(stream)) = (awaited, sync.stream) {
                    stream_waits.entry((sync.context, stream)).or_default().push((call.start_ns, awaited));
                }
            }
            let awaits = match sync {
                Some(sync) if sync.kind == STREAM_WAIT_EVENT => None,
                Some(sync) => awaited(sync, call.start_ns, &events, &launched),
                None if waits_for_everything(name) => {
                    let all = launched.0.keys().filter(|(_, stream)| stream.is_none());
                    let ends = all.filter_map(|&scope| launched.before(scope, call.start_ns));
                    ends.max_by_key(|&w| (work[w].end_ns, w))
                }
                None => None,
            };
            let own = || own_work[i].filter(|_| copies_back(name));
            graph.calls.push(Call {
                start_ns: call.start_ns,
                end_ns: call.end_ns,
                tid: call.tid,
                name: names.index(name, Kind::Call),
                awaits: awaits.or_else(own),
            });
        }
        hold_back(&mut work, &places, &launched_ns, &stream_waits);
        graph.work = work;
        (graph.names, graph.kinds) = (names.list, names.kinds);
        graph.index_threads();
        Ok(graph)
    }

    /// Fills `threads` and `place` from `calls`.
    pub fn index_threads(&mut self) {
        let mut index: HashMap<u32, usize> = HashMap::new();
        self.threads.clear();
        self.place.clear();
        for (i, call) in self.calls.iter().enumerate() {
            let thread = *index.entry(call.tid).or_insert(self.threads.len());
            if thread == self.threads.len() {
                self.threads.push(Vec::new());
            }
            self.place.push((thread, self.threads[thread].len()));
            self.threads[thread].push(i);
        }
    }

    /// How long a call waited for work: until that ended, or the call did.
    pub fn waiting_of_call(&self, call: &Call) -> i64 {
        let end = call.awaits.map_or(call.start_ns, |awaited| self.work[awaited].end_ns.min(call.end_ns));
        end.saturating_sub(call.start_ns).max(0)
    }
}

/// A call with the correlation ids of itself and of the calls inside it.
struct OutermostCall {
    start_ns: i64,
    end_ns: i64,
    tid: u32,
    name: u32,
    correlations: Vec<u64>,
}

/// Joins calls that the runtime made to the runtime's, which the program made.
fn outermost(calls: Vec<ApiCall>) -> Vec<OutermostCall> {
    let mut open: HashMap<u32, usize> = HashMap::new();
    let mut out: Vec<OutermostCall> = Vec::new();
    let mut calls: Vec<(ApiCall, i64)> =
        calls.into_iter().filter_map(|call| call.duration_ns.map(|ns| (call, ns))).collect();
    // Of two that begin together the longer is the outer one; of two of one length the runtime's is.
    calls.sort_by_key(|(call, ns)| (call.start_ns, std::cmp::Reverse(*ns), call.domain));
    for (call, ns) in calls {
        let end_ns = call.start_ns.saturating_add(ns);
        let around = open.get(&call.tid).copied();
        if let Some(outer) = around.map(|i| &mut out[i]).filter(|outer| end_ns <= outer.end_ns) {
            outer.correlations.push(call.correlation);
            continue;
        }
        open.insert(call.tid, out.len());
        out.push(OutermostCall {
            start_ns: call.start_ns,
            end_ns,
            tid: call.tid,
            name: call.name,
            correlations: vec![call.correlation],
        });
    }
    out
}

#[derive(Default)]
struct Names {
    list: Vec<String>,
    kinds: Vec<Kind>,
    index: HashMap<Kind, HashMap<String, usize>>,
}

impl Names {
    fn index(&mut self, name: &str, kind: Kind) -> usize {
        let of_kind = self.index.entry(kind).or_default();
        if let Some(&known) = of_kind.get(name) {
            return known;
        }
        of_kind.insert(name.to_owned(), self.list.len());
        self.list.push(name.to_owned());
        self.kinds.push(kind);
        self.list.len() - 1
    }
}

fn class_of(row: &GpuActivity, communication: &mut CommunicationKernels) -> Class {
    match row.what {
        ActivityKind::Kernel { shape } => communication.class_of(WorkKind::Kernel(shape)),
        ActivityKind::Graph { graph } => communication.class_of(WorkKind::Graph(graph)),
        ActivityKind::Memcpy { .. } | ActivityKind::Memset { .. } | ActivityKind::Uvm { .. } => Class::Memory,
    }
}

fn name_of<'a>(row: &GpuActivity, labels: &'a Labels) -> &'a str {
    match row.what {
        ActivityKind::Kernel { shape } => labels.kernel(shape),
        ActivityKind::Memcpy { kind, .. } => operation::memcpy_name(kind),
        ActivityKind::Memset { .. } => "[CUDA memset]",
        ActivityKind::Graph { graph } => labels.graph(graph),
        ActivityKind::Uvm { .. } => "[Unified Memory]",
    }
}

/// Calls that return when everything has ended, and of which there is no `sync` row in some traces.
fn waits_for_everything(name: &str) -> bool {
    matches!(name, "cudaDeviceSynchronize" | "cudaThreadSynchronize" | "cuCtxSynchronize")
}

/// Copies that return when they have ended.
fn copies_back(name: &str) -> bool {
    (name.starts_with("cudaMemcpy") || name.starts_with("cuMemcpy")) && !name.contains("Async")
}

/// For each call the last work that it launched and that had ended when it did.
fn own_work(work: &[Work], calls: &[OutermostCall]) -> Vec<Option<usize>> {
    let mut own: Vec<Option<usize>> = vec![None; calls.len()];
    for (i, row) in work.iter().enumerate() {
        let Some(call) = row.launch.filter(|&call| row.end_ns <= calls[call].end_ns) else { continue };
        let known = own[call].filter(|&known| work[known].end_ns > row.end_ns);
        own[call] = known.or(Some(i));
    }
    own
}

fn link_streams(work: &mut [Work], places: &[(u32, u32)]) {
    let mut last: HashMap<(u32, u32), usize> = HashMap::new();
    for i in 0..work.len() {
        work[i].before = last.insert(places[i], i);
    }
}

/// Notes which work waited for another stream, and for how long.
fn hold_back(
    work: &mut [Work],
    places: &[(u32, u32)],
    launched_ns: &[i64],
    stream_waits: &HashMap<(u32, u32), Vec<(i64, usize)>>,
) {
    for i in 0..work.len() {
        let Some(waits) = stream_waits.get(&places[i]) else { continue };
        // Only those waits count that the stream was told of between the launch of the work before and the launch of
        // this work.
        let since = work[i].before.map_or(i64::MIN, |before| launched_ns[before]);
        // The waits of a stream are in the order of the calls, which is that of time.
        let [from, to] = [since, launched_ns[i]].map(|ns| waits.partition_point(|(at, _)| *at < ns));
        let Some(awaited) = waits
            .get(from..to)
            .unwrap_or_default()
            .iter()
            .map(|&(_, awaited)| awaited)
            .max_by_key(|&w| (work[w].end_ns, w))
        else {
            continue;
        };
        let ready = work[i].before.map_or(launched_ns[i], |before| work[before].end_ns.max(launched_ns[i]));
        let until = work[awaited].end_ns.min(work[i].start_ns);
        work[i].awaits = Some(awaited);
        work[i].held_back_ns = until.saturating_sub(ready).max(0);
    }
}

fn awaited(sync: &Sync, at_ns: i64, events: &Events, launched: &Launched) -> Option<usize> {
    let event = || sync.event.and_then(|event| awaited_event(events, event, at_ns, launched));
    let stream = || sync.stream.and_then(|stream| launched.before((sync.context, Some(stream)), at_ns));
    match sync.kind {
        EVENT => event().or_else(stream),
        STREAM => stream(),
        _ => launched.before((sync.context, None), at_ns),
    }
}

/// Records of each event, by the time of their calls.
type Events = HashMap<u32, Vec<Recorded>>;

fn awaited_event(events: &Events, event: u32, at_ns: i64, launched: &Launched) -> Option<usize> {
    let records = events.get(&event)?;
    let count = records.partition_point(|recorded| recorded.call_ns < at_ns);
    let last = &records[count.checked_sub(1)?];
    launched.before((last.context, last.stream), last.call_ns)
}

fn syncs(labels: &Labels, filter: &Filter) -> Result<HashMap<u64, Sync>> {
    labels.frames().fold(
        &tables::SYNC,
        &[sync::KIND, sync::CONTEXT, sync::STREAM, sync::EVENT, sync::CORRELATION],
        filter,
        HashMap::new,
        |found: &mut HashMap<u64, Sync>, batch| {
            let [kind, context, stream, event] =
                [sync::KIND, sync::CONTEXT, sync::STREAM, sync::EVENT].map(|column| batch.get(column));
            let correlation = batch.get(sync::CORRELATION);
            batch.for_each_row(|i| {
                let Some(id) = correlation.get(i).filter(|&id| id != 0) else { return };
                let (kind, context) = (kind.get(i).unwrap_or(0), context.get(i).unwrap_or(0));
                found.insert(id, Sync { kind, context, stream: stream.get(i), event: event.get(i) });
            });
        },
        |a, b| a.extend(b),
    )
}

fn recorded_events(
    labels: &Labels,
    filter: &Filter,
    calls: &[OutermostCall],
    by_correlation: &HashMap<u64, usize>,
) -> Result<Events> {
    let rows = labels.frames().fold(
        &tables::EVENT,
        &[event::EVENT, event::CONTEXT, event::STREAM, event::CORRELATION],
        filter,
        Vec::new,
        |rows: &mut Vec<(u32, u32, Option<u32>, u64)>, batch| {
            let [event, context, stream] =
                [event::EVENT, event::CONTEXT, event::STREAM].map(|column| batch.get(column));
            let correlation = batch.get(event::CORRELATION);
            batch.for_each_row(|i| {
                if let (Some(event), Some(id)) = (event.get(i), correlation.get(i)) {
                    rows.push((event, context.get(i).unwrap_or(0), stream.get(i), id));
                }
            });
        },
        |a, mut b| a.append(&mut b),
    )?;
    let mut events: Events = HashMap::new();
    for (event, context, stream, id) in rows {
        let Some(&call) = by_correlation.get(&id) else { continue };
        events.entry(event).or_default().push(Recorded { call_ns: calls[call].start_ns, context, stream });
    }
    events.values_mut().for_each(|records| records.sort_by_key(|recorded| recorded.call_ns));
    Ok(events)
}
