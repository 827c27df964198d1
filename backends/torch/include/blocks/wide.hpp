// The type in which statistics are computed.
#pragma once

#include "switchyard/cpp/torch.hpp"

namespace sy {

inline bool is_reduced(at::ScalarType t) { return t == at::kHalf || t == at::kBFloat16; }
/// fp32 for fp16 and bf16, else the type itself.
inline at::ScalarType wide_type(at::ScalarType t) { return is_reduced(t) ? at::kFloat : t; }
inline at::Tensor widened(const at::Tensor& t) { return t.defined() ? t.to(wide_type(t.scalar_type())) : t; }
inline bool is_reduced(sy_dtype t) { return is_float(t) && t.bits == 16; }
/// Bytes of a tensor's fp32 (fp64) copy per element.
inline uint64_t wide_width(sy_dtype t) { return is_reduced(t) ? 4 : t.bits / 8; }

}  // namespace sy
