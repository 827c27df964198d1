#include "against_autograd.hpp"

using namespace layers;

TEST_CASE("conv2d is torch.nn.Conv2d") {
  struct Case {
    int64_t kernel, stride, padding, groups;
    bool bias;
  };
  for (const Case& c : {Case{3, 1, 1, 1, true}, {3, 2, 0, 1, false}, {1, 1, 0, 2, true}, {5, 3, 2, 4, false}}) {
    OneLayer layer("conv", "conv2d",
                   {{"out", "8"},
                    {"kernel", std::to_string(c.kernel)},
                    {"stride", std::to_string(c.stride)},
                    {"padding", std::to_string(c.padding)},
                    {"groups", std::to_string(c.groups)},
                    {"bias", c.bias ? "true" : "false"}});
    const at::Tensor x = at::randn({3, 4, 9, 7});
    layer.build({x});
    CHECK(layer.values["weight"].sizes() == at::IntArrayRef({8, 4 / c.groups, c.kernel, c.kernel}));
    const auto out = layer.infer(SY_TRAIN, {x}).at(0);
    CHECK(layer.forward({x}, {.flags = SY_CALL_NO_SAVE}).at(0).sizes() == at::IntArrayRef(out.shape, 4));
    check_against_autograd(layer, {x},
                           [&](const Tensors& in, const Named& w) {
                             return at::conv2d(in[0], w.at("weight"), c.bias ? w.at("bias") : at::Tensor(), c.stride,
                                               c.padding, 1, c.groups);
                           },
                           {3e-6, 1e-5});
  }
}

TEST_CASE("conv2d declares its memory, copies of oneDNN's about right") {
  for (const char* kernel : {"1", "3"}) {
    OneLayer layer("conv", "conv2d", {{"out", "32"}, {"kernel", kernel}});
    const at::Tensor x = at::randn({4, 16, 32, 32});
    check_memory(layer.build({x}), {x}, 0.3);
  }
}

TEST_CASE("pool2d: windows and the whole image") {
  const at::Tensor x = at::randn({2, 3, 8, 6});
  const auto check = [&](std::map<std::string, std::string> options, const Reference& reference) {
    OneLayer layer("conv", "pool2d", std::move(options));
    layer.build({x});
    const auto out = layer.infer(SY_TRAIN, {x}).at(0);
    CHECK(layer.forward({x}, {.flags = SY_CALL_NO_SAVE}).at(0).sizes() ==
          at::IntArrayRef(out.shape, static_cast<std::size_t>(out.ndim)));
    check_against_autograd(layer, {x}, reference);
    const at::Tensor large = at::randn({8, 16, 32, 32});
    check_memory(layer, {large});
  };
  check({{"size", "2"}}, [](const Tensors& in, const Named&) { return at::max_pool2d(in[0], 2); });
  check({{"size", "3"}, {"stride", "2"}, {"padding", "1"}},
        [](const Tensors& in, const Named&) { return at::max_pool2d(in[0], 3, 2, 1); });
  check({{"size", "2"}, {"kind", "\"avg\""}}, [](const Tensors& in, const Named&) { return at::avg_pool2d(in[0], 2); });
  check({{"kind", "\"avg\""}}, [](const Tensors& in, const Named&) {
    return at::adaptive_avg_pool2d(in[0], {1, 1}).flatten(1);
  });
  check({}, [](const Tensors& in, const Named&) { return in[0].amax({2, 3}); });
}

TEST_CASE("conv2d and pool2d refuse images that are too small") {
  OneLayer conv("conv", "conv2d", {{"out", "2"}, {"kernel", "5"}, {"stride", "2"}});
  CHECK_THROWS_WITH_AS(conv.infer(SY_TRAIN, {at::randn({1, 3, 4, 4})}),
                       doctest::Contains("larger than the padded image"), fake::failure);
  OneLayer pool("conv", "pool2d", {{"size", "5"}});
  CHECK_THROWS_WITH_AS(pool.infer(SY_TRAIN, {at::randn({1, 3, 4, 4})}),
                       doctest::Contains("larger than the padded image"), fake::failure);
}
