/* fds HOW: programs that are rough with descriptors. Each launches 200 kernels in all. stdout (where it is still there):
 * {"kernels":200}; a failure of the program itself shows in its status.
 *   stdio       closes 0-2 before CUDA, then opens own files, which get 0-2, and checks them at the end (status 0, no output)
 *   closed_out  stdout and stderr are closed after the first half
 *   all         closes all descriptors from 3 on after the first half, opens 40 own files and checks that nobody wrote to them
 *   all_twice   the same twice, also from 64 on
 *   nofile N    RLIMIT_NOFILE is N (default 8) from the start
 *   fsize N     RLIMIT_FSIZE is N bytes (default 4096) with SIGXFSZ as it was: who writes more is killed
 *   pipe        stderr is a pipe whose reader is gone
 *   sigwait     all signals blocked, a thread waits for SIGUSR1 by sigwait; the main thread sends SIGTERM to the process,
 *               which sigwait must get
 *   low         uses descriptors 3-9 by dup2 without asking who has them */
#include "mini.h"
static void use(int n) { for (int i = 0; i < n; i++) OK(launch_null(0)); OK(cudaDeviceSynchronize()); }
static int own[64]; static int owned;
static void open_own(int n) { for (int i = 0; i < n; i++) { char name[32]; snprintf(name, sizeof name, "own-%d.txt", owned); int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0644); CHECK(fd >= 0); CHECK(write(fd, name, strlen(name)) == (ssize_t)strlen(name)); own[owned++] = fd; } }
static void check_own(void) { for (int i = 0; i < owned; i++) { char name[32], is[64]; snprintf(name, sizeof name, "own-%d.txt", i); int fd = open(name, O_RDONLY); CHECK(fd >= 0); ssize_t n = read(fd, is, sizeof is); if (n != (ssize_t)strlen(name) || memcmp(is, name, n)) _exit(30); close(fd); struct stat a, b; if (fstat(own[i], &a) || stat(name, &b) || a.st_ino != b.st_ino) _exit(31); } }
static void *wait_usr1(void *p) { (void)p; sigset_t s; sigemptyset(&s); sigaddset(&s, SIGUSR1); int got = 0; sigwait(&s, &got); return (void *)(long)got; }
int main(int c, char **v) {
  const char *how = c > 1 ? v[1] : "stdio"; long n = c > 2 ? atol(v[2]) : 0;
  if (!strcmp(how, "stdio")) { close(0); close(1); close(2); open_own(3); use(200); sleep_ms(700); check_own(); return 0; }
  if (!strcmp(how, "closed_out")) { use(100); close(1); close(2); open_own(2); use(100); sleep_ms(700); check_own(); return 0; }
  if (!strcmp(how, "all") || !strcmp(how, "all_twice")) {
    use(100); for (int fd = 3; fd < 1024; fd++) close(fd); open_own(40); sleep_ms(700);
    if (!strcmp(how, "all_twice")) { for (int i = 0; i < owned; i++) close(own[i]); owned = 0; for (int fd = 3; fd < 4096; fd++) close(fd); for (int k = 0; k < 2; k++) open_own(30); }
    use(100); sleep_ms(700); check_own();
  } else if (!strcmp(how, "nofile")) { struct rlimit r = {n ? n : 8, n ? n : 8}; CHECK(!setrlimit(RLIMIT_NOFILE, &r)); use(200); }
  else if (!strcmp(how, "fsize")) { struct rlimit r = {n ? n : 4096, n ? n : 4096}; CHECK(!setrlimit(RLIMIT_FSIZE, &r)); for (int i = 0; i < 20; i++) { use(10); sleep_ms(60); } }
  else if (!strcmp(how, "pipe")) { int p[2]; CHECK(!pipe(p)); dup2(p[1], 2); close(p[0]); close(p[1]); use(200); }
  else if (!strcmp(how, "sigwait")) {
    sigset_t all, old; sigfillset(&all); pthread_sigmask(SIG_SETMASK, &all, &old); pthread_t t; pthread_create(&t, 0, wait_usr1, 0); use(200);
    kill(getpid(), SIGUSR1); void *got; pthread_join(t, &got); if ((long)got != SIGUSR1) return 32;
    kill(getpid(), SIGTERM); sigset_t term; sigemptyset(&term); sigaddset(&term, SIGTERM); int sig = 0; sigwait(&term, &sig); if (sig != SIGTERM) return 33;
  } else if (!strcmp(how, "low")) { use(100); for (int fd = 3; fd < 10; fd++) { int f = open("low.txt", O_RDWR | O_CREAT, 0644); CHECK(f >= 0); if (f != fd) { dup2(f, fd); close(f); } } use(100); sleep_ms(700); struct stat st; CHECK(!stat("low.txt", &st)); if (st.st_size) return 34; }
  else { fprintf(stderr, "fds: unknown way %s\n", how); return 2; }
  printf("{\"kernels\":200}\n"); return 0;
}
