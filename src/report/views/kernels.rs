//! Kernels by name, alone or with their launch size.

use super::NVTX_NAME;
use super::lines::{Lines, QUANTILES, RowName};
use super::named::Named;
use super::nsys_names::{KernelName, LaunchSize};
use crate::analysis::activity::ActivityKind;
use crate::analysis::{launches, listing, totals};
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use std::borrow::Cow;
use std::cmp::Ordering;
use trace_format::tables;
use trace_format::tables::column::kernel;

/// `cuda_gpu_kern_sum`.
pub(super) static CUDA_GPU_KERN_SUM: Named = Named {
    name: "cuda_gpu_kern_sum",
    aliases: &["gpukernsum"],
    title: "CUDA GPU Kernel Summary",
    tables: &[&tables::KERNEL],
    detail: Detail::Totals,
    arguments: &[NVTX_NAME, "base", "mangled"],
    key: &["Name"],
    make: |view, context| summary(view, context, false),
};

/// `cuda_gpu_kern_gb_sum`; nsys 2022.4 printed this one as `gpukernsum`.
pub(super) static CUDA_GPU_KERN_GB_SUM: Named = Named {
    name: "cuda_gpu_kern_gb_sum",
    aliases: &["gpukerngbsum"],
    title: "CUDA GPU Kernel/Grid/Block Summary",
    tables: &[&tables::KERNEL],
    // Grid and block are what a reader may leave out of the totals.
    detail: Detail::Full,
    arguments: &[NVTX_NAME, "base", "mangled"],
    key: &["GridXYZ", "BlockXYZ", "Name"],
    make: |view, context| summary(view, context, true),
};

/// What a row of kernels is called.
#[derive(PartialEq, Eq, Hash)]
struct KernelRow<'l> {
    /// Where rows are apart by it.
    size: Option<LaunchSize>,
    name: Cow<'l, str>,
}

impl RowName for KernelRow<'_> {
    fn order(&self, other: &Self) -> Ordering {
        let by_size = match (&self.size, &other.size) {
            (Some(a), Some(b)) => a.text_order(b),
            _ => Ordering::Equal,
        };
        by_size.then_with(|| self.name.cmp(&other.name))
    }

    fn cells(&self) -> impl Iterator<Item = Cell> {
        let size = self.size.iter().flat_map(|size| size.cells());
        size.chain([Cell::from(&*self.name)])
    }
}

fn summary(view: &Named, context: &Context, with_size: bool) -> Result<Table> {
    let mut lines = Lines::default();
    let style = KernelName::of(context);
    let row = |shape: u32, range: Option<String>| {
        let kernel = style.text(context.labels, shape);
        let name = range.map_or(Cow::Borrowed(kernel), |range| Cow::Owned(format!("{range}/{kernel}")));
        KernelRow { size: with_size.then(|| LaunchSize::of(context.frames, shape)), name }
    };
    if context.arguments.iter().any(|argument| argument == NVTX_NAME) {
        let work = listing::gpu_activities(context.frames, context.filter, false)?;
        let innermost = launches::innermost_ranges(context.labels, &work)?;
        for (activity, range) in work.iter().zip(innermost) {
            if let (ActivityKind::Kernel { shape }, Some(ns)) = (&activity.what, activity.duration_ns) {
                lines.add(row(*shape, range), ns);
            }
        }
    } else {
        let kernels = totals_by_name(context, with_size)?;
        lines.merge_all(kernels.groups, |group| row(group.key, None));
    }
    let headings: &[&str] = if with_size { &["GridXYZ", "BlockXYZ", "Name"] } else { &["Name"] };
    Ok(lines.table(view, "Instances", headings))
}

/// Adds all kernels by name, behind `category`.
pub(super) fn add_kernels(lines: &mut Lines, context: &Context, category: &str) -> Result<()> {
    let style = KernelName::of(context);
    let kernels = totals_by_name(context, false)?;
    for group in kernels.groups {
        let name = style.text(context.labels, group.key).to_owned();
        lines.merge(vec![category.to_owned(), name], group.stats);
    }
    Ok(())
}

/// Statistics of all kernels by launch shape, or one shape for all of the same name.
fn totals_by_name(context: &Context, with_size: bool) -> Result<totals::Totals> {
    let (frames, filter, split) = (context.frames, context.filter, totals::Split::default());
    if with_size {
        return totals::totals(frames, &tables::KERNEL, Some(kernel::SHAPE_ID), split, QUANTILES, filter);
    }
    totals::kernel_totals(frames, split, QUANTILES, filter)
}
