//! `CUpti_ActivityOverheadKind`.

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
