#include "check/policy/made_up_model.hpp"

#include <optional>

#include "base/error.hpp"
#include "check/host_array.hpp"
#include "plugin/host.hpp"
#include "switchyard/cpp/plugin.hpp"

namespace switchyard::checks {

namespace {

/// A layer of so many weights and operations that hands on what its first input is like.
struct Part {
  static constexpr const char* id = "check_part";
  static constexpr const char* help = "a layer that only has sizes";
  static constexpr sy_option options[] = {
      sy::i64_option("weights", "16", 1, 1e9, "elements"),
      sy::f64_option("flops", "1e6", 0, 1e15, "of one micro-batch, forward"),
      sy::i64_option("saved", "0", 0, 1e12, "bytes kept from forward to backward"),
  };
  struct saved {};
  explicit Part(const sy::config& c) : weights(c.i64("weights")), flops(c.f64("flops")), bytes(c.i64("saved")) {}
  std::vector<sy::port> infer(uint32_t, sy::ports in) { return {sy::like(*in[0])}; }
  std::vector<sy::param> params() const { return {{.name = "weight", .shape = {weights}}}; }
  sy::cost cost(uint32_t, sy::const_ports) const {
    return {.flops_forward = flops,
            .flops_input = flops,
            .flops_weight = flops,
            .bytes_saved = static_cast<uint64_t>(bytes)};
  }
  saved forward(const sy_call&) { throw sy::fault(SY_E_UNIMPLEMENTED, "it is only planned for"); }
  void backward(const sy_call&, saved&&) {}
  int64_t weights;
  double flops;
  int64_t bytes;
};

struct PartLoss {
  static constexpr const char* id = "check_loss";
  static constexpr const char* help = "a loss that only has sizes";
  static constexpr uint32_t caps = SY_L_LOSS;
  struct saved {};
  explicit PartLoss(const sy::config&) {}
  std::vector<sy::port> infer(uint32_t kind, sy::ports in) {
    if (kind == SY_FORWARD) return {sy::like(*in[0])};
    return {{{2}, sy::f32, false}};
  }
  sy::cost cost(uint32_t, sy::const_ports) const { return {.flops_forward = 1e3}; }
  saved forward(const sy_call&) { throw sy::fault(SY_E_UNIMPLEMENTED, "it is only planned for"); }
  void backward(const sy_call&, saved&&) {}
};

struct Current {
  const sy_policy_api* api = nullptr;
  sy_policy* policy = nullptr;
  bool pinned = false;
  std::optional<Asked> asked;
};
thread_local Current current;

Answer answer(const sy_place& in, const sy_placed& as_configured) {
  Answer a;
  a.stage_of_layer.assign(in.n_layers, -1), a.device_of_stage.assign(in.n_layers, -1);
  a.recompute.assign(as_configured.recompute, as_configured.recompute + in.n_layers);
  sy_text why;
  sy_placed placed = as_configured;
  placed.stage_of_layer = a.stage_of_layer.data(), placed.device_of_stage = a.device_of_stage.data();
  placed.recompute = a.recompute.data();
  placed.why = &why;
  try {
    call_plugin([&](sy_error** e) { return current.api->place(current.policy, &in, &placed, e); });
    a.n_stages = placed.n_stages;
    a.closest = placed.closest != 0;
  } catch (const Error& e) {
    a.rc = e.code(), a.refusal = e.what();
  }
  return a;
}

/// Why it is no placement; the core says the same before training.
std::string fault_of(const sy_place& in, const Answer& a) {
  if (a.n_stages == 0 || a.n_stages > in.n_layers)
    return std::to_string(a.n_stages) + " stages for " + std::to_string(in.n_layers) + " layers";
  int32_t before = -1;
  for (uint32_t l = 0; l < in.n_layers; ++l) {
    const int32_t stage = a.stage_of_layer[l];
    if (stage != before && stage != before + 1)
      return "layer " + std::to_string(l) + " is in stage " + std::to_string(stage) + " after stage " +
             std::to_string(before);
    before = stage;
  }
  if (before + 1 != static_cast<int32_t>(a.n_stages))
    return "the last layer is in stage " + std::to_string(before) + " of " + std::to_string(a.n_stages);
  for (uint32_t s = 0; s < a.n_stages; ++s)
    if (a.device_of_stage[s] < 0 || a.device_of_stage[s] >= static_cast<int32_t>(in.n_devices))
      return "stage " + std::to_string(s) + " is on device " + std::to_string(a.device_of_stage[s]) + " of " +
             std::to_string(in.n_devices);
  for (uint32_t l = 0; l < in.n_layers; ++l)
    if (in.layers[l]->pin >= 0 && in.layers[l]->pin != a.device_of_stage[static_cast<std::size_t>(a.stage_of_layer[l])])
      return "layer " + std::to_string(l) + " is pinned to device " + std::to_string(in.layers[l]->pin) +
             " and is not there";
  return "";
}

void judge(const sy_place& in, Asked& asked) {
  if (asked.first.rc != SY_OK) return;
  asked.fault = fault_of(in, asked.first);
  if (!asked.fault.empty()) return;
  sy_candidate c{};
  c.size = sizeof c;
  c.n_stages = asked.first.n_stages;
  c.stage_of_layer = asked.first.stage_of_layer.data();
  c.device_of_stage = asked.first.device_of_stage.data();
  sy_evaluation found{};
  found.size = sizeof found;
  call_plugin([&](sy_error** e) { return in.evaluate(in.self, &c, &found, e); });
  asked.misfit_layer = found.misfit_layer, asked.misfit_bytes = found.misfit_bytes;
}

/// The same question with layers that the user has fixed to devices.
class Pinned {
 public:
  explicit Pinned(const sy_place& in) : place_(in) {
    for (uint32_t l = 0; l < in.n_layers; ++l) {
      layers_.push_back(*in.layers[l]);
      layers_.back().pin = static_cast<int32_t>(l * in.n_devices / in.n_layers);
    }
    for (const sy_place_layer& l : layers_) pointers_.push_back(&l);
    place_.layers = pointers_.data();
  }
  const sy_place& get() const { return place_; }

