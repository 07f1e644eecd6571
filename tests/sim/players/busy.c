/* Keeps one CPU busy for a share of the time, with memory in use: busy PERCENT MILLISECONDS MEBIBYTES [what].
 * what: child: in a child, while this one waits; daemon: in a grandchild whose parent has ended at once, and this one
 * waits until it is done. Prints what it used. link: none */
#define NO_KERNELS
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static long long now(clockid_t clock) { struct timespec t; clock_gettime(clock, &t); return t.tv_sec * 1000000000LL + t.tv_nsec; }
static void work(long long share, long long length, size_t bytes) {
  long long start = now(CLOCK_MONOTONIC), wall;
  char *memory = malloc(bytes + 1);
  memset(memory, 1, bytes + 1);
  while ((wall = now(CLOCK_MONOTONIC) - start) < length) {
    if (now(CLOCK_PROCESS_CPUTIME_ID) * 100 < wall * share) continue;
    struct timespec t = {0, 2000000}; nanosleep(&t, 0);
  }
  printf("{\"pid\":%d,\"cpu_ns\":%lld,\"wall_ns\":%lld,\"bytes\":%zu}\n", getpid(), now(CLOCK_PROCESS_CPUTIME_ID), wall, bytes);
  fflush(stdout); free(memory);
}
int main(int n, char **v) {
  if (n < 4) return 2;
  long long share = atoll(v[1]), length = atoll(v[2]) * 1000000; size_t bytes = (size_t)atoll(v[3]) << 20;
  const char *what = n > 4 ? v[4] : "";
  if (!strcmp(what, "child")) {
    pid_t child = fork(); if (!child) { work(share, length, bytes); _exit(0); }
    waitpid(child, 0, 0); return 0;
  }
  if (!strcmp(what, "daemon")) {
    int done[2]; if (pipe(done)) return 1;
    pid_t child = fork();
    if (!child) { setsid(); if (!fork()) { work(share, length, bytes); } _exit(0); }
    waitpid(child, 0, 0); close(done[1]);
    char c; while (read(done[0], &c, 1) > 0) {} /* until the grandchild has closed its end */
    return 0;
  }
  work(share, length, bytes);
  return 7;
}
