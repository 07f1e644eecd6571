//! Calls of libraries other than CUDA's: of the operating system's runtime and of MPI.

use super::lines::{Lines, QUANTILES};
use super::named::Named;
use crate::analysis::stats::Stats;
use crate::error::Result;
use crate::render::table::Table;
use crate::report::Context;
use crate::trace::sink::Detail;
use hashbrown::HashMap;
use trace_format::tables;
use trace_format::tables::column::host_call;
use trace_format::vocabulary::{host_call_domain, mpi_kind};

/// `osrt_sum`.
pub(super) static OSRT_SUM: Named = Named {
    name: "osrt_sum",
    aliases: &["osrtsum"],
    title: "OS Runtime Summary",
    tables: &[&tables::HOST_CALL],
    detail: Detail::Totals,
    arguments: &[],
    key: &["Name"],
    make: os_runtime,
};

/// `mpi_event_sum`.
pub(super) static MPI_EVENT_SUM: Named = Named {
    name: "mpi_event_sum",
    aliases: &["mpieventsum"],
    title: "MPI Event Summary",
    tables: &[&tables::HOST_CALL],
    detail: Detail::Totals,
    arguments: &[],
    key: &["Source", "Name"],
    make: mpi,
};

/// Statistics of one domain's calls by kind and name. Whole durations: a call inside another counts for both, as in nsys.
fn by_name(context: &Context, domain: u32) -> Result<HashMap<(Option<u32>, u32), Stats>> {
    context.frames.fold(
        &tables::HOST_CALL,
        &[host_call::DURATION_NS, host_call::DOMAIN, host_call::KIND, host_call::NAME_ID],
        context.filter,
        HashMap::new,
        |groups: &mut HashMap<(Option<u32>, u32), Stats>, batch| {
            let (duration, of) = (batch.get(host_call::DURATION_NS), batch.get(host_call::DOMAIN));
            let (kind, name) = (batch.get(host_call::KIND), batch.get(host_call::NAME_ID));
            batch.for_each_row(|i| {
                if let (true, Some(ns)) = (of.get(i) == Some(domain), duration.get(i)) {
                    groups.entry((kind.get(i), name.get(i).unwrap_or(0))).or_default().add(ns, QUANTILES);
                }
            });
        },
        |a, b| b.into_iter().for_each(|(key, stats)| a.entry(key).or_default().merge(stats)),
    )
}

fn os_runtime(view: &Named, context: &Context) -> Result<Table> {
    let mut lines = Lines::default();
    for ((_, name), stats) in by_name(context, host_call_domain::OS_RUNTIME)? {
        lines.merge(vec![context.labels.text(name).to_owned()], stats);
    }
    Ok(lines.table(view, "Num Calls", &["Name"]))
}

fn mpi(view: &Named, context: &Context) -> Result<Table> {
    let mut lines = Lines::default();
    for ((kind, name), stats) in by_name(context, host_call_domain::MPI)? {
        let source = kind.and_then(|kind| mpi_kind::VOCABULARY.word(kind)).unwrap_or_default();
        lines.merge(vec![source.to_owned(), context.labels.text(name).to_owned()], stats);
    }
    Ok(lines.table(view, "Instances", &["Source", "Name"]))
}
