// The plain layers: gradients against finite differences, and what the core relies on.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "layer_driver.hpp"

namespace {

constexpr const char* file = "tests/plugins/plain/sy-layer-plain.so";

double weighted(const std::vector<Value>& out, const std::vector<Value>& weights) {
  double sum = 0;
  for (std::size_t k = 0; k < weights.size(); ++k)
    for (std::size_t i = 0; i < weights[k].numbers.size(); ++i)
      sum += double{out[k].numbers[i]} * weights[k].numbers[i];
  return sum;
}

/// Gradients of inputs and weights of sum(out * random) against central differences.
void check_gradients(Layer& layer, std::vector<Value> in, bool split = false) {
  layer.build(in);
  std::vector<Value> out = layer.forward(in), weights;
  for (std::size_t k = 0; k < out.size(); ++k) {
    weights.push_back(out[k].ids.empty() ? Value::random(out[k].shape, 90 + static_cast<unsigned>(k)) : Value{});
  }
  const std::vector<Value> got = layer.backward(weights, ~uint64_t{0}, split);
  const float h = 1e-2f;
  auto difference = [&](float& x) {
    const float keep = x;
    x = keep + h;
    const double above = weighted(layer.forward(in, false), weights);
    x = keep - h;
    const double below = weighted(layer.forward(in, false), weights);
    x = keep;
    return (above - below) / (2.0 * double{h});
  };
  for (std::size_t k = 0; k < in.size(); ++k)
    for (std::size_t i = 0; i < in[k].numbers.size(); ++i)
      CHECK(got[k].numbers[i] == doctest::Approx(difference(in[k].numbers[i])).epsilon(0.01).scale(1));
  for (std::size_t p = 0; p < layer.values.size(); ++p)
    for (std::size_t i = 0; layer.declared[p].kind == SY_WEIGHT && i < layer.values[p].size(); ++i)
      CHECK(layer.grads[p][i] == doctest::Approx(difference(layer.values[p][i])).epsilon(0.01).scale(1));
}

}  // namespace

TEST_CASE("gradients equal finite differences") {
  SUBCASE("linear") {
    Layer l(file, "plain_linear", {{"out", "3"}});
    check_gradients(l, {Value::random({2, 2, 4}, 1)});
  }
  SUBCASE("linear in two parts") {
    Layer l(file, "plain_linear", {{"out", "3"}, {"bias", "false"}});
    CHECK((l.api.caps & SY_L_SPLIT_BACKWARD) != 0);
    check_gradients(l, {Value::random({2, 4}, 1)}, true);
  }
  SUBCASE("tanh") {
    Layer l(file, "plain_tanh", {});
    check_gradients(l, {Value::random({2, 5}, 2)});
  }
  SUBCASE("norm") {
    Layer l(file, "plain_norm", {});
    check_gradients(l, {Value::random({3, 6}, 3)});
  }
  SUBCASE("add") {
    Layer l(file, "plain_add", {});
    check_gradients(l, {Value::random({3, 2}, 4), Value::random({3, 2}, 5)});
  }
  SUBCASE("dropout") {
    Layer l(file, "plain_dropout", {{"p", "0.4"}});
    check_gradients(l, {Value::random({4, 7}, 6)});
  }
  SUBCASE("batchnorm") {
    Layer l(file, "plain_batchnorm", {});
    check_gradients(l, {Value::random({5, 2, 3}, 7)});
  }
  SUBCASE("split") {
    Layer l(file, "plain_split", {});
    check_gradients(l, {Value::random({2, 3, 4}, 8)});
  }
  SUBCASE("split with an index") {
    Layer l(file, "plain_split", {{"second", "\"index\""}});
    check_gradients(l, {Value::random({2, 4}, 9)});
    CHECK((l.out_ports[1].flags & SY_PORT_DIFFERENTIABLE) == 0);
  }
  SUBCASE("embedding") {
    Layer l(file, "plain_embedding", {{"vocabulary", "5"}, {"width", "3"}, {"context", "4"}});
    check_gradients(l, {Value{{2, 3}, {}, {1, 4, 1, 0, 2, 1}}});
    CHECK(l.in_ports[0].id_limit == 5);
  }
}

