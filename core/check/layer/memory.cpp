// Declared bytes and operations against what a call takes from its account.
#include <algorithm>
#include <cmath>

#include "check/layer/layer_checks.hpp"

namespace switchyard::checks {

namespace {

/// Bytes that an allocator may round up by, over the few tensors of one call.
constexpr uint64_t rounding = 4096;

struct Measured {
  uint64_t saved = 0, held = 0, workspace = 0, workspace_backward = 0;
};

uint64_t positive(int64_t bytes) { return static_cast<uint64_t>(std::max<int64_t>(0, bytes)); }

int64_t bytes_of(const std::vector<Port>& ports, uint64_t which) {
  uint64_t bytes = 0;
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (which >> i & 1) bytes += byte_count(ports[i]);
  return static_cast<int64_t>(bytes);
}

uint64_t wanted_inputs(const LayerTrial& trial) {
  uint64_t bits = 0;
  for (std::size_t i = 0; i < trial.inputs().size(); ++i)
    if (trial.wants(i)) bits |= uint64_t{1} << i;
  return bits;
}

/// Inputs that a saved handle keeps alive must be declared: a plan counts them.
void expect_kept_inputs(const LayerTrial& trial, const std::vector<Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].get()->count > 1 && !(trial.cost().keep_in >> i & 1))
      throw Fault("forward keeps input " + std::to_string(i) + " for its backward, which cost does not say",
                  "set bit " + std::to_string(i) + " of keep_in");
}

Measured measure(LayerTrial& trial) {
  Measured m;
  std::vector<Tensor> inputs;
  for (const HostArray& a : trial.draw_inputs()) inputs.push_back(a.tensor());
  sy_origin& account = trial.account();
  const int64_t before = account.live;
  account.restart_peak();
  Pass pass = trial.forward(inputs);
  const int64_t peak = account.peak - before;
  try {
    expect_kept_inputs(trial, inputs);
  } catch (...) {
    trial.free_saved(pass);
    throw;
  }
  pass.outputs.clear();
  m.saved = positive(account.live - before - bytes_of(trial.outputs(), trial.cost().keep_out));
  m.workspace = positive(peak - static_cast<int64_t>(m.saved) - bytes_of(trial.outputs(), ~uint64_t{0}));
  account.restart_peak();
  const int64_t start = account.live;
  int64_t held = before;
  const std::vector<Tensor> back =
      trial.backward(pass, trial.draw_gradients(), {.split = trial.what().splits(), .held = &held});
  m.held = positive(held - before);
  m.workspace_backward = positive(account.peak - start - bytes_of(trial.inputs(), wanted_inputs(trial)));
  return m;
}

void expect_bytes(const std::string& field, uint64_t declared, uint64_t measured, bool exact) {
  const std::string both =
      field + " = " + std::to_string(declared) + ", but a call takes " + std::to_string(measured) + " bytes";
  const std::string change = "let cost give " + field + " = " + std::to_string(measured) + " for these shapes";
  if (exact && declared != measured) throw Fault("declared exact, " + both, change);
  if (measured > declared + declared / 20 + rounding)
    throw Fault("cost gives " + both, change + ": plans would not fit");
}

void expect_not_too_many(const std::string& field, uint64_t declared, uint64_t measured) {
  if (declared > 2 * measured + 2 * rounding)
    throw Fault("cost gives " + field + " = " + std::to_string(declared) + ", but a call takes " +
                    std::to_string(measured) + " bytes",
                "let cost give " + field + " = " + std::to_string(measured) +
                    " for these shapes: plans would refuse what fits");
}

void expect_operations(const sy_cost& few, const sy_cost& more) {
  const double pairs[][2] = {{few.flops_forward, more.flops_forward},
                             {few.flops_input, more.flops_input},
                             {few.flops_weight, more.flops_weight}};
  for (const auto& [a, b] : pairs) {
    if (!std::isfinite(a) || a < 0)
      throw Fault("cost gives a count of operations that is negative or not finite",
                  "count floating point operations of one micro-batch");
    if (b < 1.5 * a || b > 3 * a + 1)
      throw Fault("cost gives " + std::to_string(a) + " operations, and " + std::to_string(b) + " for twice the rows",
                  "count the operations of the whole micro-batch: they follow its rows");
  }
}

}  // namespace

void check_layer_costs(const LayerCase& what) {
  const int64_t rows = 256 * what.inputs[0].shape[0];  // so many that the bytes stand out from what allocators round
  LayerTrial trial(what.with_rows(rows)), twice(what.with_rows(2 * rows));
  const sy_cost& cost = trial.cost();
  measure(trial);  // the first call may make what stays
  const Measured m = measure(trial);
  const bool exact = (cost.flags & SY_COST_EXACT) || (what.api->caps & SY_L_EXACT_MEMORY);
  expect_bytes("bytes_saved", cost.bytes_saved, m.saved, exact);
  expect_bytes("bytes_held", cost.bytes_held, m.held, false);
  expect_bytes("bytes_workspace", cost.bytes_workspace, m.workspace, exact);
  expect_bytes("bytes_workspace_backward", cost.bytes_workspace_backward, m.workspace_backward, false);
  expect_not_too_many("bytes_saved", cost.bytes_saved, m.saved);
  expect_operations(cost, twice.cost());
}

void check_layer_weights(const LayerCase& what) {
  LayerTrial trial(what);
  const auto expect_none = [](int64_t bytes, const std::string& when) {
    if (bytes > 0)
      throw Fault(std::to_string(bytes) + " bytes are in use " + when + " beyond what params declares",
                  "declare weights and buffers in params and use the views that bind gives; free what a call made");
  };
  expect_none(trial.account().live, "after bind");
  const std::vector<HostArray> inputs = trial.draw_inputs();
  trial.run(inputs);
  const int64_t after_one = trial.account().live;
  for (int i = 0; i < 3; ++i) trial.run(inputs);
  expect_none(trial.account().live - after_one, "more after three further steps");
}

}  // namespace switchyard::checks
