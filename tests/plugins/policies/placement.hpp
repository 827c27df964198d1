// Layers and devices for tests of policies, and a judgement of placements that counts what the core counts: parameters,
// gradients, states, activations times micro-batches in flight, logits, edges; and the time of a pass under 1F1B or
// GPipe.
#pragma once

#include <fnmatch.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "support/fake_host.hpp"

struct TestLayer {
  std::string name;
  int32_t pin = -1;
  std::vector<int32_t> inputs{};  // empty: the layer before
  uint64_t weights = 0, grads = 0, states = 0, saved = 0, outputs = 0, workspace = 0;
  double flops = 1;
  bool keeps_input = false;
  bool free = false;  // to be recomputed where a budget asks for it
};

using Flags = std::vector<uint8_t>;  // per layer

struct Answer {
  sy_rc code = SY_OK;
  std::string text;  // of the error, or why
  std::vector<int32_t> stage_of_layer, device_of_stage;
  bool closest = false;  // it does not fit, and nothing does
  std::vector<int64_t> sizes() const {
    std::vector<int64_t> all(device_of_stage.size(), 0);
    for (const int32_t s : stage_of_layer) ++all[static_cast<std::size_t>(s)];
    return all;
  }
  /// "0 0 1 0": the device of each layer
  std::string devices() const {
    std::string all;
    for (const int32_t s : stage_of_layer)
      all += (all.empty() ? "" : " ") + std::to_string(device_of_stage[static_cast<std::size_t>(s)]);
    return all;
  }
};

class World {
 public:
  std::vector<TestLayer> layers;
  std::vector<uint64_t> budgets;
  std::vector<double> speeds;  // flops per second of each device; empty: 1
  double bytes_per_s = 1e9, latency_s = 0;
  uint32_t micro_batches = 4, max_stages = 0;
  bool gpipe = false;
  int evaluations = 0;
  double evaluate_seconds = 0;  // of the processor, all together

  /// Layers NAME.0 .. NAME.(n-1), all alike.
  static World equal(int64_t n, std::size_t devices) {
    World w;
    for (int64_t i = 0; i < n; ++i)
      w.layers.push_back({"h." + std::to_string(i), -1, {}, 100, 100, 200, 50, 10, 5, 1, false});
    w.budgets.assign(devices, UINT64_MAX);
    return w;
  }
  static World named(const std::vector<std::string>& names, std::size_t devices) {
    World w = equal(0, devices);
    for (const std::string& n : names) w.layers.push_back({n});
    return w;
  }

  struct Judgement {
    std::vector<uint64_t> peak;
    int32_t misfit = -1;
    uint64_t missing = 0;
    double seconds = 0;
    double ratio = 0;  // largest peak / budget
  };
  using Map = std::vector<int32_t>;
  Judgement judge(const Map& stage_of_layer, const Map& device_of_stage, const Flags& recompute) const {
    Judgement j;
    j.peak = peaks(stage_of_layer, device_of_stage, recompute, &j.misfit);
    uint64_t largest = 0;
    for (const uint64_t b : budgets) largest = b == UINT64_MAX ? largest : std::max(largest, b);
    for (std::size_t d = 0; d < budgets.size(); ++d) {
      if (j.peak[d] > budgets[d]) j.missing = std::max(j.missing, j.peak[d] - budgets[d]);
      const double budget = static_cast<double>(budgets[d] == UINT64_MAX ? std::max<uint64_t>(largest, 1) : budgets[d]);
      j.ratio = std::max(j.ratio, static_cast<double>(j.peak[d]) / budget);
    }
    j.seconds = pass_seconds(stage_of_layer, device_of_stage, recompute);
    return j;
  }
  /// With as few free layers recomputed as fit.
  Judgement judge(const Map& stage_of_layer, const Map& device_of_stage) const {
    return judge(stage_of_layer, device_of_stage, fewest_recomputed(stage_of_layer, device_of_stage));
  }
  Judgement judge(const Answer& a) const { return judge(a.stage_of_layer, a.device_of_stage); }

