/* burst [LAUNCHES=1000000] [THREADS=1] [PER_SECOND=0]: lets the simulator itself make launches (each a runtime call, a
 * driver call and a kernel), from each of THREADS threads, at PER_SECOND launches together (0: as fast as it can).
 * stdout: {"launches":…,"records":…,"ns":…,"ns_per_record":…,"cpu_ns_per_record":… (of all the process),"rss_bytes":…}. */
#include "mini.h"
int main(int c, char **v) {
  long n = c > 1 ? atol(v[1]) : 1000000, threads = c > 2 ? atol(v[2]) : 1, rate = c > 3 ? atol(v[3]) : 0;
  OK(cudaFree(0));
  uint64_t (*burst)(uint64_t, uint32_t, uint64_t) = dlsym(RTLD_DEFAULT, "sim_cuda_burst"); CHECK(burst);
  struct timespec a, b; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a); uint64_t ns = burst(n, threads, rate); OK(cudaDeviceSynchronize()); clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
  long rss = 0; char l[200]; FILE *f = fopen("/proc/self/status", "r"); while (f && fgets(l, sizeof l, f)) if (!strncmp(l, "VmHWM:", 6)) rss = atol(l + 6) * 1024; if (f) fclose(f);
  printf("{\"launches\":%ld,\"records\":%ld,\"ns\":%llu,\"ns_per_record\":%.1f,\"cpu_ns_per_record\":%.1f,\"rss_bytes\":%ld}\n", n * threads, 3 * n * threads, (unsigned long long)ns, (double)ns / (3.0 * n * threads), ((b.tv_sec - a.tv_sec) * 1e9 + b.tv_nsec - a.tv_nsec) / (3.0 * n * threads), rss);
  return 0;
}
