// The layers' kernels against their CPU twins: within rounding, and twice the same bits. Small and odd shapes for every
// type, for compute-sanitizer too; then the shapes of GPT models of three sizes.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstdio>
#include <map>

#include "../plugins/kernels/check.hpp"
#include "../plugins/kernels/columns_case.hpp"
#include "../plugins/kernels/drop_case.hpp"
#include "../plugins/kernels/embed_case.hpp"
#include "../plugins/kernels/pointwise_case.hpp"
#include "../plugins/kernels/rotary_case.hpp"
#include "../plugins/kernels/row_norm_case.hpp"
#include "../plugins/kernels/softmax_loss_case.hpp"

using namespace kernels;

namespace {

bool skipped() {
  int n = 0;
  if (cudaGetDeviceCount(&n) == cudaSuccess && n > 0) return false;
  std::printf("[skipped] no GPU\n");
  return true;
}

/// Copies tensors to the GPU when they are asked for, and all of them back at the end. Behind each lie 256 bytes that
/// nobody may write.
class Gpu : public Place {
 public:
  Gpu() {
    on.cuda = true;
    cudaStream_t stream = nullptr;
    REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
    on.stream = stream;
  }
  ~Gpu() override {
    for (const auto& [tensor, memory] : memory_) cudaFree(memory);
    cudaStreamDestroy(static_cast<cudaStream_t>(on.stream));
  }
  void* at(Tensor& t) override {
    if (t.count == 0) return nullptr;
    if (const auto known = memory_.find(&t); known != memory_.end()) return known->second;
    void* memory = nullptr;
    REQUIRE(cudaMalloc(&memory, t.size() + fence) == cudaSuccess);
    REQUIRE(cudaMemcpy(memory, t.data(), t.size(), cudaMemcpyHostToDevice) == cudaSuccess);
    REQUIRE(cudaMemset(static_cast<char*>(memory) + t.size(), 0x5A, fence) == cudaSuccess);
    memory_[&t] = memory;
    return memory;
  }
  void finish() {
    const cudaError_t code = cudaDeviceSynchronize();
    const std::string failed = code == cudaSuccess ? "" : cudaGetErrorString(code);
    REQUIRE(failed == "");
    for (const auto& [tensor, memory] : memory_) {
      REQUIRE(cudaMemcpy(tensor->data(), memory, tensor->size(), cudaMemcpyDeviceToHost) == cudaSuccess);
      std::vector<unsigned char> behind(fence);
      REQUIRE(cudaMemcpy(behind.data(), static_cast<char*>(memory) + tensor->size(), fence, cudaMemcpyDeviceToHost) ==
              cudaSuccess);
      for (const unsigned char b : behind) REQUIRE(b == 0x5A);
    }
  }

 private:
  static constexpr std::size_t fence = 256;
  std::map<Tensor*, void*> memory_;
};

std::vector<double> values_of(const Tensor& t) {
  std::vector<double> all;
  for (int64_t i = 0; i < t.count; ++i) all.push_back(t.at(i));
  return all;
}

template <class Case>
void compare(const Case& fresh) {
  Case cpu = fresh, one = fresh, two = fresh;
  Host host(2);
  cpu.run(host);
  for (Case* c : {&one, &two}) {
    Gpu gpu;
    c->run(gpu);
    gpu.finish();
  }
  const auto expected = cpu.outputs(), got = one.outputs(), again = two.outputs();
  for (std::size_t k = 0; k < expected.size(); ++k) {
    CAPTURE(expected[k].name);
    CHECK(again[k].tensor->same_bits(*got[k].tensor));
    Output out = got[k];
    // both may be rounded either way; exp of 16-bit tensors is the hardware's
    out.loose = 4 * out.loose + (out.tensor->type.bits == 16 ? 256 : 0), out.apart = 4 * out.apart + out.between;
    CHECK(too_far(out, values_of(*expected[k].tensor), 2) == "");
  }
}

struct Shape {
  int64_t batch, time, width, feed_forward;
};
constexpr Shape shapes[] = {{8, 1024, 768, 3072}, {4, 1024, 2048, 8192}, {2, 1024, 4096, 16384}};

}  // namespace

