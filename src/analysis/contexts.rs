//! Which device a context is on, for records that name a context alone.

use crate::error::Result;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use hashbrown::HashMap;
use trace_format::tables;
use trace_format::tables::column::any;

/// Devices by process and context.
#[derive(Default, Debug)]
pub struct ContextDevices {
    known: HashMap<(u32, u32), u32>,
    /// By process: the one device that all of its contexts are on.
    only: HashMap<u32, Option<u32>>,
}

impl ContextDevices {
    /// What definitions say; of a context that nothing defines, what the records of its work say.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    pub fn read(frames: &Frames) -> Result<ContextDevices> {
        let mut devices = ContextDevices::default();
        // Of several definitions the first is as good as any; work is asked only about what they leave open.
        for table in [&tables::CONTEXT, &tables::KERNEL, &tables::MEMCPY, &tables::MEMSET] {
            let names_context_alone = frames.rows(&tables::SYNC) > 0 || frames.rows(&tables::EVENT) > 0;
            if table != &tables::CONTEXT && !names_context_alone {
                continue;
            }
            let found = frames.fold(
                table,
                &[any::CONTEXT, any::DEVICE],
                &Filter::everything(),
                HashMap::new,
                |found: &mut HashMap<(u32, u32), u32>, batch| {
                    let (context, device) = (batch.get(any::CONTEXT), batch.get(any::DEVICE));
                    batch.for_each_row(|i| {
                        if let (Some(context), Some(device)) = (context.get(i), device.get(i)) {
                            add(found, (batch.process, context), device);
                        }
                    });
                },
                |all, more| more.into_iter().for_each(|(key, device)| add(all, key, device)),
            )?;
            for (key, device) in found {
                devices.known.entry(key).or_insert(device);
            }
        }
        for (&(process, _), &device) in &devices.known {
            let only = devices.only.entry(process).or_insert(Some(device));
            *only = only.filter(|only| *only == device);
        }
        Ok(devices)
    }

    /// The device of a context; where no record says, the only one that the process's contexts are on, else 0.
    pub fn of(&self, process: u32, context: Option<u32>) -> u32 {
        let known = context.and_then(|context| self.known.get(&(process, context)).copied());
        known.or_else(|| self.only.get(&process).copied().flatten()).unwrap_or(0)
    }
}

/// The smallest, so that the order in which batches are read does not matter.
fn add(found: &mut HashMap<(u32, u32), u32>, key: (u32, u32), device: u32) {
    let known = found.entry(key).or_insert(device);
    *known = device.min(*known);
}
