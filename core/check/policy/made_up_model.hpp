// Small models of layers that only have sizes, for policies to place; nothing of them is ever computed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "switchyard/plugin.h"

namespace switchyard::checks {

/// A plugin of this library's own: the layer types of these models, and the policy that asks the one under test.
const sy_plugin& made_up_plugin();

/// What a model is planned for.
struct MadeUp {
  uint64_t seed = 1;
  int layers = 6;
  int devices = 2;
  bool branches = false;  // some layers also read an earlier one
  uint64_t budget = 0;    // bytes of each device; 0: none
};
/// As a configuration; its policy is made_up_policy.
std::string configuration(const MadeUp& what);
inline constexpr const char* made_up_policy = "check_policy";
inline constexpr int64_t made_up_width = 16;

/// What the policy under test answered the last time that made_up_policy was asked on this thread.
struct Answer {
  sy_rc rc = SY_OK;
  std::string refusal;
  uint32_t n_stages = 0;
  std::vector<int32_t> stage_of_layer, device_of_stage;
  std::vector<uint8_t> recompute;
  bool closest = false;
  bool operator==(const Answer&) const = default;
};
struct Asked {
  Answer first, second;       // to the same question
  std::string fault;          // why the first is no placement at all; "": it is one
  int32_t misfit_layer = -1;  // by the core's own judgement
  uint64_t misfit_bytes = 0;
};

/// The policy that made_up_policy stands for on this thread, while this lives.
class UnderTest {
 public:
  /// `pinned`: every layer is given its device, as [placement.explicit] does.
  UnderTest(const sy_policy_api& api, sy_policy* policy, bool pinned);
  ~UnderTest();
  UnderTest(const UnderTest&) = delete;
  const Asked& asked() const;
  bool was_asked() const;
};

}  // namespace switchyard::checks
