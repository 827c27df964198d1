// What is legal in a configuration and yet probably not meant, found before training.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "data/data_set.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"

namespace switchyard {

/// One line each; what is to be said about the plan stands in its warnings. `data`: nullptr where it was not opened.
/// Throws Error(SY_E_CONFIG) for what is certain to fail later: a last, smaller batch that leaves a training batch norm
/// a single value for a channel.
std::vector<std::string> find_doubts(const Config& config, Model& model, const Plan& plan, const DataSet* data);

}  // namespace switchyard
