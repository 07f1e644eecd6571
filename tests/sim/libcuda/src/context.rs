//! Contexts: primary ones, made ones, and which is current on a thread.

use crate::abi::{Resource, resource};
use crate::stream::Stream;
use crate::{clock, device, results, tool};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

pub struct Context {
    pub uid: u32,
    pub device: u32,
    pub alive: AtomicBool,
    pub primary: bool,
    pub flags: AtomicU32,
    pub null_stream: Stream,
    /// Latest end on any stream that waits for the null stream.
    pub blocking_tail_ns: AtomicU64,
    /// Latest end on any stream.
    pub tail_ns: AtomicU64,
    /// Copy engines: to the device, and from it.
    pub copy_free_ns: [AtomicU64; 2],
    pub next_stream: AtomicU32,
    pub streams: Mutex<Vec<usize>>,
}

static CONTEXTS: Mutex<Vec<usize>> = Mutex::new(Vec::new());
static NEXT_UID: AtomicU32 = AtomicU32::new(1);
static PRIMARY: Mutex<Vec<(u32, usize, u32)>> = Mutex::new(Vec::new());
thread_local!(static CURRENT: Cell<*mut Context> = const { Cell::new(std::ptr::null_mut()) });
thread_local!(static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) });

pub fn no_resource() -> Resource {
    Resource {
        cbid: 0,
        device: 0,
        context_uid: 0,
        stream_uid: 0,
        context: std::ptr::null_mut(),
        stream: std::ptr::null_mut(),
        object: std::ptr::null_mut(),
        priority: 0,
        stream_flags: 0,
        correlation: 0,
        first_of_device: 0,
    }
}

/// The current context and its number, for callbacks.
pub fn current_handle() -> (*mut c_void, u32) {
    let context = CURRENT.with(Cell::get);
    // SAFETY: contexts are never freed.
    unsafe { context.as_ref() }.map_or((std::ptr::null_mut(), 0), |c| (context.cast(), c.uid))
}

/// The thread's current context, if it is alive.
pub fn current() -> Option<&'static Context> {
    // SAFETY: contexts are never freed.
    unsafe { CURRENT.with(Cell::get).as_ref() }.filter(|context| context.alive.load(Ordering::Relaxed))
}

/// A handle that a program gave us.
pub fn of_handle(handle: *mut c_void) -> Option<&'static Context> {
    let known = CONTEXTS.lock().ok()?.contains(&(handle as usize));
    // SAFETY: it is in our list; contexts are never freed.
    if known { unsafe { handle.cast::<Context>().as_ref() } } else { None }
}

pub fn set_current(context: *mut c_void) -> i32 {
    if !context.is_null() && of_handle(context).is_none() {
        return results::INVALID_CONTEXT;
    }
    CURRENT.with(|current| current.set(context.cast()));
    results::SUCCESS
}

pub fn push(context: *mut c_void) -> i32 {
    let old = CURRENT.with(Cell::get);
    let result = set_current(context);
    if result == 0 {
        STACK.with(|stack| stack.borrow_mut().push(old as usize));
    }
    result
}

pub fn pop() -> *mut c_void {
    let old = CURRENT.with(Cell::get);
    let next = STACK.with(|stack| stack.borrow_mut().pop()).unwrap_or(0);
    CURRENT.with(|current| current.set(next as *mut Context));
    old.cast()
}

pub fn create(device: u32, flags: u32, primary: bool) -> *mut Context {
    let uid = NEXT_UID.fetch_add(1, Ordering::Relaxed);
    let first = CONTEXTS.lock().map_or(true, |list| {
        // SAFETY: contexts are never freed.
        !list.iter().any(|&c| unsafe { (*(c as *const Context)).device == device })
    });
    let context = Box::into_raw(Box::new(Context {
        uid,
        device,
        alive: AtomicBool::new(true),
        primary,
        flags: AtomicU32::new(flags),
        null_stream: Stream::new(7, std::ptr::null_mut(), 0, 0),
        blocking_tail_ns: AtomicU64::new(0),
        tail_ns: AtomicU64::new(0),
        copy_free_ns: [const { AtomicU64::new(0) }; 2],
        next_stream: AtomicU32::new(13),
        streams: Mutex::new(Vec::new()),
    }));
    // SAFETY: just made, not yet known to anyone.
    unsafe { (*context).null_stream.context = context };
    if let Ok(mut list) = CONTEXTS.lock() {
        list.push(context as usize);
    }
    // SAFETY: contexts are never freed.
    let resource = unsafe { describe(&*context) };
    let first_of_device = first as u32;
    tool::resource(&Resource { cbid: resource::CONTEXT_CREATED, first_of_device, ..resource });
    context
}

