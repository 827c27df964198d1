// One layer on the host, driven as the engine drives it: created, its shapes inferred, bound to memory of ours, called.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/account.hpp"
#include "check/host_array.hpp"
#include "config/value.hpp"
#include "model/model.hpp"
#include "switchyard/layer.h"

namespace switchyard::checks {

/// What a layer is tried with. Types of float inputs follow `compute`, except that of a loss's targets.
struct LayerCase {
  const sy_layer_api* api = nullptr;
  Value options;             // the user's table
  std::vector<Port> inputs;  // a loss layer's last one is the targets
  sy_dtype compute{};
  std::size_t lead = 0;  // bytes before the first element of everything that is lent
  bool is_loss() const { return api->caps & SY_L_LOSS; }
  bool splits() const { return api->caps & SY_L_SPLIT_BACKWARD; }
  bool is_target(std::size_t input) const { return is_loss() && input + 1 == inputs.size(); }
  LayerCase in(sy_dtype type) const;  // the same in another compute type
  LayerCase with_rows(int64_t rows) const;
  LayerCase with(const std::string& option, const Value& value) const;
};

/// A declared parameter and its memory.
struct TrialParam {
  std::string name, init, tied_to;
  uint32_t kind = SY_WEIGHT, dtype_class = SY_CLASS_COMPUTE;
  HostArray value, grad;  // grad: weights only
};

struct How {
  uint32_t kind = SY_TRAIN, flags = 0;
  bool split = false;  // backward as I and W
  uint64_t step = 1;
  int64_t first_sample = 0;
  int64_t* held = nullptr;  // split: bytes that the layer keeps between the halves, lent gradients included
};

/// A forward that may still go back.
struct Pass {
  std::vector<Tensor> outputs;
  sy_saved* saved = nullptr;
};

class LayerTrial {
 public:
  /// create, infer, params, cost, bind. Throws the layer's refusals.
  explicit LayerTrial(const LayerCase& what);
  ~LayerTrial();
  LayerTrial(const LayerTrial&) = delete;
  LayerTrial& operator=(const LayerTrial&) = delete;

  const LayerCase& what() const { return case_; }
  const std::vector<Port>& inputs() const { return in_; }
  const std::vector<Port>& outputs() const { return out_; }
  const sy_cost& cost() const { return cost_; }
  std::vector<TrialParam>& params() { return params_; }
  sy_origin& account() const { return *account_; }
  int64_t rows() const { return in_.empty() ? 0 : in_[0].shape[0]; }

  std::vector<Port> infer(uint32_t kind);
  std::vector<TrialParam> declared() const;
  /// Made-up inputs that fit; the same for the same seed.
  std::vector<HostArray> draw_inputs(uint64_t seed = 1) const;
  /// Made-up gradients of outputs; an empty array where none flows.
  std::vector<HostArray> draw_gradients(uint64_t seed = 2) const;
  bool wants(std::size_t input) const;

  Pass forward(const std::vector<Tensor>& inputs, const How& how = {});
  Pass forward(const std::vector<HostArray>& inputs, const How& how = {});
  /// Gradients of the inputs; takes pass.saved.
  std::vector<Tensor> backward(Pass& pass, const std::vector<HostArray>& gradients, const How& how = {});
  void free_saved(Pass& pass);
  void finish();
  void start_step();  // zeroes gradients and accumulators
  void values_changed() { ++version_; }

  /// Zeroes, then one forward and backward: outputs, gradients of inputs and weights.
  std::vector<Named> run(const std::vector<HostArray>& inputs, const How& how = {});
  /// Outputs of a call without backward.
  std::vector<Named> predict(const std::vector<HostArray>& inputs, uint32_t kind);
  /// Gradients of weights, accumulators.
  std::vector<Named> accumulated() const;
  /// Weights and buffers.
  std::vector<Named> state() const;

 private:
  sy_call call(std::vector<sy_tensor*>& in, std::vector<sy_tensor*>& out, const How& how) const;
  int64_t held_between(const std::vector<Tensor>& lent, const std::vector<sy_tensor*>& made) const;
  void take_params();
  void bind();

  LayerCase case_;
  sy_layer* layer_ = nullptr;
  std::vector<Port> in_, out_;
  sy_cost cost_{};
  std::vector<TrialParam> params_;
  sy_origin* account_;
  uint32_t version_ = 1;
};

/// "4x8 fp32"
std::string port_text(const Port& port);

}  // namespace switchyard::checks
