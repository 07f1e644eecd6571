//! Views of what GPUs did: classes, idle time, copies, queues, utilization, the critical path.

use super::*;

/// Views of GPU work that one oracle answers.
const OF_WORK: [&str; 10] = [
    "gpu_class_overlap",
    "gpu_class_sum",
    "gpu_tensor_core_guess",
    "hta_temporal_breakdown",
    "gpu_idle_breakdown",
    "gpu_hidden_copies",
    "gpu_coalescable",
    "gpu_queue_length",
    "gpu_copy_bandwidth",
    "cuda_gpu_time_util_map",
];

/// A program with communication beside computation, work that overlaps within a stream, and copies of all sizes.
fn of_every_class() -> Vec<u8> {
    let mut player = Player::new(17);
    for i in 0..60 {
        player.kernel("gemm", 7, 60_000 + i % 7 * 20_000);
        player.kernel(if i % 3 == 0 { "ncclDevKernel_AllReduce_Sum_f32(int)" } else { "blockSync" }, 9, 90_000);
        player.kernel(
            if i % 2 == 0 { "ampere_bf16_s16816gemm_bf16_128x64" } else { "ampere_sgemm_128x64" },
            7,
            30_000,
        );
        if i % 5 == 0 {
            player.async_copy(8, 150_000, PINNED);
            player.blocking_copy(8, 120_000, true);
        }
        if i % 4 == 0 {
            (0..5).for_each(|_| player.kernel("bias", 7, 1_500));
        }
        if i % 20 == 19 {
            player.synchronize();
            player.pause(3_000_000);
        }
    }
    // Programmatic launches overlap within a stream.
    for at in (0..player.story.kernels.len()).step_by(11) {
        player.story.kernels[at].end += 40_000;
    }
    in_nsys(player)
}

#[test]
fn views_of_gpu_work_are_those_of_plain_counting() {
    let test = "views_of_gpu_work_are_those_of_plain_counting";
    let folder = TempFolder::new("cli-oracles-work");
    let path = folder.argument("work.sqlite", &of_every_class());
    let rows = compare(test, "gpu_work", &OF_WORK, &path, |_| true);
    assert!(rows.iter().all(|rows| *rows > 0), "{rows:?}");
}

#[test]
fn views_of_gpu_work_are_those_of_plain_counting_in_real_traces() {
    let test = "views_of_gpu_work_are_those_of_plain_counting_in_real_traces";
    compare_shared(test, "gpu_work", &OF_WORK, &["torch/ddp_sampled_rank0.json.gz"], |_| true);
    // Names are demangled by us, and not compared.
    let files = ["nsys/cloverleaf_a100_2024.5_s3.13.sqlite", "nsys/saxpy_mpi_a100_2022.2_s2.9.sqlite"];
    compare_shared(test, "gpu_work", &OF_WORK[3..], &files, |_| true);
}

const CRITICAL: [&str; 2] = ["critical_path", "critical_path_sum"];

#[test]
fn the_critical_path_is_that_of_plain_walking() {
    let test = "the_critical_path_is_that_of_plain_walking";
    let folder = TempFolder::new("cli-oracles-critical");
    for (name, bytes) in [("mixed", mixed()), ("classes", of_every_class())] {
        let path = folder.argument(&format!("{name}.sqlite"), &bytes);
        let rows = compare(test, "critical_path", &CRITICAL, &path, |_| true);
        assert!(rows.iter().all(|rows| *rows > 3), "{rows:?}");
    }
}

#[test]
fn the_critical_path_is_that_of_plain_walking_in_real_traces() {
    let test = "the_critical_path_is_that_of_plain_walking_in_real_traces";
    compare_shared(test, "critical_path", &CRITICAL, &["torch/ddp_sampled_rank0.json.gz"], |_| true);
    // Names are demangled by us, and not compared.
    let files = ["nsys/saxpy_mpi_a100_2022.2_s2.9.sqlite"];
    compare_shared(test, "critical_path", &CRITICAL[1..], &files, |_| true);
}

#[test]
fn a_map_of_utilization_has_as_many_bins_as_asked_for() {
    let folder = TempFolder::new("cli-oracles-map");
    // Two thirds of the first of three bins, nothing of the second, all of the third.
    let story = Story::empty().with_kernel(Name::plain("k"), 1_000, 200).with_kernel(Name::plain("k"), 1_600, 300);
    let path = folder.argument("map.gpuprof", &native(&story));
    let view = |view: &str| gpuprof(&["report", "--view", view, "--format", "json", &path]).stdout;
    let document: Value = serde_json::from_str(&view("util-map:bins=3")).expect("JSON");
    let rows = document["tables"][0]["rows"].as_array().expect("rows");
    let cells = |row: &Value| {
        ["Start (ns)", "Duration (ns)", "Busy (ns)", "Busy of Duration (%)"]
            .map(|column| row[column].to_string())
            .join(" ")
    };
    let rows: Vec<String> = rows.iter().map(cells).collect();
    assert_eq!(rows, ["1000 300 200 66.7", "1300 300 0 0.0", "1600 300 300 100.0"]);
    refused(&["report", "--view", "util-map:bins=0", &path], &["write bins=30", "from 1 to 10000"]);
}

