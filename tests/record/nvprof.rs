//! `gpuprof nvprof`, and the program under the name `nvprof`: command lines from users' notes run as they stand, over the
//! simulated CUDA of `tests/sim`, and print what nvprof prints.

#[path = "cli_nvprof/bench.rs"]
mod bench;
mod common;
#[path = "cli_nvprof/ends.rs"]
mod ends;
#[path = "cli_nvprof/everyone.rs"]
mod everyone;
#[path = "cli_nvprof/import.rs"]
mod import;
#[path = "cli_nvprof/lines.rs"]
mod lines;
#[path = "cli_nvprof/options.rs"]
mod options;
#[path = "cli_nvprof/output.rs"]
mod output;
#[path = "common/sim.rs"]
mod sim;
