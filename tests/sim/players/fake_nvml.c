/* A stand-in for NVIDIA's management library: every answer follows from how often its question was asked before, n,
 * counted from 0 for each device. Nothing here is a GPU. shared: yes
 * link: none
 * FAKE_NVML_DEVICES (1), FAKE_NVML_INIT: what nvmlInit returns, FAKE_NVML_LOST=N: device 0 is lost when power has been
 * asked for N times, FAKE_NVML_NO_ENERGY, FAKE_NVML_PIDS: a file with the number of a process that uses device 0,
 * FAKE_NVML_LOG: a file that gets a line for each question that is refused. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, LOST = 15, UNKNOWN = 999 };
enum { UTILIZATION, MEMORY, SM_CLOCK, MEMORY_CLOCK, POWER, ENERGY, TEMPERATURE, THROTTLE, SEND, RECEIVE, KINDS };
typedef struct { int index; atomic_uint asked[KINDS]; } *Device;
static struct { int index; atomic_uint asked[KINDS]; } devices[8];
static unsigned count(void) { const char *s = getenv("FAKE_NVML_DEVICES"); return s ? atoi(s) : 1; }
static unsigned next(void *device, int kind) { return atomic_fetch_add(&((Device)device)->asked[kind], 1); }
static int is_lost(void *device) {
  const char *after = getenv("FAKE_NVML_LOST");
  return after && ((Device)device)->index == 0 && atomic_load(&((Device)device)->asked[POWER]) >= (unsigned)atoi(after);
}
static int refuse(const char *what, void *device) {
  const char *path = getenv("FAKE_NVML_LOG"); FILE *f = path ? fopen(path, "a") : 0;
  if (f) { fprintf(f, "%s %d\n", what, ((Device)device)->index); fclose(f); }
  return NOT_SUPPORTED;
}
int nvmlInit_v2(void) { const char *s = getenv("FAKE_NVML_INIT"); for (int i = 0; i < 8; i++) devices[i].index = i; return s ? atoi(s) : OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) { (void)code; return "an error of the stand-in"; }
int nvmlSystemGetDriverVersion(char *out, unsigned n) { snprintf(out, n, "535.104.05"); return OK; }
int nvmlDeviceGetCount_v2(unsigned *out) { *out = count(); return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **out) { if (i >= count() || i >= 8) return INVALID; *out = &devices[i]; return OK; }
int nvmlDeviceGetName(void *d, char *out, unsigned n) { snprintf(out, n, "Simulated GPU %d", ((Device)d)->index); return OK; }
int nvmlDeviceGetUUID(void *d, char *out, unsigned n) { snprintf(out, n, "GPU-00112233-4455-6677-8899-aabbccddee%02x", ((Device)d)->index); return OK; }
int nvmlDeviceGetCudaComputeCapability(void *d, int *major, int *minor) { (void)d; *major = 9; *minor = 0; return OK; }
int nvmlDeviceGetUtilizationRates(void *d, unsigned out[2]) { unsigned n = next(d, UTILIZATION); out[0] = n % 101; out[1] = (2 * n) % 101; return OK; }
struct memory { unsigned version; unsigned long long total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(void *d, struct memory *out) {
  out->total = 80ULL << 30; out->reserved = 0; out->used = (1ULL << 30) + 4096ULL * next(d, MEMORY); out->free = out->total - out->used; return OK;
}
int nvmlDeviceGetClockInfo(void *d, int clock, unsigned *out) {
  if (clock == 1) { *out = 1980 - next(d, SM_CLOCK) % 500; return OK; }
  if (clock == 2) { *out = 2619; (void)next(d, MEMORY_CLOCK); return OK; }
  return INVALID;
}
int nvmlDeviceGetPowerUsage(void *d, unsigned *out) { if (is_lost(d)) return LOST; unsigned n = next(d, POWER); *out = 100000 + 10000 * (n % 3) + ((Device)d)->index; return OK; }
int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *out) {
  if (getenv("FAKE_NVML_NO_ENERGY")) return refuse("energy", d);
  *out = 1000000000ULL + 12345ULL * next(d, ENERGY); return OK;
}
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *out) { if (sensor) return INVALID; *out = 40 + next(d, TEMPERATURE) % 10; return OK; }
int nvmlDeviceGetFanSpeed_v2(void *d, unsigned fan, unsigned *out) { (void)fan; (void)out; return refuse("fan", d); }
/* Idle, software power cap, software thermal slowdown and hardware thermal slowdown are known. */
int nvmlDeviceGetSupportedClocksThrottleReasons(void *d, unsigned long long *out) { (void)d; *out = 0x01 | 0x04 | 0x20 | 0x40; return OK; }
/* The power cap at every second time, heat at every fourth. */
int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *out) { unsigned n = next(d, THROTTLE); *out = (n % 2 ? 0x04 : 0) | (n % 4 == 3 ? 0x20 : 0); return OK; }
int nvmlDeviceGetPcieThroughput(void *d, int counter, unsigned *out) { *out = counter == 0 ? 1000 + next(d, SEND) : 2000 + next(d, RECEIVE); return OK; }
struct process { unsigned pid; unsigned long long bytes; unsigned gi, ci; };
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *n, struct process *out) {
  const char *path = getenv("FAKE_NVML_PIDS"); FILE *f = path && ((Device)d)->index == 0 ? fopen(path, "r") : 0;
  unsigned pid = 0, room = *n;
  if (f) { if (fscanf(f, "%u", &pid) != 1) pid = 0; fclose(f); }
  /* Somebody else's process is there as well. */
  *n = pid ? 2 : 0;
  if (!pid) return OK;
  if (room < 2 || !out) return 7;
  out[0] = (struct process){pid, 123456789, 0, 0}; out[1] = (struct process){1, 1, 0, 0};
  return OK;
}
