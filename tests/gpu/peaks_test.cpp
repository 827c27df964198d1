// Peaks of parts of a GPU are within 5 % of their plans, which are made from measured costs.
#include "../parity/peaks.hpp"

#include "../parity/peak_models.hpp"
#include "gpu.hpp"

namespace {

void check_peaks(const std::string& model, double below = 0.05) {
  if (!gpu::skipped()) parity::Peaks(model, "cuda:0/", {"fp32", "bf16", "fp16"}, below).check_all();
}

}  // namespace

TEST_CASE("gpt") { check_peaks(peak_models::gpt); }
TEST_CASE("tied gpt with rotary positions and dropout") { check_peaks(peak_models::tied); }
TEST_CASE("split transformer") { check_peaks(peak_models::transformer); }
// cuDNN takes more scratch memory when a layer is timed by itself than in a pass.
TEST_CASE("convolutional") { check_peaks(peak_models::convolutional, 0.2); }
TEST_CASE("mlp") { check_peaks(peak_models::mlp); }
