/* What torch.profiler does to another tool: takes the activity API without subscribing. `intrude` registers callbacks of
 * its own; buffers that belonged to the tool before come to it too, and it frees them all with free(). The harness gives
 * the file the name of the library that the collector shall suspect (SIM_TAKEOVER=PATH@LAUNCH).
 * shared: yes */
#define NO_KERNELS
#include "mini.h"
static atomic_long freed;
static void request(uint8_t **b, size_t *n, size_t *max) { *n = 1 << 20; *b = aligned_alloc(8, *n); memset(*b, 0, *n); *max = 0; }
static void complete(void *ctx, uint32_t stream, uint8_t *b, size_t n, size_t valid) { (void)ctx; (void)stream; (void)n; (void)valid; free(b); freed++; }
int intrude(void) {
  const char *names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"}; void *h = 0;
  for (int i = 0; i < 3 && !h; i++) h = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
  for (int i = 0; i < 3 && !h; i++) h = dlopen(names[i], RTLD_NOW);
  if (!h) return -1;
  int (*reg)(void *, void *) = dlsym(h, "cuptiActivityRegisterCallbacks"), (*enable)(int) = dlsym(h, "cuptiActivityEnable");
  int r = reg((void *)request, (void *)complete); enable(10); enable(5); return r;
}