TEST_CASE("relu") {
  Layer l(file, "plain_relu", {});
  const std::vector<Value> in{Value{{1, 4}, {-1, 0, 2, -0.5f}, {}}};
  l.build(in);
  CHECK(l.forward(in)[0].numbers == std::vector<float>{0, 0, 2, 0});
  CHECK(l.backward({Value{{1, 4}, {1, 2, 3, 4}, {}}})[0].numbers == std::vector<float>{0, 0, 3, 0});
}

TEST_CASE("losses: sum, right ones, ignored targets, gradients scaled by loss_weight") {
  for (const char* type : {"plain_cross_entropy", "plain_head"}) {
    INFO(type);
    const bool head = std::string(type) == "plain_head";
    Layer l(file, type,
            head ? std::map<std::string, std::string>{{"vocabulary", "4"}, {"bias", "true"}}
                 : std::map<std::string, std::string>{});
    CHECK((l.api.caps & SY_L_LOSS) != 0);
    std::vector<Value> in{Value::random({2, 3, 4}, 11), Value{{2, 3}, {}, {0, 3, -100, 1, 2, 2}}};
    l.build(in, SY_PORT_DIFFERENTIABLE | SY_PORT_IGNORE, -100);
    CHECK(l.in_ports[1].id_limit == 4);
    l.call.loss_weight = 0.2;
    const float sum = l.forward(in)[0].numbers[0];
    const auto dx = l.backward({}, 1)[0].numbers;
    for (std::size_t c = 8; c < 12 && !head; ++c) CHECK(dx[c] == 0);
    l.call.kind = SY_EVAL;
    const auto difference = [&](float& x) {
      const float keep = x, h = 1e-2f;
      x = keep + h;
      const double above = l.forward(in, false)[0].numbers[0];
      x = keep - h;
      const double below = l.forward(in, false)[0].numbers[0];
      x = keep;
      return 0.2 * (above - below) / (2 * double{h});
    };
    CHECK(l.forward(in, false)[0].numbers[0] == sum);
    for (std::size_t i = 0; i < dx.size(); ++i)
      CHECK(dx[i] == doctest::Approx(difference(in[0].numbers[i])).epsilon(0.01).scale(1));
    for (std::size_t p = 0; p < l.values.size(); ++p)
      for (std::size_t i = 0; i < l.values[p].size(); ++i)
        CHECK(l.grads[p][i] == doctest::Approx(difference(l.values[p][i])).epsilon(0.01).scale(1));
  }
}

TEST_CASE("cross entropy of known logits") {
  Layer l(file, "plain_cross_entropy", {});
  const std::vector<Value> in{Value{{2, 2}, {0, 0, 0, std::log(3.0f)}, {}}, Value{{2}, {}, {0, 1}}};
  l.build(in);
  const auto out = l.forward(in)[0].numbers;
  CHECK(out[0] == doctest::Approx(std::log(2.0) + std::log(4.0 / 3)));
  CHECK(out[1] == 2);
  CHECK(l.backward({}, 1)[0].numbers[3] == doctest::Approx(-0.25));
}

TEST_CASE("the head predicts all positions, or the last alone") {
  Layer l(file, "plain_head", {{"vocabulary", "5"}, {"tied_to", "\"embed\""}});
  const std::vector<Value> in{Value::random({2, 3, 4}, 12)};
  l.call.kind = SY_FORWARD;
  l.build(in);
  CHECK(std::string(l.declared[0].tied_to) == "embed");
  const Value all = l.forward(in, false)[0];
  l.call.flags = SY_CALL_LAST_POSITION;
  const Value last = l.forward(in, false)[0];
  CHECK(last.shape == std::vector<int64_t>{2, 1, 5});
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t c = 0; c < 5; ++c) CHECK(last.numbers[r * 5 + c] == all.numbers[(r * 3 + 2) * 5 + c]);
}

