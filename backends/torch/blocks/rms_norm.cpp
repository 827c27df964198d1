#include "blocks/rms_norm.hpp"

#include <ATen/ops/rms_norm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "blocks/wide.hpp"

namespace sy {
namespace {

namespace ag = ::torch::autograd;

/// rstd: [..., 1].
struct rms_normed {
  at::Tensor y, rstd;
};

rms_normed rms_norm_forward(const at::Tensor& x, const at::Tensor& weight, double eps) {
  const at::Tensor wide = widened(x);
  const at::Tensor rstd = wide.square().mean(-1, /*keepdim=*/true).add_(eps).rsqrt_();
  return {wide.mul(rstd).mul_(widened(weight)).to(x.scalar_type()), rstd};
}

struct rms_gradients {
  at::Tensor x, weight;
};

//   n = x rstd,  g = dy w:   dx = rstd (g - n mean(g n)),   dw = sum over rows of dy n
rms_gradients rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                const at::Tensor& rstd, bool want_x, bool want_weight) {
  const at::Tensor wide_dy = widened(dy);
  at::Tensor n = widened(x).mul(rstd);
  rms_gradients made;
  if (want_weight) {
    const int64_t width = weight.size(0);
    made.weight = wide_dy.mul(n).view({-1, width}).sum(0).to(weight.scalar_type());
  }
  if (!want_x) return made;
  at::Tensor g = wide_dy.mul(widened(weight));
  n.mul_(g.mul(n).mean(-1, /*keepdim=*/true));
  made.x = g.sub_(n).mul_(rstd).to(x.scalar_type());
  return made;
}

class rms_norm_function : public ag::Function<rms_norm_function> {
 public:
  static at::Tensor forward(ag::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight, double eps) {
    const rms_normed made = rms_norm_forward(x, weight, eps);
    context->save_for_backward({x, weight, made.rstd});
    return made.y;
  }
  static ag::variable_list backward(ag::AutogradContext* context, const ag::variable_list& grads) {
    const ag::variable_list saved = context->get_saved_variables();
    const rms_gradients g = rms_norm_backward(grads[0], saved[0], saved[1], saved[2], context->needs_input_grad(0),
                                              context->needs_input_grad(1));
    return {g.x, g.weight, {}};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps) {
  if (x.is_cuda()) return at::rms_norm(x, {x.size(-1)}, weight, eps);  // one kernel each way, the same bytes kept
  return rms_norm_function::apply(x, weight, eps);
}

}  // namespace sy
