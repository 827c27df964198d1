#include "plan/memory.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>

#include "base/dtype.hpp"
#include "plan/live_activations.hpp"

namespace switchyard {

namespace {

/// What a tensor of a stage is: an activation, a kept layer's cast copy of an input, its output before that was cast
/// back, or a gradient of one use.
struct Key {
  enum Kind { activation, cast, raw, gradient } kind;
  int layer, number, slot = 0;
  auto operator<=>(const Key&) const = default;
};

/// Bytes that are alive; a tensor lives as long as somebody holds it.
class Ledger {
 public:
  void hold(const Key& key, uint64_t bytes) {
    auto& entry = held_[key];
    if (entry.second++ == 0) entry.first = bytes, add(bytes);
  }
  void drop(const Key& key) {
    const auto found = held_.find(key);
    if (found == held_.end() || --found->second.second > 0) return;
    live_ -= found->second.first;
    held_.erase(found);
  }
  void add(uint64_t bytes) { live_ += bytes, spike(0); }
  void remove(uint64_t bytes) { live_ -= bytes; }
  void spike(uint64_t bytes) { peak_ = std::max(peak_, live_ + bytes); }
  void restart_peak() { peak_ = live_; }
  uint64_t live() const { return live_; }
  uint64_t peak() const { return peak_; }

 private:
  std::map<Key, std::pair<uint64_t, int>> held_;
  uint64_t live_ = 0, peak_ = 0;
};

/// The stage's own life of one micro-batch, in bytes: the same steps as engine/stage.cpp takes.
class StageAccount {
 public:
  StageAccount(const MemoryInput& in, const Stage& stage, const std::vector<int>& stage_of_layer,
               const std::vector<bool>& recompute)
      : in_(in), layers_(in.model->layers()), stage_(stage), stage_of_layer_(stage_of_layer), recompute_(recompute) {}

  StageMemory run() {
    StageMemory memory;
    forward();
    memory.forward_peak = ledger_.peak();
    memory.saved = ledger_.live();
    ledger_.restart_peak();
    const Ledger after_forward = ledger_;
    backward(false);
    memory.backward_peak = ledger_.peak();
    ledger_ = after_forward;
    backward(true);
    memory.input_peak = ledger_.peak();
    for (int l = stage_.first; l <= stage_.last; ++l) memory.held += held(layers_[l]);
    return memory;
  }

 private:
  bool here(int layer) const { return stage_of_layer_[layer] == stage_.index; }
  const sy_cost& cost(int layer) const { return (*in_.costs)[layer]; }
  uint64_t bytes_in(int layer, std::size_t slot) const { return byte_count(in_.shapes->in[layer][slot]); }
  uint64_t bytes_out(int layer, int output) const { return byte_count(in_.shapes->out[layer][output]); }

  /// What a call of `layer` sees as input `slot`: the source itself, or a cast copy of it.
  Key seen(const Layer& layer, std::size_t slot) const {
    const Source& from = layer.inputs[slot];
    if (from.layer >= 0 && layer.kept && is_float(in_.shapes->in[layer.index][slot].dtype))
      return {Key::cast, layer.index, static_cast<int>(slot)};
    return source(layer, slot);
  }
  static Key source(const Layer& layer, std::size_t slot) {
    const Source& from = layer.inputs[slot];
    return {Key::activation, from.layer, from.layer < 0 ? static_cast<int>(from.targets) : from.output};
  }
  void for_inputs(const Layer& layer, const std::function<void(std::size_t)>& body) const {
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) body(i);
  }

  /// Uses inside this stage hold a tensor until they ran.
  void hold_for_uses(int layer, int output) {
    for (const Use& use : layers_[layer].uses[output])
      if (here(use.layer)) ledger_.hold({Key::activation, layer, output}, bytes_out(layer, output));
  }

  void receive() {
    std::map<std::pair<int, int>, bool> seen_sources;
    for (int l = stage_.first; l <= stage_.last; ++l)
      for_inputs(layers_[l], [&](std::size_t slot) {
        const Source& from = layers_[l].inputs[slot];
        if (from.layer < 0)
          ledger_.hold(source(layers_[l], slot), bytes_in(l, slot));
        else if (!here(from.layer) && !std::exchange(seen_sources[{from.layer, from.output}], true))
          hold_for_uses(from.layer, from.output);
      });
  }

