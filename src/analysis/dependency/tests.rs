use super::graph::{Call, Work};
use super::*;

/// Thread, start, end, name, awaited work.
type C = (u32, i64, i64, u32, Option<usize>);
/// Start, end, name, launching call, work before, awaited work.
type W = (i64, i64, u32, Option<usize>, Option<usize>, Option<usize>);

const NAMES: [&str; 8] =
    ["cudaLaunchKernel", "cudaDeviceSynchronize", "cudaMemcpy", "long", "short", "copy", "wait", "x"];

/// What each of [`NAMES`] is called like.
const KINDS: [Kind; 8] = [
    Kind::Call,
    Kind::Call,
    Kind::Call,
    Kind::Work(Class::Computation),
    Kind::Work(Class::Communication),
    Kind::Work(Class::Memory),
    Kind::Call,
    Kind::Call,
];

fn graph(calls: &[C], work: &[W]) -> Graph {
    let mut graph = Graph { names: NAMES.map(str::to_owned).to_vec(), kinds: KINDS.to_vec(), ..Graph::default() };
    graph.calls = calls
        .iter()
        .map(|&(tid, start_ns, end_ns, name, awaits)| Call { start_ns, end_ns, tid, name, awaits: awaits.into() })
        .collect();
    graph.work = work
        .iter()
        .map(|&(start_ns, end_ns, name, launch, before, awaits)| Work {
            start_ns,
            end_ns,
            name,
            launch: launch.into(),
            before: before.into(),
            awaits: awaits.into(),
            held_back_ns: 0,
        })
        .collect();
    graph.index_threads();
    graph
}

/// Rows as name, critical, waiting; and that the path is as long as the run.
fn rows(graph: &Graph, length_ns: u128) -> Vec<(String, u128, u128)> {
    let found = analyse(graph);
    assert_eq!(found.total_ns, length_ns, "the path has no gap and no overlap: {:?}", found.rows);
    found.rows.into_iter().map(|row| (row.name, row.critical_ns, row.waiting_ns)).collect()
}

fn row(name: &str, critical: u128, waiting: u128) -> (String, u128, u128) {
    (name.to_owned(), critical, waiting)
}

#[test]
fn of_two_kernels_at_once_the_one_that_is_awaited_counts() {
    // The example of nvprof's guide: both kernels run beside each other, the device is awaited.
    let graph = graph(
        &[(1, 0, 10, 0, None), (1, 20, 30, 0, None), (1, 40, 1_010, 1, Some(0))],
        &[(15, 1_000, 3, Some(0), None, None), (35, 500, 4, Some(1), None, None)],
    );
    let expected = [
        row("long", 985, 0),
        row("cudaDeviceSynchronize", 10, 960),
        row("cudaLaunchKernel", 10, 0),
        // From the end of the launch to the start of the kernel.
        row("<Other>", 5, 0),
        row("short", 0, 0),
    ];
    assert_eq!(rows(&graph, 1_010), expected);
}

#[test]
fn the_hosts_own_work_is_other() {
    let graph = graph(&[(1, 0, 10, 0, None), (1, 900, 1_000, 2, None)], &[(20, 100, 4, Some(0), None, None)]);
    let expected =
        [row("<Other>", 890, 0), row("cudaMemcpy", 100, 0), row("cudaLaunchKernel", 10, 0), row("short", 0, 0)];
    assert_eq!(rows(&graph, 1_000), expected);
}

#[test]
fn a_copy_leads_back_into_the_call_that_waits_for_it() {
    let graph = graph(&[(1, 100, 400, 2, Some(0))], &[(150, 350, 5, Some(0), None, None)]);
    // Until the copy began and after it ended the call itself is on the path.
    assert_eq!(rows(&graph, 300), [row("copy", 200, 0), row("cudaMemcpy", 100, 250)]);
}

