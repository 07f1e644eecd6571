//! Laying rows out: as nvprof printed them ([`nvprof`]), or as typed tables under the names of nsys's reports.
//!
//! A new view is one file in `views/` and one line in [`VIEWS`]; its name in `--view`, in help and in error messages
//! follows from there.

use crate::analysis::labels::Labels;
use crate::error::{Error, Result};
use crate::render::table::Table;
use crate::trace::frames::Frames;
use crate::trace::select::Filter;
use crate::trace::sink::Need;
use trace_format::tables::ShapeRow;

pub(crate) mod absent;
pub mod classic;
pub mod diff;
pub mod diff_flame;
pub(crate) mod imported;
pub(crate) mod insights;
pub mod nvprof;
mod nvtx_text;
mod pstats;
pub mod ranks;
pub mod summary_tables;
pub mod views;

pub use views::VIEWS;

/// What a view works on.
pub struct Context<'a> {
    /// The open traces.
    pub frames: &'a Frames,
    /// Their printed names.
    pub labels: &'a Labels<'a>,
    /// Which rows take part.
    pub filter: &'a Filter,
    /// What stood behind the view's name, e.g. `base` for `cuda_gpu_kern_sum:base`.
    pub arguments: Vec<String>,
}

/// One named table that can be made from any trace.
pub trait View: Sync {
    /// The name nsys gives it, e.g. `cuda_gpu_kern_sum`.
    fn name(&self) -> &'static str;
    /// Older names that mean the same, e.g. `gpukernsum`.
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }
    /// The title, e.g. `CUDA GPU Kernel Summary`.
    fn title(&self) -> &'static str;
    /// What has to be read for it.
    fn need(&self) -> Need;
    /// Arguments that may follow the name after colons.
    fn arguments(&self) -> &'static [&'static str] {
        &[]
    }
    /// Makes the table.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    fn table(&self, context: &Context) -> Result<Table>;
    /// The text for people where the tool that the view is named after has a layout of its own; `top`: rows at most.
    ///
    /// # Errors
    /// Fails if a part of a file cannot be read.
    fn own_layout(&self, _context: &Context, _top: Option<usize>) -> Result<Option<String>> {
        Ok(None)
    }
}

/// Finds the view that `text` names, with its arguments: `cuda_gpu_kern_sum:base`.
///
/// # Errors
/// Fails if the name or an argument is unknown. The error lists the known ones.
pub fn find_view(text: &str) -> Result<(&'static dyn View, Vec<String>)> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let known = VIEWS.iter().find(|view| view.name() == name || view.aliases().contains(&name));
    let Some(view) = known else {
        let names: Vec<&str> = VIEWS.iter().map(|view| view.name()).collect();
        return Err(Error::new(format!("--view: unknown view \"{name}\""))
            .remedy(&format!("known are {}", names.join(", "))));
    };
    let arguments: Vec<String> = parts.map(str::to_owned).collect();
    for argument in &arguments {
        let key = argument.split('=').next().unwrap_or_default();
        if !view.arguments().contains(&key) {
            let known = match view.arguments() {
                [] => "it takes none".to_owned(),
                some => format!("known are {}", some.join(", ")),
            };
            return Err(
                Error::new(format!("--view {}: unknown argument \"{argument}\"", view.name())).remedy(&known)
            );
        }
    }
    Ok((*view, arguments))
}

impl nvprof::Labels for Labels<'_> {
    fn as_nvprof(&self) -> bool {
        Labels::as_nvprof(self)
    }

    fn kernel(&self, shape: u32) -> &str {
        Labels::kernel(self, shape)
    }
    fn shape(&self, shape: u32) -> Option<ShapeRow> {
        Labels::shape(self, shape)
    }
    fn api(&self, name: u32) -> &str {
        Labels::api(self, name)
    }
    fn text(&self, name: u32) -> &str {
        Labels::text(self, name)
    }
    fn device(&self, process: u32, device: u32) -> &str {
        Labels::device(self, process, device)
    }
    fn graph(&self, graph: u32) -> &str {
        Labels::graph(self, graph)
    }
    fn context(&self, context: u32) -> Option<String> {
        self.context_name(context)
    }
    fn stream(&self, stream: u32) -> Option<String> {
        self.stream_name(stream)
    }
}
