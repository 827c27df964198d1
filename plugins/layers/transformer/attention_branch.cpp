#include "attention_branch.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "blocks/dropout.hpp"
#include "blocks/product.hpp"
#include "kernels/rotary.hpp"

namespace sy {

// ---- parts --------------------------------------------------------------------------------------------------------

/// q, k, v of packed ones; keys and values stand once for each query head.
query_key_value attention_branch::split(const at::Tensor& qkv, int64_t rows) const {
  const int64_t heads = form.set.heads, kv_heads = form.set.kv_heads;
  const at::Tensor all = qkv.view({rows, qkv.size(0) / rows, form.packed_heads(), form.head});
  const auto part = [&](int64_t first, int64_t count) {
    const at::Tensor some = all.narrow(2, first, count);
    const int64_t groups = heads / count;
    if (groups == 1) return some.transpose(1, 2);
    return some.unsqueeze(3)
        .expand({some.size(0), some.size(1), count, groups, form.head})
        .reshape({some.size(0), some.size(1), heads, form.head})
        .contiguous()  // of one head it would be a view without steps
        .transpose(1, 2);
  };
  return {part(0, heads), part(heads, kv_heads), part(heads + kv_heads, kv_heads)};
}

attention_call attention_branch::call_of(const sy_call& call) const {
  attention_call c{call, form.set.causal, {}};
  if (drops(call)) c.drops = drawing_of(call, form.set.dropout, form.probabilities.c_str());
  return c;
}

/// The heads of q and k.
void attention_branch::turn(const sy_call& call, at::Tensor& qkv, bool back) const {
  kernels::rotate(kernels::lane_of(call), kernels::type_of(qkv), qkv.size(0), qkv.size(0) / call.rows,
                  form.set.heads + form.set.kv_heads, form.head, qkv.size(1), form.set.rotary_base, back,
                  qkv.data_ptr());
}

/// Beside each other, those of shared keys and values added up; and the gradient of the bias.
at::Tensor attention_branch::packed_gradient(const sy_call& call, const bound_params& params,
                                             const query_key_value& d) const {
  const int64_t rows = d.q.size(0), time = d.q.size(2), kv_heads = form.set.kv_heads;
  const auto shared = [&](const at::Tensor& t) {
    if (t.size(1) == kv_heads) return t;
    return t.unflatten(1, {kv_heads, t.size(1) / kv_heads}).sum(2);
  };
  const at::Tensor parts[] = {d.q, shared(d.k), shared(d.v)};
  kernels::packed_part at[3];
  for (int i = 0; i < 3; ++i) {
    const at::Tensor& t = parts[i];
    at[i] = {t.const_data_ptr(), t.size(1), t.stride(0), t.stride(2), t.stride(1)};
  }
  const at::Tensor bias = params.grad(form.qkv, "bias");
  const kernels::lane on = kernels::lane_of(call);
  const sy_dtype type = kernels::type_of(d.q);
  at::Tensor packed = at::empty({rows * time, form.packed_heads() * form.head}, d.q.options());
  const bool summed = bias.defined() && !form.set.rotary;
  const at::Tensor scratch =
      kernels::scratch(summed ? kernels::column_sum_scratch(on, type, packed.size(0), packed.size(1)) : 0, packed);
  kernels::pack(on, type, packed.size(0), time, form.head, at, 3, packed.data_ptr(),
                summed ? kernels::sum_into(bias) : kernels::sum{}, kernels::data_of(scratch));
  if (!form.set.rotary) return packed;
  turn(call, packed, true);
  kernels::add_bias_gradient(call, bias, packed);
  return packed;
}

// ---- forward ------------------------------------------------------------------------------------------------------

branch_result attention_branch::forward(const sy_call& call, const bound_params& params, const at::Tensor& x,
                                        attention_saved* keep) const {
  normed n = norm_.forward(call, params, x);
  at::Tensor qkv = product(n.h, params.find(form.qkv, "weight"), params.find(form.qkv, "bias"));
  if (form.set.rotary) turn(call, qkv, false);
  if (!keep) n = {};
  attended made = attend(call_of(call), split(qkv, call.rows), keep != nullptr);
  if (!keep) qkv.reset();
  const bool complete = adds_plainly(call) && adds_inside(x);
  at::Tensor y =
      product(made.flat(), params.find(form.out, "weight"), params.find(form.out, "bias"), complete ? x : at::Tensor());
  if (keep)
    *keep = {.x = norm_.keeps_input() ? x : at::Tensor(),
             .n = std::move(n),
             .qkv = std::move(qkv),
             .attention = std::move(made)};
  return {std::move(y), complete};
}

at::Tensor attention_branch::add_residual(const sy_call& call, const at::Tensor& x, at::Tensor result) const {
  return add_branch(call, x, std::move(result), form.set.residual, form.set.dropout, form.residual.c_str());
}

// ---- backward -----------------------------------------------------------------------------------------------------

at::Tensor attention_branch::through_dropout(const sy_call& call, const at::Tensor& dy) const {
  return dropped_gradient(call, dy, form.set.dropout, form.residual.c_str());
}

at::Tensor attention_branch::backward_input(const sy_call& call, const bound_params& params, const at::Tensor& dy,
                                            at::Tensor d, attention_saved& s) const {
  at::Tensor d_o = product_backward(d, params.find(form.out, "weight"));
  s.d_out = std::move(d);
  query_key_value gradients = attend_backward(call_of(call), split(s.qkv, call.rows), s.attention, d_o);
  d_o.reset(), s.qkv.reset(), s.attention.log_sum.reset(), s.attention.probabilities.reset();
  s.d_qkv = packed_gradient(call, params, gradients);
  gradients = {};
  at::Tensor dh = product_backward(s.d_qkv, params.find(form.qkv, "weight"));
  dh = norm_.backward(call, params, std::move(dh), s.x, s.n, form.set.residual ? dy : at::Tensor());
  s.x.reset();
  return dh;
}

void attention_branch::backward_weight(const bound_params& params, attention_saved&& s) const {
  add_product(params.grad(form.out, "weight"), s.d_out, s.attention.flat());
  add_product(params.grad(form.qkv, "weight"), s.d_qkv, s.n.h);
}

// ---- costs --------------------------------------------------------------------------------------------------------

/// Bytes of what flows through, for one micro-batch.
struct attention_branch::sizes {
  sizes(const attention_form& form, const sy_port& x)
      : elem(width_of(x.dtype)),
        rows(rows_of(x)),
        stream(bytes_of(x)),
        key(stream / static_cast<uint64_t>(form.set.heads) * static_cast<uint64_t>(form.set.kv_heads)),
        qkv(stream + 2 * key),
        repeated(form.set.kv_heads < form.set.heads ? 2 * stream : 0),
        log_sum(rows * static_cast<uint64_t>(form.set.heads) * std::max<uint64_t>(4, elem)),
        mask(form.set.causal ? time_of(x) * time_of(x) : 0),
        scores(rows * time_of(x) * static_cast<uint64_t>(form.set.heads) * elem),
        tile(query_tile(time_of(x)) * std::min<uint64_t>(512, time_of(x)) * std::max<uint64_t>(4, elem)) {}
  uint64_t elem, rows;
  uint64_t stream;  // x, h, q, o: [rows, width]
  uint64_t key;     // k or v
  uint64_t qkv;
  uint64_t repeated;  // k and v, once for each query head
  uint64_t log_sum, mask;
  uint64_t scores;  // q k^T
  uint64_t tile;    // of scores, which LibTorch's attention on the CPU holds per thread