  void forward() {
    receive();
    for (int l = stage_.first; l <= stage_.last; ++l) {
      const Layer& layer = layers_[l];
      for_inputs(layer, [&](std::size_t i) {
        if (seen(layer, i).kind == Key::cast) ledger_.hold(seen(layer, i), bytes_in(l, i));
      });
      run_forward(layer, recompute_[l]);
      for (std::size_t o = 0; o < in_.shapes->out[l].size(); ++o) {
        hold_for_uses(l, static_cast<int>(o));
        if (leaves(l, o)) ledger_.hold({Key::activation, l, static_cast<int>(o)}, bytes_out(l, o));
      }
      for_inputs(layer, [&](std::size_t i) {
        if (recompute_[l]) ledger_.hold(source(layer, i), 0);  // kept by the stage until B
        if (seen(layer, i).kind == Key::cast) ledger_.drop(seen(layer, i));
        ledger_.drop(source(layer, i));
      });
    }
    for (int l = stage_.first; l <= stage_.last; ++l)  // sent
      for (std::size_t o = 0; o < in_.shapes->out[l].size(); ++o)
        if (leaves(l, o)) ledger_.drop({Key::activation, l, static_cast<int>(o)});
  }

  bool leaves(int layer, std::size_t output) const {
    if (output >= layers_[layer].uses.size()) return false;
    for (const Use& use : layers_[layer].uses[output])
      if (!here(use.layer)) return true;
    return false;
  }

  /// Does a kept layer make another type than its consumers see?
  bool casts_back(const Layer& layer, std::size_t output) const {
    const Port& p = in_.shapes->out[layer.index][output];
    return layer.kept && !layer.is_loss() && is_float(p.dtype) && !same_dtype(p.dtype, layer.compute);
  }
  /// Output `output` as the layer makes it.
  Key made(const Layer& layer, std::size_t output) const {
    return {casts_back(layer, output) ? Key::raw : Key::activation, layer.index, static_cast<int>(output)};
  }
  uint64_t bytes_made(const Layer& layer, std::size_t output) const {
    const uint64_t bytes = bytes_out(layer.index, static_cast<int>(output));
    if (!casts_back(layer, output)) return bytes;
    return bytes / in_.shapes->out[layer.index][output].dtype.bits * layer.compute.bits;
  }

  /// One forward call: outputs and workspace at its worst moment, then what it saves.
  void run_forward(const Layer& layer, bool no_save) {
    uint64_t outputs = 0, casts = 0;
    for (std::size_t o = 0; o < in_.shapes->out[layer.index].size(); ++o) {
      outputs += bytes_made(layer, o);
      if (casts_back(layer, o)) casts += bytes_out(layer.index, static_cast<int>(o));
    }
    const sy_cost& c = cost(layer.index);
    const uint64_t saved = no_save ? 0 : c.bytes_saved;
    ledger_.spike(outputs + saved + std::max(c.bytes_workspace, casts));
    if (!no_save) save(layer);
  }
  void save(const Layer& layer) {
    const sy_cost& c = cost(layer.index);
    ledger_.add(c.bytes_saved);
    for_inputs(layer, [&](std::size_t i) {
      if (c.keep_in >> i & 1) ledger_.hold(seen(layer, i), bytes_in(layer.index, i));
    });
    for (std::size_t o = 0; o < in_.shapes->out[layer.index].size(); ++o)
      if (c.keep_out >> o & 1) ledger_.hold(made(layer, o), bytes_made(layer, o));
  }
  void free_saved(const Layer& layer) {
    const sy_cost& c = cost(layer.index);
    ledger_.remove(c.bytes_saved);
    for_inputs(layer, [&](std::size_t i) {
      if (c.keep_in >> i & 1) ledger_.drop(seen(layer, i));
    });
    for (std::size_t o = 0; o < in_.shapes->out[layer.index].size(); ++o)
      if (c.keep_out >> o & 1) ledger_.drop(made(layer, o));
  }

  /// Bytes of what a layer keeps from I to W.
  uint64_t held(const Layer& layer) const { return layer.splits() ? cost(layer.index).bytes_held : 0; }

  void backward(bool input_only) {
    for (int l = stage_.first; l <= stage_.last; ++l)
      for (std::size_t o = 0; o < layers_[l].uses.size(); ++o)
        for (const Use& use : layers_[l].uses[o])
          if (!here(use.layer) && layers_[use.layer].wants[use.slot])
            ledger_.hold({Key::gradient, use.layer, use.slot}, bytes_out(l, static_cast<int>(o)));
    for (int l = stage_.last; l >= stage_.first; --l) {
      backward(layers_[l]);
      if (input_only) ledger_.add(held(layers_[l]));
    }
  }

  void backward(const Layer& layer) {
    const uint64_t gathered = gather(layer);
    if (recompute_[layer.index]) replay(layer);
    make_gradients(layer);
    ledger_.remove(gathered);
  }

