//! The flags for CPU samples, named as py-spy names them.

use crate::launch::sampling::Options;

/// The flags.
#[derive(clap::Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Host stacks (docs/host-stacks.md)")]
pub struct HostStackFlags {
    /// Sample the stacks of the program's threads so many times a second, from outside: those of Python programs, and
    /// with --native of others. 100 serves well
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=1000))]
    cpu_sampling: Option<u32>,

    /// With --cpu-sampling: native frames too, of Python's extensions and of programs without Python. Running threads
    /// are stopped for some tens of microseconds each time
    #[arg(long, requires = "cpu_sampling", hide_short_help = true)]
    native: bool,

    /// With --cpu-sampling: threads that sleep or wait, too
    #[arg(long, requires = "cpu_sampling", hide_short_help = true)]
    idle: bool,

    /// With --cpu-sampling: of Python programs only the thread that holds the global interpreter lock
    #[arg(long, requires = "cpu_sampling", hide_short_help = true)]
    gil: bool,
}

impl HostStackFlags {
    /// What to sample; `None`: nothing.
    pub fn options(&self) -> Option<Options> {
        let &HostStackFlags { cpu_sampling, native, idle, gil } = self;
        cpu_sampling.map(|rate_hz| Options { rate_hz, idle, gil, native })
    }
}
