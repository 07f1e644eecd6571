//! What a file holds that is no record: sums that another tool made of records it did not keep, and CPU profiles.
//!
//! They are not in any table, and nothing here is taken apart into records that nobody measured: reports print them
//! beside the tables, marked as what they are.

use std::collections::HashMap;

/// One summary and the file it is from.
#[derive(Clone, Debug)]
pub struct FileSummary {
    /// Index of the file in [`super::frames::Frames::files`].
    pub file: usize,
    /// What it holds.
    pub summary: Summary,
}

/// One table of sums.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Who made it, e.g. `nvprof`.
    pub maker: &'static str,
    /// The process it is about.
    pub pid: Option<u32>,
    /// The sums.
    pub content: Content,
}

/// The sums of a [`Summary`].
#[derive(Clone, Debug)]
pub enum Content {
    /// Calls and durations by name.
    Durations(Section, Vec<DurationRow>),
    /// Operations and sizes by name.
    Sizes(Vec<SizeRow>),
    /// Weights of sampled call stacks by function.
    Samples(SampleProfile),
    /// Python's deterministic profile, in the order of the file.
    Functions(Vec<FunctionRow>),
}

/// What the rows of a summary of durations are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Section {
    /// Kernels, copies and fills.
    Gpu,
    /// Runtime and driver calls.
    Api,
    /// OpenACC regions, time of enclosed regions left out.
    OpenaccExclusive,
    /// OpenACC regions, time of enclosed regions included.
    OpenaccInclusive,
    /// OpenMP regions.
    Openmp,
    /// Ranges of the program.
    Ranges,
    /// Calls of the operating system or of MPI.
    HostCalls,
}

/// Everything of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DurationRow {
    /// The name.
    pub name: String,
    /// How many.
    pub calls: u64,
    /// How long all of them took.
    pub total_ns: u64,
    /// The shortest and the longest; `None` where the tool did not print them.
    pub extremes_ns: Option<(u64, u64)>,
    /// The mean as printed, where the total is rounded.
    pub mean_ns: Option<u64>,
}

/// Operations of one kind and the bytes they moved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizeRow {
    /// Which device, as the file calls it; empty where it does not say.
    pub device: String,
    /// The operation.
    pub name: String,
    /// How many; null where the file does not say.
    pub count: Option<u64>,
    /// Bytes of all together.
    pub total_bytes: Option<i64>,
    /// The smallest.
    pub min_bytes: Option<i64>,
    /// The largest.
    pub max_bytes: Option<i64>,
    /// Time they took.
    pub total_ns: Option<i64>,
}

/// A function of a cProfile dump. Times are seconds in binary floating point, because the format holds them so and
/// `pstats` computes with them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionRow {
    /// File; `~` for built-in functions.
    pub file: String,
    /// Line; 0 for built-in functions.
    pub line: i64,
    /// Name.
    pub function: String,
    /// Calls that were not recursive.
    pub primitive_calls: i64,
    /// All calls.
    pub calls: i64,
    /// Seconds in the function itself.
    pub own_s: f64,
    /// Seconds in the function and in what it called.
    pub total_s: f64,
}

/// What samples are weighed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// Nanoseconds.
    #[default]
    Time,
    /// Bytes.
    Bytes,
    /// A plain number, or the number of samples itself.
    Count,
}

/// Sums over sampled call stacks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleProfile {
    /// What was sampled: a thread's name; empty where the file does not say.
    pub name: String,
    /// What weights are.
    pub weight: Weight,
    /// Samples.
    pub samples: u64,
    /// Weight of all samples.
    pub total: i128,
    /// By function, in the order in which they were met.
    pub rows: Vec<SampleRow>,
}

/// A function of sampled call stacks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SampleRow {
    /// The function, with file and line where the file has them.
    pub name: String,
    /// Weight of the samples in which it was the innermost.
    pub own: i128,
    /// Weight of the samples in which it was on the stack, once each.
    pub total: i128,
    /// Samples in which it was on the stack.
    pub samples: u64,
}

impl Content {
    /// The name of its table for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            Content::Durations(section, _) => section.table_name(),
            Content::Sizes(_) => "imported_size_summary",
            Content::Samples(_) => "cpu_samples",
            Content::Functions(_) => "cpu_functions",
        }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        match self {
            Content::Durations(_, rows) => rows.len(),
            Content::Sizes(rows) => rows.len(),
            Content::Samples(profile) => profile.rows.len(),
            Content::Functions(rows) => rows.len(),
        }
    }
}

impl Section {
    /// What nvprof calls it.
    pub fn label(self) -> &'static str {
        match self {
            Section::Gpu => "GPU activities",
            Section::Api => "API calls",
            Section::OpenaccExclusive => "OpenACC (excl)",
            Section::OpenaccInclusive => "OpenACC (incl)",
            Section::Openmp => "OpenMP (incl)",
            Section::Ranges => "Ranges",
            Section::HostCalls => "Host calls",
        }
    }

    /// The name of its table for machines.
    pub fn table_name(self) -> &'static str {
        match self {
            Section::Gpu => "imported_gpu_summary",
            Section::Api => "imported_api_summary",
            Section::OpenaccExclusive | Section::OpenaccInclusive => "imported_openacc_summary",
            Section::Openmp => "imported_openmp_summary",
            Section::Ranges => "imported_range_summary",
            Section::HostCalls => "imported_host_call_summary",
        }
    }
}

/// Collects rows of durations by name: a report may list a name once for each device, or for each launch shape.
#[derive(Default)]
pub struct DurationRows {
    rows: Vec<DurationRow>,
    index: HashMap<String, usize>,
}

impl DurationRows {
    /// Adds a row to those of the same name.
    pub fn add(&mut self, row: DurationRow) {
        let next = self.rows.len();
        match *self.index.entry(row.name.clone()).or_insert(next) {
            at if at < next => {
                let known = &mut self.rows[at];
                known.mean_ns = None;
                known.calls = known.calls.saturating_add(row.calls);
                known.total_ns = known.total_ns.saturating_add(row.total_ns);
                known.extremes_ns = match (known.extremes_ns, row.extremes_ns) {
                    (Some(known), Some(new)) => Some((known.0.min(new.0), known.1.max(new.1))),
                    _ => None,
                };
            }
            _ => self.rows.push(row),
        }
    }

    /// The rows together, as they came.
    pub fn finish(self) -> Vec<DurationRow> {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
