//! Names as people read them: demangled kernels, API calls without version suffixes, devices.

use super::launches::thread_names;
use super::totals::RanOn;
use crate::cupti::{self, operation};
use crate::demangle::{self, Demangling};
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::slots::Slots;
use crate::trace::stored_shapes::Kernel;
use hashbrown::{HashMap, HashSet};
use std::sync::OnceLock;
use trace_format::tables::column::graph;
use trace_format::tables::{self, ShapeRow};

/// What the user calls places, with `%i` for the id of a context or stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceNames {
    /// The process.
    pub process: Option<String>,
    /// Contexts.
    pub context: Option<String>,
    /// Streams.
    pub stream: Option<String>,
}

/// What a kernel is called whose name the trace does not have: a row of numbers without a word looks like a mistake of ours,
/// and nothing could be said about it.
const UNNAMED: &str = "[unnamed]";

fn or_unnamed(name: &str) -> &str {
    if name.is_empty() { UNNAMED } else { name }
}

/// Printed names of one set of traces, made when first asked for: a trace of millions of records prints hundreds.
pub struct Labels<'a> {
    frames: &'a Frames,
    demangling: Demangling,
    demangled: OnceLock<Slots<Box<str>>>,
    texts: OnceLock<Slots<Box<str>>>,
    threads: OnceLock<HashMap<(u32, u32), u32>>,
    places: PlaceNames,
    graphs: OnceLock<HashMap<u32, Box<str>>>,
}

impl<'a> Labels<'a> {
    /// Labels for `frames`, kernels demangled as asked.
    pub fn new(frames: &'a Frames, demangling: Demangling) -> Self {
        Labels {
            frames,
            demangling,
            demangled: OnceLock::new(),
            texts: OnceLock::new(),
            threads: OnceLock::new(),
            places: PlaceNames::default(),
            graphs: OnceLock::new(),
        }
    }

    /// The same labels with the user's own names of places.
    pub fn with_place_names(self, places: PlaceNames) -> Self {
        Labels { places, ..self }
    }

    /// The user's name of the process, if there is one.
    pub fn process_name(&self) -> Option<&str> {
        self.places.process.as_deref()
    }

    /// The user's name of a context, if there is one.
    pub fn context_name(&self, context: u32) -> Option<String> {
        self.places.context.as_ref().map(|name| name.replace("%i", &context.to_string()))
    }

    /// The user's name of a stream, if there is one.
    pub fn stream_name(&self, stream: u32) -> Option<String> {
        self.places.stream.as_ref().map(|name| name.replace("%i", &stream.to_string()))
    }

