// Token embedding with positions: y[r, t] = token[id[r, t]] + position[t].
#pragma once

#include "lane.hpp"

namespace sy::kernels {

struct embed_size {
  int64_t rows, time, width, vocabulary;
  sy_dtype type, id_type;  // any integer type
};
/// position: NULL, or [at least time, width].
void embed(const lane&, const embed_size&, const void* ids, const void* token, const void* position, void* y);
/// token[id] += the sum of dy over the places of id, position[t] += the sum of dy over rows, both in the order of
/// places and rounded once. Either may be unwanted.
void embed_backward(const lane&, const embed_size&, const void* ids, const void* dy, sum token, sum position,
                    void* scratch);
uint64_t embed_backward_scratch(const lane&, const embed_size&);

}  // namespace sy::kernels
