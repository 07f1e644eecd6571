//! Device memory, which here is host memory, and copies, which really copy.

use crate::abi::{Work, work};
use crate::context::Context;
use crate::stream::{Stream, latency_ns};
use crate::{call, clock, settings, tool};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{OnceLock, RwLock};

/// `CUpti_ActivityMemoryKind`.
pub const PAGEABLE: u32 = 1;
pub const PINNED: u32 = 2;
pub const DEVICE: u32 = 3;
pub const MANAGED: u32 = 5;

#[derive(Clone, Copy)]
pub struct Block {
    pub bytes: usize,
    pub kind: u32,
    pub device: u32,
    pub context: u32,
}

static BLOCKS: RwLock<BTreeMap<usize, Block>> = RwLock::new(BTreeMap::new());
static USED: AtomicU64 = AtomicU64::new(0);

pub fn used_bytes() -> u64 {
    USED.load(Ordering::Relaxed)
}

/// Null when there is no memory.
pub fn allocate(bytes: usize, kind: u32, context: &Context) -> *mut c_void {
    // SAFETY: calloc of a nonzero size; pages untouched cost nothing. 256-byte alignment as programs expect.
    let address = unsafe {
        let mut address = std::ptr::null_mut();
        let size = bytes.max(1);
        if libc::posix_memalign(&mut address, 512, size) != 0 {
            return std::ptr::null_mut();
        }
        address
    };
    if let Ok(mut blocks) = BLOCKS.write() {
        blocks.insert(address as usize, Block { bytes, kind, device: context.device, context: context.uid });
    }
    USED.fetch_add(bytes as u64, Ordering::Relaxed);
    address
}

/// The block that holds an address, with its start.
pub fn find(address: usize) -> Option<(usize, Block)> {
    let blocks = BLOCKS.read().ok()?;
    let (&start, &block) = blocks.range(..=address).next_back()?;
    (address < start + block.bytes.max(1)).then_some((start, block))
}

/// What kind of memory an address is.
pub fn kind_of(address: usize) -> (u32, u32, u32) {
    find(address).map_or((PAGEABLE, 0, 0), |(_, block)| (block.kind, block.device, block.context))
}

pub fn free(address: usize) -> Option<Block> {
    let block = BLOCKS.write().ok()?.remove(&address)?;
    USED.fetch_sub(block.bytes as u64, Ordering::Relaxed);
    // SAFETY: it was in our list and no longer is.
    unsafe { libc::free(address as *mut c_void) };
    Some(block)
}

/// `cuMemHostRegister`: memory of the program's own.
pub fn register(address: usize, bytes: usize, context: &Context) {
    if let Ok(mut blocks) = BLOCKS.write() {
        blocks.insert(address, Block { bytes, kind: PINNED, device: context.device, context: context.uid });
    }
}

pub fn unregister(address: usize) {
    if let Ok(mut blocks) = BLOCKS.write() {
        blocks.remove(&address);
    }
}

/// Tells tools of an allocation (1), free (2).
pub fn tell(operation: u32, kind: u32, address: usize, bytes: usize, stream: Option<&Stream>, correlation: u32) {
    if !tool::any() {
        return;
    }
    let (_, block) = find(address).unwrap_or((0, Block { bytes, kind, device: 0, context: 0 }));
    let mut record = Work::new(work::MEMORY);
    record.kind = operation;
    record.src_kind = kind;
    record.address = address as u64;
    record.bytes = bytes as u64;
    record.start_ns = clock::now();
    record.device = block.device;
    record.context = block.context;
    record.stream = stream.map_or(u32::MAX, |stream| stream.uid);
    record.flags = stream.is_some() as u32;
    record.correlation = correlation;
    tool::work(&record);
}

/// A copy takes 1 µs and 1 ns for `SIM_COPY_BYTES_PER_NS` (20) bytes; `SIM_COPY_NS` sets a fixed time.
pub fn copy_ns(bytes: usize) -> u64 {
    static RATE: OnceLock<(u64, u64)> = OnceLock::new();
    let (fixed, rate) = RATE.get_or_init(|| {
        (settings::number(c"SIM_COPY_NS", 0), settings::number(c"SIM_COPY_BYTES_PER_NS", 20).max(1))
    });
    if *fixed > 0 { *fixed } else { 1000 + bytes as u64 / rate }
}

#[derive(Clone, Copy)]
pub struct Copy {
    pub dst: usize,
    pub src: usize,
    pub bytes: usize,
    pub is_async: bool,
    pub peer: bool,
}

/// Where a node of a graph comes from.
#[derive(Clone, Copy, Default)]
pub struct Node {
    pub graph: u32,
    pub id: u64,
    pub source_graph: u32,
}

