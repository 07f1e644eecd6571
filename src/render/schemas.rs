//! The names of the forms in which commands answer programs: the key `schema` of every JSON object that is printed.
//!
//! Under one name keys and columns may be added. One that goes, or that changes its meaning or unit, makes the next number.

/// A form and what answers in it.
pub struct Schema {
    /// The value of `schema`.
    pub name: &'static str,
    /// The command that answers in it.
    pub command: &'static str,
    /// What its keys are, beside `schema`.
    pub keys: &'static str,
}

/// `gpuprof report`, whatever it is asked for but the insights alone.
pub const REPORT: &str = "gpuprof/report/1";
/// `gpuprof report --view insights`.
pub const INSIGHTS: &str = "gpuprof/insights/1";
/// `gpuprof info`.
pub const INFO: &str = "gpuprof/info/1";
/// `gpuprof query`.
pub const QUERY: &str = "gpuprof/query/1";
/// `gpuprof diff`.
pub const DIFF: &str = "gpuprof/diff/1";
/// `gpuprof ranks`.
pub const RANKS: &str = "gpuprof/ranks/1";
/// `gpuprof doctor`.
pub const DOCTOR: &str = "gpuprof/doctor/1";
/// `gpuprof top`.
pub const TOP: &str = "gpuprof/top/1";
/// `gpuprof ctl list`.
pub const CTL: &str = "gpuprof/ctl/1";
/// `gpuprof baseline list`.
pub const BASELINES: &str = "gpuprof/baselines/1";
/// `gpuprof config`.
pub const CONFIG: &str = "gpuprof/config/1";

/// All of them.
pub const SCHEMAS: &[Schema] = &[
    Schema { name: REPORT, command: "gpuprof report --format json", keys: "`notes`, `absent`, `tables`" },
    Schema {
        name: INSIGHTS,
        command: "gpuprof report --view insights --format json",
        keys: "`notes`, `absent`, `tables`",
    },
    Schema { name: INFO, command: "gpuprof info --format json", keys: "`notes`, `tables`" },
    Schema { name: QUERY, command: "gpuprof query --format json", keys: "`notes`, `tables`" },
    Schema { name: DIFF, command: "gpuprof diff --format json", keys: "see [diff.md](diff.md)" },
    Schema { name: RANKS, command: "gpuprof ranks --format json", keys: "see [ranks.md](ranks.md)" },
    Schema {
        name: DOCTOR,
        command: "gpuprof doctor --format json",
        keys: "`can_record`, `program`, `driver`, `cupti`, `collector`, `findings`",
    },
    Schema {
        name: TOP,
        command: "gpuprof top --format json",
        keys: "`time_unix_ns`, `window_ns`, `processes`: see [top.md](top.md)",
    },
    Schema { name: CTL, command: "gpuprof ctl list --format json", keys: "`notes`, `tables`" },
    Schema { name: BASELINES, command: "gpuprof baseline list --format json", keys: "`notes`, `tables`" },
    Schema { name: CONFIG, command: "gpuprof config --format json", keys: "`notes`, `tables`" },
];
