// Pooling over windows, or over the whole image.
#pragma once

#include <ATen/ops/amax.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/max_pool2d_with_indices.h>

#include "blocks/cost.hpp"

namespace sy {

struct pool2d_layer {
  static constexpr const char* kinds[] = {"max", "avg", nullptr};
  static constexpr const char* whole[] = {"global", nullptr};
  static constexpr const char* id = "pool2d";
  static constexpr const char* help =
      "pooling over [rows, channels, height, width]; size = \"global\" gives [rows, channels]";
  static constexpr sy_option options[] = {
      str_option("kind", "\"max\"", kinds, "largest value or mean"),
      option(SY_T_I64, "size", "\"global\"", 1, 65536, whole, "height and width of a window, or the whole image",
             "pixels"),
      i64_option("stride", "0", 0, 65536, "step of the window; 0: its size", "pixels"),
      i64_option("padding", "0", 0, 65536, "around the image, at most half a window; counts as zeros in the mean",
                 "pixels"),
  };
  explicit pool2d_layer(const config& c)
      : largest_(c.str("kind") == "max"),
        size_(c.word("size").empty() ? c.i64("size") : 0),
        stride_(c.i64("stride")),
        padding_(c.i64("padding")) {
    if (stride_ == 0) stride_ = size_;
    if (2 * padding_ > size_) throw fault(SY_E_CONFIG, "padding is at most half of size");
  }

  std::vector<port> infer(uint32_t, ports in) const {
    const sy_port& x = *in[0];
    if (x.ndim != 4) throw fault(SY_E_CONFIG, "pool2d needs an input of shape [rows, channels, height, width]");
    port y = like(x);
    if (size_ == 0) {
      y.shape.resize(2);
      return {y};
    }
    for (const std::size_t d : {2u, 3u}) {
      if (y.shape[d] + 2 * padding_ < size_)
        throw fault(SY_E_CONFIG, "a window of " + std::to_string(size_) + " pixels is larger than the padded image");
      y.shape[d] = after(y.shape[d]);
    }
    return {y};
  }
  sy::cost cost(uint32_t kind, const_ports in) const {
    const sy_port& x = *in[0];
    sy::cost c;
    add_elementwise_flops(c, static_cast<double>(elements_of(x)), static_cast<double>(elements_of(x)));
    if (size_ > 0 && largest_) {
      const uint64_t windows = static_cast<uint64_t>(x.shape[0] * x.shape[1] * after(x.shape[2]) * after(x.shape[3]));
      (kind == SY_TRAIN ? c.bytes_saved : c.bytes_workspace) = windows * 8;  // where each maximum was
    }
    if (kind != SY_TRAIN || (size_ == 0 && !largest_)) return c;
    c.keep_in = 1;
    if (size_ == 0) c.keep_out = 1;
    if (size_ == 0) c.bytes_workspace_backward = elements_of(x) * (1 + width_of(x.dtype));
    return c;
  }
  at::Tensor forward(pass& p) const {
    const at::Tensor& x = p.in(0);
    if (size_ == 0) return largest_ ? at::amax(x, {2, 3}) : x.mean({2, 3});
    if (largest_) return std::get<0>(at::max_pool2d_with_indices(x, size_, stride_, padding_));
    return at::avg_pool2d(x, size_, stride_, padding_);
  }

 private:
  int64_t after(int64_t pixels) const { return (pixels + 2 * padding_ - size_) / stride_ + 1; }
  bool largest_;
  int64_t size_, stride_, padding_;
};

}  // namespace sy
