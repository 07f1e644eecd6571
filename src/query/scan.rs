//! A source as Polars scans it: read when a plan runs, and of it only the columns that the plan needs.

use super::source::{Source, Trace};
use polars::prelude::*;
use std::any::Any;
use std::sync::Arc;

struct Scan {
    source: &'static dyn Source,
    trace: Arc<Trace>,
}

fn schema(source: &dyn Source) -> SchemaRef {
    let fields = source.columns().into_iter().map(|c| Field::new(c.name.into(), c.ty.data_type()));
    Arc::new(fields.collect::<Schema>())
}

/// The source as a lazy frame over `trace`.
pub fn lazy(source: &'static dyn Source, trace: &Arc<Trace>) -> PolarsResult<LazyFrame> {
    let arguments =
        ScanArgsAnonymous { schema: Some(schema(source)), name: source.name(), ..ScanArgsAnonymous::default() };
    LazyFrame::anonymous_scan(Arc::new(Scan { source, trace: Arc::clone(trace) }), arguments)
}

/// `wanted` columns of `source`, in that order.
pub fn columns(source: &dyn Source, trace: &Trace, wanted: &[&str]) -> PolarsResult<DataFrame> {
    // A count needs no column, but a frame without columns forgets how long it is.
    let first = source.columns().first().map_or("", |c| c.name);
    let read = if wanted.is_empty() { &[first] } else { wanted };
    let frame = source.read(trace, read).map_err(|e| PolarsError::ComputeError(e.to_string().into()))?;
    if wanted.is_empty() {
        return DataFrame::new(frame.height(), Vec::new());
    }
    frame.select(wanted.iter().copied())
}

impl AnonymousScan for Scan {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn scan(&self, options: AnonymousScanArgs) -> PolarsResult<DataFrame> {
        let every = self.source.columns();
        let wanted: Vec<&str> = match &options.with_columns {
            Some(names) => names.iter().map(|name| name.as_str()).collect(),
            None => every.iter().map(|c| c.name).collect(),
        };
        let frame = columns(self.source, &self.trace, &wanted)?;
        Ok(options.n_rows.map_or_else(|| frame.clone(), |rows| frame.head(Some(rows))))
    }

    fn schema(&self, _: Option<usize>) -> PolarsResult<SchemaRef> {
        Ok(schema(self.source))
    }

    fn allows_projection_pushdown(&self) -> bool {
        true
    }
}
