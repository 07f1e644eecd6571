//! Tests of the trace listings, with rows as the golden files and public logs have them.

use super::super::TimeUnit;
use super::super::fixtures::{CSV, Names, TEXT, call, copy, gpu, uvm, written};
use super::*;

const KERNEL: ActivityKind = ActivityKind::Kernel { shape: 0 };
const NOTES: &str = "
Regs: Number of registers used per CUDA thread. This number includes registers used internally by the CUDA driver \
and/or tools and can be more than what the compiler shows.
SSMem: Static shared memory allocated per CUDA block.
DSMem: Dynamic shared memory allocated per CUDA block.
";
const COPY_NOTES: &str = "\
SrcMemType: The type of source memory accessed by memory operation/copy
DstMemType: The type of destination memory accessed by memory operation/copy
";

fn rows() -> Vec<GpuActivity> {
    vec![
        gpu(5_000, 10_688, KERNEL),
        gpu(120_125_609, 1_024, ActivityKind::Memset { mem_kind: 3, bytes: 4 }),
        gpu(2_486_245_000, 14_400, copy(None)),
    ]
}

fn of_gpu(rows: &[GpuActivity]) -> Rows<'_> {
    Rows { gpu: Some(rows), ..Rows::default() }
}

fn of_calls(calls: &[ApiCall]) -> Rows<'_> {
    Rows { calls: Some(calls), ..Rows::default() }
}

fn print(rows: &[GpuActivity], options: &Options) -> String {
    written(|out| write(out, &of_gpu(rows), &Launches::default(), &Names::new(), options))
}

#[test]
fn gpu_trace_starts_at_its_first_row() {
    let head = "
   Start  Duration            Grid Size      Block Size     Regs*    SSMem*    DSMem*      Size  Throughput  SrcMemType  DstMemType           Device   Context    Stream  Name
     0ns  10.688us            (152 1 1)        (32 4 1)        29        0B  1.0000KB         -           -           -           -  Tesla V100-SXM2         1        14  foo(float*, int) [219]
120.12ms  1.0240us                    -               -         -         -         -        4B  3.7253MB/s      Device           -  Tesla V100-SXM2         1        14  [CUDA memset]
2.48624s  14.400us                    -               -         -         -         -  76.000KB  5.0333GB/s      Device      Pinned  Tesla V100-SXM2         1        14  [CUDA memcpy DtoH]
";
    assert_eq!(print(&rows(), &TEXT), head[1..].to_owned() + NOTES + COPY_NOTES);
}

#[test]
fn csv_splits_sizes_and_keeps_the_device_whole() {
    let expected = "
\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Block Y\",\"Block Z\",\
\"Registers Per Thread\",\"Static SMem\",\"Dynamic SMem\",\"Size\",\"Throughput\",\"SrcMemType\",\"DstMemType\",\
\"Device\",\"Context\",\"Stream\",\"Name\",\"Correlation_ID\"
s,us,,,,,,,,B,KB,KB,GB/s,,,,,,,
0.000000,10.688000,152,1,1,32,4,1,29,0,1.000000,,,,,\"Tesla V100-SXM2-32GB (0)\",\"1\",\"14\",\
\"foo(float*, int)\",219
0.120121,1.024000,,,,,,,,,,0.003906,0.003638,\"Device\",,\"Tesla V100-SXM2-32GB (0)\",\"1\",\"14\",\
\"[CUDA memset]\",219
2.486240,14.400000,,,,,,,,,,76.000000,5.033281,\"Device\",\"Pinned\",\"Tesla V100-SXM2-32GB (0)\",\"1\",\"14\",\
\"[CUDA memcpy DtoH]\",219
";
    assert_eq!(print(&rows(), &CSV), expected[1..]);
    let forced = print(&rows(), &Options { unit: TimeUnit::Ms, ..CSV });
    assert!(forced.contains("\nms,ms,,,,,,,,B,KB,KB,GB/s,,,,,,,\n"), "{forced}");
}

