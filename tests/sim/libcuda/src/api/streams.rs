//! Streams and events.

use crate::abi::{Resource, Work, resource, work};
use crate::results::*;
use crate::stream::{self, Event, Stream};
use crate::{clock, context, graph, memory, tool};
use std::ffi::c_void;
use std::sync::atomic::Ordering;

unsafe fn create(out: *mut *mut c_void, flags: u32, priority: i32, correlation: u32) -> i32 {
    let (handle, _) = context::current_handle();
    let Some(context) = context::current() else { return INVALID_CONTEXT };
    let uid = context.next_stream.fetch_add(1, Ordering::Relaxed);
    let stream = Box::into_raw(Box::new(Stream::new(uid, handle.cast(), priority, flags)));
    if let Ok(mut streams) = context.streams.lock() {
        streams.push(stream as usize);
    }
    *out = stream.cast();
    tool::resource(&Resource { cbid: resource::STREAM_CREATED, correlation, ..(*stream).describe() });
    SUCCESS
}

unsafe fn synchronize(handle: *mut c_void, correlation: u32) -> i32 {
    let Some(stream) = stream::of_handle(handle) else { return INVALID_HANDLE };
    if stream.capture().is_some() {
        return STREAM_CAPTURE_UNSUPPORTED;
    }
    let start = clock::now();
    clock::wait_until(stream.tail_ns.load(Ordering::Acquire));
    tool::synchronized(1, &stream.describe());
    memory::tell_sync(3, start, stream.context().uid, stream.uid, (u32::MAX, 0), correlation);
    SUCCESS
}

unsafe fn record(event: *mut c_void, on: *mut c_void, correlation: u32) -> i32 {
    let (Some(event), Some(stream)) = (stream::event_of_handle(event), stream::of_handle(on)) else {
        return INVALID_HANDLE;
    };
    if let Some(capture) = stream.capture() {
        if let Ok(mut captured) = event.captured.lock() {
            *captured = Some(capture);
        }
        return SUCCESS;
    }
    if let Ok(mut captured) = event.captured.lock() {
        *captured = None;
    }
    // An event's place on its stream takes no time of its own.
    let (time, _) = stream.enqueue(clock::now(), 0, None);
    event.time_ns.store(time, Ordering::Release);
    event.recorded.store(true, Ordering::Release);
    if tool::any() {
        let mut record = Work::new(work::EVENT);
        (record.context, record.stream, record.device) =
            (stream.context().uid, stream.uid, stream.context().device);
        (record.event, record.correlation) = (event.uid, correlation);
        record.event_sync = event.syncs.fetch_add(1, Ordering::Relaxed) + 1;
        (record.start_ns, record.end_ns) = (time, time);
        tool::work(&record);
    }
    SUCCESS
}

unsafe fn elapsed(out: *mut f32, from: *mut c_void, to: *mut c_void) -> i32 {
    let (Some(from), Some(to)) = (stream::event_of_handle(from), stream::event_of_handle(to)) else {
        return INVALID_HANDLE;
    };
    let recorded = |event: &Event| event.recorded.load(Ordering::Acquire) && event.timing;
    if !recorded(from) || !recorded(to) {
        return INVALID_HANDLE;
    }
    let (from, to) = (from.time_ns.load(Ordering::Acquire), to.time_ns.load(Ordering::Acquire));
    if from.max(to) > clock::now() {
        return NOT_READY;
    }
    *out = (to as i64 - from as i64) as f32 / 1e6;
    SUCCESS
}

