// sgd, adam and adamw against their published rules, worked in double.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "flat_storage.hpp"

namespace {

std::vector<float> random_values(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(n);
  for (float& x : v) x = normal(random);
  return v;
}

void check_close(const std::vector<float>& got, const std::vector<double>& expected, double tolerance = 2e-6) {
  for (std::size_t i = 0; i < got.size(); ++i)
    CHECK(std::fabs(got[i] - expected[i]) <= tolerance * std::max(1.0, std::fabs(expected[i])));
}

struct AdamInDouble {
  double lr, beta1, beta2, eps, decay;
  bool decoupled;
  std::vector<double> w, m, v;
  int t = 0;
  void step(const std::vector<float>& grad) {
    ++t;
    for (std::size_t i = 0; i < w.size(); ++i) {
      double g = grad[i];
      if (decoupled) w[i] -= lr * decay * w[i];
      if (!decoupled) g += decay * w[i];
      m[i] = beta1 * m[i] + (1 - beta1) * g;
      v[i] = beta2 * v[i] + (1 - beta2) * g * g;
      const double m_hat = m[i] / (1 - std::pow(beta1, t)), v_hat = v[i] / (1 - std::pow(beta2, t));
      w[i] -= lr * m_hat / (std::sqrt(v_hat) + eps);
    }
  }
};

}  // namespace

TEST_CASE("adam and adamw follow their papers for 20 steps") {
  for (const bool decoupled : {false, true}) {
    for (const char* betas : {"[0.9, 0.95]", "[0.4, 0.999]"}) {  // both forms of the interpolation
      Storage s(random_values(2500, 1));
      AdamInDouble d{1e-2, betas[3] == '9' ? 0.9 : 0.4, betas[3] == '9' ? 0.95 : 0.999, 1e-8, 0.1, decoupled, {}, {},
                     {}};
      d.w.assign(s.value.begin(), s.value.end());
      d.m.assign(d.w.size(), 0), d.v = d.m;
      Optimizer o(decoupled ? "adamw" : "adam", {{"betas", betas}, {"weight_decay", "0.1"}});
      for (int t = 1; t <= 20; ++t) {
        s.grad = random_values(2500, static_cast<unsigned>(100 + t));
        o.step(s, {1e-2, 1, 1, 0, t});
        d.step(s.grad);
      }
      check_close(s.value, d.w, 1e-5);
      check_close(s.states[0], d.m, 1e-5);
      check_close(s.states[1], d.v, 1e-5);
    }
  }
}

TEST_CASE("the first step of adam moves by lr in the gradient's direction") {
  Storage s({1, 1, 1});
  s.grad = {0.5f, -2e-3f, 0};
  Optimizer("adam", {}).step(s, {0.1, 1, 1, 0, 1});
  CHECK(s.value[0] == doctest::Approx(0.9));
  CHECK(s.value[1] == doctest::Approx(1.1).epsilon(1e-5));
  CHECK(s.value[2] == 1);
}

TEST_CASE("sgd: plain, momentum, dampening, nesterov, weight decay by hand") {
  // w = 2, g = 1, lr = 0.1; second step with g = -1
  const auto two_steps = [](std::map<std::string, std::string> options, std::size_t states) {
    Storage s({2}, states);
    Optimizer o("sgd", std::move(options));
    s.grad = {1};
    o.step(s, {0.1, 1, 1, 0, 1});
    s.grad = {-1};
    o.step(s, {0.1, 1, 1, 0, 2});
    return s.value[0];
  };
  CHECK(two_steps({}, 0) == doctest::Approx(2.0));
  CHECK(two_steps({{"weight_decay", "0.5"}}, 0) == doctest::Approx(1.8 - 0.1 * (-1 + 0.9)));
  CHECK(two_steps({{"momentum", "0.9"}}, 1) == doctest::Approx(1.9 - 0.1 * (0.9 - 1)));
  CHECK(two_steps({{"momentum", "0.9"}, {"dampening", "0.5"}}, 1) == doctest::Approx(1.9 - 0.1 * (0.9 - 0.5)));
  CHECK(two_steps({{"momentum", "0.9"}, {"nesterov", "true"}}, 1) ==
        doctest::Approx(2 - 0.1 * 1.9 - 0.1 * (-1 + 0.9 * (0.9 - 1))));
}

