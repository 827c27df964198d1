// Batch normalisation as a layer, and its backward.
#pragma once

#include "batchnorm_form.hpp"
#include "blocks/own_backward.hpp"
#include "blocks/wide.hpp"

namespace sy {

template <class Form>
class batch_norm_layer : public Form {
 public:
  struct saved {
    at::Tensor x;
    batch_norm::statistics statistics;
  };
  using Form::Form;

  void bind(const sy_binding& b) { params_.bind(this->params(), b); }
  sy::cost cost(uint32_t kind, const_ports in) const {
    const sy_port& x = *in[0];
    const uint64_t n = elements_of(x), elem = width_of(x.dtype), wide = wide_width(x.dtype);
    const uint64_t channel = static_cast<uint64_t>(this->channels_) * wide;
    const uint64_t copy = is_reduced(x.dtype) ? n * wide : 0;  // in the type of the statistics
    sy::cost c;
    add_elementwise_flops(c, 8 * static_cast<double>(n), 12 * static_cast<double>(n));
    const bool training = kind == SY_TRAIN, by_batch = training && !this->norm_.frozen;
    tally forward, backward;
    forward.take(copy + 2 * weight_copy(x.dtype) + n * wide);
    if (by_batch) forward.take(2 * channel), forward.hold(static_cast<uint64_t>(this->channels_) * gathering(x.dtype));
    if (!by_batch) forward.hold(2 * channel + 2 * running_copy(x.dtype));
    forward.drop(copy);
    if (copy) forward.take(n * elem), forward.drop(n * wide);
    forward.drop(2 * weight_copy(x.dtype));
    c.bytes_workspace = forward.workspace();
    if (!training) return c;
    c.keep_in = 1;
    c.bytes_saved = static_cast<uint64_t>(forward.live) - n * elem;
    // LibTorch's backward on the CPU holds one more tensor of the input's size
    backward.take(2 * copy + 2 * n * wide + (by_batch ? 0 : 2 * running_copy(x.dtype)) + weight_copy(x.dtype) +
                  (this->norm_.affine ? 2 * channel : 0));
    if (copy) backward.drop(3 * n * wide), backward.take(n * elem);
    c.bytes_workspace_backward = backward.workspace_besides(n * elem);
    return c;
  }
  saved forward(const sy_call& call) {
    return in_call(call, false, [&]() -> saved {
      saved kept{borrow(call.in[0]), {}};
      pass p{call, params_, {}};
      call.out[0] = lend(this->norm_.forward(p, "", kept.x, kept.statistics), call);
      return keeps(call) ? std::move(kept) : saved();
    });
  }
  /// All of it: the weights' gradients come out of the same pass.
  void backward_input(const sy_call& call, saved& kept) {
    in_call(call, false, [&] {
      if (const at::Tensor dy = arriving(call, kept.x); dy.defined()) {
        at::Tensor dx = this->norm_.backward(params_, "", dy, kept.x, kept.statistics, wants(call));
        if (dx.defined()) call.out[0] = lend(std::move(dx), call);
      }
      kept = {};
    });
  }
  void backward_weight(const sy_call&, saved&&) {}
  void finish(const sy_call& call) {
    in_call(call, false, [&] {
      pass p{call, params_, {}};
      this->norm_.finish(p, "");
    });
  }

 private:
  uint64_t weight_copy(sy_dtype t) const {
    const bool same = this->norm_.fp32_weights ? wide_width(t) == 4 : !is_reduced(t);
    return same || !this->norm_.affine ? 0 : static_cast<uint64_t>(this->channels_) * wide_width(t);
  }
  uint64_t running_copy(sy_dtype t) const { return t.bits == 64 ? static_cast<uint64_t>(this->channels_) * 8 : 0; }
  /// Bytes for each channel while statistics are gathered, which is done in fp64.
  static uint64_t gathering(sy_dtype t) { return t.bits == 64 ? 16 : 20; }

  bound_params params_;
};

struct batchnorm_layer : batch_norm_layer<batchnorm_form> {
  static constexpr const char* id = "batchnorm";
  static constexpr const char* help =
      "batch normalisation per channel, right under micro-batches and recompute; computes in fp32, statistics are kept "
      "in fp32";
  using batch_norm_layer::batch_norm_layer;
};

struct batchnorm_fp32_layer : batch_norm_layer<batchnorm_fp32_form> {
  static constexpr const char* id = "batchnorm_fp32";
  static constexpr const char* help =
      "batchnorm whose scale, shift and statistics are fp32 whatever comes in; gives back the type that came in";
  using batch_norm_layer::batch_norm_layer;
};

}  // namespace sy
