// Maps of stages to devices, and lists as text.
#pragma once

#include "event_simulation.hpp"

namespace simulation {

/// "F0 F1 B0" of one device; with several stages "F0.1": stage 0, micro-batch 1.
inline std::string text(const std::vector<Action>& list, bool with_stage = false) {
  std::string all;
  for (const Action& a : list) {
    all += all.empty() ? "" : " ";
    all += " FBIWR"[a.kind];
    all += (with_stage ? std::to_string(a.stage) + "." : "") + std::to_string(a.micro_batch);
  }
  return all;
}

/// Stages dealt to devices in turn, with equal costs.
inline Pipe dealt(uint32_t stages, uint32_t devices, uint32_t m) {
  Pipe pipe = straight(stages, m);
  pipe.devices = devices;
  for (uint32_t s = 0; s < stages; ++s) pipe.device_of_stage[s] = static_cast<int32_t>(s % devices);
  return pipe;
}

/// 2p equal runs in a V; the two of the last device are neighbours and one stage.
inline Pipe v_shaped(uint32_t p, uint32_t m) {
  Pipe pipe = straight(2 * p - 1, m);
  pipe.devices = p;
  for (uint32_t s = 0; s < 2 * p - 1; ++s) pipe.device_of_stage[s] = static_cast<int32_t>(s < p ? s : 2 * p - 2 - s);
  for (auto* costs : {&pipe.f, &pipe.i, &pipe.w}) (*costs)[p - 1] = 2;
  return pipe;
}

}  // namespace simulation
