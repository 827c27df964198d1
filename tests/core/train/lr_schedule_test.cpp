#include "train/lr_schedule.hpp"

#include <doctest/doctest.h>

using switchyard::learning_rate;
using switchyard::LrScheduleConfig;

namespace {

LrScheduleConfig schedule(const char* type, std::int64_t warmup = 0, double final = 0.1) {
  LrScheduleConfig config;
  config.type = type;
  config.warmup = warmup;
  config.final = final;
  return config;
}

}  // namespace

TEST_CASE("constant: the same at every step") {
  for (const std::int64_t step : {1, 5, 10, 11}) CHECK(learning_rate(schedule("constant"), 0.5, 10, step) == 0.5);
}

TEST_CASE("warm-up grows from lr / warmup to lr") {
  for (const char* type : {"constant", "linear", "cosine"}) {
    CHECK(learning_rate(schedule(type, 4), 2, 10, 1) == 0.5);
    CHECK(learning_rate(schedule(type, 4), 2, 10, 3) == 1.5);
    CHECK(learning_rate(schedule(type, 4), 2, 10, 4) == 2);
  }
}

TEST_CASE("linear and cosine end at final * lr, and are half-way down in the middle") {
  for (const char* type : {"linear", "cosine"}) {
    CHECK(learning_rate(schedule(type, 0, 0.2), 1, 10, 10) == doctest::Approx(0.2).epsilon(1e-15));
    CHECK(learning_rate(schedule(type, 2, 0.2), 1, 10, 6) == doctest::Approx(0.6).epsilon(1e-15));
    CHECK(learning_rate(schedule(type, 0, 0.2), 1, 10, 12) == doctest::Approx(0.2).epsilon(1e-15));
  }
}

TEST_CASE("known values of the cosine") {
  CHECK(learning_rate(schedule("cosine", 0, 0), 1, 4, 1) == doctest::Approx(0.8535533905932737));
  CHECK(learning_rate(schedule("cosine", 0, 0), 1, 4, 3) == doctest::Approx(0.1464466094067262));
}

TEST_CASE("a warm-up as long as the run, or longer, is legal") {
  CHECK(learning_rate(schedule("cosine", 10), 1, 10, 10) == 1);
  CHECK(learning_rate(schedule("cosine", 20), 1, 10, 10) == 0.5);
}