TEST_CASE("states are declared; sgd without momentum needs none") {
  CHECK(Optimizer("adamw", {}).states() == std::vector<std::string>{"exp_avg", "exp_avg_sq"});
  CHECK(Optimizer("adam", {}).states() == std::vector<std::string>{"exp_avg", "exp_avg_sq"});
  CHECK(Optimizer("sgd", {}).states().empty());
  CHECK(Optimizer("sgd", {{"momentum", "0.9"}}).states() == std::vector<std::string>{"momentum_buffer"});
}

TEST_CASE("one decay of a shared table: gradient 0, lr 0.1, decay 0.1 scales it by 0.99") {
  Storage s({1, -2, 4});
  Optimizer("adamw", {{"weight_decay", "0.1"}}).step(s, {0.1, 1, 1, 0, 1});
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(s.value[i] == doctest::Approx(std::vector<float>{1, -2, 4}[i] * 0.99f).epsilon(1e-7));
}

TEST_CASE("segments have their own decay and learning rate") {
  for (const char* name : {"adamw", "adam", "sgd"}) {
    Storage s({1, 1, 1});
    s.segments = {Storage::segment(0, 1, 0), Storage::segment(1, 1, 1), Storage::segment(2, 1, 1, 0.5)};
    Optimizer(name, {{"weight_decay", "0.1"}}).step(s, {0.1, 1, 1, 0, 1});
    INFO(name);
    CHECK(s.value[0] == 1);
    CHECK(s.value[1] < 1);
    CHECK(1 - s.value[2] == doctest::Approx((1 - s.value[1]) / 2).epsilon(1e-4));
  }
}

TEST_CASE("padding and what lies behind the segments stay untouched") {
  for (const char* name : {"adamw", "adam", "sgd"}) {
    Storage s(std::vector<float>(5000, 1));
    s.grad.assign(5000, 1);
    s.copy.assign(5000, 7);
    s.segments = {Storage::segment(0, 1500), Storage::segment(1600, 3), Storage::segment(3000, 1024)};
    Optimizer(name, {}).step(s, {0.1, 1, 1, 0, 1});
    INFO(name);
    for (std::size_t i = 0; i < 5000; ++i) {
      const bool inside = i < 1500 || (i >= 1600 && i < 1603) || (i >= 3000 && i < 4024);
      CHECK((s.value[i] != 1) == inside);
      CHECK((s.copy[i] != 7) == inside);
      if (std::string(name) != "sgd") CHECK((s.states[0][i] != 0) == inside);
    }
  }
}

TEST_CASE("a skipped step changes nothing") {
  for (const char* name : {"adamw", "adam", "sgd"}) {
    Storage s({1, 2});
    s.grad = {INFINITY, NAN};
    s.copy = {7, 7};
    Optimizer(name, {{"weight_decay", "0.1"}}).step(s, {0.1, 1, 1, 1, 1});
    CHECK(s.value == std::vector<float>{1, 2});
    CHECK(s.states[0] == std::vector<float>{0, 0});
    CHECK(s.copy == std::vector<uint16_t>{7, 7});
  }
}

TEST_CASE("gradients are unscaled and clipped in the same pass") {
  for (const char* name : {"adamw", "adam", "sgd"}) {
    Storage scaled(random_values(100, 4)), plain = scaled;
    plain.grad = random_values(100, 5);
    for (std::size_t i = 0; i < 100; ++i) scaled.grad[i] = plain.grad[i] * 65536.0f * 4.0f;
    Optimizer(name, {}).step(scaled, {0.1, 1.0 / 65536, 0.25, 0, 1});
    Optimizer(name, {}).step(plain, {0.1, 1, 1, 0, 1});
    CHECK(scaled.value == plain.value);
  }
}

