/* A schedule plugin that does nothing and, by macros, one thing wrong: see meson.build for the list. */
#include <stdlib.h>

#include "switchyard/plugin.h"

#ifndef ID
#define ID "test.hostile." NAME
#endif
#ifndef MAGIC
#define MAGIC SY_PLUGIN_MAGIC
#endif
#ifndef MAJOR
#define MAJOR SY_ABI_MAJOR
#endif
#ifndef SIZE
#define SIZE sizeof(sy_plugin)
#endif
#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(sy_schedule_api)
#endif
#ifndef TABLE_ID
#define TABLE_ID NAME
#endif
#ifndef PLAN
#define PLAN plan
#endif
#ifndef ATTACH
#define ATTACH attach
#endif
#ifndef KIND
#define KIND SY_KIND_SCHEDULE
#endif
#ifndef EXPORTS
#define EXPORTS 1
#endif
#ifndef SYMBOL
#define SYMBOL sy_plugin_v1
#endif
#ifndef OPTION_FALLBACK
#define OPTION_FALLBACK "1"
#endif

#if defined(NOTE) /* text of its own */
__asm__(".pushsection .note.switchyard,\"aR\",%note\n.balign 4\n.long 2f-1f\n.long 4f-3f\n.long 1\n"
        "1: .asciz \"Switchyard\"\n2: .balign 4\n3: .asciz \"" NOTE "\"\n4: .balign 4\n.popsection\n");
#elif !defined(NO_NOTE)
SY_PLUGIN_NOTE(ID);
#endif

#ifdef ABORT_AT_LOAD /* nobody survives who runs any code of this file */
__attribute__((constructor)) static void abort_at_load(void) { abort(); }
#endif

#ifdef MISSING_SYMBOL
extern int nobody_defines_this(void);
int uses_it(void);
SY_EXPORT int uses_it(void) { return nobody_defines_this(); }
#endif

static const sy_host *host;

static sy_rc attach(const sy_host *table, sy_error **err) {
  (void)err;
  host = table;
  return SY_OK;
}

static sy_rc attach_fails(const sy_host *table, sy_error **err) {
  return table->fail(table->self, err, SY_E_UNAVAILABLE, "no licence for this machine");
}

static sy_rc attach_answers_4711(const sy_host *table, sy_error **err) {
  (void)table;
  (void)err;
  return 4711;
}

static sy_rc create(const sy_host *table, const sy_config *options, sy_schedule **give, sy_error **err) {
  static int schedule;
  (void)table;
  (void)options;
  (void)err;
  *give = (sy_schedule *)&schedule;
  return SY_OK;
}

static sy_rc plan(sy_schedule *schedule, const sy_schedule_in *in, sy_error **err) {
  (void)schedule;
  (void)in;
  (void)err;
  return 4711; /* a code that does not exist */
}

static void destroy(sy_schedule *take) { (void)take; }

static const sy_option chunks = {sizeof(sy_option), SY_T_I64, "chunks", OPTION_FALLBACK, 1, 64, NULL, NULL, "per device"};
static const sy_option *const options[] = {&chunks};

/* What a later release of the table might look like. */
struct later_api {
  sy_schedule_api now;
  void (*added)(void);
};
static const struct later_api table = {
    {TABLE_SIZE, 0, TABLE_ID, "does nothing", options, 1, 0, create, PLAN, destroy}, NULL};
static const sy_export exports[] = {{KIND, &table}};

extern SY_EXPORT const sy_plugin SYMBOL;
const sy_plugin SYMBOL = {MAGIC, SIZE, MAJOR, SY_ABI_MINOR, ID, "1.0", exports, EXPORTS, 0, ATTACH};

/* Every attach is used by one of the variants. */
sy_rc (*const unused_here[])(const sy_host *, sy_error **) = {attach, attach_fails, attach_answers_4711};
sy_rc (*const unused_plan)(sy_schedule *, const sy_schedule_in *, sy_error **) = plan;
