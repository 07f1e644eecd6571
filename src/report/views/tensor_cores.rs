//! How much of the kernels' time tensor cores probably had, judged by the names of kernels.

use super::named::{Named, percent, pid};
use crate::analysis::activity;
use crate::analysis::by_class::by_class;
use crate::analysis::tensor_cores::likely;
use crate::analysis::work_class::Class;
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;

/// `gpu_tensor_core_guess`.
pub(super) static GPU_TENSOR_CORE_GUESS: Named = Named {
    name: "gpu_tensor_core_guess",
    aliases: &["tensor-cores", "tensor_cores"],
    title: "Kernel Time on Tensor Cores, Guessed from Names",
    tables: &activity::WORK_TABLES,
    detail: Detail::Totals,
    arguments: &[],
    key: &["PID", "DevId", "Guess"],
    make: guess,
};

/// Kernels of one guess.
#[derive(Default)]
struct Sum<'l> {
    kernels: u64,
    total_ns: u128,
    /// The name with the longest total, and that total.
    longest: Option<(u128, &'l str)>,
}

/// Two rows per device: kernels whose names speak of tensor cores, and all others of computation.
fn guess(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "PID",
        "DevId",
        "Kernel Time (ns)",
        "of Computation (%)",
        "Computation (ns)",
        "Kernels",
        "Guess",
        "Longest Total of Name (ns)",
        "Name",
    ];
    let mut table = view.mixed(&columns, &["Guess", "Name"]);
    for (place, device) in by_class(context.labels, context.filter)? {
        let mut sums = [Sum::default(), Sum::default()];
        for ((class, name), stats) in &device.names {
            if *class != Class::Computation {
                continue;
            }
            let sum = &mut sums[usize::from(!likely(name))];
            sum.kernels += stats.count;
            sum.total_ns += stats.total_ns;
            // Of equal ones the first by name.
            if sum.longest.is_none_or(|(ns, _)| stats.total_ns > ns) {
                sum.longest = Some((stats.total_ns, *name));
            }
        }
        let all_ns = sums[0].total_ns + sums[1].total_ns;
        for (sum, guess) in sums.into_iter().zip(["tensor cores", "others"]) {
            let Some((longest_ns, name)) = sum.longest else { continue };
            table.rows.push(vec![
                pid(context.frames, place.0),
                Cell::id(place.1),
                Cell::int(sum.total_ns),
                percent(sum.total_ns, all_ns),
                Cell::int(all_ns),
                Cell::int(sum.kernels),
                guess.into(),
                Cell::int(longest_ns),
                name.into(),
            ]);
        }
    }
    Ok(table)
}
