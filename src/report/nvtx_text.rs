//! The NVTX section of the nvprof layout, from the sections that the analysis made.

use super::nvprof::Options;
use super::nvprof::messages::Prefix;
use super::nvprof::nvtx::{self, Domain, Range, Tables, Thread};
use crate::analysis::nvtx_sections::Sections;
use std::io::{self, Write};

/// Writes one table per range. The sections are in order of process, thread and domain.
pub fn write(
    out: &mut dyn Write,
    found: &Sections,
    tables: Tables,
    prefix: Prefix,
    options: &Options,
) -> io::Result<()> {
    let sections = &found.sections;
    let ranges: Vec<Range> =
        sections.iter().map(|s| Range { range: &s.range, gpu: &s.gpu.rows, api: &s.api.rows }).collect();
    let mut domains: Vec<(usize, Domain)> = Vec::new();
    let mut threads: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    let chunks = sections.chunk_by(|a, b| (a.process, a.tid, &a.domain) == (b.process, b.tid, &b.domain));
    for chunk in chunks {
        domains.push((from, Domain { name: &chunk[0].domain, ranges: &ranges[from..from + chunk.len()] }));
        from += chunk.len();
    }
    let thread_of = |(first, _): &(usize, Domain)| (sections[*first].process, sections[*first].tid);
    let mut at = 0;
    for chunk in domains.chunk_by(|a, b| thread_of(a) == thread_of(b)) {
        threads.push((at, at + chunk.len()));
        at += chunk.len();
    }
    let plain: Vec<Domain> = domains.iter().map(|(_, domain)| *domain).collect();
    let threads: Vec<Thread> = threads
        .iter()
        .map(|&(from, to)| {
            let section = &sections[domains[from].0];
            Thread { name: &section.thread, id: u64::from(section.tid), domains: &plain[from..to] }
        })
        .collect();
    nvtx::write(out, &threads, found.unclosed, tables, prefix, options)
}
