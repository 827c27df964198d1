// Two outputs: the halves of the last dimension, or the input and the integer index of its largest element.
#pragma once

#include "bound.hpp"

namespace plain {

class Split {
 public:
  static constexpr const char* id = "plain_split";
  static constexpr const char* help =
      "two outputs: the halves of the last dimension, or the input and an integer index";
  static constexpr const char* second_choices[] = {"half", "index", nullptr};
  static constexpr sy_option options[] = {sy::str_option(
      "second", "\"half\"", second_choices, "half: of the last dimension; index: int64, of its largest element")};
  struct saved {
    std::vector<int64_t> shape;
    sy_dtype dtype;
  };
  explicit Split(const sy::config& c) : halves_(c.str("second") == "half") {}

  std::vector<sy::port> infer(uint32_t, sy::ports in) {
    expect_inputs(in, 1);
    expect_numbers(*in[0]);
    sy::port first = sy::like(*in[0]), second = first;
    if (halves_) {
      if (first.shape.back() % 2 != 0) throw sy::fault(SY_E_CONFIG, "expected an even width");
      first.shape.back() /= 2;
      return {first, first};
    }
    second.shape.pop_back();
    return {first, sy::port{second.shape, sy::i64, false}};
  }
  sy::cost cost(uint32_t, sy::const_ports in) const { return {static_cast<double>(elements(*in[0]))}; }

  saved forward(const sy_call& call) {
    const sy_view& x = in(call, 0);
    const std::vector<float> all = read(x);
    std::vector<int64_t> s = shape(x);
    if (halves_) {
      s.back() /= 2;
      for (std::size_t k = 0; k < 2; ++k)
        call.out[k] = made(call, s, x.dtype, std::span<const float>(half(all, s.back(), k)));
    } else {
      call.out[0] = made_like(call, x, all);
      call.out[1] = largest(call, s, all);
    }
    return {shape(x), x.dtype};
  }
  void backward(const sy_call& call, saved&& s) {
    if (!wants(call, 0)) return;
    std::size_t count = 1;
    for (const int64_t d : s.shape) count *= static_cast<std::size_t>(d);
    std::vector<float> dx(count);
    if (halves_) {
      const auto width = static_cast<std::size_t>(s.shape.back());
      for (std::size_t k = 0; k < 2; ++k) {
        const std::vector<float> d = read_or_zeros(call.in[k], count / 2);
        for (std::size_t i = 0; i < d.size(); ++i)
          dx[i / (width / 2) * width + k * (width / 2) + i % (width / 2)] = d[i];
      }
    } else {
      dx = read_or_zeros(call.in[0], count);
    }
    call.out[0] = made(call, s.shape, s.dtype, std::span<const float>(dx));
  }

 private:
  static std::vector<float> half(const std::vector<float>& all, int64_t width, std::size_t k) {
    std::vector<float> part;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (i / static_cast<std::size_t>(width) % 2 == k) part.push_back(all[i]);
    return part;
  }
  static sy_tensor* largest(const sy_call& call, std::vector<int64_t> s, const std::vector<float>& all) {
    const auto width = static_cast<std::size_t>(s.back());
    s.pop_back();
    sy::tensor index = sy::new_host_tensor(call, s, sy::i64);
    for (std::size_t r = 0; width > 0 && r < all.size() / width; ++r) {
      std::size_t best = 0;
      for (std::size_t c = 1; c < width; ++c)
        if (all[r * width + c] > all[r * width + best]) best = c;
      index.data<int64_t>()[r] = static_cast<int64_t>(best);
    }
    return std::move(index).give();
  }
  bool halves_;
};

}  // namespace plain
