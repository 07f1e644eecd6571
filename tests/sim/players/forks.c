/* forks HOW: what a process and its children do. stdout: {"parent":kernels,"child":kernels}; children's statuses are
 * checked here.
 *   before    the child is forked before CUDA and uses it (100 kernels), then the parent does (200)
 *   both      as before, the parent does not wait: both at once
 *   after     the parent uses CUDA, then forks a child that exits by exit(0)
 *   after_use the same, and the child tries to use CUDA, which must fail with an error, not hang
 *   _fork     a child by raw clone(SIGCHLD), past all handlers, ends by exit
 *   vfork     vfork + exec of /bin/true         spawn   posix_spawn of this program as `child`
 *   exec      fork + exec of this program as `child` (100 kernels)
 *   pool      the parent uses CUDA; 8 children forked before it use it too (50 kernels each)
 *   daemon    the parent uses CUDA, then: fork, setsid, all descriptors closed, 0-2 reopened on /dev/null; the child
 *             writes its own file ./daemon.txt through the lowest descriptors and checks it
 *   daemon_first  daemonises before CUDA, then uses it (100 kernels) */
#include <spawn.h>
#include "mini.h"
extern char **environ;
static void use(int n) { OK(cudaFree(0)); for (int i = 0; i < n; i++) OK(launch_null(0)); OK(cudaDeviceSynchronize()); }
static void reap(pid_t p, int want) { int st = -1; CHECK(p > 0); CHECK(waitpid(p, &st, 0) == p); if (!(WIFEXITED(st) && WEXITSTATUS(st) == want)) { fprintf(stderr, "player: child ended with status %x\n", st); _exit(5); } }
static void close_all(void) { for (int fd = 0; fd < 1024; fd++) close(fd); int n = open("/dev/null", O_RDWR); CHECK(n == 0); CHECK(dup(0) == 1); CHECK(dup(0) == 2); }
static void own_file(void) {
  int fd = open("daemon.txt", O_RDWR | O_CREAT | O_TRUNC, 0644); if (fd < 0) _exit(20);
  int more[20]; for (int i = 0; i < 20; i++) more[i] = open("daemon.txt", O_RDONLY);
  for (int i = 0; i < 500; i++) if (write(fd, "0123456789\n", 11) != 11) _exit(21);
  sleep_ms(1500); /* whoever still has our numbers writes now */
  struct stat st; if (fstat(fd, &st) || st.st_size != 5500) _exit(22);
  lseek(fd, 0, SEEK_SET); char line[11]; for (int i = 0; i < 500; i++) if (read(fd, line, 11) != 11 || memcmp(line, "0123456789\n", 11)) _exit(23);
  for (int i = 0; i < 20; i++) close(more[i]);
}
int main(int c, char **v) {
  const char *how = c > 1 ? v[1] : "before"; int parent = 200, child = 0; pid_t p, q[8];
  if (!strcmp(how, "child")) { use(100); return 0; }
  if (!strcmp(how, "before")) { if (!(p = fork())) { use(100); exit(0); } reap(p, 0); use(200); child = 100; }
  else if (!strcmp(how, "both")) { if (!(p = fork())) { use(100); exit(0); } use(200); reap(p, 0); child = 100; }
  else if (!strcmp(how, "after")) { use(100); if (!(p = fork())) exit(0); reap(p, 0); use(100); }
  else if (!strcmp(how, "after_use")) { use(100); if (!(p = fork())) { int r = cudaFree(0); int r2 = launch_null(0); exit(r && r2 ? 0 : 1); } reap(p, 0); use(100); }
  else if (!strcmp(how, "_fork")) { use(100); if (!(p = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))) exit(0); reap(p, 0); use(100); }
  else if (!strcmp(how, "vfork")) { use(100); if (!(p = vfork())) { execl("/bin/true", "true", (char *)0); _exit(9); } reap(p, 0); use(100); }
  else if (!strcmp(how, "spawn")) { use(100); char *a[] = {v[0], "child", 0}; CHECK(!posix_spawn(&p, v[0], 0, 0, a, environ)); reap(p, 0); use(100); child = 100; }
  else if (!strcmp(how, "exec")) { use(100); if (!(p = fork())) { execl(v[0], v[0], "child", (char *)0); _exit(9); } reap(p, 0); use(100); child = 100; }
  else if (!strcmp(how, "pool")) { for (int i = 0; i < 8; i++) if (!(q[i] = fork())) { use(50); exit(0); } use(200); for (int i = 0; i < 8; i++) reap(q[i], 0); child = 400; }
  else if (!strcmp(how, "daemon")) { use(200); if (!(p = fork())) { setsid(); close_all(); own_file(); exit(0); } reap(p, 0); }
  else if (!strcmp(how, "daemon_first")) { if (!(p = fork())) { setsid(); close_all(); use(100); own_file(); exit(0); } reap(p, 0); child = 100; parent = 0; }
  else { fprintf(stderr, "forks: unknown way %s\n", how); return 2; }
  printf("{\"parent\":%d,\"child\":%d}\n", parent, child);
  return 0;
}
