#include "train/step_trace.hpp"

#include <algorithm>

#include "store/atomic_file.hpp"
#include "train/session.hpp"

namespace switchyard {

StepTrace::StepTrace(std::string path, Session& session) : path_(std::move(path)), session_(session) { write(); }

void StepTrace::before_step(std::int64_t left) {
  left_ = left;
  if (state_ != State::waits) return;
  if (!skip_) skip_ = std::min(warm_up, left - 1);
  if ((*skip_)-- > 0) return;
  session_.pipe().record(true);
  state_ = State::records;
}

void StepTrace::after_step(std::int64_t step) {
  if (state_ != State::records) return;
  for (const RecordedPass& pass : session_.pipe().recorded()) {
    const int number = static_cast<int>(&pass - session_.pipe().recorded().data());
    passes_.emplace_back(TracedPass{step, number}, pass);
    for (const auto& of_device : pass.timeline.actions) actions_ += of_device.size();
  }
  if (++traced_ == most_steps || actions_ >= most_actions || left_ == 1) finish();
}

void StepTrace::finish() {
  if (state_ != State::records) return;
  state_ = State::done;
  session_.pipe().record(false);
  write();
}

void StepTrace::write() const {
  Trace trace(session_.plan(), session_.model());
  trace.add(Trace::Process::plan, timeline_of(session_.plan()), passes_.empty() ? 0 : passes_[0].second.begin);
  for (const auto& [which, pass] : passes_) trace.add(Trace::Process::measured, pass.timeline, pass.begin, which);
  write_file_atomically(path_, trace.json());
}

}  // namespace switchyard
