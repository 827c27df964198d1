// Self-attention as a layer of its own.
#pragma once

#include "attention_branch.hpp"

namespace sy {

class attention_layer : public attention_options {
 public:
  static constexpr const char* id = "attention";
  struct saved {
    std::vector<int64_t> shape;  // of the input
    attention_saved branch;
  };
  explicit attention_layer(const config& c) : branch_(settings(c), "norm.", "") {}

  std::vector<port> infer(uint32_t kind, ports in) {
    branch_.form.infer(kind, *in[0]);
    return {like(*in[0])};
  }
  std::vector<param> params() const {
    std::vector<param> all;
    branch_.form.declare(all);
    return all;
  }
  sy::cost cost(uint32_t kind, const_ports in) const;
  void bind(const sy_binding& b) { params_.bind(params(), b); }
  saved forward(const sy_call& call) const;
  void backward_input(const sy_call& call, saved& s) const;
  void backward_weight(const sy_call& call, saved&& s) const;
  void finish(const sy_call& call) const {
    in_call(call, false, [&] { branch_.finish(call, params_); });
  }

 private:
  static attention_settings settings(const config& c) {
    attention_settings s(c);
    s.residual = c.flag("residual");
    return s;
  }
  attention_branch branch_;
  bound_params params_;
};

}  // namespace sy
