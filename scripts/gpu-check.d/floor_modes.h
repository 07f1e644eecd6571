/* FLOOR_MODE: what CUPTI is asked for. One word, or several kinds with "+":
 *
 *   none              nothing at all: the library is loaded and does not subscribe
 *   subscribed        a subscriber that asks for nothing
 *   10, 10+5, 10+4+5  kinds of records: 10 kernels, 5 calls of the runtime, 4 calls of the driver
 *   muted             10+4+5, then each call of FLOOR_CHATTY ("2:17,1:304": domain and callback id) is switched off
 *   per_call          10; kinds 4 and 5 stay off and each call that is not in FLOOR_CHATTY is switched on by itself
 *   callbacks         10; cuptiEnableCallback for the calls of MATTERING, in both domains
 *   callbacks_runtime the same in the runtime's domain alone
 *
 * A call that CUPTI refuses is told with its code, and the mode goes on with the others. */

/* Launches, copies, fills, waits, allocations. The suffixes that versions and per-thread streams add are cut off before names are
 * compared, so one name here may stand for four callback ids. */
static const char *const MATTERING[] = {
  "cudaLaunchKernel", "__cudaLaunchKernel", "cudaLaunchKernelExC", "cudaLaunchCooperativeKernel", "cudaGraphLaunch", "cudaLaunchHostFunc",
  "cudaMemcpy", "cudaMemcpyAsync", "cudaMemcpy2D", "cudaMemcpy2DAsync", "cudaMemcpy3D", "cudaMemcpy3DAsync", "cudaMemcpyPeer",
  "cudaMemcpyPeerAsync", "cudaMemcpyToSymbol", "cudaMemcpyFromSymbol", "cudaMemset", "cudaMemsetAsync", "cudaMemset2D",
  "cudaMemset2DAsync", "cudaMemPrefetchAsync", "cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize",
  "cudaStreamWaitEvent", "cudaEventRecord", "cudaMalloc", "cudaFree", "cudaMallocAsync", "cudaFreeAsync", "cudaMallocHost",
  "cudaHostAlloc", "cudaFreeHost", "cudaMallocManaged", "cudaMallocFromPoolAsync",
  "cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuGraphLaunch", "cuLaunchHostFunc", "cuMemcpy", "cuMemcpyAsync",
  "cuMemcpyHtoD", "cuMemcpyHtoDAsync", "cuMemcpyDtoH", "cuMemcpyDtoHAsync", "cuMemcpyDtoD", "cuMemcpyDtoDAsync", "cuMemsetD8",
  "cuMemsetD8Async", "cuMemsetD32", "cuMemsetD32Async", "cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize",
  "cuStreamWaitEvent", "cuEventRecord", "cuMemAlloc", "cuMemFree", "cuMemAllocAsync", "cuMemFreeAsync", "cuMemHostAlloc"};

static int is_mattering(const char *name) {
  char plain[96];
  snprintf(plain, sizeof plain, "%s", name);
  for (char *at; (at = strrchr(plain, '_')) && at != plain && at[-1] != '_';) {
    int version = at[1] == 'v' && at[2] && strspn(at + 2, "0123456789") == strlen(at + 2);
    if (!version && strcmp(at, "_ptsz") && strcmp(at, "_ptds")) break;
    *at = 0;
  }
  for (size_t i = 0; i < sizeof MATTERING / sizeof *MATTERING; i++)
    if (!strcmp(MATTERING[i], plain)) return 1;
  return 0;
}

static uint8_t chatty[DOMAINS][MAX_CBID];
static int read_chatty(void) {
  int n = 0, domain, id, used;
  for (const char *at = getenv("FLOOR_CHATTY"); at && sscanf(at, "%d:%d%n", &domain, &id, &used) == 2; at += used, at += *at == ',')
    if (domain >= DRIVER && domain <= RUNTIME && id > 0 && id < MAX_CBID) chatty[domain][id] = 1, n++;
  return n;
}

/* What a callback of a collector does at least: reads a clock before and after the call and keeps both. */
struct call { uint64_t entered, left; uint32_t domain, id; };
static __thread struct call last_calls[1024];
static __thread unsigned calls_made;
struct callback_data { /* the beginning of CUpti_CallbackData, the same in all versions */
  int site;
  const char *function;
  const void *parameters;
  void *result;
  const char *symbol;
  void *context;
  uint32_t context_id;
  uint64_t *correlation_data;
  uint32_t correlation_id;
};
static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static void callback(void *user, int domain, uint32_t id, const struct callback_data *data) {
  (void)user;
  if (counting && domain == RESOURCE && id == CU_INIT_FINISHED) atexit(print_counts);
  if (domain != DRIVER && domain != RUNTIME) return;
  if (data->site == 0) {
    *data->correlation_data = now_ns();
    return;
  }
  last_calls[calls_made++ % 1024] = (struct call){*data->correlation_data, now_ns(), (uint32_t)domain, id};
  if (counting && id < MAX_CBID) __atomic_fetch_add(&callbacks_seen[domain][id], 1, __ATOMIC_RELAXED);
}

