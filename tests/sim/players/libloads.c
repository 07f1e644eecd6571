/* The library half of `loading`: its constructor runs under the loader's lock, and waits for the program.
 * shared: yes
 * link: none */
#include <stdatomic.h>
#include <time.h>
extern atomic_int loading_begun, loading_may_end; int loads_waited;
__attribute__((constructor)) static void wait_for_the_program(void) {
  loading_begun = 1;
  for (int i = 0; i < 5000 && !loading_may_end; i++) { struct timespec t = {0, 1000000}; nanosleep(&t, 0); }
  loads_waited = !loading_may_end;
}
