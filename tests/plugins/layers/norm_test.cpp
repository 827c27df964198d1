#include "transformer_reference.hpp"

using namespace layers;

namespace {

using Options = std::map<std::string, std::string>;

/// Biased mean and variance over everything but `axis`, fp64.
struct Statistics {
  at::Tensor mean, var;
  double n;
};
Statistics statistics_of(const at::Tensor& x, int64_t axis) {
  const at::Tensor flat = x.to(at::kDouble).movedim(axis, 0).flatten(1);
  return {flat.mean(1), flat.var(1, /*unbiased=*/false), static_cast<double>(flat.size(1))};
}
at::Tensor along(const at::Tensor& v, const at::Tensor& x, int64_t axis) {
  std::vector<int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[static_cast<std::size_t>(axis < 0 ? axis + x.dim() : axis)] = v.size(0);
  return v.view(shape);
}
at::Tensor normalised(const at::Tensor& x, const Named& w, int64_t axis, const at::Tensor& mean,
                      const at::Tensor& var) {
  const at::Tensor n = (x - along(mean, x, axis)) / at::sqrt(along(var, x, axis) + 1e-5);
  return w.count("weight") ? n * along(w.at("weight"), x, axis) + along(w.at("bias"), x, axis) : n;
}

const std::vector<std::pair<std::vector<int64_t>, int>>& shapes() {  // and the axis of the channels
  static const std::vector<std::pair<std::vector<int64_t>, int>> all = {
      {{12, 5}, 1},  {{6, 5, 4}, 1},  {{4, 5, 3, 2}, 1}, {{2, 5, 2, 3, 2}, 1},
      {{12, 5}, -1}, {{4, 3, 5}, -1}, {{2, 3, 2, 5}, -1}};
  return all;
}
Options axis_option(int axis) { return {{"axis", std::to_string(axis)}}; }

}  // namespace

TEST_CASE("layer_norm and rms_norm") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    const double t = type == at::kFloat ? 3e-6 : type == at::kDouble ? 1e-13 : 2e-2;
    const at::Tensor x = at::randn({3, 5, 16}).to(type);
    for (const char* bias : {"true", "false"}) {
      OneLayer layer("norm", "layer_norm", {{"bias", bias}});
      check_against_autograd(layer.build({x}), {x},
                             [](const Tensors& in, const Named& w) { return norm_of(in[0], w, "", false); },
                             {t, 4 * t});
    }
    OneLayer rms("norm", "rms_norm");
    check_against_autograd(rms.build({x}), {x},
                           [](const Tensors& in, const Named& w) { return norm_of(in[0], w, "", true); }, {t, 4 * t});
    const at::Tensor large = at::randn({64, 128}).to(type);
    for (const char* id : {"layer_norm", "rms_norm"}) {
      CAPTURE(id);
      OneLayer layer("norm", id);
      check_memory(layer.build({large}), {large});
    }
  }
}

TEST_CASE("batchnorm normalises with the micro-batch's own statistics, over any rank and both axes") {
  for (const char* id : {"batchnorm", "batchnorm_fp32"})
    for (const auto& [shape, axis] : shapes()) {
      CAPTURE(axis);
      const at::Tensor x = at::randn(shape) * 2 + 1;
      OneLayer layer("norm", id, axis_option(axis));
      const auto reference = [axis = axis](const Tensors& in, const Named& w) {
        const at::Tensor flat = in[0].movedim(axis, 0).flatten(1);
        return normalised(in[0], w, axis, flat.mean(1), flat.var(1, false));
      };
      check_against_autograd(layer.build({x}), {x}, reference, {5e-6, 5e-5});
      OneLayer exact("norm", id == std::string("batchnorm") ? id : "batchnorm", axis_option(axis));
      const at::Tensor y = x.to(at::kDouble);
      check_against_autograd(exact.build({y}), {y}, reference, {1e-12, 1e-11});
    }
}

TEST_CASE("batchnorm uses running statistics in EVAL, FORWARD, and in training when frozen") {
  const at::Tensor x = at::randn({4, 5, 3});
  OneLayer layer("norm", "batchnorm");
  layer.build({x});
  layer.values["running_mean"].copy_(at::randn({5}));
  layer.values["running_var"].copy_(at::rand({5}) + 0.5);
  const at::Tensor expected = normalised(x, layer.values, 1, layer.values["running_mean"], layer.values["running_var"]);
  CHECK(difference(layer.forward({x}, {.kind = SY_EVAL, .flags = SY_CALL_NO_SAVE}).at(0), expected) < 2e-6);
  CHECK(difference(layer.forward({x}, {.kind = SY_FORWARD, .flags = SY_CALL_NO_SAVE}).at(0), expected) < 2e-6);

  OneLayer frozen("norm", "batchnorm", {{"frozen", "true"}});
  frozen.build({x});
  CHECK(frozen.values.count("seen.count") == 0);
  frozen.values["running_mean"].copy_(layer.values["running_mean"]);
  frozen.values["running_var"].copy_(layer.values["running_var"]);
  check_against_autograd(frozen, {x}, [](const Tensors& in, const Named& w) {
    return normalised(in[0], w, 1, w.at("running_mean").to(at::kDouble), w.at("running_var").to(at::kDouble));
  });
  frozen.finish();
  CHECK(same_bits(frozen.values["running_mean"], layer.values["running_mean"]));
}