  /// Bytes of each device. misfit: the first layer over a budget, or -1.
  std::vector<uint64_t> peaks(const Map& stage_of_layer, const Map& device_of_stage, const Flags& recompute,
                              int32_t* misfit = nullptr) const {
    std::vector<uint64_t> peak(budgets.size(), 0), spike(budgets.size(), 0);
    const std::size_t stages = device_of_stage.size();
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const TestLayer& l = layers[i];
      const auto s = static_cast<std::size_t>(stage_of_layer[i]);
      const auto d = static_cast<std::size_t>(device_of_stage[s]);
      const uint64_t flight = gpipe ? micro_batches : std::min<uint64_t>(stages - s, micro_batches);
      uint64_t bytes = l.weights + l.grads + l.states + (recompute[i] ? 0 : l.saved * flight);
      for (const int32_t from : inputs(i)) {
        if (from < 0) continue;
        const auto f = static_cast<std::size_t>(from);
        const bool crosses = stage_of_layer[f] != stage_of_layer[i];
        if (crosses || l.keeps_input || recompute[i]) bytes += layers[f].outputs * flight;
        if (crosses) bytes += layers[f].outputs * static_cast<uint64_t>(stage_of_layer[i] - stage_of_layer[f]);
      }
      peak[d] += bytes;
      spike[d] = std::max(spike[d], l.workspace + l.outputs);
      if (misfit != nullptr && *misfit < 0 && peak[d] + spike[d] > budgets[d]) *misfit = static_cast<int32_t>(i);
    }
    for (std::size_t d = 0; d < budgets.size(); ++d) peak[d] += spike[d];
    return peak;
  }

  /// On each device the subset of the free layers that fits with the fewest flops; all where none does. Of more than 12
  /// layers as many of the first ones as it takes.
  Flags fewest_recomputed(const Map& stage_of_layer, const Map& device_of_stage) const {
    Flags all(layers.size(), 0);
    if (std::none_of(layers.begin(), layers.end(), [](const TestLayer& l) { return l.free; })) return all;
    for (std::size_t d = 0; d < budgets.size(); ++d) {
      std::vector<std::size_t> free;
      for (std::size_t i = 0; i < layers.size(); ++i)
        if (layers[i].free && device_of_stage[static_cast<std::size_t>(stage_of_layer[i])] == static_cast<int32_t>(d))
          free.push_back(i);
      if (free.size() > 12) {
        for (std::size_t k = 0; k < free.size() && peaks(stage_of_layer, device_of_stage, all)[d] > budgets[d]; ++k)
          all[free[k]] = 1;
        continue;
      }
      double least = 1e300;
      uint32_t best = (1u << free.size()) - 1;
      for (uint32_t subset = 0; subset < 1u << free.size(); ++subset) {
        Flags flags(layers.size(), 0);
        double flops = 0;
        for (std::size_t k = 0; k < free.size(); ++k)
          if (subset >> k & 1) flags[free[k]] = 1, flops += layers[free[k]].flops;
        if (flops < least && peaks(stage_of_layer, device_of_stage, flags)[d] <= budgets[d])
          least = flops, best = subset;
      }
      for (std::size_t k = 0; k < free.size(); ++k) all[free[k]] = best >> k & 1;
    }
    return all;
  }

  double speed(std::size_t device) const { return speeds.empty() ? 1 : speeds[device]; }

  /// A pass with one stage on each device; backward takes twice as long as forward. Every stage does its actions in the
  /// schedule's order, each as soon as its input has arrived.
  double pass_seconds(const Map& stage_of_layer, const Map& device_of_stage, const Flags& recompute) const {
    const std::size_t stages = device_of_stage.size(), m = micro_batches;
    std::vector<double> forward(stages, 0), backward(stages, 0), hop(stages, 0),
        now(stages, 0);  // hop: to the next stage, or back from it
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const auto s = static_cast<std::size_t>(stage_of_layer[i]);
      const double one = layers[i].flops / speed(static_cast<std::size_t>(device_of_stage[s]));
      forward[s] += one, backward[s] += (recompute[i] ? 3 : 2) * one;
      hop[s] = latency_s + static_cast<double>(layers[i].outputs) / bytes_per_s;
    }
    // ready[s][k]: when micro-batch k reaches stage s, forward and backward.
    std::vector<std::vector<double>> ready_f(stages, std::vector<double>(m, -1)), ready_b = ready_f;
    ready_f[0].assign(m, 0);
    std::vector<std::size_t> done_f(stages, 0), done_b(stages, 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < stages; ++s) {
        const std::size_t most = gpipe ? m : std::min(stages - s, m);  // in flight
        const std::size_t f = done_f[s], b = done_b[s];
        const bool back = f == m || f - b == most;
        if (b == m || (back ? ready_b[s][b] : ready_f[s][f]) < 0) continue;
        moved = true;
        now[s] = std::max(now[s], back ? ready_b[s][b] : ready_f[s][f]) + (back ? backward[s] : forward[s]);
        if (back) {
          if (s > 0) ready_b[s - 1][b] = now[s] + hop[s - 1];
          ++done_b[s];
        } else {
          if (s + 1 < stages)
            ready_f[s + 1][f] = now[s] + hop[s];
          else
            ready_b[s][f] = now[s];
          ++done_f[s];
        }
      }
    }
    return *std::max_element(now.begin(), now.end());
  }
  Answer place(const std::string& policy, std::map<std::string, std::string> options = {});

  /// The layers that feed layer i; -1: the batch.
  std::vector<int32_t> inputs(std::size_t i) const {
    return layers[i].inputs.empty() ? std::vector<int32_t>{static_cast<int32_t>(i) - 1} : layers[i].inputs;
  }

 private:
  static sy_rc evaluate(void* self, const sy_candidate* c, sy_evaluation* out, sy_error**) {
    auto* w = static_cast<World*>(self);
    const std::clock_t begin = std::clock();
    ++w->evaluations;
    const auto n = static_cast<std::ptrdiff_t>(w->layers.size());
    const Map stages(c->stage_of_layer, c->stage_of_layer + n),
        devices(c->device_of_stage, c->device_of_stage + c->n_stages);
    const Flags recompute =
        c->recompute != nullptr ? Flags(c->recompute, c->recompute + n) : w->fewest_recomputed(stages, devices);
    const Judgement j = w->judge(stages, devices, recompute);
    if (out->recompute != nullptr) std::copy(recompute.begin(), recompute.end(), out->recompute);
    out->misfit_layer = j.misfit;
    out->misfit_bytes = j.missing;
    out->step_s = j.seconds;
    if (out->peak_bytes) std::copy(j.peak.begin(), j.peak.end(), out->peak_bytes);
    w->evaluate_seconds += static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    return SY_OK;
  }
  static sy_rc match(void* self, const char* pattern, uint8_t* hit, sy_error** err) {
    const auto* w = static_cast<const World*>(self);
    bool any = false;
    for (std::size_t i = 0; i < w->layers.size(); ++i) {
      const std::string& name = w->layers[i].name;
      const bool matches = fnmatch(pattern, name.c_str(), 0) == 0 || name.rfind(std::string(pattern) + ".", 0) == 0;
      if (matches) hit[i] = 1, any = true;
    }
    return any ? SY_OK : fake::fail(nullptr, err, SY_E_CONFIG, "no layer");
  }
  static sy_rc link(void* self, int32_t, int32_t, double* bytes_per_s, double* latency_s, sy_error**) {
    const auto* w = static_cast<const World*>(self);
    *bytes_per_s = w->bytes_per_s, *latency_s = w->latency_s;
    return SY_OK;
  }
  static sy_rc seconds(void* self, uint32_t layer, int32_t device, double* forward, double* input, double* weight,
                       sy_error**) {
    const auto* w = static_cast<const World*>(self);
    *forward = *input = *weight = w->layers[layer].flops / w->speed(static_cast<std::size_t>(device));
    return SY_OK;
  }
};

