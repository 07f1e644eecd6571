/* chatty [LAUNCHES=200 STARTS=0]: as PyTorch does, nine calls that only ask around every launch. stdout:
 * {"launches":…,"questions":…}. STARTS: so many windows by cudaProfilerStart and Stop, one launch outside before each. */
#include "mini.h"
static long launches, questions;
static void ask(int n) { for (int i = 0; i < n; i++, questions++) { int d; if (i % 3) OK(cudaGetDevice(&d)); else OK(cudaGetLastError()); } }
static void launch(void) { ask(5); OK(launch_null(0)); ask(4); launches++; }
int main(int c, char **v) {
  long n = c > 1 ? atol(v[1]) : 200, starts = c > 2 ? atol(v[2]) : 0; void *d;
  OK(cudaMalloc(&d, 4096));
  if (!starts) for (long i = 0; i < n; i++) launch();
  for (long k = 0; k < starts; k++) { launch(); OK(cudaProfilerStart()); for (long i = 0; i < n; i++) launch(); OK(cudaMemset(d, 1, 4096)); OK(cudaDeviceSynchronize()); OK(cudaProfilerStop()); }
  OK(cudaFree(d)); OK(cudaDeviceSynchronize());
  printf("{\"launches\":%ld,\"questions\":%ld}\n", launches, questions); return 0;
}
