// How fast the layers' kernels are on the GPU: for each at the shapes of three GPT models in bf16 with fp32 gradients,
// the time of a call, the bytes that it cannot avoid to move, and both divided. Buffers rotate, so that nothing is
// found in the second-level cache.
//   build/tests/bench/kernel-bench [PART OF A KERNEL'S NAME]
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "switchyard/cpp/plugin.hpp"
#include "kernels/columns.hpp"
#include "kernels/drop.hpp"
#include "kernels/embed.hpp"
#include "kernels/pointwise.hpp"
#include "kernels/rotary.hpp"
#include "kernels/row_norm.hpp"
#include "kernels/softmax_loss.hpp"

using namespace sy::kernels;

namespace {

constexpr int warm_up = 5, repetitions = 20;
constexpr uint64_t rotated_bytes = 400ull << 20;  // several times the second-level cache
constexpr int64_t vocabulary = 50304;

struct Shape {
  const char* name;
  int64_t batch, time, width, feed_forward, head_width;
  int64_t rows() const { return batch * time; }
};
constexpr Shape shapes[] = {
    {"S", 8, 1024, 768, 3072, 64}, {"M", 4, 1024, 2048, 8192, 128}, {"L", 2, 1024, 4096, 16384, 128}};

void must(cudaError_t code) {
  if (code == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorString(code));
  std::exit(1);
}

/// Random numbers that are finite as bf16, fp32 and fp64, copied over device memory.
void fill(void* to, uint64_t bytes) {
  static const std::vector<uint16_t> random = [] {
    std::mt19937 engine(1);
    std::normal_distribution<float> draw(0, 1);
    std::vector<uint16_t> all(1 << 22);
    for (uint16_t& v : all) {
      const float f = draw(engine);
      uint32_t bits;
      std::memcpy(&bits, &f, sizeof bits);
      v = static_cast<uint16_t>(bits >> 16);
    }
    return all;
  }();
  const uint64_t block = random.size() * sizeof(uint16_t);
  for (uint64_t at = 0; at < bytes; at += block)
    must(cudaMemcpy(static_cast<char*>(to) + at, random.data(), std::min(block, bytes - at), cudaMemcpyHostToDevice));
}

void fill_ids(void* to, int64_t n) {
  std::mt19937 engine(2);
  std::vector<int64_t> ids(static_cast<std::size_t>(n));
  for (int64_t& id : ids) id = static_cast<int64_t>(engine() % static_cast<uint32_t>(vocabulary));
  must(cudaMemcpy(to, ids.data(), ids.size() * sizeof(int64_t), cudaMemcpyHostToDevice));
}

class Bench {
 public:
  explicit Bench(std::string only) : only_(std::move(only)) {
    on.cuda = true;
    cudaStream_t stream = nullptr;
    must(cudaStreamCreate(&stream));
    on.stream = stream;
    std::printf("%-6s %-34s %10s %10s %8s\n", "shape", "kernel", "us", "MB", "TB/s");
  }
  using Buffers = std::vector<void*>;

  /// run(buffers) with a set of buffers of `sizes` bytes each; buffer number `ids` holds ids. moved: bytes of one call.
  void measure(const Shape& shape, const std::string& name, const std::vector<uint64_t>& sizes, double moved,
               const std::function<void(const Buffers&)>& run, int ids = -1) {
    if (name.find(only_) == std::string::npos) return;
    uint64_t bytes = 0;
    for (const uint64_t size : sizes) bytes += size;
    const uint64_t sets = std::clamp<uint64_t>(rotated_bytes / std::max<uint64_t>(1, bytes), 2, 64);
    std::vector<Buffers> all(sets);
    for (Buffers& buffers : all)
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        void* memory = nullptr;
        must(cudaMalloc(&memory, sizes[k] + 256));
        if (static_cast<int>(k) == ids)
          fill_ids(memory, static_cast<int64_t>(sizes[k] / 8));
        else
          fill(memory, sizes[k]);
        buffers.push_back(memory);
      }
    const auto stream = static_cast<cudaStream_t>(on.stream);
    cudaEvent_t begin = nullptr, end = nullptr;
    must(cudaEventCreate(&begin));
    must(cudaEventCreate(&end));
    for (int i = 0; i < warm_up; ++i) run(all[static_cast<std::size_t>(i) % sets]);
    must(cudaEventRecord(begin, stream));
    for (int i = 0; i < repetitions; ++i) run(all[static_cast<std::size_t>(i + warm_up) % sets]);
    must(cudaEventRecord(end, stream));
    must(cudaEventSynchronize(end));
    float milliseconds = 0;
    must(cudaEventElapsedTime(&milliseconds, begin, end));
    const double us = 1e3 * milliseconds / repetitions;
    std::printf("%-6s %-34s %10.1f %10.1f %8.2f\n", shape.name, name.c_str(), us, moved / 1e6, moved / us / 1e6);
    std::fflush(stdout);
    must(cudaEventDestroy(begin));
    must(cudaEventDestroy(end));
    for (Buffers& buffers : all)
      for (void* memory : buffers) must(cudaFree(memory));
  }
  lane on;

