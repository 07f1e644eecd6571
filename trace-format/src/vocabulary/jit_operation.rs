//! `CUpti_ActivityJitOperationType`: what was done.

crate::vocabulary! {
    "What was done.";
    /// `invalid`.
    INVALID = 0, "invalid";
    /// A result was taken from the cache.
    CACHE_LOAD = 1, "cache load";
    /// A result was put into the cache.
    CACHE_STORE = 2, "cache store";
    /// The compiler ran.
    COMPILE = 3, "compile";
}