driver! {
    124 fn cuStreamCreate(out: *mut *mut c_void, flags: u32) |call| { create(out, flags, 0, call.correlation) }
    367 fn cuStreamCreateWithPriority(out: *mut *mut c_void, flags: u32, priority: i32) |call| {
        create(out, flags, priority.clamp(-5, 0), call.correlation)
    }
    326 fn cuStreamDestroy_v2(handle: *mut c_void) |_| {
        let Some(stream) = stream::of_handle(handle).filter(|_| handle as usize > 2) else { return INVALID_HANDLE };
        tool::resource(&Resource { cbid: resource::STREAM_DESTROY_STARTING, ..stream.describe() });
        stream.alive.store(false, Ordering::Relaxed);
        if let Ok(mut streams) = stream.context().streams.lock() {
            streams.retain(|&other| other != handle as usize);
        }
        SUCCESS
    }
    126 fn cuStreamSynchronize(handle: *mut c_void) |call| { synchronize(handle, call.correlation) }
    125 fn cuStreamQuery(handle: *mut c_void) |_| {
        let Some(stream) = stream::of_handle(handle) else { return INVALID_HANDLE };
        if stream::idle(stream) { SUCCESS } else { NOT_READY }
    }
    368 fn cuStreamGetPriority(handle: *mut c_void, out: *mut i32) |_| {
        let Some(stream) = stream::of_handle(handle) else { return INVALID_HANDLE };
        *out = stream.priority;
        SUCCESS
    }
    369 fn cuStreamGetFlags(handle: *mut c_void, out: *mut u32) |_| {
        let Some(stream) = stream::of_handle(handle) else { return INVALID_HANDLE };
        *out = stream.flags;
        SUCCESS
    }
    483 fn cuStreamGetCtx(handle: *mut c_void, out: *mut *mut c_void) |_| {
        let Some(stream) = stream::of_handle(handle) else { return INVALID_HANDLE };
        *out = stream.context.cast();
        SUCCESS
    }
    377 fn cuStreamAttachMemAsync(_handle: *mut c_void, _address: u64, _bytes: usize, _flags: u32) |_| { SUCCESS }
    295 fn cuStreamWaitEvent(handle: *mut c_void, event: *mut c_void, _flags: u32) |call| {
        let (Some(stream), Some(event)) = (stream::of_handle(handle), stream::event_of_handle(event)) else {
            return INVALID_HANDLE;
        };
        let captured = event.captured.lock().ok().and_then(|captured| captured.clone());
        if let Some(capture) = captured {
            graph::join(stream, &capture);
            return SUCCESS;
        }
        let start = clock::now();
        stream.enqueue(event.time_ns.load(Ordering::Acquire), 0, None);
        let ids = (event.uid, event.syncs.load(Ordering::Relaxed));
        memory::tell_sync(2, start, stream.context().uid, stream.uid, ids, call.correlation);
        SUCCESS
    }
    118 fn cuEventCreate(out: *mut *mut c_void, flags: u32) |_| {
        *out = stream::new_event(flags).cast();
        SUCCESS
    }
    325 fn cuEventDestroy_v2(event: *mut c_void) |_| {
        let Some(event) = stream::event_of_handle(event) else { return INVALID_HANDLE };
        event.alive.store(false, Ordering::Relaxed);
        SUCCESS
    }
    119 fn cuEventRecord(event: *mut c_void, stream: *mut c_void) |call| { record(event, stream, call.correlation) }
    587 fn cuEventRecordWithFlags(event: *mut c_void, stream: *mut c_void, _flags: u32) |call| {
        record(event, stream, call.correlation)
    }
    120 fn cuEventQuery(event: *mut c_void) |_| {
        let Some(event) = stream::event_of_handle(event) else { return INVALID_HANDLE };
        if event.time_ns.load(Ordering::Acquire) <= clock::now() { SUCCESS } else { NOT_READY }
    }
    121 fn cuEventSynchronize(event: *mut c_void) |call| {
        let Some(event) = stream::event_of_handle(event) else { return INVALID_HANDLE };
        let start = clock::now();
        clock::wait_until(event.time_ns.load(Ordering::Acquire));
        let context = event.context.as_ref().map_or(0, |context| context.uid);
        let ids = (event.uid, event.syncs.load(Ordering::Relaxed));
        memory::tell_sync(1, start, context, u32::MAX, ids, call.correlation);
        SUCCESS
    }
    123 fn cuEventElapsedTime(out: *mut f32, from: *mut c_void, to: *mut c_void) |_| { elapsed(out, from, to) }
    780 fn cuEventElapsedTime_v2(out: *mut f32, from: *mut c_void, to: *mut c_void) |_| { elapsed(out, from, to) }
}
