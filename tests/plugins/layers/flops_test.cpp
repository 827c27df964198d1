// The flops that layers report, against hand-counted ones: a multiplication and an addition for each element of a
// product, one operation for each addition of a bias or a residual, and what norms, softmax and activations are taken
// to cost for each element (written out below).
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "support/fake_host.hpp"
#include "switchyard/layer.h"

namespace {

struct Input {
  std::vector<int64_t> shape;
  bool ids = false;
};

sy_cost cost_of(const std::string& file, const std::string& type, std::map<std::string, std::string> options,
                std::vector<Input> inputs, uint32_t kind = SY_TRAIN) {
  const auto& api = fake::table<sy_layer_api>(fake::plugin("plugins/sy-layer-" + file + ".so"), SY_KIND_LAYER, type);
  const sy_config config = fake::config(api, std::move(options));
  sy_layer* layer = nullptr;
  fake::must([&](sy_error** e) { return api.create(fake::host(), &config, &layer, e); });
  std::vector<sy_port> in(inputs.size()), out(4);
  std::vector<sy_port*> from, to;
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i].size = sizeof(sy_port);
    in[i].ndim = static_cast<int32_t>(inputs[i].shape.size());
    std::copy(inputs[i].shape.begin(), inputs[i].shape.end(), in[i].shape);
    in[i].compute = {SY_FLOAT, 32, 1};
    in[i].dtype = inputs[i].ids ? sy_dtype{SY_INT, 64, 1} : sy_dtype{SY_FLOAT, 32, 1};
    from.push_back(&in[i]);
  }
  for (sy_port& port : out) port.size = sizeof port, to.push_back(&port);
  uint32_t n = 4;
  const auto count = static_cast<uint32_t>(from.size());
  fake::must([&](sy_error** e) { return api.infer(layer, kind, from.data(), count, to.data(), 4, &n, e); });
  sy_cost c{};
  c.size = sizeof c;
  fake::must([&](sy_error** e) { return api.cost(layer, kind, from.data(), count, &c, e); });
  api.destroy(layer);
  return c;
}

/// Multiplications and additions of [rows, in] times [in, out].
double product(double rows, double in, double out) { return 2 * rows * in * out; }

}  // namespace

TEST_CASE("flops of linear: 6 rows, 5 to 7, one product in each direction, the bias and its gradient") {
  const sy_cost c = cost_of("dense", "linear", {{"out", "7"}}, {{{2, 3, 5}}});
  CHECK(c.flops_forward == 2 * 6 * 5 * 7 + 6 * 7);
  CHECK(c.flops_input == 2 * 6 * 5 * 7);
  CHECK(c.flops_weight == 2 * 6 * 5 * 7 + 6 * 7);
  CHECK(cost_of("dense", "linear", {{"out", "7"}, {"bias", "false"}}, {{{2, 3, 5}}}).flops_forward == 2 * 6 * 5 * 7);
}

TEST_CASE("flops of conv2d: for each of 2 x 4 x 4 pixels a product of (6 / 2) x 3 x 3 with 8 channels") {
  const sy_cost c =
      cost_of("conv", "conv2d", {{"out", "8"}, {"kernel", "3"}, {"stride", "2"}, {"padding", "1"}, {"groups", "2"}},
              {{{2, 6, 8, 8}}});
  CHECK(c.flops_forward == product(32, 27, 8) + 32 * 8);
  CHECK(c.flops_input == product(32, 27, 8));
  CHECK(c.flops_weight == product(32, 27, 8) + 32 * 8);
}

TEST_CASE("flops of norms: 8 for each element of a LayerNorm, 5 of an RMSNorm, half as many more backward") {
  const sy_cost layer = cost_of("norm", "layer_norm", {}, {{{4, 10}}});
  CHECK(layer.flops_forward == 8 * 40);
  CHECK(layer.flops_input == 12 * 40);
  const sy_cost rms = cost_of("norm", "rms_norm", {}, {{{4, 10}}});
  CHECK(rms.flops_forward == 5 * 40);
  CHECK(rms.flops_input == 7.5 * 40);
}

