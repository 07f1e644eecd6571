/* flight COMMAND...: what a flight recorder watches, one after another. NVTX is done by hand, as its headers do it.
 *   steps=N,MS     N ranges `step` of MS ms, ten launches and a synchronise in each
 *   slow=MS        one more `step`, of MS ms       other=MS   the same, called `other`
 *   names=N        N short ranges, each with a name of its own, 50 a millisecond at most
 *   launch=N       N launches, then a synchronise  sleep=MS
 *   error          cudaSetDevice(99): 101          driver_error   cuDeviceGet of device 99: 101
 *   notready       cudaStreamQuery while a kernel runs: 600
 *   wait=FILE      until that file exists          fork      a child that launches nothing and ends by _exit
 *   abort          abort()                         exit=N    exit(N)      kill    SIGKILL to itself
 * stdout: a line after each command, written at once: {"done":"COMMAND","kernels":…}. */
#include "mini.h"
#include <limits.h>
int cudaStreamQuery(Handle);
typedef int (*Init)(const void *(*)(unsigned));
static void *push_a, *pop_, *unused; static void **core[16]; static void ***core_slots = (void ***)core;
static int module(unsigned id, void ****slots, unsigned *n) { if (id != 1) { *slots = 0; *n = 0; return 0; } *slots = core_slots; *n = 16; return 1; }
static const struct { size_t size; int (*module)(unsigned, void ****, unsigned *); } callbacks = {sizeof callbacks, module};
static const void *table(unsigned id) { return id == 1 ? &callbacks : 0; }
static void nvtx(void) {
  for (int i = 0; i < 16; i++) core[i] = &unused; core[9] = &push_a; core[11] = &pop_; const char *path = getenv("NVTX_INJECTION64_PATH"); if (!path) return;
  void *lib = dlopen(path, RTLD_LAZY); CHECK(lib); Init init = (Init)dlsym(lib, "InitializeInjectionNvtx2"); CHECK(init); init(table);
}
static void push(const char *name) { if (push_a) ((int (*)(const char *))push_a)(name); }
static void pop(void) { if (pop_) ((int (*)(void))pop_)(); }
static long kernels;
static void launch(int n) { for (int i = 0; i < n; i++) OK(launch_null(0)); OK(cudaDeviceSynchronize()); kernels += n; }
/* At least MS long as whoever stamps ranges sees it: by the same clock, and from after the push, for a thread may be put
 * aside at any moment. */
static int64_t real_ns(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); return t.tv_sec * 1000000000ll + t.tv_nsec; }
static void range(const char *name, double ms) { push(name); int64_t begin = real_ns(); launch(10); while (real_ns() - begin < ms * 1e6) { struct timespec t = {0, 100000}; nanosleep(&t, 0); } pop(); }
int main(int c, char **v) {
  nvtx(); OK(cudaFree(0));
  for (int i = 1; i < c; i++) {
    char *what = v[i], *value = strchr(what, '='); size_t n = value ? (size_t)(value - what) : strlen(what); value = value ? value + 1 : "";
#define IS(name) (n == strlen(name) && !strncmp(what, name, n))
    if (IS("steps")) { int steps = atoi(value); char *comma = strchr(value, ','); double ms = comma ? atof(comma + 1) : 1; for (int k = 0; k < steps; k++) range("step", ms); }
    else if (IS("slow")) range("step", atof(value));
    else if (IS("other")) range("other", atof(value));
    else if (IS("names")) { long all = atol(value); for (long k = 0; k < all; k++) { char name[64]; snprintf(name, sizeof name, "request number %ld of many", k); push(name); pop(); if (k % 50 == 49) sleep_ms(1); } }
    else if (IS("launch")) launch(atoi(value));
    else if (IS("sleep")) sleep_ms(atol(value));
    else if (IS("error")) CHECK(cudaSetDevice(99) == 101);
    else if (IS("driver_error")) { int d; CHECK(cuDeviceGet(&d, 99) == 101); }
    else if (IS("notready")) { OK(launch_spin(20000000, 0)); kernels++; CHECK(cudaStreamQuery(0) == 600); OK(cudaDeviceSynchronize()); }
    else if (IS("wait")) while (access(value, F_OK)) sleep_ms(2);
    else if (IS("fork")) { pid_t p = fork(); if (!p) _exit(0); int s; CHECK(waitpid(p, &s, 0) == p && s == 0); }
    else if (IS("abort")) abort();
    else if (IS("exit")) exit(atoi(value));
    else if (IS("kill")) kill(getpid(), SIGKILL);
    else CHECK(!"a command");
    char line[200]; int l = snprintf(line, sizeof line, "{\"done\":\"%.100s\",\"kernels\":%ld}\n", what, kernels); if (write(1, line, l) != l) return 9;
  }
  return 0;
}
