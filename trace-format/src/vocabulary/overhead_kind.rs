//! `CUpti_ActivityOverheadKind`.

use super::Wording;

crate::vocabulary! {
    "What took the time.";
    /// `unknown`.
    UNKNOWN = 0, "unknown";
    /// `driver compiler`.
    DRIVER_COMPILER = 1, "driver compiler";
    /// `buffer flush`.
    BUFFER_FLUSH = 65_536, "buffer flush";
    /// `instrumentation`.
    INSTRUMENTATION = 131_072, "instrumentation";
    /// `resource`.
    RESOURCE = 196_608, "resource";
    /// `module loading`.
    MODULE_LOADING = 262_144, "module loading";
    /// `lazy function loading`.
    LAZY_FUNCTION_LOADING = 327_680, "lazy function loading";
    /// `command buffer full`.
    COMMAND_BUFFER_FULL = 393_216, "command buffer full";
    /// `activity buffer request`.
    ACTIVITY_BUFFER_REQUEST = 458_752, "activity buffer request";
    /// `unified memory activity`.
    UNIFIED_MEMORY_ACTIVITY = 524_288, "unified memory activity";
}

/// Kineto's words.
pub static KINETO: Wording = Wording(&[
    (DRIVER_COMPILER, "Driver Compiler"),
    (BUFFER_FLUSH, "Buffer Flush"),
    (INSTRUMENTATION, "Instrumentation"),
    (RESOURCE, "Resource"),
    (MODULE_LOADING, "Runtime Triggered Module Loading"),
    (LAZY_FUNCTION_LOADING, "Lazy Function Loading"),
    (COMMAND_BUFFER_FULL, "Command Buffer Full"),
    (ACTIVITY_BUFFER_REQUEST, "Activity Buffer Request"),
    (UNIFIED_MEMORY_ACTIVITY, "UVM Activity Init"),
]);

/// nsys's number of a compilation.
const NSYS_COMPILER: u32 = 2;

/// The kind behind nsys's number, which counts from 1 without gaps; none for 0, which is nsys itself.
pub fn of_nsys(number: u32) -> Option<u32> {
    match number {
        0 => None,
        NSYS_COMPILER => Some(DRIVER_COMPILER),
        // CUPTI counts in steps of 65,536 after the first.
        3..=10 => Some((number - NSYS_COMPILER) * BUFFER_FLUSH),
        _ => Some(UNKNOWN),
    }
}

/// nsys's number of a kind; 1 where it has none.
pub fn to_nsys(kind: u32) -> u32 {
    (NSYS_COMPILER..=10).find(|number| of_nsys(*number) == Some(kind)).unwrap_or(1)
}