pub fn describe(context: &Context) -> Resource {
    let handle: *const Context = context;
    Resource {
        device: context.device,
        context_uid: context.uid,
        stream_uid: context.null_stream.uid,
        context: handle.cast_mut().cast(),
        ..no_resource()
    }
}

pub fn destroy(context: &Context) -> i32 {
    if !context.alive.load(Ordering::Relaxed) {
        return results::INVALID_CONTEXT;
    }
    tool::resource(&Resource { cbid: resource::CONTEXT_DESTROY_STARTING, ..describe(context) });
    // Destroying a context waits for its work.
    let tail = context.tail_ns.load(Ordering::Relaxed);
    if tail != u64::MAX {
        clock::wait_until(tail);
    }
    context.alive.store(false, Ordering::Relaxed);
    results::SUCCESS
}

/// At the end of the process: the driver takes its contexts down without waiting for their work.
pub fn destroy_all() {
    let list = CONTEXTS.lock().map(|list| list.clone()).unwrap_or_default();
    for context in list {
        // SAFETY: contexts are never freed.
        let context = unsafe { &*(context as *const Context) };
        if context.alive.swap(false, Ordering::Relaxed) {
            tool::resource(&Resource { cbid: resource::CONTEXT_DESTROY_STARTING, ..describe(context) });
        }
    }
}

pub fn retain_primary(device: u32) -> *mut Context {
    let Ok(mut primary) = PRIMARY.lock() else { return std::ptr::null_mut() };
    if let Some(entry) = primary.iter_mut().find(|entry| entry.0 == device && entry.2 > 0) {
        entry.2 += 1;
        return entry.1 as *mut Context;
    }
    // Callbacks run without our lock: a tool may ask for the primary context in them.
    primary.retain(|entry| entry.0 != device);
    drop(primary);
    let context = create(device, 0, true);
    if let Ok(mut primary) = PRIMARY.lock() {
        primary.push((device, context as usize, 1));
    }
    context
}

pub fn release_primary(device: u32, reset: bool) -> i32 {
    let Ok(mut primary) = PRIMARY.lock() else { return results::INVALID_CONTEXT };
    let Some(entry) = primary.iter_mut().find(|entry| entry.0 == device && entry.2 > 0) else {
        return if reset { results::SUCCESS } else { results::INVALID_CONTEXT };
    };
    entry.2 = if reset { 0 } else { entry.2 - 1 };
    if entry.2 > 0 {
        return results::SUCCESS;
    }
    let context = entry.1 as *const Context;
    drop(primary);
    // SAFETY: contexts are never freed.
    destroy(unsafe { &*context })
}

/// (flags, active) of a device's primary context.
pub fn primary_state(device: u32) -> (u32, bool) {
    let active = PRIMARY.lock().is_ok_and(|p| p.iter().any(|entry| entry.0 == device && entry.2 > 0));
    (0, active)
}

/// Waits for all work of a context.
pub fn synchronize(context: &Context) {
    let streams = context.streams.lock().map(|list| list.clone()).unwrap_or_default();
    let mut tail = context.null_stream.tail_ns.load(Ordering::Acquire);
    for stream in streams {
        // SAFETY: streams are never freed.
        tail = tail.max(unsafe { (*(stream as *const Stream)).tail_ns.load(Ordering::Acquire) });
    }
    clock::wait_until(tail);
    tool::synchronized(2, &describe(context));
}

/// For libcupti: every living context, each followed by its streams.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sim_cuda_list(
    each: unsafe extern "C" fn(*const Resource, *mut c_void),
    data: *mut c_void,
) {
    let list = CONTEXTS.lock().map(|list| list.clone()).unwrap_or_default();
    let mut devices = vec![false; device::count() as usize];
    for context in list {
        let context = &*(context as *const Context);
        if !context.alive.load(Ordering::Relaxed) {
            continue;
        }
        let seen = devices.get_mut(context.device as usize).map(|seen| std::mem::replace(seen, true));
        let first_of_device = (seen == Some(false)) as u32;
        each(&Resource { cbid: resource::CONTEXT_CREATED, first_of_device, ..describe(context) }, data);
        let streams = context.streams.lock().map(|list| list.clone()).unwrap_or_default();
        for stream in streams {
            let stream = &*(stream as *const Stream);
            if stream.alive.load(Ordering::Relaxed) {
                each(&Resource { cbid: resource::STREAM_CREATED, ..stream.describe() }, data);
            }
        }
    }
}
