// Which block of a launch works on which elements. Segments travel as arguments of the kernel, some dozens at a time,
// so that nothing has to be kept on the device.
#pragma once

#include <cstdint>

#include "switchyard/optimizer.h"

namespace sy::opt::cuda {

constexpr int most_segments = 64;
constexpr int threads = 256;

struct Segment {
  uint64_t offset, count;
  double decay, lr_scale;
  uint32_t first_block;  // within the launch
};

struct Batch {
  int segments = 0;
  uint32_t blocks = 0;
  Segment at[most_segments];

  /// Segments `first` and up, as many as fit in; each block takes `block_elements`.
  Batch(const sy_opt_span& span, uint32_t first, uint64_t block_elements) {
    for (uint32_t k = first; k < span.n_segments && segments < most_segments; ++k) {
      const sy_opt_segment& s = *span.segments[k];
      at[segments++] = {s.offset, s.count, s.decay, s.lr_scale, blocks};
      blocks += static_cast<uint32_t>((s.count + block_elements - 1) / block_elements);
    }
  }

  /// The segment of a block: the last one that begins at or before it.
  __device__ int of_block(uint32_t block) const {
    int low = 0, high = segments - 1;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (at[middle].first_block <= block)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }
};

}  // namespace sy::opt::cuda
