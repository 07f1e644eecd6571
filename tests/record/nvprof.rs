//! `gpuprof nvprof`, and the program under the name `nvprof`: command lines from users' notes run as they stand, over the
//! simulated CUDA of `tests/sim`, and print what nvprof prints.

mod bench;
mod ends;
mod everyone;
mod import;
mod lines;
mod options;
mod output;
