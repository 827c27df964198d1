// The command line.
#pragma once

#include <functional>

namespace cli {

/// What the arguments ask for; an empty function: nothing more than the help that was printed. Throws Failure.
std::function<int()> parse_arguments(int argc, char** argv);

}  // namespace cli
