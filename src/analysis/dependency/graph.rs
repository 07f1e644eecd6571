//! The activities of one process, and what each depends on.

use super::Kind;
use crate::analysis::activity::{ActivityKind, ApiCall, GpuActivity, WORK_TABLES};
use crate::analysis::by_correlation::ByCorrelation;
use crate::analysis::in_time::WorkKind;
use crate::analysis::labels::Labels;
use crate::analysis::listing;
use crate::analysis::work_class::CommunicationKernels;
use crate::error::Result;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use trace_format::tables;
use trace_format::tables::column::{event, sync};
use trace_format::vocabulary::sync_kind::{EVENT, STREAM, STREAM_WAIT_EVENT};

/// A position in one of the lists of [`Graph`], or none. Four bytes: a trace has tens of millions of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link(u32);

impl Link {
    pub const NONE: Link = Link(u32::MAX);

    pub fn get(self) -> Option<usize> {
        (self != Link::NONE).then_some(self.0 as usize)
    }
}

impl From<Option<usize>> for Link {
    fn from(position: Option<usize>) -> Link {
        position.and_then(|position| u32::try_from(position).ok()).map_or(Link::NONE, Link)
    }
}

/// A call of the program's, of the runtime or the driver. Calls inside other calls are not among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub start_ns: i64,
    pub end_ns: i64,
    pub tid: u32,
    /// Its name, by position.
    pub name: u32,
    /// The work that it waits for.
    pub awaits: Link,
}

/// Work on the GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    pub start_ns: i64,
    pub end_ns: i64,
    /// How long other streams held it back.
    pub held_back_ns: i64,
    /// Its name, by position.
    pub name: u32,
    /// The call that launched it.
    pub launch: Link,
    /// The work before it in its stream.
    pub before: Link,
    /// Work of another stream that its stream was told to wait for.
    pub awaits: Link,
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
    pub threads: Vec<Vec<u32>>,
    /// Which of `threads` a call is in, and where.
    pub place: Vec<(u32, u32)>,
}

/// A context, or a stream in it.
type Scope = (u32, Option<u32>);

/// The work of each scope in order of launch, each with the one of it and its predecessors that ends last.
#[derive(Default)]
struct Launched(HashMap<Scope, Vec<(i64, u32)>>);

impl Launched {
    fn new(work: &[Work], places: &[(u32, u32)], launched_ns: &[i64]) -> Launched {
        let mut order: Vec<(i64, u32)> = launched_ns.iter().copied().zip(0..).collect();
        // Most of it is in order, which a stable sort makes use of.
        order.sort();
        let mut scopes: HashMap<Scope, Vec<(i64, u32)>> = HashMap::new();
        for (launched_ns, i) in order {
            let (context, stream) = places[i as usize];
            for scope in [(context, None), (context, Some(stream))] {
                let list = scopes.entry(scope).or_default();
                let last = list.last().map(|&(_, last)| last);
                let last = last.filter(|&last| work[last as usize].end_ns >= work[i as usize].end_ns);
                list.push((launched_ns, last.unwrap_or(i)));
            }
        }
        Launched(scopes)
    }

    /// Of what was launched there before a time: the work that ends last.
    fn before(&self, scope: Scope, at_ns: i64) -> Option<usize> {
        let list = self.0.get(&scope)?;
        let count = list.partition_point(|&(launched, _)| launched < at_ns);
        Some(list[count.checked_sub(1)?].1 as usize)
    }
}

