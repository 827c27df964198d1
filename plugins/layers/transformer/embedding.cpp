#include "embedding.hpp"

#include <ATen/ops/embedding.h>

#include "blocks/init.hpp"
#include "blocks/wide.hpp"

namespace sy {

embedding_layer::embedding_layer(const config& c)
    : vocabulary_(c.i64("vocabulary")),
      width_(c.i64("width")),
      context_(c.i64("context")),
      learned_(c.str("positions") == "learned") {}

std::vector<port> embedding_layer::infer(uint32_t, ports in) {
  sy_port& ids = *in[0];
  if (is_float(ids.dtype)) throw fault(SY_E_CONFIG, "embedding needs ids (whole numbers) as input");
  if (learned_) {
    if (ids.ndim < 2) throw fault(SY_E_CONFIG, "learned positions need ids of shape [rows, time]");
    if (context_ == 0) context_ = last_dim(ids);
    if (last_dim(ids) > context_)
      throw fault(SY_E_CONFIG, "sequences of " + std::to_string(last_dim(ids)) + " ids are longer than the " +
                                   std::to_string(context_) + " learned positions (option context)");
  }
  ids.id_limit = vocabulary_;
  std::vector<int64_t> shape = shape_of(ids);
  shape.push_back(width_);
  return {{std::move(shape), ids.compute.bits ? ids.compute : f32, true}};
}

std::vector<param> embedding_layer::params() const {
  std::vector<param> all = {{"token.weight", {vocabulary_, width_}, normal(0.02)}};
  if (learned_) all.push_back({"position.weight", {context_, width_}, normal(0.02)});
  return all;
}

sy::cost embedding_layer::cost(uint32_t kind, const_ports in) const {
  sy::cost c;
  const uint64_t ids = elements_of(*in[0]), n = ids * static_cast<uint64_t>(width_);
  c.flops_forward = learned_ ? static_cast<double>(n) : 0.0;
  c.flops_weight = static_cast<double>(n) * (learned_ ? 2.0 : 1.0);
  const uint64_t wide_ids = in[0]->dtype.bits < 32 ? ids * 8 : 0;
  c.bytes_workspace = wide_ids;
  if (kind != SY_TRAIN) return c;
  c.keep_in = 1;
  c.bytes_workspace_backward = wide_ids + (learned_ ? static_cast<uint64_t>(width_ * last_dim(*in[0])) * 4
                                                    : 0);  // and an fp32 copy of a bf16 gradient
  return c;
}

namespace {

/// Ids as LibTorch indexes with them.
at::Tensor indices(const at::Tensor& ids) {
  const at::ScalarType t = ids.scalar_type();
  return t == at::kLong || t == at::kInt ? ids : ids.to(at::kLong);
}

}  // namespace

embedding_layer::saved embedding_layer::forward(const sy_call& call) {
  return in_call(call, false, [&] {
    const at::Tensor ids = borrow(call.in[0]);
    at::Tensor y = at::embedding(params_.find("token.", "weight"), indices(ids));
    if (learned_) y.add_(params_.find("position.", "weight").narrow(0, 0, ids.size(-1)));
    call.out[0] = lend(std::move(y), call);
    return call.flags & SY_CALL_NO_SAVE ? tensor() : tensor::keep(call.in[0]);
  });
}

/// Adds each row of the gradient where its id points to, in the order of the batch: no table-sized temporary.
void embedding_layer::backward(const sy_call& call, saved&& kept) {
  in_call(call, false, [&] {
    at::Tensor token = params_.grad("token.", "weight"), position = params_.grad("position.", "weight");
    if (!call.in[0] || !token.defined()) return;
    const at::Tensor dy = borrow(call.in[0]).to(token.scalar_type());
    token.index_add_(0, indices(borrow(kept.get())).reshape({-1}), dy.view({-1, width_}));
    if (position.defined()) {
      const int64_t time = dy.size(-2);
      position.narrow(0, 0, time).add_(dy.view({-1, time, width_}).sum(0));
    }
  });
}

}  // namespace sy
