// Peaks of logical CPU devices are within 5 % of their plans. Products in bf16 and fp16, and convolutions, take scratch
// memory from oneDNN, as much as its kernels for the processor at hand need: there costs are measured first.
#include "peaks.hpp"

#include "peak_models.hpp"

namespace {

void check_peaks(const std::string& model, std::set<std::string> timed = {"bf16", "fp16"}) {
  parity::Peaks(model, "cpu:", std::move(timed)).check_all();
}

}  // namespace

TEST_CASE("gpt") { check_peaks(peak_models::gpt); }
TEST_CASE("tied gpt with rotary positions and dropout") { check_peaks(peak_models::tied); }
TEST_CASE("split transformer") { check_peaks(peak_models::transformer); }
TEST_CASE("convolutional") { check_peaks(peak_models::convolutional, {"fp32", "bf16", "fp16"}); }
TEST_CASE("mlp") { check_peaks(peak_models::mlp); }
