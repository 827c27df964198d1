// What a check found out, and how it says so: a check returns when all is well, and throws when it is not.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace switchyard::checks {

/// Thrown by a check: what is wrong, and what the author should change.
struct Fault : std::runtime_error {
  Fault(const std::string& what, const std::string& change) : std::runtime_error(what + "; " + change) {}
};

/// Thrown by a check that does not apply.
struct Skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class State { ok, failed, skipped };

/// One line of the report.
struct Finding {
  std::string check;  // "gradients"
  State state = State::ok;
  std::string text;  // why it failed or was skipped
};

/// Everything about one thing that a plugin offers.
struct Subject {
  std::string kind, name;  // "layer", "linear"
  std::string with;        // the options and inputs it was tried with; may be empty
  std::vector<Finding> findings;
  bool passed(const std::string& check) const;
};

struct Report {
  std::vector<Subject> subjects;
  std::size_t failures() const;
};

std::string heading(const Subject& subject);    // "layer linear, tried with out = 8, inputs 4x8 fp32"
std::string line(const Finding& finding);       // "  gradients: ok"
std::string report_json(const Report& report);  // see switchyard.h

/// Who wants to hear of a check before it runs, and of lines as they are written. Each may be empty.
struct Listener {
  std::function<void(const std::string& check)> on_begin;
  std::function<void(const std::string& line)> on_line;
};

/// Runs checks one after another and keeps what they find.
class Inspection {
 public:
  Inspection(Subject& subject, const Listener& listener) : subject_(subject), listener_(listener) {}
  void run(const std::string& check, const std::function<void()>& body);
  bool passed(const std::string& check) const { return subject_.passed(check); }

 private:
  Subject& subject_;
  const Listener& listener_;
};

}  // namespace switchyard::checks
