// Layers whose backward is written by hand against the same layers by LibTorch's autograd: the same weights, inputs and
// calls. Their backward against itself in halves, and against differences of their forward.
#include "against_autograd.hpp"

using namespace layers;

namespace {

using Options = std::map<std::string, std::string>;

struct Case {
  std::string leaf, id;
  Options options;
  std::vector<int64_t> shape;
};

std::string quoted(const std::string& word) { return '"' + word + '"'; }

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* bias : {"true", "false"}) {
    all.push_back({"dense", "linear", {{"out", "11"}, {"bias", bias}}, {3, 5, 8}});
    all.push_back({"norm", "layer_norm", {{"bias", bias}, {"eps", "1e-3"}}, {4, 3, 24}});
    for (const char* f : {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"})
      all.push_back({"dense", "mlp", {{"widths", "[17, 9, 4]"}, {"activation", quoted(f)}, {"bias", bias}}, {5, 2, 8}});
    for (const char* statistics : {"micro", "deferred"})
      for (const char* frozen : {"false", "true"})
        for (const char* axis : {"1", "-1"})
          for (const char* id : {"batchnorm", "batchnorm_fp32"})
            all.push_back({"norm",
                           id,
                           {{"affine", bias}, {"statistics", quoted(statistics)}, {"frozen", frozen}, {"axis", axis}},
                           {6, 5, 4}});
  }
  for (const char* norm : {"layer", "rms", "batch", "none"})
    for (const Options& more :
         std::vector<Options>{{}, {{"bias", "false"}, {"residual", "false"}}, {{"dropout", "0.3"}}}) {
      const auto with = [&](Options options) {
        options.insert(more.begin(), more.end());
        options["norm"] = quoted(norm);
        return options;
      };
      all.push_back({"transformer", "attention", with({{"heads", "4"}}), {2, 5, 16}});
      all.push_back(
          {"transformer", "attention", with({{"heads", "4"}, {"kv_heads", "2"}, {"causal", "false"}}), {2, 5, 16}});
      all.push_back({"transformer", "attention", with({{"heads", "2"}, {"rotary", "true"}}), {2, 5, 16}});
      for (const char* f : {"gelu_tanh", "gelu", "silu", "relu", "swiglu"})
        all.push_back({"transformer", "feed_forward", with({{"width", "20"}, {"activation", quoted(f)}}), {2, 5, 16}});
    }
  for (const char* norm : {"layer", "rms"})
    for (const char* f : {"gelu_tanh", "swiglu", "silu"})  // relu's kink turns rounding into other gradients
      for (const char* dropout : {"0.0", "0.2"})
        all.push_back({"transformer",
                       "gpt_block",
                       {{"heads", "2"}, {"norm", quoted(norm)}, {"activation", quoted(f)}, {"dropout", dropout}},
                       {2, 5, 16}});
  all.push_back({"dense", "mlp", {{"widths", "[6]"}}, {5, 8}});
  all.push_back({"norm", "rms_norm", {{"eps", "1e-3"}}, {4, 3, 24}});
  return all;
}

std::string text_of(const Case& c) {
  std::string text = c.id;
  for (const auto& [key, value] : c.options) text += ' ' + key + '=' + value;
  return text;
}

/// Of one layer, one micro-batch: what comes out of its calls.
struct Results {
  at::Tensor y, evaluated, dx;
  Named grads, values;
};

/// With running statistics that are not those of the beginning.
Results run(OneLayer& layer, const at::Tensor& x, bool halves = false) {
  layer.build({x});
  for (auto& [name, value] : layer.values)
    if (name.ends_with("running_mean") || name.ends_with("running_var")) value.add_(0.25);
  for (auto& [name, g] : layer.grads) g.fill_(0.5);
  Results r;
  r.y = layer.forward({x}).at(0);
  at::manual_seed(23);
  const at::Tensor dy = at::randn(r.y.sizes(), at::kDouble).to(x.scalar_type());
  r.dx = (halves ? layer.backward_in_halves({dy}) : layer.backward({dy})).at(0);
  if (layer.values.count("running_mean") || layer.values.count("norm.running_mean")) layer.finish();
  r.evaluated = layer.forward({x}, {.kind = SY_EVAL, .flags = SY_CALL_NO_SAVE}).at(0);
  r.grads = layer.grads, r.values = layer.values;
  return r;
}

at::Tensor input_of(const Case& c, at::ScalarType type) {
  at::manual_seed(19);
  return (at::randn(c.shape, at::kDouble) * 1.5 + 0.5).to(type);
}

struct Near {
  double y, dx, weights;
};
const std::vector<std::pair<at::ScalarType, Near>>& types() {  // relative to the largest of a tensor
  static const std::vector<std::pair<at::ScalarType, Near>> all = {{at::kDouble, {1e-13, 1e-12, 1e-12}},
                                                                   {at::kFloat, {3e-6, 1e-5, 1e-5}},
                                                                   {at::kBFloat16, {2e-2, 3e-2, 3e-2}},
                                                                   {at::kHalf, {3e-3, 5e-3, 5e-3}}};
  return all;
}

}  // namespace

