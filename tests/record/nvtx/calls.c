/* calls HOW: a program that uses NVTX, built by tests/record/nvtx.rs against the real headers (their functions inlined, or
 * with -DNVTX_NO_IMPL those of a real libnvToolsExt.so.1 or libnvtx3interop.so.1), and CUDA as it is found at run time.
 *   all       every function once, after the first context; what is expected is written in the test
 *   early     ranges before, around and after the first context
 *   window    20 steps of 7 launches in a range "step"; steps 5 to 7 lie in a range "train" of domain "model"; stdout: launches
 *             in there
 *   around    cuInit, context and 7 launches inside of a range "train"; 3 launches after it
 *   hung      a range that never ends; SIGKILL after 3 s
 *   fork      a child that uses NVTX and ends, twice: once with exit, once with _exit
 *   threads   8 threads, named, 1,000 ranges each; each leaves one open
 *   memory    stdout: how often malloc was called in 20,000 pairs of push and pop, registered and not
 *   flood     200,000 pairs as fast as it goes
 *   both      a few ranges, whose return values another tool decides (other_tool.c)
 *   nothing   NVTX, and no CUDA at all */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include <nvtx3/nvToolsExt.h>

#define CHECK(what) do { if (!(what)) { fprintf(stderr, "calls: not true at line %d: %s\n", __LINE__, #what); _exit(4); } } while (0)

/* malloc, counted per thread. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static __thread long mallocs;
void *malloc(size_t n) { mallocs++; return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { mallocs++; return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { mallocs++; return __libc_realloc(p, n); }

/* CUDA's driver, if this machine has one. */
static void *driver, *context, *function;
static void *symbol(const char *name) { void *f = dlsym(driver, name); CHECK(f); return f; }
#define CU(name, ...) CHECK(((int (*)())symbol(name))(__VA_ARGS__) == 0)
static const char PTX[] = ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry null_kernel()\n{ ret; }\n";
static void cuda(void) {
  void *module = 0;
  if (!(driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))) { fprintf(stderr, "calls: no CUDA\n"); return; }
  CU("cuInit", 0);
  CU("cuDevicePrimaryCtxRetain", &context, 0);
  CU("cuCtxSetCurrent", context);
  CU("cuModuleLoadData", &module, PTX);
  CU("cuModuleGetFunction", &function, module, "null_kernel");
}
static void launch(int n) {
  for (int i = 0; function && i < n; i++)
    CHECK(((int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))symbol("cuLaunchKernel"))(function, 1, 1, 1, 32, 1, 1, 0, 0, 0, 0) == 0);
}
static void synchronize(void) { if (driver) CU("cuCtxSynchronize"); }

static nvtxEventAttributes_t says(const char *text) {
  nvtxEventAttributes_t a;
  memset(&a, 0, sizeof a);
  a.version = NVTX_VERSION; a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  a.messageType = NVTX_MESSAGE_TYPE_ASCII; a.message.ascii = text;
  return a;
}
static nvtxEventAttributes_t registered(nvtxStringHandle_t handle) {
  nvtxEventAttributes_t a = says(0);
  a.messageType = NVTX_MESSAGE_TYPE_REGISTERED; a.message.registered = handle;
  return a;
}

static void *end_elsewhere(void *id) { nvtxRangeEnd(*(nvtxRangeId_t *)id); return 0; }

static void all(void) {
  nvtxEventAttributes_t a;
  nvtxDomainHandle_t io = nvtxDomainCreateA("io"), again = nvtxDomainCreateA("io"), wide = nvtxDomainCreateW(L"weit é");
  nvtxStringHandle_t read = nvtxDomainRegisterStringA(io, "read"), lies = nvtxDomainRegisterStringW(wide, L"lies 東京");
  CHECK(io && again && wide && read && lies);
  CHECK(nvtxDomainRegisterStringA(io, "read") == read);
  CHECK(nvtxRangePushA("outer") == 0);
  CHECK(nvtxRangePushW(L"größer") == 1);
  a = registered(read); a.category = 3;
  CHECK(nvtxDomainRangePushEx(io, &a) == 0);
  a = says("crossed");
  CHECK(nvtxDomainRangePushEx(again, &a) == 0);
  a = says("colour"); a.colorType = NVTX_COLOR_ARGB; a.color = 0xFF112233;
  CHECK(nvtxRangePushEx(&a) == 2);
  CHECK(nvtxDomainRangePop(io) == 0);
  CHECK(nvtxDomainRangePop(again) == 0);
  CHECK(nvtxRangePop() == 2);
  CHECK(nvtxRangePop() == 1);
  CHECK(nvtxRangePop() == 0);
  CHECK(nvtxRangePop() < 0);
  CHECK(nvtxDomainRangePop(io) < 0);
  nvtxRangeId_t ids[3] = {nvtxRangeStartA("one"), nvtxRangeStartW(L"zwei"), 0};
  a = registered(lies);
  ids[2] = nvtxDomainRangeStartEx(wide, &a);
  CHECK(ids[0] && ids[1] && ids[2] && ids[0] != ids[1] && ids[1] != ids[2]);
  pthread_t t;
  CHECK(!pthread_create(&t, 0, end_elsewhere, &ids[1]));
  pthread_join(t, 0);
  nvtxRangeEnd(ids[0]);
  nvtxDomainRangeEnd(wide, ids[2]);
  nvtxMarkA("mark");
  nvtxMarkW(L"Marke");
  a = says("u64"); a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64; a.payload.ullValue = 1ull << 40; nvtxMarkEx(&a);
  a = says("i64"); a.payloadType = NVTX_PAYLOAD_TYPE_INT64; a.payload.llValue = -5; nvtxDomainMarkEx(io, &a);
  a = says("f64"); a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE; a.payload.dValue = 0.25; nvtxMarkEx(&a);
  a = says("u32"); a.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32; a.payload.uiValue = 4000000000u; nvtxMarkEx(&a);
  a = says("i32"); a.payloadType = NVTX_PAYLOAD_TYPE_INT32; a.payload.iValue = -7; nvtxMarkEx(&a);
  a = says("f32"); a.payloadType = NVTX_PAYLOAD_TYPE_FLOAT; a.payload.fValue = 1.5f; nvtxMarkEx(&a);
  nvtxMarkA(0);
  nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "main thread");
  nvtxNameCategoryA(3, "plain");
  nvtxDomainNameCategoryA(io, 3, "files");
  nvtxDomainNameCategoryW(wide, 4, L"überall");
  nvtxResourceAttributes_t r;
  memset(&r, 0, sizeof r);
  r.version = NVTX_VERSION; r.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  r.identifierType = NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE; r.identifier.ullValue = 12345;
  r.messageType = NVTX_MESSAGE_TYPE_ASCII; r.message.ascii = "a resource";
  nvtxResourceHandle_t handle = nvtxDomainResourceCreate(io, &r);
  CHECK(handle);
  nvtxDomainResourceDestroy(handle);
  nvtxDomainDestroy(again);
}

