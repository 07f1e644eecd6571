/* asan: vector_add built with AddressSanitizer, which insists on being the first library: a preload before it stops the
 * program before main.
 * flags: -fsanitize=address */
#include "vector_add.c"
