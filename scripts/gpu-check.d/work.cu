// CUDA programs whose counts are known by construction. `work NAME [ARGUMENTS]` prints one JSON line.
//
// nvcc compiles this file for real GPUs; a plain C++ compiler compiles it against tests/sim (see runtime.h), where kernels
// compute nothing and only their counts matter. Every program that launches says how many kernels, copies and fills the
// trace has to hold.
#include "runtime.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <chrono>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define OK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
  printf("{\"error\":\"%s, line %d: %s\"}\n", #call, __LINE__, cudaGetErrorString(e_)); exit(3); } } while (0)

KERNEL(null_kernel, (), {})
KERNEL(spin, (long long ns), { long long now, end; GLOBAL_TIMER(now); end = now + ns; while (now < end) GLOBAL_TIMER(now); })
KERNEL(axpy, (float a, const float* x, float* y, int n), { int i = THREAD_INDEX; if (i < n) y[i] += a * x[i]; })
template <int N, typename T> KERNEL(templated, (T* p), { p[THREAD_INDEX % N] = T(N); })

static double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
static size_t free_mib() { size_t free_bytes = 0, total = 0; cudaMemGetInfo(&free_bytes, &total); return free_bytes >> 20; }
static cudaStream_t stream() { cudaStream_t s; OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)); return s; }
static cudaStream_t captured_stream() { cudaStream_t s; OK(cudaStreamCreate(&s)); return s; }

// Many launches on one stream; a full queue would measure the GPU instead of the launch.
static void launches(cudaStream_t s, long n) {
  for (long k = 0; k < n; k++) {
    LAUNCH(null_kernel, 1, 32, s);
    if ((k & 511) == 511) cudaStreamSynchronize(s);
  }
  cudaStreamSynchronize(s);
}

// Nanoseconds of one launch, with `each` on every one of `threads` threads, after a tenth of that to warm up.
static double launch_ns(int threads, long each) {
  std::vector<cudaStream_t> streams;
  for (int i = 0; i < threads; i++) streams.push_back(stream());
  for (auto s : streams) launches(s, each / 10);
  OK(cudaGetLastError()); // a kernel that cannot run would look very fast
  double t = seconds();
  std::vector<std::thread> workers;
  for (auto s : streams) workers.emplace_back(launches, s, each);
  for (auto& w : workers) w.join();
  t = seconds() - t;
  OK(cudaDeviceSynchronize());
  return t * 1e9 / each;
}

static void launch(int threads, long each) {
  OK(cudaFree(0));
  size_t before = free_mib();
  double ns = launch_ns(threads, each);
  printf("{\"work\":\"launch\",\"threads\":%d,\"kernels\":%ld,\"ns_per_launch\":%.1f,\"wall_s\":%.4f,\"free_mib_before\":%zu,\"free_mib\":%zu}\n",
         threads, (each + each / 10) * threads, ns, ns * each / 1e9, before, free_mib());
}

// The three loops of the interception matrix in one process: a call that only asks a question, launches on one thread and on eight.
static void matrix(long calls, long one, long eight) {
  OK(cudaFree(0));
  int device = 0;
  for (long i = 0; i < calls / 10; i++) cudaGetDevice(&device);
  double t = seconds();
  for (long i = 0; i < calls; i++) cudaGetDevice(&device);
  double ns_per_call = (seconds() - t) * 1e9 / calls, ns_1 = launch_ns(1, one), ns_8 = launch_ns(8, eight);
  printf("{\"work\":\"matrix\",\"calls\":%ld,\"kernels\":%ld,\"ns_per_call\":%.2f,\"ns_per_launch_1\":%.1f,\"ns_per_launch_8\":%.1f}\n",
         calls + calls / 10, one + one / 10 + 8 * (eight + eight / 10), ns_per_call, ns_1, ns_8);
}

// Managed memory that moves: written by the CPU, used by the GPU, read by the CPU again.
static void managed(int steps) {
  const int n = 1 << 20;
  float *x, *y;
  OK(cudaMallocManaged((void**)&x, n * 4, 1)); OK(cudaMallocManaged((void**)&y, n * 4, 1));
  double sum = 0;
  for (int i = 0; i < steps; i++) {
    for (int k = 0; k < n; k++) x[k] = 1, y[k] = (float)i;
    LAUNCH(axpy, n / 256, 256, 0, 2.f, (const float*)x, y, n);
    OK(cudaDeviceSynchronize());
    sum += y[n / 2];
  }
  printf("{\"work\":\"managed\",\"kernels\":%d,\"sum\":%.1f}\n", steps, sum);
}

