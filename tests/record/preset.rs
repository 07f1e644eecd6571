//! `gpuprof record --preset`: asked for here, it takes the place of kinds that the shell has named; kinds asked for beside it
//! win.

use crate::collector::{Trace, one};
use crate::sim::Sim;
use trace_format::tables::{ApiRow, MemoryRow};

#[test]
fn a_preset_gives_way_to_kinds_of_the_same_command_alone() {
    let sim = Sim::new("12.8");
    let run =
        |options: &[&str]| sim.player("vector_add").arg("10").env("GPUPROF_KINDS", "+memory").record(options).run();
    let has = |trace: &Trace| (!trace.rows::<ApiRow>().is_empty(), !trace.rows::<MemoryRow>().is_empty());
    let plain = one(&run(&[]));
    assert_eq!((has(&plain), plain.kernels().len()), ((true, true), 10));
    let light = one(&run(&["--preset", "light"]));
    assert_eq!((has(&light), light.kernels().len()), ((false, false), 10));
    assert_eq!(has(&one(&run(&["--preset", "light", "--kinds", "default"]))), (true, false));
}
