//! Table `host_call`.

crate::table! {
    /// One call on the CPU of a library that is not CUDA's: of the operating system's runtime (waits, files, threads) or of
    /// MPI. Calls may lie in each other. Source: `OSRT_API` and `MPI_*_EVENTS` of nsys's databases.
    HOST_CALL = 33, "host_call", Activity, HostCallRow, HostCallBuilder {
        /// Start, on the trace clock (see `clock`). As recorded, even where it is impossible.
        start_ns: i64 = Delta, Time;
        /// End minus start. Null: no valid times (0/0, end before start, implausible); such a row enters no sum.
        duration_ns: Option<i64> = Delta, Length;
        /// Which library it belongs to. The numbers go on from those of `api.domain`.
        domain: u32 = Dictionary, Coded(host_call_domain);
        /// What a call of MPI is about. Null: not a call of MPI.
        kind: Option<u32> = Dictionary, Coded(mpi_kind);
        /// Name of the function.
        name_id: u32 = Dictionary, Id(string);
        /// Operating system thread id; a foreign trace may give another stable 32-bit id.
        tid: u32 = Dictionary, Id(thread);
        /// What the function returned; null: not known.
        returned: Option<i64> = Plain, Other;
    }
}