/// The arrays that an sy_place points to.
struct PlaceArrays {
  std::vector<sy_cost> costs;
  std::vector<sy_place_layer> layers;
  std::vector<std::vector<int32_t>> sources;
  std::vector<std::vector<uint64_t>> source_bytes;
  std::vector<std::string> device_names;
  std::vector<sy_place_device> devices;
  std::vector<const sy_place_layer*> layer_pointers;
  std::vector<const sy_place_device*> device_pointers;

  explicit PlaceArrays(const World& w)
      : costs(w.layers.size()), layers(w.layers.size()), sources(w.layers.size()), source_bytes(w.layers.size()) {
    for (std::size_t i = 0; i < layers.size(); ++i) fill_layer(w, i);
    for (std::size_t d = 0; d < w.budgets.size(); ++d) device_names.push_back("cpu:" + std::to_string(d));
    for (std::size_t d = 0; d < w.budgets.size(); ++d)
      devices.push_back({sizeof(sy_place_device),
                         0,
                         {SY_DEVICE_CPU, static_cast<int32_t>(d)},
                         w.budgets[d],
                         w.speed(d),
                         device_names[d].c_str()});
    for (const auto& d : devices) device_pointers.push_back(&d);
  }
  PlaceArrays(const PlaceArrays&) = delete;

