// Budgets: exceeded by the plan, nothing is allocated; exceeded by a layer while it runs, the step is dropped.

#include "base/account.hpp"
#include "faulty_model.hpp"

namespace {

using namespace plain;

std::string memory(uint64_t bytes) {
  const std::string one = std::to_string(bytes);
  return "devices.memory=[" + one + ", " + one + ", " + one + ", " + one + "]";
}

uint64_t largest_peak(Pipe& pipe) {
  uint64_t most = 0;
  for (const DeviceMemory& m : pipe.plan().memory) most = std::max(most, m.peak());
  return most;
}

}  // namespace

TEST_CASE("a plan over its budget is refused before anything is built: layer, device, what is missing") {
  const Error e = error_of([&] { build_faulty("", {memory(1024)}); });
  const std::string text = e.what();
  CHECK(e.code() == SY_E_INFEASIBLE);
  CHECK_MESSAGE(contains(text, "does not fit on cpu:0"), text);
  CHECK_MESSAGE(contains(text, "'stem' (plain_linear)"), text);
}

TEST_CASE("what the plan holds against the budget is enough to run, and not a byte of budget more is taken") {
  const uint64_t peak = largest_peak(*build_faulty(""));
  auto pipe = build_faulty("", {memory(peak + 256)}), free = build_faulty("");  // and room for a few small blocks
  CHECK(train(*pipe, 3) == train(*free, 3));
}

TEST_CASE("a layer that takes more than it declared: asked, in use, budget and plan; the step is dropped") {
  const uint64_t budget = largest_peak(*build_faulty("")) + 4096;
  for (const char* what : {"over_memory", "keep_memory"})
    for (const char* in : {"forward", "backward"}) {
      auto pipe = build_faulty(fault(what, in, 2, 1) + "bytes = 1000000\n", {memory(budget)}), good = build_faulty("");
      CHECK(train(*pipe, 1) == train(*good, 1));
      const auto before = state_of(*pipe);
      const Error e = error_of([&] { step(*pipe, 2); });
      const std::string text = e.what();
      CHECK(e.code() == SY_E_NO_MEMORY);
      CHECK_MESSAGE(contains(text, "layer 2 'x' (faulty), stage 1 on cpu:1, micro-batch 1: "), text);
      CHECK_MESSAGE(contains(text, "1000000 bytes more do not fit, "), text);
      CHECK_MESSAGE(contains(text, " of its budget of " + std::to_string(budget) + " are in use"), text);
      CHECK_MESSAGE(
          contains(text, "the plan predicts a peak of " + std::to_string(pipe->plan().memory[1].peak()) + " bytes"),
          text);
      CHECK(state_of(*pipe) == before);
      CHECK(train(*pipe, 2, 3) == train(*good, 2, 3));
    }
}

TEST_CASE("memory that a dropped step held is free again") {
  const uint64_t budget = largest_peak(*build_faulty("")) + 4096;
  auto pipe = build_faulty(fault("throw", "backward", -1, 3), {memory(budget)});
  for (int n = 1; n <= 20; ++n) CHECK(contains(error_of([&] { step(*pipe, n); }).what(), "faulty: thrown"));
}