/// Copies now and gives the copy its place on the stream; returns its end.
pub fn copy(copy: Copy, stream: &Stream, correlation: u32, node: Node) -> u64 {
    // SAFETY: the program vouches for both ranges, as with the real driver. They may overlap.
    unsafe { libc::memmove(copy.dst as *mut c_void, copy.src as *const c_void, copy.bytes) };
    let context = stream.context();
    let ((src_kind, src_device, src_context), (dst_kind, dst_device, dst_context)) =
        (kind_of(copy.src), kind_of(copy.dst));
    let on_device = |kind: u32| kind == DEVICE || kind == MANAGED;
    let kind = match (on_device(src_kind), on_device(dst_kind)) {
        _ if copy.peer => 10,
        (false, true) => 1,
        (true, false) => 2,
        (true, true) => 8,
        (false, false) => 9,
    };
    let engine = context.copy_free_ns.get((kind == 2) as usize).filter(|_| kind < 8);
    let submitted = clock::now();
    let (start, end) = stream.enqueue(submitted + latency_ns(), copy_ns(copy.bytes), engine);
    if tool::any() {
        let mut record = Work::new(if copy.peer { work::PEER_COPY } else { work::MEMCPY });
        record.device = context.device;
        record.context = context.uid;
        record.stream = stream.uid;
        record.correlation = correlation;
        (record.graph, record.graph_node, record.value) = (node.graph, node.id, node.source_graph);
        (record.start_ns, record.end_ns) = (start, end);
        record.bytes = copy.bytes as u64;
        record.flags = copy.is_async as u32;
        (record.kind, record.src_kind, record.dst_kind) = (kind, src_kind, dst_kind);
        (record.src_device, record.src_context) = (src_device, src_context);
        (record.dst_device, record.dst_context) = (dst_device, dst_context);
        tool::work(&record);
    }
    end
}

/// `count` elements of 1, 2 or 4 bytes.
#[derive(Clone, Copy)]
pub struct Fill {
    pub dst: usize,
    pub value: u32,
    pub width: usize,
    pub count: usize,
    pub is_async: bool,
}

/// Sets memory now and gives the work its place on the stream; returns its end.
pub fn set(fill: Fill, stream: &Stream, correlation: u32, node: Node) -> u64 {
    let Fill { dst, value, width, count, is_async } = fill;
    // SAFETY: the program vouches for the range.
    unsafe {
        match width {
            1 => std::ptr::write_bytes(dst as *mut u8, value as u8, count),
            2 => std::slice::from_raw_parts_mut(dst as *mut u16, count).fill(value as u16),
            _ => std::slice::from_raw_parts_mut(dst as *mut u32, count).fill(value),
        }
    }
    let context = stream.context();
    let bytes = width * count;
    let (start, end) = stream.enqueue(clock::now() + latency_ns(), 800 + bytes as u64 / 500, None);
    if tool::any() {
        let mut record = Work::new(work::MEMSET);
        record.device = context.device;
        record.context = context.uid;
        record.stream = stream.uid;
        record.correlation = correlation;
        (record.graph, record.graph_node, record.src_device) = (node.graph, node.id, node.source_graph);
        (record.start_ns, record.end_ns) = (start, end);
        record.bytes = bytes as u64;
        record.value = value;
        record.flags = is_async as u32;
        record.dst_kind = kind_of(dst).0;
        tool::work(&record);
    }
    end
}

/// A record of waiting: type 1 event, 2 stream wait event, 3 stream, 4 context.
pub fn tell_sync(kind: u32, start_ns: u64, context: u32, stream: u32, event: (u32, u64), correlation: u32) {
    if !tool::any() {
        return;
    }
    let mut record = Work::new(work::SYNC);
    record.kind = kind;
    record.start_ns = start_ns;
    record.end_ns = clock::now();
    record.context = context;
    record.stream = stream;
    (record.event, record.event_sync) = event;
    record.correlation = correlation;
    tool::work(&record);
}

/// A migration of managed memory.
pub fn tell_uvm(address: usize, bytes: usize, to_device: bool, context: &Context, stream: &Stream) {
    if !tool::any() {
        return;
    }
    let mut record = Work::new(work::UVM);
    record.kind = if to_device { 1 } else { 2 };
    record.bytes = bytes as u64;
    record.address = address as u64;
    (record.start_ns, record.end_ns) = stream.enqueue(clock::now() + latency_ns(), copy_ns(bytes), None);
    record.src_device = if to_device { u32::MAX } else { context.device };
    record.dst_device = if to_device { context.device } else { u32::MAX };
    record.stream = stream.uid;
    record.correlation = call::next_correlation();
    tool::work(&record);
}
