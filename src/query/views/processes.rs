//! Who was recorded.

use super::columns::{PROCESS, frame, id, ns, plain, text, texts};
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace, Type};
use polars::prelude::{Column, DataFrame};
use trace_format::schema::TableSpec;

/// The view.
pub struct Processes;

impl Source for Processes {
    fn name(&self) -> &'static str {
        "processes"
    }
    fn doc(&self) -> &'static str {
        "The recorded processes, in the order of their files. Pids repeat across containers; `process` does not."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        vec![
            PROCESS,
            id("pid", "Process id."),
            plain("rank", Type::Int, "Rank in a distributed job."),
            plain("world_size", Type::Int, "Number of ranks."),
            text("host", "Host; of native traces alone."),
            text("path", "The file it was read from."),
            ns(
                "unix_offset_ns",
                "What was added to its times; NULL: the trace has no epoch, its times are relative.",
            ),
            text("role", "process: of the program; launcher: gpuprof record itself, which measured from outside."),
        ]
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        Vec::new()
    }
    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let rows = &trace.frames.processes;
        macro_rules! values {
            ($name:literal, $value:expr) => {
                Column::new($name.into(), rows.iter().map($value).collect::<Vec<_>>())
            };
        }
        let paths: Vec<String> = rows.iter().map(|p| p.path.display().to_string()).collect();
        let columns = vec![
            Column::new("process".into(), (0..rows.len() as u32).collect::<Vec<_>>()),
            values!("pid", |p| p.info.pid),
            values!("rank", |p| p.info.rank.map(i64::from)),
            values!("world_size", |p| p.info.world_size.map(i64::from)),
            texts("host", rows.iter().map(|p| p.info.host.as_deref().unwrap_or_default())),
            texts("path", paths.iter().map(String::as_str)),
            values!("unix_offset_ns", |p| p.info.epoch_ns()),
            texts("role", rows.iter().map(|p| if p.info.is_launcher { "launcher" } else { "process" })),
        ];
        frame(rows.len(), columns)
    }
}
