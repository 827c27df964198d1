#include "signals.hpp"

#include <unistd.h>

#include <csignal>
#include <cstring>

namespace cli {

namespace {

volatile std::sig_atomic_t received = 0;
const char* volatile promise_text = nullptr;  // not NULL: the first signal only asks

/// Only what is allowed in a handler.
void on_signal(int number) {
  const char* promise = promise_text;
  if (!promise || received) _exit(128 + number);
  received = number;
  if (write(STDERR_FILENO, promise, std::strlen(promise)) < 0) return;
}

}  // namespace

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

GracefulStop::GracefulStop(const char* promise) { promise_text = promise; }
GracefulStop::~GracefulStop() { promise_text = nullptr; }

int signal_received() { return received; }

}  // namespace cli
