//! What the numbers of records are called, in the stores and on the page: constants, since a name that nobody has would
//! read as no numbers.

use std::fmt;

/// The name of a field, with the unit in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldName(&'static str);

impl FieldName {
    /// The field that holds a column of the trace.
    pub(super) fn of_column(name: &'static str) -> FieldName {
        FieldName(name)
    }

    /// The name as the page's script knows it.
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

macro_rules! names {
    ($($name:ident = $text:literal;)+) => {
        $(pub(super) const $name: FieldName = FieldName($text);)+
    };
}

names! {
    ADDRESS = "address";
    BLOCK_X = "block_x";
    BLOCK_Y = "block_y";
    BLOCK_Z = "block_z";
    BYTES = "bytes";
    CATEGORY = "category";
    CLUSTER_X = "cluster_x";
    CLUSTER_Y = "cluster_y";
    CLUSTER_Z = "cluster_z";
    COLOR = "color";
    CONTEXT = "context";
    CORRELATION = "correlation";
    DEPTH = "depth";
    DEVICE = "device";
    DOMAIN = "domain";
    DOMAIN_ID = "domain_id";
    DST_DEVICE = "dst_device";
    DST_KIND = "dst_kind";
    DYNAMIC_SMEM_BYTES = "dynamic_smem_bytes";
    EVENT = "event";
    FILE = "file";
    FILE_ID = "file_id";
    GPU = "gpu";
    GPU_COUNT = "gpu_count";
    GRAPH = "graph";
    GRAPH_ID = "graph_id";
    GRAPH_NODE = "graph_node";
    GRAPH_NODE_ID = "graph_node_id";
    GRID_X = "grid_x";
    GRID_Y = "grid_y";
    GRID_Z = "grid_z";
    KIND = "kind";
    LAUNCH = "launch";
    LINE = "line";
    MEM_KIND = "mem_kind";
    NAME_ID = "name_id";
    PAYLOAD = "payload";
    PAYLOAD_F64 = "payload_f64";
    PAYLOAD_I64 = "payload_i64";
    QUEUED_NS = "queued_ns";
    RANGE_ID = "range_id";
    REGISTERS = "registers";
    RESULT = "result";
    SAMPLES = "samples";
    SHAPE = "shape";
    SHAPE_ID = "shape_id";
    SINCE_QUEUED_NS = "since_queued_ns";
    SINCE_SUBMITTED_NS = "since_submitted_ns";
    SRC_DEVICE = "src_device";
    SRC_KIND = "src_kind";
    STATIC_SMEM_BYTES = "static_smem_bytes";
    STREAM = "stream";
    STYLE = "style";
    SUBMITTED_NS = "submitted_ns";
    TABLE = "table";
    TID = "tid";
    UNTRACED_PID = "untraced_pid";
    VALUE = "value";
    VARIABLE_ID = "variable_id";
}
