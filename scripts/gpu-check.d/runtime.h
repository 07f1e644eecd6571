// What work.cu needs of the CUDA runtime: NVIDIA's headers under nvcc, a few prototypes for tests/sim otherwise.
#pragma once

#ifdef __CUDACC__

#include <cuda_runtime.h>
// Their header, cuda_profiler_api.h, is not in every installation.
extern "C" cudaError_t cudaProfilerStart();
extern "C" cudaError_t cudaProfilerStop();
#define KERNEL(name, parameters, ...) __global__ void name parameters __VA_ARGS__
#define GLOBAL_TIMER(variable) asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(variable))
#define THREAD_INDEX (blockIdx.x * blockDim.x + threadIdx.x)
template <typename... P, typename... A>
static void launch_kernel(void (*kernel)(P...), int grid, int block, cudaStream_t stream, A... arguments) {
  kernel<<<grid, block, 0, stream>>>(arguments...);
}
#define LAUNCH(...) launch_kernel(__VA_ARGS__)

#else  // tests/sim: kernels are host functions that are never called; their names and parameters are what matters.

#include <cstddef>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <string>
#include <type_traits>
typedef int cudaError_t;
typedef struct Stream* cudaStream_t;
typedef struct Event* cudaEvent_t;
typedef struct Graph* cudaGraph_t;
typedef struct GraphExec* cudaGraphExec_t;
struct dim3 { unsigned x, y, z; };
enum { cudaSuccess = 0, cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3,
       cudaStreamNonBlocking = 1, cudaStreamCaptureModeThreadLocal = 1, cudaEventDisableTiming = 2 };
extern "C" {
const char* cudaGetErrorString(cudaError_t);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDevice(int*);
cudaError_t cudaMalloc(void**, size_t);
cudaError_t cudaMallocHost(void**, size_t);
cudaError_t cudaMallocManaged(void**, size_t, unsigned);
cudaError_t cudaFree(void*);
cudaError_t cudaMemGetInfo(size_t*, size_t*);
cudaError_t cudaMemcpyAsync(void*, const void*, size_t, int, cudaStream_t);
cudaError_t cudaMemsetAsync(void*, int, size_t, cudaStream_t);
cudaError_t cudaStreamCreate(cudaStream_t*);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, unsigned, int);
cudaError_t cudaStreamSynchronize(cudaStream_t);
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
cudaError_t cudaStreamBeginCapture(cudaStream_t, int);
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t*, cudaGraph_t, unsigned long long);
cudaError_t cudaGraphLaunch(cudaGraphExec_t, cudaStream_t);
cudaError_t cudaEventCreate(cudaEvent_t*);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned);
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t);
cudaError_t cudaEventSynchronize(cudaEvent_t);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaProfilerStart();
cudaError_t cudaProfilerStop();
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
// What nvcc's start-up code calls.
void** __cudaRegisterFatBinary(const void*);
void __cudaRegisterFunction(void**, const void*, char*, const char*, int, void*, void*, void*, void*, int*);
}
#define KERNEL(name, parameters, ...) void name parameters {}

// The simulator reads names and parameters from PTX, as a driver would; a kernel is registered when it is first launched.
template <typename T> static const char* ptx_type() { return std::is_floating_point<T>::value ? "f32" : sizeof(T) == 8 ? "u64" : "u32"; }
template <typename... P> static void register_kernel(const void* kernel) {
  struct Wrapper { int magic, version; const void* image; const void* unused; };
  static std::map<const void*, std::string*> known;
  static std::mutex lock;
  std::lock_guard<std::mutex> guard(lock);
  Dl_info info;
  if (known.count(kernel) || !dladdr(kernel, &info) || !info.dli_sname) return;
  auto* text = new std::string(".version 6.4\n.target sm_52\n.address_size 64\n.visible .entry ");
  *text += info.dli_sname + std::string("(");
  int n = 0;
  for (const char* type : {ptx_type<P>()..., (const char*)nullptr})
    if (type) *text += std::string(n ? ", " : "") + ".param ." + type + " p" + std::to_string(n), n++;
  *text += ")\n{ ret; }\n";
  known[kernel] = text;
  auto* wrapper = new Wrapper{0x466243b1, 1, text->c_str(), nullptr};
  __cudaRegisterFunction(__cudaRegisterFatBinary(wrapper), kernel, nullptr, info.dli_sname, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
}
template <typename... P, typename... A>
static void launch_kernel(void (*kernel)(P...), unsigned grid, unsigned block, cudaStream_t stream, A... given) {
  const void* host = reinterpret_cast<const void*>(kernel);
  register_kernel<P...>(host);
  [&](P... arguments) {
    void* pointers[sizeof...(P) + 1] = {&arguments...};
    cudaLaunchKernel(host, dim3{grid, 1, 1}, dim3{block, 1, 1}, pointers, 0, stream);
  }(given...);
}
#define LAUNCH(...) launch_kernel(__VA_ARGS__)

#endif
