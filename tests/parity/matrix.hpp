// Plans of one model against one device, bit for bit.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "../core/engine/plain_model.hpp"

namespace parity {

using namespace plain;

inline int devices_used(const Plan& plan) {
  std::set<int> used;
  for (const Stage& s : plan.stages) used.insert(s.device);
  return static_cast<int>(used.size());
}

inline uint64_t largest_peak(const Plan& plan) {
  uint64_t most = 0;
  for (const DeviceMemory& m : plan.memory) most = std::max(most, m.peak());
  return most;
}

struct Case {
  int devices;
  const char* policy;
  const char* schedule;
  int micro_batches;
  const char* recompute;
};

/// One model under many plans, each held against one device.
class Matrix {
 public:
  /// Devices are called `device` with a number behind it: "cpu:", "cuda:0/". `more`: settings of all plans.
  Matrix(const std::string& layers, const std::string& device, std::vector<std::string> more = {})
      : text_(layers + training), device_(device), more_(std::move(more)) {
    for (const LayerEntry& l : parse_config(text_, "test.toml", {}).layers) names_.push_back(l.name);
  }

  /// Losses, every gradient, the clip norm, and weights and buffers after two steps are the same bits.
  void check(const Case& c) {
    CAPTURE(c.devices);
    CAPTURE(std::string(c.policy));
    CAPTURE(std::string(c.schedule));
    CAPTURE(c.micro_batches);
    CAPTURE(std::string(c.recompute));
    auto pipe = build(text_, sets(c));
    int named = c.devices;
    if (const int used = devices_used(pipe->plan()); std::string(c.policy) == "memory_balanced" && used < named) {
      // It leaves devices out where they would not lower the largest peak.
      const uint64_t with_all = largest_peak(pipe->plan());
      Case fewer = c;
      named = fewer.devices = used;
      pipe = build(text_, sets(fewer));
      CHECK(largest_peak(pipe->plan()) == with_all);
    }
    CHECK(devices_used(pipe->plan()) == named);
    CHECK(train(*pipe, steps) == one_device(c.micro_batches));
  }

 private:
  static constexpr int steps = 2;

  std::string name(int device) const { return device_ + std::to_string(device); }
  std::string use(int devices) const {
    std::string list;
    for (int d = 0; d < devices; ++d) list += (d ? ", \"" : "\"") + name(d) + "\"";
    return "devices.use=[" + list + "]";
  }
  std::vector<std::string> with_more(std::vector<std::string> sets) const {
    sets.insert(sets.end(), more_.begin(), more_.end());
    return sets;
  }

  /// "chunks" and "v" are contiguous with two runs on each device, in rounds or back and forth.
  std::vector<std::string> sets(const Case& c) const {
    const std::string policy = c.policy;
    const bool chunks = policy == "chunks" || policy == "v";
    std::vector<std::string> all = {use(c.devices), "placement.policy=" + (chunks ? "contiguous" : policy),
                                    "schedule.type=" + std::string(c.schedule),
                                    "schedule.micro_batches=" + std::to_string(c.micro_batches),
                                    "train.recompute=" + std::string(c.recompute)};
    if (chunks) all.push_back("placement.contiguous.chunks=2");
    if (policy == "v") all.push_back("placement.contiguous.order=v");
    const std::size_t n = names_.size();
    for (std::size_t l = 0; std::string(c.policy) == "explicit" && l < n;
         ++l)  // from the last device back to the first
      all.push_back("placement.explicit.\"" + names_[l] +
                    "\"=" + name(c.devices - 1 - static_cast<int>(l * c.devices / n)));
    return with_more(all);
  }

  const Trace& one_device(int micro_batches) {
    auto found = alone_.find(micro_batches);
    if (found == alone_.end()) {
      auto pipe = build(text_, with_more({use(1), "schedule.micro_batches=" + std::to_string(micro_batches)}), true);
      found = alone_.emplace(micro_batches, train(*pipe, steps)).first;
    }
    return found->second;
  }

  std::string text_, device_;
  std::vector<std::string> more_;
  std::vector<std::string> names_;
  std::map<int, Trace> alone_;
};

}  // namespace parity
