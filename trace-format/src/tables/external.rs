//! Table `external`.

crate::table! {
    /// Ties a correlation id to an id of somebody else. Source: `CUpti_ActivityExternalCorrelation`.
    EXTERNAL = 26, "external", Activity, ExternalRow, ExternalBuilder {
        /// Joins GPU work to the API call of the same process that caused it.
        correlation: u64 = Delta, Id(api);
        /// `CUpti_ExternalCorrelationKind`: whose id it is.
        external_kind: u32 = Dictionary, Coded(external_kind);
        /// The other id, e.g. PyTorch's operator.
        external_id: u64 = Delta, Object;
    }
}
