// What ends the program early, and what the shell and the person then get.
#pragma once

#include <functional>
#include <string>

#include "switchyard/switchyard.h"

namespace cli {

enum Exit { done = 0, failed_running = 1, wrong_input = 2 };

struct Failure {
  int exit_code;
  std::string text;  // a line for each mistake; a line that begins with blanks belongs to the one before
};

/// Calls a function of the API and throws its failure. Wrong configurations, files and arguments that were found before
/// any weight was placed are wrong_input, everything else is failed_running.
void call(const std::function<sy_rc(sy_error** err)>& function);

/// Writes the lines to stderr, each after "error: ", and gives the exit code.
int report(const Failure& failure);

}  // namespace cli
