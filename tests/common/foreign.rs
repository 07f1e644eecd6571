//! Small files of the formats that hold no whole story: printed traces, summaries, CPU profiles. Written by hand from
//! what the tools print, so that a clone without the shared collection tests every reader.

/// `nvprof --print-gpu-trace --csv`, CUDA 9 and later, with unified memory.
pub const NVPROF_GPU_CSV: &str = "\
the program's own output
==531== NVPROF is profiling process 531, command: ./a \"b c\"
==531== Profiling application: ./a
==531== Warning: 2 records have invalid timestamps due to insufficient device buffer space. You can configure the buffer space using the option --device-buffer-size.
==531== Profiling result:
\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\",\"Block X\",\"Block Y\",\"Block Z\",\"Registers Per Thread\",\"Static SMem\",\"Dynamic SMem\",\"Size\",\"Throughput\",\"SrcMemType\",\"DstMemType\",\"Device\",\"Context\",\"Stream\",\"Unified Memory\",\"Virtual Address\",\"Name\",\"Correlation_ID\"
s,ms,,,,,,,,KB,B,MB,GB/s,,,,,,B,,,
1.183779,0.000992,,,,,,,,,,0.000019,0.018777,\"Pageable\",\"Device\",\"TITAN Xp (0)\",\"1\",\"7\",,,\"[CUDA memcpy HtoD]\",105
1.183791,0.010000,420,2,1,128,1,1,56,2.062500,64,,,,,\"TITAN Xp (1)\",\"2\",\"13\",,,\"void f<int, char>(int*, char const *)\",106
1.183801,2.445000e-03,420,2,1,128,1,1,56,2.062500,64,,,,,\"TITAN Xp (1)\",\"2\",\"13\",,,\"void f<int, char>(int*, char const *)\",107
1.183806,0.001312,,,,,,,,,,0.370605,0.1,\"Device\",,\"TITAN Xp (0)\",\"1\",\"7\",,,\"[CUDA memset]\",108
1.204081,,,,,,,,,,,,,,,,,,\"PC 0x5e240510\",\"0x7f54d8000000\",\"[Unified Memory CPU page faults]\",
1.204181,0.002000,,,,,,,,,,,,,,\"TITAN Xp (0)\",,,65536.000000,\"0x7f54d8000000\",\"[Unified Memory Memcpy HtoD]\",
1.204191,0.050000,,,,,,,,,,,,,,\"TITAN Xp (0)\",,,3.000000,\"0x7f54d8010000\",\"[Unified Memory GPU page faults]\",
";

/// `nvprof --print-gpu-trace --print-api-trace`, text.
pub const NVPROF_BOTH_TEXT: &str = "\
==9== Profiling result:
   Start  Duration            Grid Size      Block Size     Regs*    SSMem*    DSMem*      Size  Throughput  SrcMemType  DstMemType           Device   Context    Stream  Name
309.24ms  1.6783ms          (32768 1 1)      (1024 1 1)        14        0B    1.0KB         -           -           -           -     TITAN Xp (0)         1         7  void init<double>(double*,  double) [128]
     0ns  10.325us                    -               -         -         -         -         -           -           -           -                -         -         -  cuDeviceGet
310.94ms     896ns                    -               -         -         -         -  256.00KB  9.3842GB/s    Pageable      Device     TITAN Xp (0)         1         7  [CUDA memcpy HtoD]
309.20ms  40.939us                    -               -         -         -         -         -           -           -           -                -         -         -  cudaLaunchKernel (void init<double>(double*,  double) [128])

Regs: Number of registers used per CUDA thread. This number includes registers used internally by the CUDA driver and/or tools and can be more than what the compiler shows.
SSMem: Static shared memory allocated per CUDA block.
";

/// `nvprof --print-api-trace --csv`.
pub const NVPROF_API_CSV: &str = "\
======== Profiling result:
\"Start\",\"Duration\",\"Name\",\"Correlation_ID\"
ms,ms,,
0.000000,0.010325,\"cuDeviceGetPCIBusId\",1
57.163418,0.002038,\"cudaMalloc\",2
";