  /// The gradients of an output's uses become one: the only one is passed on, several are added into a new tensor, and
  /// a kept layer sees a cast copy. Returns the bytes that live until the layer's backward is done.
  uint64_t gather(const Layer& layer) {
    uint64_t all = 0;
    for (std::size_t o = 0; o < layer.uses.size(); ++o) {
      int arriving = 0;
      for (const Use& use : layer.uses[o]) arriving += layers_[use.layer].wants[use.slot];
      if (arriving == 0) continue;
      const uint64_t one = bytes_out(layer.index, static_cast<int>(o));
      if (arriving > 1) ledger_.spike(one);
      for (const Use& use : layer.uses[o]) ledger_.drop({Key::gradient, use.layer, use.slot});
      if (casts_back(layer, o)) ledger_.spike(one + bytes_made(layer, o));
      ledger_.add(bytes_made(layer, o));
      all += bytes_made(layer, o);
    }
    return all;
  }

  /// The forward again, from inputs that the stage kept; what the backward needs of them is among the saved then.
  void replay(const Layer& layer) {
    for_inputs(layer, [&](std::size_t i) {
      if (seen(layer, i).kind == Key::cast) ledger_.hold(seen(layer, i), bytes_in(layer.index, i));
    });
    run_forward(layer, false);
    for_inputs(layer, [&](std::size_t i) {
      if (seen(layer, i).kind == Key::cast) ledger_.drop(seen(layer, i));
      ledger_.drop(source(layer, i));
    });
  }

  /// A loss hands over what it saved; a kept layer's gradients are cast to the type of what they are gradients of.
  void make_gradients(const Layer& layer) {
    uint64_t made = 0, handed_on = 0;
    const auto bytes = [&](std::size_t i) {
      const Source& from = layer.inputs[i];
      return from.layer < 0 ? bytes_in(layer.index, i) : bytes_out(from.layer, from.output);
    };
    for_inputs(layer, [&](std::size_t i) {
      if (!layer.wants[i]) return;
      made += bytes_in(layer.index, i);
      handed_on += bytes(i);
    });
    ledger_.spike((layer.is_loss() ? 0 : made) + cost(layer.index).bytes_workspace_backward);
    free_saved(layer);
    if (made != handed_on) ledger_.spike(made + handed_on);
    for_inputs(layer, [&](std::size_t i) {
      if (layer.wants[i]) ledger_.hold({Key::gradient, layer.index, static_cast<int>(i)}, bytes(i));
    });
  }

  const MemoryInput& in_;
  const std::vector<Layer>& layers_;
  const Stage& stage_;
  const std::vector<int>& stage_of_layer_;
  const std::vector<bool>& recompute_;
  Ledger ledger_;
};

}  // namespace

StageMemory stage_memory(const MemoryInput& in, const Stage& stage, const std::vector<int>& stage_of_layer,
                         const std::vector<bool>& recompute) {
  return StageAccount(in, stage, stage_of_layer, recompute).run();
}

std::vector<DeviceMemory> fixed_memory(const MemoryInput& in, const std::vector<int>& device_of_layer,
                                       std::size_t n_devices) {
  std::vector<DeviceMemory> all(n_devices);
  for (const Parameter& p : in.model->parameters()) {
    DeviceMemory& m = all[device_of_layer[p.layer]];
    const uint64_t elements = padded(p.count());
    const uint64_t value = elements * p.dtype.bits / 8;
    if (p.is_tied()) {
      if (p.trainable) m.gradients += elements * in.gradient_bytes;
      if (device_of_layer[in.model->parameters()[p.owner].layer] != device_of_layer[p.layer]) m.weights += value;
      continue;
    }
    m.weights += value;
    if (!p.trainable) continue;
    if (!same_dtype(p.dtype, dtype::f32)) m.masters += elements * 4;
    m.gradients += elements * in.gradient_bytes;
    m.states += elements * 4 * in.states;
  }
  return all;
}

uint64_t most_activations(const std::vector<Action>& program, const std::vector<StageMemory>& per_stage,
                          const std::vector<HandedOn>& handed_on) {
  LiveActivations activations(per_stage, handed_on);
  uint64_t most = 0;
  for (const Action& a : program) most = std::max(most, activations.during(a));
  return most;
}

std::vector<DeviceMemory> plan_memory(const MemoryInput& in, const Layout& layout,
                                      const std::vector<PlanDevice>& devices) {
  std::vector<int> device_of_layer;
  for (const int s : layout.stage_of_layer) device_of_layer.push_back(layout.stages[s].device);
  std::vector<DeviceMemory> all = fixed_memory(in, device_of_layer, devices.size());
  for (std::size_t d = 0; d < all.size(); ++d)
    all[d].activations = most_activations(layout.train[d], layout.stage_memory, layout.handed_on);
  for (const Edge& e : layout.edges) {
    if (e.capacity == 0) continue;
    const int from = layout.stages[e.from].device, to = layout.stages[e.to].device;
    all[to].edges += e.bytes * static_cast<uint64_t>(e.capacity);
    if (devices[from].device.type != SY_DEVICE_CPU) all[from].edges += e.bytes;
  }
  return all;
}

}  // namespace switchyard
