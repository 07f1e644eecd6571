//! Calls of the operating system's runtime and of MPI.

use super::{Writer, schema};
use crate::error::Result;
use crate::export::database::Rows;
use trace_format::tables::HostCallRow;
use trace_format::vocabulary::{host_call_domain, mpi_kind};

/// Event class of calls of the operating system's runtime.
const OS_RUNTIME_CLASS: u32 = 27;

const OSRT: &[&str] = &["start", "end", "eventClass", "globalTid", "nameId", "returnValue"];
const MPI: &[&str] = &["start", "end", "globalTid", "textId"];

pub(super) fn write(writer: &mut Writer) -> Result<()> {
    let mut of_system = Rows::new(writer.database, &schema::OSRT, OSRT);
    let mut messages = Rows::new(writer.database, &schema::MPI_P2P, MPI);
    let mut collectives = Rows::new(writer.database, &schema::MPI_COLLECTIVES, MPI);
    let mut requests = Rows::new(writer.database, &schema::MPI_START_WAIT, MPI);
    let mut others = Rows::new(writer.database, &schema::MPI_OTHER, MPI);
    writer.each(|writer, process, call: HostCallRow| {
        let (start, end) = writer.clock.span_of(call.start_ns, call.duration_ns);
        let thread = writer.ids.thread(process, call.tid);
        let name = writer.strings.name(call.name_id)?;
        if call.domain != host_call_domain::MPI {
            let class = OS_RUNTIME_CLASS.into();
            let row = [start.into(), end.into(), class, thread.into(), name.into(), call.returned.into()];
            return of_system.add(row);
        }
        let rows = match call.kind {
            Some(mpi_kind::MESSAGE) => &mut messages,
            Some(mpi_kind::COLLECTIVE) => &mut collectives,
            Some(mpi_kind::REQUEST) => &mut requests,
            _ => &mut others,
        };
        rows.add([start.into(), end.into(), thread.into(), name.into()])
    })
}
