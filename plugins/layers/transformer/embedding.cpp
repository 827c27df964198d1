#include "embedding.hpp"

#include "blocks/init.hpp"
#include "blocks/own_backward.hpp"
#include "kernels/embed.hpp"
#include "kernels/tensors.hpp"

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

namespace {

kernels::embed_size size_of(int64_t count, int64_t time, int64_t width, int64_t vocabulary, sy_dtype type,
                            sy_dtype ids) {
  return {time > 0 ? count / time : 0, time, width, vocabulary, type, ids};
}
kernels::embed_size size_of(const at::Tensor& ids, int64_t width, int64_t vocabulary, const at::Tensor& vectors) {
  return size_of(ids.numel(), ids.dim() > 1 ? ids.size(-1) : 1, width, vocabulary, kernels::type_of(vectors),
                 kernels::type_of(ids));
}

}  // namespace

sy::cost embedding_layer::cost(uint32_t kind, const_ports in) const {
  const sy_port& ids = *in[0];
  const sy_dtype type = ids.compute.bits ? ids.compute : f32;
  const uint64_t n = elements_of(ids) * static_cast<uint64_t>(width_);
  sy::cost c;
  c.flops_forward = learned_ ? static_cast<double>(n) : 0.0;
  c.flops_weight = static_cast<double>(n) * (learned_ ? 2.0 : 1.0);
  if (kind != SY_TRAIN) return c;
  c.keep_in = 1;
  c.bytes_held = bytes_of(ids) + n * width_of(type);
  const kernels::embed_size size = size_of(static_cast<int64_t>(elements_of(ids)), ids.ndim > 1 ? last_dim(ids) : 1,
                                           width_, vocabulary_, type, ids.dtype);
  c.bytes_workspace_backward = kernels::embed_backward_scratch({}, size);
  return c;
}

embedding_layer::saved embedding_layer::forward(const sy_call& call) {
  return in_call(call, false, [&]() -> saved {
    at::Tensor ids = borrow(call.in[0]);
    const at::Tensor &token = params_.find("token.", "weight"), &position = params_.find("position.", "weight");
    std::vector<int64_t> shape = ids.sizes().vec();
    shape.push_back(width_);
    at::Tensor y = at::empty(shape, token.options());
    kernels::embed(kernels::lane_of(call), size_of(ids, width_, vocabulary_, token), ids.data_ptr(), token.data_ptr(),
                   kernels::data_of(position), y.data_ptr());
    call.out[0] = lend(std::move(y), call);
    return {keeps(call) ? std::move(ids) : at::Tensor(), {}};
  });
}

void embedding_layer::backward_input(const sy_call& call, saved& kept) {
  if (call.in[0]) kept.dy = in_call(call, false, [&] { return borrow(call.in[0]).contiguous(); });
}

void embedding_layer::backward_weight(const sy_call& call, saved&& kept) {
  if (!kept.dy.defined()) return;
  in_call(call, false, [&] {
    const at::Tensor token = params_.grad("token.", "weight"), position = params_.grad("position.", "weight");
    if (!token.defined() && !position.defined()) return;
    const kernels::lane on = kernels::lane_of(call);
    const kernels::embed_size size = size_of(kept.ids, width_, vocabulary_, kept.dy);
    const at::Tensor room = kernels::scratch(kernels::embed_backward_scratch(on, size), kept.dy);
    kernels::embed_backward(on, size, kept.ids.data_ptr(), kept.dy.data_ptr(), kernels::sum_into(token),
                            kernels::sum_into(position), kernels::data_of(room));
  });
}

}  // namespace sy
