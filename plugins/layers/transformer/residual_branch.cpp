#include "residual_branch.hpp"

#include <ATen/ops/empty_like.h>

#include "blocks/dropout.hpp"
#include "kernels/tensors.hpp"

namespace sy {

kernels::drawing drawing_of(const sy_call& call, double probability, const char* place) {
  kernels::drawing d{{}, static_cast<uint32_t>(call.step), call.first_sample, probability};
  sy_random_key(call.seed, place_key(call.layer_key, place), d.key);
  return d;
}

at::Tensor add_branch(const sy_call& call, const at::Tensor& x, at::Tensor result, bool residual, double dropout,
                      const char* place) {
  const kernels::lane on = kernels::lane_of(call);
  const sy_dtype type = kernels::type_of(result);
  void* const to = result.data_ptr();
  if (call.kind == SY_TRAIN && dropout > 0)
    kernels::drop(on, type, call.rows, result.numel() / call.rows, drawing_of(call, dropout, place), to,
                  residual ? x.const_data_ptr() : nullptr, to);
  else if (residual)
    kernels::add(on, type, result.numel(), x.const_data_ptr(), to, to);
  return result;
}

at::Tensor dropped_gradient(const sy_call& call, const at::Tensor& dy, double dropout, const char* place) {
  if (call.kind != SY_TRAIN || dropout <= 0) return dy;
  at::Tensor d = at::empty_like(dy);
  kernels::drop(kernels::lane_of(call), kernels::type_of(dy), call.rows, dy.numel() / call.rows,
                drawing_of(call, dropout, place), dy.const_data_ptr(), nullptr, d.data_ptr());
  return d;
}

}  // namespace sy