/// The summary, text, one unit per cell.
pub const NVPROF_SUMMARY_TEXT: &str = "\
==180323== Profiling result:
            Type  Time(%)      Time     Calls       Avg       Min       Max  Name
 GPU activities:   63.63%  229.60ms       103  2.2291ms     896ns  155.07ms  [CUDA memcpy DtoH]
                   36.37%  131.23ms         1  131.23ms  131.23ms  131.23ms    ab
      API calls:  100.00%  1.22693s         2  613.47ms  1.5240us  1.22693s  cudaMalloc

==180323== Unified Memory profiling result:
Device \"Tesla P100 (0)\"
   Count  Avg Size  Min Size  Max Size  Total Size  Total Time  Name
     141  116.20KB  4.0000KB  0.9922MB  16.00000MB  1.635900ms  Host To Device
     145         -         -         -           -  12.24735ms  Gpu page fault groups
Total CPU Page faults: 72
";

/// The summary as CUDA 8 and older printed it, with one unit per column.
pub const NVPROF_SUMMARY_OLD: &str = "\
==3525== Profiling result:
Time(%)      Time     Calls       Avg       Min       Max  Name
      %        us                  us        us        us
  33.59  84.93300         1  84.93300  84.93300  84.93300  kernel(float*, int)
  66.41  168.0000         2  84.00000  83.00000  85.00000  [CUDA memset]

==3525== API calls:
No API activities were profiled.
";

/// The summary as CSV.
pub const NVPROF_SUMMARY_CSV: &str = "\
==7== Profiling result:
\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\",\"Name\"
,%,ms,,us,us,ms,
\"GPU activities\",99.804774,1.792872,3,597.624000,0.896000,1.660166,\"f(int, float*)\"
\"GPU activities\",0.195226,0.003507,1,3.507000,3.507000,0.003507,\"[CUDA memset]\"
\"API calls\",100.000000,246.222783,1,246222.783000,246222.783000,246.222783,\"cudaMalloc\"

==7== Unified Memory profiling result:
\"Device\",\"Count\",\"Avg Size\",\"Min Size\",\"Max Size\",\"Total Size\",\"Total Time\",\"\"
\"TITAN Xp (0)\",149,43.328125KB,4.000000KB,576.000000KB,6.304688MB,0.000000,\"Host To Device\"
\"TITAN Xp (0)\",,,,,19B,0.000000,\"Gpu page fault groups\"
Total CPU Page faults: 49
";

/// `nvprof --metrics`.
pub const NVPROF_METRICS: &str = "\
==10161== Profiling result:
==10161== Metric result:
\"Device\",\"Kernel\",\"Invocations\",\"Metric Name\",\"Metric Description\",\"Min\",\"Max\",\"Avg\"
\"GeForce GTX 1080 Ti (0)\",\"kernel(void)\",20,\"inst_per_warp\",\"Instructions per warp\",989.375000,724549.580882,687538.580147
";

/// `nsys stats` with several reports in one file.
pub const NSYS_STATS: &str = "\
Processing [report1.sqlite] with [cuda_gpu_trace.py]...
Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name
2518001468,120664,26,,,,,,,,,,0.786,6517.162,Pageable,Device,NVIDIA A100 (1),1,,7,[CUDA memcpy Host-to-Device]
2518143891,1216,29,,,,,,,,,,0.006,5052.629,Device,,NVIDIA A100 (1),1,,7,[CUDA memset]
2591659227,15167,35,128,2,1,256,1,1,23,0.019,0.000,,,,,NVIDIA A100 (1),1,,13,\"void f<int, char>(int, char)\"

Processing [report1.sqlite] with [cuda_api_trace.py]...
Start (ns),Duration (ns),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name
1304349703,3008,cuModuleGetLoadingMode,0,1,91186,91187,20,python
1304449703,5008,cudaLaunchKernel,0,35,91186,91187,20,python