#[test]
fn text_with_one_unit_per_column_has_a_row_of_units() {
    let text = print(&rows()[..1], &Options { unit: TimeUnit::Us, ..TEXT });
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "      us        us                                                        B        KB");
    assert!(
        lines[2]
            .starts_with("0.000000  10.68800            (152 1 1)        (32 4 1)        29         0  1.000000")
    );
}

#[test]
fn columns_come_with_the_rows_that_need_them() {
    let kernels = print(&[gpu(0, 1, KERNEL)], &TEXT);
    assert!(kernels.starts_with(
        "   Start  Duration            Grid Size      Block Size     Regs*    SSMem*    DSMem*           Device   \
         Context    Stream  Name\n"
    ));
    assert!(kernels.ends_with(NOTES));
    let peer = print(&[gpu(0, 6_710_800, copy(Some([0, 1, 1, 2])))], &TEXT);
    assert!(peer.contains("    Stream          Src Dev   Src Ctx          Dst Dev   Dst Ctx  Name\n"));
    assert!(
        peer.contains("        14  Tesla V100-SXM2         1          GPU (1)         2  [CUDA memcpy PtoP]\n")
    );
}

fn thrash(mask: u32, flags: u32) -> ActivityKind {
    let ActivityKind::Uvm { kind, value, address, dst_device, pc, .. } = uvm(5, 4_096, None, Some(0), None) else {
        return KERNEL;
    };
    ActivityKind::Uvm { kind, value, address, src_device: Some(mask), dst_device, pc, flags }
}

#[test]
fn unified_memory_has_its_own_cells() {
    let rows = [
        gpu(0, None, uvm(3, 1, None, None, Some(0x4034d6))),
        gpu(10, 398_850, uvm(4, 49, Some(0), None, None)),
        gpu(20, 5_792, uvm(1, 49_152, None, Some(0), None)),
        gpu(30, None, thrash(0b1, 1)),
    ];
    let expected = "
     0ns         -                    -               -         -         -         -                -         -         -           PC 0x4034d6   0x7f8cc0080000  [Unified Memory CPU page faults]
    10ns  398.85us                    -               -         -         -         -  Tesla V100-SXM2         -         -                    49   0x7f8cc0080000  [Unified Memory GPU page faults]
    20ns  5.7920us                    -               -         -         -         -  Tesla V100-SXM2         -         -           48.000000KB   0x7f8cc0080000  [Unified Memory Memcpy HtoD]
    30ns         -                    -               -         -         -         -  CPU, Tesla V100         -         -            4.000000KB   0x7f8cc0080000  [Unified Memory page thrash]
";
    assert!(print(&rows, &TEXT).contains(expected));
    let csv = print(&rows, &CSV);
    assert!(csv.contains("\nns,us,,,,,,,,B,B,,,,B,,,\n"), "{csv}");
    assert!(
        csv.contains("\n0,,,,,,,,,,,,,,\"PC 0x4034d6\",\"0x7f8cc0080000\",\"[Unified Memory CPU page faults]\",\n")
    );
    assert!(
        csv.contains(",\"Tesla V100-SXM2-32GB (0)\",,,49152.000000,\"0x7f8cc0080000\",\"[Unified Memory Memcpy")
    );
}

#[test]
fn what_a_trace_lacks_is_a_dash() {
    let rows = [gpu(7, None, ActivityKind::Kernel { shape: 1 }), gpu(1_000, 5, ActivityKind::Kernel { shape: 9 })];
    let text = print(&rows, &TEXT);
    let lines: Vec<&str> = text.lines().collect();
    // No valid times, and so not the first row either.
    assert!(lines[1].starts_with("       -         -                    -               -         -         -  "));
    assert!(lines[2].starts_with("     0ns       5ns                    -               -         -         -  "));
}

