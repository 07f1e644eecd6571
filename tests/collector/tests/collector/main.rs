//! `libgpuprof.so` in programs that use the simulator: one file per question, one binary, linked once.

mod api_calls;
mod attach;
mod beside;
mod budget;
mod common;
mod cost;
mod directives;
mod door;
mod faults;
mod gate;
mod hardware;
mod heard_calls;
mod kill;
mod life;
mod manners;
mod own_cost;
mod real_driver;
mod ring;
mod stalls;
mod volume;