static void *one_thread(void *p) {
  char name[32];
  snprintf(name, sizeof name, "worker %ld", (long)p);
  nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), name);
  for (int i = 0; i < 1000; i++) { nvtxRangePushA(name); nvtxRangePop(); }
  nvtxRangePushA("left open");
  return 0;
}

static void memory(void) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("memory");
  nvtxEventAttributes_t a = registered(nvtxDomainRegisterStringA(domain, "kept")), text = says("passed by");
  long counted = -1;
  /* The first round has the dynamic linker make this thread's storage. */
  for (int round = 0; round < 2; round++) {
    long before = mallocs;
    for (int i = 0; i < 10000; i++) {
      char fresh[32];
      snprintf(fresh, sizeof fresh, "step %d", i % 500);
      nvtxRangePushA(fresh); nvtxDomainRangePushEx(domain, &a); nvtxMarkEx(&text);
      nvtxDomainRegisterStringA(domain, fresh);
      nvtxRangePop(); nvtxDomainRangePop(domain);
    }
    counted = mallocs - before;
  }
  printf("%ld\n", counted);
}

int main(int c, char **v) {
  const char *how = c > 1 ? v[1] : "all";
  if (!strcmp(how, "all")) { cuda(); all(); }
  else if (!strcmp(how, "early")) {
    nvtxRangePushA("before"); nvtxRangePop();
    nvtxRangePushA("around");
    cuda();
    nvtxRangePop();
    nvtxRangePushA("after"); nvtxRangePop();
  } else if (!strcmp(how, "window")) {
    nvtxDomainHandle_t model = nvtxDomainCreateA("model");
    nvtxEventAttributes_t train = registered(nvtxDomainRegisterStringA(model, "train"));
    cuda();
    for (int i = 0; i < 20; i++) {
      if (i == 5) nvtxDomainRangePushEx(model, &train);
      nvtxRangePushA("step"); launch(7); synchronize(); nvtxRangePop();
      if (i == 7) nvtxDomainRangePop(model);
    }
    printf("21\n");
  } else if (!strcmp(how, "around")) {
    nvtxRangePushA("train");
    cuda(); launch(7); synchronize();
    nvtxRangePop();
    launch(3); synchronize();
  } else if (!strcmp(how, "hung")) {
    cuda();
    nvtxRangePushA("hung"); nvtxRangeStartA("hung as well");
    struct timespec t = {3, 0};
    nanosleep(&t, 0);
    kill(getpid(), SIGKILL);
  } else if (!strcmp(how, "fork")) {
    cuda();
    nvtxRangePushA("parent");
    for (int i = 0; i < 2; i++) {
      pid_t child = fork();
      if (!child) {
        nvtxRangePushA("child"); nvtxRangePop(); nvtxRangePop(); nvtxMarkA("child");
        nvtxRangeEnd(nvtxRangeStartA("child"));
        CHECK(nvtxDomainCreateA("child") && nvtxDomainRegisterStringA(0, "child"));
        if (i) _exit(7); else exit(7);
      }
      int status;
      CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
    CHECK(nvtxRangePop() == 0);
  } else if (!strcmp(how, "threads")) {
    pthread_t t[8];
    cuda();
    for (long i = 0; i < 8; i++) CHECK(!pthread_create(&t[i], 0, one_thread, (void *)i));
    for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
  } else if (!strcmp(how, "memory")) { cuda(); memory(); }
  else if (!strcmp(how, "flood")) { cuda(); for (int i = 0; i < 200000; i++) { nvtxRangePushA("flood"); nvtxRangePop(); } }
  else if (!strcmp(how, "both")) {
    nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
    nvtxEventAttributes_t a = registered(nvtxDomainRegisterStringA(domain, "work"));
    cuda();
    CHECK(nvtxRangePushA("plain") == 100);
    CHECK(nvtxDomainRangePushEx(domain, &a) == 100);
    CHECK(nvtxDomainRangePop(domain) == 100);
    CHECK(nvtxRangePop() == 100);
    nvtxRangeId_t id = nvtxRangeStartA("async");
    CHECK(id == 4242);
    nvtxRangeEnd(id);
    nvtxMarkA("only for gpuprof");
  } else if (!strcmp(how, "nothing")) { nvtxRangePushA("nobody hears"); nvtxRangePop(); }
  else { fprintf(stderr, "calls: unknown way %s\n", how); return 2; }
  return 0;
}
