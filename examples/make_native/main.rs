//! Makes `.gpuprof` files to try, test and measure gpuprof with, without a GPU.
//!
//! - `make_native out.gpuprof --records 1000000 [--seed N]`: a synthetic training job of any length ([`synthetic`]).
//! - `make_native out.gpuprof --sample`: a small program's trace, the one that the README reads ([`sample`]).
//! - `make_native out.gpuprof --parquet trace.parquet`: the rows of a Parquet trace ([`from_parquet`]), so that other
//!   programs can be measured on the same rows.
//!
//! The same arguments give the same bytes on every machine. `--lines` prints what a summary of the trace must say,
//! one `kind|name|count|total|min|max|median` per kernel and API call; `sha256sum` of that is its digest.

mod from_parquet;
mod lines;
mod random;
mod recording;
mod sample;
mod synthetic;

use clap::Parser;
use lines::Lines;
use recording::Recording;
use std::path::PathBuf;

#[derive(Parser)]
#[command(about = "Makes a .gpuprof file", max_term_width = 100)]
struct Args {
    /// The file to write
    out: PathBuf,
    /// Make up this many records
    #[arg(long, value_name = "N", required_unless_present_any = ["sample", "parquet"], conflicts_with_all = ["sample", "parquet"])]
    records: Option<u64>,
    /// Make the small trace of the README
    #[arg(long, conflicts_with = "parquet")]
    sample: bool,
    /// Convert this Parquet file: uncompressed, columns kind, name, start, end, correlation, device, stream, bytes,
    /// grid_x, block_x
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
    /// Where random numbers begin
    #[arg(long, value_name = "N", default_value_t = 20_240_601)]
    seed: u64,
    /// GPUs of the made-up job
    #[arg(long, value_name = "N", default_value_t = 2)]
    devices: u32,
    /// Different names of the made-up kernels
    #[arg(long, value_name = "N", default_value_t = 200)]
    kernels: u64,
    /// Launch shapes of each made-up kernel
    #[arg(long, value_name = "N", default_value_t = 4)]
    shapes: u32,
    /// Rows of a frame: fewer when the collector had to write often
    #[arg(long, value_name = "N", default_value_t = trace_format::frame::MAX_ROWS)]
    rows_per_frame: usize,
    /// Print what a summary of the trace must say (four bytes of memory per record)
    #[arg(long)]
    lines: bool,
}

/// Anything that can go wrong here ends the program with its text.
type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result {
    let args = Args::parse();
    let lines = args.lines.then(Lines::default);
    let program = match args.sample {
        true => sample::PROGRAM,
        false => recording::Program { devices: args.devices.max(1), ..recording::BENCH },
    };
    let mut to = Recording::create(&args.out, args.seed, &program, args.rows_per_frame, lines)?;
    if let Some(path) = &args.parquet {
        from_parquet::convert(path, &mut to)?;
    } else if args.sample {
        sample::play(&mut to)?;
    } else {
        synthetic::play(&mut to, args.records.unwrap_or(0), args.seed, args.kernels.max(1), args.shapes)?;
    }
    if let Some(mut lines) = to.finish()? {
        lines.print(&mut std::io::stdout().lock())?;
    }
    Ok(())
}
