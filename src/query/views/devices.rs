//! The GPUs.

use super::columns::{PROCESS, bytes, count, frame, id_of, text, texts};
use crate::error::Result;
use crate::query::source::{Source, SourceColumn, Trace};
use crate::query::tables::uuid_text;
use polars::prelude::{Column, DataFrame};
use trace_format::schema::TableSpec;
use trace_format::tables;

/// The view.
pub struct Devices;

impl Source for Devices {
    fn name(&self) -> &'static str {
        "devices"
    }
    fn doc(&self) -> &'static str {
        "The GPUs that each process knew.\nUnder CUDA_VISIBLE_DEVICES every process may call another GPU 0: `uuid` says which are the same."
    }
    fn columns(&self) -> Vec<SourceColumn> {
        vec![
            PROCESS,
            id_of(&tables::DEVICE, "device", "CUDA device index as the process saw it."),
            text("name", "Name, e.g. `NVIDIA H100 80GB HBM3`."),
            text("uuid", "`GPU-…`, as nvidia-smi prints it."),
            text("compute", "Compute capability, e.g. `9.0`."),
            count("multiprocessors", "Streaming multiprocessors."),
            bytes("memory_bytes", "Global memory."),
        ]
    }
    fn tables(&self) -> Vec<&'static TableSpec> {
        vec![&tables::DEVICE]
    }
    fn read(&self, trace: &Trace, _: &[&str]) -> Result<DataFrame> {
        let frames = &trace.frames;
        let rows = &frames.devices;
        let owned = |name: &'static str, values: Vec<String>| texts(name, values.iter().map(String::as_str));
        let uuid = |bytes: &Option<Vec<u8>>| match bytes.as_deref().map(<[u8; 16]>::try_from) {
            Some(Ok(uuid)) => uuid_text(uuid),
            _ => bytes.as_deref().map(|b| String::from_utf8_lossy(b).into_owned()).unwrap_or_default(),
        };
        let compute = |row: &tables::DeviceRow| match (row.compute_major, row.compute_minor) {
            (Some(major), Some(minor)) => format!("{major}.{minor}"),
            _ => String::new(),
        };
        let columns = vec![
            Column::new("process".into(), rows.iter().map(|(process, _)| *process).collect::<Vec<_>>()),
            Column::new("device".into(), rows.iter().map(|(_, row)| row.device).collect::<Vec<_>>()),
            owned("name", rows.iter().map(|(_, row)| frames.names.text(row.name_id).into_owned()).collect()),
            owned("uuid", rows.iter().map(|(_, row)| uuid(&row.uuid)).collect()),
            owned("compute", rows.iter().map(|(_, row)| compute(row)).collect()),
            Column::new("multiprocessors".into(), rows.iter().map(|(_, r)| r.multiprocessors).collect::<Vec<_>>()),
            Column::new("memory_bytes".into(), rows.iter().map(|(_, r)| r.memory_bytes).collect::<Vec<_>>()),
        ];
        frame(rows.len(), columns)
    }
}
