//! Views say to the digit what small programs in Python say that read the same files in their own way and answer the same
//! questions in the plainest way: `tests/oracles/VIEW.py`.

mod work;

use crate::common::build::*;
use crate::common::{TempFolder, answer, command, gpuprof, gpuprof_with, refused, shared, skip};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use trace_format::tables::MemoryRow;

/// Compares the rows of views with those that their oracle prints, column by column; of a column that the oracle leaves out it
/// says nothing. `keep` says which rows of the views the oracle knows. Gives the number of rows of each view, nothing if there is
/// no Python.
fn compare(test: &str, oracle: &str, views: &[&str], path: &str, keep: impl Fn(&Value) -> bool) -> Vec<usize> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/oracles/{oracle}.py"));
    // Nothing is written beside the sources.
    let Ok(output) = Command::new("python3").arg("-B").arg(script).arg(path).args(views).output() else {
        skip(test, "there is no python3");
        return Vec::new();
    };
    assert!(output.status.success(), "{oracle}.py {path}: {}", String::from_utf8_lossy(&output.stderr));
    let expected: BTreeMap<String, Vec<Value>> = serde_json::from_slice(&output.stdout).expect("rows by view");
    let mut arguments = vec!["report", "--format", "json", path];
    views.iter().for_each(|view| arguments.extend(["--view", view]));
    let answer = answer(&mut command(&arguments));
    assert_eq!(answer.status, i32::from(expected.values().all(Vec::is_empty)), "{path}: {}", answer.stderr);
    let document: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
    let compared = views.iter().map(|&view| {
        let tables = document["tables"].as_array().into_iter().flatten();
        let found = tables.filter(|table| table["name"] == view).flat_map(|table| table["rows"].as_array());
        let mut rows: Vec<&Value> = found.flatten().filter(|row| keep(row)).collect();
        let mut expected = expected[view].clone();
        // Processes come in the order in which the reader met them.
        let pid = |row: &Value| row["PID"].as_u64();
        rows.sort_by_key(|row| pid(row));
        expected.sort_by_key(pid);
        for (at, (row, expected)) in rows.iter().zip(&expected).enumerate() {
            for (column, expected) in expected.as_object().expect("a row") {
                assert_eq!(&row[column], expected, "{view} of {path}, row {at}, {column}: {row}");
            }
        }
        assert_eq!(rows.len(), expected.len(), "{view} of {path}: rows");
        rows.len()
    });
    compared.collect()
}

/// Compares views of files of the collection.
fn compare_shared(test: &str, oracle: &str, views: &[&str], files: &[&str], keep: impl Fn(&Value) -> bool) {
    let Some(shared) = shared(test) else { return };
    for file in files {
        let path = shared.join("data").join(file);
        let rows = compare(test, oracle, views, path.to_str().expect("UTF-8"), &keep);
        assert!(rows.is_empty() || rows.iter().any(|rows| *rows > 0), "{file}: {rows:?}");
    }
}

/// A program of three streams that waits, copies in both ways and launches faster or slower than the device.
fn mixed() -> Vec<u8> {
    let mut player = Player::new(11);
    for i in 0..40 {
        player.kernel("gemm", 7, 30_000 + i % 5 * 40_000);
        player.kernel("relu", 7, 2_000);
        player.async_copy(8, 20_000, if i % 4 == 0 { PAGEABLE } else { PINNED });
        if i % 3 == 0 {
            player.blocking_copy(9, 15_000, true);
            player.pause(120_000);
        }
        if i % 10 == 9 {
            player.synchronize();
            // A call that takes long, and work that is done before it returns.
            player.load_module(70_000);
        }
    }
    in_nsys(player)
}

/// The program as a database of nsys.
fn in_nsys(player: Player) -> Vec<u8> {
    let copy = |row: &trace_format::tables::MemcpyRow| Copy {
        start: row.start_ns,
        end: row.start_ns + row.duration_ns.expect("a duration"),
        kind: row.kind,
        bytes: row.bytes,
        device: row.device,
        context: row.context,
        stream: row.stream,
        correlation: row.correlation,
    };
    let copies = player.copies.iter().map(copy).collect();
    nsys(&Story { copies, ..player.story }, NsysEra::Of2026)
}