/// A row of table `sync`.
#[derive(Clone, Copy)]
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
        let calls = Calls::outermost(listing::api_calls(frames, filter)?);
        let rows = Row::read(labels, filter)?;
        let mut work = names.of_work(&rows, &calls, labels);
        let places: Vec<(u32, u32)> = rows.iter().map(|row| (row.context, row.stream)).collect();
        drop(rows);
        let launch_ns = |work: &Work| work.launch.get().map_or(work.start_ns, |call| calls.list[call].start_ns);
        let launched_ns: Vec<i64> = work.iter().map(launch_ns).collect();
        let launched = Launched::new(&work, &places, &launched_ns);
        link_streams(&mut work, &places);

        let syncs = calls.syncs(syncs(labels, filter)?);
        let events = recorded_events(labels, filter, &calls)?;
        let own_work = own_work(&work, &calls.list);
        let mut graph = Graph { calls: Vec::with_capacity(calls.list.len()), ..Graph::default() };
        let mut stream_waits: HashMap<(u32, u32), Vec<(i64, usize)>> = HashMap::new();
        let mut called = CallNames::default();
        for (i, call) in calls.list.iter().enumerate() {
            let name = called.of(call.name, labels, &mut names);
            let sync = syncs.get(&(i as u32));
            if let Some(sync) = sync.filter(|sync| sync.kind == STREAM_WAIT_EVENT) {
                let awaited = sync.event.and_then(|event| awaited_event(&events, event, call.start_ns, &launched));
                if let (Some(awaited), Some(stream)) = (awaited, sync.stream) {
                    stream_waits.entry((sync.context, stream)).or_default().push((call.start_ns, awaited));
                }
            }
            let awaits = match sync {
                Some(sync) if sync.kind == STREAM_WAIT_EVENT => None,
                Some(sync) => awaited(sync, call.start_ns, &events, &launched),
                None if name.waits_for_everything => {
                    let all = launched.0.keys().filter(|(_, stream)| stream.is_none());
                    let ends = all.filter_map(|&scope| launched.before(scope, call.start_ns));
                    ends.max_by_key(|&w| (work[w].end_ns, w))
                }
                None => None,
            };
            let own = || own_work[i].get().filter(|_| name.copies_back);
            graph.calls.push(Call {
                start_ns: call.start_ns,
                end_ns: call.end_ns,
                tid: call.tid,
                name: name.position,
                awaits: awaits.or_else(own).into(),
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
        for (i, call) in (0..).zip(&self.calls) {
            let thread = *index.entry(call.tid).or_insert(self.threads.len());
            if thread == self.threads.len() {
                self.threads.push(Vec::new());
            }
            self.place.push((thread as u32, self.threads[thread].len() as u32));
            self.threads[thread].push(i);
        }
    }

    /// How long a call waited for work: until that ended, or the call did.
    pub fn waiting_of_call(&self, call: &Call) -> i64 {
        let end = call.awaits.get().map_or(call.start_ns, |awaited| self.work[awaited].end_ns.min(call.end_ns));
        end.saturating_sub(call.start_ns).max(0)
    }
}

/// A call that is in no other call.
struct OutermostCall {
    start_ns: i64,
    end_ns: i64,
    tid: u32,
    name: u32,
}

/// Calls that are in no other call, with the correlation ids of these and of the calls inside them.
struct Calls {
    /// By start.
    list: Vec<OutermostCall>,
    /// Ids, and the position of the call that they are of. Those of one call are in the order of the calls inside it.
    ids: Vec<(u64, u32)>,
    by_correlation: ByCorrelation,
}

impl Calls {
    /// Joins calls that the runtime made to the runtime's, which the program made.
    fn outermost(mut calls: Vec<ApiCall>) -> Calls {
        let mut open: HashMap<u32, u32> = HashMap::new();
        let mut list: Vec<OutermostCall> = Vec::with_capacity(calls.len());
        let mut ids = Vec::with_capacity(calls.len());
        // Of two that begin together the longer is the outer one; of two of one length the runtime's is.
        calls.sort_by_key(|call| (call.start_ns, std::cmp::Reverse(call.duration_ns), call.domain));
        for call in &calls {
            let Some(ns) = call.duration_ns else { continue };
            let end_ns = call.start_ns.saturating_add(ns);
            let around = open.get(&call.tid).filter(|&&outer| end_ns <= list[outer as usize].end_ns);
            if let Some(&outer) = around {
                ids.push((call.correlation, outer));
                continue;
            }
            let position = list.len() as u32;
            open.insert(call.tid, position);
            ids.push((call.correlation, position));
            list.push(OutermostCall { start_ns: call.start_ns, end_ns, tid: call.tid, name: call.name });
        }
        let keys = ids.iter().map(|&(id, _)| (0, id));
        let by_correlation = ByCorrelation::new(keys, |a, b| ids[a as usize].1 < ids[b as usize].1);
        Calls { list, ids, by_correlation }
    }

    /// The call with this id, or with a call of this id inside.
    fn with_id(&self, id: u64) -> Option<usize> {
        Some(self.ids[self.by_correlation.get(0, id)? as usize].1 as usize)
    }

    /// The syncs by the positions of the calls, from those by id.
    fn syncs(&self, by_id: HashMap<u64, Sync>) -> HashMap<u32, Sync> {
        let mut by_call = HashMap::with_capacity(by_id.len());
        if !by_id.is_empty() {
            for &(id, call) in &self.ids {
                if let Some(&sync) = by_id.get(&id) {
                    by_call.entry(call).or_insert(sync);
                }
            }
        }
        by_call
    }
}

/// Work as it is read, in the order of listings.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    start_ns: i64,
    end_ns: i64,
    device: u32,
    stream: u32,
    correlation: u64,
    graph_node: Option<u64>,
    kind: WorkKind,
    context: u32,
}