SKIPPED: report1.sqlite does not contain NV Tools Extension (NVTX) data.

Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
100.0,15167,1,15167.0,15167.0,15167,15167,0.0,\"void f<int, char>(int, char)\"

Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation
0.786,1,0.786,0.786,0.786,0.786,0.000,[CUDA memcpy Host-to-Device]
";

/// `nsys profile --stats=true` behind the program's own output: sums of calls of the operating system, of CUDA's and of MPI,
/// kernels with a name that was cut, sizes; and a table as nsys printed it in 2020, its unit in the title.
pub const NSYS_PRINTED: &str = "\
the program's own output
[4/8] Executing 'osrt_sum' stats report

 Time (%)  Total Time (ns)  Num Calls     Avg (ns)      Med (ns)    Min (ns)    Max (ns)   StdDev (ns)   Name
 --------  ---------------  ---------  -------------  -----------  ---------  -----------  -----------  -----
     99.8    1,234,567,890         12  102,880,657.5     99,999.5        326  372,227,146      1,300.0  poll
      0.1        1,000,000          1    1,000,000.0  1,000,000.0  1,000,000    1,000,000          0.0  ioctl

[5/8] Executing 'cuda_api_sum' stats report

 Time (%)  Total Time (ns)  Num Calls    Avg (ns)     Med (ns)   Min (ns)   Max (ns)  StdDev (ns)       Name
 --------  ---------------  ---------  -----------  -----------  --------  ---------  -----------  -------------
     52.6        3,000,000          3  1,000,000.0  1,000,000.0   900,000  1,100,000          0.0  cudaMalloc
     47.4        2,700,000          3    900,000.0    900,000.0   900,000    900,000          0.0  cuMemAlloc_v2

[6/8] Executing 'cuda_gpu_kern_sum' stats report

 Time (%)  Total Time (ns)  Instances   Avg (ns)   Med (ns)  Min (ns)  Max (ns)  StdDev (ns)            Name
 --------  ---------------  ---------  ---------  ---------  --------  --------  -----------  -----------------------
     90.0          900,000          2  450,000.0  450,000.0   400,000   500,000     70,710.7  scale(float *, int)
     10.0          100,000          1  100,000.0  100,000.0   100,000   100,000          0.0  void at::native::vecto…

[7/8] Executing 'cuda_gpu_mem_size_sum' stats report

 Total (MB)  Count  Avg (MB)  Med (MB)  Min (MB)  Max (MB)  StdDev (MB)           Operation
 ----------  -----  --------  --------  --------  --------  -----------  ----------------------------
      0.786      1     0.786     0.786     0.786     0.786        0.000  [CUDA memcpy Host-to-Device]

 ** MPI Event Summary (mpi_event_sum):

 Time (%)  Total Time (ns)  Instances  Avg (ns)  Med (ns)  Min (ns)  Max (ns)  StdDev (ns)     Source       Name
 --------  ---------------  ---------  --------  --------  --------  --------  -----------  -----------  ---------
    100.0           12,000          3   4,000.0   4,000.0     4,000     4,000          0.0  collectives  MPI_Bcast

Generating CUDA Memory Operation Statistics...
CUDA Memory Operation Statistics (KiB)

              Total      Operations              Average            Minimum              Maximum  Name
-------------------  --------------  -------------------  -----------------  -------------------  -------------------------
           1024.500               2              512.250              0.500             1024.000  [CUDA memcpy DtoH]
";

/// Sums by rocprof, version 1 and version 3.
pub const ROCPROF_SUMS: &str = "\
\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"
\"hipMemcpy\",3,900000000,300000000,90.0
\"scale(float*, int)\",2,60000000,30000000,6.0
";
pub const ROCPROF_SUMS_3: &str = "\
\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\",\"MinNs\",\"MaxNs\",\"StdDev\"
\"hsa_queue_create\",2,900,450.000000,100.0,400,500,70.7
";