/* How often a function of CUPTI was called and what it said; the first refusal with its call. */
struct tally { const char *function; int obeyed, refused, code; char first[96]; };
static void add(struct tally *t, int code, int domain, uint32_t id) {
  if (!code) { t->obeyed++; return; }
  if (!t->refused++) {
    const char *name = call_name(domain, id);
    t->code = code;
    snprintf(t->first, sizeof t->first, "%s %u %s", domain == DRIVER ? "driver" : "runtime", id, name ? name : "?");
  }
}
static void tell(const struct tally *t) {
  fprintf(stderr, "floor: {\"function\":\"%s\",\"obeyed\":%d,\"refused\":%d,\"first_code\":%d,\"first_refused\":\"%s\"}\n",
          t->function, t->obeyed, t->refused, t->code, t->first);
}

static const char *failed(const char *call, int code);

/* Each callback id that this CUPTI knows; the name of the last one that it does not know ends the list. */
static const char *each_call(int only_chatty, uint8_t on, int (*enable_runtime)(uint32_t, uint8_t),
                             int (*enable_driver)(uint32_t, uint8_t)) {
  struct tally tallies[] = {{0}, {.function = "cuptiActivityEnableDriverApi"}, {.function = "cuptiActivityEnableRuntimeApi"}};
  for (int domain = DRIVER; domain <= RUNTIME; domain++) {
    for (uint32_t id = 1; id < MAX_CBID && call_name(domain, id); id++)
      if (chatty[domain][id] == only_chatty) add(&tallies[domain], (domain == DRIVER ? enable_driver : enable_runtime)(id, on), domain, id);
    tell(&tallies[domain]);
  }
  return tallies[DRIVER].obeyed + tallies[RUNTIME].obeyed ? 0 : "every call was refused";
}

static const char *switch_on_callbacks(void *subscriber, int first_domain) {
  int (*enable)(uint32_t, void *, int, uint32_t) = dlsym(cupti, "cuptiEnableCallback");
  if (!enable) return "cuptiEnableCallback is missing";
  struct tally t = {.function = "cuptiEnableCallback"};
  for (int domain = first_domain; domain <= RUNTIME; domain++) {
    const char *name;
    for (uint32_t id = 1; id < MAX_CBID && (name = call_name(domain, id)); id++)
      if (is_mattering(name)) add(&t, enable(1, subscriber, domain, id), domain, id);
  }
  tell(&t);
  return t.obeyed ? 0 : "no callback was enabled";
}

static const char *switch_on(const char *mode, void *subscriber, int (*enable)(int)) {
  int numbers = *mode >= '0' && *mode <= '9', muted = !strcmp(mode, "muted"), per_call = !strcmp(mode, "per_call");
  if (!strcmp(mode, "subscribed")) return 0;
  for (const char *kind = numbers ? mode : muted ? "10+4+5" : "10"; *kind;) {
    char *end;
    int number = (int)strtol(kind, &end, 10), code = enable(number);
    char call[64];
    snprintf(call, sizeof call, "cuptiActivityEnable(%d)", number);
    if (code) return failed(call, code);
    kind = *end == '+' ? end + 1 : end + strlen(end);
  }
  if (muted || per_call) {
    int (*enable_runtime)(uint32_t, uint8_t) = dlsym(cupti, "cuptiActivityEnableRuntimeApi");
    int (*enable_driver)(uint32_t, uint8_t) = dlsym(cupti, "cuptiActivityEnableDriverApi");
    if (!enable_runtime || !enable_driver) return "cuptiActivityEnableRuntimeApi or ...DriverApi is missing (CUPTI 12.5 has them)";
    if (!read_chatty()) return "FLOOR_CHATTY names no call";
    return each_call(muted, per_call, enable_runtime, enable_driver);
  }
  if (!strncmp(mode, "callbacks", 9)) return switch_on_callbacks(subscriber, strcmp(mode, "callbacks") ? RUNTIME : DRIVER);
  return numbers ? 0 : "FLOOR_MODE is not known";
}
