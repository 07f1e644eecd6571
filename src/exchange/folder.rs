//! The manifest of a folder with one file per table.

use serde::{Deserialize, Serialize};

/// The manifest's name.
pub const MANIFEST: &str = "gpuprof-export.json";

/// What the manifest holds.
#[derive(Serialize, Deserialize, Debug)]
pub struct Manifest {
    /// The version of this layout. First, so that the first bytes of the file tell what it is.
    pub gpuprof_export: u32,
    /// `csv`, `parquet` or `arrow`.
    pub format: String,
    /// The processes, by ordinal.
    pub processes: Vec<ManifestProcess>,
    /// The files.
    pub files: Vec<ManifestFile>,
}

/// One process of an export.
#[derive(Serialize, Deserialize, Debug)]
pub struct ManifestProcess {
    /// Process id.
    pub pid: Option<u32>,
    /// Rank in a distributed job.
    pub rank: Option<u32>,
    /// Number of ranks.
    pub world_size: Option<u32>,
    /// Host.
    pub host: Option<String>,
    /// What the trace calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether times count from 1970.
    pub unix_time: bool,
    /// Where the trace itself began to count, in nanoseconds since 1970: what listings print is the time from there on.
    /// Older exports do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_ns: Option<i64>,
    /// Whether it is no process of the program but the launcher.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub launcher: bool,
    /// Of which steps of the program there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<ManifestSteps>,
    /// What a budget allowed to record of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<ManifestBudget>,
    /// The trace it was read from.
    pub source: String,
}

/// Of which steps of a program an export holds some: `of_cycle` of every `every`.
#[derive(Serialize, Deserialize, Debug)]
pub struct ManifestSteps {
    /// So many, one after the other.
    pub of_cycle: u32,
    /// After so many it began anew.
    pub every: u32,
    /// How many steps there were, recorded or not; null: nobody has counted those that the export stands for.
    pub all: Option<u64>,
}

/// What a budget allowed to record. Times are those of the rows.
#[derive(Serialize, Deserialize, Debug)]
pub struct ManifestBudget {
    /// The budget, as `--budget` takes it.
    pub budget: String,
    /// Whether windows are whole steps, else spans of time.
    pub steps: bool,
    /// When the recording began; null: nobody knows how much before the first window the export stands for.
    pub began_ns: Option<i64>,
    /// When it ended; null: likewise after the last one.
    pub ended_ns: Option<i64>,
    /// How many steps there were, recorded or not; null: nobody has counted those that the export stands for.
    pub all: Option<u64>,
    /// What the recording took by its own account, in nanoseconds of one core.
    pub spent_ns: Option<u64>,
}

/// One file of an export.
#[derive(Serialize, Deserialize, Debug)]
pub struct ManifestFile {
    /// The table.
    pub table: String,
    /// Its path below the manifest's folder.
    pub path: String,
    /// Its size. A text that was cut off between two rows looks like a whole one. Older exports do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}
