#include "plan/program.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "plugin/host.hpp"
#include "switchyard/schedule.h"

namespace switchyard {

namespace {

const char* kind_letter(uint32_t kind) {
  switch (kind) {
    case SY_ACT_F:
      return "F";
    case SY_ACT_B:
      return "B";
    case SY_ACT_I:
      return "I";
    case SY_ACT_W:
      return "W";
    case SY_ACT_R:
      return "R";
  }
  return "?";
}

[[noreturn]] void refuse(int device, std::size_t position, const std::string& text) {
  throw Error(SY_E_CONFIG, "the schedule is wrong: device " + std::to_string(device) + ", action " +
                               std::to_string(position) + ": " + text);
}

/// Counts what each stage did so far; every kind must come in ascending micro-batch order.
class OrderCheck {
 public:
  OrderCheck(std::size_t n_stages, int micro_batches, bool forward_only)
      : done_(n_stages), micro_batches_(micro_batches), forward_only_(forward_only) {}

  void take(int device, std::size_t position, const Action& a, const std::vector<Stage>& stages) {
    const std::string text = action_text(a);
    if (a.kind < SY_ACT_F || a.kind > SY_ACT_R) refuse(device, position, "unknown action " + std::to_string(a.kind));
    if (a.stage < 0 || a.stage >= static_cast<int>(stages.size()))
      refuse(device, position, text + ": there is no such stage");
    if (stages[a.stage].device != device)
      refuse(device, position, text + ": the stage lies on device " + std::to_string(stages[a.stage].device));
    if (forward_only_ && a.kind != SY_ACT_F) refuse(device, position, text + " in a forward-only program");
    if (a.kind == SY_ACT_R) return;
    int& next = done_[a.stage].at(a.kind);
    if (a.micro_batch != next)
      refuse(device, position,
             text + ": micro-batch " + std::to_string(next) + " is next; each stage takes them in ascending order");
    ++next;
    if (a.kind == SY_ACT_B || a.kind == SY_ACT_I) {
      if (done_[a.stage].at(SY_ACT_F) <= a.micro_batch) refuse(device, position, text + " comes before its F");
    }
    if (a.kind == SY_ACT_W && done_[a.stage].at(SY_ACT_I) <= a.micro_batch)
      refuse(device, position, text + " comes before its I");
  }

  void complete() const {
    for (std::size_t s = 0; s < done_.size(); ++s) {
      const auto& d = done_[s];
      need(s, SY_ACT_F, d.at(SY_ACT_F));
      if (forward_only_) continue;
      if (d.at(SY_ACT_B) > 0 && d.at(SY_ACT_I) > 0)
        throw Error(SY_E_CONFIG, "the schedule is wrong: stage " + std::to_string(s) + " mixes B with I and W");
      if (d.at(SY_ACT_I) > 0)
        need(s, SY_ACT_I, d.at(SY_ACT_I)), need(s, SY_ACT_W, d.at(SY_ACT_W));
      else
        need(s, SY_ACT_B, d.at(SY_ACT_B));
    }
  }

 private:
  void need(std::size_t stage, uint32_t kind, int done) const {
    if (done < micro_batches_)
      throw Error(SY_E_CONFIG,
                  "the schedule is wrong: " + action_text({kind, static_cast<int>(stage), done}) + " is missing");
  }
  std::vector<std::array<int, 6>> done_;
  int micro_batches_;
  bool forward_only_;
};

}  // namespace

std::string action_text(const Action& a) {
  return std::string(kind_letter(a.kind)) + " of stage " + std::to_string(a.stage) + ", micro-batch " +
         std::to_string(a.micro_batch);
}

std::vector<std::vector<Action>> run_schedule(const sy_schedule_api& api, sy_schedule* schedule,
                                              const std::vector<Stage>& stages, int n_devices, int micro_batches,
                                              const std::vector<StageTimes>& times, const std::vector<bool>& splits,
                                              bool forward_only) {
  std::vector<int32_t> device_of_stage;
  std::vector<double> f, i, w;
  std::vector<uint8_t> split(splits.begin(), splits.end());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    device_of_stage.push_back(stages[s].device);
    f.push_back(times[s].forward), i.push_back(times[s].input), w.push_back(times[s].weight);
  }
  struct Sink {
    std::vector<std::vector<Action>> programs;
    static sy_rc emit(void* self, int32_t device, uint32_t kind, int32_t stage, int32_t micro_batch, sy_error** err) {
      auto& programs = static_cast<Sink*>(self)->programs;
      if (device < 0 || device >= static_cast<int32_t>(programs.size()))
        return give_error(err, Error(SY_E_ARGUMENT, "the schedule names device " + std::to_string(device) + " of " +
                                                        std::to_string(programs.size())));
      programs[device].push_back({kind, stage, micro_batch});
      return SY_OK;
    }
  } sink;
  sink.programs.resize(n_devices);
  sy_schedule_in in{};
  in.size = sizeof(in);
  in.n_stages = static_cast<uint32_t>(stages.size());
  in.n_devices = static_cast<uint32_t>(n_devices);
  in.micro_batches = static_cast<uint32_t>(micro_batches);
  in.device_of_stage = device_of_stage.data();
  in.cost_f = f.data(), in.cost_i = i.data(), in.cost_w = w.data();
  in.splits = split.data();
  in.forward_only = forward_only;
  in.self = &sink;
  in.emit = Sink::emit;
  call_plugin([&](sy_error** e) { return api.plan(schedule, &in, e); });

  OrderCheck check(stages.size(), micro_batches, forward_only);
  for (int d = 0; d < n_devices; ++d)
    for (std::size_t p = 0; p < sink.programs[d].size(); ++p) check.take(d, p, sink.programs[d][p], stages);
  check.complete();
  return std::move(sink.programs);
}

std::vector<Edge> find_edges(const Model& model, const Shapes& shapes, const std::vector<Stage>& stages,
                             const std::vector<int>& stage_of_layer, bool backward) {
  std::vector<Edge> edges;
  const auto add = [&](Edge e) {
    e.index = static_cast<int>(edges.size());
    e.bytes = byte_count(shapes.out[e.layer][e.output]);
    e.capacity = stages[e.from].device == stages[e.to].device ? 0 : std::abs(e.to - e.from);
    edges.push_back(e);
  };
  for (const Layer& layer : model.layers()) {
    const int from = stage_of_layer[layer.index];
    for (std::size_t o = 0; o < layer.uses.size(); ++o) {
      int last = from;
      for (const Use& use : layer.uses[o]) {
        const int to = stage_of_layer[use.layer];
        if (to == from) continue;
        if (to != last) add({0, false, layer.index, static_cast<int>(o), {}, from, to, 0, 1});
        last = to;
        if (backward && model.layers()[use.layer].wants[use.slot])
          add({0, true, layer.index, static_cast<int>(o), use, to, from, 0, 1});
      }
    }
  }
  return edges;
}

}  // namespace switchyard
