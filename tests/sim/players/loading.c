/* loading PATH: the first context is made while another thread loads PATH (libloads), whose constructor does not return
 * before the context is there, or 5 s are over. Whoever waits for the loader's lock while a context is made waits as long.
 * stdout: {"kernels":…,"waited":1 if the context was not there in time}.
 * flags: -rdynamic */
#include "mini.h"
static void *load(void *path) { void *h = dlopen(path, RTLD_NOW); if (!h) fprintf(stderr, "loading: %s\n", dlerror()); return h; }
atomic_int loading_begun, loading_may_end;
int main(int c, char **v) {
  (void)c; OK(cuInit(0)); pthread_t t; void *h = 0; int *waited;
  CHECK(!pthread_create(&t, 0, load, v[1])); while (!loading_begun) sleep_ms(1);
  Handle x; OK(cuDevicePrimaryCtxRetain(&x, 0)); loading_may_end = 1; CHECK(!pthread_join(t, &h)); CHECK(h);
  waited = dlsym(h, "loads_waited"); CHECK(waited);
  for (int i = 0; i < 100; i++) OK(launch_null(0)); OK(cudaDeviceSynchronize());
  printf("{\"kernels\":100,\"waited\":%d}\n", *waited); return 0;
}