 private:
  std::string only_;
};

sum f32_sum(void* data) { return {data, sy::f32}; }
double twice(int64_t n) { return 2.0 * static_cast<double>(n); }
uint64_t of16(int64_t n) { return 2 * static_cast<uint64_t>(n); }
uint64_t of32(int64_t n) { return 4 * static_cast<uint64_t>(n); }

void copy(Bench& b, const Shape& s) {
  const int64_t n = s.rows() * s.feed_forward;
  b.measure(s, "copy (cudaMemcpyAsync), to compare", {of16(n), of16(n)}, 2 * twice(n), [&](const Bench::Buffers& at) {
    must(cudaMemcpyAsync(at[1], at[0], of16(n), cudaMemcpyDeviceToDevice, static_cast<cudaStream_t>(b.on.stream)));
  });
}

void norms(Bench& b, const Shape& s) {
  const int64_t n = s.rows() * s.width;
  const norm_size size{s.rows(), s.width, sy::bf16, norm_rule::layer, 1e-5};
  const uint64_t row = of16(s.width), wide_row = of32(s.width), stats = of32(s.rows());
  // x, residual, sum, weight, bias, y, mean, rstd
  b.measure(s, "norm_forward, with residual", {of16(n), of16(n), of16(n), row, row, of16(n), stats, stats},
            4 * twice(n), [&](const Bench::Buffers& at) {
              norm_forward(b.on, size, {at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7]});
            });
  b.measure(s, "norm_forward", {of16(n), row, row, of16(n), stats, stats}, 2 * twice(n), [&](const Bench::Buffers& at) {
    norm_forward(b.on, size, {at[0], nullptr, nullptr, at[1], at[2], at[3], at[4], at[5]});
  });
  // dy, x, weight, mean, rstd, add, dx, three gradients, scratch
  b.measure(s, "norm_backward, add, three sums",
            {of16(n), of16(n), row, stats, stats, of16(n), of16(n), wide_row, wide_row, wide_row,
             norm_backward_scratch(b.on, size)},
            4 * twice(n), [&](const Bench::Buffers& at) {
              norm_backward(b.on, size,
                            {at[0], at[1], at[2], at[3], at[4], at[5], at[6], f32_sum(at[7]), f32_sum(at[8]),
                             f32_sum(at[9]), at[10]});
            });
  b.measure(s, "norm_backward, two sums",
            {of16(n), of16(n), row, stats, stats, of16(n), wide_row, wide_row, norm_backward_scratch(b.on, size)},
            3 * twice(n), [&](const Bench::Buffers& at) {
              norm_backward(
                  b.on, size,
                  {at[0], at[1], at[2], at[3], at[4], nullptr, at[5], f32_sum(at[6]), f32_sum(at[7]), {}, at[8]});
            });
}

void columns(Bench& b, const Shape& s) {
  for (const int64_t n : {s.width, 3 * s.width, s.feed_forward}) {
    const uint64_t room = column_sum_scratch(b.on, sy::bf16, s.rows(), n);
    b.measure(s, "column_sum of " + std::to_string(n), {of16(s.rows() * n), of32(n), room}, twice(s.rows() * n),
              [&](const Bench::Buffers& at) { column_sum(b.on, sy::bf16, s.rows(), n, at[0], f32_sum(at[1]), at[2]); });
  }
  const int64_t n = s.rows() * s.width, heads = s.width / s.head_width;
  const uint64_t room = column_sum_scratch(b.on, sy::bf16, s.rows(), 3 * s.width);
  for (const bool bias : {true, false})
    b.measure(
        s, bias ? "pack of dq, dk, dv, bias" : "pack of dq, dk, dv",
        {of16(n), of16(n), of16(n), of16(3 * n), of32(3 * s.width), room}, 6 * twice(n), [&](const Bench::Buffers& at) {
          packed_part parts[3];
          for (int k = 0; k < 3; ++k)
            parts[k] = {at[static_cast<std::size_t>(k)], heads, s.time * s.width, s.head_width, s.time * s.head_width};
          pack(b.on, sy::bf16, s.rows(), s.time, s.head_width, parts, 3, at[3], bias ? f32_sum(at[4]) : sum{}, at[5]);
        });
}

