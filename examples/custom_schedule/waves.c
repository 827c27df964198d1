/* waves: micro-batches go forth and back in groups: all forwards of a group, then all its backwards, then the next group.
 * A size of 1 is one micro-batch at a time, a size of all of them is GPipe.
 *
 *   d0  F0 F1 .  .  B0 B1 F2 F3 .  .  B2 B3
 *   d1  .  F0 F1 B0 B1 .  .  F2 F3 B2 B3           (2 stages, size = 2, drawn with B as long as F)
 */
#include <stdlib.h>
#include <switchyard/plugin.h>

struct sy_schedule { /* the header leaves it to the plugin */
  int64_t size;
};

static const sy_option size = {
    sizeof(sy_option), SY_T_I64, "size", "2", 1, 1e6, NULL, NULL, "micro-batches that go forth and back together"};
static const sy_option* const options[] = {&size};

/* The core has checked the user's table against `options`. */
static sy_rc create(const sy_host* h, const sy_config* table, sy_schedule** give, sy_error** err) {
  sy_schedule* s = malloc(sizeof *s);
  if (!s) return h->fail(h->self, err, SY_E_NO_MEMORY, "out of host memory");
  const sy_rc rc = h->cfg_i64(table, "size", &s->size, err);
  if (rc == SY_OK)
    *give = s;
  else
    free(s);
  return rc;
}

/* One action for every micro-batch of a group. Stages may lie anywhere: the core has each device's actions in the order in
 * which they are emitted, and checks that nothing is missing and that no device waits forever. */
static sy_rc emit(const sy_schedule_in* in, uint32_t action, uint32_t stage, int64_t begin, int64_t end, sy_error** err) {
  sy_rc rc = SY_OK;
  for (int64_t i = begin; i < end && rc == SY_OK; ++i)
    rc = in->emit(in->self, in->device_of_stage[stage], action, (int32_t)stage, (int32_t)i, err);
  return rc;
}

static sy_rc plan(sy_schedule* s, const sy_schedule_in* in, sy_error** err) {
  sy_rc rc = SY_OK;
  for (int64_t begin = 0; begin < in->micro_batches; begin += s->size) {
    const int64_t end = begin + s->size < in->micro_batches ? begin + s->size : in->micro_batches;
    for (uint32_t stage = 0; stage < in->n_stages && rc == SY_OK; ++stage)
      rc = emit(in, SY_ACT_F, stage, begin, end, err);
    for (uint32_t stage = in->n_stages; stage-- > 0 && !in->forward_only && rc == SY_OK;)
      rc = emit(in, SY_ACT_B, stage, begin, end, err);
  }
  return rc;
}

static void destroy(sy_schedule* s) { free(s); }

static sy_rc attach(const sy_host* h, sy_error** err) {
  (void)h, (void)err; /* create gets the host as well */
  return SY_OK;
}

static const sy_schedule_api table = {
    sizeof table, 0, "waves", "micro-batches go forth and back in groups", options, 1, 0, create, plan, destroy};
static const sy_export exports[] = {{SY_KIND_SCHEDULE, &table}};
const sy_plugin sy_plugin_v1 = {
    SY_PLUGIN_MAGIC, sizeof(sy_plugin), SY_ABI_MAJOR, SY_ABI_MINOR, "org.example.waves", "1.0", exports, 1, 0, attach};
SY_PLUGIN_NOTE("org.example.waves");
