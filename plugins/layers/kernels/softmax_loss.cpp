#include "softmax_loss.hpp"

#include "dispatch.hpp"

namespace sy::kernels {

void softmax_loss(const lane& on, const softmax_loss_data& data) {
  expect_float("softmax_loss", data.type);
  expect_whole("softmax_loss", data.target_type);
  if (data.rows > 0 && data.classes > 0) SY_ON_LANE(on, softmax_loss, data);
}

void sum_losses(const lane& on, int64_t rows, const double* losses, const double* right, float* out) {
  if (on.cuda) {
#ifdef SWITCHYARD_WITH_CUDA
    return expect_started("sum_losses", cuda::sum_losses(on.stream, rows, losses, right, out));
#else
    throw fault(SY_E_UNIMPLEMENTED, "sum_losses: this build has no kernels for CUDA");
#endif
  }
  double loss = 0, count = 0;
  for (int64_t i = 0; i < rows; ++i) loss += losses[i];
  for (int64_t i = 0; right && i < rows; ++i) count += right[i];
  out[0] = static_cast<float>(loss);
  out[1] = right ? static_cast<float>(count) : -1.0f;
}

}  // namespace sy::kernels
