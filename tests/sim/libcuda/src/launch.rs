//! Launching kernels: at once, into a capture, and as nodes of a graph.

use crate::abi::{ApiCall, Work, work};
use crate::graph::{Node, Op};
use crate::memory;
use crate::module::Function;
use crate::stream::{self, Stream, latency_ns};
use crate::{clock, compute, results, settings, tool};
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub cluster: [u32; 3],
    pub shared: u32,
}

static LAUNCHES: AtomicU64 = AtomicU64::new(0);

/// The function behind a handle, if it is still loaded.
pub fn function(handle: *mut c_void) -> Option<&'static Function> {
    // SAFETY: functions are never freed.
    unsafe { handle.cast::<Function>().as_ref() }.filter(|function| function.alive.load(Ordering::Relaxed))
}

/// The name for the callback's `symbolName`.
pub fn symbol(handle: *mut c_void) -> *const c_char {
    function(handle).map_or(std::ptr::null(), |function| function.name)
}

/// # Safety
/// `params` points to the function's parameters, or is null.
pub unsafe fn kernel(
    call: &ApiCall,
    handle: *mut c_void,
    shape: Shape,
    on: *mut c_void,
    params: *const *const u8,
) -> i32 {
    let Some(function) = function(handle) else { return results::INVALID_HANDLE };
    let Some(stream) = stream::of_handle(on) else { return results::INVALID_CONTEXT };
    let threads = shape.block.iter().map(|&n| u64::from(n)).product::<u64>();
    if threads == 0 || threads > 1024 || shape.grid.contains(&0) {
        return results::INVALID_VALUE;
    }
    let params = compute::read_params(function, params);
    if let Some(capture) = stream.capture() {
        // The name outlives its module inside a graph.
        let name = std::ffi::CStr::from_ptr(function.name).to_owned();
        crate::graph::record(&capture, Op::Kernel { function, name, shape, params });
        return results::SUCCESS;
    }
    run(function, function.name, shape, stream, &params, call.correlation, memory::Node::default());
    results::SUCCESS
}

/// Computes the kernel and gives it its place on the stream.
pub fn run(
    function: &Function,
    name: *const c_char,
    shape: Shape,
    stream: &Stream,
    params: &[u64],
    correlation: u32,
    node: memory::Node,
) {
    compute::run(function, shape.grid, shape.block, params);
    let duration = compute::duration_ns(function, shape.grid, shape.block, params);
    let submitted = clock::now();
    let (start, end) = stream.enqueue(submitted + latency_ns(), duration, None);
    let serial = LAUNCHES.fetch_add(1, Ordering::Relaxed) + 1;
    settings::add(settings::word::LAUNCHED, 1);
    if tool::any() {
        let context = stream.context();
        let mut record = Work::new(work::KERNEL);
        (record.device, record.context, record.stream) = (context.device, context.uid, stream.uid);
        record.correlation = correlation;
        (record.graph, record.graph_node, record.value) = (node.graph, node.id, node.source_graph);
        (record.start_ns, record.end_ns) = (start, end);
        (record.queued_ns, record.submitted_ns) = (submitted, submitted + 500);
        (record.grid, record.block, record.cluster) = (shape.grid, shape.block, shape.cluster);
        record.registers = function.registers;
        record.static_shared = 0;
        record.dynamic_shared = shape.shared;
        record.priority = stream.priority;
        record.name = name;
        record.name_key = function.key;
        record.serial = serial;
        tool::work(&record);
    }
    after(serial);
}

/// What is to happen at a launch of that number: `SIM_TAKEOVER=PATH@N`, or at the first launch
/// after so many milliseconds `PATH@500ms`, loads a library and calls its `intrude()`.
fn after(serial: u64) {
    struct Plan {
        takeover: Option<(std::ffi::CString, u64)>,
        takeover_ns: u64,
    }
    static PLAN: OnceLock<Plan> = OnceLock::new();
    let plan = PLAN.get_or_init(|| {
        let takeover = settings::text(c"SIM_TAKEOVER").and_then(|text| {
            let (path, at) = text.rsplit_once('@')?;
            let path = std::ffi::CString::new(path).ok()?;
            // 0: no launch has that number.
            Some((path, if at.ends_with("ms") { 0 } else { at.parse().ok()? }))
        });
        let after = settings::text(c"SIM_TAKEOVER").unwrap_or_default();
        let ms = after.rsplit_once('@').and_then(|(_, at)| at.strip_suffix("ms")?.parse::<u64>().ok());
        let takeover_ns = ms.map_or(u64::MAX, |ms| clock::now() + ms * 1_000_000);
        Plan { takeover, takeover_ns }
    });
    let Some((path, at)) = &plan.takeover else { return };
    static TAKEN: AtomicU64 = AtomicU64::new(0);
    let due = if *at > 0 { *at == serial } else { clock::now() >= plan.takeover_ns };
    if !due || TAKEN.swap(1, Ordering::Relaxed) != 0 {
        return;
    }
    // SAFETY: the test's own library, whose `intrude` takes nothing.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL);
        let entry = if library.is_null() { library } else { libc::dlsym(library, c"intrude".as_ptr()) };
        if entry.is_null() {
            settings::fatal(&format!("SIM_TAKEOVER {path:?}: cannot be loaded"));
        }
        let entry: extern "C" fn() -> i32 = std::mem::transmute(entry);
        settings::log(&format!("takeover by {path:?}: {}", entry()));
    }
}

/// A node of a graph is launched.
pub fn node(node: &Node, stream: &Stream, correlation: u32, place: memory::Node) -> u64 {
    match &node.op {
        Op::Kernel { function, name, shape, params } => {
            run(function, name.as_ptr(), *shape, stream, params, correlation, place);
        }
        Op::Copy(copy) => {
            memory::copy(*copy, stream, correlation, place);
        }
        Op::Set(fill) => {
            memory::set(*fill, stream, correlation, place);
        }
        Op::Host { function, data } => {
            clock::wait_until(stream.tail_ns.load(Ordering::Acquire));
            // SAFETY: the program's own function and data.
            unsafe { function(*data as *mut c_void) };
        }
        Op::Empty => {}
    }
    stream.tail_ns.load(Ordering::Acquire)
}
