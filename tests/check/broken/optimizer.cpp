// An optimizer that is in order (momentum and decay), and with FAULT=NAME in the environment does one thing wrong.
#include <sys/stat.h>

#include <map>
#include <switchyard/cpp/plugin.hpp>

#include "fault.hpp"
#include "switchyard/cpp/float16.hpp"

namespace {

int made = 0;
std::map<const float*, int> steps_of;

float gradient(const sy_opt_span& span, uint64_t i) {
  if (span.grad_dtype.code != SY_BFLOAT) return static_cast<const float*>(span.grad)[i];
  const float g = sy::float16::from_bf16(static_cast<const uint16_t*>(span.grad)[i]);
  return broken("bf16") ? 2 * g : g;
}
void copy(const sy_opt_span& span, uint64_t i) {
  if (!span.copy) return;
  uint16_t& to = static_cast<uint16_t*>(span.copy)[i];
  to = span.copy_dtype.code == SY_BFLOAT ? sy::float16::to_bf16(span.value[i]) : sy::float16::to_f16(span.value[i]);
  if (broken("copies")) to = static_cast<uint16_t>(to + 1);
}

struct Optimizer {
  static constexpr const char* id = "broken";
  static constexpr const char* help = "an optimizer with one fault";
  static constexpr sy_option options[] = {
      sy::f64_option("momentum", "0.5", 0, 1, "share of the step before that is kept"),
      sy::f64_option("weight_decay", "0.0", 0, 1e3, "times the weight"),
      sy::f64_option("unused", "1.0", 0, 1e3, "says nothing"),
  };
  explicit Optimizer(const sy::config& c)
      : momentum(static_cast<float>(c.f64("momentum"))),
        weight_decay(static_cast<float>(c.f64("weight_decay"))),
        factor(broken("options") ? 1 : static_cast<float>(c.f64("unused"))),
        number(++made) {}

  std::span<const char* const> states() const {
    static constexpr const char *one[] = {"moment"}, *two[] = {"moment", "moment"};
    return broken("states") ? std::span<const char* const>(two) : std::span<const char* const>(one);
  }
  void step(const sy_opt_span& span, const sy_opt_control& control, void*) const {
    if (broken("surroundings")) umask(077);
    if (control.skip && !broken("skip")) return;
    int& before = steps_of[span.value];
    if (control.step == 1) before = 0;
    for (uint32_t s = 0; s < span.n_segments; ++s) update(span, control, *span.segments[s], before);
    ++before;
  }
  void norms(const sy_opt_span& span, double* out, void*) const {
    for (uint32_t s = 0; s < span.n_segments; ++s) {
      out[s] = 0;
      for (uint64_t i = 0; i < span.segments[s]->count; ++i) {
        const double g = gradient(span, span.segments[s]->offset + i);
        out[s] += broken("norms") ? g : g * g;
      }
    }
  }

 private:
  void update(const sy_opt_span& span, const sy_opt_control& control, const sy_opt_segment& s, int before) const {
    const double scale = (broken("scale") ? 1 : control.inv_scale) * control.clip_factor;
    const auto lr = static_cast<float>(control.lr * (broken("rate") ? 1 : s.lr_scale));
    const auto decay = static_cast<float>(broken("decay") ? 1 : s.decay);
    for (uint64_t i = s.offset; i < s.offset + s.count; ++i) {
      float g = gradient(span, i) * static_cast<float>(scale) * factor;
      if (broken("repeatable")) g += 0.001f * static_cast<float>(number);
      if (broken("save")) g += 0.001f * static_cast<float>(before);
      float& m = span.states[0][i];
      m = momentum * m + g + weight_decay * decay * span.value[i];
      span.value[i] -= lr * m;
      copy(span, i);
    }
    if (broken("padding")) span.value[s.offset + s.count] = 1;
  }
  float momentum, weight_decay, factor;
  int number;
};

}  // namespace

SY_PLUGIN_NOTE("test.broken.optimizer");
static constexpr sy_export exports[] = {sy::export_optimizer<Optimizer>()};
SY_DEFINE_PLUGIN("test.broken.optimizer", "1.0", exports)
