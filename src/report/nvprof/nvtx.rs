//! NVTX ranges: one small summary per thread, domain and range, after everything else.

use std::io;

use crate::analysis::summary::SummaryRow;

use super::Options;
use super::messages::{self, Message, Prefix};
use super::summary::{self, Section};

/// A thread that opened ranges.
#[derive(Clone, Copy, Debug)]
pub struct Thread<'a> {
    /// Its name; empty where it has none.
    pub name: &'a str,
    /// Its id.
    pub id: u64,
    /// Its domains.
    pub domains: &'a [Domain<'a>],
}

/// An NVTX domain.
#[derive(Clone, Copy, Debug)]
pub struct Domain<'a> {
    /// Its name; empty for the default domain.
    pub name: &'a str,
    /// The ranges opened in it.
    pub ranges: &'a [Range<'a>],
}

/// All ranges of one name.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// Their times, and their name.
    pub range: &'a SummaryRow,
    /// What ran on the GPU because of calls inside them.
    pub gpu: &'a [SummaryRow],
    /// Calls inside them.
    pub api: &'a [SummaryRow],
}

/// Which tables a range has: those that the summary above has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// GPU work.
    pub gpu: bool,
    /// API calls.
    pub api: bool,
    /// OpenACC regions alone were asked for. nvprof never finds any in a range, and says so.
    pub openacc: bool,
}

/// Writes the section; nothing if there are no threads. `unclosed` ranges are warned of.
pub fn write(
    out: &mut dyn io::Write,
    threads: &[Thread],
    unclosed: u64,
    tables: Tables,
    prefix: Prefix,
    options: &Options,
) -> io::Result<()> {
    if !threads.is_empty() {
        writeln!(out)?;
        writeln!(out, "{prefix}NVTX result:")?;
    }
    if unclosed > 0 {
        Message::InvalidRanges(unclosed).write(out, prefix)?;
    }
    for thread in threads {
        writeln!(out, "{prefix}  Thread \"{}\" (id = {})", or_unnamed(thread.name), thread.id)?;
        for domain in thread.domains {
            writeln!(out, "{prefix}    Domain \"{}\"", or_unnamed(domain.name))?;
            for range in domain.ranges {
                writeln!(out, "{prefix}      Range \"{}\"", range.range.name.replace(char::is_control, " "))?;
                write_range(out, range, tables, options)?;
                // Readers take the empty line as the end of a range.
                writeln!(out)?;
            }
        }
    }
    Ok(())
}

fn write_range(out: &mut dyn io::Write, range: &Range, tables: Tables, options: &Options) -> io::Result<()> {
    let mut sections = vec![Section::range(range.range, options.csv)];
    if tables.gpu {
        sections.push(Section { empty: messages::NO_KERNELS_IN_RANGE, ..Section::gpu(range.gpu) });
    }
    if tables.api {
        sections.push(Section { empty: messages::NO_API_IN_RANGE, ..Section::api(range.api) });
    }
    if tables.openacc {
        sections.push(Section { empty: messages::NO_OPENACC_IN_RANGE, ..Section::openacc(&[], false) });
    }
    summary::write(out, &sections, options)
}

fn or_unnamed(name: &str) -> String {
    let name = if name.is_empty() { "<unnamed>" } else { name };
    name.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::super::TimeUnit;
    use super::*;
    use crate::analysis::stats::{Stats, Wanted};

    const EVERYTHING: Tables = Tables { gpu: true, api: true, openacc: false };

    fn row(name: &str, duration: i64) -> SummaryRow {
        let mut stats = Stats::default();
        stats.add(duration, Wanted::default());
        SummaryRow::new(name, stats)
    }

    fn print(gpu: &[SummaryRow], csv: bool) -> String {
        let range = row("function_my_domain", 1_226_930_000);
        let api = [row("cudaLaunchKernel", 27_030)];
        let ranges = [Range { range: &range, gpu, api: &api }];
        let domains = [Domain { name: "", ranges: &ranges }];
        let threads = [Thread { name: "", id: 2_564_218_880, domains: &domains }];
        let mut out = Vec::new();
        let options = Options { csv, unit: TimeUnit::Auto, origin_ns: None };
        write(&mut out, &threads, 0, EVERYTHING, Prefix(Some(10)), &options).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_range_is_a_table_of_itself_its_kernels_and_its_calls() {
        assert_eq!(
            print(&[row("kernel(float*, unsigned long)", 34_910_000)], false),
            "
==10== NVTX result:
==10==   Thread \"<unnamed>\" (id = 2564218880)
==10==     Domain \"<unnamed>\"
==10==       Range \"function_my_domain\"
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
          Range:  100.00%  1.22693s         1  1.22693s  1.22693s  1.22693s  function_my_domain
 GPU activities:  100.00%  34.910ms         1  34.910ms  34.910ms  34.910ms  kernel(float*, unsigned long)
      API calls:  100.00%  27.030us         1  27.030us  27.030us  27.030us  cudaLaunchKernel

"
        );
    }

    #[test]
    fn a_range_without_kernels_says_so() {
        let text = print(&[], false);
        assert!(text.contains("  function_my_domain\nNo kernels were profiled in this range.\n      API calls:"));
    }

    #[test]
    fn the_range_keeps_its_colon_in_csv() {
        // Without kernels the unit suits the calls.
        assert!(print(&[], true).contains("\n,%,us,,us,us,us,\n\"Range:\",100.000000,1226930.000000,1,"));
    }

    #[test]
    fn no_ranges_say_nothing() {
        let mut out = Vec::new();
        write(&mut out, &[], 0, EVERYTHING, Prefix(None), &Options::default()).unwrap();
        assert!(out.is_empty());
        write(&mut out, &[], 2, EVERYTHING, Prefix(None), &Options::default()).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "======== Warning: Found 2 invalid range marker(s)\n");
    }
}