/// The list of kernels by rocprof.
pub const ROCPROF_KERNELS: &str = "\
\"Index\",\"KernelName\",\"gpu-id\",\"queue-id\",\"pid\",\"tid\",\"grd\",\"wgrp\",\"DispatchNs\",\"BeginNs\",\"EndNs\",\"CompleteNs\"
0,\"scale(float*, int) [clone .kd]\",1,2,77,78,1024,256,900,1000,1400,1500
1,\"scale(float*, int) [clone .kd]\",1,2,77,78,1024,256,1900,2000,2500,2600
";

/// `cuda_kern_exec_trace`.
pub const NSYS_EXEC_TRACE: &str = "\
API Start (ns),API Dur (ns),Queue Start (ns),Queue Dur (ns),Kernel Start (ns),Kernel Dur (ns),Total Dur (ns),PID,TID,DevId,API Function,GridXYZ,BlockXYZ,Kernel Name
1000,50,1050,25,1075,400,475,42,43,2,cudaLaunchKernel_v7000,   8    1    1, 128    1    1,\"g(int, int)\"
2000,60,,,2080,500,580,42,43,2,cudaLaunchKernel_v7000,   8    1    1, 128    1    1,\"g(int, int)\"
";

/// `nvtx_pushpop_trace`; a text may hold a line end.
pub const NSYS_RANGES: &str = "\
Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,NumChild,RangeId,ParentId,RangeStack,NameTree
100,900,800,300,500,main,7,8,0,1,1,,:1,main
200,500,300,0,300,\"two
lines\",7,8,1,0,2,1,:1:2,--two
";

/// A sampled speedscope profile; weights in seconds, frames last.
pub const SPEEDSCOPE_SAMPLED: &str = r#"{"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"test@1",
"profiles":[{"type":"sampled","name":"Thread 1 \"main\"","unit":"seconds","startValue":0.0,"endValue":0.015,
"samples":[[0,1],[0,1,0],[0]],"weights":[0.005,0.005,0.005]}],
"shared":{"frames":[{"name":"main","file":"a.py","line":3},{"name":"inner"}]}}"#;

