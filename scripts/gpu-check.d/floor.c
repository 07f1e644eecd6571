/* floor.c: CUPTI with a consumer that throws every buffer away: what no collector can be cheaper than.
 *
 * Loaded by the CUDA driver through CUDA_INJECTION64_PATH. FLOOR_MODE names what CUPTI is asked for (floor_modes.h). Without it,
 * FLOOR_KINDS=kernels asks for kernel records alone; otherwise the kinds that gpuprof asks for by default. Buffers of 4 MiB
 * come from a stack that is filled before the program runs, so no page fault of ours is measured. FLOOR_COUNT=1 looks into the
 * buffers before they go (floor_counts.h), for runs that are not timed. Prints what it did on stderr, in lines that begin with
 * "floor: ". */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCKS = 64, BLOCK_BYTES = 4 << 20 };
enum { DRIVER = 1, RUNTIME = 2, RESOURCE = 3, CU_INIT_FINISHED = 5, DOMAINS = 3, MAX_CBID = 2048, MAX_KIND = 128 };
static void *cupti;

#include "floor_counts.h"
#include "floor_modes.h"

static uint8_t *idle[BLOCKS];
static int idle_blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void requested(uint8_t **block, size_t *bytes, size_t *records) {
  pthread_mutex_lock(&lock);
  *block = idle_blocks ? idle[--idle_blocks] : 0;
  pthread_mutex_unlock(&lock);
  if (!*block) *block = aligned_alloc(4096, BLOCK_BYTES);
  *bytes = *block ? BLOCK_BYTES : 0;
  *records = 0;
}
static void completed(void *context, uint32_t stream, uint8_t *block, size_t bytes, size_t valid) {
  (void)context, (void)stream, (void)bytes;
  if (counting) count_records(block, valid);
  pthread_mutex_lock(&lock);
  int kept = idle_blocks < BLOCKS;
  if (kept) idle[idle_blocks++] = block;
  pthread_mutex_unlock(&lock);
  if (!kept) free(block);
}

/* A failed call ends the attempt, and its name and code are the answer. */
static const char *failed(const char *call, int code) {
  static char text[120];
  snprintf(text, sizeof text, "%s returned %d", call, code);
  return text;
}

static const char *start(void) {
  const char *wanted = getenv("FLOOR_CUPTI"), *names[] = {wanted && *wanted ? wanted : "libcupti.so.13", "libcupti.so.13", "libcupti.so.12"};
  for (int i = 0; i < 3 && !cupti; i++) cupti = dlopen(names[i], RTLD_NOW);
  if (!cupti) return "no libcupti";
  int (*version)(uint32_t *) = dlsym(cupti, "cuptiGetVersion");
  uint32_t number = 0;
  if (version && !version(&number)) fprintf(stderr, "floor: {\"cupti\":%u}\n", number);
  const char *mode = getenv("FLOOR_MODE");
  if (mode && !strcmp(mode, "none")) return 0; /* loaded, and nobody has subscribed */
  int (*subscribe)(void **, void *, void *) = dlsym(cupti, "cuptiSubscribe");
  int (*register_callbacks)(void *, void *) = dlsym(cupti, "cuptiActivityRegisterCallbacks");
  int (*enable)(int) = dlsym(cupti, "cuptiActivityEnable");
  if (!subscribe || !register_callbacks || !enable) return "a function is missing";
  for (; idle_blocks < 16; idle_blocks++) {
    idle[idle_blocks] = aligned_alloc(4096, BLOCK_BYTES);
    if (!idle[idle_blocks]) return "no memory";
    memset(idle[idle_blocks], 0, BLOCK_BYTES);
  }
  void *subscriber = 0;
  int code = subscribe(&subscriber, (void *)callback, 0);
  if (code) return failed("cuptiSubscribe", code);
  if ((code = register_callbacks((void *)requested, (void *)completed))) return failed("cuptiActivityRegisterCallbacks", code);
  if (getenv("FLOOR_COUNT")) begin_counting(subscriber);
  if (mode && *mode) return switch_on(mode, subscriber, enable);
  static const int all[] = {10, 1, 22, 2, 5, 4, 38, 17, 8, 9, 37, 11};
  const char *kinds = getenv("FLOOR_KINDS");
  int only_kernels = kinds && !strcmp(kinds, "kernels"), n = only_kernels ? 1 : (int)(sizeof all / sizeof *all);
  for (int i = 0; i < n; i++)
    if (enable(all[i]) && all[i] == 10) return "kernel records refused";
  return 0;
}

int InitializeInjection(void) {
  const char *problem = start();
  fprintf(stderr, "floor: %s\n", problem ? problem : "in place");
  return 1;
}
