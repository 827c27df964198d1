// bf16, fp16 and layers kept in fp32.

#include <cmath>
#include <cstring>

#include "faulty_model.hpp"

namespace {

using namespace plain;

std::vector<double> losses(const std::vector<std::string>& sets, bool one_device = false) {
  auto pipe = build(faulty_layers("") + faulty_training, sets, one_device);
  std::vector<double> all;
  for (int n = 1; n <= 4; ++n) all.push_back(step(*pipe, n).loss);
  return all;
}

}  // namespace

TEST_CASE("bf16 and fp16 are close to fp32") {
  const auto exact = losses({});
  for (const char* type : {"bf16", "fp16"})
    for (const char* keep : {"[]", "[\"bn\"]", "[\"*\"]"}) {
      CAPTURE(type);
      CAPTURE(keep);
      const auto rounded = losses({std::string("precision.type=") + type, std::string("precision.keep_fp32=") + keep,
                                   "precision.loss_scale=1024"});
      CHECK(rounded != exact);
      for (std::size_t n = 0; n < exact.size(); ++n) CHECK(rounded[n] == doctest::Approx(exact[n]).epsilon(2e-2));
    }
}

TEST_CASE("half precision does not depend on the placement, kept layers on either side of a cut included") {
  for (const char* type : {"bf16", "fp16"})
    for (const char* keep : {"[]", "[\"bn\"]", "[\"a\", \"out\"]"})
      for (const char* recompute : {"false", "true"}) {
        const std::vector<std::string> sets = {std::string("precision.type=") + type,
                                               std::string("precision.keep_fp32=") + keep, "precision.loss_scale=1024",
                                               std::string("train.recompute=") + recompute};
        CHECK(losses(sets) == losses(sets, true));
      }
}

TEST_CASE("a kept layer's weights and statistics are fp32, the others' copies are of the run's type") {
  auto pipe = build_faulty("", {"precision.type=bf16", "precision.keep_fp32=[\"bn\"]"});
  for (const Parameter& p : pipe->model().parameters()) {
    CAPTURE(p.name);
    if (p.name == "bn.num_batches_tracked") continue;
    CHECK(p.dtype == (p.name.starts_with("bn.") ? dtype::f32 : dtype::bf16));
  }
}

TEST_CASE("bf16 gradients are accumulated in bf16 where that is asked for") {
  const auto wide = losses({"precision.type=bf16"}),
             narrow = losses({"precision.type=bf16", "precision.gradients=bf16"});
  CHECK(wide != narrow);
  for (std::size_t n = 0; n < wide.size(); ++n) CHECK(narrow[n] == doctest::Approx(wide[n]).epsilon(5e-2));
}