impl Row {
    /// The selected work that has valid times.
    fn read(labels: &Labels, filter: &Filter) -> Result<Vec<Row>> {
        let add = |rows: &mut Vec<Row>, work: GpuActivity| {
            let (Some(ns), Some(kind)) = (work.duration_ns, kind_of(&work.what)) else { return };
            let GpuActivity { start_ns, device, stream, correlation, graph_node, context, .. } = work;
            let end_ns = start_ns.saturating_add(ns);
            rows.push(Row { start_ns, end_ns, device, stream, correlation, graph_node, kind, context });
        };
        let merge = |all: &mut Vec<Row>, mut more: Vec<Row>| all.append(&mut more);
        let mut rows = listing::fold_work(labels.frames(), &WORK_TABLES, filter, Vec::new, add, merge)?;
        // Pieces of it are in order already, which a stable sort makes use of.
        rows.sort();
        Ok(rows)
    }
}

/// What the name and the class of work depend on.
fn kind_of(what: &ActivityKind) -> Option<WorkKind> {
    Some(match *what {
        ActivityKind::Kernel { shape } => WorkKind::Kernel(shape),
        ActivityKind::Memcpy { kind, .. } => {
            WorkKind::Memcpy { kind: u8::try_from(kind).unwrap_or(0), src: 0, dst: 0 }
        }
        ActivityKind::Memset { .. } => WorkKind::Memset,
        ActivityKind::Graph { graph } => WorkKind::Graph(graph),
        ActivityKind::Uvm { .. } => return None,
    })
}

#[derive(Default)]
struct Names {
    list: Vec<String>,
    kinds: Vec<Kind>,
    index: HashMap<Kind, HashMap<String, u32>>,
}

impl Names {
    fn index(&mut self, name: &str, kind: Kind) -> u32 {
        let of_kind = self.index.entry(kind).or_default();
        if let Some(&known) = of_kind.get(name) {
            return known;
        }
        let position = self.list.len() as u32;
        of_kind.insert(name.to_owned(), position);
        self.list.push(name.to_owned());
        self.kinds.push(kind);
        position
    }

    /// The work of some rows, with names and launches.
    fn of_work(&mut self, rows: &[Row], calls: &Calls, labels: &Labels) -> Vec<Work> {
        let mut communication = CommunicationKernels::new(labels);
        // Texts are looked at once for each launch shape, not for each record.
        let mut by_kind: HashMap<WorkKind, u32> = HashMap::new();
        let work = |row: &Row| Work {
            start_ns: row.start_ns,
            end_ns: row.end_ns,
            held_back_ns: 0,
            name: *by_kind
                .entry(row.kind)
                .or_insert_with(|| self.index(row.kind.name(labels), Kind::Work(communication.class_of(row.kind)))),
            launch: calls.with_id(row.correlation).into(),
            before: Link::NONE,
            awaits: Link::NONE,
        };
        rows.iter().map(work).collect()
    }
}

/// What follows from the name of a call.
#[derive(Clone, Copy)]
struct CallName {
    /// The position of the name.
    position: u32,
    waits_for_everything: bool,
    copies_back: bool,
}

/// What follows from names of calls, by their ids: each name is looked at once.
#[derive(Default)]
struct CallNames(HashMap<u32, CallName>);

impl CallNames {
    fn of(&mut self, id: u32, labels: &Labels, names: &mut Names) -> CallName {
        *self.0.entry(id).or_insert_with(|| {
            let name = labels.api(id);
            CallName {
                position: names.index(name, Kind::Call),
                waits_for_everything: waits_for_everything(name),
                copies_back: copies_back(name),
            }
        })
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
fn own_work(work: &[Work], calls: &[OutermostCall]) -> Vec<Link> {
    let mut own = vec![Link::NONE; calls.len()];
    for (i, row) in work.iter().enumerate() {
        let Some(call) = row.launch.get().filter(|&call| row.end_ns <= calls[call].end_ns) else { continue };
        let known = own[call].get().filter(|&known| work[known].end_ns > row.end_ns);
        own[call] = known.or(Some(i)).into();
    }
    own
}

fn link_streams(work: &mut [Work], places: &[(u32, u32)]) {
    let mut last: HashMap<(u32, u32), usize> = HashMap::new();
    for i in 0..work.len() {
        work[i].before = last.insert(places[i], i).into();
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
        let since = work[i].before.get().map_or(i64::MIN, |before| launched_ns[before]);
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
        let ready = work[i].before.get().map_or(launched_ns[i], |before| work[before].end_ns.max(launched_ns[i]));
        let until = work[awaited].end_ns.min(work[i].start_ns);
        work[i].awaits = Some(awaited).into();
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

fn recorded_events(labels: &Labels, filter: &Filter, calls: &Calls) -> Result<Events> {
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
        let Some(call) = calls.with_id(id) else { continue };
        events.entry(event).or_default().push(Recorded { call_ns: calls.list[call].start_ns, context, stream });
    }
    events.values_mut().for_each(|records| records.sort_by_key(|recorded| recorded.call_ns));
    Ok(events)
}
