// Norms over the last dimension and their backward.
#pragma once

#include "blocks/own_backward.hpp"
#include "kernels/norm_pass.hpp"
#include "row_norm_form.hpp"

namespace sy {

template <class Form>
class row_norm_layer : public Form {
 public:
  struct saved {
    at::Tensor x;
    kernels::norm_statistics statistics;
  };
  using Form::Form;

  void bind(const sy_binding& b) { params_.bind(this->params(), b); }
  sy::cost cost(uint32_t kind, const_ports in) const {
    const sy_port& x = *in[0];
    const uint64_t statistics = kernels::norm_statistics_bytes(rule(), x.dtype, rows_of(x));
    sy::cost c;
    this->norm_.add_flops(c, rows_of(x), this->width_);
    if (kind != SY_TRAIN) {
      c.bytes_workspace = statistics;
      return c;
    }
    c.keep_in = 1;
    c.bytes_saved = statistics;
    c.bytes_workspace_backward = kernels::norm_back_scratch(rule(), x.dtype, rows_of(x), this->width_);
    return c;
  }
  saved forward(const sy_call& call) {
    return in_call(call, false, [&]() -> saved {
      saved kept{borrow(call.in[0]), {}};
      at::Tensor y = kernels::norm_of(call, rule(), this->eps_, kept.x, weights(), kept.statistics);
      call.out[0] = lend(std::move(y), call);
      return keeps(call) ? std::move(kept) : saved();
    });
  }
  /// All of it: the weights' gradients come out of the same pass.
  void backward_input(const sy_call& call, saved& kept) {
    in_call(call, false, [&] {
      if (const at::Tensor dy = arriving(call, kept.x); dy.defined()) {
        at::Tensor dx = wants(call) ? at::empty_like(kept.x) : at::Tensor();
        kernels::norm_back(call, rule(), this->eps_, dy, kept.x, weights(), kept.statistics,
                           {params_.grad("", "weight"), params_.grad("", "bias")}, dx);
        if (dx.defined()) call.out[0] = lend(std::move(dx), call);
      }
      kept = {};
    });
  }
  void backward_weight(const sy_call&, saved&&) {}

 private:
  kernels::norm_rule rule() const {
    return this->kind_ == norm_kind::layer ? kernels::norm_rule::layer : kernels::norm_rule::rms;
  }
  kernels::norm_weights weights() const { return {params_.find("", "weight"), params_.find("", "bias")}; }

  bound_params params_;
};

struct layer_norm_layer : row_norm_layer<layer_norm_form> {
  static constexpr const char* id = "layer_norm";
  static constexpr const char* help = "LayerNorm over the last dimension; statistics in fp32";
  using row_norm_layer::row_norm_layer;
};

struct rms_norm_layer : row_norm_layer<rms_norm_form> {
  static constexpr const char* id = "rms_norm";
  static constexpr const char* help = "x / sqrt(mean(x^2) + eps) * weight over the last dimension; statistics in fp32";
  using row_norm_layer::row_norm_layer;
};

}  // namespace sy
