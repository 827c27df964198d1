#include "plan/recompute.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/dtype.hpp"

namespace switchyard {

namespace {

constexpr std::size_t most_enumerated = 12;  // layers of one device: 4,096 subsets

/// The choice for one device.
class DeviceChoice {
 public:
  DeviceChoice(const RecomputeQuestion& q, int device, std::vector<bool>& recompute)
      : q_(q),
        device_(device),
        recompute_(recompute),
        budget_((*q.devices)[device].budget),
        fixed_(q.layout->memory[device].fixed()),
        per_stage_(q.layout->stage_memory) {
    for (const Stage& s : q.layout->stages) {
      if (s.device != device) continue;
      stages_.push_back(s);
      for (int l = s.first; l <= s.last; ++l)
        if ((*q.free)[l] && !recompute[l]) free_.push_back(l);
    }
    for (const Stage& s : stages_) in_flight_ = std::max(in_flight_, most_in_flight(s.index));
  }

  /// Writes the choice into the layers' flags.
  void make() {
    const uint64_t needed = missing_with({});
    if (needed == 0 || free_.empty()) return;
    const std::optional<std::vector<int>> chosen = free_.size() <= most_enumerated ? cheapest(needed) : greedy();
    set(free_, !chosen);
    if (chosen) set(*chosen, true);
  }

 private:
  void set(const std::vector<int>& layers, bool on) {
    for (const int l : layers) recompute_[l] = on;
  }

  /// The most bytes that the device can hold with the flags as they are.
  uint64_t peak() {
    for (const Stage& s : stages_)
      per_stage_[s.index] = stage_memory(*q_.memory, s, q_.layout->stage_of_layer, recompute_);
    return fixed_ + most_activations(q_.layout->train[device_], per_stage_, q_.layout->handed_on);
  }
  uint64_t peak_with(const std::vector<int>& layers) {
    set(free_, false);
    set(layers, true);
    return peak();
  }
  /// By how many bytes the device is over its budget; 0: it fits.
  uint64_t missing_with(const std::vector<int>& layers) {
    const uint64_t bytes = peak_with(layers);
    return bytes > budget_ ? bytes - budget_ : 0;
  }

  /// Micro-batches of a stage that are alive at once, the one that is being computed included.
  uint64_t most_in_flight(int stage) const {
    uint64_t now = 0, most = 0;
    for (const Action& a : q_.layout->train[device_]) {
      if (a.stage != stage) continue;
      if (a.kind == SY_ACT_F) most = std::max(most, ++now);
      if (a.kind == SY_ACT_B || a.kind == SY_ACT_W) --now;
    }
    return most;
  }

  /// A kept layer's outputs may be wider than what its consumers see.
  uint64_t compute_bits(int layer) const { return q_.memory->model->layers()[layer].compute.bits; }

  /// What the layer holds for a micro-batch when it is not recomputed: no less than recomputing it can free.
  uint64_t held(int layer) const {
    const sy_cost& c = (*q_.memory->costs)[layer];
    const std::vector<Port>&in = q_.memory->shapes->in[layer], &out = q_.memory->shapes->out[layer];
    uint64_t bytes = c.bytes_saved;
    for (std::size_t i = 0; i < in.size(); ++i)
      if (c.keep_in >> i & 1) bytes += byte_count(in[i]);
    for (std::size_t o = 0; o < out.size(); ++o)
      if (c.keep_out >> o & 1)
        bytes += std::max<uint64_t>(1, compute_bits(layer) / out[o].dtype.bits) * byte_count(out[o]);
    return bytes;
  }
  /// About what recomputing it frees: a recomputed layer holds its inputs.
  double freed(int layer) const {
    double bytes = static_cast<double>(held(layer));
    for (const Port& p : q_.memory->shapes->in[layer]) bytes -= static_cast<double>(byte_count(p));
    return bytes;
  }
  double seconds(int layer) const { return (*q_.seconds)[layer]; }

