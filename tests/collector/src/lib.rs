//! End-to-end tests of the collector: `tests/*.rs` run programs on the simulator (`tests/sim`) under the shipped
//! `libgpuprof.so` and read the traces with `trace-format`. What needs the command line is tested in the root package.
