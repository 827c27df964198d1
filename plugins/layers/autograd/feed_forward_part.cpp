#include "feed_forward_part.hpp"

#include <ATen/ops/linear.h>

#include <cmath>

#include "blocks/dropout.hpp"

namespace sy {

at::Tensor feed_forward_part::forward(pass& p, const at::Tensor& x) const {
  at::Tensor h = form_.before.apply(p, x);
  at::Tensor a = at::linear(h, p(form_.set.gated ? form_.gate : form_.up, "weight"),
                            p(form_.set.gated ? form_.gate : form_.up, "bias"));
  a = activate(form_.set.function, a);
  if (form_.set.gated) a = a.mul(at::linear(h, p(form_.up, "weight"), p(form_.up, "bias")));
  h.reset();
  at::Tensor y = at::linear(a, p(form_.down, "weight"), p(form_.down, "bias"));
  a.reset();
  y = dropout(p, y, form_.set.dropout, form_.residual.c_str());
  return form_.set.residual ? y.add_(x) : y;
}

// ---- costs --------------------------------------------------------------------------------------------------------

void feed_forward_part::walk_forward(tally& bytes, const sy_port& x, bool training) const {
  const uint64_t rows = rows_of(x), elem = width_of(x.dtype), stream = bytes_of(x);
  const uint64_t wide = rows * static_cast<uint64_t>(hidden()) * elem;
  const uint64_t statistics = form_.before.saved_bytes(rows, form_.width, x.dtype);
  if (!form_.before.is_none()) {
    bytes.take(form_.before.forward_scratch(rows, form_.width, x.dtype) + stream);
    bytes.drop(form_.before.forward_scratch(rows, form_.width, x.dtype));
    bytes.take(statistics);
  }
  const bool keeps_product = training && sy::keeps_input(form_.set.function);
  bytes.take(2 * wide);
  if (!keeps_product) bytes.drop(wide);
  if (form_.set.gated) {
    bytes.take(2 * wide);
    if (!training) bytes.drop(2 * wide);
  }
  if (!training && !form_.before.is_none()) bytes.drop(stream + statistics);
  bytes.take(stream);
  if (!training) bytes.drop(wide);
  if (drops(training)) {
    bytes.take(stream + stream / elem);
    bytes.drop(stream);
  }
}

void feed_forward_part::walk_backward(tally& bytes, const sy_port& x) const {
  const uint64_t rows = rows_of(x), elem = width_of(x.dtype), stream = bytes_of(x);
  const uint64_t wide = rows * static_cast<uint64_t>(hidden()) * elem;
  const uint64_t weights = gradient_bytes(static_cast<uint64_t>(form_.width * hidden()), elem);
  const uint64_t up_bias = form_.set.bias ? static_cast<uint64_t>(hidden()) * elem : 0;
  const uint64_t down_bias = form_.set.bias ? static_cast<uint64_t>(form_.width) * elem : 0;
  if (drops(true)) bytes.take(stream);
  bytes.take(wide + weights + down_bias);
  if (drops(true)) bytes.drop(stream + stream / elem);
  bytes.drop(weights + down_bias);
  const uint64_t kept = (sy::keeps_input(form_.set.function) ? 2 : 1) * wide;
  if (form_.set.gated) {
    bytes.drop(wide);      // the product that down kept
    bytes.take(2 * wide);  // to the gate's activation and to up
    bytes.drop(wide);
    bytes.drop(wide);  // up's result
    bytes.take(stream + weights + up_bias);
    bytes.drop(wide + weights + up_bias);
  } else {
    bytes.drop(sy::keeps_input(form_.set.function) ? wide : 0);
  }
  bytes.take(wide);
  bytes.drop(wide + (form_.set.gated ? kept : wide));
  bytes.take(stream + weights + up_bias);
  bytes.drop(wide + weights + up_bias + (form_.set.gated ? stream : 0));
  if (form_.before.is_none()) return;
  bytes.drop(stream);
  bytes.take(stream + form_.before.backward_scratch(rows, form_.width, x.dtype));
  bytes.drop(stream + form_.before.saved_bytes(rows, form_.width, x.dtype) +
             form_.before.backward_scratch(rows, form_.width, x.dtype));
}

}  // namespace sy
