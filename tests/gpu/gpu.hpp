// Is there a GPU, and do two runs agree?
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "../core/engine/plain_model.hpp"
#include "plugin/host.hpp"

namespace gpu {

using namespace switchyard;

/// Why no GPU can be used; "" when one can.
inline const std::string& missing() {
  static const std::string why = [] {
    const sy_backend_api* api = plain::registry().find_backend("cuda");
    if (!api) return std::string("built without CUDA");
    try {
      sy_backend* backend = nullptr;
      call_plugin([&](sy_error** e) { return api->open(host_table(), nullptr, &backend, e); });
      api->close(backend);
      return std::string();
    } catch (const Error& e) {
      return std::string(e.what());
    }
  }();
  return why;
}

inline bool skipped() {
  if (missing().empty()) return false;
  std::printf("[skipped] %s\n", missing().c_str());
  return true;
}

/// How many GPUs there are.
inline int count() {
  sy_backend* backend = nullptr;
  const sy_backend_api& api = *plain::registry().find_backend("cuda");
  call_plugin([&](sy_error** e) { return api.open(host_table(), nullptr, &backend, e); });
  int n = 0;
  for (sy_device_info info{sizeof(info)}; api.device(backend, static_cast<uint32_t>(n), &info, nullptr) == SY_OK; ++n)
    ;
  api.close(backend);
  return n;
}

inline bool fewer_than(int wanted) {
  if (count() >= wanted) return false;
  std::printf("[skipped] %d GPUs are needed, %d found\n", wanted, count());
  return true;
}

/// The largest difference, as a share of the largest value, or of `scale` where that is larger.
inline double difference(const std::vector<float>& a, const std::vector<float>& b, double scale = 1e-12) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::isnan(b[i]) ? INFINITY : std::fabs(double{a[i]} - b[i]));
    scale = std::max(scale, std::fabs(double{a[i]}));
  }
  return most / scale;
}

/// Losses, norms and gradients of every step within `tolerance`, relative to the largest of each. Gradients that are
/// nothing but rounding (of a bias before a batch norm) are measured against the norm of all.
inline void check_close(const plain::Trace& expected, const plain::Trace& got, double tolerance) {
  REQUIRE(expected.losses.size() == got.losses.size());
  REQUIRE(expected.gradients.size() == got.gradients.size());
  for (std::size_t i = 0; i < expected.losses.size(); ++i) {
    CAPTURE(i);
    CHECK(std::fabs(got.losses[i] - expected.losses[i]) <= tolerance * std::fabs(expected.losses[i]));
    CHECK(std::fabs(got.norms[i] - expected.norms[i]) <= 10 * tolerance * std::fabs(expected.norms[i]) + 1e-9);
  }
  for (std::size_t i = 0; i < expected.gradients.size(); ++i) {
    CAPTURE(i);
    const double norm = expected.norms[i * expected.norms.size() / expected.gradients.size()];
    CHECK(difference(expected.gradients[i], got.gradients[i], std::max(1e-3, tolerance / 5) * norm) <= 10 * tolerance);
  }
}

inline std::vector<std::string> on(const std::string& devices) { return {"devices.use=[" + devices + "]"}; }

}  // namespace gpu
