// The checks of an optimizer.
#pragma once

#include "check/finding.hpp"
#include "check/request.hpp"
#include "switchyard/optimizer.h"

namespace switchyard::checks {

void check_optimizer(const sy_optimizer_api& api, const Request& request, Subject& subject, const Listener& listener);

}  // namespace switchyard::checks
