// Two-dimensional convolution, as torch.nn.Conv2d: weight [out, in / groups, kernel, kernel].
#pragma once

#include <ATen/ops/conv2d.h>

#include "blocks/cost.hpp"
#include "blocks/init.hpp"

namespace sy {

struct conv2d_layer {
  static constexpr const char* id = "conv2d";
  static constexpr const char* help =
      "convolution over [rows, channels, height, width]; weight [out, channels / groups, kernel, kernel]";
  static constexpr sy_option options[] = {
      i64_option("out", nullptr, 1, 1e6, "output channels"),
      i64_option("kernel", nullptr, 1, 1024, "height and width of the kernel", "pixels"),
      i64_option("stride", "1", 1, 1024, "step of the kernel", "pixels"),
      i64_option("padding", "0", 0, 1024, "zeros around the image", "pixels"),
      i64_option("groups", "1", 1, 1e6, "groups of channels that do not mix"),
      bool_option("bias", "true", "add a learned bias"),
  };
  explicit conv2d_layer(const config& c)
      : out(c.i64("out")),
        kernel(c.i64("kernel")),
        stride(c.i64("stride")),
        padding(c.i64("padding")),
        groups(c.i64("groups")),
        bias(c.flag("bias")) {}

  std::vector<port> infer(uint32_t, ports from) {
    const sy_port& x = *from[0];
    if (x.ndim != 4) throw fault(SY_E_CONFIG, "conv2d needs an input of shape [rows, channels, height, width]");
    in = x.shape[1];
    if (in % groups != 0 || out % groups != 0)
      throw fault(SY_E_CONFIG, "groups = " + std::to_string(groups) + " must divide the input's " + std::to_string(in) +
                                   " and the output's " + std::to_string(out) + " channels");
    if (std::min(x.shape[2], x.shape[3]) + 2 * padding < kernel)
      throw fault(SY_E_CONFIG, "a kernel of " + std::to_string(kernel) + " pixels is larger than the padded image");
    port y = like(x);
    y.shape = {x.shape[0], out, size_after(x.shape[2]), size_after(x.shape[3])};
    return {y};
  }
  std::vector<param> params() const {
    const int64_t fan_in = in / groups * kernel * kernel;
    std::vector<param> all = {{"weight", {out, in / groups, kernel, kernel}, fan_in_uniform(fan_in)}};
    if (bias)
      all.push_back({.name = "bias", .shape = {out}, .init = fan_in_uniform(fan_in), .flags = SY_PARAM_NO_DECAY});
    return all;
  }
  sy::cost cost(uint32_t kind, const_ports from) const {
    const sy_port& x = *from[0];
    const int64_t pixels = x.shape[0] * size_after(x.shape[2]) * size_after(x.shape[3]);
    sy::cost c;
    add_linear_flops(c, static_cast<uint64_t>(pixels), in / groups * kernel * kernel, out, bias);
    add_memory(c, kind, x.shape[0] * x.shape[2] * x.shape[3], pixels, width_of(x.dtype));
    return c;
  }
  at::Tensor forward(pass& p) const {
    return at::conv2d(p.in(0), p["weight"], p["bias"], stride, padding, /*dilation=*/1, groups);
  }

 private:
  /// An estimate. On the CPU oneDNN computes on copies whose channels come in blocks of 16; 1 x 1 kernels need none.
  void add_memory(sy::cost& c, uint32_t kind, int64_t pixels_in, int64_t pixels_out, uint64_t elem) const {
    const bool copies = kernel > 1 || groups > 1;
    const auto blocked = [&](int64_t channels) { return groups > 1 ? channels : (channels + 15) / 16 * 16; };
    const auto bytes = [&](int64_t elements) { return copies ? static_cast<uint64_t>(elements) * elem : 0; };
    const uint64_t x = groups > 1 || in >= 16 ? bytes(pixels_in * blocked(in)) : 0,
                   y = bytes(pixels_out * blocked(out));
    const uint64_t weights = bytes(blocked(out) * blocked(in / groups) * kernel * kernel);
    const uint64_t plain_y = bytes(pixels_out * out), plain_x = bytes(pixels_in * in);
    c.bytes_workspace = std::max(x + weights, plain_y) + y - plain_y;
    if (kind != SY_TRAIN) return;
    c.keep_in = 1;
    const uint64_t gradient =
        gradient_bytes(static_cast<uint64_t>((in / groups * kernel * kernel + (bias ? 1 : 0)) * out), elem);
    c.bytes_workspace_backward = std::max(y + weights + bytes(pixels_in * blocked(in)) - plain_x, x + y + gradient);
  }
  int64_t size_after(int64_t pixels) const { return (pixels + 2 * padding - kernel) / stride + 1; }

  int64_t out, kernel, stride, padding, groups, in = 0;
  bool bias;
};

}  // namespace sy