#[test]
fn copies_are_held_against_what_the_memory_and_the_link_can_do() {
    let folder = TempFolder::new("cli-oracles-limits");
    let mut story = Story { devices: vec!["NVIDIA A".into(), "NVIDIA B".into()], ..Story::empty() };
    let copies = [(1, 0, 8), (1, 0, 8), (2, 0, 8), (8, 0, 7), (8, 1, 7)];
    for (at, (kind, device, stream)) in (0..).zip(copies) {
        let start = 1_000_000 + at * 200_000;
        // 12.8, 25.6 and 102.4 GB/s to and from the host, 500 and 4,000 GB/s on the device.
        let bytes = [1_280_000, 2_560_000, 10_240_000, 50_000_000, 400_000_000][at as usize];
        story.copies.push(Copy {
            start,
            end: start + 100_000,
            kind,
            bytes,
            device,
            context: 1,
            stream,
            correlation: 0,
        });
    }
    let mut file = Vec::new();
    let mut writer = NativeWriter::begin(&mut file, &story, Native::default());
    let metrics = ["pcie_link_gen", "pcie_link_width_lanes"].map(|name| writer.string(name.as_bytes()));
    // At rest the link is slow.
    let samples = [(0, [1.0, 16.0]), (500_000, [4.0, 16.0]), (900_000, [1.0, 16.0])];
    let samples = samples.into_iter().flat_map(|(start_ns, values)| {
        metrics.into_iter().zip(values).map(move |(metric_id, value)| trace_format::tables::SampleRow {
            start_ns,
            metric_id,
            device: Some(0),
            value,
            of_pid: None,
        })
    });
    writer.define();
    writer.rows(samples.collect());
    writer.rest(&story);
    writer.close();
    let path = folder.argument("limits.gpuprof", &file);
    let columns = ["Operation", "DevId", "Avg while Busy (GB/s)", "Limit (GB/s)", "Avg of Limit (%)", "Limit of"];
    let document = gpuprof(&["report", "--view", "gpu_copy_bandwidth", "--format", "json", &path]).stdout;
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let rows = document["tables"][0]["rows"].as_array().expect("rows");
    let rows: Vec<String> =
        rows.iter().map(|row| columns.map(|c| row[c].to_string().replace('"', "")).join("; ")).collect();
    let expected = [
        "[CUDA memcpy Host-to-Device]; 0; 19.2; 31.508; 60.9; PCIe 4 x16",
        // Faster than the link, so over something else.
        "[CUDA memcpy Device-to-Host]; 0; 102.4; null; null; null",
        "[CUDA memcpy Device-to-Device]; 0; 500.0; 1000.0; 50.0; half of the memory bandwidth",
        "[CUDA memcpy Device-to-Device]; 1; 4000.0; null; null; null",
    ];
    assert_eq!(rows, expected);
}

#[test]
fn a_quarter_of_a_copy_is_hidden() {
    let folder = TempFolder::new("cli-oracles-quarter");
    let mut story = Story::empty();
    // Kernels from 150 to 200 and from 200 to 250 us, and one far away; a copy from 100 to 500 us, and one behind the last kernel.
    for start in [150_000, 200_000, 900_000] {
        story = story.with_kernel(Name::plain("k"), start, 50_000);
    }
    for (start, end) in [(100_000, 500_000), (1_000_000, 1_200_000), (910_000, 940_000)] {
        story.copies.push(Copy {
            start,
            end,
            kind: 1,
            bytes: 4_000,
            device: 0,
            context: 1,
            stream: 8,
            correlation: 0,
        });
    }
    let path = folder.argument("quarter.gpuprof", &native(&story));
    let rows = |view: &str| -> Vec<String> {
        let columns = ["Hidden (ns)", "Hidden of Duration (%)", "Exposed (ns)"];
        let document = gpuprof(&["report", "--view", view, "--format", "json", &path]).stdout;
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let rows = document["tables"][0]["rows"].as_array().expect("rows").clone();
        rows.iter().map(|row| columns.map(|column| row[column].to_string()).join(" ")).collect()
    };
    assert_eq!(rows("gpu_hidden_copies"), ["100000 25.0 300000", "0 0.0 200000"]);
    // Short copies and hidden ones on demand.
    let all = rows("gpu_hidden_copies:least=0:most=100");
    assert_eq!(all, ["100000 25.0 300000", "0 0.0 200000", "30000 100.0 0"]);
    assert_eq!(rows("gpu_hidden_copies:most=10"), ["0 0.0 200000"]);
    refused(&["report", "--view", "gpu_hidden_copies:least=x", &path], &["write least=100000"]);
}

#[test]
fn views_say_the_same_for_any_order_of_records_and_any_number_of_threads() {
    let folder = TempFolder::new("cli-oracles-order");
    let mut player = steps_of_seven();
    for i in 0..50 {
        player.async_copy(8, 120_000, PINNED);
        player.kernel(if i % 2 == 0 { "ncclDevKernel_AllReduce" } else { "gemm" }, 9, 90_000);
    }
    let write = |name: &str, player: &Player| {
        folder.argument(name, &player.native_with(Native { rows_per_frame: 300, ..Native::default() }))
    };
    let in_order = write("in-order.gpuprof", &player);
    Random(1).shuffle(&mut player.story.kernels);
    Random(2).shuffle(&mut player.story.calls);
    Random(3).shuffle(&mut player.copies);
    let shuffled = write("shuffled.gpuprof", &player);
    let say = |path: &str, threads: &str| {
        let mut arguments = vec!["report", "--format", "csv", path];
        [&["cuda_launch_stats"][..], &STEPS, &OF_WORK, &CRITICAL]
            .concat()
            .into_iter()
            .for_each(|view| arguments.extend(["--view", view]));
        gpuprof_with(&[("RAYON_NUM_THREADS", threads)], &arguments).stdout
    };
    let expected = say(&in_order, "1");
    assert!(expected.lines().count() > 500, "{expected}");
    assert_eq!(say(&in_order, "4"), expected);
    assert_eq!(say(&shuffled, "4"), expected);
}
