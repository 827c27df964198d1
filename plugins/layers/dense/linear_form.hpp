// Options and parameters of y = x W^T + b over the last dimension; W [out, in], b [out].
#pragma once

#include "blocks/cost.hpp"
#include "blocks/init.hpp"

namespace sy {

struct linear_form {
  static constexpr sy_option options[] = {
      i64_option("out", nullptr, 1, 1e9, "width of the output"),
      bool_option("bias", "true", "add a learned bias"),
  };
  explicit linear_form(const config& c) : out(c.i64("out")), bias(c.flag("bias")) {}

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

  int64_t out, in = 0;
  bool bias;
};

}  // namespace sy
