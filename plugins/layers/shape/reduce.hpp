// One input with fewer dimensions.
#pragma once

#include "axis.hpp"
#include "blocks/cost.hpp"

namespace sy {

struct flatten_layer {
  static constexpr const char* id = "flatten";
  static constexpr const char* help = "[rows, ...] as [rows, everything else]";
  explicit flatten_layer(const config&) {}
  std::vector<port> infer(uint32_t, ports in) const {
    port y = like(*in[0]);
    y.shape = {in[0]->shape[0], 1};
    for (int32_t d = 1; d < in[0]->ndim; ++d) y.shape[1] *= in[0]->shape[d];
    return {y};
  }
  sy::cost cost(uint32_t, const_ports) const { return {}; }
  at::Tensor forward(pass& p) const { return p.in(0).flatten(1); }
};

struct select_layer {
  static constexpr const char* id = "select";
  static constexpr const char* help =
      "one index of an axis, which goes away: axis = 1, index = -1 is the last position";
  static constexpr sy_option options[] = {
      i64_option("axis", "1", -8, 7, "not 0, which are the samples"),
      i64_option("index", "-1", -1e9, 1e9, "negative: from the end"),
  };
  explicit select_layer(const config& c) : axis_(c.i64("axis")), index_(c.i64("index")) {}
  std::vector<port> infer(uint32_t, ports in) const {
    port y = like(*in[0]);
    const auto axis = static_cast<std::ptrdiff_t>(axis_of(axis_, *in[0], id));
    const int64_t length = in[0]->shape[axis];
    if (index_ >= length || index_ < -length)
      throw fault(SY_E_CONFIG,
                  "select takes index " + std::to_string(index_) + " of an axis of " + std::to_string(length));
    y.shape.erase(y.shape.begin() + axis);
    return {y};
  }
  sy::cost cost(uint32_t, const_ports) const { return {}; }
  at::Tensor forward(pass& p) const { return p.in(0).select(axis_, index_); }

 private:
  int64_t axis_, index_;
};

struct mean_layer {
  static constexpr const char* id = "mean";
  static constexpr const char* help =
      "mean over an axis, which goes away: axis = 1 of [rows, time, width] is the mean over time";
  static constexpr sy_option options[] = {i64_option("axis", "1", -8, 7, "not 0, which are the samples")};
  explicit mean_layer(const config& c) : axis_(c.i64("axis")) {}
  std::vector<port> infer(uint32_t, ports in) const {
    port y = like(*in[0]);
    y.shape.erase(y.shape.begin() + static_cast<std::ptrdiff_t>(axis_of(axis_, *in[0], id)));
    return {y};
  }
  sy::cost cost(uint32_t, const_ports in) const {
    sy::cost c;
    add_elementwise_flops(c, static_cast<double>(elements_of(*in[0])), static_cast<double>(elements_of(*in[0])));
    return c;
  }
  at::Tensor forward(pass& p) const { return p.in(0).mean(axis_); }

 private:
  int64_t axis_;
};

}  // namespace sy
