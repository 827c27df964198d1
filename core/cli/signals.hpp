// SIGINT and SIGTERM: the first one asks to stop, where there is something to be finished; else, and the second time,
// the program ends at once. Either way its exit code is 128 + the signal's number.
#pragma once

namespace cli {

/// From now on both signals end the program at once.
void catch_signals();

/// While one lives, the first signal only asks to stop.
class GracefulStop {
 public:
  /// `promise`: what is said when it comes; lent for ever.
  explicit GracefulStop(const char* promise);
  ~GracefulStop();
  GracefulStop(const GracefulStop&) = delete;
  GracefulStop& operator=(const GracefulStop&) = delete;
};

/// The signal that came, or 0. [any]
int signal_received();

}  // namespace cli
