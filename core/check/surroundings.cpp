#include "check/surroundings.hpp"

#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "check/finding.hpp"

extern char** environ;

namespace switchyard::checks {

namespace {

/// Whether a subnormal number survives an addition: it does not when the processor flushes them to zero.
bool keeps_subnormals() {
  volatile float tiny = 1e-40f, zero = 0;
  volatile float sum = tiny + zero;
  return sum != 0;
}

std::string signals_text() {
  std::string text;
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  for (int s = 1; s < 32; ++s) text += sigismember(&mask, s) ? '1' : '0';
  return text;
}

std::string handlers_text() {
  std::string text;
  for (int s = 1; s < 32; ++s) {
    struct sigaction action {};
    if (sigaction(s, nullptr, &action) == 0)
      text += std::to_string(reinterpret_cast<uintptr_t>(action.sa_handler)) + " ";
  }
  return text;
}

std::string environment_text() {
  std::string text;
  for (char** e = environ; e && *e; ++e) text += std::string(*e) + "\n";
  return text;
}

std::string affinity_text() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "";
  std::string text;
  for (int i = 0; i < CPU_SETSIZE; ++i) text += CPU_ISSET(i, &set) ? '1' : '0';
  return text;
}

std::string umask_text() {
  const mode_t mask = umask(0);
  umask(mask);
  return std::to_string(mask);
}

std::map<std::string, std::string> surroundings() {
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  const char* locale = setlocale(LC_ALL, nullptr);
  std::error_code none;
  return {{"the rounding mode", std::to_string(fegetround())},
          {"the handling of subnormal numbers", keeps_subnormals() ? "kept" : "flushed"},
          {"the locale", std::string(locale ? locale : "") + std::to_string(uselocale(nullptr) == LC_GLOBAL_LOCALE)},
          {"the thread's signal mask", signals_text()},
          {"a signal's handler", handlers_text()},
          {"the working directory", std::filesystem::current_path(none).string()},
          {"the umask", umask_text()},
          {"the environment", environment_text()},
          {"the thread's name", name},
          {"the thread's affinity", affinity_text()}};
}

}  // namespace

Surroundings::Surroundings() : before_(surroundings()) {
  fegetenv(&numbers_);
  pthread_sigmask(SIG_SETMASK, nullptr, &signals_);
}

Surroundings::~Surroundings() {
  fesetenv(&numbers_);
  pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
}

void Surroundings::expect_kept() const {
  for (const auto& [what, value] : surroundings())
    if (before_.at(what) != value)
      throw Fault("after its calls, " + what + " is another one", "put it back before each function returns");
}

int thread_count() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  return 0;
}

}  // namespace switchyard::checks