/// An evented speedscope profile; a frame is open at its end.
pub const SPEEDSCOPE_EVENTED: &str = r#"{"shared":{"frames":[{"name":"a"},{"name":"b"}]},
"profiles":[{"type":"evented","name":"t","unit":"microseconds","startValue":0,"endValue":20,
"events":[{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":1.5},{"type":"C","frame":1,"at":4},{"type":"O","frame":1,"at":4}]}],
"$schema":"https://www.speedscope.app/file-format-schema.json"}"#;

/// Folded stacks.
pub const FOLDED: &str =
    "<module> (a.py:9);outer (a.py:8);inner (a.py:4) 58\n<module> (a.py:9);outer (a.py:8) 2\n 7\n";

/// py-spy's Chrome trace: an array without end, as a killed recorder leaves it.
pub const PYSPY_CHROME: &str = r#"[{"args":{"filename":"a.py","line":1},"cat":"py-spy","name":"outer","ph":"B","pid":9685,"tid":139960515115904,"ts":100},
{"args":{"filename":"a.py","line":2},"cat":"py-spy","name":"inner","ph":"B","pid":9685,"tid":139960515115904,"ts":100},
{"args":{},"cat":"py-spy","name":"inner","ph":"E","pid":9685,"tid":139960515115904,"ts":350},
{"args":{},"cat":"py-spy","name":"outer","ph":"E","pid":9685,"tid":139960515115904,"ts":350},
"#;

/// A Chrome trace with something of everything.
pub const CHROME: &str = r#"{"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"render"}},
{"ph":"B","name":"frame","pid":1,"tid":2,"ts":10.5},
{"ph":"X","name":"draw","pid":1,"tid":2,"ts":11,"dur":2.25},
{"ph":"X","name":"no duration","pid":1,"tid":2,"ts":12},
{"ph":"b","cat":"net","name":"load","id":"0x1","pid":1,"tid":2,"ts":11},
{"ph":"C","name":"queue","pid":1,"ts":12,"args":{"waiting":3,"done":4.5}},
{"ph":"i","name":"mark","pid":1,"tid":2,"ts":12.5},
{"ph":"e","cat":"net","name":"load","id":"0x1","pid":3,"tid":4,"ts":14},
{"ph":"s","id":1,"pid":1,"tid":2,"ts":12},
{"ph":"E","pid":1,"tid":2,"ts":20},
{"ph":"E","pid":1,"tid":2,"ts":21},
{"ph":"B","name":"never ends","pid":1,"tid":2,"ts":30}
]}"#;

/// A TensorFlow timeline, names of lanes last.
pub const TENSORFLOW: &str = r#"{"traceEvents":[
{"name":"MatMul","args":{"name":"layer/MatMul","op":"MatMul"},"pid":5,"ts":1538157085199771,"cat":"Op","tid":0,"ph":"X","dur":17},
{"name":"MatMul","args":{"name":"layer/MatMul","op":"MatMul"},"pid":6,"ts":1538157085199771,"cat":"Op","tid":0,"ph":"X","dur":17},
{"name":"MEMCPYHtoD","args":{"name":"edge_78","op":"MEMCPYHtoD"},"pid":7,"ts":1538157085199522,"cat":"Op","tid":0,"ph":"X","dur":27},
{"name":"MEMCPYHtoD","args":{"name":"edge_78","op":"MEMCPYHtoD"},"pid":8,"ts":1538157085199522,"cat":"Op","tid":0,"ph":"X","dur":27},
{"name":"MatMul","args":{"name":"layer/MatMul","op":"MatMul"},"pid":9,"ts":1538157085199500,"cat":"Op","tid":1,"ph":"X","dur":300},
{"ph":"M","name":"process_name","pid":5,"args":{"name":"/device:GPU:1/stream:all Compute"}},
{"ph":"M","name":"process_name","pid":6,"args":{"name":"/device:GPU:1/stream:20 Compute"}},
{"ph":"M","name":"process_name","pid":7,"args":{"name":"/device:GPU:1/memcpy Compute"}},
{"ph":"M","name":"process_name","pid":8,"args":{"name":"/device:GPU:1/stream:21 Compute"}},
{"ph":"M","name":"process_name","pid":9,"args":{"name":"/job:localhost/replica:0/task:0/device:GPU:1 Compute"}}
]}"#;

/// A cProfile dump as Python 3 marshals it: one recursive function that refers to its file's name, one built-in.
pub fn cprofile() -> Vec<u8> {
    let mut bytes = vec![0xfb];
    let string = |bytes: &mut Vec<u8>, code: u8, text: &str| {
        bytes.extend([code, text.len() as u8]);
        bytes.extend(text.as_bytes());
    };
    let integer = |bytes: &mut Vec<u8>, value: i32| {
        bytes.push(b'i');
        bytes.extend(value.to_le_bytes());
    };
    let float = |bytes: &mut Vec<u8>, value: f64| {
        bytes.push(b'g');
        bytes.extend(value.to_le_bytes());
    };
    // ('app.py', 3, 'fact'): (1, 40, 0.25, 0.5, {('app.py', 3, 'fact'): (39, 39, 0.25, 0.25)})
    bytes.extend([b')' | 0x80, 3]);
    string(&mut bytes, b'z' | 0x80, "app.py");
    integer(&mut bytes, 3);
    string(&mut bytes, b'Z' | 0x80, "fact");
    bytes.extend([b')', 5]);
    integer(&mut bytes, 1);
    integer(&mut bytes, 40);
    float(&mut bytes, 0.25);
    float(&mut bytes, 0.5);
    bytes.extend([b'{', b'r', 1, 0, 0, 0, b')', 4]);
    integer(&mut bytes, 39);
    integer(&mut bytes, 39);
    float(&mut bytes, 0.25);
    float(&mut bytes, 0.25);
    bytes.push(b'0');
    // ('~', 0, '<built-in method builtins.sum>'): (2, 2, 0.125, 0.125, {})
    bytes.extend([b')', 3]);
    string(&mut bytes, b'Z', "~");
    integer(&mut bytes, 0);
    string(&mut bytes, b'z', "<built-in method builtins.sum>");
    bytes.extend([b')', 5]);
    integer(&mut bytes, 2);
    integer(&mut bytes, 2);
    float(&mut bytes, 0.125);
    float(&mut bytes, 0.125);
    bytes.extend(b"{0");
    bytes.push(b'0');
    bytes
}

