//! Files of every format are read right: what is shown of them is what an independent count, the tool that wrote them or
//! their maker says, the same from any number of threads, and no bytes make a reader panic.

#[path = "../common/common.rs"]
mod common;
#[path = "../common/sim.rs"]
mod sim;

mod damaged;
mod definitions;
mod format_polars;
mod functions;
mod host_calls;
mod no_panic;
mod nsys_tables;
mod nvprof_golden;
mod nvprof_made;
mod printed;
mod printed_truth;
mod rows_in_file;
mod same_answer;
mod truth;
mod truth_of_every_reader;
mod unread;
mod views_edges;
mod views_golden;
mod views_keys;
mod whole_graphs;