 private:
  std::vector<sy_place_layer> layers_;
  std::vector<const sy_place_layer*> pointers_;
  sy_place place_;
};

/// Asks the policy under test twice, has its answer judged, and gives everything to the first device: what the plan is
/// does not matter here.
struct Recorder {
  static constexpr const char* id = made_up_policy;
  static constexpr const char* help = "asks the policy under test";
  explicit Recorder(const sy::config&) {}
  void place(const sy_place& in, sy_placed& out) {
    const Pinned pinned(in);
    const sy_place& question = current.pinned ? pinned.get() : in;
    Asked asked;
    asked.first = answer(question, out);
    asked.second = answer(question, out);
    judge(question, asked);
    if (!current.asked) current.asked = std::move(asked);  // later questions look for what helps
    for (uint32_t l = 0; l < in.n_layers; ++l) out.stage_of_layer[l] = 0;
    out.device_of_stage[0] = 0;
    out.n_stages = 1;
    out.closest = 1;
  }
};

constexpr sy_export exports[] = {sy::export_layer<Part>(), sy::export_layer<PartLoss>(), sy::export_policy<Recorder>()};
constexpr sy_plugin plugin{
    SY_PLUGIN_MAGIC, sizeof(sy_plugin), SY_ABI_MAJOR, SY_ABI_MINOR, "switchyard.check", "0.1.0", exports, 3, 0,
    sy::attach};

}  // namespace

const sy_plugin& made_up_plugin() { return plugin; }

std::string configuration(const MadeUp& what) {
  Draw draw(what.seed);
  std::string text = "[model]\ninput = { shape = [" + std::to_string(made_up_width) + "], type = \"fp32\" }\n";
  for (int l = 0; l < what.layers; ++l) {
    const std::string name = "part" + std::to_string(l);
    text += "[[layer]]\ntype = \"check_part\"\nname = \"" + name + "\"\n";
    text += "weights = " + std::to_string(256 + draw.below(20000)) +
            "\nflops = " + std::to_string(1e5 * static_cast<double>(1 + draw.below(40))) +
            "\nsaved = " + std::to_string(draw.below(30000)) + "\n";
    if (what.branches && l >= 3 && l % 2 == 1)
      text += "input = [\"part" + std::to_string(l - 1) + "\", \"part" + std::to_string(l - 3) + "\"]\n";
  }
  text += "[[layer]]\ntype = \"check_loss\"\nname = \"loss\"\n[devices]\nthreads = 1\nuse = [";
  for (int d = 0; d < what.devices; ++d) text += (d > 0 ? ", " : "") + std::string("\"cpu:") + std::to_string(d) + "\"";
  text += "]\n";
  if (what.budget > 0) {
    text += "memory = [";
    for (int d = 0; d < what.devices; ++d)
      text += (d > 0 ? ", " : "") + std::string("\"") + std::to_string(what.budget / 1024) + "KiB\"";
    text += "]\n";
  }
  text += "[placement]\npolicy = \"" + std::string(made_up_policy) + "\"\n";
  text +=
      "[schedule]\ntype = \"1f1b\"\nmicro_batches = 4\n[train]\nbatch = 16\nsteps = 1\noptimizer = { type = \"adam\", "
      "lr = 1e-3 }\n";
  return text;
}

UnderTest::UnderTest(const sy_policy_api& api, sy_policy* policy, bool pinned) {
  current.api = &api;
  current.policy = policy;
  current.pinned = pinned;
  current.asked.reset();
}
UnderTest::~UnderTest() { current = {}; }
const Asked& UnderTest::asked() const { return *current.asked; }
bool UnderTest::was_asked() const { return current.asked.has_value(); }

}  // namespace switchyard::checks