#[test]
fn work_in_a_stream_depends_on_the_work_before_it() {
    let graph = graph(
        &[(1, 0, 10, 0, None), (1, 10, 20, 0, None), (1, 30, 710, 1, Some(1))],
        &[(20, 400, 3, Some(0), None, None), (410, 700, 4, Some(1), Some(0), None)],
    );
    let expected = [
        row("long", 380, 0),
        row("short", 290, 0),
        row("<Other>", 20, 0),
        row("cudaDeviceSynchronize", 10, 670),
        row("cudaLaunchKernel", 10, 0),
    ];
    assert_eq!(rows(&graph, 710), expected);
    // The first kernel began late behind its launch, the second behind the first.
    let between = Between { launch_ns: 10, work_ns: 10, ..Between::default() };
    assert_eq!(analyse(&graph).between, between);
}

#[test]
fn work_held_back_by_another_stream_leads_there() {
    let mut held = graph(
        &[(1, 0, 10, 0, None), (1, 10, 20, 0, None), (1, 30, 710, 1, Some(1))],
        &[(20, 400, 3, Some(0), None, None), (400, 700, 4, Some(1), None, Some(0))],
    );
    held.work[1].held_back_ns = 380;
    let found = rows(&held, 710);
    assert!(found.contains(&row("long", 380, 0)) && found.contains(&row("short", 300, 380)), "{found:?}");
}

#[test]
fn a_second_thread_begins_where_the_first_had_come() {
    let graph = graph(&[(1, 0, 100, 7, None), (2, 150, 300, 6, None)], &[]);
    assert_eq!(rows(&graph, 300), [row("wait", 150, 0), row("x", 100, 0), row("<Other>", 50, 0)]);
    assert_eq!(analyse(&graph).between, Between { calls_ns: 50, ..Between::default() });
}

#[test]
fn nothing_has_no_path() {
    assert_eq!(rows(&graph(&[], &[]), 0), []);
    // Work alone, as of a trace without API calls.
    assert_eq!(rows(&graph(&[], &[(5, 9, 3, None, None, None)]), 4), [row("long", 4, 0)]);
}

#[test]
fn work_without_a_known_launch_follows_the_call_that_ended_before_it() {
    let graph = graph(&[(1, 0, 10, 7, None)], &[(40, 60, 3, None, None, None)]);
    assert_eq!(rows(&graph, 60), [row("<Other>", 30, 0), row("long", 20, 0), row("x", 10, 0)]);
    assert_eq!(analyse(&graph).between, Between { unknown_ns: 30, ..Between::default() });
}

#[test]
fn a_name_of_two_kinds_has_two_rows() {
    let mut graph = graph(&[(1, 0, 10, 0, None)], &[(10, 30, 3, Some(0), None, None)]);
    graph.names[3] = graph.names[0].clone();
    let found: Vec<_> = analyse(&graph).rows.into_iter().map(|row| (row.kind, row.critical_ns)).collect();
    assert_eq!(found, [(Kind::Work(Class::Computation), 20), (Kind::Call, 10)]);
}

#[test]
fn impossible_times_lead_to_no_endless_walk() {
    // Work that takes no time, that is its own predecessor's successor, and that ends after who waited for it.
    let graph = graph(
        &[(1, 10, 10, 0, None), (1, 10, 10, 1, Some(1)), (1, 10, 20, 1, Some(2))],
        &[
            (10, 10, 3, Some(0), None, Some(1)),
            (10, 10, 4, Some(1), None, Some(0)),
            (12, 99, 5, Some(2), None, None),
        ],
    );
    let found = analyse(&graph);
    assert!(found.rows.iter().all(|row| row.critical_ns <= 100), "{:?}", found.rows);
}

#[test]
fn parts_are_in_order_and_sum_to_the_rows() {
    let graph = graph(
        &[(1, 0, 10, 0, None), (1, 20, 30, 0, None), (1, 40, 1_010, 1, Some(0))],
        &[(15, 1_000, 3, Some(0), None, None), (35, 500, 4, Some(1), None, None)],
    );
    let found = analyse(&graph);
    let starts: Vec<i64> = found.parts.iter().map(|part| part.start_ns).collect();
    assert_eq!(starts, [0, 15, 20, 35, 40]);
    let critical: i64 = found.parts.iter().map(|part| part.critical_ns).sum();
    assert_eq!(critical + 5, 1_010);
}
