// What would make a plan fit that is over a budget: changes of the configuration, each checked by planning with it.
#pragma once

#include <functional>

#include "plan/plan.hpp"

namespace switchyard {

/// The error of a plan that does not fit, with what helps: recomputing, more micro-batches, another policy or cut, one
/// more device, the shortest step first; where none of them does by itself, all together. Nothing is named that was not
/// planned with. At most a dozen plans are made, fewer where one takes long. `failed`: as far as it was made, the
/// devices at least. `attempt` drafts a plan of a configuration, or throws.
Error with_remedies(const Error& misfit, const Config& config, const Model& model, const Plan& failed,
                    const std::function<Plan(const Config&)>& attempt);

}  // namespace switchyard
