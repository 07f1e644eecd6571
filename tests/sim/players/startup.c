/* startup: the first CUDA calls of a program, and no others. stdout: {"init_ns":… (cuInit, in which tools attach),
 * "context_ns":… (the first context, with which they begin)}. */
#include "mini.h"
int cuInit(unsigned);
static long long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
int main(void) {
  long long a = now(); OK(cuInit(0)); long long b = now(); OK(cudaFree(0)); long long c = now();
  printf("{\"init_ns\":%lld,\"context_ns\":%lld}\n", b - a, c - b);
  return 0;
}
