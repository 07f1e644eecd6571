//! Stream capture and graphs.

use crate::graph::{self, Graph};
use crate::results::*;
use crate::stream;
use std::ffi::c_void;

unsafe fn begin(handle: *mut c_void) -> i32 {
    let Some(stream) = stream::of_handle(handle) else { return INVALID_HANDLE };
    graph::begin(stream)
}

unsafe fn instantiate(out: *mut *mut c_void, handle: *mut c_void) -> i32 {
    let Some(graph) = graph::graph_of_handle(handle) else { return INVALID_VALUE };
    *out = graph::instantiate(graph).cast();
    SUCCESS
}

driver! {
    495 fn cuStreamBeginCapture(handle: *mut c_void) |_| { begin(handle) }
    539 fn cuStreamBeginCapture_v2(handle: *mut c_void, _mode: i32) |_| { begin(handle) }
    497 fn cuStreamEndCapture(handle: *mut c_void, out: *mut *mut c_void) |_| {
        let Some(stream) = stream::of_handle(handle) else { return INVALID_HANDLE };
        match graph::end(stream) {
            Ok(graph) => *out = graph.cast::<Graph>().cast(),
            Err(code) => return code,
        }
        SUCCESS
    }
    499 fn cuStreamIsCapturing(handle: *mut c_void, out: *mut i32) |_| {
        let Some(stream) = stream::of_handle(handle) else { return INVALID_HANDLE };
        *out = stream.capture().is_some() as i32;
        SUCCESS
    }
    541 fn cuThreadExchangeStreamCaptureMode(_mode: *mut i32) |_| { SUCCESS }
    513 fn cuGraphInstantiate(out: *mut *mut c_void, graph: *mut c_void, _node: *mut c_void, _log: *mut c_void, _bytes: usize) |_| {
        instantiate(out, graph)
    }
    578 fn cuGraphInstantiate_v2(out: *mut *mut c_void, graph: *mut c_void, _node: *mut c_void, _log: *mut c_void, _bytes: usize) |_| {
        instantiate(out, graph)
    }
    643 fn cuGraphInstantiateWithFlags(out: *mut *mut c_void, graph: *mut c_void, _flags: u64) |_| {
        instantiate(out, graph)
    }
    514 fn cuGraphLaunch(exec: *mut c_void, handle: *mut c_void) |call| {
        let (Some(exec), Some(stream)) = (graph::exec_of_handle(exec), stream::of_handle(handle)) else {
            return INVALID_HANDLE;
        };
        graph::launch(exec, stream, call.correlation);
        SUCCESS
    }
    580 fn cuGraphUpload(exec: *mut c_void, _stream: *mut c_void) |_| {
        if graph::exec_of_handle(exec).is_some() { SUCCESS } else { INVALID_HANDLE }
    }
    516 fn cuGraphExecDestroy(exec: *mut c_void) |_| {
        let Some(exec) = graph::exec_of_handle(exec) else { return INVALID_HANDLE };
        graph::destroy_exec(exec);
        SUCCESS
    }
    517 fn cuGraphDestroy(graph: *mut c_void) |_| {
        let Some(graph) = graph::graph_of_handle(graph) else { return INVALID_HANDLE };
        graph::destroy_graph(graph);
        SUCCESS
    }
    534 fn cuGraphGetNodes(graph: *mut c_void, nodes: *mut *mut c_void, count: *mut usize) |_| {
        let Some(graph) = graph::graph_of_handle(graph) else { return INVALID_VALUE };
        if nodes.is_null() {
            *count = graph.nodes.len();
            return SUCCESS;
        }
        for (i, node) in graph.nodes.iter().enumerate().take(*count) {
            let node: *const graph::Node = node;
            *nodes.add(i) = node.cast_mut().cast();
        }
        SUCCESS
    }
}
