#include "blocks/rotary.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

namespace sy {
namespace {

namespace ag = ::torch::autograd;

at::Tensor turned(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin, double direction) {
  const int64_t half = x.size(-1) / 2;
  const at::Tensor a = x.narrow(-1, 0, half), b = x.narrow(-1, half, half);
  at::Tensor y = at::empty(x.sizes(), x.options());
  at::Tensor ya = y.narrow(-1, 0, half), yb = y.narrow(-1, half, half);
  at::mul_out(ya, a, cos);
  ya.addcmul_(b, sin, -direction);
  at::mul_out(yb, b, cos);
  yb.addcmul_(a, sin, direction);
  return y;
}

class turn_function : public ag::Function<turn_function> {
 public:
  static at::Tensor forward(ag::AutogradContext* context, const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin) {
    context->save_for_backward({cos, sin});
    return turned(x, cos, sin, 1);
  }
  static ag::variable_list backward(ag::AutogradContext* context, const ag::variable_list& grads) {
    const ag::variable_list saved = context->get_saved_variables();
    return {turned(grads[0], saved[0], saved[1], -1), {}, {}};
  }
};

}  // namespace

void rotary_table::fill(int64_t time, int64_t width, const at::TensorOptions& options) {
  const int64_t half = width / 2;
  at::Tensor cos = at::empty({time, 1, half}, at::kDouble), sin = at::empty({time, 1, half}, at::kDouble);
  auto *c = cos.data_ptr<double>(), *s = sin.data_ptr<double>();
  for (int64_t d = 0; d < half; ++d) {
    const double speed = std::pow(base_, -2.0 * static_cast<double>(d) / static_cast<double>(width));
    for (int64_t t = 0; t < time; ++t) {
      c[t * half + d] = std::cos(static_cast<double>(t) * speed);
      s[t * half + d] = std::sin(static_cast<double>(t) * speed);
    }
  }
  cos_ = cos.to(options), sin_ = sin.to(options);
}

at::Tensor rotary_table::turn(const at::Tensor& x) {
  const int64_t time = x.size(1);
  if (!cos_.defined() || cos_.size(0) < time || cos_.device() != x.device() || cos_.scalar_type() != x.scalar_type())
    fill(time, x.size(-1), x.options());
  return turn_function::apply(x, cos_.narrow(0, 0, time), sin_.narrow(0, 0, time));
}

}  // namespace sy
