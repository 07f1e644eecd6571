/* beside.c: another profiler in the program, as torch.profiler is one, by the functions for one of several subscribers (_v2).
 *
 * Preloaded: its session is what lies between cudaProfilerStart and cudaProfilerStop, which it has in front of the runtime's; with
 * BESIDE_FORWARDS set the runtime gets them too. It looks at kernels alone, flushes by force at its end and prints one line on stderr: "beside: {...}". Codes are CUPTI's; -1: not
 * asked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20, KERNEL = 10 };
typedef struct { size_t size; const char *name; char *old; size_t old_bytes; uint8_t several, pad[7]; } Params;
static void *cupti, *handle;
static int subscribed = -1, registered = -1, enabled = -1;
static long kernels, unfinished;

static void *find(const char *name) {
  if (!cupti) cupti = dlopen("libcupti.so.13", RTLD_NOW | RTLD_NOLOAD);
  return cupti ? dlsym(cupti, name) : 0;
}
static void heard(void *user, int domain, uint32_t id, const void *data) { (void)user, (void)domain, (void)id, (void)data; }
static void requested(uint8_t **block, size_t *bytes, size_t *records, void *info) {
  (void)info;
  *block = aligned_alloc(4096, BYTES);
  *bytes = *block ? BYTES : 0;
  *records = 0;
}
static void completed(uint8_t *block, size_t bytes, size_t valid, void *info) {
  (void)bytes, (void)info;
  int (*next)(void *, uint8_t *, size_t, uint8_t **) = find("cuptiActivityGetNextRecord_v2");
  for (uint8_t *record = 0; next && !next(handle, block, valid, &record);) {
    uint32_t kind;
    uint64_t start, end;
    memcpy(&kind, record, 4), memcpy(&start, record + 16, 8), memcpy(&end, record + 24, 8);
    if (kind == KERNEL) kernels++, unfinished += start && !end;
  }
  free(block);
}

static int forwarded(const char *name) { return getenv("BESIDE_FORWARDS") ? ((int (*)(void))dlsym(RTLD_NEXT, name))() : 0; }

int cudaProfilerStart(void) {
  int (*subscribe)(void **, void *, void *, Params *) = find("cuptiSubscribe_v2");
  int (*callbacks)(void *, void *, void *) = find("cuptiActivityRegisterCallbacks_v2"), (*enable)(void *, int, void *) = find("cuptiActivityEnable_v2");
  Params params = {sizeof params, "beside", 0, 0, 1, {0}};
  if (subscribe && callbacks && enable && find("cuptiActivityGetNextRecord_v2")) {
    subscribed = subscribe(&handle, (void *)heard, 0, &params);
    if (!subscribed) registered = callbacks(handle, (void *)requested, (void *)completed);
    if (!registered) enabled = enable(handle, KERNEL, 0);
  }
  return forwarded("cudaProfilerStart");
}

int cudaProfilerStop(void) {
  ((int (*)(void))dlsym(RTLD_NEXT, "cudaDeviceSynchronize"))();
  int (*flush)(uint32_t) = find("cuptiActivityFlushAll"), (*disable)(void *, int, void *) = find("cuptiActivityDisable_v2"), (*leave)(void *) = find("cuptiUnsubscribe");
  int flushed = -1, left = -1;
  if (!subscribed) {
    flush(0);
    disable(handle, KERNEL, 0);
    flushed = flush(1);
    left = leave(handle);
  }
  fprintf(stderr, "beside: {\"subscribe\":%d,\"register\":%d,\"enable\":%d,\"flush\":%d,\"unsubscribe\":%d,\"kernels\":%ld,\"unfinished\":%ld}\n", subscribed, registered, enabled, flushed, left, kernels, unfinished);
  return forwarded("cudaProfilerStop");
}
