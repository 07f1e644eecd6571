/* steady [PER_SECOND=10000] [SECONDS=10] [THREADS=1]: launches at a steady pace, synchronising ten times a second, until
 * it has done or is killed. stdout, one line whenever another 1,000 launches are done by a thread, written at once:
 * `N` (of all threads together), at the end {"kernels":…}. */
#include "mini.h"
static long rate, seconds; static int threads; static atomic_long done;
static void *body(void *p) {
  (void)p; Handle s; OK(cudaStreamCreateWithFlags(&s, 1)); uint64_t begin = now_ns(); long per = rate / threads, all = per * seconds;
  for (long k = 0; k < all; k++) {
    OK(launch_null(s)); long n = ++done; if (n % 1000 == 0) { char line[32]; int l = snprintf(line, sizeof line, "%ld\n", n); if (write(1, line, l) != l) return 0; }
    if (per >= 10 && k % (per / 10) == 0) OK(cudaStreamSynchronize(s));
    uint64_t due = begin + (uint64_t)((k + 1) * 1e9 / per), now = now_ns(); if (due > now + 100000) { struct timespec t = {(due - now) / 1000000000, (due - now) % 1000000000}; nanosleep(&t, 0); }
  }
  OK(cudaStreamSynchronize(s)); return 0;
}
int main(int c, char **v) {
  rate = c > 1 ? atol(v[1]) : 10000; seconds = c > 2 ? atol(v[2]) : 10; threads = c > 3 ? atoi(v[3]) : 1; pthread_t t[64]; CHECK(threads > 0 && threads <= 64);
  OK(cudaFree(0)); for (int i = 0; i < threads; i++) pthread_create(&t[i], 0, body, 0); for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
  printf("{\"kernels\":%ld}\n", (long)done); return 0;
}