TEST_CASE("bf16 gradients give what the same numbers in fp32 give") {
  for (const char* name : {"adamw", "adam", "sgd"}) {
    Storage brain(random_values(2000, 6)), single = brain;
    single.grad = random_values(2000, 7);
    brain.grad16.resize(2000);
    for (std::size_t i = 0; i < 2000; ++i) {
      brain.grad16[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(single.grad[i]) >> 16);
      single.grad[i] = std::bit_cast<float>(uint32_t{brain.grad16[i]} << 16);
    }
    Optimizer o(name, {});
    o.step(brain, {0.1, 0.5, 1, 0, 1});
    o.step(single, {0.1, 0.5, 1, 0, 1});
    CHECK(brain.value == single.value);
    CHECK(o.norms(brain) == o.norms(single));
  }
}

TEST_CASE("the copy is the new value, rounded to nearest even") {
  std::vector<float> values{1.0f,     1.0f + 0x1p-8f, 1.0f + 0x3p-8f, 0x1.01p-8f + 1.0f, 1e30f,           -65520.0f,
                            65519.0f, 0x1p-25f,       0x1.8p-25f,     1.0f + 0x1p-11f,   1.0f + 0x3p-11f, 0.0f};
  Storage s(values, 0);
  s.copy.assign(values.size(), 7);
  Optimizer("sgd", {}).step(s, {0.1, 1, 1, 0, 1});
  CHECK(s.copy == std::vector<uint16_t>{0x3F80, 0x3F80, 0x3F82, 0x3F81, 0x714A, 0xC780, 0x4780, 0x3300, 0x3340, 0x3F80,
                                        0x3F80, 0x0000});
  s.copy_dtype = {SY_FLOAT, 16, 1};
  Optimizer("sgd", {}).step(s, {0.1, 1, 1, 0, 1});
  CHECK(s.copy == std::vector<uint16_t>{0x3C00, 0x3C04, 0x3C0C, 0x3C04, 0x7C00, 0xFC00, 0x7BFF, 0x0000, 0x0001, 0x3C00,
                                        0x3C02, 0x0000});
}

TEST_CASE("norms are sums of squares of each segment as stored") {
  Storage s(std::vector<float>(4000, 0));
  s.grad = random_values(4000, 8);
  s.segments = {Storage::segment(0, 7), Storage::segment(16, 1001), Storage::segment(2000, 0),
                Storage::segment(2000, 2000)};
  const auto norms = Optimizer("adamw", {}).norms(s);
  for (std::size_t k = 0; k < s.segments.size(); ++k) {
    long double sum = 0;
    for (uint64_t i = 0; i < s.segments[k].count; ++i) {
      const long double g = s.grad[s.segments[k].offset + i];
      sum += g * g;
    }
    CHECK(norms[k] == doctest::Approx(static_cast<double>(sum)).epsilon(1e-14));
  }
}

TEST_CASE("a norm depends on the segment alone, not on where it lies") {
  Storage here(std::vector<float>(3000, 0)), there = here;
  const auto g = random_values(1013, 9);
  std::copy(g.begin(), g.end(), here.grad.begin());
  std::copy(g.begin(), g.end(), there.grad.begin() + 1601);
  here.segments = {Storage::segment(0, 1013)};
  there.segments = {Storage::segment(0, 64), Storage::segment(1601, 1013)};
  Optimizer o("sgd", {});
  CHECK(o.norms(here)[0] == o.norms(there)[1]);
}

TEST_CASE("squares that overflow fp32 do not overflow a norm; infinity shows") {
  Storage s({0, 0});
  s.grad = {3e30f, 4e30f};
  Optimizer o("adam", {});
  CHECK(std::sqrt(o.norms(s)[0]) == doctest::Approx(5e30).epsilon(1e-6));
  s.grad = {INFINITY, 1};
  CHECK(std::isinf(o.norms(s)[0]));
}

TEST_CASE("wrong options are refused with what was expected") {
  CHECK_THROWS_WITH(Optimizer("adam", {{"betas", "[0.9]"}}), doctest::Contains("two numbers"));
  CHECK_THROWS_WITH(Optimizer("adamw", {{"betas", "[0.9, 1.0]"}}), doctest::Contains("below 1"));
  CHECK_THROWS_WITH(Optimizer("sgd", {{"nesterov", "true"}}), doctest::Contains("momentum"));
}

TEST_CASE("weights on another kind of device are refused") {
  Storage s({1});
  CHECK(Optimizer("adamw", {}).step_on(s, {7, 0}) == SY_E_UNIMPLEMENTED);
}
