/* symbols PATH NAME…: which of the names the library at PATH exports, one a line.
 * link: none */
#define NO_KERNELS
#include "mini.h"
int main(int c, char **v) {
  void *h = dlopen(v[1], RTLD_NOW | RTLD_LOCAL); if (!h) { fprintf(stderr, "symbols: %s\n", dlerror()); return 2; }
  for (int i = 2; i < c; i++) if (dlsym(h, v[i])) puts(v[i]);
  return 0;
}
