//! The screen at several sizes.

use gpuprof::top::draw::draw;
use gpuprof::top::screen::{Screen, Sort};
use gpuprof::top::view::{Device, Kernel, Process, Transfers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

fn process(pid: u64, state: &'static str) -> Process {
    let kernel = |name: &str, short: &str, count, total_ns: u64, max_ns| Kernel {
        device: 0,
        short_name: short.to_owned(),
        brief_name: short.to_owned(),
        name: name.to_owned(),
        count,
        total_ns,
        mean_ns: total_ns as f64 / count as f64,
        max_ns,
        window_share: total_ns as f64 / 5e9,
    };
    Process {
        path: "run.gpuprof".into(),
        state,
        pid: Some(pid),
        rank: Some(pid - 4_242),
        host: Some("node7".to_owned()),
        program: Some("train.py".to_owned()),
        command: Some("train.py --fast".to_owned()),
        window_ns: 5_000_000_000,
        from_ns: Some(1),
        to_ns: Some(5_000_000_001),
        from_unix_ns: None,
        to_unix_ns: None,
        lag_ns: (state == "live").then_some(420_000_000),
        flush_interval_ns: Some(500_000_000),
        file_bytes: 1_234_567,
        file_bytes_per_s: Some(250_000.0),
        records: 100_000,
        window_records: 90_000,
        records_per_s: 18_000.0,
        calls_per_s: Some(9_000.0),
        launches: Some(30_000),
        launches_per_s: Some(6_000.0),
        failed_calls: Some(0),
        queue: Some(3.25),
        launch_to_start_mean_ns: Some(8_400.0),
        launch_to_start_max_ns: Some(900_000),
        lost_records: 7,
        window_lost_records: 0,
        damaged_rows: 0,
        records_without_times: 0,
        devices: vec![Device {
            device: 0,
            name: Some("NVIDIA H100".to_owned()),
            uuid: None,
            busy_share: 0.712,
            busy_ns: 3_560_000_000,
            kernels: 30_000,
            kernel_ns: 3_500_000_000,
            copies: vec![Transfers {
                direction: "HtoD".to_owned(),
                count: 10,
                bytes: 6_000_000_000,
                bytes_per_s: 1.2e9,
                total_ns: 60_000_000,
            }],
        }],
        kernels: vec![
            kernel("void at::native::gemm<float>(int)", "gemm", 10_000, 2_000_000_000, 400_000),
            kernel("axpy(float, float const *, float *)", "axpy", 20_000, 1_500_000_000, 90_000),
        ],
        notes: vec!["7 records are lost: see `gpuprof info`".to_owned()],
    }
}

fn screen(processes: Vec<Process>) -> Screen {
    Screen { processes, ..Screen::new(5_000_000_000, 120_000_000_000) }
}

fn drawn(screen: &Screen, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, screen)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect()
}

#[test]
fn one_process_fills_the_screen() {
    let lines = drawn(&screen(vec![process(4_242, "live")]), 100, 12);
    let expected = [
        "gpuprof top   last 5.0 s   1 process, 1 live",
        "train.py, pid 4242, rank 0, node7: live, last 5.0 s, newest record 420 ms ago",
        "6.0k launches/s   queue 3.2   launch to start 8.4 µs   18k records/s   7 lost   file 1.2 MB (+250 kB",
        "GPU 0  ██████████████░░░░░░  71.2% busy  NVIDIA H100   HtoD 1.2 GB/s",
        "note: 7 records are lost: see `gpuprof info`",
        "",
        "  window    total*   count      mean       max GPU  kernel",
        "   40.0%     2.0 s     10k    200 µs    400 µs   0  gemm",
        "   30.0%     1.5 s     20k     75 µs     90 µs   0  axpy",
        "",
        "",
        "q quit  ↑↓/tab process  s sort  p pause  +- window  f names  PgUp/PgDn scroll",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn several_processes_are_a_table_with_the_selected_one_below() {
    let mut screen = screen((0..5).map(|i| process(4_242 + i, if i < 2 { "live" } else { "closed" })).collect());
    screen.selected = 3;
    screen.sort = Sort::Count;
    screen.full_names = true;
    screen.paused = true;
    let lines = drawn(&screen, 90, 16);
    assert_eq!(lines[0], "gpuprof top   last 5.0 s   5 processes, 2 live   paused");
    assert_eq!(
        lines[1].split_whitespace().collect::<Vec<_>>(),
        ["pid", "rank", "state", "busy", "launch/s", "record/s", "lost", "program"]
    );
    assert!(
        lines[5].starts_with(">     4245     3     closed  71.2%      6.0k       18k      7  train.py"),
        "{}",
        lines[5]
    );
    assert!(lines[6].starts_with("train.py, pid 4245, rank 3, node7: closed, last 5.0 s"), "{}", lines[6]);
    let kernels: Vec<&String> =
        lines[7..].iter().filter(|line| line.contains("%") && line.contains("  0  ")).collect();
    assert!(kernels[0].ends_with("axpy(float, float const *, float *)"), "{kernels:?}");
    assert!(lines.iter().any(|line| line.contains("count*")), "{lines:?}");
}

#[test]
fn every_size_is_drawn() {
    let full = screen((0..3).map(|i| process(4_242 + i, "live")).collect());
    let empty = Screen { waiting: "nothing yet".to_owned(), ..screen(Vec::new()) };
    for (width, height) in [(1, 1), (1, 40), (200, 1), (10, 3), (20, 4), (33, 9), (300, 100)] {
        for screen in [&full, &empty] {
            let lines = drawn(screen, width, height);
            assert_eq!(lines.len(), usize::from(height));
            assert!(
                "gpuprof top".starts_with(lines[0].chars().take(11).collect::<String>().as_str()),
                "{}",
                lines[0]
            );
        }
    }
    assert_eq!(drawn(&empty, 40, 4)[1], "nothing yet");
}

#[test]
fn a_terminal_without_utf_8_gets_ascii() {
    let mut process = process(4_242, "live");
    process.kernels[0].brief_name = "grün".to_owned();
    let lines = drawn(&Screen { ascii: true, ..screen(vec![process]) }, 100, 12);
    assert!(lines.iter().all(|line| line.is_ascii()), "{lines:?}");
    assert_eq!(lines[3], "GPU 0  ##############......  71.2% busy  NVIDIA H100   HtoD 1.2 GB/s");
    assert!(lines[2].contains("8.4 us") && lines[7].ends_with("gr?n") && lines[11].contains("^v/tab"), "{lines:?}");
}

#[test]
fn names_cannot_move_the_cursor() {
    let mut evil = process(4_242, "live");
    evil.kernels[0].brief_name = "a\x1b[2J\nb".to_owned();
    let lines = drawn(&screen(vec![evil]), 100, 12);
    assert!(lines[7].ends_with("a [2J b"), "{}", lines[7]);
}
