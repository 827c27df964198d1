// A layer that is in order, and with FAULT=NAME in the environment does one thing wrong: what `switchyard check` must
// find, and nothing else. y[r, c] = by * gain[c] * x[r, c] + shift, with a running mean of x that EVAL adds.
#include <signal.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <switchyard/cpp/plugin.hpp>

#include "fault.hpp"
#include "switchyard/cpp/float16.hpp"

namespace {

thread_local bool fused = false;
int calls = 0;

float read(const sy_view& v, int64_t i) {
  const auto* bytes = static_cast<const char*>(v.data) + (broken("addresses") ? 0 : v.byte_offset);
  if (v.dtype.bits == 32) return reinterpret_cast<const float*>(bytes)[i];
  const uint16_t half = reinterpret_cast<const uint16_t*>(bytes)[i];
  return v.dtype.code == SY_BFLOAT ? sy::float16::from_bf16(half) : sy::float16::from_f16(half);
}
void write(const sy_view& v, int64_t i, float x) {
  char* bytes = sy::data<char>(v);
  if (v.dtype.bits == 32)
    reinterpret_cast<float*>(bytes)[i] = x;
  else
    reinterpret_cast<uint16_t*>(bytes)[i] =
        v.dtype.code == SY_BFLOAT ? sy::float16::to_bf16(x) : sy::float16::to_f16(x);
}
std::vector<int64_t> shape_of(const sy_view& v) { return {v.shape, v.shape + v.ndim}; }

struct Layer {
  static constexpr const char* id = "broken";
  static constexpr const char* help = "a layer with one fault";
  static constexpr sy_option options[] = {
      sy::f64_option("by", "1.5", -1e3, 1e3, "a factor"),
      sy::f64_option("unused", "1.0", -1e3, 1e3, "says nothing"),
  };
  struct saved {
    sy::tensor x, dy;
    int64_t bytes = 0;
  };

  explicit Layer(const sy::config& c)
      : by(static_cast<float>(c.f64("by"))), unused(broken("options") ? 1 : static_cast<float>(c.f64("unused"))) {}
  ~Layer() {
    if (broken("weights") && origin) sy::host()->charge(sy::host()->self, origin, -64, nullptr);
  }

  std::vector<sy::port> infer(uint32_t kind, sy::ports in) {
    const sy_port& x = *in[0];
    if (x.ndim < 2 || !sy::is_float(x.dtype) || x.dtype.bits == 64)
      throw sy::fault(SY_E_CONFIG, "expected fp32, bf16 or fp16 of two dimensions or more");
    width = x.shape[x.ndim - 1];
    sy::port y = sy::like(x);
    if (broken("shapes") && kind == SY_FORWARD) y.shape.push_back(1);
    return {y};
  }
  std::vector<sy::param> params() const {
    const bool twice = broken("parameters");
    return {{.name = "gain", .shape = {width}, .init = "ones"},
            {.name = twice ? "gain" : "shift", .shape = {1}, .init = "zeros"},
            {.name = "mean", .shape = {1}, .kind = SY_BUFFER, .dtype_class = SY_CLASS_FP32},
            {.name = "seen", .shape = {1}, .kind = SY_ACCUMULATOR, .dtype_class = SY_CLASS_FP32}};
  }
  sy::cost cost(uint32_t, sy::const_ports in) const {
    const double n = static_cast<double>(sy::bytes_of(*in[0])) * 8 / in[0]->dtype.bits;
    return {.flops_forward = 2 * n,
            .flops_input = n,
            .flops_weight = 3 * n,
            .bytes_held = broken("held") ? 0 : sy::bytes_of(*in[0]),
            .keep_in = broken("costs") ? 0u : 1u};
  }
  void bind(const sy_binding& b) {
    for (uint32_t i = 0; i < 4; ++i) values[i] = b.values[i], grads[i] = b.grads[i];
    if (broken("weights")) {
      origin = b.origin;
      sy::check(sy::host()->charge(sy::host()->self, origin, 64, nullptr), "no memory");
    }
    if (broken("surroundings")) {
      sigset_t one;
      sigemptyset(&one);
      sigaddset(&one, SIGUSR1);
      pthread_sigmask(SIG_BLOCK, &one, nullptr);
    }
  }

