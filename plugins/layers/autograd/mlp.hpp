// Linear layers with an activation between them (none after the last).
#pragma once

#include <ATen/ops/linear.h>

#include "blocks/activation.hpp"
#include "blocks/cost.hpp"
#include "blocks/init.hpp"

namespace sy {

struct mlp_autograd {
  static constexpr const char* id = "mlp_autograd";
  static constexpr const char* help =
      "linear layers 0, 1, ... with an activation after each but the last; parameters 0.weight, 0.bias, 1.weight, ...";
  static constexpr sy_option options[] = {
      option(SY_T_I64S, "widths", nullptr, 1, 1e9, nullptr, "width of each layer's output, e.g. [256, 256, 10]"),
      str_option("activation", "\"relu\"", activation_names, "between the layers"),
      bool_option("bias", "true", "add learned biases"),
  };
  explicit mlp_autograd(const config& c)
      : widths_(c.i64s("widths")), kind_(activation_of(c.str("activation"))), bias_(c.flag("bias")) {
    if (widths_.empty()) throw fault(SY_E_CONFIG, "widths must name at least one layer, e.g. [256, 10]");
    for (std::size_t i = 0; i < widths_.size(); ++i) names_.push_back(std::to_string(i) + ".");
  }

  std::vector<port> infer(uint32_t, ports in) {
    in_ = last_dim(*in[0]);
    port y = like(*in[0]);
    y.shape.back() = widths_.back();
    return {y};
  }
  std::vector<param> params() const {
    std::vector<param> all;
    for (std::size_t i = 0; i < widths_.size(); ++i)
      declare_linear(all, names_[i], width_into(i), widths_[i], bias_, fan_in_uniform(width_into(i)),
                     fan_in_uniform(width_into(i)));
    return all;
  }
  sy::cost cost(uint32_t kind, const_ports in) const {
    sy::cost c;
    const uint64_t rows = rows_of(*in[0]);
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      add_linear_flops(c, rows, width_into(i), widths_[i], bias_);
      const double n = i + 1 < widths_.size() ? static_cast<double>(rows) * static_cast<double>(widths_[i]) : 0.0;
      add_elementwise_flops(c, n * activation_flops(kind_), 2 * n * activation_flops(kind_));
    }
    const row_bytes bytes{rows * width_of(in[0]->dtype)};
    add_forward_bytes(c, kind, bytes);
    if (kind == SY_TRAIN) add_backward_bytes(c, bytes, width_of(in[0]->dtype));
    return c;
  }
  at::Tensor forward(pass& p) const {
    at::Tensor x = p.in(0);
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      x = at::linear(x, p(names_[i], "weight"), p(names_[i], "bias"));
      if (i + 1 < widths_.size()) x = activate(kind_, x);
    }
    return x;
  }

 private:
  struct row_bytes {
    uint64_t per_width;
    uint64_t operator()(int64_t width) const { return per_width * static_cast<uint64_t>(width); }
  };
  void add_forward_bytes(sy::cost& c, uint32_t kind, row_bytes bytes) const {
    tally walk;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      walk.take(bytes(widths_[i]));  // the product
      if (kind != SY_TRAIN && i > 0) walk.drop(bytes(widths_[i - 1]));
      if (i + 1 == widths_.size()) break;
      walk.take(bytes(widths_[i]));  // the activation's result
      if (kind != SY_TRAIN || !keeps_input(kind_)) walk.drop(bytes(widths_[i]));
    }
    c.bytes_workspace = walk.workspace();
    if (kind != SY_TRAIN) return;
    c.keep_in = 1;
    c.bytes_saved = static_cast<uint64_t>(walk.live) - bytes(widths_.back());
  }
  void add_backward_bytes(sy::cost& c, row_bytes bytes, uint64_t elem) const {
    tally walk;
    for (std::size_t i = widths_.size(); i-- > 0;) {
      const uint64_t weights =
          gradient_bytes(static_cast<uint64_t>((width_into(i) + (bias_ ? 1 : 0)) * widths_[i]), elem);
      walk.take(bytes(width_into(i)) + weights);
      if (i + 1 < widths_.size()) walk.drop(bytes(widths_[i]));  // the gradient that came in
      walk.drop(weights);
      if (i == 0) break;
      if (keeps_input(kind_)) walk.drop(bytes(width_into(i)));  // the linear layer's saved input
      walk.take(bytes(width_into(i)));                          // through the activation
      walk.drop(2 * bytes(width_into(i)));                      // its gradient that came in, and what it saved
    }
    c.bytes_workspace_backward = walk.workspace_besides(bytes(in_));
  }
  int64_t width_into(std::size_t i) const { return i == 0 ? in_ : widths_[i - 1]; }

  std::vector<int64_t> widths_;
  activation kind_;
  bool bias_;
  int64_t in_ = 0;
  std::vector<std::string> names_;
};

}  // namespace sy
