// One span of flat storage for a test, and an optimizer opened from its plugin.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/fake_host.hpp"

struct Storage {
  std::vector<float> value, grad;
  std::vector<uint16_t> grad16, copy;
  std::vector<std::vector<float>> states;
  std::vector<sy_opt_segment> segments;
  sy_dtype copy_dtype{SY_BFLOAT, 16, 1};

  explicit Storage(std::vector<float> v, std::size_t n_states = 2) : value(std::move(v)), states(n_states) {
    for (auto& s : states) s.assign(value.size(), 0.0f);
    grad.assign(value.size(), 0.0f);
    segments = {segment(0, value.size())};
  }
  static sy_opt_segment segment(uint64_t offset, uint64_t count, double decay = 1, double lr_scale = 1) {
    return {sizeof(sy_opt_segment), 0, offset, 0, count, decay, lr_scale};
  }

  /// Calls body(span) with a span over what stands here now: bf16 gradients and a copy are used when they are not
  /// empty.
  template <class Body>
  void with_span(Body&& body) {
    std::vector<const sy_opt_segment*> pointers;
    for (const auto& s : segments) pointers.push_back(&s);
    std::vector<float*> state_pointers;
    for (auto& s : states) state_pointers.push_back(s.data());
    sy_opt_span span{};
    span.size = sizeof span;
    span.n_segments = static_cast<uint32_t>(segments.size());
    span.count = value.size();
    span.device = {SY_DEVICE_CPU, 0};
    span.value = value.data();
    span.grad = grad16.empty() ? static_cast<const void*>(grad.data()) : grad16.data();
    span.grad_dtype = grad16.empty() ? sy_dtype{SY_FLOAT, 32, 1} : sy_dtype{SY_BFLOAT, 16, 1};
    span.copy = copy.empty() ? nullptr : copy.data();
    span.copy_dtype = copy_dtype;
    span.states = state_pointers.data();
    span.segments = pointers.data();
    body(span);
  }
};

class Optimizer {
 public:
  Optimizer(const std::string& name, std::map<std::string, std::string> options)
      : api_(fake::table<sy_optimizer_api>(fake::plugin("plugins/sy-optimizer-" + name + ".so"), SY_KIND_OPTIMIZER,
                                           name)) {
    const sy_config table = fake::config(api_, std::move(options));
    fake::must([&](sy_error** e) { return api_.create(fake::host(), &table, &self_, e); });
  }
  Optimizer(const Optimizer&) = delete;
  ~Optimizer() { api_.destroy(self_); }

  void step(Storage& s, sy_opt_control control) {
    s.with_span([&](const sy_opt_span& span) {
      fake::must([&](sy_error** e) { return api_.step(self_, &span, &control, nullptr, nullptr, e); });
    });
  }
  std::vector<double> norms(Storage& s) {
    std::vector<double> out(s.segments.size(), -1);
    s.with_span([&](const sy_opt_span& span) {
      fake::must([&](sy_error** e) { return api_.norms(self_, &span, out.data(), nullptr, nullptr, e); });
    });
    return out;
  }
  std::vector<std::string> states() {
    std::vector<std::string> names;
    const char* name = nullptr;
    while (api_.states(self_, static_cast<uint32_t>(names.size()), &name, nullptr) == SY_OK) names.emplace_back(name);
    return names;
  }
  sy_rc step_on(Storage& s, sy_device device) {
    const sy_opt_control control{0.1, 1, 1, 0, 1};
    sy_rc rc = SY_OK;
    s.with_span([&](sy_opt_span span) {
      span.device = device;
      rc = api_.step(self_, &span, &control, nullptr, nullptr, nullptr);
    });
    return rc;
  }

 private:
  const sy_optimizer_api& api_;
  sy_optimizer* self_ = nullptr;
};
