// The learning rate as a function of the step.
#pragma once

#include <cstdint>

#include "config/config.hpp"

namespace switchyard {

/// The learning rate of optimizer step `step` (from 1) out of `steps`. With w = warmup:
///   step <= w      lr * step / w
///   later          lr * factor(t), t = (step - w) / (steps - w):
///                  constant 1; linear 1 - (1 - final) * t; cosine final + (1 - final) * (1 + cos(pi * t)) / 2
/// so that step w has lr, and the last one final * lr (but for constant). Pure; steps past the last keep its rate.
double learning_rate(const LrScheduleConfig& schedule, double lr, std::int64_t steps, std::int64_t step);

}  // namespace switchyard