#[test]
fn launch_statistics_are_those_of_every_launch_by_itself() {
    let test = "launch_statistics_are_those_of_every_launch_by_itself";
    let folder = TempFolder::new("cli-oracles-launches");
    // Nothing selected twice, work that begins before its call returns, calls that are missing.
    let mut story = Story::sample(60);
    for (i, call) in story.calls.iter_mut().enumerate() {
        match i % 13 {
            3 => call.end += 60_000,
            5 => call.correlation += 1_000_000,
            // Clocks that disagree.
            7 => (call.start, call.end) = (call.start + 25_000, call.end + 25_000),
            _ => {}
        }
    }
    for (name, bytes) in [("story.sqlite", nsys(&story, NsysEra::Of2026)), ("mixed.sqlite", mixed())] {
        let path = folder.argument(name, &bytes);
        let rows = compare(test, "cuda_launch_stats", &["cuda_launch_stats"], &path, |_| true);
        assert!(rows.iter().all(|rows| *rows >= 5), "{name}: {rows:?}");
    }
    let files = [
        "torch/alexnet_a100_sync_2023.json.gz",
        "nsys/cloverleaf_a100_2024.5_s3.13.sqlite",
        "nsys/fsdp_h100x2_nvtx_2026.2_s3.25.sqlite",
    ];
    compare_shared(test, "cuda_launch_stats", &["cuda_launch_stats"], &files, |_| true);
}

#[test]
fn allocations_are_those_of_every_block_by_itself() {
    let test = "allocations_are_those_of_every_block_by_itself";
    let folder = TempFolder::new("cli-oracles-allocations");
    let story = Story::sample(60);
    let mut bytes = Vec::new();
    let mut writer = NativeWriter::begin(&mut bytes, &story, Native::default());
    let mut random = Random(7);
    let mut rows = Vec::new();
    // Two devices, device and pinned memory, few sizes, so that they come again; of some blocks the release is missing, and
    // some were allocated before the recording began.
    for i in 0..400 {
        let block = random.below(12);
        let (device, mem_kind) = (block as u32 % 2, if block < 8 { 3 } else { 2 });
        let is_allocation = random.below(2) == 0;
        rows.push(MemoryRow {
            start_ns: story.calls[0].start + i * 300_000 + random.below(200_000) as i64,
            operation: if is_allocation { 1 } else { 2 },
            mem_kind,
            address: 4096 * (block + 1),
            bytes: (1 + random.below(3) as i64) << 20,
            device,
            correlation: story.calls[i as usize % story.calls.len()].correlation
                + if i < 60 { 0 } else { 1_000_000 },
            ..MemoryRow::default()
        });
    }
    writer.rows(rows);
    writer.rest(&story);
    writer.close();
    let native = folder.argument("run.gpuprof", &bytes);
    let database = folder.path().join("run.sqlite");
    let database = database.to_str().expect("UTF-8");
    gpuprof(&["export", "--quiet", &native, "-o", database]);
    let rows = compare(test, "cuda_mem_alloc_sum", &["cuda_mem_alloc_sum"], database, |_| true);
    assert!(rows.iter().all(|rows| *rows == 4), "{rows:?}");
    // The trace itself says the same, but for the clock.
    let text = gpuprof(&["report", "--view", "allocations", "--format", "csv", &native]).stdout;
    assert_eq!(text.lines().filter(|line| line.contains("Pinned") || line.contains("Device")).count(), 4, "{text}");
}

#[test]
fn occupancy_is_that_of_what_the_driver_said_of_its_gpu() {
    let test = "occupancy_is_that_of_what_the_driver_said_of_its_gpu";
    let folder = TempFolder::new("cli-oracles-occupancy");
    let story = Story::sample(60);
    let rows = |name: &str, bytes: &[u8]| -> Vec<Value> {
        let path = folder.argument(name, bytes);
        let document = gpuprof(&["report", "--view", "occupancy", "--format", "json", &path]).stdout;
        let document: Value = serde_json::from_str(&document).expect("JSON");
        document["tables"][0]["rows"].as_array().expect("rows").clone()
    };
    // Blocks of 8 warps with 32 registers a thread on the 80 multiprocessors of a V100, which hold 64 warps each: 640 places for grids
    // of 16 and 17 blocks.
    let all = rows("story.sqlite", &nsys(&story, NsysEra::Of2026));
    assert!(all.len() >= 6, "{all:?}");
    for row in &all {
        let cells =
            ["Blocks per SM", "Occupancy of Warps (%)", "Limited By", "Waves"].map(|column| row[column].clone());
        let expected: [Value; 4] = [8.into(), 100.0.into(), "warps".into(), 0.03.into()];
        assert_eq!(cells, expected, "{row}");
        let empty =
            if row["GridXYZ"].as_str().expect("a size").trim_start().starts_with("16") { 97.5 } else { 97.3 };
        assert_eq!(row["Empty of All Waves (%)"], empty, "{row}");
    }
    let shares: f64 = all.iter().filter_map(|row| row["of Kernel Time (%)"].as_f64()).sum();
    assert!((99.0..101.0).contains(&shares), "{shares}");
    // Nobody wrote down how much shared memory these took.
    for row in rows("story.gpuprof", &native(&story)) {
        assert_eq!(
            (&row["Blocks per SM"], &row["Limited By"]),
            (&Value::Null, &"shared memory not recorded".into())
        );
    }
    let files = [
        "nsys/cloverleaf_a100_2024.5_s3.13.sqlite",
        "nsys/gtls_rtx3060_2023.1_s3.1.sqlite",
        "nsys/build_probe_rtx6000_noversion.sqlite",
    ];
    compare_shared(test, "gpu_occupancy", &["gpu_occupancy"], &files, |_| true);
}

