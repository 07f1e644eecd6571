/* beside STEP…: a program with other tools of CUPTI inside, as torch.profiler is one: each subscribes, registers buffers of its
 * own (full of 0xaa: nobody promised CUPTI zeros), enables kernels, copies, fills and runtime calls, and at its end
 * synchronises, flushes, disables, flushes by force, unsubscribes. It goes on when something is refused. Steps:
 *   i          the first CUDA call             nN   N times a kernel and a copy      bMS  a kernel of so long, not waited for
 *   gN         a graph of three kernels, N times
 *   +aW, +bW   tool a or b begins: W is 1 by functions without a handle; 2 by those with one (_v2), allowing others; 3 likewise,
 *              with graphs as a whole; 0 allowing none                   -a   its end                          =a   flushes by force
 *   s          synchronises                    wMS  sleeps                           p, q cudaProfilerStart, -Stop
 * stdout: {"kernels":…,"copies":…,"a_subscribe":code,"a_register":code,"a_enable":code,"a_kernels":…,"a_copies":…,"a_calls":…,
 * "a_unfinished":…,"a_dropped":…,"b_subscribe":…}; 1000 is a code for what was not done. */
#include "mini.h"
typedef struct { size_t size; const char *name; char *old; size_t old_size; uint8_t several, pad[7]; } Params;
typedef struct { void *handle; int way, subscribe, reg, enable; atomic_long kernels, copies, calls, unfinished; size_t dropped; } Tool;
static Tool tools[2] = {{.subscribe = 1000, .reg = 1000, .enable = 1000}, {.subscribe = 1000, .reg = 1000, .enable = 1000}};
static void *cupti; enum { BYTES = 64 << 10 };
static void *find(const char *name) {
  const char *files[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"};
  for (int i = 0; i < 3 && !cupti; i++) cupti = dlopen(files[i], RTLD_NOW | RTLD_NOLOAD);
  for (int i = 0; i < 3 && !cupti; i++) cupti = dlopen(files[i], RTLD_NOW);
  CHECK(cupti); return dlsym(cupti, name);
}
static void heard(void *u, int domain, uint32_t id, const void *d) { (void)u; (void)domain; (void)id; (void)d; }
static void request(uint8_t **b, size_t *n, size_t *max) { *b = aligned_alloc(4096, BYTES); memset(*b, 0xaa, BYTES); *n = BYTES; *max = 0; }
static void request_v2(uint8_t **b, size_t *n, size_t *max, void *info) { (void)info; request(b, n, max); }
static int next(Tool *t, uint8_t *b, size_t valid, uint8_t **r) {
  if (t->way == 1) return ((int (*)(uint8_t *, size_t, uint8_t **))find("cuptiActivityGetNextRecord"))(b, valid, r);
  return ((int (*)(void *, uint8_t *, size_t, uint8_t **))find("cuptiActivityGetNextRecord_v2"))(t->handle, b, valid, r);
}
static void completed(Tool *t, uint8_t *b, size_t valid) {
  uint8_t *r = 0; uint32_t kind; uint64_t start, end;
  while (!next(t, b, valid, &r)) {
    memcpy(&kind, r, 4); memcpy(&start, r + 16, 8); memcpy(&end, r + 24, 8);
    if (kind == 10) { t->kernels++; t->unfinished += start && !end; } else if (kind == 1) t->copies++; else if (kind == 5) t->calls++;
  }
  free(b);
}
static void complete_a(void *c, uint32_t s, uint8_t *b, size_t n, size_t valid) { (void)c; (void)s; (void)n; completed(&tools[0], b, valid); }
static void complete_b(void *c, uint32_t s, uint8_t *b, size_t n, size_t valid) { (void)c; (void)s; (void)n; completed(&tools[1], b, valid); }
static void complete_v2_a(uint8_t *b, size_t n, size_t valid, void *info) { (void)n; (void)info; completed(&tools[0], b, valid); }
static void complete_v2_b(uint8_t *b, size_t n, size_t valid, void *info) { (void)n; (void)info; completed(&tools[1], b, valid); }
static const int KINDS[] = {10, 1, 2, 5};
static void begin(int which, int way) {
  Tool *t = &tools[which]; t->way = way;
  if (way == 1) {
    t->subscribe = ((int (*)(void **, void *, void *))find("cuptiSubscribe"))(&t->handle, (void *)heard, 0);
    t->reg = ((int (*)(void *, void *))find("cuptiActivityRegisterCallbacks"))((void *)request, which ? (void *)complete_b : (void *)complete_a);
    for (int i = 0; i < 4; i++) t->enable = ((int (*)(int))find("cuptiActivityEnable"))(KINDS[i]);
    return;
  }
  Params params = {sizeof params, which ? "b" : "a", 0, 0, way >= 2, {0}};
  int (*subscribe)(void **, void *, void *, Params *) = find("cuptiSubscribe_v2"); if (!subscribe) return;
  t->subscribe = subscribe(&t->handle, (void *)heard, 0, &params);
  if (way == 3) { uint8_t one = 1; size_t n = 1; ((int (*)(void *, int, size_t *, void *))find("cuptiActivitySetAttribute_v2"))(t->handle, 20, &n, &one); }
  int (*reg)(void *, void *, void *) = find("cuptiActivityRegisterCallbacks_v2"), (*enable)(void *, int, void *) = find("cuptiActivityEnable_v2"); if (!reg || !enable) return;
  t->reg = reg(t->handle, (void *)request_v2, which ? (void *)complete_v2_b : (void *)complete_v2_a);
  for (int i = 0; i < 4; i++) t->enable = enable(t->handle, KINDS[i], 0);
}
static void end(Tool *t) {
  int (*flush)(uint32_t) = find("cuptiActivityFlushAll");
  OK(cudaDeviceSynchronize()); if (t->subscribe) return;
  flush(0);
  for (int i = 0; i < 4; i++) if (t->way == 1) ((int (*)(int))find("cuptiActivityDisable"))(KINDS[i]); else ((int (*)(void *, int, void *))find("cuptiActivityDisable_v2"))(t->handle, KINDS[i], 0);
  flush(1);
  if (t->way == 1) ((int (*)(void *, uint32_t, size_t *))find("cuptiActivityGetNumDroppedRecords"))(0, 0, &t->dropped);
  else ((int (*)(void *, void *, uint32_t, size_t *))find("cuptiActivityGetNumDroppedRecords_v2"))(t->handle, 0, 0, &t->dropped);
  ((int (*)(void *))find("cuptiUnsubscribe"))(t->handle);
}
int main(int c, char **v) {
  long kernels = 0, copies = 0; static char host[1024]; void *d = 0;
  for (int i = 1; i < c; i++) {
    const char *s = v[i]; long n = atol(s + 1);
    if (*s == '+') begin(s[1] == 'b', s[2] - '0');
    else if (*s == '-') end(&tools[s[1] == 'b']);
    else if (*s == '=') ((int (*)(uint32_t))find("cuptiActivityFlushAll"))(1);
    else if (*s == 'i') OK(cudaFree(0));
    else if (*s == 's') OK(cudaDeviceSynchronize());
    else if (*s == 'w') sleep_ms(n);
    else if (*s == 'p') OK(cudaProfilerStart());
    else if (*s == 'q') OK(cudaProfilerStop());
    else if (*s == 'b') { OK(launch_spin(n * 1000000, 0)); kernels++; }
    else if (*s == 'g') {
      Handle st, graph, x; OK(cudaStreamCreate(&st)); OK(cudaStreamBeginCapture(st, 0)); for (int k = 0; k < 3; k++) OK(launch_null(st)); OK(cudaStreamEndCapture(st, &graph)); OK(cudaGraphInstantiateWithFlags(&x, graph, 0));
      for (long k = 0; k < n; k++) OK(cudaGraphLaunch(x, st)); kernels += 3 * n;
    } else if (*s == 'n') {
      if (!d) OK(cudaMalloc(&d, sizeof host));
      for (long k = 0; k < n; k++) { OK(launch_null(0)); OK(cudaMemcpyAsync(d, host, sizeof host, HtoD, 0)); kernels++; copies++; }
    } else { fprintf(stderr, "beside: unknown step %s\n", s); return 2; }
  }
  OK(cudaDeviceSynchronize());
  printf("{\"kernels\":%ld,\"copies\":%ld", kernels, copies);
  for (int i = 0; i < 2; i++) { Tool *t = &tools[i]; char n = "ab"[i]; printf(",\"%c_subscribe\":%d,\"%c_register\":%d,\"%c_enable\":%d,\"%c_kernels\":%ld,\"%c_copies\":%ld,\"%c_calls\":%ld,\"%c_unfinished\":%ld,\"%c_dropped\":%zu", n, t->subscribe, n, t->reg, n, t->enable, n, (long)t->kernels, n, (long)t->copies, n, (long)t->calls, n, (long)t->unfinished, n, t->dropped); }
  printf("}\n"); return 0;
}
