#include "generate/sampler.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>

#include "../store/temp_folder.hpp"

using namespace switchyard;
using switchyard::test::contains;
using switchyard::test::failure;

namespace {

const std::vector<float> scores = {0.5f, 3.0f, -1.0f, 2.0f, 3.0f, 0.0f};

std::map<std::int64_t, int> draws(const SamplerOptions& options, const std::vector<float>& from, int count) {
  const Sampler sampler = Sampler::create(options);
  std::map<std::int64_t, int> seen;
  for (int i = 0; i < count; ++i) ++seen[sampler.pick(from, static_cast<std::uint64_t>(i))];
  return seen;
}

std::string refused(SamplerOptions options) {
  return failure([&] { Sampler::create(options); });
}

}  // namespace

TEST_CASE("temperature 0, top_k 1 and top_p 0 take the likeliest, the first of equal ones") {
  for (const SamplerOptions& o : {SamplerOptions{0, 0, 1}, SamplerOptions{1, 1, 1}, SamplerOptions{1, 0, 0}})
    CHECK(draws(o, scores, 20) == std::map<std::int64_t, int>{{1, 20}});
}

TEST_CASE("a tiny temperature draws among the likeliest only, without NaN") {
  for (const double temperature : {1e-4, 1e-300}) {
    const auto seen = draws({temperature, 0, 1}, scores, 200);
    CHECK(seen.size() == 2);
    CHECK(seen.at(1) + seen.at(4) == 200);
  }
}

TEST_CASE("shares follow the softmax") {
  const auto seen = draws({1, 0, 1}, {0.0f, std::log(3.0f)}, 20000);
  CHECK(seen.at(1) / 20000.0 == doctest::Approx(0.75).epsilon(0.02));
  const auto cold = draws({0.5, 0, 1}, {0.0f, std::log(3.0f)}, 20000);
  CHECK(cold.at(1) / 20000.0 == doctest::Approx(0.9).epsilon(0.02));
}

TEST_CASE("top_k keeps the likeliest; of equal ones the lower ids; more than there are is all") {
  const auto seen = draws({10, 3, 1}, scores, 1000);
  CHECK(seen.size() == 3);
  CHECK(seen.contains(3));
  CHECK(draws({10, 2, 1}, {1, 1, 1}, 500).contains(2) == false);
  CHECK(draws({10, 1000, 1}, scores, 500) == draws({10, 6, 1}, scores, 500));
}

TEST_CASE("top_p keeps the fewest that reach the share") {
  const std::vector<float> shares = {std::log(0.5f), std::log(0.3f), std::log(0.2f)};
  CHECK(draws({1, 0, 0.49}, shares, 300).size() == 1);
  CHECK(draws({1, 0, 0.6}, shares, 300).size() == 2);
  CHECK(draws({1, 0, 0.9}, shares, 300).size() == 3);
}

TEST_CASE("the same seed and position give the same id, another seed another text") {
  const Sampler a = Sampler::create({1, 0, 1, 7}), b = Sampler::create({1, 0, 1, 8});
  int different = 0;
  for (std::uint64_t i = 0; i < 50; ++i) {
    CHECK(a.pick(scores, i) == a.pick(scores, i));
    different += a.pick(scores, i) != b.pick(scores, i);
  }
  CHECK(different > 10);
}

TEST_CASE("ids at or above the tokenizer's size are never picked") {
  std::vector<float> padded(64, 0.0f);
  for (std::size_t i = 60; i < 64; ++i) padded[i] = 50;
  for (const auto& [id, n] : draws({1, 0, 1, 0, 60}, padded, 1000)) CHECK(id < 60);
  padded[62] = std::numeric_limits<float>::quiet_NaN();
  CHECK(draws({0, 0, 1, 0, 60}, padded, 1).contains(0));
}

TEST_CASE("scores that are not finite are an error that names the first one") {
  const Sampler sampler = Sampler::create({0});
  CHECK(contains(failure([&] {
                   sampler.pick(std::vector<float>{1, NAN}, 0);
                 }),
                 "15 the model's scores are not finite (nan for id 1)"));
  CHECK(contains(failure([&] { sampler.pick(std::vector<float>{INFINITY, 1}, 0); }), "id 0"));
}

TEST_CASE("wrong options are refused by name") {
  CHECK(contains(refused({-1}), "65 generate.temperature = -1"));
  CHECK(contains(refused({NAN}), "generate.temperature"));
  CHECK(contains(refused({INFINITY}), "generate.temperature"));
  CHECK(contains(refused({1, -1}), "generate.top_k = -1"));
  CHECK(contains(refused({1, 0, 1.5}), "generate.top_p = 1.5"));
  CHECK(contains(refused({1, 0, NAN}), "generate.top_p"));
  CHECK(refused({1, 64, 1}).empty());
}
