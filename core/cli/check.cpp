// switchyard check: tries out what a plugin offers. The work is done by a child, so that a plugin that ends the process
// still gets a line.
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "handle.hpp"

namespace cli {

namespace {

/// Where the child says which check it begins.
struct Pipe {
  int read = -1, write = -1;
  Pipe() {
    int ends[2];
    if (pipe(ends) != 0) throw Failure{failed_running, "no pipe could be made"};
    read = ends[0], write = ends[1];
  }
};

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> all;
  for (const std::string& text : texts) all.push_back(text.c_str());
  return all;
}

void say(int to, const std::string& text) {
  if (write(to, text.data(), text.size()) < 0) _exit(failed_running);
}

int run_checks(const CheckArguments& a, int begun) {
  const std::vector<const char*> sets = pointers(a.sets), inputs = pointers(a.inputs);
  sy_check_options options{};
  options.size = sizeof options;
  options.n_sets = static_cast<uint32_t>(sets.size()), options.sets = sets.data();
  options.n_inputs = static_cast<uint32_t>(inputs.size()), options.inputs = inputs.data();
  options.type = a.type.empty() ? nullptr : a.type.c_str();
  options.only = a.only.empty() ? nullptr : a.only.c_str();
  options.user = &begun;
  options.on_begin = [](void* to, const char* check) { say(*static_cast<int*>(to), std::string(check) + "\n"); };
  if (!a.json) options.on_line = [](void*, const char* line) { std::cout << line << std::endl; };
  const Runtime runtime = open_runtime();
  const std::string json = text_of(
      [&](char** give, sy_error** err) { return sy_plugin_check(runtime.get(), a.path.c_str(), &options, give, err); });
  const int failed = nlohmann::json::parse(json)["failed"];
  if (a.json)
    std::cout << json << "\n";
  else
    std::cout << (failed == 0 ? "nothing failed"
                              : std::to_string(failed) + (failed == 1 ? " check failed" : " checks failed"))
              << "\n";
  return failed == 0 ? done : failed_running;
}

[[noreturn]] void run_child(const CheckArguments& a, int begun) {
  int code = failed_running;
  try {
    code = run_checks(a, begun);
  } catch (const Failure& failure) {
    code = report(failure);
  } catch (const std::exception& e) {
    code = report({failed_running, e.what()});
  }
  std::cout.flush();
  fflush(nullptr);
  _exit(code);
}

std::string last_line(int from) {
  std::string all;
  char block[4096];
  for (ssize_t n; (n = read(from, block, sizeof block)) > 0;) all.append(block, static_cast<std::size_t>(n));
  if (all.empty()) return "loading it";
  all.pop_back();
  return all.substr(all.rfind('\n') + 1);
}

}  // namespace

int check(const CheckArguments& arguments) {
  const Pipe begun;
  std::cout.flush();
  const pid_t child = fork();
  if (child < 0) throw Failure{failed_running, "no process could be started"};
  if (child == 0) run_child(arguments, begun.write);
  close(begun.write);
  const std::string last = last_line(begun.read);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  throw Failure{failed_running, arguments.path + " ended the process (" + strsignal(WTERMSIG(status)) + ") in " + last +
                                    "; no function of a plugin may end it"};
}

}  // namespace cli
