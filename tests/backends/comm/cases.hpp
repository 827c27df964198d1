// What every communicator must do, whatever it is made of.
#pragma once

#include <string>
#include <vector>

#include "rank.hpp"

namespace comm_test {

/// Runs all cases as one rank; every rank of the group calls it. Prints a line per case; gives what went wrong. After a
/// case that failed, the rest is left out.
std::vector<std::string> run_cases(const Place& place);

}  // namespace comm_test