TEST_CASE("flops of embedding: rows are copied, and added in the backward; positions add one more") {
  const sy_cost plain = cost_of("transformer", "embedding", {{"vocabulary", "100"}, {"width", "8"}}, {{{2, 5}, true}});
  CHECK(plain.flops_forward == 0);
  CHECK(plain.flops_input == 0);
  CHECK(plain.flops_weight == 10 * 8);
  const sy_cost learned =
      cost_of("transformer", "embedding", {{"vocabulary", "100"}, {"width", "8"}, {"positions", "\"learned\""}},
              {{{2, 5}, true}});
  CHECK(learned.flops_forward == 10 * 8);
  CHECK(learned.flops_weight == 2 * 10 * 8);
}

TEST_CASE("flops of attention: q, k, v, out, two products of scores, 5 for each element of the softmax") {
  // 2 sequences of 4, width 6, 3 heads of 2: scores are 2 x 3 x 4 x 4
  const std::map<std::string, std::string> bare = {
      {"heads", "3"}, {"norm", "\"none\""}, {"bias", "false"}, {"residual", "false"}, {"causal", "false"}};
  const sy_cost c = cost_of("transformer", "attention", bare, {{{2, 4, 6}}});
  const double dense = product(8, 6, 18) + product(8, 6, 6), scores = 2 * 3 * 4 * 4;
  CHECK(c.flops_forward == dense + 2 * (2 * scores * 2) + 5 * scores);
  CHECK(c.flops_input == dense + 5 * (2 * scores * 2) + 10 * scores);  // the scores are made again
  CHECK(c.flops_weight == dense);
  // causal: a position sees itself and earlier ones, 10 of 16 scores; one of three key heads: qkv is 6 + 2 + 2 wide
  std::map<std::string, std::string> grouped = bare;
  grouped["causal"] = "true", grouped["kv_heads"] = "1";
  const sy_cost g = cost_of("transformer", "attention", grouped, {{{2, 4, 6}}});
  const double seen = 2 * 3 * 10;
  CHECK(g.flops_forward == doctest::Approx(product(8, 6, 10) + product(8, 6, 6) + 2 * (2 * seen * 2) + 5 * seen));
}

TEST_CASE("flops of a GPT block: attention and a feed-forward network of four times the width, with their norms") {
  // width 8, 2 heads of 4, 1 sequence of 4: causal scores are 2 x 10
  const sy_cost c = cost_of("transformer", "gpt_block", {{"heads", "2"}, {"activation", "\"relu\""}}, {{{1, 4, 8}}});
  const double n = 4 * 8, seen = 2 * 10;
  const double qkv = product(4, 8, 24) + 4 * 24, out = product(4, 8, 8) + n, up = product(4, 8, 32) + 4 * 32,
               down = product(4, 32, 8) + n;
  const double attention = 2 * (2 * seen * 4) + 5 * seen, norms = 2 * 8 * n, relu = 4 * 32, residuals = 2 * n;
  CHECK(c.flops_forward == doctest::Approx(qkv + out + up + down + attention + norms + relu + residuals));
  CHECK(c.flops_weight == doctest::Approx(qkv + out + up + down));
}

TEST_CASE("flops of lm_head: its training forward makes the gradients too, its backward hands them over") {
  // 6 rows of 4, 9 classes, no norm: three products, 8 for each logit
  const std::map<std::string, std::string> options = {{"vocabulary", "9"}, {"norm", "\"none\""}};
  const sy_cost c = cost_of("transformer", "lm_head", options, {{{2, 3, 4}}, {{2, 3}, true}});
  CHECK(c.flops_forward == 3 * product(6, 4, 9) + 8 * 6 * 9);
  CHECK(c.flops_input == 0);
  CHECK(c.flops_weight == 0);
  const sy_cost eval = cost_of("transformer", "lm_head", options, {{{2, 3, 4}}, {{2, 3}, true}}, SY_EVAL);
  CHECK(eval.flops_forward == product(6, 4, 9) + 5 * 6 * 9);
}
