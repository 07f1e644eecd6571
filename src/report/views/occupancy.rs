//! Theoretical occupancy and waves of every launch shape.

use super::named::{Named, percent, pid, ratio};
use super::nsys_names::{KernelName, LaunchSize};
use crate::analysis::occupancy::{Block, Limits, Occupancy, Waves, occupancy, waves};
use crate::analysis::stats::{Stats, Wanted};
use crate::analysis::totals::{self, Split};
use crate::error::Result;
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use hashbrown::HashMap;
use trace_format::tables::column::kernel;
use trace_format::tables::{self, DeviceRow, ShapeRow};

/// `gpu_occupancy`.
pub(super) static GPU_OCCUPANCY: Named = Named {
    name: "gpu_occupancy",
    aliases: &["occupancy", "waves"],
    title: "Theoretical Occupancy and Waves",
    tables: &[&tables::KERNEL],
    // Registers and sizes are what a reader may leave out of the totals.
    detail: Detail::Full,
    arguments: &["base", "mangled"],
    key: &["PID", "DevId", "GridXYZ", "BlockXYZ", "Registers", "Shared Memory (bytes)", "Name"],
    make: table,
};

/// Launches of one row.
#[derive(PartialEq, Eq, Hash)]
struct Launch<'l> {
    name: &'l str,
    process: u32,
    device: u32,
    size: LaunchSize,
    registers: Option<i64>,
    shared_bytes: Option<i64>,
}

fn table(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "of Kernel Time (%)",
        "Total Time (ns)",
        "Instances",
        "PID",
        "DevId",
        "GridXYZ",
        "BlockXYZ",
        "Registers",
        "Shared Memory (bytes)",
        "Blocks per SM",
        "Occupancy of Warps (%)",
        "Limited By",
        "Waves",
        "Empty of All Waves (%)",
        "Name",
    ];
    let mut table = view.mixed(&columns, &["GridXYZ", "BlockXYZ", "Limited By", "Name"]);
    let (frames, labels, style) = (context.frames, context.labels, KernelName::of(context));
    let split = Split { device: true, ..Split::default() };
    let sums = Wanted { quantiles: false };
    let totals = totals::totals(frames, &tables::KERNEL, Some(kernel::SHAPE_ID), split, sums, context.filter)?;
    // A shape may have several ids.
    let mut launches: HashMap<Launch, (Stats, u32)> = HashMap::new();
    for group in totals.groups {
        let shape = frames.shape(group.key).unwrap_or_default();
        let launch = Launch {
            name: style.text(labels, group.key),
            process: group.place.process,
            device: group.place.device,
            size: LaunchSize::of(frames, group.key),
            registers: shape.registers,
            shared_bytes: shared_bytes(&shape),
        };
        launches.entry(launch).or_insert_with(|| (Stats::default(), group.key)).0.merge(group.stats);
    }
    let all_ns: u128 = launches.values().map(|(stats, _)| stats.total_ns).sum();
    let mut rows: Vec<(Launch, Stats, u32)> =
        launches.into_iter().map(|(launch, (stats, shape))| (launch, stats, shape)).collect();
    rows.sort_by(|(a, a_stats, _), (b, b_stats, _)| {
        let by_time = b_stats.total_ns.cmp(&a_stats.total_ns).then_with(|| a.name.cmp(b.name));
        let by_size = by_time.then_with(|| a.size.text_order(&b.size));
        let rest = |launch: &Launch| (launch.process, launch.device, launch.registers, launch.shared_bytes);
        by_size.then_with(|| rest(a).cmp(&rest(b)))
    });
    for (launch, stats, shape) in rows {
        let device =
            frames.devices.iter().find(|(process, row)| (*process, row.device) == (launch.process, launch.device));
        let device = device.map(|(_, row)| row).filter(|_| is_nvidia(labels.device(launch.process, launch.device)));
        let found = of_launch(device, &frames.shape(shape).unwrap_or_default());
        let [grid, block] = launch.size.cells();
        let mut row = vec![
            percent(stats.total_ns, all_ns),
            Cell::int(stats.total_ns),
            Cell::int(stats.count),
            pid(frames, launch.process),
            Cell::id(launch.device),
            grid,
            block,
            Cell::opt(launch.registers),
            Cell::opt(launch.shared_bytes),
        ];
        row.extend(match found {
            Ok(Found { limits, occupancy, waves }) => [
                Cell::int(occupancy.blocks),
                percent(occupancy.warps.into(), limits.warps.into()),
                Cell::Text(occupancy.limit.to_string()),
                waves.map_or(Cell::Null, |waves| ratio(waves.blocks.into(), waves.places.into(), 2)),
                waves.map_or(Cell::Null, |waves| percent(waves.empty().into(), waves.all_places.into())),
            ],
            Err(why) => [Cell::Null, Cell::Null, Cell::Text(why), Cell::Null, Cell::Null],
        });
        row.push(Cell::from(launch.name));
        table.rows.push(row);
    }
    Ok(table)
}

/// Static and dynamic shared memory of a block.
fn shared_bytes(shape: &ShapeRow) -> Option<i64> {
    match (shape.static_smem_bytes, shape.dynamic_smem_bytes) {
        (None, None) => None,
        (fixed, more) => Some(fixed.unwrap_or(0).saturating_add(more.unwrap_or(0))),
    }
}

/// PyTorch writes the architecture of AMD's GPUs where it writes the compute capability of NVIDIA's.
fn is_nvidia(name: &str) -> bool {
    !["AMD", "Radeon", "Instinct", "Intel"].iter().any(|other| name.contains(other))
}

struct Found {
    limits: Limits,
    occupancy: Occupancy,
    waves: Option<Waves>,
}

/// The occupancy of a launch, or what is missing.
fn of_launch(device: Option<&DeviceRow>, shape: &ShapeRow) -> std::result::Result<Found, String> {
    let capability = device.and_then(|device| Some((device.compute_major?, device.compute_minor?)));
    let (major, minor) = capability.ok_or("compute capability not recorded")?;
    let limits = Limits::of(major, minor)
        .ok_or_else(|| format!("limits of compute capability {major}.{minor} not known"))?;
    let product = |sizes: [Option<i64>; 3]| {
        sizes.into_iter().try_fold(1_u64, |all, size| all.checked_mul(u64::try_from(size?).ok()?))
    };
    let threads = product([shape.block_x, shape.block_y, shape.block_z]).ok_or("launch size not recorded")?;
    let registers = shape.registers.and_then(|n| u64::try_from(n).ok()).ok_or("registers not recorded")?;
    let shared_bytes =
        shared_bytes(shape).and_then(|n| u64::try_from(n).ok()).ok_or("shared memory not recorded")?;
    let block = Block { threads, registers, shared_bytes };
    let occupancy = occupancy(&limits, block)
        .ok_or_else(|| format!("a block needs more than compute capability {major}.{minor} has"))?;
    let multiprocessors = device.and_then(|device| u64::try_from(device.multiprocessors?).ok());
    let grid = product([shape.grid_x, shape.grid_y, shape.grid_z]);
    let waves = multiprocessors.zip(grid).and_then(|(n, grid)| waves(grid, occupancy.blocks, n));
    Ok(Found { limits, occupancy, waves })
}
