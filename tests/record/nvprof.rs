//! `gpuprof nvprof`, and the program under the name `nvprof`: command lines from users' notes run as they stand, over the
//! simulated CUDA of `tests/sim`, and print what nvprof prints.

mod all_processes;
mod bench;
mod ends;
mod import;
mod lines;
mod options;
mod output;
