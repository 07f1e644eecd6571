/* A collector as small as one can be, for testing the simulator itself without gpuprof: loaded through
 * CUDA_INJECTION64_PATH, it takes all records, walks them with the real function, and at exit writes one line of
 * counts by kind to COLLECT_OUT. COLLECT_FLUSH=1: with the forced flush. COLLECT_SIZE: bytes of a buffer.
 * COLLECT_LATE: kinds go on when the first graph has been instantiated.
 * COLLECT_DO: one thing that no collector may do: null dirty twice small unaligned finalize in_request in_resource
 * concurrent child
 * shared: yes */
#define NO_KERNELS
#include "mini.h"
#define POOL 64
static size_t SIZE = 256 << 10;
static uint8_t *pool[POOL]; static int idle; static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long counts[128], bad_names, unfinished, zero; static atomic_long requested, completed;
static long disorder; static uint64_t last, first_start, last_end;
static int is(const char *what) { const char *s = getenv("COLLECT_DO"); return s && !strcmp(s, what); }
static int (*next)(uint8_t *, size_t, uint8_t **), (*flush)(uint32_t), (*dropped)(void *, uint32_t, size_t *), (*enable)(int);
static void request(uint8_t **b, size_t *n, size_t *max) {
  pthread_mutex_lock(&lock); *b = idle ? pool[--idle] : aligned_alloc(4096, SIZE); pthread_mutex_unlock(&lock);
  *n = SIZE; *max = 0; requested++;
  if (is("null")) *b = 0;
  if (is("dirty")) memset(*b, 1, SIZE);
  if (is("twice")) { static uint8_t *first; if (!first) first = *b; *b = first; }
  if (is("small")) *n = 16;
  if (is("unaligned")) *b += 4;
  if (is("in_request")) flush(0);
}
static void complete(void *ctx, uint32_t stream, uint8_t *b, size_t n, size_t valid) {
  (void)ctx; (void)stream; (void)n; uint8_t *r = 0; completed++;
  pthread_mutex_lock(&lock);
  while (!next(b, valid, &r)) {
    uint32_t kind; memcpy(&kind, r, 4); if (kind < 128) counts[kind]++;
    if (kind == 10) {
      const char *s; uint64_t start, end; memcpy(&s, r + 104, 8); memcpy(&start, r + 16, 8); memcpy(&end, r + 24, 8);
      bad_names += !s || !*s || *s == '#'; unfinished += start && !end; disorder += start < last; last = start; if (!first_start || start < first_start) first_start = start; if (end > last_end) last_end = end; zero += !start && !end;
    }
    if (kind == 17 && getenv("COLLECT_OVERHEAD")) { void *p; memcpy(&p, r + 48, 8); free(p); }
  }
  if (idle < POOL) pool[idle++] = b; else free(b);
  pthread_mutex_unlock(&lock);
}
static void finish(void) {
  static atomic_int once; if (once++ || !requested) return;
  if (is("finalize")) { int (*f)(void) = dlsym(RTLD_DEFAULT, "cuptiFinalize"); if (!f) f = dlsym(dlopen("libcupti.so", RTLD_NOW), "cuptiFinalize"); f(); }
  flush(0); if (getenv("COLLECT_FLUSH")) flush(1);
  size_t lost = 0; dropped(0, 0, &lost); FILE *f = fopen(getenv("COLLECT_OUT"), "a"); if (!f) return;
  fprintf(f, "%d requested %ld completed %ld dropped %zu names %ld unfinished %ld zero %ld disorder %ld first %llu last %llu kinds", getpid(), requested, completed, lost, bad_names, unfinished, zero, disorder, (unsigned long long)first_start, (unsigned long long)last_end);
  for (int i = 0; i < 128; i++) if (counts[i]) fprintf(f, " %d:%ld", i, counts[i]);
  fprintf(f, "\n"); fclose(f);
}
static void *flusher(void *p) { (void)p; for (int i = 0; i < 2000; i++) flush(0); return 0; }
static void in_child(void) { flush(0); }
static void kinds_on(void) {
  static const int kinds[] = {10, 1, 22, 2, 5, 4, 38, 17, 8, 9, 37, 11, 36, 49, 25, 52, 39};
  for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) { int k = enable(kinds[i]); if (k) fprintf(stderr, "collector: kind %d: %d\n", kinds[i], k); }
}
static void callback(void *u, int domain, uint32_t cbid, const uint8_t *d) {
  (void)u; (void)d; static atomic_int once;
  if (domain == 3 && is("in_resource")) flush(0);
  if (domain == 3 && cbid == 18 && getenv("COLLECT_LATE")) kinds_on();
  if (domain == 3 && cbid == 1 && !once++) {
    atexit(finish);
    if (is("child")) pthread_atfork(0, 0, in_child);
    if (is("concurrent")) for (int i = 0; i < 2; i++) { pthread_t t; pthread_create(&t, 0, flusher, 0); pthread_detach(t); }
  }
}
int InitializeInjection(void) {
  const char *names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so.11.7"}; void *h = 0;
  for (int i = 0; i < 4 && !h; i++) h = dlopen(names[i], RTLD_NOW);
  if (!h) { fprintf(stderr, "collector: no libcupti: %s\n", dlerror()); return 0; }
  int (*subscribe)(void **, void *, void *) = dlsym(h, "cuptiSubscribe"), (*on)(uint32_t, void *, int, uint32_t) = dlsym(h, "cuptiEnableCallback"), (*reg)(void *, void *) = dlsym(h, "cuptiActivityRegisterCallbacks");
  next = dlsym(h, "cuptiActivityGetNextRecord"); flush = dlsym(h, "cuptiActivityFlushAll"); dropped = dlsym(h, "cuptiActivityGetNumDroppedRecords"); enable = dlsym(h, "cuptiActivityEnable");
  void *sub = 0; int r = subscribe(&sub, (void *)callback, 0);
  if (r) { fprintf(stderr, "collector: subscribe %d\n", r); return 0; }
  if (getenv("COLLECT_SIZE")) SIZE = atol(getenv("COLLECT_SIZE"));
  if (is("dirty")) { uint8_t one = 1; size_t n = 1; int (*set)(int, size_t *, void *) = dlsym(h, "cuptiActivitySetAttribute"); set(5, &n, &one); }
  on(1, sub, 3, 1); r = reg((void *)request, (void *)complete);
  on(1, sub, 3, 18); if (!getenv("COLLECT_LATE")) kinds_on();
  return 1;
}
