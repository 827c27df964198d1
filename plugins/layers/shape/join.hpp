// Several inputs into one.
#pragma once

#include <ATen/ops/cat.h>

#include "axis.hpp"
#include "blocks/cost.hpp"

namespace sy {

struct add_layer {
  static constexpr const char* id = "add";
  static constexpr const char* help = "sum of its inputs, which have one shape: input = [\"relu\", \"in\"]";
  explicit add_layer(const config&) {}

  std::vector<port> infer(uint32_t, ports in) const {
    if (in.size() < 2) throw fault(SY_E_CONFIG, "add needs at least two inputs: input = [\"a\", \"b\"]");
    for (const sy_port* other : in)
      if (shape_of(*other) != shape_of(*in[0]))
        throw fault(SY_E_CONFIG, "add meets shapes " + shape_text(*in[0]) + " and " + shape_text(*other));
    return {like(*in[0])};
  }
  sy::cost cost(uint32_t, const_ports in) const {
    sy::cost c;
    c.flops_forward = static_cast<double>(elements_of(*in[0]) * (in.size() - 1));
    if (in.size() > 2) c.bytes_workspace = bytes_of(*in[0]);
    return c;
  }
  at::Tensor forward(pass& p) const {
    at::Tensor sum = p.in(0);
    for (std::size_t i = 1; i < p.inputs.size(); ++i) sum = sum.add(p.in(i));
    return sum;
  }
};

struct concat_layer {
  static constexpr const char* id = "concat";
  static constexpr const char* help = "its inputs one after the other along an axis";
  static constexpr sy_option options[] = {i64_option("axis", "-1", -8, 7, "not 0, which are the samples")};
  explicit concat_layer(const config& c) : axis_(c.i64("axis")) {}

  std::vector<port> infer(uint32_t, ports in) const {
    port y = like(*in[0]);
    const std::size_t axis = axis_of(axis_, *in[0], id);
    y.shape[axis] = 0;
    for (const sy_port* part : in) {
      std::vector<int64_t> shape = shape_of(*part), first = shape_of(*in[0]);
      if (shape.size() == first.size()) y.shape[axis] += shape[axis], shape[axis] = first[axis];
      if (shape != first)
        throw fault(SY_E_CONFIG, "concat along axis " + std::to_string(axis_) + " meets shapes " + shape_text(*in[0]) +
                                     " and " + shape_text(*part));
    }
    return {y};
  }
  sy::cost cost(uint32_t, const_ports) const { return {}; }
  at::Tensor forward(pass& p) const { return at::cat(p.inputs, axis_); }

 private:
  int64_t axis_;
};

}  // namespace sy
