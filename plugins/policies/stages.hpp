// From a device for each layer to stages: what all placement policies answer with.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "switchyard/cpp/plugin.hpp"

namespace sy::place {

/// "layer 4 'h.3'"
inline std::string layer_text(const sy_place& in, uint32_t layer) {
  return "layer " + std::to_string(layer) + " '" + in.layers[layer]->name + "'";
}

/// "12 layers", "1 layer"
inline std::string counted(uint64_t n, const std::string& thing) {
  return std::to_string(n) + " " + thing + (n == 1 ? "" : "s");
}

/// "9.1 GiB", "17.5 KiB", "12 bytes"
inline std::string bytes_text(double bytes) {
  if (bytes < 1024) return std::to_string(static_cast<int64_t>(bytes)) + " bytes";
  const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit < 3; ++unit) bytes /= 1024;
  const auto tenths = static_cast<int64_t>(bytes * 10 + 0.5);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " " + units[unit];
}

/// "2.3 %"
inline std::string percent_text(double share) {
  const auto per_mille = std::llround(share * 1000);
  return std::to_string(per_mille / 10) + "." + std::to_string(per_mille % 10) + " %";
}

/// "12.1 ms", "1.53 s", "870 us": three digits
inline std::string seconds_text(double seconds) {
  const bool whole = seconds >= 1, milli = seconds >= 1e-3;
  const double shown = seconds * (whole ? 1 : milli ? 1e3 : 1e6);
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s",
                shown >= 100  ? 0
                : shown >= 10 ? 1
                              : 2,
                shown,
                whole   ? "s"
                : milli ? "ms"
                        : "us");
  return text;
}

/// A pinned layer on another device than its pin: SY_E_CONFIG naming layer, pin and device. `remedy` says what to
/// change.
inline void expect_pins(const sy_place& in, std::span<const int32_t> device_of_layer, const std::string& remedy) {
  for (uint32_t i = 0; i < in.n_layers; ++i) {
    const int32_t pin = in.layers[i]->pin;
    if (pin < 0 || pin == device_of_layer[i]) continue;
    throw fault(SY_E_CONFIG, layer_text(in, i) + " is fixed to " + in.devices[pin]->name +
                                 ", but this policy puts it on " + in.devices[device_of_layer[i]]->name + "; " +
                                 remedy);
  }
}

/// Writes the answer: a stage is a longest run of neighbouring layers on one device. Returns the number of stages.
/// SY_E_CONFIG: more stages than `max_stages` (0: no limit).
inline uint32_t write_stages(const sy_place& in, std::span<const int32_t> device_of_layer, sy_placed& out) {
  uint32_t stages = 0;
  for (uint32_t i = 0; i < in.n_layers; ++i) stages += i == 0 || device_of_layer[i] != device_of_layer[i - 1];
  if (in.max_stages > 0 && stages > in.max_stages)
    throw fault(SY_E_CONFIG, "this placement makes " + counted(stages, "stage") + ", at most " +
                                 std::to_string(in.max_stages) + " are allowed");
  int32_t stage = -1;
  for (uint32_t i = 0; i < in.n_layers; ++i) {
    if (i == 0 || device_of_layer[i] != device_of_layer[i - 1]) out.device_of_stage[++stage] = device_of_layer[i];
    out.stage_of_layer[i] = stage;
  }
  out.n_stages = stages;
  return stages;
}

inline void say(const sy_placed& out, const std::string& text) {
  if (out.why != nullptr) host()->text_add(out.why, text.c_str());
}

/// No layers or no devices is nothing that a policy could place.
inline void expect_something(const sy_place& in) {
  if (in.n_layers == 0 || in.n_devices == 0)
    throw fault(SY_E_CONFIG,
                "nothing to place: " + counted(in.n_layers, "layer") + " on " + counted(in.n_devices, "device"));
}

}  // namespace sy::place
