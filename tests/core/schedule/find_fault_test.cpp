// What is wrong with a program, said by device, position and action.
#include "schedule/find_fault.hpp"

#include <doctest/doctest.h>

#include "switchyard/schedule.h"

using namespace switchyard;

namespace {

/// "F0.1 B0.1": stage 0, micro-batch 1.
std::vector<Action> program(const std::string& text) {
  std::vector<Action> actions;
  for (std::size_t at = 0; at < text.size(); at += 5)
    actions.push_back(
        {static_cast<uint32_t>(std::string(" FBIWR").find(text[at])), text[at + 1] - '0', text[at + 3] - '0'});
  return actions;
}

/// Two stages on two devices, two micro-batches; the first stage splits, the second does not. "DEVICE POSITION TEXT".
std::string fault(const std::string& first, const std::string& second, bool forward_only = false) {
  const std::vector<Stage> stages = {{0, 0, 0, 0}, {1, 1, 1, 1}};
  const std::vector<bool> splits = {true, false};
  const auto found = find_fault({stages, 2, splits, forward_only}, {program(first), program(second)});
  return found ? std::to_string(found->device) + " " + std::to_string(found->position) + " " + found->text : "";
}

const std::string whole = "F1.0 B1.0 F1.1 B1.1";

}  // namespace

TEST_CASE("complete programs are right, with a whole backward, a split one, and with recomputing") {
  CHECK(fault("F0.0 F0.1 B0.0 B0.1", whole) == "");
  CHECK(fault("F0.0 F0.1 I0.0 I0.1 W0.0 W0.1", whole) == "");
  CHECK(fault("F0.0 F0.1 R0.0 B0.0 R0.1 B0.1", whole) == "");
  CHECK(fault("F0.0 F0.1 R0.1 B0.0 B0.1", whole) == "");
  CHECK(fault("F0.0 F0.1", "F1.0 F1.1", true) == "");
}

TEST_CASE("what is missing is named, at the end of its device's program") {
  CHECK(fault("F0.0 F0.1 B0.0", whole) == "0 3 B of stage 0, micro-batch 1 is missing");
  CHECK(fault("F0.0 B0.0", whole) == "0 2 F of stage 0, micro-batch 1 is missing");
  CHECK(fault("F0.0 F0.1 I0.0 W0.0", whole) == "0 4 I of stage 0, micro-batch 1 is missing");
  CHECK(fault("F0.0 F0.1 I0.0 I0.1 W0.0", whole) == "0 5 W of stage 0, micro-batch 1 is missing");
  CHECK(fault("F0.0 F0.1 B0.0 B0.1", "") == "1 0 F of stage 1, micro-batch 0 is missing");
  CHECK(fault("F0.0", "F1.0 F1.1", true) == "0 1 F of stage 0, micro-batch 1 is missing");
}

TEST_CASE("each kind comes once, in ascending order of micro-batches") {
  const std::string ascending = "; each stage takes micro-batches in ascending order";
  CHECK(fault("F0.1", whole) == "0 0 F of stage 0, micro-batch 1: micro-batch 0 is next" + ascending);
  CHECK(fault("F0.0 F0.0", whole) ==
        "0 1 F of stage 0, micro-batch 0 comes a second time, or after a later one" + ascending);
  CHECK(fault("F0.0 F0.1 B0.1", whole) == "0 2 B of stage 0, micro-batch 1: micro-batch 0 is next" + ascending);
  CHECK(fault("F0.0 F0.1 I0.0 I0.1 W0.1", whole) ==
        "0 4 W of stage 0, micro-batch 1: micro-batch 0 is next" + ascending);
  CHECK(fault("F0.0 F0.1 R0.0 R0.0", whole) ==
        "0 3 R of stage 0, micro-batch 0 comes a second time, or after a later one" + ascending);
}

TEST_CASE("backwards come after their forward, W after its I, R between") {
  CHECK(fault("B0.0", whole) == "0 0 B of stage 0, micro-batch 0 comes before its F");
  CHECK(fault("I0.0", whole) == "0 0 I of stage 0, micro-batch 0 comes before its F");
  CHECK(fault("F0.0 W0.0", whole) == "0 1 W of stage 0, micro-batch 0 comes before its I");
  CHECK(fault("R0.0", whole) == "0 0 R of stage 0, micro-batch 0 comes before its F");
  CHECK(fault("F0.0 B0.0 R0.0", whole) == "0 2 R of stage 0, micro-batch 0 comes after its backward");
}

TEST_CASE("a stage runs B, or I and W where it splits") {
  CHECK(fault("F0.0 B0.0 F0.1 I0.0", whole) == "0 3 I of stage 0, micro-batch 0: the stage mixes B with I and W");
  CHECK(fault("F0.0 I0.0 B0.0", whole) == "0 2 B of stage 0, micro-batch 0: the stage mixes B with I and W");
  CHECK(fault("F0.0 F0.1 B0.0 B0.1", "F1.0 I1.0") ==
        "1 1 I of stage 1, micro-batch 0: no layer of the stage splits its backward; B is wanted");
}

TEST_CASE("stages, devices, micro-batches and kinds that are not there") {
  CHECK(fault("F2.0", whole) == "0 0 F of stage 2, micro-batch 0: there is no such stage; the placement has 2");
  CHECK(fault("F1.0", whole) == "0 0 F of stage 1, micro-batch 0: the stage lies on device 1");
  CHECK(fault("F0.0 F0.1 F0.2", whole) ==
        "0 2 F of stage 0, micro-batch 2: there is no such micro-batch; schedule.micro_batches gives 2");
  CHECK(fault("F0.0 F0.1 B0.0", "F1.0 F1.1", true) == "0 2 B of stage 0, micro-batch 0 in a forward-only program");
  const std::vector<Stage> stages = {{0, 0, 0, 0}};
  const auto found = find_fault({stages, 1, {false}, false}, {{{9, 0, 0}}});
  REQUIRE(found);
  CHECK(found->text == "unknown action 9");
}
