// Layers that the user fixed to a device.
#pragma once

#include <cstdint>
#include <vector>

#include "switchyard/cpp/plugin.hpp"

namespace sy::place {

class pins {
 public:
  explicit pins(const sy_place& in) {
    latest_.push_back({-1, -1, 0});
    for (uint32_t i = 0; i < in.n_layers; ++i) {
      run now = latest_.back();
      const int32_t pin = in.layers[i]->pin;
      if (pin >= 0) {
        if (pin != now.device) now.alone_from = now.layer + 1;
        now.device = pin, now.layer = static_cast<int32_t>(i);
      }
      latest_.push_back(now);
    }
  }

  /// May layers first .. end - 1 lie on this device?
  bool allow(int32_t first, int32_t end, int32_t device) const {
    const run& before = latest_[static_cast<std::size_t>(end)];
    return before.layer < first || (before.device == device && before.alone_from <= first);
  }

 private:
  struct run {
    int32_t layer, device;  // the last fixed layer before i, and where to; -1: none
    int32_t alone_from;     // from here on no layer is fixed to another device
  };
  std::vector<run> latest_;  // [i]
};

}  // namespace sy::place
