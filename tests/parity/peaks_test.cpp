// Peaks of logical CPU devices are within 5 % of their plans. In fp16 oneDNN converts operands in scratch memory, as
// much as the processor at hand needs.
#include "peaks.hpp"

#include "peak_models.hpp"

namespace {

void check_peaks(const std::string& model) { parity::Peaks(model, "cpu:", {"fp16"}).check_all(); }

}  // namespace

TEST_CASE("gpt") { check_peaks(peak_models::gpt); }
TEST_CASE("tied gpt with rotary positions and dropout") { check_peaks(peak_models::tied); }
TEST_CASE("split transformer") { check_peaks(peak_models::transformer); }
TEST_CASE("convolutional") { check_peaks(peak_models::convolutional); }
TEST_CASE("mlp") { check_peaks(peak_models::mlp); }