static cudaGraphExec_t graph_of(cudaStream_t s, int nodes) {
  cudaGraph_t graph; cudaGraphExec_t exec;
  OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < nodes; i++) LAUNCH(null_kernel, 1, 32, s);
  OK(cudaStreamEndCapture(s, &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  return exec;
}
static void replay(cudaGraphExec_t exec, cudaStream_t s, int times) { for (int i = 0; i < times; i++) OK(cudaGraphLaunch(exec, s)); }

static void graph(int nodes, int replays) {
  cudaStream_t s = captured_stream();
  cudaGraphExec_t exec = graph_of(s, nodes);
  replay(exec, s, 10);
  OK(cudaStreamSynchronize(s));
  double t = seconds();
  replay(exec, s, replays);
  OK(cudaStreamSynchronize(s));
  t = seconds() - t;
  printf("{\"work\":\"graph\",\"kernels\":%d,\"ns_per_node\":%.2f,\"us_per_replay\":%.2f,\"free_mib\":%zu}\n",
         nodes * (replays + 10), t * 1e9 / replays / nodes, t * 1e6 / replays, free_mib());
}

// Each step: one copy in, a fill, three kernels on two streams with an event between them, a copy on the device, one out.
static void mixed(int steps) {
  const int n = 1 << 20, bytes = n * 4;
  float *host, *x, *y;
  OK(cudaMallocHost((void**)&host, bytes)); OK(cudaMalloc((void**)&x, bytes)); OK(cudaMalloc((void**)&y, bytes));
  cudaStream_t a = captured_stream(), b; cudaEvent_t event;
  OK(cudaStreamCreateWithPriority(&b, cudaStreamNonBlocking, -1)); OK(cudaEventCreate(&event));
  for (int i = 0; i < steps; i++) {
    OK(cudaMemcpyAsync(x, host, bytes, cudaMemcpyHostToDevice, a));
    OK(cudaMemsetAsync(y, 7, bytes, a));
    LAUNCH(axpy, n / 256, 256, a, 2.f, (const float*)x, y, n);
    OK(cudaEventRecord(event, a));
    OK(cudaStreamWaitEvent(b, event, 0));
    LAUNCH((templated<4, double>), 1, 64, b, (double*)x);
    LAUNCH(spin, 2, 32, b, 20000LL);
    OK(cudaMemcpyAsync(x, y, bytes, cudaMemcpyDeviceToDevice, a));
    OK(cudaMemcpyAsync(host, y, bytes, cudaMemcpyDeviceToHost, a));
    OK(cudaStreamSynchronize(a));
  }
  OK(cudaDeviceSynchronize());
  printf("{\"work\":\"mixed\",\"kernels\":%d,\"copies\":%d,\"fills\":%d,\"each_direction\":%d,\"bytes_each\":%d,\"each_kernel\":%d}\n",
         3 * steps, 3 * steps, steps, steps, bytes, steps);
}

// The gate opens before step `from` and closes after step `to` - 1, with seven kernels a step; the last still runs at Stop.
static void range(int steps, int from, int to) {
  OK(cudaFree(0));
  for (int i = 0; i < steps; i++) {
    if (i == from) OK(cudaProfilerStart());
    for (int k = 0; k < 6; k++) LAUNCH(null_kernel, 1, 32, 0);
    LAUNCH(spin, 1, 32, 0, 3000000LL);
    if (i == to - 1) OK(cudaProfilerStop());
  }
  OK(cudaDeviceSynchronize());
  printf("{\"work\":\"range\",\"kernels\":%d,\"kernels_total\":%d,\"windows\":1}\n", 7 * (to - from), 7 * steps);
}

// Start while on and Stop while off change nothing; the last window is never closed. 3 + 2 kernels are inside.
static void windows() {
  OK(cudaFree(0));
  auto some = [](int n) { for (int i = 0; i < n; i++) LAUNCH(null_kernel, 1, 32, 0); };
  some(4);
  OK(cudaProfilerStart()); some(1); OK(cudaProfilerStart()); some(2); OK(cudaProfilerStop());
  some(5);
  OK(cudaProfilerStop());
  some(6);
  std::thread([] { OK(cudaProfilerStart()); }).join(); // from any thread
  some(2);
  OK(cudaDeviceSynchronize());
  puts("{\"work\":\"windows\",\"kernels\":5,\"kernels_total\":20,\"windows\":2}");
}

// A graph built while the gate is shut, replayed in two windows; "empty": an empty window came before.
static void graph_gate(const char* how, int nodes, int replays) {
  OK(cudaFree(0));
  if (!strcmp(how, "empty")) { OK(cudaProfilerStart()); OK(cudaProfilerStop()); }
  cudaStream_t s = captured_stream();
  cudaGraphExec_t exec = graph_of(s, nodes);
  replay(exec, s, 5);
  OK(cudaStreamSynchronize(s));
  for (int w = 0; w < 2; w++) {
    OK(cudaProfilerStart());
    replay(exec, s, replays);
    if (!w) OK(cudaStreamSynchronize(s)); // the second window is closed while its replays still run
    OK(cudaProfilerStop());
    OK(cudaStreamSynchronize(s));
  }
  replay(exec, s, 5);
  OK(cudaDeviceSynchronize());
  printf("{\"work\":\"graphgate\",\"how\":\"%s\",\"kernels\":%d,\"kernels_total\":%d}\n", how, 2 * nodes * replays, nodes * (2 * replays + 10));
}

// What a launch costs before, inside and after a window, and what the two calls cost.
static void gate(long n) {
  OK(cudaFree(0));
  cudaStream_t s = stream();
  auto cost = [&] { double t = seconds(); launches(s, n); return (seconds() - t) * 1e9 / n; };
  cost();
  OK(cudaGetLastError());
  double before = cost(), t = seconds();
  OK(cudaProfilerStart());
  double start_us = (seconds() - t) * 1e6, inside = cost();
  t = seconds();
  OK(cudaProfilerStop());
  double stop_us = (seconds() - t) * 1e6, after = cost();
  printf("{\"work\":\"gate\",\"kernels\":%ld,\"ns_before\":%.1f,\"ns_inside\":%.1f,\"ns_after\":%.1f,\"start_us\":%.1f,\"stop_us\":%.1f}\n",
         n, before, inside, after, start_us, stop_us);
}

// 64 kernels of 1 ms are always queued: what is on disk when the program is killed?
static void backlog(double wanted_s, const char* how) {
  OK(cudaFree(0));
  cudaStream_t s = stream(); cudaEvent_t events[64];
  for (auto& e : events) OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
  long n = 0;
  for (double t = seconds(); seconds() - t < wanted_s; n++) {
    if (n >= 64) OK(cudaEventSynchronize(events[n % 64]));
    LAUNCH(spin, 1, 32, s, 1000000LL);
    OK(cudaEventRecord(events[n % 64], s));
  }
  printf("{\"work\":\"backlog\",\"kernels\":%ld,\"finished_at_least\":%ld}\n", n, n - 64);
  fflush(stdout);
  if (!strcmp(how, "kill")) kill(getpid(), SIGKILL);
}

// 1000 kernels, then out, without a synchronise unless asked for.
static void leave(const char* name) {
  OK(cudaFree(0));
  for (int i = 0; i < 1000; i++) LAUNCH(null_kernel, 1, 32, 0);
  printf("{\"work\":\"exit\",\"how\":\"%s\",\"kernels\":1000}\n", name);
  fflush(stdout);
  std::string how = name;
  if (how == "sync") cudaDeviceSynchronize();
  else if (how == "_exit") _exit(5);
  else if (how == "abort") abort();
  else if (how == "kill") { usleep(1500000); kill(getpid(), SIGKILL); } // long enough for two flush intervals
  else if (how == "term") { kill(getpid(), SIGTERM); pause(); }
  else if (how == "segv") { cudaDeviceSynchronize(); raise(SIGSEGV); }
  else if (how == "throw") { cudaDeviceSynchronize(); throw 1; }
  else if (how == "reset") cudaDeviceReset();
  else if (how == "thread") std::thread([] { exit(6); }).join();
}

// A child before CUDA is used; the parent; a child after, which must not touch CUDA.
static void forks() {
  auto use = [](int n) { OK(cudaFree(0)); for (int i = 0; i < n; i++) LAUNCH(null_kernel, 1, 32, 0); };
  int first = 0, second = 0;
  pid_t child = fork();
  if (!child) { use(100); OK(cudaDeviceSynchronize()); exit(0); }
  waitpid(child, &first, 0);
  use(200);
  child = fork();
  if (!child) exit(0);
  waitpid(child, &second, 0);
  OK(cudaDeviceSynchronize());
  printf("{\"work\":\"fork\",\"child_kernels\":100,\"parent_kernels\":200,\"statuses\":[%d,%d]}\n", first, second);
}

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  auto number = [&](int i, long otherwise) { return argc > i ? atol(argv[i]) : otherwise; };
  auto word = [&](int i, const char* otherwise) { return argc > i ? (const char*)argv[i] : otherwise; };
  if (name == "hold") { OK(cudaFree(0)); pause(); }
  else if (name == "launch") launch((int)number(2, 1), number(3, 100000));
  else if (name == "matrix") matrix(number(2, 1000000), number(3, 30000), number(4, 8000));
  else if (name == "managed") managed((int)number(2, 4));
  else if (name == "graph") graph((int)number(2, 1000), (int)number(3, 100));
  else if (name == "mixed") mixed((int)number(2, 100));
  else if (name == "range") range((int)number(2, 20), (int)number(3, 5), (int)number(4, 8));
  else if (name == "windows") windows();
  else if (name == "graphgate") graph_gate(word(2, "late"), (int)number(3, 100), (int)number(4, 20));
  else if (name == "gate") gate(number(2, 50000));
  else if (name == "backlog") backlog(atof(word(2, "2")), word(3, "return"));
  else if (name == "exit") leave(word(2, "return"));
  else if (name == "fork") forks();
  else { fputs("work hold|launch|matrix|managed|graph|mixed|range|windows|graphgate|gate|backlog|exit|fork\n", stderr); return 2; }
  return 0;
}
