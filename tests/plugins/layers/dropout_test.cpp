// Masks are counters: the same for a sample wherever and with whomever it is computed.
#include "transformer_reference.hpp"

using namespace layers;

namespace {

/// The mask of a place, from random.h alone: scaled, fp64.
at::Tensor mask(const std::string& place, const How& how, at::IntArrayRef shape, double p) {
  at::Tensor m = at::empty(shape, at::kDouble);
  auto* to = m.data_ptr<double>();
  const int64_t rows = shape[0], row = m.numel() / rows;
  uint32_t key[2], words[4];
  sy_random_key(how.seed, sy_hash_name(place.c_str()), key);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t e = 0; e < row; ++e) {
      sy_random_block(key, static_cast<uint32_t>(how.step), static_cast<uint32_t>(how.first_sample + r),
                      static_cast<uint64_t>(e), words);
      to[r * row + e] = sy_dropped(words[e & 3], sy_drop_threshold(p)) ? 0 : 1 / (1 - p);
    }
  return m;
}

/// Forward and backward of the same samples as one micro-batch, and as several: the same outputs and input gradients.
void check_split(OneLayer& layer, const at::Tensor& x, int64_t part, double tolerance) {
  How how{.step = 3, .first_sample = 8};
  const at::Tensor whole = layer.forward({x}, how).at(0);
  const at::Tensor dwhole = layer.backward({at::ones_like(whole)}, 1, ~uint64_t{0}, how).at(0);
  for (int64_t begin = 0; begin < x.size(0); begin += part) {
    how.first_sample = 8 + begin;
    const at::Tensor y = layer.forward({x.narrow(0, begin, part).contiguous()}, how).at(0);
    CHECK(difference(y, whole.narrow(0, begin, part)) <= tolerance);
    const at::Tensor dx = layer.backward({at::ones_like(y)}, 1, ~uint64_t{0}, how).at(0);
    CHECK(difference(dx, dwhole.narrow(0, begin, part)) <= tolerance);
  }
}

}  // namespace

TEST_CASE("dropout scales what it keeps, by the mask of random.h") {
  OneLayer layer("shape", "dropout", {{"p", "0.3"}});
  layer.name = "h.3.drop";
  const How how{.step = 5, .first_sample = 2};
  for (const int64_t width : {1, 7, 64, 1000}) {
    const at::Tensor x = at::randn({3, width});
    layer.build({x});
    const at::Tensor m = mask("h.3.drop", how, x.sizes(), 0.3);
    CHECK(difference(layer.forward({x}, how).at(0), x.to(at::kDouble) * m) < 1e-6);
    CHECK(difference(layer.backward({at::ones_like(x)}, 1, 1, how).at(0), m) < 1e-6);
    CHECK(same_bits(layer.forward({x}, {.kind = SY_EVAL, .flags = SY_CALL_NO_SAVE}).at(0), x));
  }
  const at::Tensor x = at::ones({8, 4000});
  CHECK(std::abs(layer.forward({x}, how).at(0).mean().item<double>() - 1) < 0.02);
  CHECK_FALSE(same_bits(layer.forward({x}, {.step = 6}).at(0), layer.forward({x}, {.step = 7}).at(0)));
  layer.threads = 2;
  const at::Tensor one = layer.forward({x}, how).at(0);
  CHECK(same_bits(one, layer.forward({x}, {.flags = SY_CALL_REPLAY, .step = 5, .first_sample = 2}).at(0)));
}

TEST_CASE("neither the micro-batch nor a replay changes a mask") {
  OneLayer layer("shape", "dropout", {{"p", "0.5"}});
  const at::Tensor x = at::randn({8, 37});
  check_split(layer.build({x}), x, 2, 0);
  OneLayer block("transformer", "gpt_block", {{"heads", "2"}, {"dropout", "0.2"}});
  const at::Tensor h = at::randn({8, 6, 16});
  check_split(block.build({h}), h, 2, 3e-6);
}

TEST_CASE("gpt_block drops attention probabilities and both residual branches") {
  const How how{.step = 2, .first_sample = 4};
  const double p = 0.25;
  for (const bool causal : {true, false}) {
    OneLayer layer("transformer", "gpt_block",
                   {{"heads", "2"}, {"dropout", "0.25"}, {"causal", causal ? "true" : "false"}});
    layer.name = "h.0";
    const at::Tensor x = at::randn({3, 6, 16});
    layer.build({x});
    const at::Tensor leaf = x.to(at::kDouble).set_requires_grad(true);
    const Named w = leaves(layer, at::kDouble);
    const at::Tensor a = attention_of(norm_of(leaf, w, "norm1.", false), w, "attn.", {.causal = causal},
                                      mask("h.0.attn.probabilities", how, {3, 2, 6, 6}, p));
    const at::Tensor middle = leaf + a * mask("h.0.attn.residual", how, {3, 6, 16}, p);
    const at::Tensor f = feed_forward_of(norm_of(middle, w, "norm2.", false), w, "mlp.", "gelu_tanh");
    const at::Tensor expected = middle + f * mask("h.0.mlp.residual", how, {3, 6, 16}, p);
    const at::Tensor y = layer.forward({x}, how).at(0);
    CHECK(difference(y, expected) < 3e-6);
    CHECK(same_bits(y, layer.forward({x}, {.flags = SY_CALL_REPLAY, .step = 2, .first_sample = 4}).at(0)));
    expected.sum().backward();
    CHECK(difference(layer.backward({at::ones_like(y)}, 1, 1, how).at(0), leaf.grad()) < 2e-5);
    for (const auto& n : layer.names) {
      CAPTURE(n);
      CHECK(difference(layer.grads[n], w.at(n).grad()) < 2e-5);
    }
  }
}

TEST_CASE("attention 'h.0.attn' and feed_forward 'h.0.mlp' draw the masks of gpt_block 'h.0'") {
  const std::string drop = "0.3";
  OneLayer block("transformer", "gpt_block", {{"heads", "2"}, {"dropout", drop}});
  OneLayer attention("transformer", "attention", {{"heads", "2"}, {"dropout", drop}});
  OneLayer network("transformer", "feed_forward", {{"dropout", drop}});
  block.name = "h.0", attention.name = "h.0.attn", network.name = "h.0.mlp";
  const at::Tensor x = at::randn({2, 5, 8});
  block.build({x}), attention.build({x}), network.build({x});
  for (auto& [n, v] : attention.values)
    v.copy_(block.values[n.starts_with("norm.") ? "norm1." + n.substr(5) : "attn." + n]);
  for (auto& [n, v] : network.values)
    v.copy_(block.values[n.starts_with("norm.") ? "norm2." + n.substr(5) : "mlp." + n]);
  const at::Tensor whole = block.forward({x}).at(0);
  CHECK(same_bits(network.forward({attention.forward({x}).at(0)}).at(0), whole));
}