  sy_place place(const World& w) const {
    sy_place in{};
    in.size = sizeof in;
    in.n_layers = static_cast<uint32_t>(layers.size());
    in.n_devices = static_cast<uint32_t>(devices.size());
    in.max_stages = w.max_stages, in.micro_batches = w.micro_batches;
    in.layers = layer_pointers.data(), in.devices = device_pointers.data();
    return in;
  }

 private:
  void fill_layer(const World& w, std::size_t i) {
    const TestLayer& l = w.layers[i];
    sources[i] = w.inputs(i);
    for (const int32_t f : sources[i])
      source_bytes[i].push_back(f < 0 ? 8 : w.layers[static_cast<std::size_t>(f)].outputs);
    costs[i].size = sizeof(sy_cost);
    costs[i].flops_forward = costs[i].flops_input = costs[i].flops_weight = l.flops;
    costs[i].bytes_saved = l.saved, costs[i].bytes_workspace = l.workspace;
    costs[i].keep_in = l.keeps_input ? 1 : 0;
    layers[i] = {sizeof(sy_place_layer),
                 l.pin,
                 -1,
                 static_cast<uint32_t>(sources[i].size()),
                 sources[i].data(),
                 source_bytes[i].data(),
                 l.name.c_str(),
                 "test",
                 &costs[i],
                 l.weights,
                 l.grads,
                 l.states,
                 l.outputs,
                 l.free ? uint32_t{SY_RECOMPUTE_FREE} : uint32_t{SY_RECOMPUTE_NEVER}};
    layer_pointers.push_back(&layers[i]);
  }
};

inline Answer World::place(const std::string& policy, std::map<std::string, std::string> options) {
  const PlaceArrays arrays(*this);
  sy_place in = arrays.place(*this);
  in.self = this, in.evaluate = evaluate, in.match = match, in.link = link, in.seconds = seconds;

  const auto& api =
      fake::table<sy_policy_api>(fake::plugin("plugins/sy-policy-" + policy + ".so"), SY_KIND_POLICY, policy);
  const sy_config table = fake::config(api, std::move(options));
  Answer a;
  sy_policy* p = nullptr;
  sy_error* err = nullptr;
  a.code = api.create(fake::host(), &table, &p, &err);
  if (a.code == SY_OK) {
    a.stage_of_layer.assign(layers.size(), -7);
    a.device_of_stage.assign(layers.size(), -7);
    std::vector<uint8_t> recompute(layers.size(), 0);
    sy_text why;
    sy_placed out{sizeof out, 0, a.stage_of_layer.data(), a.device_of_stage.data(), recompute.data(), &why, 0, 0};
    a.code = api.place(p, &in, &out, &err);
    a.device_of_stage.resize(out.n_stages);
    a.text = why.text;
    a.closest = out.closest != 0;
    api.destroy(p);
  }
  if (err != nullptr) a.text = fake::taken(err).second;
  return a;
}