/// What Python's logging wrote about functions.
const FUNCTION_LOG: &str = r#"loading
INFO:root:{"function": "inner", "execution_time": 0.007812500, "timestamp": 1640995200.017812500, "n": 4}
INFO:root:{"function": "outer", "execution_time": 0.250000000, "timestamp": 1640995200.250000000, "n": 4}
INFO:root:{"function": "outer", "execution_time": 0.125000000, "timestamp": 1640995201.000000000, "n": 4}
"#;

/// A few columns of an export of ours.
const GPUPROF_CSV: &str = "\
table,name,start_ns,duration_ns,end_ns,process,pid,clock,origin_ns,device,context,stream,tid,correlation,grid_x,block_x,kind,bytes,domain,result,style,is_last
api,cudaLaunchKernel,1700000000000001000,6000,1700000000000007000,0,42,unix,1700000000000000000,,,,42,1,,,,,0,0,,0
kernel,\"add(int, int)\",1700000000000009000,500,1700000000000009500,0,42,unix,1700000000000000000,0,1,7,,1,8,128,,,,,,0
memcpy,[CUDA memcpy HtoD],1700000000000011000,700,1700000000000011700,0,42,unix,1700000000000000000,0,1,7,,2,,,1,4096,,,,0
range,step,1700000000000000500,,1700000000000012000,0,42,unix,1700000000000000000,,,,42,,,,,,,,0,1
";

/// All of them, by what they are.
pub fn foreign_kinds() -> Vec<(&'static str, Vec<u8>)> {
    let texts = [
        ("nvprof GPU trace, CSV", NVPROF_GPU_CSV),
        ("nvprof both traces, text", NVPROF_BOTH_TEXT),
        ("nvprof API trace, CSV", NVPROF_API_CSV),
        ("nvprof summary, text", NVPROF_SUMMARY_TEXT),
        ("nvprof summary, old", NVPROF_SUMMARY_OLD),
        ("nvprof summary, CSV", NVPROF_SUMMARY_CSV),
        ("nsys stats", NSYS_STATS),
        ("nsys stats, printed", NSYS_PRINTED),
        ("rocprof sums", ROCPROF_SUMS),
        ("rocprof sums, version 3", ROCPROF_SUMS_3),
        ("rocprof kernels", ROCPROF_KERNELS),
        ("nsys launches", NSYS_EXEC_TRACE),
        ("nsys ranges", NSYS_RANGES),
        ("speedscope, sampled", SPEEDSCOPE_SAMPLED),
        ("speedscope, evented", SPEEDSCOPE_EVENTED),
        ("folded stacks", FOLDED),
        ("py-spy Chrome trace", PYSPY_CHROME),
        ("Chrome trace", CHROME),
        ("TensorFlow timeline", TENSORFLOW),
        ("log of functions", FUNCTION_LOG),
        ("CSV of ours", GPUPROF_CSV),
    ];
    let mut kinds: Vec<(&'static str, Vec<u8>)> =
        texts.into_iter().map(|(kind, text)| (kind, text.as_bytes().to_vec())).collect();
    kinds.push(("cProfile dump", cprofile()));
    kinds
}
