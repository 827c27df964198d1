// Options and parameters of the norms over the last dimension.
#pragma once

#include "blocks/norm.hpp"

namespace sy {

/// What layer_norm and rms_norm share.
class row_norm_form {
 public:
  row_norm_form(norm_kind kind, double eps, bool bias) : kind_(kind), eps_(eps), norm_(kind, eps, bias, "") {}

  std::vector<port> infer(uint32_t, ports in) {
    width_ = last_dim(*in[0]);
    return {like(*in[0])};
  }
  std::vector<param> params() const {
    std::vector<param> all;
    norm_.declare(all, width_);
    return all;
  }

 protected:
  norm_kind kind_;
  double eps_;
  norm norm_;
  int64_t width_ = 0;
};

struct layer_norm_form : row_norm_form {
  static constexpr sy_option options[] = {
      f64_option("eps", "1e-5", 0, 1, "added to the variance"),
      bool_option("bias", "true", "add a learned bias"),
  };
  explicit layer_norm_form(const config& c) : row_norm_form(norm_kind::layer, c.f64("eps"), c.flag("bias")) {}
};

struct rms_norm_form : row_norm_form {
  static constexpr sy_option options[] = {f64_option("eps", "1e-5", 0, 1, "added to the mean of the squares")};
  explicit rms_norm_form(const config& c) : row_norm_form(norm_kind::rms, c.f64("eps"), false) {}
};

}  // namespace sy