#[test]
fn delays_below_zero_are_counted_and_nsys_keeps_its_queue_times() {
    let folder = TempFolder::new("cli-oracles-signed");
    let mut story = Story::empty();
    // Calls of 10 us at 100, 200 and 300 us; kernels that begin 4 us before the end, with it, and 250 us after it.
    for (i, start) in [106_000, 210_000, 560_000].into_iter().enumerate() {
        story = story.with_kernel(Name::plain("k"), start, 1_000);
        let (start, correlation) = (100_000 * (i as i64 + 1), i as u64 + 1);
        story.calls.push(Call { function: LAUNCH, start, end: start + 10_000, tid: THREAD, correlation });
    }
    let path = folder.argument("signed.gpuprof", &native(&story));
    let document = gpuprof(&["report", "--view", "launch_stats", "--format", "json", &path]).stdout;
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let rows = document["tables"][0]["rows"].as_array().expect("rows");
    let of = |column: &str| rows.iter().map(|row| row[column].clone()).collect::<Vec<_>>();
    assert_eq!(of("Kind"), ["all", "all kernels", "kernel"]);
    for row in rows {
        let cells = |columns: &[&str]| columns.iter().map(|&column| row[column].clone()).collect::<Vec<_>>();
        assert_eq!(cells(&["Launches", "Negative Delays", "Long Delays", "Short Kernels"]), [3, 1, 1, 3]);
        // -4, 0 and 250 us: the mean is 82, the median 0. Only the last one waited.
        assert_eq!(cells(&["Delay Avg (ns)", "Delay Med (ns)"]), [82_000.0, 0.0]);
        assert_eq!(
            cells(&["Delay Min (ns)", "Delay Max (ns)", "QCount", "QMin (ns)"]),
            [-4_000, 250_000, 1, 250_000]
        );
        // The second and the third call began after the kernel before had ended.
        assert_eq!(cells(&["Followers", "Host-Bound"]), [2, 2]);
        assert_eq!(row["Host-Bound of Followers (%)"], 100.0);
    }
    let sql = "SELECT delay_ns, queue_ns, latency_ns FROM launches";
    let answer = gpuprof(&["query", &path, sql, "--format", "csv"]).stdout;
    let lines: Vec<&str> = answer.lines().skip(1).collect();
    assert_eq!(lines, ["-4000,,6000", "0,,10000", "250000,250000,260000"]);
}

/// Views of steps.
const STEPS: [&str; 3] = ["steps", "steps_sum", "steps_slow"];

/// Rows of what the oracle of steps knows: it does not say why a GPU was idle.
fn without_causes(row: &Value) -> bool {
    row["Kind"] != "GPU idle"
}

/// A warm-up of other kernels, and 500 steps of seven kernels. Step 100 has a kernel that takes longer, step 250 one more, before step
/// 400 the host pauses.
fn steps_of_seven() -> Player {
    let mut player = Player::new(3);
    for i in 0..31 {
        player.kernel(["init", "autotune", "gemm", "copy_weights"][i % 7 % 4], 7, 5_000);
    }
    for number in 0..500 {
        if number == 400 {
            player.pause(900_000);
        }
        for (at, kernel) in ["gemm", "relu", "gemm", "norm", "gemm", "softmax", "update"].iter().enumerate() {
            player.kernel(kernel, 7, if (number, at) == (100, 3) { 700_000 } else { 8_000 + 1_000 * at as i64 });
            if (number, at) == (250, 4) {
                player.kernel("check", 7, 400_000);
            }
        }
        player.stay_near(7, 200_000);
    }
    player
}

