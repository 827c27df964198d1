// The feed-forward network as a layer of its own.
#pragma once

#include "feed_forward_branch.hpp"

namespace sy {

class feed_forward_layer : public feed_forward_options {
 public:
  static constexpr const char* id = "feed_forward";
  struct saved {
    std::vector<int64_t> shape;  // of the input
    feed_forward_saved branch;
  };
  explicit feed_forward_layer(const config& c) : branch_(settings(c), "norm.", "") {}

  std::vector<port> infer(uint32_t, ports in) {
    branch_.form.infer(*in[0]);
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
  static feed_forward_settings settings(const config& c) {
    feed_forward_settings s(c);
    s.residual = c.flag("residual");
    return s;
  }
  feed_forward_branch branch_;
  bound_params params_;
};

}  // namespace sy
