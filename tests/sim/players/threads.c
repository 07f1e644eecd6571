/* threads N LAUNCHES [HOW=launch] [ROUNDS=1]: N threads with a stream each launch LAUNCHES null kernels, ROUNDS times with
 * new threads each time. stdout: {"kernels":…,"runtime_launches":…}.
 *   launch   and synchronise every 64th
 *   fork     every 50th launch forks a child that ends by _exit
 *   churn    one launch per thread, LAUNCHES threads after one another in each of the N
 *   toggle   and the main thread calls cudaProfilerStart/Stop 1,000 times meanwhile
 *   exit     the main thread calls exit(7) while all are launching (no line then) */
#include "mini.h"
static long launches; static const char *how; static atomic_long done, forks; static atomic_int stop;
static void *one(void *p) { (void)p; OK(launch_null(0)); done++; return 0; }
static void *body(void *p) {
  Handle s; (void)p;
  if (!strcmp(how, "churn")) { for (long k = 0; k < launches; k++) { pthread_t t; CHECK(!pthread_create(&t, 0, one, 0)); pthread_join(t, 0); } return 0; }
  OK(cudaStreamCreateWithFlags(&s, 1));
  int endless = !strcmp(how, "exit");
  for (long k = 0; endless || k < launches; k++) {
    int r = launch_null(s); if (endless && r) return 0; OK(r); done++;
    if ((k & 63) == 63) { r = cudaStreamSynchronize(s); if (endless && r) return 0; OK(r); }
    if (!strcmp(how, "fork") && k % 50 == 49) {
      pid_t child = fork(); if (!child) _exit(0);
      int st; CHECK(child > 0 && waitpid(child, &st, 0) == child && st == 0); forks++;
    }
  }
  OK(cudaStreamSynchronize(s)); return 0;
}
int main(int c, char **v) {
  int n = c > 1 ? atoi(v[1]) : 4; launches = c > 2 ? atol(v[2]) : 1000; how = c > 3 ? v[3] : "launch"; int rounds = c > 4 ? atoi(v[4]) : 1;
  pthread_t *t = calloc(n, sizeof *t); OK(cudaFree(0));
  for (int r = 0; r < rounds; r++) {
    for (int i = 0; i < n; i++) CHECK(!pthread_create(&t[i], 0, body, 0));
    if (!strcmp(how, "toggle")) for (int i = 0; i < 1000; i++) { OK(cudaProfilerStart()); OK(cudaProfilerStop()); }
    if (!strcmp(how, "exit")) { sleep_ms(200); exit(7); }
    for (int i = 0; i < n; i++) pthread_join(t[i], 0);
  }
  OK(cudaDeviceSynchronize());
  printf("{\"kernels\":%ld,\"forks\":%ld}\n", (long)done, (long)forks);
  return 0;
}