void pointwise(Bench& b, const Shape& s) {
  const int64_t n = s.rows() * s.feed_forward;
  const uint64_t room = column_sum_scratch(b.on, sy::bf16, s.rows(), s.feed_forward);
  for (const auto& [f, name] : {std::pair{function::gelu, "gelu"}, {function::gelu_tanh, "gelu_tanh"}}) {
    b.measure(s, std::string("activate ") + name, {of16(n), of16(n)}, 2 * twice(n),
              [&](const Bench::Buffers& at) { activate(b.on, f, sy::bf16, n, at[0], at[1]); });
    for (const bool bias : {true, false})
      b.measure(s, std::string("activate_backward ") + name + (bias ? ", bias" : ""),
                {of16(n), of16(n), of16(n), of32(s.feed_forward), room}, 3 * twice(n), [&](const Bench::Buffers& at) {
                  activate_backward(b.on, f, sy::bf16, s.rows(), s.feed_forward, at[0], at[1], at[2],
                                    bias ? f32_sum(at[3]) : sum{}, at[4]);
                });
  }
  b.measure(s, "swiglu", {of16(n), of16(n), of16(n)}, 3 * twice(n),
            [&](const Bench::Buffers& at) { swiglu(b.on, sy::bf16, n, at[0], at[1], at[2]); });
  b.measure(s, "swiglu_backward", {of16(n), of16(n), of16(n), of16(n), of16(n)}, 5 * twice(n),
            [&](const Bench::Buffers& at) { swiglu_backward(b.on, sy::bf16, n, at[0], at[1], at[2], at[3], at[4]); });
  const int64_t narrow = s.rows() * s.width;
  b.measure(s, "add", {of16(narrow), of16(narrow), of16(narrow)}, 3 * twice(narrow),
            [&](const Bench::Buffers& at) { add(b.on, sy::bf16, narrow, at[0], at[1], at[2]); });
  b.measure(s, "drop, with add", {of16(narrow), of16(narrow), of16(narrow)}, 3 * twice(narrow),
            [&](const Bench::Buffers& at) {
              drop(b.on, sy::bf16, s.batch, s.time * s.width, {{1, 2}, 3, 0, 0.1}, at[0], at[1], at[2]);
            });
  b.measure(s, "rotate q and k", {of16(3 * narrow)}, 4 * twice(narrow), [&](const Bench::Buffers& at) {
    rotate(b.on, sy::bf16, s.rows(), s.time, 2 * s.width / s.head_width, s.head_width, 3 * s.width, 10000, false,
           at[0]);
  });
}

void head(Bench& b, const Shape& s) {
  for (const int64_t classes : {vocabulary, int64_t{50257}}) {
    const int64_t n = s.rows() * classes;
    for (const bool gradient : {true, false})
      b.measure(
          s, "softmax_loss of " + std::to_string(classes) + (gradient ? "" : ", loss alone"),
          {of16(n), 8 * static_cast<uint64_t>(s.rows()), 8 * static_cast<uint64_t>(s.rows())},
          (gradient ? 2 : 1) * twice(n),
          [&](const Bench::Buffers& at) {
            softmax_loss(b.on, {.rows = s.rows(),
                                .classes = classes,
                                .type = sy::bf16,
                                .logits = at[0],
                                .targets = at[1],
                                .target_type = sy::i64,
                                .weight = 1e-4,
                                .gradient = gradient,
                                .losses = static_cast<double*>(at[2])});
          },
          1);
  }
  b.measure(s, "sum_losses", {8 * static_cast<uint64_t>(s.rows()), 8}, 8.0 * static_cast<double>(s.rows()),
            [&](const Bench::Buffers& at) {
              sum_losses(b.on, s.rows(), static_cast<const double*>(at[0]), nullptr, static_cast<float*>(at[1]));
            });
}

void embedding(Bench& b, const Shape& s) {
  const int64_t n = s.rows() * s.width;
  const embed_size size{s.batch, s.time, s.width, vocabulary, sy::bf16, sy::i64};
  const uint64_t ids = 8 * static_cast<uint64_t>(s.rows());
  b.measure(
      s, "embed", {ids, of16(vocabulary * s.width), of16(s.time * s.width), of16(n)}, 2 * twice(n),
      [&](const Bench::Buffers& at) { embed(b.on, size, at[0], at[1], at[2], at[3]); }, 0);
  // dy is read twice; the gradients' rows are read and written
  b.measure(
      s, "embed_backward, token and position",
      {ids, of16(n), of32(vocabulary * s.width), of32(s.time * s.width), embed_backward_scratch(b.on, size)},
      2 * twice(n) + 8.0 * static_cast<double>(n) + 8.0 * static_cast<double>(s.time * s.width),
      [&](const Bench::Buffers& at) {
        embed_backward(b.on, size, at[0], at[1], f32_sum(at[2]), f32_sum(at[3]), at[4]);
      },
      0);
}

}  // namespace

int main(int argc, char** argv) {
  int n = 0;
  if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0) {
    std::printf("[skipped] no GPU\n");
    return 0;
  }
  Bench bench(argc > 1 ? argv[1] : "");
  try {
    for (const Shape& shape : shapes)
      for (const auto& part : {copy, norms, columns, pointwise, embedding, head}) part(bench, shape);
  } catch (const sy::fault& fault) {
    std::printf("%s\n", fault.what());
    return 1;
  }
  return 0;
}
