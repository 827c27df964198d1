#include "measure/stopwatch.hpp"

#include <algorithm>
#include <chrono>

namespace switchyard {

double seconds_of(const Device& device, const std::function<void()>& work) {
  if (device.is_asynchronous()) {
    const Event begin = device.mark_time();
    work();
    const Event end = device.mark_time();
    end.wait();
    return begin.seconds_until(end);
  }
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace switchyard
