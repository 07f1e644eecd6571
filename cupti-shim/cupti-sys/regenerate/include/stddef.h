/* The libclang of PyPI comes without a compiler's own headers. */
#ifndef GPUPROF_STUB_STDDEF_H
#define GPUPROF_STUB_STDDEF_H
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
#ifndef NULL
#define NULL ((void *)0)
#endif
#endif
