#include "bottleneck.hpp"

#include <algorithm>
#include <limits>

#include "smooth.hpp"

namespace sy::place {
namespace {

constexpr int32_t unreached = std::numeric_limits<int32_t>::max();

}  // namespace

/// The first layer of the longest stage that ends before `end`, begins at `lowest` or later and has at most this load;
/// `end` when not even one layer has.
int32_t bottleneck_search::reach(int32_t end, int32_t lowest, double bound, double flight, int32_t device) const {
  const auto fits = [&](int32_t length) { return goal_.load(end - length, end, device, flight) <= bound; };
  const int32_t most = end - lowest;
  int32_t length = 0, step = 1;  // fits(length); doubled steps up, then halved ones
  while (length + step <= most && fits(length + step)) length += step, step *= 2;
  for (; step > 0; step /= 2)
    if (length + step <= most && fits(length + step)) length += step;
  return end - length;
}

/// Packs all layers into `least` to `most` stages of at most this load.
std::optional<bottleneck_search::packing> bottleneck_search::pack(double bound, std::size_t least, std::size_t most,
                                                                  const in_flight& flight) const {
  std::vector<std::size_t> step(classes_.size() + 1, 1);  // of class c in the table's index
  for (std::size_t c = 0; c < classes_.size(); ++c) step[c + 1] = step[c] * (classes_[c].devices.size() + 1);
  std::vector<int32_t> first(step.back(), unreached);
  std::vector<std::size_t> from_class(step.back(), classes_.size());
  first[0] = layers_;
  for (std::size_t at = 0; at < first.size(); ++at) {
    if (first[at] == unreached) continue;
    std::size_t used = 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) used += at / step[c] % (classes_[c].devices.size() + 1);
    if (first[at] == 0 && used >= least) {
      packing p;
      for (std::size_t i = at; i != 0; i -= step[from_class[i]])
        p.classes.push_back(from_class[i]), p.first.push_back(first[i]);
      std::reverse(p.classes.begin(), p.classes.end());
      std::reverse(p.first.begin(), p.first.end());
      return p;
    }
    if (used >= most) continue;
    const int32_t lowest = used + 1 < least ? static_cast<int32_t>(least - used - 1) : 0;  // a layer for each to come
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (at / step[c] % (classes_[c].devices.size() + 1) == classes_[c].devices.size()) continue;
      const int32_t begin = reach(first[at], lowest, bound, flight_at(flight, used), classes_[c].poorest);
      if (begin == first[at] || begin >= first[at + step[c]]) continue;
      first[at + step[c]] = begin;
      from_class[at + step[c]] = c;
    }
  }
  return std::nullopt;
}

std::optional<bottleneck_search::bounded> bottleneck_search::bisect(std::size_t least, std::size_t most,
                                                                    const in_flight& flight) const {
  std::optional<packing> found = pack(std::numeric_limits<double>::max(), least, most, flight);
  if (!found) return std::nullopt;
  const auto largest = [&](const packing& p) { return largest_load(goal_, assigned(p, flight), flight, layers_); };
  double low = 0, high = largest(*found);
  for (int i = 0; i < 60 && high - low > 1e-4 * high; ++i) {
    const double middle = (low + high) / 2;
    auto packed = pack(middle, least, most, flight);
    (packed ? high : low) = middle;
    if (packed) found = std::move(packed);
  }
  return bounded{std::move(*found), high};
}

/// Gives the stages of one class its devices: in order where all are alike, so that neighbours stay neighbours; else
/// the heaviest stage the device of most worth.
split bottleneck_search::assigned(const packing& p, const in_flight& flight) const {
  const std::size_t stages = p.first.size();
  split result;
  result.first.assign(p.first.rbegin(), p.first.rend());
  result.device.assign(stages, -1);
  const auto worth_of = [&](int32_t device) -> const worth& { return worths_[static_cast<std::size_t>(device)]; };
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    std::vector<int32_t> devices = classes_[c].devices;
    std::stable_sort(devices.begin(), devices.end(), [&](int32_t a, int32_t b) { return worth_of(a) > worth_of(b); });
    const bool alike = worth_of(devices.front()) == worth_of(devices.back());
    std::vector<std::pair<double, std::size_t>> members;
    for (std::size_t s = 0; s < stages; ++s)
      if (p.classes[stages - 1 - s] == c)
        members.emplace_back(alike ? 0
                                   : -goal_.load(result.first[s], result.end(s, layers_), classes_[c].poorest,
                                                 flight_at(flight, stages - 1 - s)),
                             s);
    std::sort(members.begin(), members.end());
    for (std::size_t i = 0; i < members.size(); ++i) result.device[members[i].second] = devices[i];
  }
  return result;
}

std::optional<split> bottleneck_search::exactly(std::size_t stages, const in_flight& flight) const {
  const std::optional<bounded> found = bisect(stages, stages, flight);
  if (!found) return std::nullopt;
  split result = assigned(found->what, flight);
  smooth(layers_, goal_, flight, result);
  return result;
}

std::optional<split> bottleneck_search::at_most(std::size_t most, const in_flight& flight) const {
  std::optional<bounded> found = bisect(1, most, flight);
  if (!found) return std::nullopt;
  // More stages under the same bound leave more room everywhere; 32 tries bound the time on thousands of devices.
  for (std::size_t k = most, tries = 32; k > found->what.first.size() && tries > 0; --k, --tries)
    if (auto packed = pack(found->bound, k, k, flight)) {
      found->what = std::move(*packed);
      break;
    }
  split result = assigned(found->what, flight);
  smooth(layers_, goal_, flight, result);
  return result;
}

}  // namespace sy::place
