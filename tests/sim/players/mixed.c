/* mixed [STEPS=100]: each step on two streams: 1 HtoD of 4 MiB, 1 fill, axpy, event, wait, 2 more kernels on the second
 * stream, 1 DtoD, 1 DtoH, a stream synchronise; results are checked. Then once each: managed memory with a prefetch, a
 * copy between devices' memories, asynchronous allocation. stdout: counts. */
#include "mini.h"
int main(int c, char **v) {
  int steps = c > 1 ? atoi(v[1]) : 100; const int n = 1 << 20; float *h, *x, *y, *m, *q; Handle a, b, e, f; float ms = 0;
  OK(cudaMallocHost(&h, n * 4)); OK(cudaMalloc(&x, n * 4)); OK(cudaMalloc(&y, n * 4)); OK(cudaStreamCreate(&a)); OK(cudaStreamCreateWithPriority(&b, 1, -1)); OK(cudaEventCreate(&e)); OK(cudaEventCreate(&f));
  for (int k = 0; k < steps; k++) {
    for (int i = 0; i < n; i += 4096) h[i] = k + i; float two = 2; int count = n; dim3 g = {n / 256, 1, 1}, bl = {256, 1, 1}; void *args[] = {&two, &x, &y, &count};
    OK(cudaEventRecord(f, a)); OK(cudaMemcpyAsync(x, h, n * 4, HtoD, a)); OK(cudaMemsetAsync(y, 0, n * 4, a)); OK(cudaLaunchKernel((void *)axpy, g, bl, args, 0, a));
    OK(cudaEventRecord(e, a)); OK(cudaStreamWaitEvent(b, e, 0)); OK(launch_null(b)); OK(launch_spin(20000, b));
    OK(cudaMemcpyAsync(x, y, n * 4, DtoD, a)); OK(cudaMemcpyAsync(h, x, n * 4, DtoH, a)); OK(cudaStreamSynchronize(a));
    for (int i = 0; i < n; i += 4096) CHECK(h[i] == 2.0f * (k + i)); OK(cudaEventSynchronize(e)); OK(cudaEventElapsedTime(&ms, f, e)); CHECK(ms > 0);
  }
  OK(cudaMallocManaged(&m, 1 << 20, 1)); OK(cudaMemPrefetchAsync(m, 1 << 20, 0, a)); OK(cudaMemcpyPeerAsync(y, 0, x, 0, 4096, a));
  OK(cudaMallocAsync(&q, 4096, a)); OK(cudaFreeAsync(q, a)); OK(cudaDeviceSynchronize()); OK(cudaFree(m)); OK(cudaFree(x)); OK(cudaFree(y)); OK(cudaFreeHost(h)); OK(cudaStreamDestroy(a)); OK(cudaStreamDestroy(b));
  printf("{\"kernels\":%d,\"htod\":%d,\"dtod\":%d,\"dtoh\":%d,\"memset\":%d,\"peer\":1,\"bytes_each\":4194304}\n", 3 * steps, steps, steps, steps, steps);
  return 0;
}
