//! `CUpti_ExternalCorrelationKind`.

crate::vocabulary! {
    "Whose id it is.";
    /// `invalid`.
    INVALID = 0, "invalid";
    /// `unknown`.
    UNKNOWN = 1, "unknown";
    /// `openacc`.
    OPENACC = 2, "openacc";
    /// The kind that PyTorch pushes for its operators.
    CUSTOM_0 = 3, "custom 0";
    /// `custom 1`.
    CUSTOM_1 = 4, "custom 1";
    /// `custom 2`.
    CUSTOM_2 = 5, "custom 2";
}
