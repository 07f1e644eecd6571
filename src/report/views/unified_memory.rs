//! Unified memory: what moved and what faulted, by address and in total.
//!
//! CUPTI records migrations as unified memory events with an address; nsys has them as copies, whose address is not
//! kept. Both are counted; migrations without an address share the row of no address.

use super::named::{MB, Named, ratio, throughput};
use crate::error::{Error, Result};
use crate::render::table::{Cell, Table};
use crate::report::Context;
use crate::trace::sink::Detail;
use hashbrown::HashMap;
use trace_format::schema::TableSpec;
use trace_format::tables;
use trace_format::tables::column::{memcpy, uvm};
use trace_format::vocabulary::memcpy_kind;
use trace_format::vocabulary::uvm_kind::{BYTES_DTOD, BYTES_DTOH, BYTES_HTOD, CPU_PAGE_FAULTS, GPU_PAGE_FAULTS};

/// `um_sum`.
pub(super) static UM_SUM: Named = Named {
    name: "um_sum",
    aliases: &["unifiedmemory"],
    title: "Unified Memory Analysis Summary",
    tables: TABLES,
    detail: Detail::Full,
    arguments: &["rows"],
    key: &["Virtual Address"],
    make: by_address,
};

/// `um_total_sum`.
pub(super) static UM_TOTAL_SUM: Named = Named {
    name: "um_total_sum",
    aliases: &["unifiedmemorytotals"],
    title: "Unified Memory Totals Summary",
    tables: TABLES,
    detail: Detail::Full,
    arguments: &[],
    key: &[],
    make: totals,
};

/// `um_cpu_page_faults_sum`.
pub(super) static UM_CPU_PAGE_FAULTS_SUM: Named = Named {
    name: "um_cpu_page_faults_sum",
    aliases: &["umcpupagefaults"],
    title: "Unified Memory CPU Page Faults Summary",
    tables: &[&tables::UVM],
    detail: Detail::Full,
    arguments: &[],
    key: &["CPU Instruction Address"],
    make: cpu_faults,
};

const TABLES: &[&TableSpec] = &[&tables::UVM, &tables::MEMCPY];

/// Rows of `um_sum` unless `rows=` says otherwise, as in nsys.
const DEFAULT_ROWS: usize = 10;

/// What happened at one address.
#[derive(Clone, Debug, Default)]
struct Page {
    to_device: u128,
    to_host: u128,
    cpu_faults: u64,
    gpu_faults: u64,
    /// Bytes and time of the migrations that have a duration.
    timed_bytes: u128,
    timed_ns: u128,
}

impl Page {
    fn add(&mut self, kind: u32, value: i64, duration_ns: Option<i64>) {
        let value = value.max(0) as u64;
        match kind {
            BYTES_HTOD => self.to_device += u128::from(value),
            BYTES_DTOH => self.to_host += u128::from(value),
            CPU_PAGE_FAULTS => self.cpu_faults += value.max(1),
            GPU_PAGE_FAULTS => self.gpu_faults += value,
            _ => {}
        }
        if let (BYTES_HTOD | BYTES_DTOH, Some(ns)) = (kind, duration_ns) {
            self.timed_bytes += u128::from(value);
            self.timed_ns += ns.max(0) as u128;
        }
    }

    fn merge(&mut self, other: &Page) {
        self.to_device += other.to_device;
        self.to_host += other.to_host;
        self.cpu_faults += other.cpu_faults;
        self.gpu_faults += other.gpu_faults;
        self.timed_bytes += other.timed_bytes;
        self.timed_ns += other.timed_ns;
    }
}

type Pages = HashMap<Option<u64>, Page>;

fn merge(into: &mut Pages, from: Pages) {
    from.into_iter().for_each(|(address, page)| into.entry(address).or_default().merge(&page));
}

/// Everything that happened, by address; only addresses where something moved between host and device or faulted.
fn pages(context: &Context) -> Result<Pages> {
    let mut all = context.frames.fold(
        &tables::UVM,
        &[uvm::DURATION_NS, uvm::KIND, uvm::VALUE, uvm::ADDRESS],
        context.filter,
        Pages::new,
        |pages, batch| {
            let (duration, value) = (batch.get(uvm::DURATION_NS), batch.get(uvm::VALUE));
            let (kind, address) = (batch.get(uvm::KIND), batch.get(uvm::ADDRESS));
            batch.for_each_row(|i| {
                let kind = kind.get(i).unwrap_or(0);
                if matches!(kind, BYTES_HTOD | BYTES_DTOH | CPU_PAGE_FAULTS | GPU_PAGE_FAULTS) {
                    let page = pages.entry(address.get(i)).or_default();
                    page.add(kind, value.get(i).unwrap_or(0), duration.get(i));
                }
            });
        },
        merge,
    )?;
    let copies = context.frames.fold(
        &tables::MEMCPY,
        &[memcpy::DURATION_NS, memcpy::KIND, memcpy::BYTES],
        context.filter,
        Pages::new,
        |pages, batch| {
            let (duration, bytes, kind) =
                (batch.get(memcpy::DURATION_NS), batch.get(memcpy::BYTES), batch.get(memcpy::KIND));
            batch.for_each_row(|i| {
                let migration = kind.get(i).and_then(memcpy_kind::migration);
                if let Some(kind) = migration.filter(|kind| *kind != BYTES_DTOD) {
                    pages.entry(None).or_default().add(kind, bytes.get(i).unwrap_or(0), duration.get(i));
                }
            });
        },
        merge,
    )?;
    merge(&mut all, copies);
    Ok(all)
}

