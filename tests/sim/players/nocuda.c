/* nocuda [STATUS=0]: a program without CUDA. stdout: {"threads":…,"fds":…} of itself, as seen at its end.
 * link: none */
#define NO_KERNELS
#include <dirent.h>
#include "mini.h"
static int entries(const char *p) { DIR *d = opendir(p); int n = 0; while (d && readdir(d)) n++; if (d) closedir(d); return n - 2; }
int main(int c, char **v) { printf("{\"threads\":%d,\"fds\":%d}\n", entries("/proc/self/task"), entries("/proc/self/fd") - 1); return c > 1 ? atoi(v[1]) : 0; }
