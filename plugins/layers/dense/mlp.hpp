// Linear layers with an activation between them, and their backward.
//
//   x0 ──0.weight──▶ u0 ──f──▶ x1 ──1.weight──▶ u1 ── ... ──▶ y
//
// Where f' needs its output, x1 is made in the place of u0.
#pragma once

#include "mlp_form.hpp"

namespace sy {

class mlp_layer : public mlp_form {
 public:
  static constexpr const char* id = "mlp";
  static constexpr const char* help =
      "linear layers 0, 1, ... with an activation after each but the last; parameters 0.weight, 0.bias, 1.weight, ...";
  /// Of linear layer i: its input, its output where f' needs it, the gradient of its output.
  struct step {
    at::Tensor x, u, du;
  };
  struct saved {
    at::Tensor input;  // in the shape that came in
    std::vector<step> steps;
  };
  using mlp_form::mlp_form;

  sy::cost cost(uint32_t kind, const_ports in) const;
  void bind(const sy_binding& b) { params_.bind(params(), b); }
  saved forward(const sy_call& call);
  void backward_input(const sy_call& call, saved& kept);
  void backward_weight(const sy_call& call, saved&& kept);

 private:
  const at::Tensor& value(std::size_t i, const char* name) const { return params_.find(names_[i], name); }
  at::Tensor grad(std::size_t i, const char* name) const { return params_.grad(names_[i], name); }
  void through_activation(const sy_call& call, const at::Tensor& gradient, const at::Tensor& kept,
                          const at::Tensor& bias) const;
  bool is_last(std::size_t i) const { return i + 1 == widths_.size(); }

  bound_params params_;
};

}  // namespace sy