TEST_CASE("small: norms") {
  if (skipped()) return;
  for (const sy_dtype type : all_types)
    for (const int64_t width : {1, 3, 17, 128, 520, 768, 2048, 5000})
      for (const norm_rule rule : {norm_rule::layer, norm_rule::rms}) {
        const std::string of = name_of(type);
        CAPTURE(of);
        CAPTURE(width);
        const bool layer = rule == norm_rule::layer;
        for (const int64_t rows : {1, 7, 37}) {
          CAPTURE(rows);
          compare(NormForward(rows, width, type, {.rule = rule}));
          compare(NormForward(rows, width, type, {.rule = rule, .residual = true, .bias = false}));
          compare(NormBackward(rows, width, type,
                               {.rule = rule, .add = layer, .bias_gradient = layer, .column_sum = true}));
        }
        compare(NormBackward(5, width, type,
                             {.rule = rule, .in_place = true, .weight_gradient = false, .bias_gradient = false}));
        compare(NormBackward(21, width, type, {.rule = rule, .add = true, .in_place = true, .gradient = sy::bf16}));
        compare(NormBackward(5, width, type, {.rule = rule, .dx = false, .bias_gradient = layer}));
      }
}

TEST_CASE("small: columns and packing") {
  if (skipped()) return;
  for (const sy_dtype type : all_types) {
    const std::string of = name_of(type);
    CAPTURE(of);
    for (const int64_t columns : {1, 3, 17, 264, 768, 5000})
      for (const int64_t rows : {1, 6, 133}) {
        CAPTURE(columns);
        CAPTURE(rows);
        compare(ColumnSum(rows, columns, type, type.bits == 64 ? sy::f64 : sy::f32));
        compare(ColumnSum(rows, columns, type, sy::bf16));
      }
    compare(Pack(2, 9, 4, 2, 16, type, sy::f32, true));
    compare(Pack(3, 50, 3, 1, 5, type, sy::bf16, true));
    compare(Pack(1, 7, 2, 2, 64, type, sy::f32, false));
    compare(Pack(2, 40, 2, 1, 64, type, sy::f32, true, 0));
  }
}

TEST_CASE("small: activations, gates, additions") {
  if (skipped()) return;
  for (const sy_dtype type : all_types) {
    const std::string of = name_of(type);
    CAPTURE(of);
    for (const function f : all_functions)
      for (const int64_t columns : {1, 3, 17, 264, 768}) {
        CAPTURE(static_cast<int>(f));
        CAPTURE(columns);
        compare(Activate(f, columns * 9, type, columns % 3 == 0));
        compare(ActivateBackward(f, 9, columns, type, columns % 3 == 0, false));
        compare(ActivateBackward(f, 70, columns, type, columns % 3 != 0, true));
      }
    for (const int64_t n : {1, 7, 17, 5000}) {
      CAPTURE(n);
      for (const int into : {0, 1, 2}) compare(Swiglu(n, type, false, into));
      for (const int into : {0, 1, 3, 4}) compare(Swiglu(n, type, true, into));
      for (const int into : {0, 1, 2}) compare(Add(n, type, into));
    }
  }
}

TEST_CASE("small: rotary positions") {
  if (skipped()) return;
  for (const sy_dtype type : all_types)
    for (const int64_t head_width : {2, 6, 32, 128})
      for (const bool back : {false, true}) {
        const std::string of = name_of(type);
        CAPTURE(of);
        CAPTURE(head_width);
        compare(Rotate(2, 5, 3, head_width, type, back));
        compare(Rotate(3, 70, 2, head_width, type, back, 0));
        compare(Rotate(2, 5, 3, head_width, type, back, 8));
      }
}

TEST_CASE("small: losses") {
  if (skipped()) return;
  for (const sy_dtype type : all_types)
    for (const int64_t classes : {1, 2, 17, 256, 5003, 5008})
      for (const bool right : {false, true}) {
        const std::string of = name_of(type);
        CAPTURE(of);
        CAPTURE(classes);
        compare(SoftmaxLoss(13, classes, type, {.right = right}));
        compare(SoftmaxLoss(13, classes, type, {.right = right, .ignores = true, .target_type = sy::i32}));
        compare(SoftmaxLoss(13, classes, type, {.gradient = false, .right = right}));
      }
  compare(SoftmaxLoss(9, 300, sy::f32, {.scale = 300}));
}

