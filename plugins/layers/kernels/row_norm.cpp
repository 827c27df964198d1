#include "row_norm.hpp"

#include "dispatch.hpp"
#include "row_groups.hpp"

namespace sy::kernels {

void norm_forward(const lane& on, const norm_size& size, const norm_forward_data& data) {
  expect_float("norm_forward", size.type);
  if (size.rows > 0 && size.width > 0) SY_ON_LANE(on, norm_forward, size, data);
}

void norm_backward(const lane& on, const norm_size& size, const norm_backward_data& data) {
  expect_float("norm_backward", size.type);
  for (const sum& to : {data.weight_gradient, data.bias_gradient, data.column_sum}) expect_sum("norm_backward", to);
  if (size.rows > 0 && size.width > 0) SY_ON_LANE(on, norm_backward, size, data);
}

uint64_t norm_backward_scratch(const lane&, const norm_size& size) {
  const uint64_t cpu = static_cast<uint64_t>(cpu_groups(size.rows).count * 3 * size.width) * wide(size.type).bits / 8;
#ifdef SWITCHYARD_WITH_CUDA
  return std::max(cpu, cuda::norm_backward_scratch(size));
#else
  return cpu;
#endif
}

}  // namespace sy::kernels
