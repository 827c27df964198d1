// A GPT of the book example's size, and tokens for it.
#pragma once

#include "data/source.hpp"

namespace bench {

inline const char* const book_gpt = R"(
[model]
context = 128
[[layer]]
type = "embedding"
name = "embed"
vocabulary = 256
width = 128
positions = "learned"
[[layer]]
type = "gpt_block"
name = "h"
repeat = 4
heads = 4
[[layer]]
type = "lm_head"
name = "head"
vocabulary = 256
)";

/// The same ones each time.
inline switchyard::Batch tokens(int64_t rows) {
  using namespace switchyard;
  Batch b;
  b.inputs.reset(dtype::i64, {rows, 128});
  b.targets.reset(dtype::i64, {rows, 128});
  uint64_t state = 1;
  for (HostTensor* t : {&b.inputs, &b.targets})
    for (int64_t& id : t->values<int64_t>())
      state = state * 6364136223846793005u + 1, id = static_cast<int64_t>(state >> 40) % 256;
  return b;
}

}  // namespace bench
