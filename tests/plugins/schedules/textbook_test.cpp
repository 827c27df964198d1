// Idle shares and activations of the papers, from formulas: F = 1, B = 2, I = W = 1, p devices, m micro-batches, v
// stages on each device. Every number holds with edges of
// capacity 1, or 2 under interleaved.
#include <doctest/doctest.h>

#include <algorithm>

#include "maps.hpp"

using namespace simulation;

namespace {

Outcome run_tightly(const std::string& name, Pipe pipe) {
  const Lists lists = plan(name, pipe);
  pipe.capacity = name == "interleaved" ? 2 : 1;
  return run(pipe, lists);
}

/// The order of Megatron-LM on device d: warm-up forwards, then one forward and one backward, then the backwards left.
std::vector<Action> megatron(uint32_t p, uint32_t v, uint32_t m, uint32_t d) {
  const uint32_t all = m * v, warm_up = std::min(all, 2 * (p - d - 1) + (v - 1) * p);
  const auto action = [&](uint32_t kind, uint32_t k) {
    const uint32_t within = k % (p * v), chunk = kind == SY_ACT_F ? within / p : v - 1 - within / p;
    return Action{kind, static_cast<int32_t>(chunk * p + d), static_cast<int32_t>(k / (p * v) * p + within % p)};
  };
  std::vector<Action> list;
  for (uint32_t f = 0; f < warm_up; ++f) list.push_back(action(SY_ACT_F, f));
  for (uint32_t k = 0; k < all; ++k) {
    if (warm_up + k < all) list.push_back(action(SY_ACT_F, warm_up + k));
    list.push_back(action(SY_ACT_B, k));
  }
  return list;
}

}  // namespace

TEST_CASE("interleaved on the regular map is Megatron-LM's order up to four devices") {
  for (const uint32_t p : {1, 2, 3, 4})
    for (const uint32_t v : {2, 3, 4})
      for (const uint32_t m : {p, 2 * p, 4 * p}) {
        const Lists lists = plan("interleaved", dealt(p * v, p, m));
        for (uint32_t d = 0; d < p; ++d) {
          INFO(p << " " << v << " " << m << " " << d);
          CHECK(text(lists[d], true) == text(megatron(p, v, m, d), true));
        }
      }
}

TEST_CASE("interleaved is idle (p - 1) / (v m + p - 1) of the time") {
  for (const uint32_t p : {1, 2, 4, 8})
    for (const uint32_t v : {1, 2, 4})
      for (const uint32_t m : {p, 2 * p, 4 * p, 8 * p}) {
        INFO(p << " " << v << " " << m);
        CHECK(run_tightly("interleaved", dealt(p * v, p, m)).idle == doctest::Approx((p - 1.0) / (v * m + p - 1.0)));
      }
}

TEST_CASE("interleaved keeps (v - 1) p + 2 (p - d - 1) + 1 stage micro-batches on device d") {
  for (const uint32_t p : {2, 4, 8})
    for (const uint32_t v : {2, 4})
      for (const uint32_t m : {2 * p, 4 * p, 2 * p + 1}) {
        const Outcome outcome = run_tightly("interleaved", dealt(p * v, p, m));
        for (uint32_t d = 0; d < p; ++d) {
          const int64_t textbook = (v - 1) * p + 2 * (p - d - 1) + 1;
          INFO(p << " " << v << " " << m << " " << d);
          CHECK(outcome.most_kept[d] <= textbook);
          if (m % p == 0) CHECK(outcome.most_kept[d] == textbook);
        }
      }
}

TEST_CASE("interleaved over one stage on each device is 1f1b") {
  for (const uint32_t p : {1, 2, 5})
    for (const uint32_t m : {1, 3, 8})
      CHECK(run_tightly("interleaved", straight(p, m)).most_kept == run_tightly("1f1b", straight(p, m)).most_kept);
  CHECK(plan("interleaved", straight(4, 6)) == plan("1f1b", straight(4, 6)));
}

TEST_CASE("zb_h1 is the paper's") {
  const Lists lists = plan("zb_h1", straight(2, 4));
  CHECK(text(lists[0]) == "F0 F1 I0 W0 F2 I1 W1 F3 I2 W2 I3 W3");
  CHECK(text(lists[1]) == "F0 I0 F1 I1 W0 F2 I2 W1 F3 I3 W2 W3");
}

TEST_CASE("zb_h1 is idle (p - 1) / (3 m + p - 1) of the time and keeps p micro-batches") {
  for (const uint32_t p : {1, 2, 4, 8})
    for (const uint32_t m : {p, 2 * p, 4 * p, 8 * p}) {
      INFO(p << " " << m);
      const Outcome outcome = run_tightly("zb_h1", straight(p, m));
      CHECK(outcome.idle == doctest::Approx((p - 1.0) / (3.0 * m + p - 1.0)));
      for (const int64_t kept : outcome.most_kept) CHECK(kept <= static_cast<int64_t>(p));
    }
}

TEST_CASE("zb_h1 without a split is no slower than 1f1b") {
  for (const uint32_t p : {2, 4}) {
    Pipe pipe = straight(p, 4 * p);
    pipe.splits.assign(p, 0);
    CHECK(run_tightly("zb_h1", pipe).seconds <= run_tightly("1f1b", pipe).seconds);
  }
}

TEST_CASE("zbv has no gap beyond the p - 1 runs that the last device must wait at its start") {
  for (const uint32_t p : {1, 2, 3, 4, 5, 8})
    for (const uint32_t m : {2 * p, 3 * p + 1, 4 * p, 8 * p}) {
      INFO(p << " " << m);
      const Outcome outcome = run_tightly("zbv", v_shaped(p, m));
      CHECK(outcome.seconds == 6.0 * m + p - 1);
      for (uint32_t d = 0; d < p; ++d)  // the last device's one stage counts twice
        CHECK(outcome.most_kept[d] * (d + 1 == p ? 2 : 1) <= static_cast<int64_t>(2 * p));
    }
}

TEST_CASE("a stage that is a thousandth slower costs zb_h1 and zbv little of what they gain") {
  for (const uint32_t p : {2, 4, 8})
    for (const uint32_t slow : {0u, p / 2, p - 1}) {
      INFO(p << " " << slow);
      Pipe h1 = straight(p, 4 * p), v = v_shaped(p, 4 * p);
      for (Pipe* pipe : {&h1, &v})
        for (auto* costs : {&pipe->f, &pipe->i, &pipe->w}) (*costs)[slow] *= 1.001;
      CHECK(run_tightly("zb_h1", h1).idle < run_tightly("zb_h1", straight(p, 4 * p)).idle + 0.005);
      CHECK(run_tightly("zbv", v).idle < run_tightly("zbv", v_shaped(p, 4 * p)).idle + 0.02);
    }
}
