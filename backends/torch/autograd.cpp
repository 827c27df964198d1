// LibTorch's autograd inside one layer.
//
//   core's input ──borrow──▶ x ──body──▶ y ──detach──▶ core's output
//                            ▲ arrival        │ gradient edge, kept
//   backward:  gradient of y ─┴── engine ◀────┘     trained weights: AccumulateGrad adds into the core's view
//
// x is not a leaf but the result of an `arrival` node, which does not hold x: where no operator saved the input, its
// memory is free before backward.
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <unordered_set>

#include "switchyard/cpp/torch.hpp"

namespace sy {

namespace ag = ::torch::autograd;

/// Takes the gradient of one input.
struct arrival final : ag::Node {
  explicit arrival(const at::Tensor& x) : shape(x.sizes().vec()), options(x.options()) {}
  ag::variable_list apply(ag::variable_list&& grads) override {
    grad = std::move(grads[0]);
    return {};
  }
  std::vector<int64_t> shape;
  at::TensorOptions options;
  at::Tensor grad;
};

namespace {

const void* storage_of(const at::Tensor& t) { return t.defined() && t.has_storage() ? t.storage().data() : nullptr; }

bool shares_storage(const at::Tensor& t, const std::vector<at::Tensor>& with) {
  const void* storage = storage_of(t);
  return storage &&
         std::any_of(with.begin(), with.end(), [&](const at::Tensor& o) { return storage_of(o) == storage; });
}

/// Every leaf that would gather a gradient must be a bound parameter: the core knows no other one.
void refuse_unregistered_leaves(const ag::edge_list& edges, const bound_params& params) {
  std::unordered_set<ag::Node*> seen;
  std::vector<ag::Node*> todo;
  const auto visit = [&](const ag::Edge& e) {
    if (e.function && seen.insert(e.function.get()).second) todo.push_back(e.function.get());
  };
  for (const auto& e : edges) visit(e);
  while (!todo.empty()) {
    ag::Node* node = todo.back();
    todo.pop_back();
    for (const auto& e : node->next_edges()) visit(e);
    const auto* leaf = dynamic_cast<ag::AccumulateGrad*>(node);
    if (!leaf) continue;
    const auto& known = params.values();
    if (std::none_of(known.begin(), known.end(), [&](const at::Tensor& p) { return p.is_same(leaf->variable); })) {
      std::string shape;
      for (const int64_t n : leaf->variable.sizes()) shape += (shape.empty() ? "" : ", ") + std::to_string(n);
      throw fault(SY_E_STATE, "unregistered trainable tensor of shape [" + shape +
                                  "]: it would never be trained; declare it in params() and take it from there");
    }
  }
}

}  // namespace

struct graph::parts {
  ag::edge_list outputs;                         // an empty edge: nothing flows back from this output
  std::vector<std::shared_ptr<arrival>> inputs;  // NULL: not differentiable
};

graph::graph() = default;
graph::graph(graph&&) noexcept = default;
graph& graph::operator=(graph&&) noexcept = default;
graph::~graph() = default;

namespace {

std::shared_ptr<arrival> track(at::Tensor& x) {
  if (!x.defined() || !at::isFloatingType(x.scalar_type())) return nullptr;
  auto node = std::make_shared<arrival>(x);
  ag::create_gradient_edge(x, node);
  return node;
}

/// Hands tensors to the core: none shares storage with an argument or with another result.
void give(const sy_call& call, std::vector<at::Tensor>& results, const std::vector<at::Tensor>& arguments) {
  std::vector<at::Tensor> given;
  for (uint32_t i = 0; i < call.n_out; ++i) {
    at::Tensor& t = results[i];
    if (!t.defined()) continue;
    if (shares_storage(t, arguments) || shares_storage(t, given)) t = t.clone(at::MemoryFormat::Contiguous);
    given.push_back(t);
  }
  std::vector<tensor> lent(call.n_out);  // complete before a slot is written: an error leaves the slots alone
  for (uint32_t i = 0; i < call.n_out; ++i)
    if (results[i].defined()) lent[i] = tensor::adopt(lend(std::move(results[i]), call));
  for (uint32_t i = 0; i < call.n_out; ++i)
    if (lent[i]) call.out[i] = std::move(lent[i]).give();
}

void refuse_written_inputs(const std::vector<at::Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && inputs[i]._version() != 0)
      throw fault(SY_E_STATE, "the layer wrote its input " + std::to_string(i) + ": inputs are read-only");
}

graph run_forward(autograd& self, const sy_call& call, autograd::body run, void* layer, bool keeps) {
  pass p{call, self.params, {}};
  graph kept;
  kept.own = std::make_unique<graph::parts>();
  for (uint32_t i = 0; i < call.n_in; ++i) {
    p.inputs.push_back(borrow(call.in[i]));
    if (keeps) kept.own->inputs.push_back(track(p.inputs.back()));
  }
  std::vector<at::Tensor> arguments = p.inputs;
  std::vector<at::Tensor> results;
  run(layer, p, results);
  if (results.size() != call.n_out)
    throw fault(SY_E_INTERNAL, "the layer gave " + std::to_string(results.size()) + " outputs instead of " +
                                   std::to_string(call.n_out));
  refuse_written_inputs(arguments);
  for (at::Tensor& y : results) {
    kept.own->outputs.push_back(keeps && y.requires_grad() ? ag::impl::gradient_edge(y) : ag::Edge());
    y = y.detach();
  }
  if (keeps && !self.checked) {
    refuse_unregistered_leaves(kept.own->outputs, self.params);
    self.checked = true;
  }
  const std::vector<at::Tensor>& values = self.params.values();
  arguments.insert(arguments.end(), values.begin(), values.end());
  give(call, results, arguments);
  return keeps ? std::move(kept) : graph();
}

/// Where the engine shall go; empty: everywhere, which is the fast way.
ag::edge_list targets(const autograd& self, const sy_call& call, const graph::parts& kept) {
  const auto unwanted = [&](std::size_t i) { return kept.inputs[i] && !(call.want >> i & 1); };
  bool all = true;
  for (std::size_t i = 0; i < kept.inputs.size(); ++i) all = all && !unwanted(i);
  if (all) return {};
  ag::edge_list edges;
  for (std::size_t i = 0; i < kept.inputs.size(); ++i)
    if (kept.inputs[i] && !unwanted(i)) edges.emplace_back(kept.inputs[i], 0);
  for (const at::Tensor& value : self.params.values())
    if (value.requires_grad()) edges.push_back(ag::impl::gradient_edge(value));
  return edges;
}

bool anything_wanted(const autograd& self, const sy_call& call) {
  const auto& values = self.params.values();
  return call.want || std::any_of(values.begin(), values.end(), [](const at::Tensor& v) { return v.requires_grad(); });
}

void run_backward(autograd& self, const sy_call& call, graph&& kept) {
  graph::parts& parts = *kept.own;
  ag::edge_list roots;
  ag::variable_list grads;
  for (uint32_t i = 0; i < call.n_in; ++i) {
    if (!call.in[i] || !parts.outputs[i].function) continue;
    roots.push_back(std::move(parts.outputs[i]));
    grads.push_back(borrow(call.in[i]));
  }
  if (!roots.empty() && anything_wanted(self, call))
    ag::Engine::get_default_engine().execute(roots, grads, /*keep_graph=*/false, /*create_graph=*/false,
                                             /*accumulate_grad=*/true, targets(self, call, parts));
  roots.clear();
  parts.outputs.clear();
  std::vector<at::Tensor> results(call.n_out);
  for (uint32_t i = 0; i < call.n_out; ++i) {
    arrival* in = i < parts.inputs.size() ? parts.inputs[i].get() : nullptr;
    if (!in || !(call.want >> i & 1)) continue;
    results[i] = in->grad.defined() ? std::move(in->grad) : at::zeros(in->shape, in->options);
  }
  give(call, results, grads);
}

}  // namespace

graph autograd::forward(const sy_call& call, body run, void* layer) {
  const bool keeps = call.kind == SY_TRAIN && !(call.flags & SY_CALL_NO_SAVE);
  return in_call(call, keeps, [&] { return run_forward(*this, call, run, layer, keeps); });
}

void autograd::backward(const sy_call& call, graph&& kept) {
  if (!kept.own) throw fault(SY_E_STATE, "backward of a call that kept nothing");
  in_call(call, false, [&] { run_backward(*this, call, std::move(kept)); });
}

}  // namespace sy
