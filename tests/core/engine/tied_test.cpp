// Tied weights whose uses lie on different devices: one table as far as anybody can tell.

#include <cmath>
#include <cstring>

#include "faulty_model.hpp"

namespace {

using namespace plain;

const std::string tied = std::string(token_layers) + training;

std::string untied() {
  std::string text = tied;
  const std::string line = "tied_to = \"embed.token.weight\"\n";
  return text.erase(text.find(line), line.size());
}

/// Reads the use's own copy, which the owner's place cannot show: predictions are made from it.
std::vector<float> predictions(Pipe& pipe) {
  HostTensor ids;
  ids.reset(dtype::i64, {2, 6});
  for (int64_t i = 0; i < 12; ++i) ids.values<int64_t>()[i] = i % 11;
  const HostTensor out = pipe.forward(ids, false);
  return {out.values<float>().begin(), out.values<float>().end()};
}

}  // namespace

TEST_CASE("after any number of steps both copies of a tied table hold the same bits") {
  auto split = build(tied), alone = build(tied, {}, true);  // alone there is one copy
  REQUIRE(split->plan().stages.size() > 1);
  for (int n = 1; n <= 20; ++n) {
    step(*split, n), step(*alone, n);
    if (n == 1 || n == 20) CHECK(predictions(*split) == predictions(*alone));
  }
  CHECK(state_of(*split) == state_of(*alone));
}

TEST_CASE("a tied table is counted once, and has one gradient and one place in the optimizer") {
  auto one = build(tied), two = build(untied());
  CHECK(two->model().weight_count() - one->model().weight_count() == 11 * 8);
  int owners = 0;
  for (const Parameter& p : one->model().parameters()) owners += p.name.ends_with("weight") && p.is_tied();
  CHECK(owners == 1);
}

TEST_CASE("weight decay acts once on a tied table") {
  // Without a valid target every gradient is zero, and decay alone moves weights: 1 - 0.1 * 0.1.
  auto pipe = build(tied, {"train.optimizer.weight_decay=0.1"});
  Batch b = batch_for(pipe->model(), 8, 1);
  for (int64_t& t : b.targets.values<int64_t>()) t = -100;
  const auto before = bytes_of(*pipe, "embed.token.weight");
  CHECK(pipe->step(b, 1, 0.1).grad_norm == 0);
  const auto after = bytes_of(*pipe, "embed.token.weight");
  for (std::size_t i = 0; i < before.size(); i += 4) {
    float old = 0, now = 0;
    std::memcpy(&old, &before[i], 4), std::memcpy(&now, &after[i], 4);
    CHECK(now == doctest::Approx(0.99 * old).epsilon(1e-6));
  }
}

TEST_CASE("what is written to a tied table reaches its other use") {
  auto split = build(tied), alone = build(tied, {}, true);
  for (Pipe* p : {split.get(), alone.get()}) {
    std::vector<float> table(11 * 8);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = std::sin(static_cast<float>(i));
    p->write({0, -1}, std::as_bytes(std::span(table)));
    p->values_changed();
  }
  CHECK(predictions(*split) == predictions(*alone));
}
