/* switchyard/optimizer.h - optimizers: one fused pass over flat storage. Plugin kind "sy.optimizer/0". */
#ifndef SWITCHYARD_OPTIMIZER_H
#define SWITCHYARD_OPTIMIZER_H

#include "base.h"

SY_BEGIN

#define SY_KIND_OPTIMIZER "sy.optimizer/0"

typedef struct sy_optimizer sy_optimizer; /* the plugin's own */

/* A run of elements of one parameter within a span. */
typedef struct sy_opt_segment {
  uint32_t size;
  uint32_t parameter;  /* number in the model's order */
  uint64_t offset;     /* of its first element in the span */
  uint64_t begin;      /* of its first element in the parameter (not 0 when a parameter is sharded) */
  uint64_t count;
  double decay;        /* multiplies the weight decay: 0 or 1 */
  double lr_scale;     /* multiplies the learning rate */
} sy_opt_segment;

/* Flat storage on one device; elements between segments are padding and hold zeros. */
typedef struct sy_opt_span {
  uint32_t size;
  uint32_t n_segments;
  uint64_t count;               /* elements */
  sy_device device;
  float *value;                 /* the weights in fp32: the master copy where weights are computed in another type */
  const void *grad;             /* summed gradients, still times the loss scale */
  sy_dtype grad_dtype;          /* fp32 or bf16 */
  sy_dtype copy_dtype;
  void *copy;                   /* NULL, or the weights in the compute type: written in the same pass */
  float *const *states;         /* as declared by states(), zero at the start */
  const sy_opt_segment *const *segments;
} sy_opt_span;

/* What changes from step to step; lies on the device, so that nothing is read back. Frozen. */
typedef struct sy_opt_control {
  double lr;          /* after the schedule */
  double inv_scale;   /* 1 / loss scale */
  double clip_factor; /* at most 1 */
  int64_t skip;       /* not 0: leave values and states as they are */
  int64_t step;       /* applied steps, this one included: from 1 */
} sy_opt_control;

typedef struct sy_optimizer_api {
  uint32_t size;
  uint32_t caps;
  const char *id;
  const char *help;
  const sy_option *const *options; /* beside lr and decay, which the core reads */
  uint32_t n_options;
  uint32_t reserved;
  sy_rc (*create)(const sy_host *, const sy_config *options, sy_optimizer **give, sy_error **err); /* [ctl] */
  /* Name of state i, an fp32 value per element; SY_E_RANGE with err untouched ends the list.        [ctl] */
  sy_rc (*states)(sy_optimizer *, uint32_t i, const char **lend, sy_error **err);
  sy_rc (*step)(sy_optimizer *, const sy_opt_span *, const sy_opt_control *on_device, sy_stream *, void *native_stream,
                sy_error **err);                                                                /* [stage] */
  /* out[segment], on the device: sum of squared gradients as stored, added in an order that depends on nothing but the
   * segment.                                                                                    [stage] */
  sy_rc (*norms)(sy_optimizer *, const sy_opt_span *, double *out_on_device, sy_stream *, void *native_stream,
                 sy_error **err);
  void (*destroy)(sy_optimizer *take);                                                  /* NULL is fine [ctl] */
} sy_optimizer_api;

SY_END
#endif
