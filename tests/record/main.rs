//! Programs that run under the collector, over the simulated CUDA of `tests/sim`: started by `gpuprof record` or as nvprof
//! did, controlled, watched and sampled meanwhile; and what `gpuprof doctor` says of the machine before that.

#![allow(
    clippy::duplicate_mod,
    reason = "the collector's tests and these both bring what says why a test is skipped"
)]

// It brings the simulator's harness, which must be there once: it numbers the folders of a process.
#[path = "../collector/tests/collector/common.rs"]
mod collector;
#[path = "../common/common.rs"]
mod common;

mod book;
mod budget;
mod ctl;
mod directives;
mod doctor;
mod examples;
mod gpu_check_dry_run;
mod launch;
mod nvprof;
mod nvtx;
mod own_cost;
mod preset;
mod python;
mod ring;
mod sample;
mod some_steps;
mod stacks;
mod top;

use collector::sim;
