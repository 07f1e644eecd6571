/* directives WHAT WHEN [N]: stands in for an OpenACC or OpenMP runtime, which looks for tools as libgomp and libomp do.
 * stdout: {"kernels":N,"constructs":N,"tools":…}, the last being how many tools the runtime has told.
 *   acc | omp      which of both: N compute constructs, each with an upload of 4096 bytes and a launch inside; N parallel
 *                  regions, each with a barrier inside
 *   first | last   the runtime begins before the first CUDA call, or after it
 * flags: -rdynamic */
#include "mini.h"
static int tools;
/* OpenACC */
typedef struct { int event, valid, version, device_type, device, thread; ssize_t async, queue; const char *file, *function; int line, end, first, last; } Info;
typedef struct { int event, valid, parent, implicit; void *tool; const char *name; size_t bytes; void *host, *device; } Event;
typedef void (*AccCallback)(Info *, Event *, void *);
static AccCallback heard[32][4];
static void acc_reg(int event, AccCallback f, int how) { (void)how; for (int i = 0; i < 4; i++) if (!heard[event][i]) { heard[event][i] = f; return; } CHECK(!"room for a callback"); }
static void acc_unreg(int event, AccCallback f, int how) { (void)event; (void)f; (void)how; }
static void *acc_lookup(const char *name) { (void)name; return 0; }
typedef void (*AccLibrary)(void *, void *, void *);
static void acc_tell(AccLibrary f) { if (f) { tools++; f((void *)acc_reg, (void *)acc_unreg, (void *)acc_lookup); } }
static void acc_begin(void) {
  acc_tell((AccLibrary)dlsym(RTLD_DEFAULT, "acc_register_library"));
  char *list = getenv("ACC_PROFLIB"); if (!list) return;
  list = strdup(list); for (char *p = strtok(list, ";"); p; p = strtok(0, ";")) { void *h = dlopen(p, RTLD_LAZY); if (h) acc_tell((AccLibrary)dlsym(h, "acc_register_library")); }
}
static void acc_fire(int event, size_t bytes) {
  Info info = {event, 72, 201711, 4, 0, 0, -1, 0, "solver.c", "step", 17, 21, 10, 30}; Event e = {event, 56, 1, 0, 0, "a", bytes, 0, 0};
  for (int i = 0; i < 4 && heard[event][i]; i++) heard[event][i](&info, &e, 0);
}
static void acc_construct(void) { acc_fire(16, 0); acc_fire(20, 4096); acc_fire(21, 4096); acc_fire(18, 0); CHECK(!launch_null(0)); acc_fire(19, 0); acc_fire(17, 0); }
/* OpenMP */
typedef struct { int (*initialize)(void *(*)(const char *), int, void *); void (*finalize)(void *); uint64_t data; } Started;
typedef Started *(*StartTool)(unsigned, const char *);
static void *callbacks[64]; static Started *listener;
static int omp_set(unsigned event, void *f) { CHECK(event < 64); callbacks[event] = f; return 5; }
static void *omp_lookup(const char *name) { return strcmp(name, "ompt_set_callback") ? 0 : (void *)omp_set; }
static Started *omp_ask(StartTool f) { return f ? f(201811, "the player's own OpenMP") : 0; }
static void omp_begin(void) {
  listener = omp_ask((StartTool)dlsym(RTLD_DEFAULT, "ompt_start_tool"));
  char *list = getenv("OMP_TOOL_LIBRARIES"); list = strdup(list ? list : "");
  for (char *p = strtok(list, ":"); p && !listener; p = strtok(0, ":")) { void *h = dlopen(p, RTLD_LAZY); if (h) listener = omp_ask((StartTool)dlsym(h, "ompt_start_tool")); }
  if (listener) { tools++; CHECK(listener->initialize(omp_lookup, 0, &listener->data)); }
}
static void omp_construct(void) {
  if (callbacks[3]) ((void (*)(void *, void *, void *, unsigned, int, void *))callbacks[3])(0, 0, 0, 4, 0, 0);
  CHECK(!launch_null(0));
  for (int end = 1; end <= 2; end++) if (callbacks[16]) ((void (*)(unsigned, unsigned, void *, void *, void *))callbacks[16])(1, end, 0, 0, 0);
  if (callbacks[4]) ((void (*)(void *, void *, int, void *))callbacks[4])(0, 0, 0, 0);
}
int main(int c, char **v) {
  CHECK(c > 2); int is_acc = !strcmp(v[1], "acc"), is_first = !strcmp(v[2], "first"); long n = c > 3 ? atol(v[3]) : 10;
  void (*begin)(void) = is_acc ? acc_begin : omp_begin, (*construct)(void) = is_acc ? acc_construct : omp_construct;
  if (is_first) begin();
  void *d; OK(cudaMalloc(&d, 4096));
  if (!is_first) begin();
  for (long i = 0; i < n; i++) construct();
  OK(cudaDeviceSynchronize());
  if (listener) listener->finalize(&listener->data);
  printf("{\"kernels\":%ld,\"constructs\":%ld,\"tools\":%d}\n", n, n, tools); return 0;
}
