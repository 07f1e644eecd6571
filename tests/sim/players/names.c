/* names HOW [N]: kernels whose names do not last. stdout: {"kernels":…,"names":…}.
 *   reload  N (default 200) modules loaded, launched once and unloaded one after another; names `kernel_000017` that
 *           very likely lie where the one before lay
 *   many    one module of N (default 100,000) kernels, each launched once
 *   long    names of 100, 1,000 and 10,000 bytes, and one that is no UTF-8 */
#define NO_KERNELS
#include "mini.h"
static Handle context;
static Handle load(const char *ptx) { Handle m; OK(cuModuleLoadData(&m, ptx)); return m; }
static void launch(Handle m, const char *name) { Handle f; OK(cuModuleGetFunction(&f, m, name)); OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0)); }
int main(int c, char **v) {
  const char *how = c > 1 ? v[1] : "reload"; long n = c > 2 ? atol(v[2]) : 0, names = 0;
  OK(cuInit(0)); OK(cuDevicePrimaryCtxRetain(&context, 0)); OK(cuCtxSetCurrent(context));
  if (!strcmp(how, "reload")) {
    n = n ? n : 200;
    for (long i = 0; i < n; i++) { char name[32], ptx[256]; snprintf(name, sizeof name, "kernel_%06ld", i); snprintf(ptx, sizeof ptx, PTX_HEAD ".visible .entry %s()\n{ ret; }\n", name); Handle m = load(ptx); launch(m, name); OK(cuCtxSynchronize()); OK(cuModuleUnload(m)); }
    names = n;
  } else if (!strcmp(how, "many")) {
    n = n ? n : 100000; char *ptx = malloc(n * 64 + 256), *p = ptx + sprintf(ptx, PTX_HEAD); for (long i = 0; i < n; i++) p += sprintf(p, ".visible .entry kernel_of_many_%06ld()\n{ ret; }\n", i);
    Handle m = load(ptx); for (long i = 0; i < n; i++) { char name[40]; snprintf(name, sizeof name, "kernel_of_many_%06ld", i); launch(m, name); if (i % 1000 == 0) OK(cuCtxSynchronize()); }
    names = n;
  } else if (!strcmp(how, "long")) {
    static char name[10001], ptx[10200]; int sizes[] = {100, 1000, 10000}; n = 4; names = 4;
    for (int k = 0; k < 3; k++) { memset(name, 'a' + k, sizes[k]); name[sizes[k]] = 0; snprintf(ptx, sizeof ptx, PTX_HEAD ".visible .entry %s()\n{ ret; }\n", name); launch(load(ptx), name); }
    launch(load(PTX_HEAD ".visible .entry caf\xc3\xa9_kernel()\n{ ret; }\n"), "caf\xc3\xa9_kernel");
  } else { fprintf(stderr, "names: unknown way %s\n", how); return 2; }
  OK(cuCtxSynchronize()); printf("{\"kernels\":%ld,\"names\":%ld}\n", n, names); return 0;
}
