/* graph [NODES=100] [REPLAYS=20] [STREAMS=1]: a captured graph of NODES null kernels, one fill and one copy; with
 * STREAMS=2 half of the kernels are captured on a second stream that forks off and joins. Replayed REPLAYS times.
 * stdout: {"kernels":…,"memsets":…,"copies":…,"launches":…}. */
#include "mini.h"
int main(int c, char **v) {
  int nodes = c > 1 ? atoi(v[1]) : 100, replays = c > 2 ? atoi(v[2]) : 20, two = c > 3 && atoi(v[3]) == 2;
  Handle s, t, fork, join, g, x; char *a, *b; OK(cudaStreamCreate(&s)); OK(cudaStreamCreate(&t)); OK(cudaEventCreate(&fork)); OK(cudaEventCreate(&join));
  OK(cudaMalloc(&a, 4096)); OK(cudaMalloc(&b, 4096));
  OK(cudaStreamBeginCapture(s, 1));
  if (two) { OK(cudaEventRecord(fork, s)); OK(cudaStreamWaitEvent(t, fork, 0)); }
  for (int i = 0; i < nodes; i++) OK(launch_null(two && i % 2 ? t : s));
  if (two) { OK(cudaEventRecord(join, t)); OK(cudaStreamWaitEvent(s, join, 0)); }
  OK(cudaMemsetAsync(a, 7, 4096, s)); OK(cudaMemcpyAsync(b, a, 4096, DtoD, s));
  OK(cudaStreamEndCapture(s, &g)); OK(cudaGraphInstantiateWithFlags(&x, g, 0));
  for (int i = 0; i < replays; i++) OK(cudaGraphLaunch(x, s));
  OK(cudaStreamSynchronize(s)); char h[4096]; OK(cudaMemcpy(h, b, 4096, DtoH)); CHECK(replays == 0 || (h[0] == 7 && h[4095] == 7));
  OK(cudaGraphExecDestroy(x)); OK(cudaGraphDestroy(g));
  printf("{\"kernels\":%d,\"memsets\":%d,\"copies\":%d,\"launches\":%d}\n", nodes * replays, replays, replays + 1, replays);
  return 0;
}
