//! `gpuprof ctl`: recorded processes are found, told what to do, and unharmed by whatever else comes in at their sockets.
//! The collector, the command line and the players are the real ones; CUDA is the simulator of `tests/sim`.

#[path = "collector/tests/common/mod.rs"]
mod collector;
mod common;
#[path = "cli_ctl/found.rs"]
mod found;
#[path = "cli_ctl/harm.rs"]
mod harm;
#[path = "cli_ctl/life.rs"]
mod life;
#[path = "cli_ctl/obedient.rs"]
mod obedient;
#[path = "cli_ctl/verbs.rs"]
mod verbs;
