//! `docs/insights.md`, made from the rules so that it cannot disagree with them.

use super::{LEAST_OBSERVED_NS, LEAST_PERCENT, LEAST_RECORDS, MOST_FINDINGS, RULES, UNASKED_RECORDS};
use crate::analysis::gap_causes::{AFTER_SYNCHRONIZATION_NS, BETWEEN_LAUNCHES_NS};
use crate::numbers::{grouped, short_time};
use std::fmt::Write as _;

/// The text of `docs/insights.md`.
pub fn generate() -> String {
    let mut out = format!(
        "# Insights

Generated from `src/analysis/insights/rules/`; do not edit. `GPUPROF_BLESS=1 cargo test --test cli` writes it anew.

`gpuprof report` ends with a block `Insights`: what cost the program time on the GPU, how much could be won back at most, and how to
see it. `gpuprof report --view insights` prints the block alone, with `--format json` or `csv` as a table. `--no-insights` leaves
it out. Nvprof's text (`gpuprof nvprof`, `--demangling nvprof`), CSV, listings and other views never have it. Above {unasked} records of
calls and GPU work it has to be asked for with `--view insights`. [The timeline page](timeline.md) lists them too; a click goes to the longest of what each rests on.

- There are at most {most} findings, the largest gain first.
- **A gain is a bound**, not a promise: no more than this can be won, and often less, because removing one cause may bring up the next.
- **The denominator** is the observed time: from the first to the last work of each GPU, added up over GPUs, without stretches in which
  the recording was off. Nothing that is added up over streams or threads is divided by it: work that overlaps counts once.
- A finding has to gain {percent} % of the observed time or more. If there is none, the block says so.
- A trace with fewer than {records} records of GPU work, or less than {observed} of observed time, is too short to judge, and so is one
  that holds only some of the program's steps, or only what a budget allowed.
- A rule that lacks what it needs says so by name and does not guess.
- Confidence is high if the launching call is known for 99 % of the records of GPU work, medium from 90 % on, else low; it is low where
  records were lost.
- Records without valid times (end before start among them) are in no sum; how many there are is said. Work without a recorded call makes
  gaps whose cause is unknown; graphs launched by one call share it; ids are joined within a process only.

Why a GPU had nothing to do is read from the call that launched the next work (`SELECT * FROM gaps`, column `cause`): see
[schema.md](schema.md#gaps). After a thread waited for the device, up to {after} outside of CUDA calls are put down to the waiting; a thread that
is outside of calls for no more than {between} between launches launches as fast as it can.
",
        unasked = grouped(UNASKED_RECORDS),
        most = MOST_FINDINGS,
        percent = LEAST_PERCENT,
        records = LEAST_RECORDS,
        observed = short_time(LEAST_OBSERVED_NS),
        after = short_time(AFTER_SYNCHRONIZATION_NS),
        between = short_time(BETWEEN_LAUNCHES_NS),
    );
    for rule in RULES {
        let _ = write!(
            out,
            "\n## {}\n\n{}.\n\n- **Looks at:** {}\n- **Bound of the gain:** {}\n- **Abstains:** {}\n- **What to do:** {}\n\n\
             ```sql\n{}\n```\n",
            rule.name, rule.what, rule.looks_at, rule.bound, rule.abstains, rule.advice, rule.query
        );
    }
    out
}