TEST_CASE("layers by hand give what the same layers by LibTorch's autograd give, for every option and type") {
  for (const Case& c : cases())
    for (const auto& [type, near] : types()) {
      CAPTURE(text_of(c));
      CAPTURE(std::string(at::toString(type)));
      OneLayer hand(c.leaf, c.id, c.options), autograd("autograd", c.id + "_autograd", c.options);
      const at::Tensor x = input_of(c, type);
      const Results a = run(hand, x), b = run(autograd, x);
      CHECK(hand.names == autograd.names);
      CHECK(is(a.y, type));
      CHECK(is(a.dx, type));
      CHECK(difference(a.y, b.y) < near.y);
      CHECK(difference(a.evaluated, b.evaluated) < near.y);
      CHECK(difference(a.dx, b.dx) < near.dx);
      REQUIRE(a.grads.size() == b.grads.size());
      for (const auto& [name, g] : a.grads) {
        CAPTURE(name);
        CHECK(is(g, b.grads.at(name).scalar_type()));
        CHECK(difference(g - 0.5, b.grads.at(name) - 0.5) < std::max(near.weights, is(g, at::kFloat) ? 1e-6 : 0));
      }
      for (const auto& [name, v] : a.values) {
        CAPTURE(name);
        CHECK(difference(v, b.values.at(name)) < 1e-6);  // running statistics are fp32
      }
    }
}

TEST_CASE("a backward by hand in two halves has the bits of the whole") {
  for (const Case& c : cases())
    for (const auto& [type, near] : types()) {
      CAPTURE(text_of(c));
      CAPTURE(std::string(at::toString(type)));
      OneLayer whole(c.leaf, c.id, c.options), parts(c.leaf, c.id, c.options);
      REQUIRE((whole.caps() & SY_L_SPLIT_BACKWARD) != 0);
      const at::Tensor x = input_of(c, type);
      const Results a = run(whole, x), b = run(parts, x, true);
      CHECK(same_bits(a.dx, b.dx));
      for (const auto& [name, g] : a.grads) {
        CAPTURE(name);
        CHECK(same_bits(g, b.grads.at(name)));
      }
    }
}

TEST_CASE("layers by hand declare to the byte what a call keeps and needs, whatever the type") {
  for (Case c : cases())
    for (const auto& [type, near] : types()) {
      CAPTURE(text_of(c));
      CAPTURE(std::string(at::toString(type)));
      if (c.leaf != "norm" && at::isReducedFloatingType(type)) continue;  // oneDNN's products take what they need
      if (c.id == "attention" && c.options.count("dropout")) continue;    // copies of q, k, v depend on the shape
      c.shape[0] = 64;
      OneLayer layer(c.leaf, c.id, c.options);
      const at::Tensor x = input_of(c, type);
      check_memory(layer.build({x}), {x}, 0.02);
    }
}

namespace {

/// d/dh of sum(dy * y) at h = 0 where tensor t moves along `way`, by a central difference.
double slope(OneLayer& layer, const at::Tensor& x, const at::Tensor& dy, at::Tensor t, const at::Tensor& way) {
  constexpr double h = 1e-6;
  double at_ends[2];
  for (const int end : {0, 1}) {
    const at::Tensor before = t.clone();
    t.add_(way, end ? h : -h);
    at_ends[end] = (layer.forward({x}, {.flags = SY_CALL_NO_SAVE}).at(0) * dy).sum().item<double>();
    t.copy_(before);
  }
  return (at_ends[1] - at_ends[0]) / (2 * h);
}

}  // namespace

TEST_CASE("gradients by hand are slopes of the forward, in fp64") {
  for (const Case& c : cases()) {
    if (c.id == "batchnorm_fp32") continue;  // its weights are fp32
    CAPTURE(text_of(c));
    OneLayer layer(c.leaf, c.id, c.options);
    const at::Tensor x = input_of(c, at::kDouble);
    layer.build({x});
    const at::Tensor y = layer.forward({x}).at(0);
    at::manual_seed(29);
    const at::Tensor dy = at::randn(y.sizes(), at::kDouble);
    const at::Tensor dx = layer.backward({dy}).at(0);
    const auto check = [&](const at::Tensor& t, const at::Tensor& gradient) {
      const at::Tensor way = at::randn(t.sizes(), at::kDouble);
      const double expected = slope(layer, x, dy, t, way), found = (gradient * way).sum().item<double>();
      CHECK(std::abs(found - expected) < 1e-6 * (1 + std::abs(expected)));
    };
    check(x, dx);
    for (const auto& [name, g] : layer.grads) {
      CAPTURE(name);
      check(layer.values.at(name), g);
    }
  }
}

TEST_CASE("without a gradient that arrives, a layer by hand gives zeros and adds nothing") {
  for (const Case& c : cases()) {
    CAPTURE(text_of(c));
    OneLayer layer(c.leaf, c.id, c.options);
    const at::Tensor x = input_of(c, at::kFloat);
    layer.build({x}).forward({x});
    const at::Tensor dx = layer.backward({at::Tensor()}).at(0);
    REQUIRE(dx.defined());
    CHECK(same_bits(dx, at::zeros_like(x)));
    for (const auto& [name, g] : layer.grads) CHECK(g.abs().max().item<double>() == 0);
  }
}