#[test]
fn steps_of_seven_kernels_are_found_and_the_slow_ones_explained() {
    let test = "steps_of_seven_kernels_are_found_and_the_slow_ones_explained";
    let folder = TempFolder::new("cli-oracles-steps");
    let path = folder.argument("steps.sqlite", &in_nsys(steps_of_seven()));
    compare(test, "steps", &STEPS, &path, without_causes);
    let mut arguments = vec!["report", "--format", "json", &path];
    STEPS.iter().for_each(|view| arguments.extend(["--view", view]));
    let document: Value = serde_json::from_str(&gpuprof(&arguments).stdout).expect("JSON");
    let rows = |view: &str| -> Vec<Value> {
        let table = document["tables"].as_array().expect("tables").iter().find(|table| table["name"] == view);
        table.expect("the table")["rows"].as_array().expect("rows").clone()
    };
    let summary = &rows("steps_sum")[0];
    assert_eq!(
        (&summary["Steps"], &summary["Found by"]),
        (&500.into(), &"sequence of 7 kernels on GPU 0, stream 7".into())
    );
    assert_eq!((&summary["Kernels Outside"], &summary["GPUs"]), (&31.into(), &1.into()));
    let kernels: Vec<i64> = rows("steps").iter().map(|row| row["Kernels"].as_i64().expect("a count")).collect();
    let regular = kernels.iter().filter(|count| **count == 7).count();
    assert_eq!((regular, kernels[250]), (499, 8));
    // What was planted is what each of the three took longer for.
    let slow = rows("steps_slow");
    let first = |step: i64, kind: &str| {
        let row = slow.iter().find(|row| row["Step"] == step && row["Kind"] == kind).expect("a reason");
        (row["Name"].as_str().expect("a name"), row["Difference (ns)"].as_i64().expect("a difference"))
    };
    let (name, ns) = first(100, "GPU work");
    assert!(name == "norm" && ns > 680_000, "{name} {ns}");
    let (name, ns) = first(250, "GPU work");
    assert!(name == "check" && ns >= 400_000, "{name} {ns}");
    // The step before the pause lasts until the first kernel behind it.
    let (name, ns) = first(399, "GPU idle");
    assert!(name == "host" && ns > 600_000, "{name} {ns}");
    let numbers: Vec<i64> = slow.iter().map(|row| row["Step"].as_i64().expect("a number")).collect();
    assert!(numbers.contains(&100) && numbers.contains(&250) && numbers.contains(&399), "{numbers:?}");
}

#[test]
fn steps_by_ranges_are_those_of_the_ranges() {
    let test = "steps_by_ranges_are_those_of_the_ranges";
    let folder = TempFolder::new("cli-oracles-step-ranges");
    let mut player = Player::new(5);
    let mut ends = Vec::new();
    let now = |player: &Player| player.story.calls.last().map_or(0, |call| call.end);
    for number in 0..12 {
        let start = now(&player);
        for _ in 0..if number < 2 { 20 } else { 5 + number % 3 } {
            player.kernel("gemm", 7, 20_000);
            player.kernel("relu", 8, 5_000);
        }
        player.async_copy(8, 30_000, PINNED);
        player.synchronize();
        ends.push((start, now(&player)));
        player.kernel("log", 7, 1_000);
    }
    let range =
        |name: String, start, end| NvtxRange { name, domain: None, start, end: Some(end), style: 0, tid: THREAD };
    let whole = range("training".into(), ends[0].0, ends[11].1);
    let steps = ends.iter().enumerate().map(|(i, &(start, end))| range(format!("part {i} of 12"), start, end));
    player.story.ranges = std::iter::once(whole).chain(steps).collect();
    let path = folder.argument("ranges.sqlite", &in_nsys(player));
    let rows = compare(test, "steps", &STEPS, &path, without_causes);
    assert!(rows.is_empty() || (rows[..2] == [12, 1] && rows[2] > 0), "{rows:?}");
    let files = ["torch/alexnet_a100_sync_2023.json.gz", "nsys/fsdp_h100x2_nvtx_2026.2_s3.25.sqlite"];
    compare_shared(test, "steps", &["steps_sum"], &files, without_causes);
    compare_shared(test, "steps", &STEPS, &["torch/ddp_sampled_rank0.json.gz"], without_causes);
}

