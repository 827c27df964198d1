#include "place/place.hpp"

#include <algorithm>

#include "config/layer_names.hpp"

namespace switchyard {

namespace {

/// The C structs of one question to a policy; everything is lent to it.
class Question {
 public:
  Question(const PlaceInput& in, const std::string& policy) : in_(in), policy_(policy) {
    add_layers();
    add_devices();
    place_.size = sizeof(place_);
    place_.n_layers = static_cast<uint32_t>(layers_.size());
    place_.n_devices = static_cast<uint32_t>(devices_.size());
    place_.max_stages = place_.n_layers;
    place_.micro_batches = static_cast<uint32_t>(in.micro_batches);
    place_.layers = layer_pointers_.data();
    place_.devices = device_pointers_.data();
    place_.self = this;
    place_.evaluate = evaluate;
    place_.match = match;
    place_.link = link;
    place_.seconds = seconds;
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  const sy_place& get() const { return place_; }
  /// The last pattern that matched nothing, with the nearest name: says more than what a policy makes of it.
  const std::optional<Error>& unmatched() const { return unmatched_; }

  /// Turns the raw answer into a placement, or says what is wrong with it.
  Placement checked(uint32_t n_stages, const int32_t* stage_of_layer, const int32_t* device_of_stage,
                    const uint8_t* recompute) const {
    const auto refuse = [&](const std::string& text) -> void {
      throw Error(SY_E_CONFIG, in_.config->placement.policy.place,
                  "the policy '" + policy_ + "' gave no placement: " + text);
    };
    const std::size_t n = layers_.size();
    if (n_stages == 0 || n_stages > n)
      refuse(std::to_string(n_stages) + " stages for " + std::to_string(n) + " layers");
    for (uint32_t s = 0; s < n_stages; ++s)
      if (device_of_stage[s] < 0 || device_of_stage[s] >= static_cast<int32_t>(devices_.size()))
        refuse("stage " + std::to_string(s) + " is on device " + std::to_string(device_of_stage[s]) + " of " +
               std::to_string(devices_.size()));
    Placement p;
    int32_t raw = -1;
    for (std::size_t l = 0; l < n; ++l) {
      const std::string& name = in_.model->layers()[l].name;
      const int32_t stage = stage_of_layer[l];
      if (stage != raw && stage != raw + 1)
        refuse("layer " + std::to_string(l) + " '" + name + "' is in stage " + std::to_string(stage) + " after stage " +
               std::to_string(raw) + "; stages begin at 0 and never decrease or leave a gap");
      if (stage >= static_cast<int32_t>(n_stages))
        refuse("layer '" + name + "' is in stage " + std::to_string(stage) + " of " + std::to_string(n_stages));
      const int device = device_of_stage[stage];
      if (in_.pins[l] >= 0 && in_.pins[l] != device)
        refuse("layer '" + name + "' is pinned to " + (*in_.devices)[in_.pins[l]].name + ", not " +
               (*in_.devices)[device].name);
      if (stage != raw && (p.device_of_stage.empty() || p.device_of_stage.back() != device))
        p.device_of_stage.push_back(device);
      p.stage_of_layer.push_back(static_cast<int>(p.device_of_stage.size()) - 1);
      raw = stage;
    }
    if (raw + 1 != static_cast<int32_t>(n_stages)) refuse("stage " + std::to_string(raw + 1) + " has no layer");
    for (std::size_t l = 0; l < n; ++l)
      p.recompute.push_back(recompute ? recompute[l] && !in_.model->layers()[l].is_loss() : bool(in_.recompute[l]));
    p.chosen = recompute != nullptr;
    return p;
  }

 private:
  void add_layers() {
    const auto& layers = in_.model->layers();
    inputs_.resize(layers.size());
    input_bytes_.resize(layers.size());
    layers_.resize(layers.size());
    for (const Layer& layer : layers) {
      const int l = layer.index;
      for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
        inputs_[l].push_back(layer.inputs[i].layer);
        input_bytes_[l].push_back(byte_count(in_.shapes->in[l][i]));
      }
      sy_place_layer& c = layers_[l];
      c.size = sizeof(c);
      c.pin = in_.pins[l];
      c.tie = -1;
      c.recompute = in_.free[l]        ? uint32_t{SY_RECOMPUTE_FREE}
                    : in_.recompute[l] ? uint32_t{SY_RECOMPUTE_ALWAYS}
                                       : uint32_t{SY_RECOMPUTE_NEVER};
      for (const int p : layer.parameters) {
        const Parameter& parameter = in_.model->parameters()[p];
        if (parameter.is_tied()) c.tie = in_.model->parameters()[parameter.owner].layer;
      }
      c.n_inputs = static_cast<uint32_t>(inputs_[l].size());
      c.inputs = inputs_[l].data();
      c.input_bytes = input_bytes_[l].data();
      c.name = layer.name.c_str();
      c.type = layer.type.c_str();
      c.cost = &(*in_.costs)[l];
      c.bytes_weights = in_.fixed[l].weights;
      c.bytes_grads = in_.fixed[l].gradients;
      c.bytes_states = in_.fixed[l].states + in_.fixed[l].masters;
      for (const Port& p : in_.shapes->out[l]) c.bytes_outputs += byte_count(p);
      layer_pointers_.push_back(&c);
    }
  }
  void add_devices() {
    const std::size_t n = in_.devices->size();
    devices_.resize(n);
    for (std::size_t d = 0; d < n; ++d) {
      const PlanDevice& from = (*in_.devices)[d];
      sy_place_device& c = devices_[d];
      c.size = sizeof(c);
      c.node = in_.links->seat(static_cast<int>(d)).host;
      c.device = from.device;
      c.budget = from.budget;
      c.flops = from.flops;
      c.name = from.name.c_str();
      device_pointers_.push_back(&c);
    }
  }

