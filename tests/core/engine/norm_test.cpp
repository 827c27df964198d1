// The norm of the gradients: over all devices, tied weights once, without the loss scale.

#include <cmath>

#include "faulty_model.hpp"

namespace {

using namespace plain;

double norm_by_hand(Pipe& pipe) {
  double sum = 0;
  for (const Parameter& p : pipe.model().parameters()) {
    if (!p.trainable || p.is_tied()) continue;
    std::vector<float> g(static_cast<std::size_t>(p.count()));
    pipe.read_gradient(p.index, g);
    for (const float x : g) sum += double{x} * x;
  }
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("the norm is the root of the sum of all squares, for every number of devices, tied weights once") {
  for (const char* layers : {token_layers, table_layers}) {
    double one = 0;
    for (const char* cuts : {"[1]", "[1, 1]", "[1, 1, 1, 1]"}) {
      auto pipe = build(std::string(layers) + training, {std::string("placement.contiguous.weights=") + cuts});
      const double norm = step(*pipe, 1).grad_norm;
      CHECK(norm == doctest::Approx(norm_by_hand(*pipe)).epsilon(1e-9));
      if (one == 0) one = norm;
      CHECK(norm == one);
    }
  }
}

TEST_CASE("clipping scales the update, not the norm that is reported") {
  const auto run = [](const char* clip) {
    return build(
        std::string(table_layers) + training,
        {std::string("train.clip_norm=") + clip, "train.optimizer.type=sgd", "train.optimizer.weight_decay=0.0"});
  };
  auto off = run("0.0"), wide = run("1000.0"), narrow = run("0.001");
  const double norm = step(*off, 1).grad_norm;
  CHECK(step(*wide, 1).grad_norm == norm);
  CHECK(step(*narrow, 1).grad_norm == norm);
  CHECK(state_of(*wide) == state_of(*off));
  CHECK(state_of(*narrow) != state_of(*off));
}
