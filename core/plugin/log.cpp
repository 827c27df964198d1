#include <algorithm>
#include <cstdio>
#include <iterator>
#include <mutex>

#include "plugin/host.hpp"
#include "plugin/utf8.hpp"

namespace switchyard {
namespace {

using Sink = std::function<void(int, const std::string&, const std::string&)>;

void to_stderr(int level, const std::string& where, const std::string& text) {
  if (level < 3) return;
  const std::string line = (level == 3 ? "warning: " : "error: ") + (where.empty() ? "" : where + ": ") + text + "\n";
  std::fputs(line.c_str(), stderr);
}

struct Log {
  std::recursive_mutex mutex;  // a sink may log itself
  Sink sink = to_stderr;
};

Log& the_log() {
  static auto* log = new Log;  // never destroyed: threads of plugins may log while the process ends
  return *log;
}

}  // namespace

void set_log_sink(Sink sink) {
  const std::lock_guard lock(the_log().mutex);
  the_log().sink = sink ? std::move(sink) : to_stderr;
}

void log(int level, const std::string& where, const std::string& text) {
  const std::lock_guard lock(the_log().mutex);
  const Sink sink = the_log().sink;  // a copy: the sink may replace itself
  sink(std::clamp(level, 0, 4), valid_utf8(where), valid_utf8(text));
}

}  // namespace switchyard
