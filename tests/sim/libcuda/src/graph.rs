//! Graphs by stream capture: nodes in the order in which they were captured, replayed one after the other.

use crate::abi::{Resource, Work, resource, work};
use crate::launch::Shape;
use crate::memory::{self, Copy, Fill};
use crate::module::Function;
use crate::stream::Stream;
use crate::{context, launch, results, settings, tool};
use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

pub enum Op {
    Kernel { function: &'static Function, name: CString, shape: Shape, params: Vec<u64> },
    Copy(Copy),
    Set(Fill),
    Host { function: unsafe extern "C" fn(*mut c_void), data: usize },
    Empty,
}

pub struct Node {
    pub id: u32,
    pub op: Op,
}

/// What a stream has captured so far.
pub struct Capture {
    pub graph: u32,
    pub origin: usize,
    pub streams: Vec<usize>,
    pub nodes: Vec<Node>,
}

pub struct Graph {
    pub id: u32,
    pub nodes: Arc<Vec<Node>>,
    pub alive: AtomicBool,
}

static NEXT: AtomicU32 = AtomicU32::new(1);

fn tell(cbid: u32, object: *mut c_void) {
    let resource = context::current().map_or_else(context::no_resource, context::describe);
    tool::resource(&Resource { cbid, object, ..resource });
}

pub fn begin(stream: &Stream) -> i32 {
    if stream.handle().is_null() {
        return results::STREAM_CAPTURE_UNSUPPORTED;
    }
    if stream.capture().is_some() {
        return results::INVALID_VALUE;
    }
    let graph = NEXT.fetch_add(1, Ordering::Relaxed);
    let origin = stream.handle() as usize;
    join(stream, &Arc::new(Mutex::new(Capture { graph, origin, streams: Vec::new(), nodes: Vec::new() })));
    results::SUCCESS
}

/// A stream becomes part of a capture: it waited for an event of it.
pub fn join(stream: &Stream, capture: &Arc<Mutex<Capture>>) {
    if stream.capture().is_some() {
        return;
    }
    if let Ok(mut own) = stream.capture.lock() {
        *own = Some(capture.clone());
        stream.capturing.store(true, Ordering::Release);
    }
    if let Ok(mut capture) = capture.lock() {
        capture.streams.push(stream.handle() as usize);
    }
}

pub fn record(capture: &Arc<Mutex<Capture>>, op: Op) {
    if let Ok(mut capture) = capture.lock() {
        let id = capture.nodes.len() as u32;
        capture.nodes.push(Node { id, op });
    }
    tell(resource::GRAPHNODE_CREATED, std::ptr::null_mut());
}

pub fn end(stream: &Stream) -> Result<*mut Graph, i32> {
    let Some(shared) = stream.capture() else { return Err(results::INVALID_VALUE) };
    let Ok(mut capture) = shared.lock() else { return Err(results::INVALID_VALUE) };
    if capture.origin != stream.handle() as usize {
        return Err(results::INVALID_VALUE);
    }
    for handle in &capture.streams {
        // SAFETY: streams are never freed.
        let stream = unsafe { &*(*handle as *const Stream) };
        stream.capturing.store(false, Ordering::Release);
        if let Ok(mut own) = stream.capture.lock() {
            *own = None;
        }
    }
    let nodes = Arc::new(std::mem::take(&mut capture.nodes));
    let graph = Box::into_raw(Box::new(Graph { id: capture.graph, nodes, alive: AtomicBool::new(true) }));
    drop(capture);
    tell(resource::GRAPH_CREATED, graph.cast());
    Ok(graph)
}

/// An executable graph has an id of its own and the nodes of the graph it was made from.
pub struct Exec {
    pub id: u32,
    pub source: u32,
    pub nodes: Arc<Vec<Node>>,
    pub alive: AtomicBool,
    /// Its nodes are never recorded: `SIM_GRAPH=blind`, and it was made while kernels were not recorded.
    pub blind: bool,
}

pub fn instantiate(graph: &Graph) -> *mut Exec {
    tell(resource::GRAPHEXEC_CREATE_STARTING, std::ptr::null_mut());
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let (source, nodes) = (graph.id, graph.nodes.clone());
    let blind = settings::text(c"SIM_GRAPH").as_deref() == Some("blind") && !tool::records_kernels();
    let exec = Box::into_raw(Box::new(Exec { id, source, nodes, alive: AtomicBool::new(true), blind }));
    tell(resource::GRAPHEXEC_CREATED, exec.cast());
    exec
}

pub fn graph_of_handle(handle: *mut c_void) -> Option<&'static Graph> {
    // SAFETY: graphs are never freed.
    unsafe { handle.cast::<Graph>().as_ref() }.filter(|graph| graph.alive.load(Ordering::Relaxed))
}

