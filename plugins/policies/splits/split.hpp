// A contiguous placement: stage s holds the layers first[s] .. first[s + 1] - 1 and lies on device[s].
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "../stages.hpp"

namespace sy::place {

struct split {
  std::vector<int32_t> first;
  std::vector<int32_t> device;  // each at most once

  std::size_t stages() const { return first.size(); }
  int32_t end(std::size_t s, int32_t layers) const { return s + 1 < first.size() ? first[s + 1] : layers; }
  auto operator<=>(const split&) const = default;
};

/// "cpu:1 with 'h.3' to 'h.7'"
inline std::string stage_text(const sy_place& in, const split& what, std::size_t stage) {
  const int32_t first = what.first[stage], last = what.end(stage, static_cast<int32_t>(in.n_layers)) - 1;
  std::string text = std::string(in.devices[what.device[stage]]->name) + " with '" + in.layers[first]->name + "'";
  if (last > first) text += std::string(" to '") + in.layers[last]->name + "'";
  return text;
}

/// What `other` does differently from `chosen`, in a few words.
inline std::string difference(const sy_place& in, const split& other, const split& chosen) {
  if (other.stages() != chosen.stages()) return counted(other.stages(), "stage");
  for (std::size_t s = 1; s < chosen.stages(); ++s)
    if (other.first[s] != chosen.first[s])
      return std::string("cut before '") + in.layers[other.first[s]]->name + "' instead of '" +
             in.layers[chosen.first[s]]->name + "'";
  return "the same cuts on other devices";
}

/// Writes the answer.
inline void write_split(const sy_place& in, const split& what, sy_placed& out) {
  std::vector<int32_t> device;
  for (std::size_t s = 0; s < what.stages(); ++s)
    device.resize(static_cast<std::size_t>(what.end(s, static_cast<int32_t>(in.n_layers))), what.device[s]);
  write_stages(in, device, out);
}

}  // namespace sy::place
