/* needs_cupti: a program that, like PyTorch, is linked to its own CUPTI (12.8) and uses a function that older ones lack,
 * after it used CUDA. With a foreign libcupti.so.12 of 12.1 mapped first it cannot run:
 * `undefined symbol: cuptiActivityEnableDriverApi`, status 127. `needs_cupti load` loads the linked half by dlopen only
 * after CUDA is up, as `import torch` does after another library used CUDA: give it the path of libneeds.so.
 * link: cudart cuda cupti
 * flags: -Wl,-z,now */
#include "mini.h"
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t on); int cuptiGetVersion(uint32_t *);
int main(void) {
  uint32_t v = 0; for (int i = 0; i < 100; i++) OK(launch_null(0)); OK(cudaDeviceSynchronize());
  OK(cuptiGetVersion(&v)); cuptiActivityEnableDriverApi(304, 0);
  printf("{\"kernels\":100,\"cupti\":%u}\n", v); return 0;
}
