#include "embed.hpp"

#include <utility>

#include "dispatch.hpp"
#include "whole.hpp"

namespace sy::kernels {
namespace {

void expect(const char* kernel, const embed_size& size) {
  expect_float(kernel, size.type);
  expect_whole(kernel, size.id_type);
  if (size.rows * size.time >= int64_t{1} << 31 || size.vocabulary >= int64_t{1} << 31)
    throw fault(SY_E_ARGUMENT, std::string(kernel) + ": 2^31 ids or more");
}

/// Each id * 2^32 + its place, sorted by id, eight bits at a time, which keeps the order of places. `other`: as much
/// room again. Returns which of the two holds the result.
uint64_t* sort_ids(const embed_size& size, const void* ids, uint64_t* order, uint64_t* other) {
  const int64_t n = size.rows * size.time;
  for (int64_t k = 0; k < n; ++k)
    order[k] = static_cast<uint64_t>(whole_at(ids, size.id_type, k)) << 32 | static_cast<uint64_t>(k);
  for (int shift = 0; ((size.vocabulary - 1) >> shift) != 0; shift += 8) {
    int64_t at[256] = {}, total = 0;
    for (int64_t k = 0; k < n; ++k) ++at[order[k] >> (32 + shift) & 255];
    for (int64_t& begin : at) total += std::exchange(begin, total);
    for (int64_t k = 0; k < n; ++k) other[at[order[k] >> (32 + shift) & 255]++] = order[k];
    std::swap(order, other);
  }
  return order;
}

}  // namespace

void embed(const lane& on, const embed_size& size, const void* ids, const void* token, const void* position, void* y) {
  expect("embed", size);
  if (size.rows > 0 && size.time > 0 && size.width > 0) SY_ON_LANE(on, embed, size, ids, token, position, y);
}

void embed_backward(const lane& on, const embed_size& size, const void* ids, const void* dy, sum token, sum position,
                    void* scratch) {
  expect("embed_backward", size);
  expect_sum("embed_backward", token);
  expect_sum("embed_backward", position);
  if (size.rows <= 0 || size.time <= 0 || size.width <= 0 || (!token && !position)) return;
  if (on.cuda) {
#ifdef SWITCHYARD_WITH_CUDA
    return expect_started("embed_backward", cuda::embed_backward(on.stream, size, ids, dy, token, position, scratch));
#else
    throw fault(SY_E_UNIMPLEMENTED, "embed_backward: this build has no kernels for CUDA");
#endif
  }
  auto* order = static_cast<uint64_t*>(scratch);
  if (token) order = sort_ids(size, ids, order, order + size.rows * size.time);
  on_cpu()->embed_backward(on, size, order, dy, token, position);
}

uint64_t embed_backward_scratch(const lane&, const embed_size& size) {
  const uint64_t cpu = static_cast<uint64_t>(size.rows * size.time) * 2 * sizeof(uint64_t);
#ifdef SWITCHYARD_WITH_CUDA
  return std::max(cpu, cuda::embed_backward_scratch(size));
#else
  return cpu;
#endif
}

}  // namespace sy::kernels
