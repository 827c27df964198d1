#include "blocks/rotary.hpp"

#include <ATen/ops/arange.h>
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
  static at::Tensor forward(ag::AutogradContext* context, const at::Tensor& x, const at::Tensor& cos,
                            const at::Tensor& sin) {
    context->save_for_backward({cos, sin});
    return turned(x, cos, sin, 1);
  }
  static ag::variable_list backward(ag::AutogradContext* context, const ag::variable_list& grads) {
    const ag::variable_list saved = context->get_saved_variables();
    return {turned(grads[0], saved[0], saved[1], -1), {}, {}};
  }
};

}  // namespace

rotary_table make_rotary_table(int64_t time, int64_t head_width, double base, const at::TensorOptions& options) {
  const at::TensorOptions exact = options.dtype(at::kDouble);
  const at::Tensor speed =
      at::arange(head_width / 2, exact).mul_(-2.0 * std::log(base) / static_cast<double>(head_width)).exp_();
  const at::Tensor angle = at::arange(time, exact).view({time, 1, 1}).mul(speed);
  return {angle.cos().to(options), angle.sin().to(options)};
}

at::Tensor turn(const at::Tensor& x, const rotary_table& table) {
  return turn_function::apply(x, table.cos, table.sin);
}

}  // namespace sy
