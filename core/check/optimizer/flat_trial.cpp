#include "check/optimizer/flat_trial.hpp"

#include "base/dtype.hpp"
#include "plugin/host.hpp"

namespace switchyard::checks {

namespace {

constexpr int64_t span_count = 512;

std::vector<std::string> names_of_states(const ChosenOptimizer& optimizer) {
  std::vector<std::string> names;
  for (uint32_t i = 0;; ++i) {
    const char* name = nullptr;
    sy_error* error = nullptr;
    const sy_rc rc = optimizer.api().states(optimizer.get(), i, &name, &error);
    if (rc == SY_E_RANGE && !error) return names;
    if (rc != SY_OK) throw_plugin_error(rc, error);
    names.push_back(name ? name : "");
    if (names.size() > 64)
      throw Error(SY_E_ABI, "the list of states does not end: answer SY_E_RANGE after the last one");
  }
}

}  // namespace

std::vector<TrialSegment> usual_segments() { return {{0, 37, 1, 1}, {128, 200, 0, 1}, {384, 5, 1, 1}}; }

sy_opt_control plain_control(int64_t step) {
  sy_opt_control c{};
  c.lr = 1e-2, c.inv_scale = 1, c.clip_factor = 1, c.step = step;
  return c;
}

FlatTrial::FlatTrial(const ChosenOptimizer& optimizer, const FlatOptions& options)
    : optimizer_(optimizer),
      options_(options),
      value_({span_count}, dtype::f32),
      gradient_({span_count}, options.gradients),
      state_names_(names_of_states(optimizer)) {
  Numbers start(span_count);
  for (std::size_t s = 0; s < options_.segments.size(); ++s) {
    const TrialSegment& g = options_.segments[s];
    segments_.push_back({sizeof(sy_opt_segment), static_cast<uint32_t>(s), g.offset, 0, g.count, g.decay, g.lr_scale});
    Draw draw(s + 1);  // by segment, wherever it lies
    for (uint64_t i = 0; i < g.count; ++i) start[g.offset + i] = draw.number();
  }
  value_.write(start);
  for (const sy_opt_segment& s : segments_) segment_list_.push_back(&s);
  for (std::size_t i = 0; i < state_names_.size(); ++i) states_.emplace_back(Shape{span_count}, dtype::f32);
  for (const HostArray& s : states_) state_list_.push_back(reinterpret_cast<float*>(s.data()));
  span_.size = sizeof span_;
  span_.n_segments = static_cast<uint32_t>(segments_.size());
  span_.count = span_count;
  span_.device = {SY_DEVICE_CPU, 0};
  span_.value = reinterpret_cast<float*>(value_.data());
  span_.grad = gradient_.data();
  span_.grad_dtype = options.gradients;
  if (options.copy.bits == 16) {
    copy_ = HostArray({span_count}, options.copy);
    copy_.write(start);
    span_.copy = copy_.data();
    span_.copy_dtype = options.copy;
  }
  span_.states = state_list_.data();
  span_.segments = segment_list_.data();
}

void FlatTrial::draw_gradients(int64_t step) {
  Numbers g(span_count);
  for (std::size_t s = 0; s < options_.segments.size(); ++s) {
    Draw draw(1000 * static_cast<uint64_t>(step) + s);
    for (uint64_t i = 0; i < options_.segments[s].count; ++i) {
      const double rounded = bf16_to_f32(f32_to_bf16(static_cast<float>(draw.number())));  // the same in every type
      g[options_.segments[s].offset + i] = rounded * options_.gradient_factor;
    }
  }
  gradient_.write(g);
}

void FlatTrial::step(int64_t number, sy_opt_control control) {
  draw_gradients(number);
  call_plugin(
      [&](sy_error** e) { return optimizer_.api().step(optimizer_.get(), &span_, &control, nullptr, nullptr, e); });
}

void FlatTrial::step(int64_t number) { step(number, plain_control(number)); }

std::vector<double> FlatTrial::norms(int64_t step) {
  draw_gradients(step);
  std::vector<double> all(segments_.size(), -1);
  call_plugin(
      [&](sy_error** e) { return optimizer_.api().norms(optimizer_.get(), &span_, all.data(), nullptr, nullptr, e); });
  return all;
}

/// The elements of all segments, one after the other: padding has a check of its own.
Named FlatTrial::in_segments(const std::string& name, const HostArray& array) const {
  const std::size_t size = array.type().bits / 8;
  Named all{name, {0}, array.type(), {}};
  for (const TrialSegment& s : options_.segments) {
    const std::byte* begin = array.data() + s.offset * size;
    all.bytes.insert(all.bytes.end(), begin, begin + s.count * size);
    all.shape[0] += static_cast<int64_t>(s.count);
  }
  return all;
}

std::vector<Named> FlatTrial::numbers() const {
  std::vector<Named> all{in_segments("the weights", value_)};
  for (std::size_t i = 0; i < states_.size(); ++i)
    all.push_back(in_segments("the state '" + state_names_[i] + "'", states_[i]));
  return all;
}

Named FlatTrial::copy() const { return in_segments("the copy", copy_); }

Named FlatTrial::rounded_weights() const {
  const HostArray rounded(value_.shape(), copy_.type());
  rounded.write(value_.numbers());
  return in_segments("the copy", rounded);
}

Numbers FlatTrial::values_of(std::size_t segment) const {
  const Numbers all = value_.numbers();
  const TrialSegment& s = options_.segments[segment];
  return {all.begin() + static_cast<std::ptrdiff_t>(s.offset),
          all.begin() + static_cast<std::ptrdiff_t>(s.offset + s.count)};
}

void FlatTrial::take_numbers(const FlatTrial& from) {
  value_.write(from.value_.numbers());
  for (std::size_t i = 0; i < states_.size() && i < from.states_.size(); ++i)
    states_[i].write(from.states_[i].numbers());
}

bool FlatTrial::in_segment(std::size_t element) const {
  for (const TrialSegment& s : options_.segments)
    if (element >= s.offset && element < s.offset + s.count) return true;
  return false;
}

bool FlatTrial::padding_holds() const {
  std::vector<const HostArray*> all{&value_};
  for (const HostArray& s : states_) all.push_back(&s);
  for (const HostArray* array : all) {
    if (!array->guards_hold()) return false;
    const Numbers numbers = array->numbers();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (!in_segment(i) && numbers[i] != 0) return false;
  }
  return true;
}

}  // namespace switchyard::checks
