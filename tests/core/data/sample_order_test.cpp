#include "data/sample_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "../store/temp_folder.hpp"
#include "base/error.hpp"
#include "data/micro_batches.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

using Samples = std::vector<std::int64_t>;

Samples first_steps(SampleOrder& order, std::int64_t from, std::int64_t to) {
  Samples all;
  for (std::int64_t step = from; step <= to; ++step) {
    const Samples samples = order.step(step);
    CHECK(order.size_of(step) == static_cast<std::int64_t>(samples.size()));
    all.insert(all.end(), samples.begin(), samples.end());
  }
  return all;
}

Samples sorted(Samples samples) {
  std::sort(samples.begin(), samples.end());
  return samples;
}

}  // namespace

TEST_CASE("given order goes through the samples and starts again") {
  auto order = SampleOrder::create({OrderKind::given, 7, 1, 3, true, 0});
  CHECK(order.steps_per_epoch() == 2);
  CHECK(first_steps(order, 1, 3) == Samples{0, 1, 2, 3, 4, 5, 0, 1, 2});
}

TEST_CASE("without drop_last an epoch ends with a smaller batch") {
  auto order = SampleOrder::create({OrderKind::given, 7, 1, 3, false, 0});
  CHECK(order.steps_per_epoch() == 3);
  CHECK(order.step(3) == Samples{6});
  CHECK(order.step(4) == Samples{0, 1, 2});
  auto few = SampleOrder::create({OrderKind::permuted, 2, 1, 8, false, 0});
  CHECK(sorted(few.step(5)) == Samples{0, 1});
}

TEST_CASE("given windows of a text do not overlap") {
  auto order = SampleOrder::create({OrderKind::given, 25, 10, 2, false, 0});
  CHECK(first_steps(order, 1, 2) == Samples{0, 10, 20});
}

TEST_CASE("each epoch is a permutation of its own") {
  auto order = SampleOrder::create({OrderKind::permuted, 100, 1, 10, true, 1});
  Samples all(100);
  std::iota(all.begin(), all.end(), 0);
  const Samples one = first_steps(order, 1, 10), two = first_steps(order, 11, 20);
  CHECK(sorted(one) == all);
  CHECK(sorted(two) == all);
  CHECK(one != all);
  CHECK(one != two);
  auto other = SampleOrder::create({OrderKind::permuted, 100, 1, 10, true, 2});
  CHECK(first_steps(other, 1, 10) != one);
}

TEST_CASE("permutations are even: each sample comes first about equally often") {
  std::vector<int> first(5);
  auto order = SampleOrder::create({OrderKind::permuted, 5, 1, 5, true, 3});
  for (std::int64_t step = 1; step <= 5000; ++step) ++first[static_cast<std::size_t>(order.step(step)[0])];
  for (const int count : first) CHECK(std::abs(count - 1000) < 120);
}

TEST_CASE("drawn samples are even and reach both ends") {
  std::vector<int> seen(10);
  auto order = SampleOrder::create({OrderKind::drawn, 10, 7, 100, true, 4});
  CHECK(order.steps_per_epoch() == 0);
  for (std::int64_t step = 1; step <= 100; ++step)
    for (const std::int64_t sample : order.step(step)) ++seen.at(static_cast<std::size_t>(sample));
  for (const int count : seen) CHECK(std::abs(count - 1000) < 120);
}

TEST_CASE("a step is a pure function of its number: resuming sees the same samples") {
  for (const OrderKind kind : {OrderKind::given, OrderKind::permuted, OrderKind::drawn}) {
    auto through = SampleOrder::create({kind, 23, 1, 4, false, 9});
    first_steps(through, 1, 30);
    auto resumed = SampleOrder::create({kind, 23, 1, 4, false, 9});
    CHECK(first_steps(resumed, 31, 40) == first_steps(through, 31, 40));
  }
}

TEST_CASE("drawn samples depend on their number only, not on the batch") {
  auto small = SampleOrder::create({OrderKind::drawn, 1000, 1, 4, true, 9});
  auto large = SampleOrder::create({OrderKind::drawn, 1000, 1, 8, true, 9});
  CHECK(first_steps(small, 1, 4) == first_steps(large, 1, 2));
}

TEST_CASE("too few samples for a batch are refused with both numbers") {
  CHECK(contains(failure([] {
                   SampleOrder::create({OrderKind::permuted, 5, 1, 8, true, 0});
                 }),
                 "65 the training part gives 5 samples, need >= 8 (train.batch)"));
  CHECK(contains(failure([] { SampleOrder::create({OrderKind::given, 25, 10, 4, true, 0}); }), "gives 3 samples"));
  CHECK(contains(failure([] { SampleOrder::create({OrderKind::given, 0, 1, 1, false, 0}); }), "gives 0 samples"));
  CHECK(failure([] { SampleOrder::create({OrderKind::drawn, 1, 1, 8, true, 0}); }) == "");
}

TEST_CASE("rows are dealt to micro-batches evenly, larger ones first") {
  const auto sizes = [](std::int64_t rows, std::int64_t pieces) {
    Samples counts;
    std::int64_t next = 0;
    for (const RowRange& range : split_rows(rows, pieces)) {
      CHECK(range.first == next);
      next += range.count;
      counts.push_back(range.count);
    }
    CHECK(next == rows);
    return counts;
  };
  CHECK(sizes(5, 4) == Samples{2, 1, 1, 1});
  CHECK(sizes(8, 3) == Samples{3, 3, 2});
  CHECK(sizes(8, 1) == Samples{8});
  CHECK(failure([] { split_rows(2, 4); }) ==
        "65 cannot deal 2 samples to 4 micro-batches: each needs at least one sample");
  CHECK(failure([] { split_rows(2, 0); }) != "");
}