TEST_CASE("small: embeddings") {
  if (skipped()) return;
  for (const sy_dtype type : all_types)
    for (const int64_t width : {1, 3, 17, 264, 768, 2048}) {
      const std::string of = name_of(type);
      CAPTURE(of);
      CAPTURE(width);
      compare(Embed(3, 11, width, type, sy::i64, true));
      compare(Embed(3, 11, width, type, sy::u8, false));
      compare(EmbedBackward(3, 11, width, 60, 20, type, sy::f32));
      compare(EmbedBackward(2, 100, width, 60, 3, type, sy::bf16));
      compare(EmbedBackward(3, 96, width, 60, 1, type, sy::f32));
    }
  compare(EmbedBackward(4, 10, 40, 300, 30, sy::bf16, sy::f32, true, false));
  compare(EmbedBackward(4, 10, 40, 300, 30, sy::bf16, sy::f32, false, true));
  compare(EmbedBackward(2, 9, 8, 100, 30, sy::f64, sy::f64, true, true, sy::u8));
}

TEST_CASE("small: dropout") {
  if (skipped()) return;
  for (const sy_dtype type : all_types)
    for (const int64_t per_sample : {1, 3, 64, 100, 5001}) {
      const std::string of = name_of(type);
      CAPTURE(of);
      CAPTURE(per_sample);
      compare(Drop(5, per_sample, type, 0.25, false));
      compare(Drop(5, per_sample, type, 0.25, true, 2));
      compare(Drop(3, per_sample, type, 0.6, per_sample % 2 == 0, 1));
    }
}

TEST_CASE("model shapes: norms") {
  if (skipped()) return;
  for (const Shape& s : shapes) {
    CAPTURE(s.width);
    compare(NormForward(s.batch * s.time, s.width, sy::bf16, {.residual = true}));
    compare(NormForward(s.batch * s.time, s.width, sy::f32, {.rule = norm_rule::rms}));
    compare(NormBackward(s.batch * s.time, s.width, sy::bf16, {.add = true, .column_sum = true}));
    compare(NormBackward(s.batch * s.time, s.width, sy::f32, {.rule = norm_rule::rms, .bias_gradient = false}));
  }
}

TEST_CASE("model shapes: feed-forward and attention's borders") {
  if (skipped()) return;
  for (const Shape& s : shapes) {
    CAPTURE(s.width);
    const int64_t rows = s.batch * s.time;
    compare(Activate(function::gelu, rows * s.feed_forward, sy::bf16, false));
    compare(ActivateBackward(function::gelu, rows, s.feed_forward, sy::bf16, true, true));
    compare(ActivateBackward(function::gelu_tanh, rows, s.feed_forward, sy::bf16, true, true, sy::bf16));
    compare(Swiglu(rows * s.width, sy::bf16, true, 1));
    compare(ColumnSum(rows, s.width, sy::bf16, sy::f32));
    compare(Pack(s.batch, s.time, s.width / 64, s.width / 64, 64, sy::bf16, sy::f32, true, 0));
    compare(Rotate(s.batch, s.time, 2 * s.width / 64, 64, sy::bf16, false, s.width));
    compare(Drop(s.batch, s.time * s.width, sy::bf16, 0.1, true));
  }
}

TEST_CASE("model shapes: embedding and head") {
  if (skipped()) return;
  for (const Shape& s : shapes) {
    CAPTURE(s.width);
    compare(Embed(s.batch, s.time, s.width, sy::bf16, sy::i64, true));
    compare(EmbedBackward(s.batch, s.time, s.width, 8192, 6000, sy::bf16, sy::f32));
  }
  compare(EmbedBackward(8, 1024, 768, 256, 40, sy::bf16, sy::f32));
  for (const int64_t classes : {50304, 50257}) {
    CAPTURE(classes);
    compare(SoftmaxLoss(200, classes, sy::bf16, {}));
    compare(SoftmaxLoss(100, classes, sy::f32, {.right = true, .ignores = true}));
  }
}
