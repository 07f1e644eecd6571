//! The rows of a picture: which row shows a record, in which colour, and what rows are called.

use super::page::{COMPUTE_LABEL, FILLS_LABEL};
use crate::analysis::labels::Labels;
use crate::cupti::operation;
use trace_format::vocabulary::memcpy_kind;

/// What made a row busy: its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A kernel.
    Kernel,
    /// A graph that was recorded as a whole.
    Graph,
    /// A copy to the GPU.
    CopyIn,
    /// A copy from the GPU.
    CopyOut,
    /// A copy within a GPU or between two.
    Copy,
    /// A fill.
    Fill,
    /// Unified memory moved.
    Migration,
    /// A call of the CUDA API.
    Call,
    /// A range of the program.
    Range,
}

impl Class {
    /// All of them, in the order of the legend.
    pub const ALL: [Class; 9] = [
        Class::Kernel,
        Class::Graph,
        Class::CopyIn,
        Class::CopyOut,
        Class::Copy,
        Class::Fill,
        Class::Migration,
        Class::Call,
        Class::Range,
    ];

    /// What the legend calls it.
    pub fn text(self) -> &'static str {
        match self {
            Class::Kernel => "kernels",
            Class::Graph => "graphs",
            Class::CopyIn => "copies to the GPU",
            Class::CopyOut => "copies from the GPU",
            Class::Copy => "other copies",
            Class::Fill => "fills",
            Class::Migration => "unified memory",
            Class::Call => "API calls",
            Class::Range => "ranges",
        }
    }

    /// The class of a copy.
    pub fn of_copy(kind: u32) -> Class {
        match memcpy_kind::plain(kind) {
            memcpy_kind::HTOD | memcpy_kind::HTOA => Class::CopyIn,
            memcpy_kind::DTOH | memcpy_kind::ATOH => Class::CopyOut,
            _ => Class::Copy,
        }
    }
}

/// Which row of a process; in the order in which they are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PictureRow {
    /// Ranges of a thread.
    Ranges(u32),
    /// API calls of a thread.
    Calls(u32),
    /// Calls and ranges of all threads that have no row of their own.
    OtherThreads,
    /// A row of a GPU.
    Device(u32, OnDevice),
}

impl PictureRow {
    /// Whether the row counts records that no other row counts; those of a GPU's streams are counted in its total.
    pub fn is_part_of_total(self) -> bool {
        matches!(
            self,
            PictureRow::Ranges(_)
                | PictureRow::Calls(_)
                | PictureRow::OtherThreads
                | PictureRow::Device(_, OnDevice::All | OnDevice::Migration)
        )
    }

    /// How far the row is indented, and what it is called. `thread` names a thread of the process; `several_contexts` says
    /// whether a GPU has streams of several contexts, for a stream's number is unique within its context only.
    pub fn label(
        self,
        labels: &Labels,
        process: u32,
        thread: &dyn Fn(u32) -> String,
        several_contexts: &dyn Fn(u32) -> bool,
    ) -> (usize, String) {
        match self {
            PictureRow::Ranges(tid) => (1, format!("{}: ranges", thread(tid))),
            PictureRow::Calls(tid) => (1, format!("{}: CUDA API", thread(tid))),
            PictureRow::OtherThreads => (1, "other threads".to_owned()),
            PictureRow::Device(device, OnDevice::All) => match labels.device(process, device) {
                "" => (1, format!("GPU {device}")),
                name => (1, format!("GPU {device} ({name})")),
            },
            PictureRow::Device(_, OnDevice::Migration) => (2, "Unified memory".to_owned()),
            PictureRow::Device(_, OnDevice::Compute) => (2, COMPUTE_LABEL.to_owned()),
            PictureRow::Device(_, OnDevice::Copies(kind)) => (2, copies(kind)),
            PictureRow::Device(_, OnDevice::Fills) => (2, FILLS_LABEL.to_owned()),
            PictureRow::Device(device, OnDevice::Stream(context, stream)) => (
                2,
                if several_contexts(device) {
                    format!("Context {context}, stream {stream}")
                } else {
                    format!("Stream {stream}")
                },
            ),
            PictureRow::Device(_, OnDevice::OtherStreams) => (2, "other streams".to_owned()),
        }
    }
}

/// Which row of a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnDevice {
    /// All work together.
    All,
    /// Unified memory moved.
    Migration,
    /// Kernels, and graphs that were recorded as a whole.
    Compute,
    /// Copies of one `CUpti_ActivityMemcpyKind`.
    Copies(u32),
    /// Fills.
    Fills,
    /// A stream: context and stream.
    Stream(u32, u32),
    /// All streams that have no row of their own.
    OtherStreams,
}

/// A row of copies as nvvp called it: `MemCpy (HtoD)`.
fn copies(kind: u32) -> String {
    let name = operation::memcpy_name(kind).trim_matches(['[', ']']);
    match (name.strip_prefix("CUDA memcpy"), name.strip_prefix("Unified Memory Memcpy")) {
        (Some(direction), _) if !direction.is_empty() => format!("MemCpy ({})", direction.trim()),
        (_, Some(direction)) => format!("Unified memory ({})", direction.trim()),
        _ => "MemCpy".to_owned(),
    }
}
