/* needs_late PATH: uses CUDA first (as MPI or CuPy does), then loads PATH (libneeds), which is linked to a versioned
 * libcupti. If some other libcupti.so.12 that lacks its functions was mapped in between, this fails with status 127.
 * stdout: {"kernels":…,"cupti":…}. */
#include "mini.h"
int main(int c, char **v) {
  (void)c; for (int i = 0; i < 100; i++) OK(launch_null(0)); OK(cudaDeviceSynchronize());
  void *h = dlopen(v[1], RTLD_NOW); if (!h) { fprintf(stderr, "needs_late: %s\n", dlerror()); return 127; }
  int (*needs)(void) = dlsym(h, "needs"); for (int i = 0; i < 100; i++) OK(launch_null(0)); OK(cudaDeviceSynchronize());
  printf("{\"kernels\":200,\"cupti\":%d}\n", needs()); return 0;
}
