//! What a call of MPI is about, in the words of nsys.

crate::vocabulary! {
    "What a call of MPI is about.";
    /// A message between two ranks.
    MESSAGE = 1, "p2p";
    /// A collective operation.
    COLLECTIVE = 2, "collectives";
    /// A request is started or awaited.
    REQUEST = 3, "start/wait";
    /// Something else.
    OTHER = 4, "other";
}
