// How a residual branch ends: y = x + dropout(result), and what of y's gradient flows into it.
#pragma once

#include "kernels/drop.hpp"
#include "switchyard/cpp/torch.hpp"

namespace sy {

/// The mask of one place in the layer; `place` as place_key takes it.
kernels::drawing drawing_of(const sy_call& call, double probability, const char* place);

/// dropout(result), plus x where there is a residual; in the place of result.
at::Tensor add_branch(const sy_call& call, const at::Tensor& x, at::Tensor result, bool residual, double dropout,
                      const char* place);
/// The gradient of the branch's result from dy, that of y: dy itself where nothing is dropped.
at::Tensor dropped_gradient(const sy_call& call, const at::Tensor& dy, double dropout, const char* place);

}  // namespace sy
