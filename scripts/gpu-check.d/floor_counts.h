/* What came, by kind and by called function: for runs of floor.c with FLOOR_COUNT=1, which are not timed.
 *
 * Kinds 4 and 5 have the callback id at byte 4 of the record, in every version of CUPTI. */
static long kinds_seen[MAX_KIND], calls_seen[DOMAINS][MAX_CBID], callbacks_seen[DOMAINS][MAX_CBID];
static int counting, walk_ended_with;
static int (*next_record)(uint8_t *, size_t, uint8_t **);

static void count_records(uint8_t *block, size_t valid) {
  uint8_t *record = 0;
  int code = 0;
  while (next_record && !(code = next_record(block, valid, &record))) {
    uint32_t kind, cbid;
    memcpy(&kind, record, 4);
    memcpy(&cbid, record + 4, 4);
    if (kind < MAX_KIND) __atomic_fetch_add(&kinds_seen[kind], 1, __ATOMIC_RELAXED);
    if ((kind == 4 || kind == 5) && cbid < MAX_CBID)
      __atomic_fetch_add(&calls_seen[kind == 4 ? DRIVER : RUNTIME][cbid], 1, __ATOMIC_RELAXED);
  }
  if (code != 12) walk_ended_with = code; /* 12: no more records in this buffer */
}

static const char *call_name(int domain, uint32_t cbid) {
  int (*get)(int, uint32_t, const char **) = dlsym(cupti, "cuptiGetCallbackName");
  const char *name = 0;
  return get && !get(domain, cbid, &name) ? name : 0;
}

static void print_calls(const char *title, long counts[DOMAINS][MAX_CBID]) {
  fprintf(stderr, ",\"%s\":{", title);
  const char *comma = "";
  for (int domain = DRIVER; domain <= RUNTIME; domain++)
    for (uint32_t id = 0; id < MAX_CBID; id++)
      if (counts[domain][id]) {
        const char *name = call_name(domain, id);
        fprintf(stderr, "%s\"%s %u %s\":%ld", comma, domain == DRIVER ? "driver" : "runtime", id, name ? name : "?", counts[domain][id]);
        comma = ",";
      }
  fputs("}", stderr);
}

/* Runs at exit, while CUPTI still answers: fetches what is left and says what there was. Handlers run last-registered-first, and
 * the driver's own must come after this one, so it is registered when cuInit is over (CU_INIT_FINISHED, see `callback`). */
static void print_counts(void) {
  int (*flush)(uint32_t) = dlsym(cupti, "cuptiActivityFlushAll");
  int code = flush ? flush(0) : -1;
  fprintf(stderr, "floor: {\"flush\":%d,\"walk_ended_with\":%d,\"kinds\":{", code, walk_ended_with);
  const char *comma = "";
  for (int kind = 0; kind < MAX_KIND; kind++)
    if (kinds_seen[kind]) fprintf(stderr, "%s\"%d\":%ld", comma, kind, kinds_seen[kind]), comma = ",";
  fputs("}", stderr);
  print_calls("calls", calls_seen);
  print_calls("callbacks", callbacks_seen);
  fputs("}\n", stderr);
}

static void begin_counting(void *subscriber) {
  next_record = (int (*)(uint8_t *, size_t, uint8_t **))dlsym(cupti, "cuptiActivityGetNextRecord");
  if (!next_record) fputs("floor: {\"missing\":\"cuptiActivityGetNextRecord\"}\n", stderr);
  counting = 1;
  int (*enable)(uint32_t, void *, int, uint32_t) = dlsym(cupti, "cuptiEnableCallback");
  if (!enable || enable(1, subscriber, RESOURCE, CU_INIT_FINISHED)) atexit(print_counts);
}
