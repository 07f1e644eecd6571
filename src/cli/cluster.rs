//! `gpuprof cluster`: reports that Apache Spark makes of a run that one machine does not hold.

use super::report::say;
use super::screen::{ScreenArgs, written};
use crate::cluster::spark::Spark;
use crate::cluster::{self, Dataset, REPORTS, Report};
use crate::error::{Error, Result};
use crate::render::document::Document;
use crate::render::schemas;
use crate::render::table::Format;
use std::io::Write as _;
use std::path::PathBuf;

/// The beginning of the long help.
pub(super) const ABOUT: &str = "Report on a run with Apache Spark, where it is too large for one machine.

The run is a dataset: what `gpuprof export --format parquet --option partition=rank` wrote, in a folder or on a storage that Spark reads. \
Spark adds up; the tables are those of `gpuprof report --view`, to the digit.";

/// Arguments of `cluster`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  gpuprof export --format parquet --option partition=rank run/ -o dataset
  gpuprof cluster report dataset --master 'local[*]'
  gpuprof cluster report s3a://bucket/dataset --master spark://host:7077 --view gpu_time_breakdown --format json")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Make tables of a dataset
    Report(ReportArgs),
}

#[derive(clap::Args, Debug)]
struct ReportArgs {
    /// The dataset: a folder that every worker sees too, or a URL such as s3a://bucket/dataset
    dataset: String,

    /// The cluster, as Spark names it: spark://HOST:PORT, yarn, k8s://…, local[*]
    #[arg(long, value_name = "URL", required_unless_present = "sql")]
    master: Option<String>,

    /// Tables, with commas between them; without it, all that Spark can make
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    view: Vec<String>,

    /// How the answer is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    /// The folder of the Spark installation; without it, SPARK_HOME, else the spark-sql on the path
    #[arg(long, value_name = "FOLDER")]
    spark: Option<PathBuf>,

    /// A setting of Spark; may be given several times
    #[arg(long, value_name = "KEY=VALUE")]
    conf: Vec<String>,

    /// Print the SQL and do not run it
    #[arg(long)]
    sql: bool,

    /// Pass on all that Spark says of its work
    #[arg(long)]
    verbose: bool,

    #[command(flatten)]
    screen: ScreenArgs,
}

/// Runs `cluster`.
///
/// # Errors
/// Fails if there is no dataset or no Spark, or if Spark fails.
pub fn run(args: &Args) -> Result<()> {
    let Action::Report(args) = &args.action;
    report(args)
}

fn report(args: &ReportArgs) -> Result<()> {
    let reports: Vec<&dyn Report> = match args.view.as_slice() {
        [] => REPORTS.to_vec(),
        names => names.iter().map(|name| cluster::find(name)).collect::<Result<_>>()?,
    };
    let spark =
        || Spark::find(args.spark.as_deref(), args.master.as_deref().unwrap_or("local"), &args.conf, args.verbose);
    let dataset = Dataset::open(&args.dataset, spark)?;
    let for_people = args.format == Format::Table;
    if args.sql {
        let mut out = std::io::stdout().lock();
        return out
            .write_all(cluster::statements(&dataset, &reports).as_bytes())
            .and_then(|()| out.flush())
            .map_err(|e| Error::output(&e));
    }
    let tables = cluster::report(&spark()?, &dataset, &reports)?;
    let notes = cluster::notes(&dataset);
    say(&notes);
    let absent = Some(cluster::absent(&dataset, &reports)?);
    let document = Document { absent, notes, tables, ..Document::new(schemas::REPORT) };
    let mut out = args.screen.text(for_people).lines(args.screen.open(for_people));
    written(document.write(&mut out, args.format).and_then(|()| out.flush()))
}
