/* calls [ROUNDS=10 THREADS=1]: each thread ROUNDS times: memory, a copy, a launch, a fill, an event, waits; calls of the driver;
 * questions in between; and two calls that fail, of memory that nobody has. stdout:
 * {"launches":…,"failures":…,"runtime_code":…,"driver_code":…}. */
#include "mini.h"
int cuMemAlloc_v2(unsigned long long *, size_t); int cuMemFree_v2(unsigned long long); int cuCtxGetCurrent(Handle *); int cudaStreamQuery(Handle);
static long rounds; static atomic_long launches, failures; static atomic_int runtime_code, driver_code;
static void ask(void) { int d; Handle x; for (int i = 0; i < 9; i++) { OK(cudaGetDevice(&d)); OK(cuCtxGetCurrent(&x)); } }
static void *body(void *p) {
  (void)p; Handle s, e; char h[4096] = {0}; void *d; unsigned long long a; int r;
  OK(cudaStreamCreateWithFlags(&s, 1)); OK(cudaEventCreate(&e));
  for (long k = 0; k < rounds; k++) {
    ask(); OK(cudaMalloc(&d, sizeof h)); OK(cudaMemcpyAsync(d, h, sizeof h, HtoD, s)); ask(); OK(launch_null(s)); launches++; ask();
    OK(cudaMemsetAsync(d, 1, sizeof h, s)); OK(cudaEventRecord(e, s)); OK(cudaStreamWaitEvent(s, e, 0)); OK(cudaEventSynchronize(e)); OK(cudaStreamSynchronize(s));
    OK(cuMemAlloc_v2(&a, 256)); OK(cuMemFree_v2(a)); OK(cuCtxSynchronize()); OK(cudaFree(d));
    if ((r = cudaMalloc(&d, (size_t)1 << 50))) { failures++; runtime_code = r; }
    if ((r = cuMemAlloc_v2(&a, (size_t)1 << 50))) { failures++; driver_code = r; }
    cudaGetLastError();
  }
  OK(cudaStreamDestroy(s)); return 0;
}
int main(int c, char **v) {
  rounds = c > 1 ? atol(v[1]) : 10; int n = c > 2 ? atoi(v[2]) : 1; pthread_t t[64]; CHECK(n > 0 && n <= 64);
  OK(cudaFree(0)); sleep_ms(50); /* what a collector does when the first context is made is over then */
  if (n == 1) body(0);
  else { for (int i = 0; i < n; i++) CHECK(!pthread_create(&t[i], 0, body, 0)); for (int i = 0; i < n; i++) pthread_join(t[i], 0); }
  OK(cudaDeviceSynchronize());
  printf("{\"launches\":%ld,\"failures\":%ld,\"runtime_code\":%d,\"driver_code\":%d}\n", (long)launches, (long)failures, runtime_code, driver_code); return 0;
}
