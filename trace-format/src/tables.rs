//! The registry: every table of the format. A new one is a file here and a line in the list below.

use crate::schema::{Role, TableSpec};

macro_rules! registry {
    ($($module:ident :: $spec:ident, $row:ident;)+) => {
        $(pub mod $module;)+
        $(pub use $module::{$row, $spec};)+

        /// The columns of every table, typed: `column::kernel::START_NS`.
        pub mod column {
            pub mod any;
            $(pub use super::$module::columns as $module;)+
        }

        /// Every table, by number.
        pub static ALL: &[&TableSpec] = &[&PROCESS, $(&$spec,)+ &INDEX, &CLOSED];
    };
}

registry! {
    string::STRING, StringRow;
    shape::SHAPE, ShapeRow;
    device::DEVICE, DeviceRow;
    context::CONTEXT, ContextRow;
    stream::STREAM, StreamRow;
    thread::THREAD, ThreadRow;
    kernel::KERNEL, KernelRow;
    memcpy::MEMCPY, MemcpyRow;
    memset::MEMSET, MemsetRow;
    api::API, ApiRow;
    sync::SYNC, SyncRow;
    overhead::OVERHEAD, OverheadRow;
    graph::GRAPH, GraphRow;
    memory::MEMORY, MemoryRow;
    uvm::UVM, UvmRow;
    event::EVENT, EventRow;
    external::EXTERNAL, ExternalRow;
    jit::JIT, JitRow;
    openacc::OPENACC, OpenaccRow;
    openmp::OPENMP, OpenmpRow;
    range::RANGE, RangeRow;
    capture::CAPTURE, CaptureRow;
    loss::LOSS, LossRow;
    clock::CLOCK, ClockRow;
    note::NOTE, NoteRow;
    sample::SAMPLE, SampleRow;
    frame::FRAME, FrameRow;
    stack::STACK, StackRow;
    cpu_sample::CPU_SAMPLE, CpuSampleRow;
    launch_stack::LAUNCH_STACK, LaunchStackRow;
    host_call::HOST_CALL, HostCallRow;
    foreign::FOREIGN, ForeignRow;
    details::DETAILS, DetailsRow;
}

/// Who was recorded: pid, ppid, argv, exe, host, boot id, uid, cwd, start_unix_ns, rank, local_rank, world_size,
/// chosen environment (an allow-list), versions (gpuprof, cupti, driver, runtime), configuration, denied kinds.
pub static PROCESS: TableSpec = TableSpec {
    id: 1,
    name: "process",
    role: Role::Json,
    columns: &[],
    doc: "One JSON object: who was recorded, by what, how. Unknown keys are legal.\n",
};

/// The key in [`PROCESS`] that says what a trace is of; a trace without it is of a process with CUDA.
pub const ROLE: &str = "role";

/// The key in [`PROCESS`] that says how many steps a program made of which some were recorded (`every:N,steps:M`).
pub const STEPS: &str = "steps";

/// The key in [`PROCESS`] that says what came of a budget (`--budget`): an object with the keys of [`budget`].
pub const BUDGET: &str = "budget";

/// Keys of [`BUDGET`]. Times are on the trace clock, costs in nanoseconds of one core.
pub mod budget {
    /// When windows could first be opened.
    pub const BEGAN_NS: &str = "began_ns";
    /// When the recording ended; not there in a trace that was not closed.
    pub const ENDED_NS: &str = "ended_ns";
    /// What a call that CUPTI intercepts was measured to take.
    pub const CALL_NS: &str = "call_ns";
    /// What was spent, by what for.
    pub const SPENT_NS: &str = "spent_ns";
    /// In [`SPENT_NS`]: in the program's calls.
    pub const CALLS: &str = "calls";
    /// In [`SPENT_NS`]: for kernels, copies and fills.
    pub const WORK: &str = "work";
    /// In [`SPENT_NS`]: by the collector's own threads.
    pub const THREADS: &str = "threads";
    /// In [`SPENT_NS`]: by the program's threads, opening and closing windows.
    pub const SWITCHING: &str = "switching";
}

