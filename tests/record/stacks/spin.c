/* Burns CPU time: 3 parts of it in `hot_function`, 1 part in `cool_function`. Without frame pointers. */
#include <stdio.h>
#include <time.h>

static volatile unsigned long sink;

static double used(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

__attribute__((noinline)) unsigned long hot_function(unsigned long n) {
    unsigned long x = n;
    for (unsigned long i = 0; i < 4000000; i++) x = x * 6364136223846793005ul + i;
    return x;
}

__attribute__((noinline)) unsigned long cool_function(unsigned long n) {
    unsigned long x = n;
    for (unsigned long i = 0; i < 4000000; i++) x = (x ^ i) * 2862933555777941757ul;
    return x;
}

__attribute__((noinline)) void burn(double seconds) {
    double at = used(), end = at + seconds;
    while (at < end) {
        while (used() < at + 0.03) sink += hot_function(sink);
        while (used() < at + 0.04) sink += cool_function(sink);
        at = used();
    }
}

int main(int argc, char **argv) {
    burn(1.5);
    printf("done\n");
    return argc > 1 ? 5 : 0;
}