  /// Every subset, in the order of seconds; those that cannot free enough are not looked at.
  std::optional<std::vector<int>> cheapest(uint64_t needed) {
    struct Subset {
      double seconds = 0;
      int count = 0;
      uint32_t layers = 0;  // bits
      uint64_t freed = 0;   // at most, in one micro-batch
    };
    std::vector<Subset> all{{}};
    for (std::size_t i = 0; i < free_.size(); ++i)
      for (std::size_t k = 0, n = all.size(); k < n; ++k)
        all.push_back({all[k].seconds + seconds(free_[i]), all[k].count + 1, all[k].layers | 1u << i,
                       all[k].freed + held(free_[i])});
    std::erase_if(all, [&](const Subset& s) { return s.freed * in_flight_ < needed; });
    std::sort(all.begin(), all.end(), [](const Subset& a, const Subset& b) {
      return std::tie(a.seconds, a.count, a.layers) < std::tie(b.seconds, b.count, b.layers);
    });
    for (const Subset& s : all) {
      std::vector<int> layers;
      for (std::size_t i = 0; i < free_.size(); ++i)
        if (s.layers >> i & 1) layers.push_back(free_[i]);
      if (missing_with(layers) == 0) return layers;
    }
    return std::nullopt;
  }

  /// The shortest prefix of the ranking that fits, without what it does not need.
  std::optional<std::vector<int>> greedy() {
    std::vector<int> ranking = free_;
    std::erase_if(ranking, [&](int l) { return freed(l) <= 0; });
    std::stable_sort(ranking.begin(), ranking.end(),
                     [&](int a, int b) { return seconds(a) * freed(b) < seconds(b) * freed(a); });
    const auto prefix = [&](std::size_t n) { return std::vector<int>(ranking.begin(), ranking.begin() + n); };
    if (missing_with(ranking) > 0) return std::nullopt;
    std::size_t low = 0, high = ranking.size();  // a prefix of `high` fits
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (missing_with(prefix(middle)) == 0 ? high : low) = middle;
    }
    std::vector<int> chosen = prefix(high);
    cheapen_last(chosen, ranking);
    leave_out(chosen);
    return chosen;
  }

  /// A layer that frees less but costs less may do for the last one.
  void cheapen_last(std::vector<int>& chosen, const std::vector<int>& ranking) {
    std::vector<int> cheaper(ranking.begin() + static_cast<std::ptrdiff_t>(chosen.size()), ranking.end());
    std::erase_if(cheaper, [&](int l) { return seconds(l) >= seconds(chosen.back()); });
    std::stable_sort(cheaper.begin(), cheaper.end(), [&](int a, int b) { return seconds(a) < seconds(b); });
    std::vector<int> tried = chosen;
    tried.pop_back();
    const uint64_t needed = missing_with(tried);
    std::erase_if(cheaper, [&](int l) { return held(l) * in_flight_ < needed; });
    for (std::size_t i = 0; i < std::min(cheaper.size(), tries); ++i) {
      tried.push_back(cheaper[i]);
      if (missing_with(tried) == 0) {
        chosen = tried;
        return;
      }
      tried.pop_back();
    }
  }

  /// The costliest first, of those that may free less than is left.
  void leave_out(std::vector<int>& chosen) {
    std::vector<int> costliest = chosen;
    std::stable_sort(costliest.begin(), costliest.end(), [&](int a, int b) { return seconds(a) > seconds(b); });
    uint64_t left = budget_ - std::min(budget_, peak_with(chosen));
    std::size_t tried = 0;
    for (const int l : costliest) {
      if (freed(l) * static_cast<double>(in_flight_) > static_cast<double>(left)) continue;
      if (++tried > tries) return;
      recompute_[l] = false;
      const uint64_t bytes = peak();
      if (bytes <= budget_)
        std::erase(chosen, l), left = budget_ - bytes;
      else
        recompute_[l] = true;
    }
  }

  static constexpr std::size_t tries = 8;

  const RecomputeQuestion& q_;
  int device_;
  std::vector<bool>& recompute_;
  uint64_t budget_;
  uint64_t fixed_;  // what does not depend on the choice
  std::vector<StageMemory> per_stage_;
  std::vector<Stage> stages_;
  std::vector<int> free_;
  uint64_t in_flight_ = 0;
};

}  // namespace

std::vector<bool> fewest_recomputed(const RecomputeQuestion& question) {
  std::vector<bool> recompute = question.layout->recompute;
  for (std::size_t d = 0; d < question.devices->size(); ++d) {
    const uint64_t budget = (*question.devices)[d].budget;
    if (budget == no_budget || question.layout->memory[d].peak() <= budget) continue;
    DeviceChoice(question, static_cast<int>(d), recompute).make();
  }
  return recompute;
}

}  // namespace switchyard
