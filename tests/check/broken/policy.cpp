// A policy that is in order, and with FAULT=NAME in the environment does one thing wrong.
#include <sys/stat.h>

#include <switchyard/cpp/plugin.hpp>

#include "fault.hpp"

namespace {

uint32_t asked = 0;

struct Policy {
  static constexpr const char* id = "broken";
  static constexpr const char* help = "a policy with one fault";
  static constexpr sy_option options[] = {
      sy::bool_option("backwards", "false", "the first layers on the last device"),
      sy::bool_option("unused", "false", "says nothing"),
  };
  explicit Policy(const sy::config& c) : backwards(c.flag("backwards")), turned(c.flag("unused")) {}

  void place(const sy_place& in, sy_placed& out) {
    if (broken("surroundings")) umask(077);
    const bool flip = backwards != (turned && !broken("options"));
    const uint32_t used = broken("budget") && in.devices[0]->budget != UINT64_MAX ? 1 : in.n_devices;
    const uint32_t shift = broken("deterministic") ? ++asked : 0;
    int32_t stage = -1;
    for (uint32_t l = 0; l < in.n_layers; ++l) {
      const uint32_t run = (l * used / in.n_layers + shift) % in.n_devices;
      int32_t device = static_cast<int32_t>(flip ? in.n_devices - 1 - run : run);
      if (in.layers[l]->pin >= 0) device = in.layers[l]->pin;
      if (stage < 0 || device != out.device_of_stage[stage]) out.device_of_stage[++stage] = device;
      out.stage_of_layer[l] = stage;
    }
    out.n_stages = static_cast<uint32_t>(stage) + 1;
    if (broken("complete")) out.stage_of_layer[in.n_layers - 1] = -1;
    expect_fits(in, out);
  }

 private:
  static void expect_fits(const sy_place& in, const sy_placed& out) {
    if (broken("budget") || broken("complete")) return;
    const sy_candidate c{sizeof c, out.n_stages, out.stage_of_layer, out.device_of_stage, nullptr};
    sy_evaluation found{};
    found.size = sizeof found;
    sy::check(in.evaluate(in.self, &c, &found, nullptr), "no placement");
    if (found.misfit_layer >= 0) throw sy::fault(SY_E_INFEASIBLE, "it does not fit");
  }
  bool backwards, turned;
};

}  // namespace

SY_PLUGIN_NOTE("test.broken.policy");
static constexpr sy_export exports[] = {sy::export_policy<Policy>()};
SY_DEFINE_PLUGIN("test.broken.policy", "1.0", exports)
