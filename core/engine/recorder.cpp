#include "engine/recorder.hpp"

#include <algorithm>
#include <utility>

#include "plugin/host.hpp"

namespace switchyard {

namespace {

uint64_t bytes_of(int64_t live) { return static_cast<uint64_t>(std::max<int64_t>(live, 0)); }

}  // namespace

void Recorder::start(bool everything, Clock::time_point pass, int first_micro_batch, bool of_step) {
  everything_ = everything;
  pass_ = pass;
  first_ = first_micro_batch;
  actions_.clear();
  transfers_.clear();
  busy_ = last_ = 0;
  marks_actions_ = of_step && !everything && device_.is_asynchronous();
  if (marks_actions_) marks_.start_pass(device_);
  if (!everything || !device_.is_asynchronous()) return;
  start_.mark = device_.mark_time();
  start_.mark.wait();
  start_.seconds = std::chrono::duration<double>(Clock::now() - pass_).count();
}

Recorder::Moment Recorder::now(const Stream* stream) const {
  if (device_.is_asynchronous()) return {0, stream ? stream->mark(true) : device_.mark_time()};
  return {std::chrono::duration<double>(Clock::now() - pass_).count(), {}};
}

double Recorder::seconds(const Moment& moment) const {
  return moment.mark ? start_.seconds + start_.mark.seconds_until(moment.mark) : moment.seconds;
}

void Recorder::begin_action(uint32_t kind, int stage, int micro_batch) {
  if (marks_actions_) marks_.mark(device_);
  if (!looks()) return;
  Moment begin = now();
  began_ = begin.seconds;
  if (!everything_) return;
  actions_.push_back({{kind, stage, micro_batch - first_}, std::move(begin), {}, device_.account()->live.load(), 0});
}

void Recorder::end_action() {
  if (marks_actions_) marks_.mark(device_);
  if (!looks()) return;
  Moment end = now();
  busy_ += end.seconds - began_;
  last_ = end.seconds;
  if (!everything_) return;
  actions_.back().end = std::move(end);
  actions_.back().bytes_after = device_.account()->live.load();
}

void Recorder::begin_transfer(int edge, int micro_batch, const Stream* stream) {
  if (everything_) transfers_.push_back({{edge, micro_batch - first_}, now(stream), {}});
}

void Recorder::end_transfer(const Stream* stream) {
  if (everything_) transfers_.back().end = now(stream);
}

std::optional<double> Recorder::busy() const {
  if (!looks()) return std::nullopt;
  return busy_;
}

void Recorder::read(int device, Timeline& into) {
  if (device_.is_asynchronous()) busy_ = last_ = 0;
  for (const Recorded<Action>& s : actions_) {
    const double begin = seconds(s.begin), end = seconds(s.end);
    into.actions[device].push_back({s.what, begin, end});
    into.memory[device].push_back({begin, bytes_of(s.bytes_before)});
    into.memory[device].push_back({end, bytes_of(s.bytes_after)});
    into.seconds = std::max(into.seconds, end);
    if (device_.is_asynchronous()) busy_ += end - begin, last_ = end;
  }
  for (const Recorded<TimedTransfer>& s : transfers_)
    into.transfers.push_back({s.what.edge, s.what.micro_batch, seconds(s.begin), seconds(s.end)});
}

}  // namespace switchyard
