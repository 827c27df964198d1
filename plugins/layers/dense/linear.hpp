// y = x W^T + b and its backward.
#pragma once

#include "linear_form.hpp"

namespace sy {

class linear_layer : public linear_form {
 public:
  static constexpr const char* id = "linear";
  static constexpr const char* help = "y = x W^T + b over the last dimension; weight [out, in], bias [out]";
  struct saved {
    at::Tensor x, dy;
  };
  using linear_form::linear_form;

  sy::cost cost(uint32_t kind, const_ports from) const;
  void bind(const sy_binding& b) { params_.bind(params(), b); }
  saved forward(const sy_call& call);
  void backward_input(const sy_call& call, saved& kept);
  void backward_weight(const sy_call& call, saved&& kept);

 private:
  bound_params params_;
};

}  // namespace sy
