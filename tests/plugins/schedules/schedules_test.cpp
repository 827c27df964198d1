// forward, gpipe and 1f1b, and what holds for every schedule, carried out by a small event simulation.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "maps.hpp"

using namespace simulation;

TEST_CASE("gpipe runs all forwards, then all backwards") {
  const Lists lists = plan("gpipe", straight(2, 3));
  CHECK(text(lists[0]) == "F0 F1 F2 B0 B1 B2");
  CHECK(text(lists[1]) == "F0 F1 F2 B0 B1 B2");
}

TEST_CASE("1f1b is the textbook's") {
  const Lists lists = plan("1f1b", straight(4, 6));
  CHECK(text(lists[0]) == "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
  CHECK(text(lists[1]) == "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
  CHECK(text(lists[2]) == "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5");
  CHECK(text(lists[3]) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
}

TEST_CASE("the idle share is (p - 1) / (m + p - 1), also with edges of capacity 1") {
  for (const char* name : {"gpipe", "1f1b"}) {
    for (const uint32_t p : {1, 2, 4, 8}) {
      for (const uint32_t m : {p, 2 * p, 4 * p, 8 * p, 1u, 3u}) {
        Pipe pipe = straight(p, m);
        const Lists lists = plan(name, pipe);
        const double expected = (p - 1.0) / (m + p - 1.0);
        INFO(name << " " << p << " " << m);
        CHECK(run(pipe, lists).idle == doctest::Approx(expected).epsilon(1e-9));
        pipe.capacity = 1;
        CHECK(run(pipe, lists).idle == doctest::Approx(expected).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("stage s keeps m micro-batches under gpipe, min(p - s, m) under 1f1b") {
  for (const uint32_t p : {2, 4, 8}) {
    for (const uint32_t m : {1u, 3u, p, 4 * p}) {
      const Pipe pipe = straight(p, m);
      const auto gpipe = run(pipe, plan("gpipe", pipe)).most_in_flight;
      const auto one = run(pipe, plan("1f1b", pipe)).most_in_flight;
      for (uint32_t s = 0; s < p; ++s) {
        CHECK(gpipe[s] == m);
        CHECK(one[s] == std::min(p - s, m));
      }
    }
  }
}

TEST_CASE("1f1b under round robin is not gpipe: backwards begin early and few micro-batches are in flight") {
  const uint32_t m = 16;
  const Pipe pipe = dealt(8, 2, m);
  const Lists lists = plan("1f1b", pipe);
  const Outcome one = run(pipe, lists), all = run(pipe, plan("gpipe", pipe));
  for (uint32_t s = 0; s < 8; ++s) {
    CHECK(one.most_in_flight[s] <= 8 - s);
    CHECK(all.most_in_flight[s] == m);
  }
  CHECK(one.most_in_flight[0] <= 4);  // two devices are full with few micro-batches
  for (const auto& list : lists) {
    std::size_t forwards = 0;
    while (list[forwards].kind == SY_ACT_F) ++forwards;
    CHECK(forwards < list.size() / 4);
  }
  CHECK(one.idle < 0.2);
}

/// Any map, any costs, some stages that cannot split.
Pipe any_pipe(std::mt19937& random) {
  const uint32_t stages = 1 + random() % 9, devices = 1 + random() % 4, m = 1 + random() % 9;
  Pipe pipe = straight(stages, m);
  pipe.devices = devices;
  for (uint32_t s = 0; s < stages; ++s) {
    pipe.device_of_stage[s] = static_cast<int32_t>(random() % devices);
    pipe.f[s] = 0.1 * (1 + random() % 20);
    pipe.i[s] = 0.1 * (random() % 20);
    pipe.w[s] = 0.1 * (random() % 20);
    pipe.splits.push_back(random() % 3 != 0);
  }
  return pipe;
}

TEST_CASE("every map of stages to devices runs to its end, with edges of capacity 1 but under interleaved") {
  std::mt19937 random(3);
  for (int round = 0; round < 400; ++round) {
    Pipe pipe = any_pipe(random);
    for (const char* name : {"gpipe", "1f1b", "interleaved", "zb_h1", "zbv"}) {
      INFO(name << " " << round);
      const Lists lists = plan(name, pipe);
      pipe.capacity = std::string(name) == "interleaved" ? INT64_MAX : 1;
      Outcome outcome;
      CHECK_NOTHROW(outcome = run(pipe, lists));
      const auto stages = static_cast<uint32_t>(pipe.device_of_stage.size());
      if (std::string(name) == "1f1b")
        for (uint32_t s = 0; s < stages; ++s)
          CHECK(outcome.most_in_flight[s] <= std::min(stages - s, pipe.micro_batches));
      CHECK(plan(name, pipe) == lists);
    }
  }
}

TEST_CASE("a stage that cannot split runs B, all others I and W where the schedule splits") {
  std::mt19937 random(4);
  for (int round = 0; round < 100; ++round) {
    const Pipe pipe = any_pipe(random);
    for (const char* name : {"1f1b", "interleaved", "zb_h1", "zbv"}) {
      const bool splits = std::string(name).starts_with("zb");
      for (const auto& list : plan(name, pipe))
        for (const Action& a : list)
          if (a.kind != SY_ACT_F)
            CHECK((a.kind != SY_ACT_B) == (splits && pipe.splits[static_cast<std::size_t>(a.stage)] != 0));
    }
  }
}

TEST_CASE("fewer micro-batches than stages work, down to one") {
  for (const uint32_t m : {1, 2, 3})
    for (const char* name : {"gpipe", "1f1b", "interleaved", "zb_h1", "zbv"}) {
      const Pipe pipe = straight(4, m);
      CHECK_NOTHROW(run(pipe, plan(name, pipe)));
    }
}

TEST_CASE("evaluation has forwards only, under each schedule") {
  for (const char* name : {"forward", "gpipe", "1f1b", "interleaved", "zb_h1", "zbv"}) {
    Pipe pipe = dealt(6, 3, 4);
    pipe.forward_only = true;
    const Lists lists = plan(name, pipe);
    CHECK_NOTHROW(run(pipe, lists));
    for (const auto& list : lists)
      for (const Action& a : list) CHECK(a.kind == SY_ACT_F);
  }
}

TEST_CASE("forward refuses to train and says what can") {
  try {
    plan("forward", straight(2, 2));
    FAIL("no error");
  } catch (const fake::failure& f) {
    CHECK(f.code == SY_E_CONFIG);
    CHECK(std::string(f.what()).find("1f1b") != std::string::npos);
  }
}

TEST_CASE("unknown costs count as F = I = W = 1") {
  Pipe zero = straight(3, 5), nan = straight(3, 5);
  zero.f = zero.i = zero.w = {0, 0, 0};
  nan.f[1] = NAN;
  for (const char* name : {"1f1b", "zb_h1"}) {
    CHECK(plan(name, zero) == plan(name, straight(3, 5)));
    CHECK(plan(name, nan) == plan(name, straight(3, 5)));
  }
}
