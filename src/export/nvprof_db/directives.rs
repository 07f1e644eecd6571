//! Regions of OpenACC and OpenMP.

use super::{Writer, schema, thread};
use crate::error::Result;
use crate::export::database::{Rows, Value};
use trace_format::tables::{OpenaccRow, OpenmpRow};
use trace_format::vocabulary::openacc_kind::{DATA, ENQUEUE_LAUNCH, NVIDIA_DEVICE};

pub(super) fn write(writer: &mut Writer) -> Result<()> {
    openacc(writer)?;
    openmp(writer)
}

macro_rules! columns_and {
    ($($more:literal),*) => {
        &["eventKind", "parentConstruct", "version", "implicit", "deviceType", "lineNo", "start", "end", "cuDeviceId",
          "cuContextId", "cuStreamId", "cuProcessId", "cuThreadId", "externalId", "srcFile", "funcName", $($more),*]
    };
}

fn openacc(writer: &mut Writer) -> Result<()> {
    let mut data = Rows::of_existing(writer.database, &schema::OPENACC_DATA, columns_and!("bytes", "varName"));
    let mut launches = Rows::of_existing(writer.database, &schema::OPENACC_LAUNCH, columns_and!("kernelName"));
    let mut others = Rows::of_existing(writer.database, &schema::OPENACC_OTHER, columns_and!());
    writer.each(|writer, region: OpenaccRow| {
        let (start, end) = writer.span_of(region.start_ns, region.duration_ns);
        let variable = writer.name(region.variable_id)?;
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = [
            region.kind.into(),
            region.parent_construct.into(),
            1u32.into(),
            region.implicit.map(u32::from).into(),
            NVIDIA_DEVICE.into(),
            region.line.into(),
            start.into(),
            end.into(),
            region.device.into(),
            region.context.into(),
            region.stream.into(),
            writer.pid.into(),
            thread(region.tid).into(),
            region.external_id.into(),
            writer.name(region.file_id)?.into(),
            writer.name(region.function_id)?.into(),
        ];
        let variable = Value::Int(variable);
        if region.kind == ENQUEUE_LAUNCH {
            launches.add([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, variable])
        } else if DATA.contains(&region.kind) || region.bytes.is_some() || region.variable_id.is_some() {
            data.add([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, region.bytes.into(), variable])
        } else {
            others.add([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p])
        }
    })
}

fn openmp(writer: &mut Writer) -> Result<()> {
    let columns = &["eventKind", "version", "threadId", "start", "end", "cuProcessId", "cuThreadId"];
    let mut rows = Rows::of_existing(writer.database, &schema::OPENMP, columns);
    writer.each(|writer, region: OpenmpRow| {
        let (start, end) = writer.span_of(region.start_ns, region.duration_ns);
        rows.add([
            region.kind.into(),
            1u32.into(),
            Value::Int(0),
            start.into(),
            end.into(),
            writer.pid.into(),
            thread(region.tid).into(),
        ])
    })
}