fn address(address: Option<u64>) -> Cell {
    address.map_or(Cell::Null, |a| Cell::Text(format!("{a:#x}")))
}

fn rows(context: &Context) -> Result<usize> {
    let Some(argument) = context.arguments.last() else { return Ok(DEFAULT_ROWS) };
    let number = argument.strip_prefix("rows=").and_then(|number| number.parse().ok());
    number.ok_or_else(|| Error::new(format!("--view um_sum:{argument}: write rows=10")))
}

/// The addresses with most bytes moved, then with most faults.
fn by_address(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "Virtual Address",
        "HtoD Migration Size (MB)",
        "DtoH Migration Size (MB)",
        "CPU Page Faults",
        "GPU Page Faults",
        "Migration Throughput (MB/s)",
    ];
    let mut table = view.mixed(&columns, &["Virtual Address"]);
    let limit = rows(context)?;
    let mut pages: Vec<_> = pages(context)?.into_iter().collect();
    pages.sort_unstable_by_key(|(address, page)| {
        let moved = page.to_device + page.to_host;
        (std::cmp::Reverse((moved, page.cpu_faults + page.gpu_faults)), *address)
    });
    for (at, page) in pages.into_iter().take(limit) {
        table.rows.push(vec![
            address(at),
            ratio(page.to_device, MB, 3),
            ratio(page.to_host, MB, 3),
            Cell::int(page.cpu_faults),
            Cell::int(page.gpu_faults),
            throughput(page.timed_bytes, page.timed_ns),
        ]);
    }
    Ok(table)
}

/// One row, or none if unified memory did nothing.
fn totals(view: &Named, context: &Context) -> Result<Table> {
    let columns = [
        "Total HtoD Migration Size (MB)",
        "Total DtoH Migration Size (MB)",
        "Total CPU Page Faults",
        "Total GPU Page Faults",
        "Minimum Virtual Address",
        "Maximum Virtual Address",
    ];
    let mut table = view.mixed(&columns, &["Minimum Virtual Address", "Maximum Virtual Address"]);
    let pages = pages(context)?;
    if pages.is_empty() {
        return Ok(table);
    }
    let mut all = Page::default();
    pages.values().for_each(|page| all.merge(page));
    let addresses = || pages.keys().copied().flatten();
    table.rows.push(vec![
        ratio(all.to_device, MB, 3),
        ratio(all.to_host, MB, 3),
        Cell::int(all.cpu_faults),
        Cell::int(all.gpu_faults),
        address(addresses().min()),
        address(addresses().max()),
    ]);
    Ok(table)
}

/// Faults by the instruction that met them.
fn cpu_faults(view: &Named, context: &Context) -> Result<Table> {
    let mut table = view.empty(&["CPU Page Faults"], &["CPU Instruction Address"]);
    let add = |faults: &mut HashMap<Option<u64>, u64>, pc, count| *faults.entry(pc).or_default() += count;
    let faults = context.frames.fold(
        &tables::UVM,
        &[uvm::KIND, uvm::VALUE, uvm::PC],
        context.filter,
        HashMap::new,
        |faults, batch| {
            let (kind, value, pc) = (batch.get(uvm::KIND), batch.get(uvm::VALUE), batch.get(uvm::PC));
            batch.for_each_row(|i| {
                if kind.get(i) == Some(CPU_PAGE_FAULTS) {
                    add(faults, pc.get(i), value.get(i).unwrap_or(1).max(1) as u64);
                }
            });
        },
        |a, b| b.into_iter().for_each(|(pc, count)| add(a, pc, count)),
    )?;
    let mut faults: Vec<_> = faults.into_iter().collect();
    faults.sort_unstable_by_key(|&(pc, count)| (std::cmp::Reverse(count), pc));
    table.rows.extend(faults.into_iter().map(|(pc, count)| vec![Cell::int(count), address(pc)]));
    Ok(table)
}
