// Dropout whose masks are counters (random.h): neither placement, nor micro-batches, nor a replay change one.
#pragma once

#include "switchyard/cpp/torch.hpp"

namespace sy {

/// sy_hash_name(LAYER + "." + place), from the hash of LAYER: the name of one of several masks of a layer. An empty
/// place is the layer itself.
inline uint64_t place_key(uint64_t layer_key, const char* place) {
  if (!*place) return layer_key;
  constexpr uint64_t prime = 0x100000001B3u;  // FNV-1a goes on where it stopped
  uint64_t hash = (layer_key ^ static_cast<uint8_t>('.')) * prime;
  for (; *place; ++place) hash = (hash ^ static_cast<uint8_t>(*place)) * prime;
  return hash;
}

/// y = x / (1 - p), or 0 where dropped, in training calls; x itself in others or where p is 0. x holds call.rows
/// samples one after the other (its first dimension may be samples times time); within a sample the elements are
/// numbered in row-major order. Autograd keeps one byte per element.
SY_EXPORT at::Tensor dropout(pass& p, const at::Tensor& x, double probability, const char* place);

/// The mask: bool, true where dropped. Made on the CPU.
SY_EXPORT at::Tensor dropout_mask(const sy_call& call, at::IntArrayRef shape, double probability, const char* place);

}  // namespace sy
