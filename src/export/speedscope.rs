//! speedscope's own file format: GPU time by range, GPU time by Python line and CPU time as sampled profiles, then the
//! timelines as evented ones, one for each stream and each thread. Times are nanoseconds from the first slice on.

use super::folded::to_stream;
use super::{Columns, Context, Destination, Exporter, KeptTable, KeptTables, Shape};
use crate::analysis::cpu_stacks::HostStacks;
use crate::analysis::stacks::{self, FrameText, Stacks};
use crate::error::{Error, Result};
use profiles::{Finished, FrameTable, Profiles};
use std::io::{self, Write};
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::range;

mod cpu;
mod profiles;
mod spill;

/// Files for <https://www.speedscope.app>.
pub static SPEEDSCOPE: Exporter = Exporter {
    name: "speedscope",
    extension: "speedscope.json",
    other_endings: &["speedscope"],
    binary: false,
    doc: "speedscope: GPU time by NVTX range, API call and kernel, and a timeline of every stream and thread",
    shape: Shape::Stream,
    need: stacks::need,
    options: &[],
    keeps: KeptTables::these(&[KeptTable {
        table: &tables::RANGE,
        columns: Columns::Only(&[range::START_NS, range::END_NS, range::NAME_ID]),
        note: "kernels, copies, fills and API calls too are slices with a name, a start and an end, as ranges are",
    }]),
    write,
};

/// What a slice may come from.
const TABLES: &[&TableSpec] =
    &[&tables::KERNEL, &tables::MEMCPY, &tables::MEMSET, &tables::API, &tables::RANGE, &tables::CPU_SAMPLE];

fn write(context: &Context, destination: &mut Destination) -> Result<()> {
    let text = FrameText::new(context.labels)?;
    let mut table = FrameTable::default();
    let sampled = sampled(context, &text, &mut table)?;
    let host = HostStacks::read(context.frames)?;
    let mut profiles = Profiles::new(context.frames, &text, &mut table, &host);
    context.rows_in_order(TABLES, |chunk| chunk.iter().try_for_each(|(piece, i)| profiles.row(piece, i)))?;
    if profiles.is_empty() {
        return Err(Error::nothing("no record with a duration, so there is nothing to show in speedscope")
            .remedy("gpuprof info says what the trace holds"));
    }
    let profiles = profiles.finish()?;
    to_stream(context, destination, |out| document(context, sampled, profiles, &table, out))
}

/// The whole file.
fn document(
    context: &Context,
    sampled: Vec<String>,
    mut profiles: Finished,
    table: &FrameTable,
    out: &mut dyn Write,
) -> Result<()> {
    let failed = |e: io::Error| Error::output(&e);
    write!(out, "{{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",").map_err(failed)?;
    write!(out, "\"exporter\":\"gpuprof@{}\",", env!("CARGO_PKG_VERSION")).map_err(failed)?;
    write!(out, "\"name\":{},\"activeProfileIndex\":0,\"shared\":{{\"frames\":[", json(&name(context)))
        .map_err(failed)?;
    for (i, text) in table.texts.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        write!(out, "{comma}\n{{\"name\":{}}}", json(text)).map_err(failed)?;
    }
    write!(out, "\n]}},\"profiles\":[").map_err(failed)?;
    let mut comma = "";
    for sampled in sampled {
        write!(out, "{comma}\n{sampled}").map_err(failed)?;
        comma = ",";
    }
    for (name, events) in &profiles.profiles {
        write!(out, "{comma}\n{{\"type\":\"evented\",\"name\":{},\"unit\":\"nanoseconds\",", json(name))
            .and_then(|()| write!(out, "\"startValue\":0,\"endValue\":{},\"events\":[", profiles.end_ns))
            .map_err(failed)?;
        profiles.spill.copy(events, out)?;
        write!(out, "]}}").map_err(failed)?;
        comma = ",";
    }
    writeln!(out, "\n]}}").map_err(failed)
}

/// Time as sampled profiles: GPU time by range, and where such were recorded GPU time by Python line and CPU time. One
/// sample for each stack, whose weight is its total.
fn sampled(context: &Context, text: &FrameText, table: &mut FrameTable) -> Result<Vec<String>> {
    let rows = |table| context.frames.rows(table) > 0;
    let mut profiles = vec![("GPU time by range", Stacks::by_range(context.labels, context.filter)?)];
    if rows(&tables::LAUNCH_STACK) {
        profiles.push(("GPU time by Python line", Stacks::gpu_python(context.labels, context.filter)?));
    }
    if rows(&tables::CPU_SAMPLE) {
        profiles.push(("CPU time", Stacks::cpu(context.labels, context.filter)?));
    }
    Ok(profiles.iter().filter_map(|(name, stacks)| profile(name, stacks, text, table)).collect())
}

/// `None` without any stack.
fn profile(name: &str, stacks: &Stacks, text: &FrameText, table: &mut FrameTable) -> Option<String> {
    let (mut samples, mut weights) = (Vec::new(), Vec::new());
    stacks.for_each(|path, weight| {
        let indexes: Vec<String> = path.iter().map(|&frame| table.index(frame, text).to_string()).collect();
        samples.push(format!("[{}]", indexes.join(",")));
        weights.push(weight.total_ns.to_string());
    });
    (!samples.is_empty()).then(|| {
        format!(
            "{{\"type\":\"sampled\",\"name\":{},\"unit\":\"nanoseconds\",\"startValue\":0,\
             \"endValue\":{},\"samples\":[{}],\"weights\":[{}]}}",
            json(name),
            stacks.total_ns(),
            samples.join(","),
            weights.join(",")
        )
    })
}

/// The names of the files.
fn name(context: &Context) -> String {
    let names = context.frames.files.iter().filter_map(|file| file.path.file_name());
    names.map(|name| name.to_string_lossy()).collect::<Vec<_>>().join(", ")
}

/// Text as JSON has it.
fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
