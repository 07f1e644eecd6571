/* The library half of `needs_late`: linked to CUPTI 12.8 as libtorch_cpu.so is.
 * shared: yes
 * link: cupti
 * flags: -Wl,-z,now */
#include <stdint.h>
int cuptiActivityEnableDriverApi(uint32_t cbid, uint8_t on); int cuptiGetVersion(uint32_t *);
int needs(void) { uint32_t v = 0; cuptiGetVersion(&v); cuptiActivityEnableDriverApi(304, 0); return (int)v; }