    /// The traces these labels belong to.
    pub fn frames(&self) -> &'a Frames {
        self.frames
    }

    /// Any interned name as text.
    pub fn text(&self, name: u32) -> &str {
        let make = || self.frames.names.text(name).into();
        self.slots(&self.texts).get_or_init(name, make).map_or("", |text| text)
    }

    fn demangle(&self, name: u32) -> &str {
        let make = || demangle::demangle(self.frames.names.get(name), self.demangling).into();
        self.slots(&self.demangled).get_or_init(name, make).map_or("", |text| text)
    }

    /// A slot for every name. How many there are is known when all have been read, which not every command needs.
    fn slots<'s>(&self, slots: &'s OnceLock<Slots<Box<str>>>) -> &'s Slots<Box<str>> {
        slots.get_or_init(|| Slots::new(self.frames.names.len()))
    }

    /// What a whole graph is called. Of a part of the file that cannot be read the numbers are not known.
    pub fn graph(&self, graph: u32) -> &str {
        let make = || {
            let ids = self.frames.fold(
                &tables::GRAPH,
                &[graph::GRAPH_ID],
                &Filter::everything(),
                HashSet::new,
                |ids: &mut HashSet<u32>, batch| {
                    let graph = batch.get(graph::GRAPH_ID);
                    batch.for_each_row(|i| {
                        ids.insert(graph.get(i).unwrap_or(0));
                    });
                },
                |a, b| a.extend(b),
            );
            ids.unwrap_or_default().into_iter().map(|id| (id, operation::graph_name(id).into())).collect()
        };
        self.graphs.get_or_init(make).get(&graph).map_or(operation::GRAPH, |name| name)
    }

    /// The launch shape with this id.
    pub fn shape(&self, shape: u32) -> Option<ShapeRow> {
        self.frames.shape(shape)
    }

    /// For each shape the first one of the same kernel, as far as the stored names tell.
    pub fn shapes_by_name(&self) -> Vec<u32> {
        let mut first = vec![u32::MAX; self.frames.kernels().len()];
        let numbers = self.frames.kernel_numbers();
        for (shape, &kernel) in (0..).zip(&numbers) {
            let first = &mut first[kernel as usize];
            *first = shape.min(*first);
        }
        numbers.into_iter().map(|kernel| first[kernel as usize]).collect()
    }

    /// The kernel's name, demangled as chosen. A name that the producer stored in both forms is demangled by us, so
    /// that the same kernel reads the same wherever its record came from.
    pub fn kernel(&self, shape: u32) -> &str {
        self.frames.kernel(shape).map_or("", |kernel| self.name_of(kernel))
    }

    /// As [`Labels::kernel`], of a kernel without a shape of it.
    pub fn name_of(&self, kernel: Kernel) -> &str {
        or_unnamed(match kernel {
            Kernel { name_id: 0, demangled_id: Some(id), .. } => self.text(id),
            Kernel { name_id: 0, .. } => "",
            Kernel { name_id, .. } => self.demangle(name_id),
        })
    }

    /// The kernel's name as its producer demangled it, if it did.
    pub fn kernel_as_stored(&self, shape: u32) -> &str {
        self.frames.kernel(shape).map_or("", |kernel| self.stored_name_of(kernel))
    }

    fn stored_name_of(&self, kernel: Kernel) -> &str {
        kernel.demangled_id.map_or_else(|| self.name_of(kernel), |id| or_unnamed(self.text(id)))
    }

    /// The kernel's name without namespaces, arguments and template arguments.
    pub fn kernel_base(&self, shape: u32) -> &str {
        self.frames.kernel(shape).map_or("", |kernel| self.base_name_of(kernel))
    }

    /// As [`Labels::kernel_base`], of a kernel without a shape of it.
    pub fn base_name_of(&self, kernel: Kernel) -> &str {
        match kernel.base_id {
            Some(id) => or_unnamed(self.text(id)),
            None if self.demangling == Demangling::Off => demangle::base_name(self.stored_name_of(kernel)),
            None => demangle::base_name(self.name_of(kernel)),
        }
    }

    /// The name of a native function, demangled as chosen.
    pub fn native_function(&self, name: u32) -> &str {
        self.demangle(name)
    }

    /// Whether everything is to be as nvprof had it, mistakes and omissions included.
    pub fn as_nvprof(&self) -> bool {
        self.demangling == Demangling::Nvprof
    }

    /// The API call's name without its version suffix.
    pub fn api(&self, name: u32) -> &str {
        let name = cupti::strip_version(self.text(name));
        // For nvprof the `_v2` of a function of the runtime was a version too.
        if self.as_nvprof() { cupti::strip_function_version(name) } else { name }
    }

    /// The threads that have names: process and thread id, and the name.
    pub fn named_threads(&self) -> impl Iterator<Item = ((u32, u32), &str)> {
        self.thread_names().iter().map(|(thread, name)| (*thread, self.text(*name)))
    }

    /// The thread's name; empty if the trace does not say.
    pub fn thread(&self, process: u32, tid: u32) -> &str {
        self.thread_names().get(&(process, tid)).map_or("", |name| self.text(*name))
    }

    fn thread_names(&self) -> &HashMap<(u32, u32), u32> {
        // Names that cannot be read are none; that they cannot was noted when they were tried.
        self.threads.get_or_init(|| thread_names(self.frames).unwrap_or_default())
    }

    /// The device's name; empty if the trace does not say.
    pub fn device(&self, process: u32, device: u32) -> &str {
        self.text(self.frames.device_name_id(process, device))
    }
}

impl Labels<'_> {
    /// Grid and block of a launch, as listings print them: `(64 1 1) (256 1 1)`.
    pub fn launch_size(&self, shape: u32) -> String {
        let Some(row) = self.shape(shape) else { return String::new() };
        let triple = |x: Option<i64>, y: Option<i64>, z: Option<i64>| match (x, y, z) {
            (Some(x), Some(y), Some(z)) => format!("({x} {y} {z})"),
            _ => "-".to_owned(),
        };
        let grid = triple(row.grid_x, row.grid_y, row.grid_z);
        format!("{grid} {}", triple(row.block_x, row.block_y, row.block_z))
    }

    /// A process as messages call it: `process 4242 (rank 3)`.
    pub fn process(&self, process: u32) -> String {
        let Some(p) = self.frames.processes.get(process as usize) else { return format!("process #{process}") };
        let what = if p.info.is_launcher { "launcher" } else { "process" };
        let pid = p.info.pid.map_or_else(|| format!("{what} #{process}"), |pid| format!("{what} {pid}"));
        match p.info.rank {
            Some(rank) => format!("{pid} (rank {rank})"),
            None => pid,
        }
    }

    /// A place as row names carry it: `process 4242, GPU 0, stream 7`; what is not part of it is left out, and the
    /// process too while there is only one.
    pub fn place(&self, place: RanOn) -> String {
        let mut parts = Vec::new();
        let is_launcher = |p: u32| self.frames.processes.get(p as usize).is_some_and(|p| p.info.is_launcher);
        let one_process = self.frames.recorded_processes() == 1
            && !is_launcher(place.process)
            && (place.device != RanOn::ANY || place.stream != RanOn::ANY);
        if place.process != RanOn::ANY && !one_process {
            parts.push(self.process(place.process));
        }
        if place.device != RanOn::ANY {
            parts.push(format!("GPU {}", place.device));
        }
        if place.stream != RanOn::ANY {
            // A stream id is unique within its context only, so streams of several contexts name theirs.
            parts.push(format!("context {}, stream {}", place.context, place.stream));
        }
        parts.join(", ")
    }
}
