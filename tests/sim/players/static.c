/* static [STATUS=0]: nocuda without any dynamic library: nothing can be preloaded.
 * link: none
 * flags: -static */
#include <stdio.h>
#include <stdlib.h>
int main(int c, char **v) { puts("{\"static\":true}"); return c > 1 ? atoi(v[1]) : 0; }
