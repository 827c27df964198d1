// The checks of a policy.
#pragma once

#include "check/finding.hpp"
#include "check/request.hpp"
#include "switchyard/policy.h"

namespace switchyard::checks {

/// `folders`: of plugins to search besides the usual ones.
void check_policy(const sy_policy_api& api, const Request& request, const std::vector<std::string>& folders,
                  Subject& subject, const Listener& listener);

}  // namespace switchyard::checks
