//! The columns of listings: what they are called, how wide they are, on which scale their values are.

use super::super::fmt::{RATE, SIZE, TIME, Unit};

/// The columns that any listing has, in the order in which they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Column {
    Start,
    Duration,
    Grid,
    Block,
    Registers,
    StaticSmem,
    DynamicSmem,
    Size,
    Throughput,
    SrcMemType,
    DstMemType,
    Device,
    Context,
    Stream,
    SrcDevice,
    SrcContext,
    DstDevice,
    DstContext,
    UnifiedMemory,
    VirtualAddress,
}

/// How a column is headed.
pub(super) struct Spec {
    pub column: Column,
    /// In text. A star refers to the notes below the table.
    pub title: &'static str,
    pub width: usize,
    /// In CSV; more than one where CSV splits the cell.
    pub csv: &'static [&'static str],
    pub scale: Option<&'static [Unit]>,
    /// The note below a text table.
    pub note: &'static str,
}

const fn spec(column: Column, title: &'static str, width: usize, csv: &'static [&'static str]) -> Spec {
    Spec { column, title, width, csv, scale: None, note: "" }
}

const fn scaled(scale: &'static [Unit], spec: Spec) -> Spec {
    Spec { scale: Some(scale), ..spec }
}

const fn noted(note: &'static str, spec: Spec) -> Spec {
    Spec { note, ..spec }
}

const REGISTERS_NOTE: &str = "Regs: Number of registers used per CUDA thread. This number includes registers used \
    internally by the CUDA driver and/or tools and can be more than what the compiler shows.";
const STATIC_NOTE: &str = "SSMem: Static shared memory allocated per CUDA block.";
const DYNAMIC_NOTE: &str = "DSMem: Dynamic shared memory allocated per CUDA block.";
const SRC_NOTE: &str = "SrcMemType: The type of source memory accessed by memory operation/copy";
const DST_NOTE: &str = "DstMemType: The type of destination memory accessed by memory operation/copy";

/// All columns, indexed by [`Column`].
pub(super) static COLUMNS: [Spec; 20] = [
    scaled(&TIME, spec(Column::Start, "Start", 8, &["Start"])),
    scaled(&TIME, spec(Column::Duration, "Duration", 8, &["Duration"])),
    spec(Column::Grid, "Grid Size", 19, &["Grid X", "Grid Y", "Grid Z"]),
    spec(Column::Block, "Block Size", 14, &["Block X", "Block Y", "Block Z"]),
    noted(REGISTERS_NOTE, spec(Column::Registers, "Regs*", 8, &["Registers Per Thread"])),
    noted(STATIC_NOTE, scaled(&SIZE, spec(Column::StaticSmem, "SSMem*", 8, &["Static SMem"]))),
    noted(DYNAMIC_NOTE, scaled(&SIZE, spec(Column::DynamicSmem, "DSMem*", 8, &["Dynamic SMem"]))),
    scaled(&SIZE, spec(Column::Size, "Size", 8, &["Size"])),
    scaled(&RATE, spec(Column::Throughput, "Throughput", 10, &["Throughput"])),
    noted(SRC_NOTE, spec(Column::SrcMemType, "SrcMemType", 10, &["SrcMemType"])),
    noted(DST_NOTE, spec(Column::DstMemType, "DstMemType", 10, &["DstMemType"])),
    spec(Column::Device, "Device", 15, &["Device"]),
    spec(Column::Context, "Context", 8, &["Context"]),
    spec(Column::Stream, "Stream", 8, &["Stream"]),
    spec(Column::SrcDevice, "Src Dev", 15, &["Src Dev"]),
    spec(Column::SrcContext, "Src Ctx", 8, &["Src Ctx"]),
    spec(Column::DstDevice, "Dst Dev", 15, &["Dst Dev"]),
    spec(Column::DstContext, "Dst Ctx", 8, &["Dst Ctx"]),
    scaled(&SIZE, spec(Column::UnifiedMemory, "Unified Memory", 20, &["Unified Memory"])),
    spec(Column::VirtualAddress, "Virtual Address", 15, &["Virtual Address"]),
];
