#include "sum.hpp"

#include "switchyard/cpp/float16.hpp"
#include "switchyard/cpp/plugin.hpp"

namespace sy::mpi {
namespace {

template <class Element, class Widen, class Round>
void add_up(void* to, std::span<const void* const> from, int64_t count, Widen widen, Round round) {
  auto* out = static_cast<Element*>(to);
  for (int64_t i = 0; i < count; ++i) {
    auto total = widen(static_cast<const Element*>(from[0])[i]);
    for (std::size_t r = 1; r < from.size(); ++r) total += widen(static_cast<const Element*>(from[r])[i]);
    out[i] = round(total);
  }
}

/// Numbers that are added as they are.
template <class Element>
void add_up(void* to, std::span<const void* const> from, int64_t count) {
  const auto same = [](Element e) { return e; };
  add_up<Element>(to, from, count, same, same);
}

}  // namespace

void sum(void* to, std::span<const void* const> from, int64_t count, sy_dtype dtype) {
  if (same(dtype, f64)) return add_up<double>(to, from, count);
  if (same(dtype, f32)) return add_up<float>(to, from, count);
  if (same(dtype, f16)) return add_up<uint16_t>(to, from, count, float16::from_f16, float16::to_f16);
  if (same(dtype, bf16)) return add_up<uint16_t>(to, from, count, float16::from_bf16, float16::to_bf16);
  if (same(dtype, i64)) return add_up<uint64_t>(to, from, count);
  if (same(dtype, i32)) return add_up<uint32_t>(to, from, count);
  add_up<uint8_t>(to, from, count);
}

}  // namespace sy::mpi
