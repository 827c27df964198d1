#include "check/finding.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "config/value.hpp"

namespace switchyard::checks {

namespace {

const char* word_of(State state) {
  switch (state) {
    case State::ok:
      return "ok";
    case State::failed:
      return "failed";
    case State::skipped:
      return "skipped";
  }
  return "";
}

}  // namespace

bool Subject::passed(const std::string& check) const {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& f) { return f.check == check && f.state == State::ok; });
}

std::size_t Report::failures() const {
  std::size_t n = 0;
  for (const Subject& s : subjects)
    n += static_cast<std::size_t>(
        std::count_if(s.findings.begin(), s.findings.end(), [](const Finding& f) { return f.state == State::failed; }));
  return n;
}

std::string heading(const Subject& subject) {
  return subject.kind + " " + subject.name + (subject.with.empty() ? "" : ", tried with " + subject.with);
}

std::string line(const Finding& finding) {
  const std::string begin = "  " + finding.check + ": ";
  switch (finding.state) {
    case State::ok:
      return begin + "ok";
    case State::failed:
      return begin + "FAILED: " + on_one_line(finding.text);
    case State::skipped:
      return begin + "skipped: " + on_one_line(finding.text);
  }
  return begin;
}

std::string report_json(const Report& report) {
  using Json = nlohmann::ordered_json;
  Json json = {{"failed", report.failures()}, {"subjects", Json::array()}};
  for (const Subject& s : report.subjects) {
    Json subject = {{"kind", s.kind}, {"name", s.name}, {"with", s.with}, {"checks", Json::array()}};
    for (const Finding& f : s.findings)
      subject["checks"].push_back({{"check", f.check}, {"state", word_of(f.state)}, {"text", f.text}});
    json["subjects"].push_back(std::move(subject));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void Inspection::run(const std::string& check, const std::function<void()>& body) {
  if (listener_.on_begin) listener_.on_begin(heading(subject_) + ": " + check);
  Finding finding{check, State::ok, ""};
  try {
    body();
  } catch (const Fault& fault) {
    finding.state = State::failed, finding.text = fault.what();
  } catch (const Skip& skip) {
    finding.state = State::skipped, finding.text = skip.what();
  } catch (const Error& e) {
    finding.state = State::failed, finding.text = std::string("a call failed: ") + e.what() + "; change it to succeed";
  }
  subject_.findings.push_back(finding);
  if (listener_.on_line) listener_.on_line(line(finding));
}

}  // namespace switchyard::checks
