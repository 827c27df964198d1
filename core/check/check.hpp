// Checks everything that one plugin file offers; README.md lists the checks.
#pragma once

#include <string>
#include <vector>

#include "check/finding.hpp"
#include "check/request.hpp"

namespace switchyard::checks {

/// Loads the file and tries it out on this processor. Throws Error as load_plugin does; SY_E_CONFIG: the file has
/// nothing that could be checked, or nothing called request.only. `folders`: of other plugins, as [plugins] paths.
/// [ctl]
Report check_plugin(const std::string& path, const Request& request, const std::vector<std::string>& folders,
                    const Listener& listener);

}  // namespace switchyard::checks
