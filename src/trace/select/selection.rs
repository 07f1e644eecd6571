//! What the user asked for.

use regex::Regex;

/// What the user asked for. The default selects everything.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Kernels whose demangled name matches, and the calls that launched them.
    pub kernel_name: Option<Regex>,
    /// API calls whose name matches, and the GPU work that they launched.
    pub api_name: Option<Regex>,
    /// Kernels whose demangled name matches, the calls that launched them, and API calls whose name matches.
    pub kernel_or_api: Option<Regex>,
    /// Device indices; empty: all.
    pub devices: Vec<u32>,
    /// Stream ids; empty: all.
    pub streams: Vec<u32>,
    /// Processes by pid; empty: all.
    pub pids: Vec<u32>,
    /// Processes by rank; empty: all.
    pub ranks: Vec<u32>,
    /// Rows that start at this time or later, in the trace's own time.
    pub from_ns: Option<i64>,
    /// Rows that start before this time.
    pub to_ns: Option<i64>,
    /// API calls made inside a range of this name, and the GPU work they launched. In the name `*` stands for anything.
    pub range: Option<String>,
    /// Rows that last so long or longer. Rows without a duration are no part of this question and stay.
    pub min_duration_ns: Option<i64>,
    /// Of the kernels, those of so many names with the most time.
    pub top_kernels: Option<usize>,
}

impl Selection {
    /// Whether rows are chosen by something that only GPU work has.
    pub(super) fn by_gpu_property(&self) -> bool {
        self.kernel_pattern().is_some() || !self.devices.is_empty() || !self.streams.is_empty()
    }

    /// What names of kernels have to match.
    pub(super) fn kernel_pattern(&self) -> Option<&Regex> {
        self.kernel_name.as_ref().or(self.kernel_or_api.as_ref())
    }

    /// Whether every row is selected.
    pub fn is_everything(&self) -> bool {
        !self.by_gpu_property()
            && self.api_name.is_none()
            && self.pids.is_empty()
            && self.ranks.is_empty()
            && self.from_ns.is_none()
            && self.to_ns.is_none()
            && self.range.is_none()
            && self.min_duration_ns.is_none()
            && self.top_kernels.is_none()
    }

    /// Whether resolving needs the API calls and their correlation ids, beyond what a summary needs.
    pub fn needs_correlation(&self) -> bool {
        self.by_gpu_property() || self.api_name.is_some() || self.range.is_some()
    }
}
