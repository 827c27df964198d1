#include "attend.hpp"

#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>

#include <cmath>
#include <limits>

#include "kernels/tensors.hpp"

namespace sy {
namespace {

using by = attended::by;

/// cuDNN's backward is fast and its bits change from call to call; flash attention's do not in deterministic mode.
by method_for(const attention_call& c, const at::Tensor& q) {
  if (c.drops) return by::products;
  if (!q.is_cuda()) return by::cpu_flash;
  const int64_t width = q.size(3);
  const bool half = q.scalar_type() == at::kHalf || q.scalar_type() == at::kBFloat16;
  if (half && width % 8 == 0 && width <= 128 && !(c.call.flags & SY_CALL_DETERMINISTIC) && q.size(2) > 1)
    return by::cudnn;
  if (half && width % 8 == 0 && width <= 256) return by::flash;
  if (q.scalar_type() == at::kFloat && width % 4 == 0) return by::efficient;
  return by::products;
}

double scale_of(const at::Tensor& q) { return 1.0 / std::sqrt(static_cast<double>(q.size(3))); }

/// Dropped probabilities, or in the backward the gradient through them; in place where `to` is `from`.
void drop(const attention_call& c, const at::Tensor& from, at::Tensor& to) {
  const int64_t samples = from.size(0);
  kernels::drop(kernels::lane_of(c.call), kernels::type_of(from), samples, from.numel() / samples, *c.drops,
                from.const_data_ptr(), nullptr, to.data_ptr());
}

at::Tensor to_flat_layout(const at::Tensor& t) { return t.transpose(1, 2).contiguous().transpose(1, 2); }

attended by_products(const attention_call& c, const query_key_value& in, bool keep) {
  at::Tensor scores = at::matmul(in.q, in.k.transpose(2, 3)).mul_(scale_of(in.q));
  if (c.causal) {
    const int64_t time = in.q.size(2);
    const at::Tensor later = at::ones({time, time}, in.q.options().dtype(at::kBool)).triu_(1);
    scores.masked_fill_(later, -std::numeric_limits<double>::infinity());
  }
  at::Tensor p = at::_softmax(scores, -1, false);
  scores.reset();
  attended made;
  if (keep) made.probabilities = p;
  if (c.drops) {
    at::Tensor dropped = keep ? at::empty_like(p) : p;
    drop(c, p, dropped);
    p = std::move(dropped);
  }
  made.out = to_flat_layout(at::matmul(p, in.v));
  return made;
}

query_key_value by_products_backward(const attention_call& c, const query_key_value& in, const attended& kept,
                                     const at::Tensor& d_out) {
  query_key_value made;
  at::Tensor p = kept.probabilities;
  if (c.drops) {
    p = at::empty_like(kept.probabilities);
    drop(c, kept.probabilities, p);
  }
  made.v = at::matmul(p.transpose(2, 3), d_out);
  p.reset();
  at::Tensor dp = at::matmul(d_out, in.v.transpose(2, 3));
  if (c.drops) drop(c, dp, dp);
  at::Tensor ds = at::_softmax_backward_data(dp, kept.probabilities, -1, dp.scalar_type());
  dp.reset();
  ds.mul_(scale_of(in.q));
  made.q = at::matmul(ds, in.k);
  made.k = at::matmul(ds.transpose(2, 3), in.q);
  return made;
}

}  // namespace

attended attend(const attention_call& c, const query_key_value& in, bool keep) {
  attended made;
  made.method = method_for(c, in.q);
  switch (made.method) {
    case by::cpu_flash:
      std::tie(made.out, made.log_sum) =
          at::_scaled_dot_product_flash_attention_for_cpu(in.q, in.k, in.v, 0.0, c.causal);
      break;
    case by::cudnn: {
      auto given = at::_scaled_dot_product_cudnn_attention(in.q, in.k, in.v, {}, keep, 0.0, c.causal, false);
      made.out = std::get<0>(given), made.log_sum = std::get<1>(given);
      made.seed = std::get<6>(given), made.offset = std::get<7>(given);
      break;
    }
    case by::flash: {
      auto given = at::_scaled_dot_product_flash_attention(in.q, in.k, in.v, 0.0, c.causal, false);
      made.out = std::get<0>(given), made.log_sum = std::get<1>(given);
      made.seed = std::get<6>(given), made.offset = std::get<7>(given);
      break;
    }
    case by::efficient:
      std::tie(made.out, made.log_sum, made.seed, made.offset) =
          at::_scaled_dot_product_efficient_attention(in.q, in.k, in.v, {}, keep, 0.0, c.causal);
      break;
    case by::products:
      return by_products(c, in, keep);
  }
  return made;
}

query_key_value attend_backward(const attention_call& c, const query_key_value& in, const attended& kept,
                                const at::Tensor& d_out) {
  const at::Tensor d = d_out.view({in.q.size(0), in.q.size(2), in.q.size(1), in.q.size(3)}).transpose(1, 2);
  const int64_t time = in.q.size(2);
  query_key_value made;
  switch (kept.method) {
    case by::cpu_flash:
      std::tie(made.q, made.k, made.v) = at::_scaled_dot_product_flash_attention_for_cpu_backward(
          d, in.q, in.k, in.v, kept.out, kept.log_sum, 0.0, c.causal);
      break;
    case by::cudnn:
      std::tie(made.q, made.k, made.v) = at::_scaled_dot_product_cudnn_attention_backward(
          d, in.q, in.k, in.v, kept.out, kept.log_sum, kept.seed, kept.offset, {}, {}, {}, time, time, 0.0, c.causal);
      break;
    case by::flash:
      std::tie(made.q, made.k, made.v) = at::_scaled_dot_product_flash_attention_backward(
          d, in.q, in.k, in.v, kept.out, kept.log_sum, {}, {}, time, time, 0.0, c.causal, kept.seed, kept.offset);
      break;
    case by::efficient: {
      at::Tensor none;
      std::tie(made.q, made.k, made.v, none) = at::_scaled_dot_product_efficient_attention_backward(
          d, in.q, in.k, in.v, {}, kept.out, kept.log_sum, kept.seed, kept.offset, 0.0, {true, true, true, false},
          c.causal);
      break;
    }
    case by::products:
      return by_products_backward(c, in, kept, d);
  }
  return made;
}

}  // namespace sy
