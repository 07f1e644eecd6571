//! What a trace says about its threads, streams and contexts before anything happens in them.

use crate::analysis::contexts::ContextDevices;
use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::ordered::Chunk;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::any;

/// The tables that define threads, streams, contexts and devices.
static DEFINING: &[&TableSpec] = &[&tables::DEVICE, &tables::CONTEXT, &tables::STREAM, &tables::THREAD];

/// Names and places by process.
#[derive(Default, Debug)]
pub struct Definitions {
    /// Name ids by process and thread.
    threads: HashMap<(u32, u32), u32>,
    /// Name ids by process, context and stream.
    streams: HashMap<(u32, u32, u32), u32>,
    /// Devices of contexts.
    contexts: ContextDevices,
}

impl Definitions {
    /// Reads them; `each` sees the rows as well.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read, and with any error that `each` returns.
    pub fn read(
        frames: &Frames,
        filter: &Filter,
        mut each: impl FnMut(&Chunk) -> Result<()>,
    ) -> Result<Definitions> {
        let mut definitions = Definitions { contexts: ContextDevices::read(frames)?, ..Definitions::default() };
        frames.in_order(DEFINING, filter, |chunk| {
            for (piece, i) in chunk.iter() {
                let number = |column| piece.rows.get_if_any(column).get(i);
                let process = piece.process;
                let (context, name) = (number(any::CONTEXT), number(any::NAME_ID));
                if let (Some(tid), Some(name)) = (number(any::TID), name) {
                    definitions.threads.insert((process, tid), name);
                } else if let (Some(context), Some(stream), Some(name)) = (context, number(any::STREAM), name) {
                    definitions.streams.insert((process, context, stream), name);
                }
            }
            each(chunk)
        })?;
        Ok(definitions)
    }

    /// The device of a context.
    pub fn device_of(&self, process: u32, context: Option<u32>) -> u32 {
        self.contexts.of(process, context)
    }

    /// The name id of a thread, if it has a name.
    pub fn thread_name_id(&self, process: u32, tid: u32) -> Option<u32> {
        self.threads.get(&(process, tid)).copied().filter(|&id| id != 0)
    }

    /// The name id of a stream, if the program gave it a name.
    pub fn stream_name_id(&self, process: u32, context: u32, stream: u32) -> Option<u32> {
        self.streams.get(&(process, context, stream)).copied().filter(|&id| id != 0)
    }
}
