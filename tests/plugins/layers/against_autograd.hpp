// The same function written with plain LibTorch operators, as the measure of a layer.
#pragma once

#include <functional>

#include "one_layer.hpp"

namespace layers {

/// Given inputs and weights (leaves), the outputs.
using Reference = std::function<at::Tensor(const Tensors&, const Named&)>;

struct Tolerance {
  double forward = 2e-6, backward = 5e-6;
};

/// Forward, input gradients and weight gradients of `layer` (built) against autograd of `reference` in fp64 arithmetic;
/// the weight gradients must also be added to what was there, and neither a second run, nor a replay, nor leaving out
/// the input gradient may change a bit. Afterwards nothing is charged any more.
inline void check_against_autograd(OneLayer& layer, const Tensors& in, const Reference& reference, Tolerance t = {}) {
  Tensors leaf_in;
  for (const auto& x : in)
    leaf_in.push_back(at::isFloatingType(x.scalar_type())
                          ? x.detach().to(at::kDouble, false, /*copy=*/true).set_requires_grad(true)
                          : x);
  const Named weights = leaves(layer, at::kDouble);
  const at::Tensor expected = reference(leaf_in, weights);

  const at::Tensor y = layer.forward(in).at(0);
  CHECK(difference(y, expected) < t.forward);
  at::manual_seed(5);
  const at::Tensor dy = at::randn(y.sizes(), y.options());
  if (expected.requires_grad()) expected.backward(dy.to(at::kDouble));

  for (auto& [n, g] : layer.grads) g.fill_(0.5);
  const auto n_in = static_cast<uint32_t>(in.size());
  const Tensors dx = layer.backward({dy}, n_in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    CAPTURE(i);
    if (!leaf_in[i].requires_grad()) {
      CHECK_FALSE(dx[i].defined());
      continue;
    }
    REQUIRE(dx[i].defined());
    CHECK(is(dx[i], in[i].scalar_type()));
    CHECK(difference(dx[i], leaf_in[i].grad()) < t.backward);
  }
  Named first;
  for (auto& [n, g] : layer.grads) {
    CAPTURE(n);
    CHECK(difference(g - 0.5, weights.at(n).grad()) < 4 * t.backward);
    first[n] = g.clone();
  }

  for (auto& [n, g] : layer.grads) g.fill_(0.5);
  const at::Tensor unsaved = layer.forward(in, {.flags = SY_CALL_NO_SAVE}).at(0);
  CHECK(layer.kept() == 0);
  CHECK(same_bits(unsaved, y));
  CHECK(same_bits(layer.forward(in, {.flags = SY_CALL_REPLAY}).at(0), y));
  for (const auto& x : layer.backward({dy}, n_in, 0)) CHECK_FALSE(x.defined());
  for (auto& [n, g] : layer.grads) {
    CAPTURE(n);
    CHECK(same_bits(g, first[n]));
  }
}

/// Measured bytes against declared ones for one training call: what is kept, what is held between the halves of the
/// backward, and the peaks. `slack`: relative.
inline void check_memory(OneLayer& layer, const Tensors& in, double slack = 0.05) {
  const sy_cost c = layer.cost(SY_TRAIN, in);
  const auto near = [&](double declared, double measured, double of) {
    return std::abs(declared - measured) <= slack * of + 256;
  };
  const int64_t before = layer.origin.live;
  layer.origin.peak = before;
  Tensors out = layer.forward(in);
  int64_t out_bytes = 0;
  for (const auto& y : out) out_bytes += static_cast<int64_t>(y.nbytes());
  const double peak = static_cast<double>(layer.origin.peak - before);
  Tensors dy;
  for (const auto& y : out) dy.push_back(at::ones_like(y));
  double kept_out = 0;
  if (c.keep_out) {
    kept_out = static_cast<double>(out_bytes);
  }
  out.clear();
  const double saved = static_cast<double>(layer.origin.live - before) - kept_out;
  CAPTURE(c.bytes_saved);
  CAPTURE(saved);
  CHECK(near(static_cast<double>(c.bytes_saved), saved, saved));
  const double declared_peak =
      static_cast<double>(c.bytes_saved) + static_cast<double>(c.bytes_workspace) + static_cast<double>(out_bytes);
  CAPTURE(declared_peak);
  CAPTURE(peak);
  CHECK(near(declared_peak, peak, peak));
  layer.origin.peak = layer.origin.live;
  const auto n_in = static_cast<uint32_t>(in.size());
  const double at_start = static_cast<double>(layer.origin.live);
  Tensors dx = layer.backward(layer.caps() & SY_L_LOSS ? Tensors{} : dy, n_in);
  double dx_bytes = 0;
  for (const auto& x : dx) dx_bytes += x.defined() ? static_cast<double>(x.nbytes()) : 0.0;
  const double measured = std::max(0.0, static_cast<double>(layer.origin.peak) - at_start - dx_bytes);
  CAPTURE(c.bytes_workspace_backward);
  CAPTURE(measured);
  CHECK(near(static_cast<double>(c.bytes_workspace_backward), measured,
             at_start - static_cast<double>(before) + dx_bytes + measured));
  dx.clear();
  CHECK(layer.origin.live == before);
  if (!(layer.caps() & SY_L_SPLIT_BACKWARD)) return;
  layer.forward(in);
  layer.backward_in_halves(dy, n_in);
  CAPTURE(c.bytes_held);
  CAPTURE(layer.held);
  CHECK(near(static_cast<double>(c.bytes_held), static_cast<double>(layer.held - before),
             static_cast<double>(layer.held - before)));
}

}  // namespace layers
