// The optimizers' kernels against their CPU twins: the same bits; squared norms within double rounding.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>

#include "../plugins/optimizers/flat_storage.hpp"

namespace {

bool skipped() {
  int n = 0;
  if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0) return false;
  std::printf("[skipped] no GPU\n");
  return true;
}

/// Device memory with a copy of host content.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& from) : count_(from.size()) {
    if (count_ == 0) return;
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&memory), count_ * sizeof(T)) == cudaSuccess);
    REQUIRE(cudaMemcpy(memory, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice) == cudaSuccess);
  }
  ~OnDevice() { cudaFree(memory); }
  OnDevice(const OnDevice&) = delete;
  std::vector<T> read() const {
    std::vector<T> to(count_);
    if (count_ > 0) REQUIRE(cudaMemcpy(to.data(), memory, count_ * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess);
    return to;
  }
  T* memory = nullptr;

 private:
  std::size_t count_;
};

struct Random {
  std::mt19937 engine;
  float next() { return std::normal_distribution<float>(0, 1)(engine); }
};

Storage storage(int states, bool bf16_gradients, int copy) {
  Random random{std::mt19937(5)};
  std::vector<float> values(300000);
  for (float& v : values) v = random.next();
  Storage s(values, static_cast<std::size_t>(states));
  for (float& g : s.grad) g = random.next();
  if (bf16_gradients) {
    s.grad16.resize(values.size());
    for (uint16_t& g : s.grad16) g = static_cast<uint16_t>(0x3F00 + (random.engine() & 0x80FF));
  }
  if (copy > 0) s.copy.assign(values.size(), 0);
  s.copy_dtype = copy == 2 ? sy_dtype{SY_FLOAT, 16, 1} : sy_dtype{SY_BFLOAT, 16, 1};
  s.segments.clear();
  uint64_t offset = 0;  // more segments than one launch takes, of odd lengths
  for (int k = 0; k < 90; ++k, offset += 3072)
    s.segments.push_back(Storage::segment(offset, static_cast<uint64_t>(k == 3 ? 1 : 2900 - 7 * k), k % 2, 1 + k % 3));
  s.segments.push_back(Storage::segment(offset, values.size() - offset - 5));
  return s;
}

/// One step and the norms on the GPU over a copy of s; s is left as the step leaves it.
void on_gpu(const sy_optimizer_api& api, sy_optimizer* optimizer, Storage& s, const sy_opt_control& control,
            std::vector<double>& norms) {
  s.with_span([&](sy_opt_span span) {
    const OnDevice<float> value(s.value), grad(s.grad);
    const OnDevice<uint16_t> grad16(s.grad16), copy(s.copy);
    std::vector<std::unique_ptr<OnDevice<float>>> states;
    std::vector<float*> pointers;
    for (const auto& state : s.states) {
      states.push_back(std::make_unique<OnDevice<float>>(state));
      pointers.push_back(states.back()->memory);
    }
    const OnDevice<sy_opt_control> block(std::vector<sy_opt_control>{control});
    const OnDevice<double> out(std::vector<double>(s.segments.size(), -1));
    span.device = {SY_DEVICE_CUDA, 0};
    span.value = value.memory;
    span.grad = s.grad16.empty() ? static_cast<const void*>(grad.memory) : grad16.memory;
    span.copy = copy.memory;
    span.states = pointers.data();
    fake::must([&](sy_error** e) { return api.norms(optimizer, &span, out.memory, nullptr, nullptr, e); });
    fake::must([&](sy_error** e) { return api.step(optimizer, &span, block.memory, nullptr, nullptr, e); });
    REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
    s.value = value.read();
    s.copy = copy.read();
    for (std::size_t i = 0; i < states.size(); ++i) s.states[i] = states[i]->read();
    norms = out.read();
  });
}

void compare(const std::string& name, const std::map<std::string, std::string>& options, int states) {
  const auto& api =
      fake::table<sy_optimizer_api>(fake::plugin("plugins/sy-optimizer-" + name + ".so"), SY_KIND_OPTIMIZER, name);
  const sy_config table = fake::config(api, options);
  sy_optimizer* optimizer = nullptr;
  fake::must([&](sy_error** e) { return api.create(fake::host(), &table, &optimizer, e); });
  for (const bool bf16 : {false, true})
    for (const int copy : {0, 1, 2}) {
      Storage a = storage(states, bf16, copy), b = storage(states, bf16, copy);
      Optimizer cpu(name, options);
      for (int step = 1; step <= 3; ++step) {
        const sy_opt_control control{1e-2, 0.5, 0.75, step == 2 ? 1 : 0, step};
        std::vector<double> got;
        const std::vector<double> expected = cpu.norms(a);
        cpu.step(a, control);
        on_gpu(api, optimizer, b, control, got);
        for (std::size_t k = 0; k < expected.size(); ++k)
          CHECK(std::fabs(got[k] - expected[k]) <= 1e-13 * std::fabs(expected[k]));
      }
      CHECK(a.value == b.value);
      CHECK(a.states == b.states);
      CHECK(a.copy == b.copy);
    }
  api.destroy(optimizer);
}

}  // namespace

TEST_CASE("sgd") {
  if (skipped()) return;
  compare("sgd", {{"weight_decay", "0.1"}}, 0);
  compare("sgd", {{"momentum", "0.9"}, {"dampening", "0.2"}, {"weight_decay", "0.1"}}, 1);
  compare("sgd", {{"momentum", "0.9"}, {"nesterov", "true"}}, 1);
}
TEST_CASE("adam") {
  if (skipped()) return;
  compare("adam", {{"weight_decay", "0.1"}}, 2);
}
TEST_CASE("adamw") {
  if (skipped()) return;
  compare("adamw", {}, 2);
  compare("adamw", {{"betas", "[0.4, 0.95]"}, {"weight_decay", "0.1"}}, 2);
}
