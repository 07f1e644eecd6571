/* obey [SECCOMP]: does what it is told through ./orders (a FIFO, lines), and answers each line with one in ./answers.
 *   launch N   N null kernels, then waits for them         sleep MS   idle
 *   go         launches in the background until `halt`     halt
 *   mark       answers with nothing done                   exit N
 *   fork       a child that waits 60 s, its pid            forkcuda   a child that uses CUDA, then waits as long
 *   exec       becomes itself anew                         closeall   closes every descriptor from 3 on and opens own files
 *   sandbox    from here on accept4, bind, unlink and getsockopt kill the process
 * `cuda` is implied by the first launch. stdout: {"kernels":N} at the end. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include "mini.h"
#include <stddef.h>
static atomic_long kernels; static atomic_int going; static pthread_t goer;
static void *background(void *p) { Handle s; OK(cudaStreamCreateWithFlags(&s, 1)); while (going) { OK(launch_null(s)); kernels++; sleep_ms(1); } OK(cudaStreamSynchronize(s)); return p; }
static void sandbox(void) {
  static const int bad[] = {SYS_accept4, SYS_accept, SYS_bind, SYS_listen, SYS_unlink, SYS_unlinkat, SYS_getsockopt};
  enum { N = sizeof bad / sizeof *bad }; struct sock_filter f[2 * N + 2]; int n = 0;
  f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < N; i++) { f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, bad[i], 0, 1); f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS); }
  f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog p = {n, f}; CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); CHECK(!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &p));
}
static void answer(const char *what, long n) { char line[64]; int l = snprintf(line, sizeof line, "%s %ld\n", what, n); int fd = open("answers", O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644); CHECK(fd >= 0); CHECK(write(fd, line, l) == l); close(fd); }
static int orders_fd = -1;
static int next_line(char *line, int room) { int n = 0; for (;;) { char c; ssize_t r = read(orders_fd, &c, 1); if (r < 0 && errno == EINTR) continue; if (r <= 0) { sleep_ms(5); continue; } if (c == '\n') { line[n] = 0; return n; } if (n < room - 1) line[n++] = c; } }
int main(int c, char **v) {
  (void)c; char line[128], what[32]; long n;
  orders_fd = open("orders", O_RDWR | O_CLOEXEC); CHECK(orders_fd >= 0);
  answer("ready", getpid());
  for (;;) {
    next_line(line, sizeof line); n = 0; CHECK(sscanf(line, "%31s %ld", what, &n) >= 1);
    if (!strcmp(what, "launch")) { for (long i = 0; i < n; i++) OK(launch_null(0)); kernels += n; if (n) OK(cudaDeviceSynchronize()); else OK(cudaFree(0)); }
    else if (!strcmp(what, "sleep")) sleep_ms(n);
    else if (!strcmp(what, "go")) { going = 1; CHECK(!pthread_create(&goer, 0, background, 0)); }
    else if (!strcmp(what, "halt")) { going = 0; pthread_join(goer, 0); n = kernels; }
    else if (!strcmp(what, "fork")) { pid_t p = fork(); CHECK(p >= 0); if (!p) { sleep_ms(60000); _exit(0); } n = p; }
    else if (!strcmp(what, "exec")) { answer("execing", 0); execv(v[0], v); _exit(9); }
    else if (!strcmp(what, "closeall")) { for (int fd = 3; fd < 1024; fd++) if (fd != orders_fd) close(fd); for (int i = 0; i < 80; i++) { char name[32]; snprintf(name, sizeof name, "own-%d.txt", i); int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644); CHECK(fd >= 0); CHECK(write(fd, name, strlen(name)) == (ssize_t)strlen(name)); } }
    else if (!strcmp(what, "checkown")) { for (int i = 0; i < 80; i++) { char name[32], is[64]; snprintf(name, sizeof name, "own-%d.txt", i); int fd = open(name, O_RDONLY); CHECK(fd >= 0); ssize_t r = read(fd, is, sizeof is); CHECK(r == (ssize_t)strlen(name) && !memcmp(is, name, r)); close(fd); } }
    else if (!strcmp(what, "sandbox")) sandbox();
    else if (!strcmp(what, "exit")) break;
    else if (strcmp(what, "mark")) { fprintf(stderr, "obey: unknown order %s\n", what); return 2; }
    answer(what, n);
  }
  printf("{\"kernels\":%ld}\n", (long)kernels); return (int)n;
}
