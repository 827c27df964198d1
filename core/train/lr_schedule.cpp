#include "train/lr_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace switchyard {

double learning_rate(const LrScheduleConfig& schedule, double lr, std::int64_t steps, std::int64_t step) {
  const std::int64_t warmup = schedule.warmup;
  if (step < warmup) return lr * static_cast<double>(step) / static_cast<double>(warmup);
  if (schedule.type == "constant" || steps <= warmup) return lr;
  const double t = std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(steps - warmup));
  if (schedule.type == "linear") return lr * (1 - (1 - schedule.final) * t);
  return lr * (schedule.final + (1 - schedule.final) * 0.5 * (1 + std::cos(std::numbers::pi * t)));
}

}  // namespace switchyard