  static sy_rc evaluate(void* self, const sy_candidate* c, sy_evaluation* out, sy_error** err) {
    return guard(err, [&] {
      const auto& q = *static_cast<Question*>(self);
      const Layout layout = q.in_.lay_out(q.checked(c->n_stages, c->stage_of_layer, c->device_of_stage, c->recompute));
      out->misfit_layer = layout.misfit_layer;
      out->misfit_bytes = layout.misfit_bytes;
      out->step_s = layout.prediction.step_s;
      if (out->peak_bytes)
        for (std::size_t d = 0; d < layout.memory.size(); ++d) out->peak_bytes[d] = layout.memory[d].peak();
      if (out->recompute)
        for (std::size_t l = 0; l < layout.recompute.size(); ++l) out->recompute[l] = layout.recompute[l];
    });
  }
  static sy_rc match(void* self, const char* pattern, uint8_t* hit, sy_error** err) {
    auto& q = *static_cast<Question*>(self);
    return guard(err, [&] {
      const Place& place = q.in_.config->placement.policy.table(q.policy_).place;
      const auto& entries = q.in_.config->layers;
      try {
        for (const int l : match_layers(entries, Pattern::parse(pattern, place), "placement." + q.policy_)) hit[l] = 1;
      } catch (const Error& e) {
        q.unmatched_ = e;
        throw;
      }
    });
  }

  static sy_rc link(void* self, int32_t from, int32_t to, double* bytes_per_s, double* latency_s, sy_error** err) {
    return guard(err, [&] {
      const auto& q = *static_cast<const Question*>(self);
      q.check_device(from);
      q.check_device(to);
      const Link way = q.in_.links->between(from, to);
      *bytes_per_s = way.bytes_per_s;
      *latency_s = way.latency_s;
    });
  }
  static sy_rc seconds(void* self, uint32_t layer, int32_t device, double* forward, double* input, double* weight,
                       sy_error** err) {
    return guard(err, [&] {
      const auto& q = *static_cast<const Question*>(self);
      q.check_device(device);
      if (layer >= q.layers_.size())
        throw Error(SY_E_ARGUMENT,
                    "layer " + std::to_string(layer) + " of " + std::to_string(q.layers_.size()) + " does not exist");
      const StageTimes t = q.in_.times->of(static_cast<int>(layer), device);
      *forward = t.forward;
      *input = t.input;
      *weight = t.weight;
    });
  }
  void check_device(int32_t device) const {
    if (device < 0 || device >= static_cast<int32_t>(devices_.size()))
      throw Error(SY_E_ARGUMENT,
                  "device " + std::to_string(device) + " of " + std::to_string(devices_.size()) + " does not exist");
  }

  const PlaceInput& in_;
  std::string policy_;
  std::optional<Error> unmatched_;
  std::vector<std::vector<int32_t>> inputs_;
  std::vector<std::vector<uint64_t>> input_bytes_;
  std::vector<sy_place_layer> layers_;
  std::vector<sy_place_device> devices_;
  std::vector<const sy_place_layer*> layer_pointers_;
  std::vector<const sy_place_device*> device_pointers_;
  sy_place place_{};
};

}  // namespace

Placement place_layers(const ChosenPolicy& policy, const PlaceInput& in) {
  const std::size_t n = in.model->layers().size();
  const Question question(in, policy.api().id);
  std::vector<int32_t> stage_of_layer(n, -1), device_of_stage(n, -1);
  std::vector<uint8_t> recompute(in.recompute.begin(), in.recompute.end());
  sy_text why;
  sy_placed placed{};
  placed.size = sizeof(placed);
  placed.stage_of_layer = stage_of_layer.data();
  placed.device_of_stage = device_of_stage.data();
  placed.recompute = recompute.data();
  placed.why = &why;
  try {
    call_plugin([&](sy_error** e) { return policy.api().place(policy.get(), &question.get(), &placed, e); });
  } catch (const Error& e) {
    if (question.unmatched() && question.unmatched()->code() == e.code()) throw *question.unmatched();
    throw Error(e.code() == SY_E_INFEASIBLE ? SY_E_INFEASIBLE : SY_E_CONFIG, in.config->placement.policy.place,
                "placement.policy = \"" + std::string(policy.api().id) + "\": " + e.what());
  }
  Placement p = question.checked(placed.n_stages, stage_of_layer.data(), device_of_stage.data(), recompute.data());
  p.chosen = false;  // a policy that sets no free layer leaves the choice to the plan
  for (std::size_t l = 0; l < n; ++l) p.chosen = p.chosen || (in.free[l] && p.recompute[l]);
  p.closest = placed.closest != 0;
  p.why = why.text;
  return p;
}

std::vector<int> explicit_pins(const Config& config, const std::vector<PlanDevice>& devices) {
  std::vector<int> pins;
  const std::vector<std::string> names = explicit_devices(config);
  for (const std::string& name : names) {
    const auto found =
        std::find_if(devices.begin(), devices.end(), [&](const PlanDevice& d) { return d.name == name; });
    if (found == devices.end()) {
      Place place = config.placement.policy.place;
      for (const ExplicitRule& rule : config.placement.rules)
        if (rule.device.text == name) place = rule.device.place;
      std::string known;
      for (const PlanDevice& d : devices) known += (known.empty() ? "" : ", ") + d.name;
      throw Error(SY_E_CONFIG, place, "placement.explicit: \"" + name + "\" is not among devices.use: " + known);
    }
    pins.push_back(static_cast<int>(found - devices.begin()));
  }
  return pins;
}

}  // namespace switchyard
