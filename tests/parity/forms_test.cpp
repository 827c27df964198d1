// Layers by hand against their forms by LibTorch's autograd: 40 steps of a whole model give one loss curve.
#include <doctest/doctest.h>

#include <cmath>

#include "../core/engine/plain_model.hpp"
#include "models.hpp"

namespace {

using namespace plain;

const std::string training = R"(
[devices]
use = ["cpu:0", "cpu:1"]
threads = 1
[placement]
policy = "contiguous"
[schedule]
type = "1f1b"
micro_batches = 2
[train]
batch = 4
steps = 40
clip_norm = 1.0
optimizer = { type = "adamw", lr = 1e-3 }
)";

/// Every layer that has both forms, by autograd.
std::string by_autograd(std::string layers) {
  for (const char* type : {"gpt_block", "attention", "feed_forward", "linear", "batchnorm"}) {
    const std::string from = "type = \"" + std::string(type) + "\"",
                      to = "type = \"" + std::string(type) + "_autograd\"";
    for (std::size_t at = layers.find(from); at != std::string::npos; at = layers.find(from, at + to.size()))
      layers.replace(at, from.size(), to);
  }
  return layers;
}

void compare(const std::string& layers) {
  REQUIRE(by_autograd(layers) != layers);
  const Trace ours = train(*build(layers + training), 40),
              reference = train(*build(by_autograd(layers) + training), 40);
  for (std::size_t i = 0; i < ours.losses.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(ours.losses[i] - reference.losses[i]) <= 1e-3 * std::fabs(reference.losses[i]));
  }
}

}  // namespace

TEST_CASE("gpt") { compare(models::all()[0].layers); }
TEST_CASE("tied gpt with dropout") { compare(models::all()[1].layers); }
TEST_CASE("split transformer") { compare(models::all()[2].layers); }