TEST_CASE("dropout masks follow from step, sample and element, not from the cut into micro-batches") {
  Layer l(file, "plain_dropout", {{"p", "0.5"}});
  const std::vector<Value> whole{Value{{4, 10}, std::vector<float>(40, 1), {}}},
      half{Value{{2, 10}, std::vector<float>(20, 1), {}}};
  l.build(whole);
  const auto all = l.forward(whole, false)[0].numbers;
  l.call.first_sample = 2;
  const auto tail = l.forward(half, false)[0].numbers;
  CHECK(std::vector<float>(all.begin() + 20, all.end()) == tail);
  l.call.step = 2;
  CHECK(l.forward(half, false)[0].numbers != tail);
  l.call.kind = SY_EVAL;
  CHECK(l.forward(half, false)[0].numbers == half[0].numbers);
}

TEST_CASE("batchnorm: running statistics do not depend on the number of micro-batches; a replay leaves them alone") {
  const std::vector<Value> whole{Value::random({6, 2}, 13)};
  const auto statistics = [&](int64_t pieces, bool replay) {
    Layer l(file, "plain_batchnorm", {});
    l.build(whole);
    const int64_t rows = 6 / pieces;
    for (int64_t k = 0; k < pieces; ++k) {
      const auto* start = whole[0].numbers.data() + k * rows * 2;
      const std::vector<Value> piece{Value{{rows, 2}, {start, start + rows * 2}, {}}};
      l.call.flags = 0;
      l.forward(piece, false);
      l.call.flags = SY_CALL_REPLAY;
      if (replay) l.forward(piece, false);
    }
    l.finish();
    CHECK(l.integer("num_batches_tracked") == 1);
    auto all = l.value("running_mean");
    all.insert(all.end(), l.value("running_var").begin(), l.value("running_var").end());
    return all;
  };
  const auto once = statistics(1, false), thrice = statistics(3, true);
  for (std::size_t i = 0; i < once.size(); ++i) CHECK(once[i] == doctest::Approx(thrice[i]).epsilon(1e-6));
  double mean = 0;
  for (std::size_t r = 0; r < 6; ++r) mean += whole[0].numbers[r * 2] / 6;
  CHECK(once[0] == doctest::Approx(0.1 * mean));
}

TEST_CASE("gradients add up over micro-batches, and no memory stays charged") {
  const int64_t tensors = fake::live_tensors;
  {
    Layer l(file, "plain_linear", {{"out", "3"}});
    const std::vector<Value> in{Value::random({2, 4}, 14)}, d{Value::random({2, 3}, 15)};
    l.build(in);
    l.forward(in);
    l.forward(in);
    l.backward(d);
    const auto one = l.grad("weight");
    l.backward(d);
    for (std::size_t i = 0; i < one.size(); ++i) CHECK(l.grad("weight")[i] == 2 * one[i]);
    CHECK(l.origin.live == 0);
    CHECK(l.origin.peak > 0);
  }
  CHECK(fake::live_tensors == tensors);
}

TEST_CASE("an input gradient that nobody wants is not made") {
  Layer l(file, "plain_linear", {{"out", "3"}});
  const std::vector<Value> in{Value::random({2, 4}, 16)}, d{Value::random({2, 3}, 17)};
  l.build(in);
  l.forward(in);
  CHECK(l.backward(d, 0)[0].numbers.empty());
  CHECK(l.grad("bias")[0] != 0);
}

TEST_CASE("wrong inputs are refused") {
  Layer l(file, "plain_linear", {{"out", "3"}});
  CHECK_THROWS_WITH(l.build({Value::random({2, 4}, 1), Value::random({2, 4}, 1)}),
                    doctest::Contains("expected 1 inputs"));
  CHECK_THROWS_WITH(l.build({Value{{2}, {}, {1, 2}}}), doctest::Contains("fp32"));
  l.build({Value::random({2, 4}, 1)});
  CHECK_THROWS_WITH(l.build({Value::random({2, 5}, 1)}), doctest::Contains("width 4"));
}
