//! `gpuprof ctl`: recorded processes are found, told what to do, and unharmed by whatever else comes in at their sockets.
//! The collector, the command line and the players are the real ones; CUDA is the simulator of `tests/sim`.

mod found;
mod harm;
mod life;
mod obedient;
mod verbs;
