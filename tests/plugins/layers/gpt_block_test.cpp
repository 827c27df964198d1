#include "transformer_reference.hpp"

using namespace layers;

namespace {

using Options = std::map<std::string, std::string>;

struct Case {
  const char* what;
  Options options;
  BlockShape shape;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"plain", {}, {}},
      {"no mask, exact gelu (the forum's)",
       {{"causal", "false"}, {"activation", "\"gelu\""}},
       {.causal = false, .activation = "gelu"}},
      {"no biases, relu", {{"bias", "false"}, {"activation", "\"relu\""}}, {.activation = "relu"}},
      {"rms, swiglu, rotary",
       {{"norm", "\"rms\""}, {"activation", "\"swiglu\""}, {"rotary", "true"}, {"bias", "false"}},
       {.rotary = true, .rms = true, .activation = "swiglu"}},
      {"shared keys", {{"kv_heads", "2"}, {"heads", "4"}}, {.heads = 4, .kv_heads = 2}},
      {"shared keys, rotary, silu",
       {{"kv_heads", "1"}, {"rotary", "true"}, {"activation", "\"silu\""}},
       {.kv_heads = 1, .rotary = true, .activation = "silu"}},
  };
  return all;
}

Options with_heads(Options o) {
  o.emplace("heads", "2");
  return o;
}

}  // namespace

TEST_CASE("gpt_block is x + attention(norm1(x)), then + feed-forward(norm2(.))") {
  for (const Case& c : cases()) {
    CAPTURE(c.what);
    OneLayer layer("transformer", "gpt_block", with_heads(c.options));
    const at::Tensor x = at::randn({3, 7, 16});
    check_against_autograd(layer.build({x}), {x}, block_of(c.shape), {3e-6, 2e-5});
    OneLayer exact("transformer", "gpt_block", with_heads(c.options));
    const at::Tensor y = x.to(at::kDouble);
    check_against_autograd(exact.build({y}), {y}, block_of(c.shape), {1e-13, 1e-12});
  }
}

TEST_CASE("gpt_block in bf16 stays close to fp64 arithmetic on the same weights") {
  OneLayer layer("transformer", "gpt_block", {{"heads", "2"}});
  const at::Tensor x = at::randn({3, 7, 16}).to(at::kBFloat16);
  check_against_autograd(layer.build({x}), {x}, block_of({}), {4e-2, 8e-2});
}

TEST_CASE("gpt_block declares what it keeps and needs") {
  for (const Case& c : cases()) {
    CAPTURE(c.what);
    OneLayer layer("transformer", "gpt_block", with_heads(c.options));
    const at::Tensor x = at::randn({4, 64, 64});
    check_memory(layer.build({x}), {x});
  }
  OneLayer wide("transformer", "gpt_block", {{"heads", "4"}, {"dropout", "0.1"}});
  const at::Tensor x = at::randn({2, 96, 64});
  check_memory(wide.build({x}), {x});
}

TEST_CASE("gpt_block names its parameters and starts residual projections smaller with depth") {
  OneLayer layer("transformer", "gpt_block",
                 {{"heads", "2"}, {"activation", "\"swiglu\""}, {"depth", "8"}, {"width", "24"}});
  const at::Tensor x = at::randn({1, 3, 8});
  layer.build({x});
  const std::vector<std::string> names = {"norm1.weight",    "norm1.bias",    "attn.qkv.weight", "attn.qkv.bias",
                                          "attn.out.weight", "attn.out.bias", "norm2.weight",    "norm2.bias",
                                          "mlp.up.weight",   "mlp.up.bias",   "mlp.gate.weight", "mlp.gate.bias",
                                          "mlp.down.weight", "mlp.down.bias"};
  CHECK(layer.names == names);
  CHECK(layer.values["attn.qkv.weight"].sizes() == at::IntArrayRef({24, 8}));
  CHECK(layer.values["mlp.down.weight"].sizes() == at::IntArrayRef({8, 24}));
  CHECK(std::string(layer.declared["mlp.down.weight"].init) == "normal(0.0050000000000000001)");
  CHECK(std::string(layer.declared["mlp.up.weight"].init) == "normal(0.02)");
  CHECK(std::string(layer.declared["attn.qkv.bias"].init) == "zeros");
}

TEST_CASE("attention and feed_forward with each norm; two of them make a gpt_block") {
  const at::Tensor x = at::randn({3, 5, 12});
  for (const std::string kind : {"layer", "rms", "none"}) {
    CAPTURE(kind);
    OneLayer attention("transformer", "attention", {{"heads", "3"}, {"norm", '"' + kind + '"'}, {"residual", "false"}});
    check_against_autograd(attention.build({x}), {x},
                           [&](const Tensors& in, const Named& w) {
                             return attention_of(norm_of(in[0], w, "norm.", kind == "rms"), w, "",
                                                 {.heads = 3, .kv_heads = 3});
                           },
                           {3e-6, 2e-5});
    OneLayer network("transformer", "feed_forward", {{"norm", '"' + kind + '"'}, {"width", "20"}});
    check_against_autograd(network.build({x}), {x},
                           [&](const Tensors& in, const Named& w) {
                             return in[0] +
                                    feed_forward_of(norm_of(in[0], w, "norm.", kind == "rms"), w, "", "gelu_tanh");
                           },
                           {3e-6, 2e-5});
    const at::Tensor large = at::randn({4, 64, 36});
    OneLayer a("transformer", "attention", {{"heads", "3"}, {"norm", '"' + kind + '"'}});
    check_memory(a.build({large}), {large});
    OneLayer b("transformer", "feed_forward", {{"norm", '"' + kind + '"'}});
    check_memory(b.build({large}), {large});
  }
}

TEST_CASE("attention refuses widths that heads do not divide") {
  OneLayer layer("transformer", "attention", {{"heads", "3"}});
  CHECK_THROWS_WITH_AS(layer.infer(SY_TRAIN, {at::randn({1, 2, 8})}), doctest::Contains("no multiple of heads = 3"),
                       fake::failure);
}
