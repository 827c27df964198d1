// The checks of a schedule.
#pragma once

#include "check/finding.hpp"
#include "check/request.hpp"
#include "switchyard/schedule.h"

namespace switchyard::checks {

void check_schedule(const sy_schedule_api& api, const Request& request, Subject& subject, const Listener& listener);

}  // namespace switchyard::checks
