/* What the players need of CUDA's headers, declared by hand: they are built where no toolkit is. The libraries behind
 * these names are the simulator's. */
#ifndef MINI_H
#define MINI_H
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef void *Handle;
typedef struct { unsigned x, y, z; } dim3;
enum { HtoD = 1, DtoH = 2, DtoD = 3 };

int cudaMalloc(void *out, size_t bytes);
int cudaMallocHost(void *out, size_t bytes);
int cudaMallocManaged(void *out, size_t bytes, unsigned flags);
int cudaMallocAsync(void *out, size_t bytes, Handle stream);
int cudaFree(void *);
int cudaFreeHost(void *);
int cudaFreeAsync(void *, Handle stream);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, Handle stream);
int cudaMemcpyPeerAsync(void *to, int device, const void *from, int of, size_t bytes, Handle stream);
int cudaMemset(void *, int value, size_t bytes);
int cudaMemsetAsync(void *, int value, size_t bytes, Handle stream);
int cudaMemPrefetchAsync(const void *, size_t bytes, int device, Handle stream);
int cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared, Handle stream);
int cudaStreamCreate(Handle *out);
int cudaStreamCreateWithFlags(Handle *out, unsigned flags);
int cudaStreamCreateWithPriority(Handle *out, unsigned flags, int priority);
int cudaStreamDestroy(Handle);
int cudaStreamSynchronize(Handle);
int cudaStreamWaitEvent(Handle, Handle event, unsigned flags);
int cudaStreamBeginCapture(Handle, int mode);
int cudaStreamEndCapture(Handle, Handle *graph);
int cudaGraphInstantiateWithFlags(Handle *exec, Handle graph, unsigned long long flags);
int cudaGraphLaunch(Handle exec, Handle stream);
int cudaGraphExecDestroy(Handle);
int cudaGraphDestroy(Handle);
int cudaEventCreate(Handle *out);
int cudaEventRecord(Handle, Handle stream);
int cudaEventSynchronize(Handle);
int cudaEventElapsedTime(float *ms, Handle from, Handle to);
int cudaEventDestroy(Handle);
int cudaDeviceSynchronize(void);
int cudaDeviceReset(void);
int cudaGetDeviceCount(int *);
int cudaGetDevice(int *);
int cudaSetDevice(int);
int cudaGetLastError(void);
int cudaProfilerStart(void);
int cudaProfilerStop(void);
const char *cudaGetErrorString(int);
void **__cudaRegisterFatBinary(const void *);
void __cudaRegisterFunction(void **handle, const void *host, char *device, const char *name, int, void *, void *, void *, void *, int *);

int cuInit(unsigned);
int cuDeviceGet(int *, int);
int cuDevicePrimaryCtxRetain(Handle *, int);
int cuCtxSetCurrent(Handle);
int cuCtxSynchronize(void);
int cuModuleLoadData(Handle *, const void *);
int cuModuleUnload(Handle);
int cuModuleGetFunction(Handle *, Handle, const char *);
int cuLaunchKernel(Handle f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared, Handle stream, void **args, void **extra);
int cuProfilerStart(void);
int cuProfilerStop(void);

#define OK(call) do { int code_ = (call); if (code_) { fprintf(stderr, "player: %s at %s:%d gave %d\n", #call, __FILE__, __LINE__, code_); _exit(3); } } while (0)
#define CHECK(what) do { if (!(what)) { fprintf(stderr, "player: not true at %s:%d: %s\n", __FILE__, __LINE__, #what); _exit(4); } } while (0)

static inline uint64_t now_ns(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
static inline void sleep_ms(long ms) { struct timespec t = {ms / 1000, ms % 1000 * 1000000}; while (nanosleep(&t, &t) && errno == EINTR) {} }

/* Kernels: PTX text that begins as nvcc's start-up code would register it. */
typedef struct { int magic, version; const void *text; void *unused; } FatBinary;
#define PTX_HEAD ".version 7.8\n.target sm_80\n.address_size 64\n"

#ifndef NO_KERNELS
static void null_kernel(void) {}
static void vector_add(void) {}
static void spin(void) {}
static void axpy(void) {}
static void hang(void) {}
static const char PTX[] = PTX_HEAD
  ".visible .entry _Z11null_kernelv()\n{ ret; }\n"
  ".visible .entry _Z10vector_addPKfS0_Pfi(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n{ ret; }\n"
  ".visible .entry _Z4spinx(.param .u64 ns)\n{ ret; }\n"
  ".visible .entry _Z4axpyfPKfPfi(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)\n{ ret; }\n"
  ".visible .entry _Z4hangv()\n{ ret; }\n";
static const FatBinary FATBIN = {0x466243b1, 1, PTX, 0};
__attribute__((constructor)) static void register_kernels(void) {
  void **h = __cudaRegisterFatBinary(&FATBIN);
  __cudaRegisterFunction(h, (void *)null_kernel, 0, "_Z11null_kernelv", -1, 0, 0, 0, 0, 0);
  __cudaRegisterFunction(h, (void *)vector_add, 0, "_Z10vector_addPKfS0_Pfi", -1, 0, 0, 0, 0, 0);
  __cudaRegisterFunction(h, (void *)spin, 0, "_Z4spinx", -1, 0, 0, 0, 0, 0);
  __cudaRegisterFunction(h, (void *)axpy, 0, "_Z4axpyfPKfPfi", -1, 0, 0, 0, 0, 0);
  __cudaRegisterFunction(h, (void *)hang, 0, "_Z4hangv", -1, 0, 0, 0, 0, 0);
}
__attribute__((unused)) static int launch_null(Handle s) { dim3 g = {1, 1, 1}, b = {32, 1, 1}; return cudaLaunchKernel((void *)null_kernel, g, b, 0, 0, s); }
__attribute__((unused)) static int launch_spin(long long ns, Handle s) { dim3 g = {1, 1, 1}, b = {32, 1, 1}; void *a[] = {&ns}; return cudaLaunchKernel((void *)spin, g, b, a, 0, s); }
__attribute__((unused)) static int launch_hang(Handle s) { dim3 g = {1, 1, 1}, b = {32, 1, 1}; return cudaLaunchKernel((void *)hang, g, b, 0, 0, s); }
#endif
#endif