pub fn exec_of_handle(handle: *mut c_void) -> Option<&'static Exec> {
    // SAFETY: executable graphs are never freed.
    unsafe { handle.cast::<Exec>().as_ref() }.filter(|exec| exec.alive.load(Ordering::Relaxed))
}

pub fn destroy_graph(graph: &'static Graph) {
    let handle: *const Graph = graph;
    tell(resource::GRAPH_DESTROY_STARTING, handle.cast_mut().cast());
    graph.alive.store(false, Ordering::Relaxed);
}

pub fn destroy_exec(exec: &'static Exec) {
    let handle: *const Exec = exec;
    tell(resource::GRAPHEXEC_DESTROY_STARTING, handle.cast_mut().cast());
    exec.alive.store(false, Ordering::Relaxed);
}

/// All nodes have the launch's correlation id. With graph-level tracing one record stands for all of them.
pub fn launch(exec: &Exec, stream: &Stream, correlation: u32) {
    let whole = tool::graph_level();
    let (mut first, mut last) = (u64::MAX, 0);
    if whole || exec.blind {
        // Nodes take their time but are not told of: a stream's work without records.
        for node in exec.nodes.iter() {
            let duration = quiet(node, stream);
            let (start, end) = stream.enqueue(crate::clock::now() + crate::stream::latency_ns(), duration, None);
            (first, last) = (first.min(start), last.max(end));
        }
        if !whole {
            return;
        }
        let context = stream.context();
        let mut record = Work::new(work::GRAPH);
        (record.device, record.context, record.stream) = (context.device, context.uid, stream.uid);
        (record.graph, record.correlation) = (exec.id, correlation);
        (record.start_ns, record.end_ns) = if last == 0 { (0, 0) } else { (first, last) };
        tool::work(&record);
        return;
    }
    for node in exec.nodes.iter() {
        let id = u64::from(exec.id) << 32 | u64::from(node.id);
        launch::node(node, stream, correlation, memory::Node { graph: exec.id, id, source_graph: exec.source });
    }
}

/// Does what a node does, without a record; returns how long it takes.
fn quiet(node: &Node, _stream: &Stream) -> u64 {
    match &node.op {
        Op::Kernel { function, shape, params, .. } => {
            crate::compute::run(function, shape.grid, shape.block, params);
            settings::add(settings::word::LAUNCHED, 1);
            crate::compute::duration_ns(function, shape.grid, shape.block, params)
        }
        Op::Copy(copy) => {
            // SAFETY: the program vouches for both ranges.
            unsafe { libc::memmove(copy.dst as *mut c_void, copy.src as *const c_void, copy.bytes) };
            memory::copy_ns(copy.bytes)
        }
        Op::Set(fill) => {
            // SAFETY: the program vouches for the range.
            unsafe { std::ptr::write_bytes(fill.dst as *mut u8, fill.value as u8, fill.width * fill.count) };
            800
        }
        Op::Host { function, data } => {
            // SAFETY: the program's own function and data.
            unsafe { function(*data as *mut c_void) };
            0
        }
        Op::Empty => 0,
    }
}
