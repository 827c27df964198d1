// Options and parameters of linear layers with an activation between them (none after the last).
#pragma once

#include "blocks/activation.hpp"
#include "blocks/cost.hpp"
#include "blocks/init.hpp"

namespace sy {

class mlp_form {
 public:
  static constexpr sy_option options[] = {
      option(SY_T_I64S, "widths", nullptr, 1, 1e9, nullptr, "width of each layer's output, e.g. [256, 256, 10]"),
      str_option("activation", "\"relu\"", activation_names, "between the layers"),
      bool_option("bias", "true", "add learned biases"),
  };
  explicit mlp_form(const config& c)
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

 protected:
  int64_t width_into(std::size_t i) const { return i == 0 ? in_ : widths_[i - 1]; }
  void add_flops(sy::cost& c, uint64_t rows) const {
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      add_linear_flops(c, rows, width_into(i), widths_[i], bias_);
      const double n = i + 1 < widths_.size() ? static_cast<double>(rows) * static_cast<double>(widths_[i]) : 0.0;
      add_elementwise_flops(c, n * activation_flops(kind_), 2 * n * activation_flops(kind_));
    }
  }
  /// Of one width for all rows of a micro-batch.
  struct row_bytes {
    uint64_t per_width;
    uint64_t operator()(int64_t width) const { return per_width * static_cast<uint64_t>(width); }
  };

  std::vector<int64_t> widths_;
  activation kind_;
  bool bias_;
  int64_t in_ = 0;
  std::vector<std::string> names_;
};

}  // namespace sy
