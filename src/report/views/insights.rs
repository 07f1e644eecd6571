//! What cost the program time on the GPU, and how much of it could be won back.

use crate::error::Result;
use crate::render::table::Table;
use crate::report::insights;
use crate::report::{Context, View};
use crate::trace::sink::Need;

/// `insights`.
pub(super) struct Insights;

impl View for Insights {
    fn name(&self) -> &'static str {
        insights::NAME
    }

    fn title(&self) -> &'static str {
        insights::TITLE
    }

    fn need(&self) -> Need {
        insights::need()
    }

    fn table(&self, context: &Context) -> Result<Table> {
        insights::table(context.labels, context.filter)
    }

    /// For people the block that stands below nvprof's tables.
    fn own_layout(&self, context: &Context, _top: Option<usize>) -> Result<Option<String>> {
        insights::block(context.labels, context.filter).map(Some)
    }
}
