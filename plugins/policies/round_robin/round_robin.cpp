// Deals layers like cards: unit i of the dealt layers goes to device i mod n.
//
//   deal = "h.*"        embed  h.0  h.1  h.2  h.3  norm  head
//   ends = "first"         0    0    1    0    1     0     0
//   ends = "split"         0    0    1    0    1     1     1
//
// A unit is one dealt layer, or the dealt layers of one copy of a group (h.3.attn, h.3.mlp). A layer between dealt ones
// that is not dealt itself goes with the dealt layer before it. A pinned layer goes to its pin.

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "../stages.hpp"

namespace {

/// "h.3." of "h.3.attn": up to the first part that is a number and is not the last part; "" when there is none.
std::string_view group_copy(std::string_view name) {
  for (auto dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    auto end = dot + 1;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) ++end;
    if (end > dot + 1 && end < name.size() && name[end] == '.') return name.substr(0, end + 1);
  }
  return "";
}

struct RoundRobin {
  static constexpr const char* id = "round_robin";
  static constexpr const char* help =
      "deals layers to the devices in turn: goal is an equal number of dealt units on each";
  static constexpr const char* end_choices[] = {"first", "split", nullptr};
  static constexpr sy_option options[] = {
      sy::str_option("deal", "\"\"", nullptr, "pattern of the layers to deal; empty: every layer, each by itself"),
      sy::str_option(
          "ends", "\"first\"", end_choices,
          "layers before the first dealt one and after the last stay on the first device, or go to the first "
          "and the last device (split)"),
  };

  explicit RoundRobin(const sy::config& c) : deal(c.str("deal")), split_ends(c.str("ends") == "split") {}

  void place(const sy_place& in, sy_placed& out) const {
    sy::place::expect_something(in);
    const auto devices = static_cast<int32_t>(in.n_devices);
    std::vector<int32_t> device(in.n_layers, 0);
    const std::vector<int64_t> unit = units(in);
    int64_t before = -1, last = -1;
    for (const int64_t u : unit) last = u > last ? u : last;
    uint32_t after_last = in.n_layers;
    while (after_last > 0 && unit[after_last - 1] < 0) --after_last;
    for (uint32_t i = 0; i < in.n_layers; ++i) {
      if (unit[i] >= 0) before = unit[i];
      const bool dealt = before >= 0 && i < after_last;
      device[i] = dealt ? static_cast<int32_t>(before % devices) : split_ends && before >= 0 ? devices - 1 : 0;
      if (in.layers[i]->pin >= 0) device[i] = in.layers[i]->pin;
    }
    const uint32_t stages = sy::place::write_stages(in, device, out);
    sy::place::say(out, sy::place::counted(static_cast<uint64_t>(last + 1), "unit") + " dealt to " +
                            sy::place::counted(in.n_devices, "device") +
                            " in turn: " + sy::place::counted(stages, "stage") + ", " +
                            sy::place::counted(stages - 1, "transfer") + " per micro-batch each way");
  }

 private:
  /// The unit of each layer, counted in the order of layers; -1: not dealt.
  std::vector<int64_t> units(const sy_place& in) const {
    std::vector<uint8_t> hit(in.n_layers, deal.empty());
    if (!deal.empty())
      sy::check(in.match(in.self, deal.c_str(), hit.data(), nullptr), "deal = \"" + deal + "\" matches no layer");
    std::vector<int64_t> unit(in.n_layers, -1);
    int64_t count = 0;
    std::string_view open;  // the group copy that the unit before belongs to
    for (uint32_t i = 0; i < in.n_layers; ++i) {
      if (!hit[i]) continue;
      const std::string_view copy = deal.empty() ? std::string_view{} : group_copy(in.layers[i]->name);
      if (copy.empty() || copy != open) ++count;
      open = copy;
      unit[i] = count - 1;
    }
    return unit;
  }

  std::string deal;
  bool split_ends;
};

}  // namespace

SY_PLUGIN_NOTE("policy-round_robin");
static constexpr sy_export exports[] = {sy::export_policy<RoundRobin>()};
SY_DEFINE_PLUGIN("policy-round_robin", "0.1.0", exports)
