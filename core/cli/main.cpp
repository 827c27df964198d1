// The program: reads the arguments, runs one command, reports what went wrong.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>

#include "arguments.hpp"
#include "failure.hpp"
#include "signals.hpp"

namespace {

int run_program(int argc, char** argv) {
  const auto command = cli::parse_arguments(argc, argv);
  const int exit_code = command ? command() : cli::done;
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0) throw cli::Failure{cli::failed_running, "stdout cannot be written to"};
  return exit_code;
}

/// Without waiting for threads that may hang in a layer, or for destructors of libraries.
[[noreturn]] void leave(int exit_code) {
  std::fflush(nullptr);
  _exit(exit_code);
}

}  // namespace

int main(int argc, char** argv) {
  cli::catch_signals();
  try {
    return run_program(argc, argv);
  } catch (const cli::Failure& failure) {
    leave(cli::report(failure));
  } catch (const std::exception& e) {
    leave(cli::report({cli::failed_running, e.what()}));
  }
}
