//! Which library a call on the CPU belongs to. The numbers go on from those of [`super::api_domain`].

crate::vocabulary! {
    "OS runtime or MPI.";
    /// `OS runtime`.
    OS_RUNTIME = 2, "OS runtime";
    /// `MPI`.
    MPI = 3, "MPI";
}
