// How long stages take, to search with: the core's own simulation (sy_place.evaluate) decides in the end.
//
//   seconds(stage) = of its layers on its device for one micro-batch, forward and backward, as sy_place.seconds tells
//   hop(cut)       = latency + bytes that the nearest layer before it hands over / bytes per second of the link
#pragma once

#include <cstdint>
#include <vector>

#include "switchyard/cpp/plugin.hpp"

namespace sy::place {

class time_model {
 public:
  /// The question is lent.
  explicit time_model(const sy_place& in);

  int32_t layers() const { return static_cast<int32_t>(hop_bytes_.size()) - 1; }
  uint32_t micro_batches() const { return in_.micro_batches; }
  /// How long a device computes for one micro-batch with layers first .. end - 1, forward and backward.
  double seconds(int32_t first, int32_t end, int32_t device) const { return between(of(device).all, first, end); }
  double forward_seconds(int32_t first, int32_t end, int32_t device) const {
    return between(of(device).forward, first, end);
  }
  /// How much longer when all layers are recomputed that are free to be.
  double recompute_seconds(int32_t first, int32_t end, int32_t device) const {
    return between(of(device).recompute, first, end);
  }
  /// From one device to another what layers before `cut` make for those behind it; back it takes as long.
  double hop(int32_t cut, int32_t from, int32_t to) const;

  /// Devices of one kind take equally long for every layer.
  std::size_t kind(int32_t device) const { return kind_of_[static_cast<std::size_t>(device)]; }

 private:
  using sums = std::vector<double>;  // of the layers before i
  struct device_kind {
    std::vector<double> probes;  // seconds of a few layers, by which devices are told apart
    sums all, forward, recompute;
  };
  static double between(const sums& s, int32_t first, int32_t end) {
    return s[static_cast<std::size_t>(end)] - s[static_cast<std::size_t>(first)];
  }
  const device_kind& of(int32_t device) const { return kinds_[kind(device)]; }
  device_kind summed(int32_t device) const;

  const sy_place& in_;
  std::vector<double> hop_bytes_;  // of one micro-batch, for the cut before i
  std::vector<device_kind> kinds_;
  std::vector<std::size_t> kind_of_;  // of each device
};

}  // namespace sy::place
