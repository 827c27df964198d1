/* switchyard/policy.h - placement policies: pure functions from layers and devices to stages. Same input, same output.
 * Plugin kind "sy.policy/0". */
#ifndef SWITCHYARD_POLICY_H
#define SWITCHYARD_POLICY_H

#include "base.h"
#include "layer.h"

SY_BEGIN

#define SY_KIND_POLICY "sy.policy/0"

typedef struct sy_policy sy_policy; /* the plugin's own */

/* Whether a layer computes its forward pass a second time instead of keeping its results. */
enum {
  SY_RECOMPUTE_NEVER = 0,
  SY_RECOMPUTE_ALWAYS = 1,
  SY_RECOMPUTE_FREE = 2 /* where the budgets ask for it */
};

typedef struct sy_place_layer {
  uint32_t size;
  int32_t pin;               /* device that the user fixed, or -1 */
  int32_t tie;               /* the earlier layer whose weight this one shares, or -1 */
  uint32_t n_inputs;
  const int32_t *inputs;     /* layers that feed it; -1: the batch */
  const uint64_t *input_bytes; /* of each, per micro-batch */
  const char *name;
  const char *type;
  const sy_cost *cost;       /* of one (largest) micro-batch in training */
  uint64_t bytes_weights;    /* values in their compute type, and buffers */
  uint64_t bytes_grads;
  uint64_t bytes_states;     /* optimizer states and master copies */
  uint64_t bytes_outputs;    /* per micro-batch */
  uint32_t recompute;        /* SY_RECOMPUTE_* as configured */
} sy_place_layer;

typedef struct sy_place_device {
  uint32_t size;
  int32_t node;              /* host */
  sy_device device;
  uint64_t budget;           /* bytes; UINT64_MAX: none was given */
  double flops;              /* per second in the run's type; 0: unknown */
  const char *name;          /* "cpu:0" */
} sy_place_device;

typedef struct sy_candidate {
  uint32_t size;
  uint32_t n_stages;
  const int32_t *stage_of_layer;  /* from 0, never decreasing, no gap */
  const int32_t *device_of_stage; /* several stages may share a device */
  const uint8_t *recompute;       /* per layer; NULL: as configured, and of the free layers as few seconds as fit */
} sy_candidate;

typedef struct sy_evaluation {
  uint32_t size;
  int32_t misfit_layer;      /* first layer that does not fit, or -1 */
  uint64_t misfit_bytes;     /* by how many bytes */
  double step_s;             /* simulated time of one optimizer step */
  uint64_t *peak_bytes;      /* one per device: the most it can hold; array of the caller's, or NULL */
  uint8_t *recompute;        /* one per layer: what was recomputed; array of the caller's, or NULL */
} sy_evaluation;

typedef struct sy_place {
  uint32_t size;
  uint32_t n_layers;
  uint32_t n_devices;
  uint32_t max_stages;
  uint32_t micro_batches;
  uint32_t reserved;
  const sy_place_layer *const *layers;
  const sy_place_device *const *devices;
  void *self;
  /* The core's own judgement of a candidate under the configured schedule. An infeasible one is SY_OK with misfit_layer
   * set; SY_E_ARGUMENT: not a placement at all. */
  sy_rc (*evaluate)(void *self, const sy_candidate *, sy_evaluation *out, sy_error **err);
  /* Sets hit[layer] = 1 for every layer that a pattern, a name, or a group's name means; SY_E_CONFIG: none. */
  sy_rc (*match)(void *self, const char *pattern, uint8_t *hit, sy_error **err);
  /* How fast tensors get from one device to another: t = latency_s + bytes / bytes_per_s. SY_E_ARGUMENT: no such device. */
  sy_rc (*link)(void *self, int32_t from, int32_t to, double *bytes_per_s, double *latency_s, sy_error **err);
  /* Seconds of one (largest) micro-batch of a layer on a device: measured where that is known, else from its cost and the
   * device's speed. SY_E_ARGUMENT: no such layer or device. */
  sy_rc (*seconds)(void *self, uint32_t layer, int32_t device, double *forward, double *input, double *weight,
                   sy_error **err);
} sy_place;

/* The answer: arrays of n_layers entries each, owned by the core. */
typedef struct sy_placed {
  uint32_t size;
  uint32_t n_stages;
  int32_t *stage_of_layer;
  int32_t *device_of_stage;
  uint8_t *recompute;        /* filled by the core as configured, free layers 0; a policy may set more. Where it sets no free
                                layer, the core chooses as in evaluate. */
  sy_text *why;              /* which bound decided, what the runner-up lost by; one or two lines */
  uint32_t closest;          /* a policy sets 1 where nothing fits and this comes closest: the core refuses it, says by how
                                much, and looks for what helps */
  uint32_t reserved;
} sy_placed;

typedef struct sy_policy_api {
  uint32_t size;
  uint32_t caps;
  const char *id;
  const char *help;
  const sy_option *const *options;
  uint32_t n_options;
  uint32_t reserved;
  sy_rc (*create)(const sy_host *, const sy_config *options, sy_policy **give, sy_error **err); /* [ctl] */
  /* SY_E_INFEASIBLE: nothing fits, and there is nothing to show that comes close (else see sy_placed.closest). [ctl] */
  sy_rc (*place)(sy_policy *, const sy_place *, sy_placed *out, sy_error **err);
  void (*destroy)(sy_policy *take);                                                    /* NULL is fine [ctl] */
} sy_policy_api;

SY_END
#endif