/// The key in [`PROCESS`] under which the collector's settings stand, by the names of their variables.
pub const CONFIGURATION: &str = "configuration";

/// The value of [`ROLE`] for the launcher, whose trace holds what was measured from outside.
pub const ROLE_LAUNCHER: &str = "launcher";

/// Where the frames before this one are: lets a reader skip what it does not want.
pub static INDEX: TableSpec = TableSpec {
    id: 60,
    name: "index",
    role: Role::Json,
    columns: &[],
    doc: "The headers of the frames since the index before, and where that one is.\n",
};

/// The last frame of a file that was closed in order.
pub static CLOSED: TableSpec = TableSpec {
    id: 61,
    name: "closed",
    role: Role::Json,
    columns: &[],
    doc: "Totals per table and the last index; a file without it was not closed.\n",
};

/// The table with number `id`.
pub fn by_id(id: u16) -> Option<&'static TableSpec> {
    ALL.iter().copied().find(|t| t.id == id)
}

/// The table called `name`.
pub fn by_name(name: &str) -> Option<&'static TableSpec> {
    ALL.iter().copied().find(|t| t.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_unique() {
        for (i, a) in ALL.iter().enumerate() {
            for b in &ALL[i + 1..] {
                assert_ne!(a.id, b.id, "{} and {} share a number", a.name, b.name);
                assert_ne!(a.name, b.name);
            }
        }
    }

    #[test]
    fn every_id_refers_to_a_table_that_has_a_key_of_its_type() {
        use crate::schema::Unit;
        let key = |table: &TableSpec| {
            let keys: Vec<_> = table.columns.iter().filter(|column| column.unit == Unit::Key).collect();
            assert!(keys.len() <= 1, "{} has several keys", table.name);
            keys.first().map(|column| column.ty)
        };
        let mut referred = std::collections::BTreeSet::new();
        for table in ALL {
            for column in table.columns {
                if let Unit::Id(other) = column.unit {
                    let at = format!("{}.{} refers to {}", table.name, column.name, other.name);
                    assert_eq!(key(other), Some(column.ty), "{at}");
                    assert!(std::ptr::eq(by_id(other.id).unwrap(), other), "{at}, which is not in the registry");
                    referred.insert(other.name);
                }
            }
        }
        for table in ALL.iter().filter(|table| key(table).is_some()) {
            assert!(referred.contains(table.name), "no column refers to the key of {}", table.name);
        }
    }

    #[test]
    fn a_column_that_is_named_like_a_key_says_which_table_it_refers_to() {
        use crate::schema::Unit;
        let tables_by_end = [("device", "device"), ("context", "context"), ("stream", "stream"), ("tid", "thread")];
        let columns = ALL.iter().flat_map(|table| table.columns.iter().map(move |column| (table, column)));
        for (table, column) in columns {
            let Some((_, other)) = tables_by_end.iter().find(|(end, _)| column.name.ends_with(end)) else {
                continue;
            };
            let refers = matches!(column.unit, Unit::Id(to) if to.name == *other);
            let is_key = column.unit == Unit::Key && table.name == *other;
            assert!(refers || is_key, "{}.{} is {:?}", table.name, column.name, column.unit);
        }
    }

    #[test]
    fn every_column_carries_its_unit_in_its_name() {
        use crate::schema::Unit;
        for table in ALL {
            for column in table.columns {
                match column.unit {
                    Unit::Time | Unit::Length => {
                        assert!(column.name.ends_with("_ns"), "{}.{}", table.name, column.name)
                    }
                    Unit::Bytes => assert!(column.name.ends_with("bytes"), "{}.{}", table.name, column.name),
                    _ => {}
                }
                assert!(!column.doc.is_empty(), "{}.{}", table.name, column.name);
            }
        }
    }
}
