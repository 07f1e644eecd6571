/* vector_add [ROUNDS=10] [FLOATS=1024]: each round 2 HtoD, 1 kernel, 1 DtoH, all checked; then one synchronise.
 * stdout: one line of JSON with what was done. */
#include "mini.h"
int main(int c, char **v) {
  int rounds = c > 1 ? atoi(v[1]) : 10, n = c > 2 ? atoi(v[2]) : 1024; size_t bytes = n * sizeof(float);
  float *a = malloc(bytes), *b = malloc(bytes), *r = malloc(bytes), *da, *db, *dc;
  OK(cudaMalloc(&da, bytes)); OK(cudaMalloc(&db, bytes)); OK(cudaMalloc(&dc, bytes));
  for (int k = 0; k < rounds; k++) {
    for (int i = 0; i < n; i++) { a[i] = i + k; b[i] = 2 * i; }
    OK(cudaMemcpy(da, a, bytes, HtoD)); OK(cudaMemcpy(db, b, bytes, HtoD));
    dim3 grid = {(n + 255) / 256, 1, 1}, block = {256, 1, 1}; void *args[] = {&da, &db, &dc, &n};
    OK(cudaLaunchKernel((void *)vector_add, grid, block, args, 0, 0));
    OK(cudaMemcpy(r, dc, bytes, DtoH));
    for (int i = 0; i < n; i++) CHECK(r[i] == a[i] + b[i]);
  }
  OK(cudaDeviceSynchronize()); OK(cudaFree(da)); OK(cudaFree(db)); OK(cudaFree(dc));
  printf("{\"kernels\":%d,\"htod\":%d,\"dtoh\":%d,\"bytes_each\":%zu,\"runtime_calls\":%d,\"ok\":true}\n", rounds, 2 * rounds, rounds, bytes, 3 + 4 * rounds + 1 + 3);
  return 0;
}
