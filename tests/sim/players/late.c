/* late [KERNELS=100] [MS=0]: linked to no CUDA; loads libcuda.so.1 by dlopen after MS, as Python does, and launches
 * through the driver API. stdout: {"kernels":…}.
 * link: none */
#define NO_KERNELS
#include "mini.h"
#define SYM(name) name##_ = dlsym(h, #name); CHECK(name##_)
int main(int c, char **v) {
  int n = c > 1 ? atoi(v[1]) : 100; if (c > 2) sleep_ms(atol(v[2]));
  void *h = dlopen("libcuda.so.1", RTLD_NOW); if (!h) { fprintf(stderr, "late: %s\n", dlerror()); return 2; }
  int (*cuInit_)(unsigned), (*cuDevicePrimaryCtxRetain_)(Handle *, int), (*cuCtxSetCurrent_)(Handle), (*cuModuleLoadData_)(Handle *, const void *), (*cuModuleGetFunction_)(Handle *, Handle, const char *), (*cuCtxSynchronize_)(void);
  int (*cuLaunchKernel_)(Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, void **, void **);
  SYM(cuInit); SYM(cuDevicePrimaryCtxRetain); SYM(cuCtxSetCurrent); SYM(cuModuleLoadData); SYM(cuModuleGetFunction); SYM(cuCtxSynchronize); SYM(cuLaunchKernel);
  Handle x, m, f; OK(cuInit_(0)); OK(cuDevicePrimaryCtxRetain_(&x, 0)); OK(cuCtxSetCurrent_(x));
  OK(cuModuleLoadData_(&m, PTX_HEAD ".visible .entry late_kernel()\n{ ret; }\n")); OK(cuModuleGetFunction_(&f, m, "late_kernel"));
  for (int i = 0; i < n; i++) OK(cuLaunchKernel_(f, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0));
  OK(cuCtxSynchronize_()); printf("{\"kernels\":%d}\n", n); return 0;
}