#[test]
fn steps_do_not_last_while_the_recording_is_off() {
    let folder = TempFolder::new("cli-oracles-off");
    let mut story = Story::empty();
    for number in 0..20 {
        // Between the tenth and the eleventh step 50 ms were not recorded.
        let at = 1_000_000 + number * 100_000 + if number < 10 { 0 } else { 50_000_000 };
        story = story.with_kernel(Name::plain("a"), at, 20_000).with_kernel(Name::plain("b"), at + 30_000, 20_000);
    }
    let window = |(start_ns, end_ns)| trace_format::tables::CaptureRow {
        start_ns,
        end_ns: Some(end_ns),
        starts: 1,
        stops: 1,
        ..Default::default()
    };
    let mut file = Vec::new();
    let mut writer = NativeWriter::begin(&mut file, &story, Native::default());
    writer.kernels(&story.kernels);
    writer.rows([(500_000, 1_990_000), (51_900_000, 53_000_000)].map(window).to_vec());
    writer.rest(&story);
    writer.close();
    let path = folder.argument("off.gpuprof", &file);
    let document = gpuprof(&["report", "--view", "steps", "--format", "json", &path]).stdout;
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let rows = document["tables"][0]["rows"].as_array().expect("rows");
    let walls: Vec<i64> = rows.iter().map(|row| row["Wall (ns)"].as_i64().expect("a length")).collect();
    let expected: Vec<i64> = (0..20).map(|number| if number % 10 == 9 { 50_000 } else { 100_000 }).collect();
    assert_eq!(walls, expected);
}

/// What Holistic Trace Analysis 0.5.0 printed of the first rank (`include_last_profiler_step=True`), in its microseconds.
#[test]
fn numbers_that_hta_has_too_are_those_that_it_prints() {
    let Some(shared) = shared("numbers_that_hta_has_too_are_those_that_it_prints") else { return };
    let path = shared.join("data/torch/ddp_sampled_rank0.json.gz");
    let path = path.to_str().expect("UTF-8");
    let views = [
        "hta_temporal_breakdown",
        "gpu_idle_breakdown",
        "gpu_queue_length",
        "gpu_class_overlap",
        "cuda_launch_stats",
    ];
    let mut arguments = vec!["report", "--format", "json", path];
    views.iter().for_each(|view| arguments.extend(["--view", view]));
    let document: Value = serde_json::from_str(&gpuprof(&arguments).stdout).expect("JSON");
    let rows = |view: &str, columns: &[&str]| -> Vec<String> {
        let table = document["tables"].as_array().expect("tables").iter().find(|table| table["name"] == view);
        let rows = table.expect("the table")["rows"].as_array().expect("rows");
        let cells = |row: &Value| columns.iter().map(|&c| row[c].to_string()).collect::<Vec<_>>().join(" ");
        rows.iter().map(|row| cells(row).replace('"', "")).collect()
    };
    let times = ["Idle (ns)", "Compute (ns)", "Non-Compute (ns)", "Kernel Time (ns)"];
    assert_eq!(rows(views[0], &times), ["675191000 210320000 337336000 1222847000"]);
    let shares = ["Idle of Kernel Time (%)", "Compute of Kernel Time (%)", "Non-Compute of Kernel Time (%)"];
    assert_eq!(rows(views[0], &shares), ["55.21 17.2 27.59"]);
    // HTA has a row of stream 203 for its first piece of work as well, before which there is no gap.
    let expected = [
        "7 host_wait 397917000",
        "7 kernel_wait 3765000",
        "7 other 598335000",
        "23 host_wait 1214793000",
        "23 kernel_wait 160000",
        "23 other 34000",
        "25 host_wait 560120000",
        "25 kernel_wait 35000",
        "25 other 100413000",
        "84 host_wait 794901000",
        "84 kernel_wait 6000",
        "84 other 3142000",
        "203 host_wait 558073000",
    ];
    assert_eq!(rows(views[1], &["Stream", "Category", "HTA Idle (ns)"]), expected);
    let expected = ["7 1052 25.458 80", "23 126 0.627 4", "25 16 4.0 8", "84 8 0.625 2", "203 2 0.5 1"];
    assert_eq!(rows(views[2], &["Stream", "Launches", "Avg over Changes", "Max Length"]), expected);
    let expected = [
        "computation 151094000 27.6",
        "communication 336033000 61.4",
        "memory 353000 0.1",
        "computation + communication 59204000 10.8",
        "computation + memory 10000 0.0",
        "communication + memory 950000 0.2",
        "computation + communication + memory 12000 0.0",
    ];
    assert_eq!(rows(views[3], &["Classes", "Time (ns)", "of Busy Time (%)"]), expected);
    let launches = rows(views[4], &["Kind", "Launches", "Short Kernels", "Long Calls", "Long Delays"]);
    assert_eq!(launches[0], "all 1204 280 2 937");
}
