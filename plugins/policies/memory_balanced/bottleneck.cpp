#include "bottleneck.hpp"

#include <algorithm>
#include <limits>

namespace sy::place {
namespace {

constexpr int32_t unreached = std::numeric_limits<int32_t>::max();

}  // namespace

/// The first layer of the longest stage that ends before `end`, begins at `least` or later and takes at most `bytes`;
/// `end` when not even one layer fits.
int32_t bottleneck_search::reach(int32_t end, int32_t least, double bytes, double flight, const device_class& c) const {
  int32_t first = end;
  for (double spike = 0; first > least; --first) {
    const int32_t pin = model_.pin(first - 1);
    if (pin >= 0 && pin != c.devices.front()) break;
    spike = std::max(spike, model_.spike(first - 1));
    if (model_.fixed(first - 1, end) + flight * model_.kept(first - 1, end) + spike > bytes) break;
  }
  return first;
}

/// Packs all layers into exactly `stages` stages, or into at most most_stages_ when `stages` is 0.
std::optional<bottleneck_search::packing> bottleneck_search::pack(double ratio, std::size_t stages,
                                                                  const in_flight& flight) const {
  std::vector<std::size_t> step(classes_.size() + 1, 1);  // of class c in the table's index
  for (std::size_t c = 0; c < classes_.size(); ++c) step[c + 1] = step[c] * (classes_[c].devices.size() + 1);
  const std::size_t limit = stages ? stages : most_stages_;
  std::vector<int32_t> first(step.back(), unreached);
  std::vector<std::size_t> from_class(step.back(), classes_.size());
  first[0] = model_.layers();
  for (std::size_t at = 0; at < first.size(); ++at) {
    if (first[at] == unreached) continue;
    std::size_t used = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) used += at / step[c] % (classes_[c].devices.size() + 1);
    if (first[at] == 0 && (stages == 0 || used == stages)) {
      packing p;
      for (std::size_t i = at; i != 0; i -= step[from_class[i]])
        p.classes.push_back(from_class[i]), p.first.push_back(first[i]);
      std::reverse(p.classes.begin(), p.classes.end());
      std::reverse(p.first.begin(), p.first.end());
      return p;
    }
    if (used >= limit) continue;
    const int32_t least = stages ? static_cast<int32_t>(stages - used - 1) : 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (at / step[c] % (classes_[c].devices.size() + 1) == classes_[c].devices.size()) continue;
      const int32_t begin = reach(first[at], least, ratio * classes_[c].budget, flight_at(flight, used), classes_[c]);
      if (begin == first[at] || begin >= first[at + step[c]]) continue;
      first[at + step[c]] = begin;
      from_class[at + step[c]] = c;
    }
  }
  return std::nullopt;
}

/// Gives the stages of one class its devices, the largest stage the largest budget.
split bottleneck_search::assigned(const packing& p, const in_flight& flight, const judge& judge) const {
  const std::size_t stages = p.first.size();
  split result;
  result.first.assign(p.first.rbegin(), p.first.rend());
  result.device.assign(stages, -1);
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    std::vector<std::pair<double, std::size_t>> members;
    for (std::size_t s = 0; s < stages; ++s)
      if (p.classes[stages - 1 - s] == c)
        members.emplace_back(
            -model_.bytes(result.first[s], result.end(s, model_.layers()), flight_at(flight, stages - 1 - s)), s);
    std::sort(members.begin(), members.end());
    std::vector<int32_t> devices = classes_[c].devices;
    std::stable_sort(devices.begin(), devices.end(),
                     [&](int32_t a, int32_t b) { return judge.budget(a) > judge.budget(b); });
    for (std::size_t i = 0; i < members.size(); ++i) result.device[members[i].second] = devices[i];
  }
  return result;
}

std::optional<split> bottleneck_search::best(const in_flight& flight, const judge& judge) const {
  double smallest = std::numeric_limits<double>::max();
  for (const device_class& c : classes_) smallest = std::min(smallest, c.budget);
  double low = 0,
         high = 2 * model_.bytes(0, model_.layers(), *std::max_element(flight.begin(), flight.end())) / smallest + 1e-9;
  std::optional<packing> found = pack(high, 0, flight);
  if (!found) return std::nullopt;
  for (int i = 0; i < 60 && high - low > 1e-4 * high; ++i) {
    const double middle = (low + high) / 2;
    auto packed = pack(middle, 0, flight);
    (packed ? high : low) = middle;
    if (packed) found = std::move(packed);
  }
  // More stages under the same bound leave more room everywhere; 32 tries bound the time on thousands of devices.
  const std::size_t most = std::min<std::size_t>(most_stages_, static_cast<std::size_t>(model_.layers()));
  for (std::size_t k = most, tries = 32; k > found->first.size() && tries > 0; --k, --tries)
    if (auto packed = pack(high, k, flight)) {
      found = std::move(packed);
      break;
    }
  split result = assigned(*found, flight, judge);
  smooth(model_, judge, flight, result);
  return result;
}

}  // namespace sy::place
