/* switchyard/decide.h - what a step of training comes to: the norm of the gradients, how far to clip them, and whether the
 * step counts at all. Decided where the numbers lie, so that the host need not wait for them before it goes on.
 * C99 and C++11; in CUDA sources the function works on host and device, so that every backend gives the same bits. */
#ifndef SWITCHYARD_DECIDE_H
#define SWITCHYARD_DECIDE_H

#include <math.h>

#include "base.h"
#include "optimizer.h"

SY_BEGIN

/* Lies on the device. Frozen. */
typedef struct sy_outcome {
  double grad_norm; /* two-norm of all gradients, without the loss scale, before clipping */
  double loss_sum;  /* over the micro-batches */
  int64_t skipped;  /* 1: one of the two is not finite, or steps are held */
  int64_t applied;  /* steps that counted and were not skipped; kept from step to step */
  int64_t held;     /* not 0: every step is skipped until somebody clears it; kept from step to step */
} sy_outcome;

enum {
  SY_DECIDE_COUNTS = 1u, /* an optimizer step follows */
  SY_DECIDE_HOLDS = 2u   /* after a step that is skipped, hold those that follow */
};

/* Pointers are to memory of the device; the struct itself is read before the call returns. */
typedef struct sy_decide {
  uint32_t size;
  uint32_t flags;       /* SY_DECIDE_* */
  uint32_t n_squares;
  uint32_t n_losses;
  sy_device device;
  const double *squares; /* sums of squared gradients as stored */
  const int32_t *order;  /* squares[order[0]] is added first */
  const float *losses;   /* of micro-batch i: losses[2 * i] */
  double lr;
  double loss_scale;
  double clip_norm;      /* 0: none */
  sy_outcome *outcome;
  sy_opt_control *control;
} sy_decide;

#if defined(__CUDACC__)
#define SY_DECIDE_FN static __host__ __device__ inline
#else
#define SY_DECIDE_FN static inline
#endif

/* What a backend's `decide` does, by whoever can read and write the memory. */
SY_DECIDE_FN void sy_decide_here(const sy_decide *d) {
  double sum = 0, loss = 0, norm, clip;
  uint32_t i;
  for (i = 0; i < d->n_squares; ++i) sum += d->squares[d->order[i]];
  for (i = 0; i < d->n_losses; ++i) loss += d->losses[2 * i];
  norm = sqrt(sum) / d->loss_scale;
  clip = d->clip_norm > 0 ? d->clip_norm / (norm + 1e-6) : 1.0;
  d->outcome->grad_norm = norm;
  d->outcome->loss_sum = loss;
  /* x - x is not 0 for infinities and NaN. */
  d->outcome->skipped = d->outcome->held != 0 || norm - norm != 0 || loss - loss != 0;
  if (d->outcome->skipped && (d->flags & SY_DECIDE_HOLDS)) d->outcome->held = 1;
  d->control->lr = d->lr;
  d->control->inv_scale = 1 / d->loss_scale;
  d->control->clip_factor = clip < 1.0 ? clip : 1.0;
  d->control->skip = d->outcome->skipped;
  d->control->step = d->outcome->applied + 1;
  if (!d->outcome->skipped && (d->flags & SY_DECIDE_COUNTS)) ++d->outcome->applied;
}

SY_END
#endif
