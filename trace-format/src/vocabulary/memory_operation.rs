//! `CUpti_ActivityMemoryOperationType`, and behind it `CUpti_ActivityMemoryPoolOperationType`.

crate::vocabulary! {
    "What was done.";
    /// `invalid`.
    INVALID = 0, "invalid";
    /// `allocation`.
    ALLOCATION = 1, "allocation";
    /// `release`.
    RELEASE = 2, "release";
    /// A memory pool was made.
    POOL_CREATION = 17, "pool creation";
    /// A memory pool was given up.
    POOL_DESTRUCTION = 18, "pool destruction";
    /// Unused memory of a pool was given back.
    POOL_TRIM = 19, "pool trim";
}

/// CUPTI numbers the operations of memory pools apart from the others, from 1; here they follow this number.
pub const OF_POOL: u32 = 16;
