// The optimizers' passes over flat storage on a GPU, with the operations of their CPU twins in the same order (fp32, no
// contraction), so that values and states get the same bits. Everything is enqueued on `stream` (a cudaStream_t) of the
// current device; the control block is read there. Each returns NULL, or CUDA's text of what went wrong (lent).
#pragma once

#include "switchyard/optimizer.h"

namespace sy::opt::cuda {

struct SgdSettings {
  float momentum, keep, weight_decay;  // keep: 1 - dampening
  bool nesterov;
};
struct AdamSettings {
  double beta1, beta2, eps, weight_decay;
  bool decoupled;
};

const char* step(const sy_opt_span& span, const sy_opt_control* on_device, const SgdSettings& settings, void* stream);
const char* step(const sy_opt_span& span, const sy_opt_control* on_device, const AdamSettings& settings, void* stream);

/// out[k] = sum of squares of segment k in double: in runs of 32,768 elements, each by 256 lanes and a tree over them,
/// then the runs likewise. The order depends on the segment's length alone.
const char* squared_norms(const sy_opt_span& span, double* out_on_device, void* stream);

}  // namespace sy::opt::cuda
