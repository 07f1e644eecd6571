//! The steps of programs.

use super::columns::{PROCESS, count, frame, ns, plain, text, texts, time};
use crate::analysis::labels::Labels;
use crate::analysis::steps::{ProcessSteps, Step, TABLES, steps};
use crate::demangle::Demangling;
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace, Type};
use crate::trace::select::Filter;
use polars::prelude::{Column, DataFrame};
use trace_format::schema::TableSpec;

/// The view.
pub struct Steps;

impl Source for Steps {
    fn name(&self) -> &'static str {
        "steps"
    }
    fn doc(&self) -> &'static str {
        "Steps of each process, in order: its iterations, found by ranges and annotations, else by the sequence of kernels that its busiest stream repeats.\n`docs/views.md` says how they are found and what is counted; `report --view steps_sum` says which of the ways found them."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        vec![
            PROCESS,
            count("step", "Number of the step in its process, from 0."),
            text("name", "Text of the range; NULL for steps by sequence."),
            plain("is_warm_up", Type::Bool, "Whether it is one of the slow first steps that statistics leave out."),
            time("start_ns", "Start."),
            time("end_ns", "End."),
            ns("duration_ns", "How long it took."),
            count("gpus", "GPUs that the process used."),
            ns("busy_ns", "Time in the step in which work of the process ran on a GPU, of its GPUs together."),
            ns("idle_ns", "Time in the step in which none ran, of its GPUs together."),
            ns("kernel_ns", "Durations of the step's kernels, added up."),
            count("kernels", "Kernels of the step."),
            count("copies", "Copies of the step."),
            count("fills", "Fills of the step."),
            count("graphs", "Graphs traced whole of the step."),
        ]
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        TABLES.to_vec()
    }
    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let labels = Labels::new(&trace.frames, Demangling::On);
        let found = steps(&labels, &Filter::everything())?;
        let rows: Vec<(&ProcessSteps, i64, &Step)> = found
            .iter()
            .flat_map(|p| (0_i64..).zip(&p.steps).map(move |(number, step)| (p, number, step)))
            .collect();
        macro_rules! values {
            ($name:literal, $value:expr) => {
                Column::new($name.into(), rows.iter().map($value).collect::<Vec<_>>())
            };
        }
        let columns = vec![
            values!("process", |(p, ..)| p.process),
            values!("step", |(_, number, _)| *number),
            texts("name", rows.iter().map(|(_, _, s)| s.name.map_or("", |name| labels.text(name)))),
            values!("is_warm_up", |(_, _, s)| s.is_warm_up),
            values!("start_ns", |(_, _, s)| s.from_ns),
            values!("end_ns", |(_, _, s)| s.to_ns),
            values!("duration_ns", |(_, _, s)| s.wall_ns()),
            values!("gpus", |(p, ..)| i64::from(p.gpus)),
            values!("busy_ns", |(_, _, s)| s.busy_ns),
            values!("idle_ns", |(p, _, s)| p.idle_ns(s)),
            values!("kernel_ns", |(_, _, s)| s.kernel_ns),
            values!("kernels", |(_, _, s)| s.counts[0] as i64),
            values!("copies", |(_, _, s)| s.counts[1] as i64),
            values!("fills", |(_, _, s)| s.counts[2] as i64),
            values!("graphs", |(_, _, s)| s.counts[3] as i64),
        ];
        frame(rows.len(), columns)
    }
}
