#include "device_class.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace sy::place {
namespace {

const worth& of(const std::vector<worth>& worths, int32_t device) { return worths[static_cast<std::size_t>(device)]; }

/// Both numbers of the way from one device to another.
std::pair<double, double> link(const sy_place& in, int32_t from, int32_t to) {
  std::pair<double, double> way;
  check(in.link(in.self, from, to, &way.first, &way.second, nullptr), "the core did not tell a link");
  return way;
}

bool same_links(const sy_place& in, int32_t a, int32_t b) {
  if (link(in, a, b) != link(in, b, a)) return false;
  for (int32_t other = 0; other < static_cast<int32_t>(in.n_devices); ++other)
    if (other != a && other != b &&
        (link(in, a, other) != link(in, b, other) || link(in, other, a) != link(in, other, b)))
      return false;
  return true;
}

std::set<int32_t> pinned_devices(const sy_place& in) {
  std::set<int32_t> all;
  for (uint32_t i = 0; i < in.n_layers; ++i)
    if (in.layers[i]->pin >= 0) all.insert(in.layers[i]->pin);
  return all;
}

std::vector<int32_t> best_first(const sy_place& in, const std::vector<worth>& worths) {
  std::vector<int32_t> order;
  for (uint32_t d = 0; d < in.n_devices; ++d) order.push_back(static_cast<int32_t>(d));
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return of(worths, a) > of(worths, b); });
  return order;
}

bool about_equal(const worth& a, const worth& b, double tolerance) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::min(a[i], b[i]) * (1 + tolerance) < std::max(a[i], b[i])) return false;
  return true;
}

/// Classes within `tolerance` of their first device; every class holds neighbours in the order of worth.
std::vector<device_class> classes_within(const std::vector<int32_t>& order, const std::vector<worth>& worths,
                                         const std::set<int32_t>& pinned, double tolerance) {
  std::vector<device_class> classes;
  int32_t first = -1;  // of the open class
  for (const int32_t d : order) {
    if (first < 0 || pinned.count(d) > 0 || !about_equal(of(worths, first), of(worths, d), tolerance))
      classes.push_back({{}, d}), first = pinned.count(d) > 0 ? -1 : d;
    classes.back().devices.push_back(d);
    classes.back().poorest = d;
  }
  for (device_class& c : classes) std::sort(c.devices.begin(), c.devices.end());
  return classes;
}

}  // namespace

std::vector<device_class> exact_classes(const sy_place& in, const std::vector<worth>& worths) {
  const std::set<int32_t> pinned = pinned_devices(in);
  std::vector<device_class> classes;
  for (const int32_t d : best_first(in, worths)) {
    const auto like = std::find_if(classes.begin(), classes.end(), [&](const device_class& c) {
      return pinned.count(d) == 0 && pinned.count(c.poorest) == 0 && of(worths, c.poorest) == of(worths, d) &&
             same_links(in, c.poorest, d);
    });
    if (like == classes.end())
      classes.push_back({{d}, d});
    else
      like->devices.push_back(d);
  }
  return classes;
}

std::vector<device_class> coarse_classes(const sy_place& in, const std::vector<worth>& worths, double most) {
  const std::vector<int32_t> order = best_first(in, worths);
  const std::set<int32_t> pinned = pinned_devices(in);
  for (double tolerance = 0;; tolerance = tolerance > 0 ? 2 * tolerance : 0.005) {
    std::vector<device_class> classes = classes_within(order, worths, pinned, tolerance);
    double size = 1;
    for (const device_class& c : classes) size *= static_cast<double>(c.devices.size() + 1);
    if (size <= most) return classes;
    if (tolerance > 1e6)
      throw fault(SY_E_CONFIG, "layers are fixed to too many devices; fix all of them by the policy 'explicit'");
  }
}

}  // namespace sy::place