 private:
  static uint64_t time_of(const sy_port& x) { return static_cast<uint64_t>(x.shape[1]); }
  static uint64_t query_tile(uint64_t time) { return time >= 768 ? 256 : time >= 192 ? 64 : 32; }
};

void attention_branch::walk_forward(tally& bytes, const sy_port& x, bool training) const {
  const sizes z(form, x);
  const uint64_t h = norm_.saves(z.rows, form.width, x.dtype);
  norm_.walk_forward(bytes, z.rows, form.width, x.dtype);
  bytes.take(z.qkv);
  if (!training) bytes.drop(h);
  bytes.take(z.repeated);
  if (drops(training)) {
    bytes.take(z.scores + 2 * z.stream);  // q and k as the product takes them
    bytes.drop(2 * z.stream);
    bytes.hold(z.mask);
    bytes.hold(z.scores);
    bytes.take(z.scores + 3 * z.stream);  // what is left of the probabilities; v, and the result in two layouts
    bytes.drop(z.scores + 2 * z.stream);
  } else {
    bytes.take(z.stream + z.log_sum + z.tile);
    bytes.drop(z.tile);
  }
  bytes.drop(z.repeated);
  if (!training) bytes.drop(z.qkv + z.log_sum);
  bytes.take(z.stream);
  if (!training) bytes.drop(z.stream);
}

void attention_branch::walk_backward_input(tally& bytes, const sy_port& x) const {
  const sizes z(form, x);
  if (drops(true)) bytes.take(z.stream);  // d
  bytes.take(z.stream + z.repeated);
  if (drops(true)) {
    bytes.take(z.scores + 2 * z.stream);  // what was left of the probabilities; d_o as the product takes it, dv
    bytes.drop(z.scores + z.stream);
    bytes.take(z.scores + 2 * z.stream), bytes.drop(2 * z.stream);
    bytes.hold(z.scores);
    bytes.take(3 * z.stream);
    bytes.drop(z.scores + z.stream);
  } else {
    bytes.take(3 * z.stream + 2 * z.tile);
    bytes.drop(2 * z.tile);
  }
  bytes.drop(z.stream + z.repeated + z.qkv + (drops(true) ? z.scores : z.log_sum));
  const uint64_t sums = z.repeated > 0 ? 2 * z.key : 0;
  const uint64_t bias =
      form.set.bias ? kernels::bias_gradient_scratch(x.dtype, z.rows, form.packed_heads() * form.head) : 0;
  bytes.take(sums + z.qkv + bias);
  bytes.drop(sums + bias + 3 * z.stream);
  bytes.take(z.stream);
  norm_.walk_backward(bytes, z.rows, form.width, x.dtype);
}

void attention_branch::walk_backward_weight(tally& bytes, const sy_port& x) const {
  for (const int64_t out : {form.width, form.packed_heads() * form.head})
    bytes.hold(add_product_scratch(out, form.width, x.dtype.bits));
}

uint64_t attention_branch::held_bytes(const sy_port& x) const {
  const sizes z(form, x);
  return 3 * z.stream + z.qkv;  // h, o, d, d_qkv
}

}  // namespace sy