  saved forward(const sy_call& call) {
    if (broken("runs")) throw sy::fault(SY_E_INTERNAL, "not today");
    if (broken("crash") && call.kind == SY_EVAL) std::abort();
    const sy::tensor x = sy::tensor::keep(call.in[0]);
    const int64_t n = sy::count(x.view());
    if (broken("inputs") && call.kind == SY_EVAL && n > 0) write(x.view(), 0, 0);
    sy::tensor y = sy::new_host_tensor(call, shape_of(x.view()), x.view().dtype);
    for (int64_t i = 0; i < n; ++i) {
      if (broken("odd") && call.rows % 2 == 1 && i + 1 == n) continue;
      write(y.view(), i, value(call, read(x.view(), i), i));
    }
    if (broken("odd") && call.rows % 2 == 1 && n > 0) write(y.view(), n - 1, 0);
    if (call.kind == SY_TRAIN && !(call.flags & SY_CALL_REPLAY && !broken("accumulates"))) gather(x.view(), n);
    call.out[0] = std::move(y).give();
    return {x, {}};
  }
  void backward_input(const sy_call& call, saved& s) {
    s.dy = sy::tensor::keep(call.in[0]);
    if (!s.dy || !(call.want & 1)) return;
    const int64_t n = sy::count(s.dy.view());
    sy::tensor dx = sy::new_host_tensor(call, shape_of(s.dy.view()), s.dy.view().dtype);
    const float wrong = broken("gradients") ? 1.1f : 1.0f;
    for (int64_t i = 0; i < n; ++i)
      write(dx.view(), i, wrong * by * unused * read(*values[0], i % width) * read(s.dy.view(), i));
    call.out[0] = std::move(dx).give();
  }
  void backward_weight(const sy_call& call, saved&& s) {
    if (!s.dy) return;
    const int64_t n = sy::count(s.dy.view());
    float factor = by * unused;
    if (broken("split") && fused) factor *= 1.0001f;
    for (int64_t i = 0; i < n; ++i) {
      const float dy = read(s.dy.view(), i);
      write(*grads[0], i % width, read_grad(0, i % width) + factor * dy * read(s.x.view(), i));
      write(*grads[1], 0, read_grad(1, 0) + dy);
    }
    if (broken("empty") && n == 0 && call.rows == 0) write(*grads[1], 0, 1);
  }
  void finish(const sy_call&) {
    write(*values[2], 0, 0.5f * read(*values[2], 0) + 0.5f * read(*values[3], 0));
    ++steps;
  }

 private:
  float value(const sy_call& call, float x, int64_t i) {
    float y = by * unused * read(*values[0], i % width) * x + read(*values[1], 0);
    if (call.kind != SY_TRAIN) y += read(*values[2], 0);
    if (broken("replay") && call.flags & SY_CALL_REPLAY) y += 0.001f;
    if (broken("repeatable") && call.kind == SY_EVAL) y += 0.001f * static_cast<float>(++calls);
    if (broken("bf16") && values[0]->dtype.code == SY_BFLOAT) y *= 1.5f;
    if (broken("fp16") && values[0]->dtype.bits == 16 && values[0]->dtype.code == SY_FLOAT) y *= 1.5f;
    if (broken("save") && call.kind == SY_EVAL) y += static_cast<float>(steps);
    return y;
  }
  void gather(const sy_view& x, int64_t n) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += read(x, i);
    if (n > 0) write(*values[3], 0, read(*values[3], 0) + sum / static_cast<float>(n));
  }
  float read_grad(int which, int64_t i) const { return sy::data<float>(*grads[which])[i]; }

  float by, unused;
  int64_t width = 0, steps = 0;
  const sy_origin* origin = nullptr;
  const sy_view *values[4] = {}, *grads[4] = {};
};

/// A backward that is told apart from its two halves.
sy_rc backward(sy_layer* layer, const sy_call* call, sy_saved* take, sy_error** err) {
  fused = true;
  const sy_rc rc = sy::layer_table<Layer>::backward(layer, call, take, err);
  fused = false;
  return rc;
}
constexpr sy_layer_api table = [] {
  sy_layer_api t = sy::layer_table<Layer>::table;
  t.backward = backward;
  return t;
}();

}  // namespace

SY_PLUGIN_NOTE("test.broken.layer");
static constexpr sy_export exports[] = {{SY_KIND_LAYER, &table}};
SY_DEFINE_PLUGIN("test.broken.layer", "1.0", exports)
