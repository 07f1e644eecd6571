/* gate HOW [STEPS=20 FROM=5 TO=8]: 7 kernels a step (6 null kernels and one that runs 3 ms), cudaProfilerStart before step
 * FROM, Stop after step TO-1. stdout: {"in_windows":…,"total":…,"windows":…}.
 *   step      as said; the last kernel still runs at Stop
 *   driver    the same through cuProfilerStart/Stop
 *   missing   Start, no Stop        stop    Stop without Start       never   neither
 *   repeat    STEPS windows of one step each, with one step outside between them
 *   nested    Start Start … Stop Stop: the first Stop ends it
 *   thread    Start and Stop come from another thread than the launches
 *   cross     Start from one thread, Stop from another
 *   threads   8 threads launch all the time; what lies in the window is what the main thread launched there
 *   again     the same behind a first window with one kernel, of which all has come
 *   graph     a graph of 10 nodes, captured before the window; 5 launches before, 3 inside, 5 after
 *   long      one window with one kernel that runs 3 s, Stop at once; STEPS null kernels after it
 *   apart     STEPS windows of one kernel, with 60 ms of silence after each
 *   beside    Start and Stop with nothing between them after STEPS/2 steps, all launches outside
 *   silent    STEPS windows of one kernel that has ended, each silent for 3 ms more than the one before, from 20 to 110 ms;
 *             60 ms between them
 *   exit      Stop, then exit at once, the kernel still running */
#include "mini.h"
static int total;
static void step(void) { for (int k = 0; k < 6; k++) OK(launch_null(0)); OK(launch_spin(3000000, 0)); total += 7; }
static void *start(void *p) { (void)p; OK(cudaProfilerStart()); return 0; }
static void *stop(void *p) { (void)p; OK(cudaProfilerStop()); return 0; }
static void elsewhere(void *(*f)(void *)) { pthread_t t; CHECK(!pthread_create(&t, 0, f, 0)); pthread_join(t, 0); }
static atomic_int ending; static atomic_long others;
static void *busy(void *p) { (void)p; Handle s; OK(cudaStreamCreateWithFlags(&s, 1)); while (!ending) { OK(launch_null(s)); others++; OK(cudaStreamSynchronize(s)); } return 0; }
int main(int c, char **v) {
  const char *how = c > 1 ? v[1] : "step"; int steps = c > 2 ? atoi(v[2]) : 20, from = c > 3 ? atoi(v[3]) : 5, to = c > 4 ? atoi(v[4]) : 8;
  int in = 7 * (to - from), windows = 1, is_exit = !strcmp(how, "exit");
  OK(cudaFree(0));
  if (!strcmp(how, "step") || is_exit) for (int i = 0; i < steps; i++) { if (i == from) OK(cudaProfilerStart()); step(); if (i == to - 1) { OK(cudaProfilerStop()); if (is_exit) break; } }
  else if (!strcmp(how, "driver")) for (int i = 0; i < steps; i++) { if (i == from) OK(cuProfilerStart()); step(); if (i == to - 1) OK(cuProfilerStop()); }
  else if (!strcmp(how, "missing")) { for (int i = 0; i < steps; i++) { if (i == from) OK(cudaProfilerStart()); step(); } in = 7 * (steps - from); }
  else if (!strcmp(how, "stop")) { for (int i = 0; i < steps; i++) { step(); if (i == to - 1) OK(cudaProfilerStop()); } in = 0; windows = 0; }
  else if (!strcmp(how, "never")) { for (int i = 0; i < steps; i++) step(); in = 0; windows = 0; }
  else if (!strcmp(how, "repeat")) { for (int i = 0; i < steps; i++) { OK(cudaProfilerStart()); int d; OK(cudaGetDevice(&d)); for (int k = 0; k < 7; k++) OK(launch_null(0)); OK(cudaProfilerStop()); for (int k = 0; k < 7; k++) OK(launch_null(0)); total += 14; } in = 7 * steps; windows = steps; }
  else if (!strcmp(how, "long")) { OK(cudaProfilerStart()); OK(launch_spin(3000000000ll, 0)); OK(cudaProfilerStop()); for (int k = 0; k < steps; k++) OK(launch_null(0)); total = steps + 1; in = 1; }
  else if (!strcmp(how, "apart")) { for (int i = 0; i < steps; i++) { OK(cudaProfilerStart()); OK(launch_null(0)); OK(cudaProfilerStop()); usleep(60000); } total = in = windows = steps; }
  else if (!strcmp(how, "beside")) { for (int i = 0; i < steps; i++) { if (i == steps / 2) { OK(cudaProfilerStart()); OK(cudaProfilerStop()); } step(); } in = 0; }
  else if (!strcmp(how, "silent")) { for (int i = 0; i < steps; i++) { OK(cudaProfilerStart()); OK(launch_null(0)); OK(cudaDeviceSynchronize()); sleep_ms(20 + i % 30 * 3); OK(cudaProfilerStop()); sleep_ms(60); } total = in = windows = steps; }
  else if (!strcmp(how, "nested")) { for (int i = 0; i < steps; i++) { if (i == from) OK(cudaProfilerStart()); if (i == from + 1) OK(cudaProfilerStart()); step(); if (i == to - 1) OK(cudaProfilerStop()); if (i == to) OK(cudaProfilerStop()); } }
  else if (!strcmp(how, "thread")) for (int i = 0; i < steps; i++) { if (i == from) elsewhere(start); step(); if (i == to - 1) elsewhere(stop); }
  else if (!strcmp(how, "cross")) for (int i = 0; i < steps; i++) { if (i == from) OK(cudaProfilerStart()); step(); if (i == to - 1) elsewhere(stop); }
  else if (!strcmp(how, "threads") || !strcmp(how, "again")) {
    if (!strcmp(how, "again")) { OK(cudaProfilerStart()); OK(launch_null(0)); OK(cudaDeviceSynchronize()); OK(cudaProfilerStop()); total++; in++; windows++; sleep_ms(300); }
    pthread_t t[8]; for (int i = 0; i < 8; i++) CHECK(!pthread_create(&t[i], 0, busy, 0));
    for (int i = 0; i < steps; i++) { if (i == from) OK(cudaProfilerStart()); step(); if (i == to - 1) OK(cudaProfilerStop()); }
    ending = 1; for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
    total += others;
  } else if (!strcmp(how, "graph")) {
    Handle s, g, x; OK(cudaStreamCreate(&s)); OK(cudaStreamBeginCapture(s, 1)); for (int i = 0; i < 10; i++) OK(launch_null(s)); OK(cudaStreamEndCapture(s, &g)); OK(cudaGraphInstantiateWithFlags(&x, g, 0));
    for (int i = 0; i < 5; i++) OK(cudaGraphLaunch(x, s)); OK(cudaStreamSynchronize(s));
    OK(cudaProfilerStart()); for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(x, s)); OK(cudaProfilerStop());
    for (int i = 0; i < 5; i++) OK(cudaGraphLaunch(x, s)); total = 130; in = 30;
  } else { fprintf(stderr, "gate: unknown way %s\n", how); return 2; }
  if (!is_exit) OK(cudaDeviceSynchronize());
  printf("{\"in_windows\":%d,\"total\":%d,\"windows\":%d}\n", in, total, windows);
  return 0;
}
