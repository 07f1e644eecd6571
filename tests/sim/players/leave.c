/* leave HOW [KERNELS=1000] [MS=0]: launches KERNELS null kernels without a synchronise, waits MS, prints
 * {"kernels":…} and leaves in a certain way. Status where nothing ends it: return 5, exit 6, _exit 7, quick_exit 8.
 *   return exit _exit quick_exit abort pthread_exit TERM INT KILL SEGV segv reset sync running thread_exit
 *   pthread_gone  the main thread ends by pthread_exit before another one uses CUDA for the first time
 *   loop   launches for ever, until something ends it        exec  becomes /bin/echo
 *   handler  has its own SIGTERM handler that exits with 9, raises SIGTERM */
#include "mini.h"
static void *leave_thread(void *p) { (void)p; exit(10); }
static void *later(void *p) { (void)p; sleep_ms(100); OK(launch_null(0)); OK(cudaDeviceSynchronize()); return 0; }
static long kernels;
static void *all_of_it(void *p) {
  (void)p; sleep_ms(100); OK(cudaFree(0)); for (long i = 0; i <= kernels; i++) OK(launch_null(0));
  OK(cudaDeviceSynchronize()); return 0;
}
static void on_term(int s) { (void)s; _exit(9); }
int main(int c, char **v) {
  const char *how = c > 1 ? v[1] : "return"; long n = c > 2 ? atol(v[2]) : 1000, ms = c > 3 ? atol(v[3]) : 0;
  if (!strcmp(how, "pthread_gone")) { pthread_t t; kernels = n; pthread_create(&t, 0, all_of_it, 0); pthread_exit(0); }
  OK(cudaFree(0));
  for (long i = 0; i < n; i++) OK(launch_null(0));
  if (!strcmp(how, "running")) OK(launch_hang(0));
  if (!strcmp(how, "sync")) OK(cudaDeviceSynchronize());
  printf("{\"kernels\":%ld,\"how\":\"%s\"}\n", n, how); fflush(stdout);
  if (ms) sleep_ms(ms);
  if (!strcmp(how, "return") || !strcmp(how, "sync") || !strcmp(how, "running")) return 5;
  if (!strcmp(how, "exit")) exit(6);
  if (!strcmp(how, "_exit")) _exit(7);
  if (!strcmp(how, "quick_exit")) quick_exit(8);
  if (!strcmp(how, "abort")) abort();
  if (!strcmp(how, "TERM")) raise(SIGTERM);
  if (!strcmp(how, "INT")) { signal(SIGINT, SIG_DFL); raise(SIGINT); } /* a shell ignores it for what it runs in the background */
  if (!strcmp(how, "KILL")) raise(SIGKILL);
  if (!strcmp(how, "SEGV")) raise(SIGSEGV);
  if (!strcmp(how, "segv")) *(volatile int *)8 = 1;
  if (!strcmp(how, "reset")) { OK(cudaDeviceReset()); return 5; }
  if (!strcmp(how, "exec")) { execl("/bin/echo", "echo", "became echo", (char *)0); return 11; }
  if (!strcmp(how, "handler")) { signal(SIGTERM, on_term); raise(SIGTERM); }
  if (!strcmp(how, "thread_exit")) { pthread_t t; pthread_create(&t, 0, leave_thread, 0); pthread_join(t, 0); }
  if (!strcmp(how, "pthread_exit")) { pthread_t t; pthread_create(&t, 0, later, 0); pthread_exit(0); }
  if (!strcmp(how, "loop")) for (;;) { OK(launch_null(0)); OK(cudaDeviceSynchronize()); }
  return 12;
}
