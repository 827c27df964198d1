#include "lm_head.hpp"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "blocks/init.hpp"
#include "blocks/rms_norm.hpp"
#include "blocks/wide.hpp"

namespace sy {

lm_head_layer::lm_head_layer(const config& c)
    : vocabulary_(c.i64("vocabulary")),
      chunk_(c.i64("chunk")),
      tied_to_(c.str("tied_to")),
      bias_(c.flag("bias")),
      eps_(c.f64("eps")),
      kind_(norm_of(c.str("norm"))),
      norm_(kind_, eps_, true, "norm.") {
  if (vocabulary_ == 0)
    throw fault(SY_E_CONFIG, tied_to_.empty() ? "lm_head needs vocabulary = N, or tied_to = \"LAYER.token.weight\""
                                              : "lm_head needs vocabulary = N beside tied_to, as its embedding has it");
}

std::vector<port> lm_head_layer::infer(uint32_t kind, ports in) {
  if (in[0]->ndim < 2) throw fault(SY_E_CONFIG, "lm_head needs an input of shape [rows, time, width] or [rows, width]");
  width_ = last_dim(*in[0]);
  if (kind != SY_TRAIN && kind != SY_EVAL) {
    port y = like(*in[0]);
    y.shape.back() = vocabulary_;
    return {y};
  }
  if (in.size() < 2) throw fault(SY_E_CONFIG, "lm_head needs targets");
  sy_port& targets = *in.back();
  if (is_float(targets.dtype) || elements_of(targets) != rows_of(*in[0]))
    throw fault(SY_E_CONFIG, "lm_head needs one id as target for each of its " + std::to_string(rows_of(*in[0])) +
                                 " rows per micro-batch");
  targets.id_limit = vocabulary_;
  if (targets.flags & SY_PORT_IGNORE) ignore_ = targets.ignore_id;
  return {{{2}, f32, false}};
}

std::vector<param> lm_head_layer::params() const {
  std::vector<param> all;
  norm_.declare(all, width_);
  declare_linear(all, "", width_, vocabulary_, bias_, normal(0.02), "zeros");
  for (param& p : all)
    if (p.name == "weight") p.tied_to = tied_to_;
  return all;
}

// ---- arithmetic ---------------------------------------------------------------------------------------------------

struct lm_head_layer::normed {
  at::Tensor h, mean, rstd;  // h [rows, width]
};

lm_head_layer::normed lm_head_layer::normalise(const at::Tensor& x) const {
  const at::Tensor &weight = params_.find("norm.", "weight"), &bias = params_.find("norm.", "bias");
  normed n{x, {}, {}};
  if (kind_ == norm_kind::rms) {
    rms_normed made = rms_norm_forward(x, weight, eps_);
    n.h = std::move(made.y), n.rstd = std::move(made.rstd);
  } else if (kind_ == norm_kind::layer) {
    const bool narrow = x.is_cuda();  // see layer_norm
    std::tie(n.h, n.mean, n.rstd) =
        at::native_layer_norm(x, {width_}, narrow ? weight : widened(weight), narrow ? bias : widened(bias), eps_);
  }
  return n;
}

at::Tensor lm_head_layer::norm_backward(const at::Tensor& dh, const at::Tensor& x, const normed& n) {
  if (kind_ == norm_kind::none) return dh;
  const at::Tensor &weight = params_.find("norm.", "weight"), &bias = params_.find("norm.", "bias");
  at::Tensor weight_grad = params_.grad("norm.", "weight"), bias_grad = params_.grad("norm.", "bias"), dx, dw, db;
  if (kind_ == norm_kind::rms) {
    rms_gradients made = rms_norm_backward(dh, x, weight, n.rstd, true, weight_grad.defined());
    dx = std::move(made.x), dw = std::move(made.weight);
  } else {
    const bool narrow = x.is_cuda();
    std::tie(dx, dw, db) = at::native_layer_norm_backward(
        dh, x, {width_}, n.mean, n.rstd, narrow ? weight : widened(weight), narrow ? bias : widened(bias),
        {true, weight_grad.defined(), bias_grad.defined()});
  }
  if (weight_grad.defined()) weight_grad.add_(dw);
  if (bias_grad.defined()) bias_grad.add_(db);
  return dx;
}

at::Tensor lm_head_layer::logits(const at::Tensor& h) const {
  return at::linear(h, params_.find("", "weight"), params_.find("", "bias"));
}

at::Tensor lm_head_layer::predict(const sy_call& call) const {
  at::Tensor x = borrow(call.in[0]);
  if ((call.flags & SY_CALL_LAST_POSITION) && x.dim() == 3) x = x.narrow(1, x.size(1) - 1, 1);
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = vocabulary_;
  return logits(normalise(x.reshape({-1, width_})).h).view(shape);
}

/// Weight gradients are added inside the product where the types agree: no temporary of the weight's size.
void lm_head_layer::add_gradients(const at::Tensor& dlogits, const at::Tensor& h, at::Tensor& dh) {
  at::mm_out(dh, dlogits, params_.find("", "weight"));
  at::Tensor weight = params_.grad("", "weight"), bias = params_.grad("", "bias");
  if (weight.defined() && weight.scalar_type() == h.scalar_type())
    weight.addmm_(dlogits.t(), h);
  else if (weight.defined())
    weight.add_(at::mm(dlogits.t(), h));
  if (bias.defined()) bias.add_(dlogits.sum(0, false, bias.scalar_type()));
}

lm_head_layer::saved lm_head_layer::forward(const sy_call& call) {
  return in_call(call, false, [&]() -> saved {
    if (call.kind != SY_TRAIN && call.kind != SY_EVAL) {
      call.out[0] = lend(predict(call), call);
      return {};
    }
    const at::Tensor x = borrow(call.in[0]);
    const at::Tensor flat = x.view({-1, width_});
    const class_targets targets = read_targets(borrow(call.in[call.n_in - 1]), ignore_);
    normed n = normalise(flat);
    at::Tensor dh = makes_gradients(call) ? at::empty_like(n.h) : at::Tensor();
    at::Tensor sum = at::zeros({}, x.options().dtype(at::kDouble)), right;
    if (call.kind == SY_EVAL) right = at::zeros_like(sum);
    const int64_t rows = flat.size(0), chunk = chunk_of(rows);
    for (int64_t begin = 0; begin < rows; begin += chunk) {
      const int64_t count = std::min(chunk, rows - begin);
      const at::Tensor h = n.h.narrow(0, begin, count);
      const class_targets part = narrow(targets, begin, count);
      at::Tensor log_p = log_probabilities(logits(h));
      sum.add_(loss_sum(log_p, part));
      if (right.defined()) right.add_(right_count(log_p, part));
      if (!dh.defined()) continue;
      at::Tensor dh_part = dh.narrow(0, begin, count);
      add_gradients(logit_gradient(std::move(log_p), part, call.loss_weight, x.scalar_type()), h, dh_part);
    }
    tensor result = tensor::adopt(lend(loss_output(sum, right), call));
    saved kept;
    if (dh.defined()) kept.input_gradient = norm_backward(dh, flat, n).view(x.sizes());
    call.out[0] = std::move(result).give();
    return kept;
  });
}

// ---- costs --------------------------------------------------------------------------------------------------------

sy::cost lm_head_layer::cost(uint32_t kind, const_ports in) const {
  const sy_port& x = *in[0];
  const uint64_t rows = rows_of(x), elem = width_of(x.dtype), wide = wide_width(x.dtype);
  const uint64_t chunk =
      static_cast<uint64_t>(chunk_of(static_cast<int64_t>(rows))) * static_cast<uint64_t>(vocabulary_);
  sy::cost c;
  norm_.add_flops(c, rows, width_);
  add_linear_flops(c, rows, width_, vocabulary_, bias_);
  const double n = static_cast<double>(rows) * static_cast<double>(vocabulary_);
  const bool training = kind == SY_TRAIN;
  // The training forward does it all; its backward hands over.
  c.flops_forward += (training ? c.flops_input + c.flops_weight : 0) + (kind == SY_FORWARD ? 0
                                                                        : training         ? 8 * n
                                                                                           : 5 * n);
  c.flops_input = c.flops_weight = 0;
  const bool normed = kind_ != norm_kind::none;
  const uint64_t h = normed ? bytes_of(x) + norm_.saved_bytes(rows, width_, x.dtype) : 0;
  tally bytes;
  bytes.take(h);
  if (kind == SY_FORWARD) {
    bytes.take(rows * static_cast<uint64_t>(vocabulary_) * elem);
    bytes.drop(h);
    c.bytes_workspace = bytes.workspace();
    return c;
  }
  if (training) bytes.take(bytes_of(x));  // the gradient of h
  bytes.take(chunk * elem);
  if (wide != elem) bytes.take(chunk * wide), bytes.drop(chunk * elem);
  bytes.take(chunk * wide);
  bytes.drop(chunk * wide);
  if (training && wide != elem) {
    const uint64_t product = gradient_bytes(static_cast<uint64_t>(width_ * vocabulary_), elem);
    bytes.take(chunk * elem), bytes.drop(chunk * wide);
    bytes.take(product), bytes.drop(product + chunk * elem);
  } else {
    bytes.drop(chunk * wide);
  }
  if (training && normed) {
    bytes.take(bytes_of(x) + norm_.backward_scratch(rows, width_, x.dtype));
    bytes.drop(bytes_of(x) + norm_.backward_scratch(rows, width_, x.dtype));
  }
  bytes.drop(h);
  c.bytes_workspace = bytes.workspace();
  if (training) c.bytes_saved = bytes_of(x);
  return c;
}

}  // namespace sy