TEST_CASE("deferred statistics of a step are those of the whole batch, whatever the micro-batches") {
  const at::Tensor x = at::randn({12, 5, 4}) * 3 + 2;
  const Statistics all = statistics_of(x, 1);
  for (const std::vector<int64_t>& parts : {std::vector<int64_t>{12}, {4, 4, 4}, {2, 7, 3}}) {
    OneLayer layer("norm", "batchnorm", {{"statistics", "\"deferred\""}, {"momentum", "0.25"}});
    layer.build({x});
    int64_t begin = 0;
    for (const int64_t rows : parts) {
      const at::Tensor part = x.narrow(0, begin, rows).contiguous();
      layer.forward({part}, {.flags = SY_CALL_NO_SAVE});
      layer.forward({part}, {.flags = SY_CALL_REPLAY});  // must leave the accumulators alone
      begin += rows;
    }
    layer.finish();
    CHECK(difference(layer.values["running_mean"], all.mean * 0.25) < 2e-6);
    CHECK(difference(layer.values["running_var"], 0.75 + 0.25 * all.var * all.n / (all.n - 1)) < 5e-6);
    CHECK(layer.values["num_batches_tracked"].item<int64_t>() == 1);
  }
}

TEST_CASE("micro statistics compose one momentum update per micro-batch") {
  const at::Tensor x = at::randn({12, 5, 4}) * 3 + 2;
  OneLayer layer("norm", "batchnorm", {{"momentum", "0.25"}});
  layer.build({x});
  layer.values["running_mean"].fill_(0.5);
  at::Tensor mean = at::full({5}, 0.5, at::kDouble), var = at::ones({5}, at::kDouble);
  for (int step = 0; step < 2; ++step) {
    for (int64_t i = 0; i < 3; ++i) {
      const at::Tensor part = x.narrow(0, 4 * i, 4).contiguous();
      const Statistics s = statistics_of(part, 1);
      mean = 0.75 * mean + 0.25 * s.mean;
      var = 0.75 * var + 0.25 * s.var * s.n / (s.n - 1);
      layer.forward({part}, {.flags = SY_CALL_NO_SAVE});
      layer.forward({part}, {.kind = SY_EVAL, .flags = SY_CALL_NO_SAVE});
    }
    layer.finish();
    for (auto& [n, v] : layer.values)
      if (layer.declared[n].kind == SY_ACCUMULATOR) v.zero_();  // as the core does before each step
  }
  CHECK(difference(layer.values["running_mean"], mean) < 3e-6);
  CHECK(difference(layer.values["running_var"], var) < 5e-6);
  CHECK(layer.values["num_batches_tracked"].item<int64_t>() == 6);
}

TEST_CASE("batchnorm_fp32 has the bits of batchnorm on a cast input, and gives back what came in") {
  const at::Tensor x = at::randn({8, 5, 3}).to(at::kHalf), dy = at::randn({8, 5, 3}).to(at::kHalf);
  OneLayer half("norm", "batchnorm_fp32"), kept("norm", "batchnorm");
  half.build({x}), kept.build({x.to(at::kFloat)});
  CHECK(is(half.values["weight"], at::kFloat));
  const at::Tensor y = half.forward({x}).at(0);
  CHECK(is(y, at::kHalf));
  CHECK(same_bits(y, kept.forward({x.to(at::kFloat)}).at(0).to(at::kHalf)));
  const at::Tensor dx = half.backward({dy}).at(0);
  CHECK(same_bits(dx, kept.backward({dy.to(at::kFloat)}).at(0).to(at::kHalf)));
  CHECK(same_bits(half.grads["weight"], kept.grads["weight"]));
  CHECK(same_bits(half.values["seen.mean"], kept.values["seen.mean"]));
}

TEST_CASE("batchnorm declares its memory, and refuses a single value per channel") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor x = at::randn({16, 32, 8}).to(type);
    OneLayer layer("norm", "batchnorm");
    check_memory(layer.build({x}), {x});
  }
  OneLayer layer("norm", "batchnorm");
  layer.build({at::randn({2, 3})});
  CHECK_THROWS_WITH_AS(layer.forward({at::randn({1, 3})}), doctest::Contains("more than one value per channel"),
                       fake::failure);
}

TEST_CASE("attention with batch norm gathers statistics over rows and time") {
  const at::Tensor x = at::randn({3, 5, 8});
  OneLayer layer("transformer", "attention", {{"heads", "2"}, {"norm", "\"batch\""}});
  layer.build({x});
  layer.forward({x}, {.flags = SY_CALL_NO_SAVE});
  layer.finish();
  CHECK(difference(layer.values["norm.running_mean"], 0.1 * statistics_of(x, -1).mean) < 2e-6);
  CHECK(layer.values["norm.num_batches_tracked"].item<int64_t>() == 1);
}
