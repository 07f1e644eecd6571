//! Regions of OpenACC and OpenMP.

use super::{Writer, enums, schema};
use crate::error::Result;
use crate::exchange::nsys_sqlite::openmp_wait;
use crate::export::database::Rows;
use trace_format::tables::{OpenaccRow, OpenmpRow};
use trace_format::vocabulary::openacc_kind::{self, ENQUEUE_LAUNCH};
use trace_format::vocabulary::openmp_kind;

pub(super) fn write(writer: &mut Writer) -> Result<()> {
    openacc(writer)?;
    openmp(writer)
}

/// `acc_device_t` where there is no device.
const NO_DEVICE: u32 = 0;

macro_rules! columns_and {
    ($($more:literal),*) => {
        &["start", "end", "nameId", "globalTid", "eventKind", "DeviceType", "lineNo", "cuDeviceId", "cuContextId",
          "cuStreamId", "srcFile", "funcName", $($more),*]
    };
}

fn openacc(writer: &mut Writer) -> Result<()> {
    let mut data = Rows::new(writer.database, &schema::OPENACC_DATA, columns_and!("bytes", "varName"));
    let mut launches = Rows::new(writer.database, &schema::OPENACC_LAUNCH, columns_and!("kernelName"));
    let mut others = Rows::new(writer.database, &schema::OPENACC_OTHER, columns_and!());
    writer.each(|writer, process, region: OpenaccRow| {
        let (start, end) = writer.clock.span_of(region.start_ns, region.duration_ns);
        let name = writer.strings.text(enums::label("ENUM_OPENACC_EVENT_KIND", region.kind.into()))?;
        let variable = writer.strings.name_if_any(region.variable_id)?;
        let [s, e, n, t, k, d, l, device, context, stream, file, function] = [
            start.into(),
            end.into(),
            name.into(),
            writer.ids.thread(process, region.tid).into(),
            region.kind.into(),
            if region.device.is_some() { openacc_kind::NVIDIA_DEVICE } else { NO_DEVICE }.into(),
            region.line.into(),
            region.device.into(),
            region.context.into(),
            region.stream.into(),
            writer.strings.name_if_any(region.file_id)?.into(),
            writer.strings.name_if_any(region.function_id)?.into(),
        ];
        if region.kind == ENQUEUE_LAUNCH {
            launches.add([s, e, n, t, k, d, l, device, context, stream, file, function, variable.into()])
        } else if openacc_kind::DATA.contains(&region.kind) || region.bytes.is_some() || variable.is_some() {
            let bytes = region.bytes.into();
            data.add([s, e, n, t, k, d, l, device, context, stream, file, function, bytes, variable.into()])
        } else {
            others.add([s, e, n, t, k, d, l, device, context, stream, file, function])
        }
    })
}

/// Event class of OpenMP regions.
const OPENMP_CLASS: u32 = 78;

const OPENMP: &[&str] = &["start", "end", "eventClass", "globalTid", "nameId", "eventKind"];
const OPENMP_WAIT: &[&str] = &["start", "end", "eventClass", "globalTid", "nameId", "eventKind", "kind"];

fn openmp(writer: &mut Writer) -> Result<()> {
    let mut parallel = Rows::new(writer.database, &schema::OPENMP_PARALLEL, OPENMP);
    let mut tasks = Rows::new(writer.database, &schema::OPENMP_TASK, OPENMP);
    let mut threads = Rows::new(writer.database, &schema::OPENMP_THREAD, OPENMP);
    let mut waits = Rows::new(writer.database, &schema::OPENMP_WAIT, OPENMP_WAIT);
    writer.each(|writer, process, region: OpenmpRow| {
        // nsys's number of the event, and of the wait if it is one.
        let (event, wait) = match region.kind {
            openmp_kind::PARALLEL => (28u32, None),
            openmp_kind::TASK => (31, None),
            openmp_kind::THREAD => (27, None),
            openmp_kind::WAIT_BARRIER => (29, Some(openmp_wait::BARRIER)),
            openmp_kind::WAIT_TASKWAIT => (29, Some(openmp_wait::TASKWAIT)),
            // Idle threads are no region of nsys's.
            _ => return Ok(()),
        };
        let (start, end) = writer.clock.span_of(region.start_ns, region.duration_ns);
        let name = writer.strings.text(enums::label("ENUM_OPENMP_EVENT_KIND", event.into()))?;
        let thread = writer.ids.thread(process, region.tid);
        let row = [start.into(), end.into(), OPENMP_CLASS.into(), thread.into(), name.into(), event.into()];
        match (region.kind, wait) {
            (_, Some(kind)) => {
                let [start, end, class, thread, name, event] = row;
                waits.add([start, end, class, thread, name, event, kind.into()])
            }
            (openmp_kind::PARALLEL, _) => parallel.add(row),
            (openmp_kind::TASK, _) => tasks.add(row),
            _ => threads.add(row),
        }
    })
}
