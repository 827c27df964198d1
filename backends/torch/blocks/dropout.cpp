#include "blocks/dropout.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/custom_function.h>

namespace sy {
namespace {

namespace ag = ::torch::autograd;

constexpr int64_t lanes = 16;

/// dropped[4 i + w] for `lanes` blocks from `block` on: Philox4x32-10 with one counter per lane, a loop that compilers
/// turn into vector code. The numbers are sy_random_block's.
__attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3"))) void drop_lanes(
    bool* dropped, const uint32_t key[2], uint32_t step, uint32_t sample, uint64_t block, uint64_t threshold) {
  uint32_t c0[lanes], c1[lanes], c2[lanes], c3[lanes];
  for (int64_t i = 0; i < lanes; ++i) {
    const uint64_t b = block + static_cast<uint64_t>(i);
    c0[i] = step, c1[i] = sample, c2[i] = static_cast<uint32_t>(b), c3[i] = static_cast<uint32_t>(b >> 32);
  }
  uint32_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    for (int64_t i = 0; i < lanes; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0[i], p1 = uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<uint32_t>(p1);
      c2[i] = static_cast<uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<uint32_t>(p0);
    }
  }
  for (int64_t i = 0; i < lanes; ++i) {
    dropped[4 * i] = c0[i] < threshold;
    dropped[4 * i + 1] = c1[i] < threshold;
    dropped[4 * i + 2] = c2[i] < threshold;
    dropped[4 * i + 3] = c3[i] < threshold;
  }
}

/// Elements begin .. end - 1 of one sample; begin is a multiple of 4 * lanes.
void drop_range(bool* dropped, const uint32_t key[2], uint32_t step, uint32_t sample, int64_t begin, int64_t end,
                uint64_t threshold) {
  for (int64_t e = begin; e < end; e += 4 * lanes) {
    bool tail[4 * lanes];
    const bool whole = end - e >= 4 * lanes;
    drop_lanes(whole ? dropped + e : tail, key, step, sample, static_cast<uint64_t>(e) / 4, threshold);
    if (!whole) std::copy(tail, tail + (end - e), dropped + e);
  }
}

class drop_function : public ag::Function<drop_function> {
 public:
  static at::Tensor forward(ag::AutogradContext* context, const at::Tensor& x, const at::Tensor& dropped,
                            double scale) {
    context->save_for_backward({dropped});
    context->saved_data["scale"] = scale;
    return x.mul(scale).masked_fill_(dropped, 0);
  }
  static ag::variable_list backward(ag::AutogradContext* context, const ag::variable_list& grads) {
    const at::Tensor dropped = context->get_saved_variables()[0];
    return {grads[0].mul(context->saved_data["scale"].toDouble()).masked_fill_(dropped, 0), {}, {}};
  }
};

}  // namespace

at::Tensor dropout_mask(const sy_call& call, at::IntArrayRef shape, double probability, const char* place) {
  at::Tensor mask = at::empty(shape, at::TensorOptions().dtype(at::kBool));
  bool* dropped = mask.data_ptr<bool>();
  const int64_t rows = std::max<int64_t>(1, call.rows), row = mask.numel() / rows;
  const int64_t chunk = 4 * lanes * 64, chunks = (row + chunk - 1) / chunk;
  uint32_t key[2];
  sy_random_key(call.seed, place_key(call.layer_key, place), key);
  const uint64_t threshold = sy_drop_threshold(probability);
  at::parallel_for(0, rows * chunks, 4, [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      const int64_t r = i / chunks, begin = i % chunks * chunk;
      drop_range(dropped + r * row, key, static_cast<uint32_t>(call.step), static_cast<uint32_t>(call.first_sample + r),
                 begin, std::min(row, begin + chunk), threshold);
    }
  });
  return mask;
}

at::Tensor dropout(pass& p, const at::Tensor& x, double probability, const char* place) {
  if (probability <= 0 || !p.training()) return x;
  const at::Tensor dropped = dropout_mask(p.call, x.sizes(), probability, place).to(x.device());
  return drop_function::apply(x, dropped, probability < 1 ? 1.0 / (1.0 - probability) : 0.0);
}

}  // namespace sy
