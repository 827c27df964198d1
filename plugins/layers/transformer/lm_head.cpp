#include "lm_head.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "blocks/init.hpp"
#include "blocks/own_backward.hpp"
#include "blocks/product.hpp"
#include "kernels/bias_gradient.hpp"
#include "kernels/softmax_loss.hpp"

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

at::Tensor lm_head_layer::normalise(const sy_call& call, const at::Tensor& x, kernels::norm_statistics& kept) const {
  return normed() ? kernels::norm_of(call, rule(), eps_, x, norm_values(), kept) : x;
}

at::Tensor lm_head_layer::predict(const sy_call& call) const {
  at::Tensor x = borrow(call.in[0]);
  if ((call.flags & SY_CALL_LAST_POSITION) && x.dim() == 3) x = x.narrow(1, x.size(1) - 1, 1).contiguous();
  const std::vector<int64_t> shape = with_width(x, vocabulary_);
  kernels::norm_statistics unused;
  return product(normalise(call, as_rows(x), unused), params_.find("", "weight"), params_.find("", "bias")).view(shape);
}

/// Some rows: what comes in, and where the results go.
struct lm_head_layer::chunk {
  at::Tensor h, targets, logits, losses;
  at::Tensor right;  // undefined: not counted
  at::Tensor dh;     // undefined: no gradients. May be h.
};

void lm_head_layer::go_through(const sy_call& call, const chunk& part) const {
  const at::Tensor& weight = params_.find("", "weight");
  product_out(part.logits, part.h, weight, params_.find("", "bias"));
  kernels::softmax_loss_data data{};
  data.rows = part.logits.size(0), data.classes = vocabulary_, data.type = kernels::type_of(part.logits);
  data.logits = part.logits.data_ptr();
  data.targets = part.targets.data_ptr(), data.target_type = kernels::type_of(part.targets);
  data.ignores = ignore_.has_value(), data.ignore = ignore_.value_or(0);
  data.weight = call.loss_weight, data.gradient = part.dh.defined();
  data.losses = part.losses.mutable_data_ptr<double>();
  data.right = part.right.defined() ? part.right.mutable_data_ptr<double>() : nullptr;
  kernels::softmax_loss(kernels::lane_of(call), data);
  if (!part.dh.defined()) return;
  add_product(params_.grad("", "weight"), part.logits, part.h);
  kernels::add_bias_gradient(call, params_.grad("", "bias"), part.logits);
  product_backward_out(part.dh, part.logits, weight);
}

lm_head_layer::saved lm_head_layer::learn(const sy_call& call) const {
  const at::Tensor input = borrow(call.in[0]), x = as_rows(input), targets = borrow(call.in[call.n_in - 1]).view({-1});
  const int64_t rows = x.size(0), most = chunk_of(rows);
  const at::TensorOptions numbers = x.options().dtype(at::kDouble);
  kernels::norm_statistics statistics;
  const at::Tensor h = normalise(call, x, statistics), losses = at::empty({rows}, numbers);
  const at::Tensor right = call.kind == SY_EVAL ? at::empty({rows}, numbers) : at::Tensor();
  at::Tensor dh = !keeps(call) ? at::Tensor() : normed() ? h : at::empty_like(x);
  at::Tensor logits = at::empty({most, vocabulary_}, x.options());
  for (int64_t begin = 0; begin < rows; begin += most) {
    const auto part = [&](const at::Tensor& t) {
      return t.defined() ? t.narrow(0, begin, std::min(most, rows - begin)) : t;
    };
    go_through(call, {part(h), part(targets), logits.narrow(0, 0, std::min(most, rows - begin)), part(losses),
                      part(right), part(dh)});
  }
  logits.reset();
  at::Tensor sums = at::empty({2}, x.options().dtype(at::kFloat));
  kernels::sum_losses(kernels::lane_of(call), rows, losses.const_data_ptr<double>(),
                      right.defined() ? right.const_data_ptr<double>() : nullptr, sums.mutable_data_ptr<float>());
  if (dh.defined() && normed())
    kernels::norm_back(call, rule(), eps_, dh, x, norm_values(), statistics, norm_gradients(), dh);
  call.out[0] = lend(std::move(sums), call);
  return {dh.defined() ? dh.view(input.sizes()) : dh};
}

lm_head_layer::saved lm_head_layer::forward(const sy_call& call) {
  return in_call(call, false, [&]() -> saved {
    if (call.kind == SY_TRAIN || call.kind == SY_EVAL) return learn(call);
    call.out[0] = lend(predict(call), call);
    return {};
  });
}

// ---- costs --------------------------------------------------------------------------------------------------------

sy::cost lm_head_layer::cost(uint32_t kind, const_ports in) const {
  const sy_port& x = *in[0];
  const uint64_t rows = rows_of(x), most = static_cast<uint64_t>(chunk_of(static_cast<int64_t>(rows)));
  const uint64_t vocabulary = static_cast<uint64_t>(vocabulary_), elem = width_of(x.dtype);
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
  tally bytes;
  const uint64_t statistics = normed() ? kernels::norm_statistics_bytes(rule(), x.dtype, rows) : 0;
  bytes.take((normed() ? bytes_of(x) : 0) + statistics);
  if (kind == SY_FORWARD) {
    bytes.take(rows * vocabulary * elem);
    c.bytes_workspace = static_cast<uint64_t>(bytes.peak) - rows * vocabulary * elem;
    return c;
  }
  const uint64_t numbers = rows * sizeof(double) * (training ? 1 : 2);
  bytes.take(numbers);
  if (training && !normed()) bytes.take(bytes_of(x));  // the gradient of h
  bytes.take(most * vocabulary * elem);
  if (training) bytes.hold(add_product_scratch(vocabulary_, width_, x.dtype.bits));
  if (training && bias_) bytes.hold(kernels::bias_gradient_scratch(x.dtype, most, vocabulary_));
  bytes.drop(most * vocabulary * elem);
  if (training && normed()) bytes.hold(kernels::norm_back_scratch(rule(), x.dtype, rows, width_));
  bytes.drop(numbers + statistics);
  if (training)
    c.bytes_saved = bytes_of(x);
  else if (normed())
    bytes.drop(bytes_of(x));
  c.bytes_workspace = bytes.workspace();
  return c;
}

}  // namespace sy
