// Batch normalisation as LibTorch's autograd does it.
#pragma once

#include "../norm/batchnorm_form.hpp"
#include "blocks/wide.hpp"

namespace sy {

template <class Form>
class batch_norm_autograd : public Form {
 public:
  using Form::Form;

  sy::cost cost(uint32_t kind, const_ports in) const {
    const sy_port& x = *in[0];
    const uint64_t n = elements_of(x), wide = wide_width(x.dtype), channels = static_cast<uint64_t>(this->channels_);
    const bool casts = is_reduced(x.dtype);
    sy::cost c;
    add_elementwise_flops(c, 8 * static_cast<double>(n), 12 * static_cast<double>(n));
    const uint64_t statistics = 5 * channels * wide;
    c.bytes_workspace = statistics + (casts ? n * wide * (kind == SY_TRAIN ? 1 : 2) : 0);
    if (kind != SY_TRAIN) return c;
    if (!casts) c.keep_in = 1;
    const uint64_t weights = casts && this->norm_.affine && !this->norm_.fp32_weights ? channels * wide : 0;
    c.bytes_saved = 2 * channels * wide + weights + (casts ? n * wide : 0);
    // LibTorch's backward on the CPU holds one more tensor of the input's size
    c.bytes_workspace_backward = 2 * channels * wide + n * wide + (casts ? 2 * n * wide - n * width_of(x.dtype) : 0);
    return c;
  }
  at::Tensor forward(pass& p) const { return this->norm_.apply(p, "", p.in(0)); }
  void finish(pass& p) const { this->norm_.finish(p, ""); }
};

struct batchnorm_autograd : batch_norm_autograd<batchnorm_form> {
  static constexpr const char* id = "batchnorm_autograd";
  static constexpr const char* help =
      "batchnorm by LibTorch's autograd: batch normalisation per channel, right under micro-batches and recompute; "
      "computes in fp32, statistics are kept in fp32";
  using batch_norm_autograd::batch_norm_autograd;
};

struct batchnorm_fp32_autograd : batch_norm_autograd<batchnorm_fp32_form> {
  static constexpr const char* id = "batchnorm_fp32_autograd";
  static constexpr const char* help =
      "batchnorm_fp32 by LibTorch's autograd: batchnorm whose scale, shift and statistics are fp32 whatever comes in; "
      "gives back the type that came in";
  using batch_norm_autograd::batch_norm_autograd;
};

}  // namespace sy
