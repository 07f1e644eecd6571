//! SQLite databases in the schema of nsys: what is only in those that gpuprof wrote.

use trace_format::vocabulary::range_style::{ANNOTATION, OPERATOR, PYTHON};

/// What these databases call the program that wrote them; the importer knows its own files by it.
pub const PRODUCT: &str = "gpuprof";

/// The entry of the table about the export that says from where the original counted, in nanoseconds since 1970: sessions
/// of nsys begin near their records.
pub const ORIGIN: &str = "GPUPROF_ORIGIN_NS";

/// Styles of ranges that are not NVTX's, and the domains they are put into: nsys knows no other kind of range, and
/// readers that do not care find them where PyTorch's own NVTX would be.
pub const FOREIGN_DOMAINS: [(u32, &str); 3] =
    [(OPERATOR, "PyTorch operators"), (ANNOTATION, "PyTorch annotations"), (PYTHON, "Python functions")];
