#include "against_autograd.hpp"

using namespace layers;

TEST_CASE("linear is x W^T + b") {
  for (const bool bias : {true, false}) {
    OneLayer layer("dense", "linear", {{"out", "5"}, {"bias", bias ? "true" : "false"}});
    const at::Tensor x = at::randn({3, 4, 7});
    layer.build({x});
    CHECK(layer.names == (bias ? std::vector<std::string>{"weight", "bias"} : std::vector<std::string>{"weight"}));
    CHECK(layer.values["weight"].sizes() == at::IntArrayRef({5, 7}));
    check_against_autograd(layer, {x}, [&](const Tensors& in, const Named& w) {
      return at::linear(in[0], w.at("weight"), bias ? w.at("bias") : at::Tensor());
    });
    check_memory(layer, {x});
  }
}

TEST_CASE("linear computes in fp64 and bf16 when its inputs are; bf16 gradients are added in fp32") {
  const at::Tensor x = at::randn({4, 6}, at::kDouble);
  const Reference reference = [](const Tensors& in, const Named& w) {
    return at::linear(in[0], w.at("weight"), w.at("bias"));
  };
  OneLayer exact("dense", "linear", {{"out", "3"}});
  check_against_autograd(exact.build({x}), {x}, reference, {1e-14, 1e-14});
  OneLayer half("dense", "linear", {{"out", "3"}});
  const at::Tensor y = x.to(at::kBFloat16);
  check_against_autograd(half.build({y}), {y}, reference, {1e-2, 1e-2});
  CHECK(is(half.grads["weight"], at::kFloat));
}

TEST_CASE("activations are LibTorch's, and keep what they declare") {
  const std::map<std::string, at::Tensor (*)(const at::Tensor&)> all = {
      {"relu", [](const at::Tensor& x) { return at::relu(x); }},
      {"gelu", [](const at::Tensor& x) { return at::gelu(x, "none"); }},
      {"gelu_tanh", [](const at::Tensor& x) { return at::gelu(x, "tanh"); }},
      {"silu", [](const at::Tensor& x) { return at::silu(x); }},
      {"tanh", [](const at::Tensor& x) { return at::tanh(x); }},
      {"sigmoid", [](const at::Tensor& x) { return at::sigmoid(x); }}};
  for (const auto& [name, f] : all) {
    CAPTURE(name);
    OneLayer layer("dense", "activation", {{"kind", '"' + name + '"'}});
    const at::Tensor x = at::randn({5, 33});
    layer.build({x});
    check_against_autograd(layer, {x}, [&](const Tensors& in, const Named&) { return f(in[0]); });
    check_memory(layer, {x});
  }
}

TEST_CASE("mlp is linear layers with an activation between") {
  for (const char* kind : {"relu", "silu"}) {
    OneLayer layer("dense", "mlp", {{"widths", "[64, 32, 3]"}, {"activation", std::string("\"") + kind + '"'}});
    const at::Tensor x = at::randn({50, 7});
    layer.build({x});
    CHECK(layer.names == std::vector<std::string>{"0.weight", "0.bias", "1.weight", "1.bias", "2.weight", "2.bias"});
    check_against_autograd(layer, {x}, [&](const Tensors& in, const Named& w) {
      at::Tensor h = in[0];
      for (int i = 0; i < 3; ++i) {
        h = at::linear(h, w.at(std::to_string(i) + ".weight"), w.at(std::to_string(i) + ".bias"));
        if (i < 2) h = std::string(kind) == "relu" ? at::relu(h) : at::silu(h);
      }
      return h;
    });
    check_memory(layer, {x});
  }
}

TEST_CASE("an untrained layer gives input gradients and no weight gradients") {
  OneLayer layer("dense", "linear", {{"out", "3"}});
  const at::Tensor x = at::randn({4, 6});
  layer.build({x}, at::kFloat, /*trained=*/false);
  const at::Tensor y = layer.forward({x}).at(0);
  const at::Tensor dx = layer.backward({at::ones_like(y)}).at(0);
  CHECK(difference(dx, at::ones_like(y).matmul(layer.values["weight"])) < 1e-6);
}