#[test]
fn launches_name_their_kernel() {
    let launches = Launches::new(&[gpu(0, 1, KERNEL)], &Names::new());
    let calls = [call(40, 2_038, 1, 2), call(4_533, 564, 2, 219), call(9_000, None, 1, 220)];
    let print = |options| written(|out| write(out, &of_calls(&calls), &launches, &Names::new(), &options));
    assert_eq!(
        print(TEXT),
        "   Start  Duration  Name
     0ns  2.0380us  cuDeviceGetCount
4.4930us     564ns  cudaLaunchKernel (foo(float*, int) [219])
       -         -  cuDeviceGetCount
"
    );
    assert_eq!(
        print(CSV),
        "\"Start\",\"Duration\",\"Name\",\"Correlation_ID\"
us,us,,
0.000000,2.038000,\"cuDeviceGetCount\",2
4.493000,0.564000,\"cudaLaunchKernel\",219
,,\"cuDeviceGetCount\",220
"
    );
}

#[test]
fn a_graph_of_several_kernels_is_launched_without_a_name() {
    let same = [gpu(0, 1, KERNEL), gpu(5, 1, KERNEL)];
    let several = [gpu(0, 1, KERNEL), gpu(5, 1, ActivityKind::Kernel { shape: 1 }), gpu(9, 1, KERNEL)];
    let print = |rows: &[GpuActivity]| {
        let launches = Launches::new(rows, &Names::new());
        written(|out| write(out, &of_calls(&[call(0, 1, 6, 219)]), &launches, &Names::new(), &TEXT))
    };
    assert!(print(&same).ends_with("cudaGraphLaunch (foo(float*, int) [219])\n"));
    assert!(print(&several).ends_with("  cudaGraphLaunch\n"));
}

#[test]
fn both_traces_are_one_list_with_the_call_first() {
    let calls = [call(5_000, 564, 2, 219), call(6_000, 100, 1, 3)];
    let rows = rows();
    let launches = Launches::new(&rows, &Names::new());
    let text =
        written(|out| write(out, &Rows { calls: Some(&calls), ..of_gpu(&rows) }, &launches, &Names::new(), &TEXT));
    let names: Vec<&str> = text.lines().skip(1).take(5).filter_map(|l| l.split("  ").last()).collect();
    assert_eq!(
        names,
        [
            "cudaLaunchKernel (foo(float*, int) [219])",
            "foo(float*, int) [219]",
            "cuDeviceGetCount",
            "[CUDA memset]",
            "[CUDA memcpy DtoH]"
        ]
    );
    assert!(text.contains(
        "\n1.0000us     100ns                    -               -         -         -         -         -           \
         -           -           -                -         -         -  cuDeviceGetCount\n"
    ));
}

#[test]
fn the_end_of_a_long_launch_is_lost() {
    let mut line = "12345  ".to_owned();
    let kernel = "k".repeat(300);
    super::super::listing::push_name(&mut line, Name::Launch("cudaLaunch", &kernel, 7), true);
    assert_eq!(line.len(), 7 + 255);
}

#[test]
fn empty_traces_say_so() {
    let none = Launches::default();
    assert_eq!(print(&[], &TEXT), "No kernels were profiled.\n");
    let api = written(|out| write(out, &of_calls(&[]), &none, &Names::new(), &TEXT));
    assert_eq!(api, "No API activities were profiled.\n");
    let both = written(|out| write(out, &Rows { calls: Some(&[]), ..of_gpu(&[]) }, &none, &Names::new(), &TEXT));
    assert_eq!(both, "No kernels were profiled.\nNo API activities were profiled.\n");
    // Of two listings in one, nvprof said nothing about the half that is empty.
    let calls = [call(0, 1, 1, 1)];
    let one = written(|out| write(out, &Rows { calls: Some(&calls), ..of_gpu(&[]) }, &none, &Names::new(), &TEXT));
    assert!(one.starts_with("   Start  Duration            Grid Size"), "{one}");
    let rows = rows();
    let other = written(|out| write(out, &Rows { calls: Some(&[]), ..of_gpu(&rows) }, &none, &Names::new(), &TEXT));
    assert!(other.starts_with("   Start  Duration            Grid Size"), "{other}");
}
