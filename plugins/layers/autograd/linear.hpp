// y = x W^T + b over the last dimension; W [out, in], b [out].
#pragma once

#include <ATen/ops/linear.h>

#include "blocks/cost.hpp"
#include "blocks/init.hpp"
#include "switchyard/cpp/torch.hpp"

namespace sy {

struct linear_autograd {
  static constexpr const char* id = "linear_autograd";
  static constexpr const char* help = "y = x W^T + b over the last dimension; weight [out, in], bias [out]";
  static constexpr sy_option options[] = {
      i64_option("out", nullptr, 1, 1e9, "width of the output"),
      bool_option("bias", "true", "add a learned bias"),
  };
  explicit linear_autograd(const config& c) : out(c.i64("out")), bias(c.flag("bias")) {}

  std::vector<port> infer(uint32_t, ports from) {
    in = last_dim(*from[0]);
    port y = like(*from[0]);
    y.shape.back() = out;
    return {y};
  }
  std::vector<param> params() const {
    std::vector<param> all;
    declare_linear(all, "", in, out, bias, fan_in_uniform(in), fan_in_uniform(in));
    return all;
  }
  sy::cost cost(uint32_t kind, const_ports from) const {
    sy::cost c;
    add_linear_flops(c, rows_of(*from[0]), in, out, bias);
    if (kind != SY_TRAIN) return c;
    c.keep_in = 1;
    // the weight's gradient of this micro-batch, before it is added
    c.bytes_workspace_backward =
        gradient_bytes(static_cast<uint64_t>((in + (bias ? 1 : 0)) * out), width_of(from[0]->dtype));
    return c;
  }
  at::Tensor forward(pass& p) const { return at::linear(p.in(0), p["weight"], p["bias"]); }

  int64_t out, in = 0;
  bool bias;
};

}  // namespace sy
