#include "against_autograd.hpp"

using namespace layers;

namespace {

void check(const std::string& id, std::map<std::string, std::string> options, const Tensors& in,
           const Reference& reference) {
  CAPTURE(id);
  OneLayer layer("shape", id, std::move(options));
  layer.build(in);
  const auto out = layer.infer(SY_TRAIN, in).at(0);
  CHECK(layer.forward(in, {.flags = SY_CALL_NO_SAVE}).at(0).sizes() ==
        at::IntArrayRef(out.shape, static_cast<std::size_t>(out.ndim)));
  check_against_autograd(layer, in, reference);
}

}  // namespace

TEST_CASE("add, concat, select, mean, flatten") {
  const at::Tensor a = at::randn({3, 4, 5}), b = at::randn({3, 4, 5}), c = at::randn({3, 4, 5});
  check("add", {}, {a, b}, [](const Tensors& in, const Named&) { return in[0] + in[1]; });
  check("add", {}, {a, b, c}, [](const Tensors& in, const Named&) { return in[0] + in[1] + in[2]; });
  check("concat", {}, {a, b}, [](const Tensors& in, const Named&) { return at::cat({in[0], in[1]}, 2); });
  check("concat", {{"axis", "1"}}, {a, at::randn({3, 2, 5})}, [](const Tensors& in, const Named&) {
    return at::cat({in[0], in[1]}, 1);
  });
  check("select", {}, {a}, [](const Tensors& in, const Named&) { return in[0].select(1, 3); });
  check("select", {{"axis", "2"}, {"index", "1"}}, {a},
        [](const Tensors& in, const Named&) { return in[0].select(2, 1); });
  check("mean", {}, {a}, [](const Tensors& in, const Named&) { return in[0].mean(1); });
  check("mean", {{"axis", "-1"}}, {a}, [](const Tensors& in, const Named&) { return in[0].mean(2); });
  check("flatten", {}, {a}, [](const Tensors& in, const Named&) { return in[0].flatten(1); });
  check("flatten", {}, {at::randn({3, 4})}, [](const Tensors& in, const Named&) { return in[0].flatten(1); });
}

TEST_CASE("they keep nothing") {
  const at::Tensor a = at::randn({8, 64, 32});
  for (const auto& [id, n] : std::map<std::string, int>{
           {"add", 3}, {"concat", 2}, {"select", 1}, {"mean", 1}, {"flatten", 1}, {"dropout", 1}}) {
    CAPTURE(id);
    OneLayer layer("shape", id);
    const Tensors in(static_cast<std::size_t>(n), a);
    check_memory(layer.build(in), in);
  }
}

TEST_CASE("the samples' axis is nobody's") {
  for (const char* id : {"concat", "select", "mean"}) {
    OneLayer layer("shape", id, {{"axis", "0"}});
    CHECK_THROWS_WITH_AS(layer.infer(SY_TRAIN, {at::randn({2, 3}), at::randn({2, 3})}),
                         doctest::Contains("not be 0, the samples"), fake::failure);
  }
  OneLayer add("shape", "add");
  CHECK_THROWS_WITH_AS(add.infer(SY_TRAIN, {at::randn({2, 3}), at::randn({2, 4})}),
                       doctest::Contains("meets shapes [2, 3] and [2, 4]"), fake::failure);
}
