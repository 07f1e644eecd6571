/* Another tool's NVTX injection, as gpuprof may be asked to chain to: takes some slots, gives handles of its own, and
 * writes what it heard to $OTHER_TOOL_LOG when the program ends. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Keep only the types of NVTX, not its functions: a tool that called them would hear itself. */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

static FILE *out;
static int strings;
static struct { const char *text; } registered[64];

static const char *message(const nvtxEventAttributes_t *a) {
  if (a->messageType == NVTX_MESSAGE_TYPE_ASCII) return a->message.ascii ? a->message.ascii : "(null)";
  if (a->messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
    uintptr_t at = (uintptr_t)a->message.registered - 1000;
    return at < 64 && registered[at].text ? registered[at].text : "(a handle that this tool never gave)";
  }
  return "(other)";
}
static const char *domain_name(nvtxDomainHandle_t d) { return d ? (const char *)d : ""; }

static int push_a(const char *text) { fprintf(out, "push %s\n", text); return 100; }
static int push_ex(const nvtxEventAttributes_t *a) { fprintf(out, "push %s\n", message(a)); return 100; }
static int pop(void) { fprintf(out, "pop\n"); return 100; }
static int domain_push(nvtxDomainHandle_t d, const nvtxEventAttributes_t *a) { fprintf(out, "push %s@%s\n", message(a), domain_name(d)); return 100; }
static int domain_pop(nvtxDomainHandle_t d) { fprintf(out, "pop @%s\n", domain_name(d)); return 100; }
static nvtxRangeId_t start_a(const char *text) { fprintf(out, "start %s\n", text); return 4242; }
static void end(nvtxRangeId_t id) { fprintf(out, "end %llu\n", (unsigned long long)id); }
static nvtxDomainHandle_t create(const char *name) { fprintf(out, "create %s\n", name); return (nvtxDomainHandle_t)strdup(name); }
static nvtxStringHandle_t reg(nvtxDomainHandle_t d, const char *text) {
  fprintf(out, "register %s@%s\n", text, domain_name(d));
  registered[strings % 64].text = strdup(text);
  return (nvtxStringHandle_t)(uintptr_t)(1000 + strings++ % 64);
}

__attribute__((destructor)) static void done(void) { if (out) fclose(out); }

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
  const NvtxExportTableCallbacks *table = get(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable slots = 0;
  unsigned size = 0;
  const char *path = getenv("OTHER_TOOL_LOG");
  if (!path || !table) return 0;
  if (!out) out = fopen(path, "a");
  if (!out) return 0;
  fprintf(out, "initialize\n");
#define SET(slot, f) *slots[slot] = (NvtxFunctionPointer)f
  if (!table->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &slots, &size)) return 0;
  SET(NVTX_CBID_CORE_RangePushA, push_a); SET(NVTX_CBID_CORE_RangePushEx, push_ex); SET(NVTX_CBID_CORE_RangePop, pop);
  SET(NVTX_CBID_CORE_RangeStartA, start_a); SET(NVTX_CBID_CORE_RangeEnd, end);
  if (!table->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &slots, &size)) return 0;
  SET(NVTX_CBID_CORE2_DomainRangePushEx, domain_push); SET(NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  SET(NVTX_CBID_CORE2_DomainCreateA, create); SET(NVTX_CBID_CORE2_DomainRegisterStringA, reg);
  return 1;
}
