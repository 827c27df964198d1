/* switchyard/schedule.h - schedules: pure functions that write each device's list of actions. Transfers, reductions of tied
 * weights, norm, finish and step are added by the core. Plugin kind "sy.schedule/0". */
#ifndef SWITCHYARD_SCHEDULE_H
#define SWITCHYARD_SCHEDULE_H

#include "base.h"

SY_BEGIN

#define SY_KIND_SCHEDULE "sy.schedule/0"

typedef struct sy_schedule sy_schedule; /* the plugin's own */

/* F forward, B whole backward, I backward for inputs, W backward for weights, R recompute ahead of a backward. */
enum { SY_ACT_F = 1, SY_ACT_B = 2, SY_ACT_I = 3, SY_ACT_W = 4, SY_ACT_R = 5 };

typedef struct sy_schedule_in {
  uint32_t size;
  uint32_t n_stages;
  uint32_t n_devices;
  uint32_t micro_batches;
  const int32_t *device_of_stage;
  const double *cost_f; /* seconds of one micro-batch, per stage */
  const double *cost_i;
  const double *cost_w;
  const uint8_t *splits; /* per stage: 1 when I and W may be used in place of B */
  uint32_t forward_only; /* 1: evaluation; only F */
  uint32_t reserved;
  void *self;
  /* Appends one action to a device's list. Per stage, F, B (or I) and W each come in ascending micro-batch order. */
  sy_rc (*emit)(void *self, int32_t device, uint32_t action, int32_t stage, int32_t micro_batch, sy_error **err);
} sy_schedule_in;

typedef struct sy_schedule_api {
  uint32_t size;
  uint32_t caps;
  const char *id;
  const char *help;
  const sy_option *const *options;
  uint32_t n_options;
  uint32_t reserved;
  sy_rc (*create)(const sy_host *, const sy_config *options, sy_schedule **give, sy_error **err); /* [ctl] */
  sy_rc (*plan)(sy_schedule *, const sy_schedule_in *, sy_error **err);                            /* [ctl] */
  void (*destroy)(sy_schedule *take);                                                  /* NULL is fine [ctl] */
} sy_schedule_api;

SY_END
#endif
