// A layer type whose costs are told: for plans in which recomputing pays.
#pragma once

#include "planning.hpp"
#include "switchyard/cpp/plugin.hpp"

namespace planning {

/// A layer that is only planned for: it saves so many bytes of each row, and takes so many operations.
struct Saver {
  static constexpr const char* id = "t_saver";
  static constexpr const char* help = "saves bytes";
  static constexpr sy_option options[] = {sy::i64_option("saves", "0", 0, 1e9, "bytes of one row"),
                                          sy::f64_option("work", "1e6", 0, 1e18, "operations of one row")};
  struct saved {};
  explicit Saver(const sy::config& c) : saves(static_cast<uint64_t>(c.i64("saves"))), work(c.f64("work")) {}
  std::vector<sy::port> infer(uint32_t, sy::ports in) { return {sy::like(*in[0])}; }
  sy::cost cost(uint32_t kind, sy::const_ports in) {
    const auto rows = static_cast<double>(in[0]->shape[0]);
    sy::cost c;
    c.flops_forward = work * rows, c.flops_input = 2 * work * rows;
    if (kind == SY_TRAIN) c.bytes_saved = saves * static_cast<uint64_t>(in[0]->shape[0]);
    return c;
  }
  saved forward(const sy_call&) { throw sy::fault(SY_E_INTERNAL, "only planned for"); }
  void backward(const sy_call&, saved&&) {}
  uint64_t saves;
  double work;
};

inline constexpr sy_export saver_exports[] = {sy::export_layer<Saver>()};
inline constexpr sy_plugin saver_plugin{SY_PLUGIN_MAGIC,
                                        sizeof(sy_plugin),
                                        SY_ABI_MAJOR,
                                        SY_ABI_MINOR,
                                        "test-saver",
                                        "1.0",
                                        saver_exports,
                                        std::size(saver_exports),
                                        0,
                                        sy::attach};

inline Registry& with_saver() {
  static Registry& all = []() -> Registry& {
    registry().add(&saver_plugin);
    return registry();
  }();
  return all;
}

struct One {
  int saves, work;
};

/// Layers "s.0" ... and a loss.
inline std::string model_of(const std::vector<One>& layers) {
  std::string text = "[model]\ninput = { shape = [4] }\n";
  for (std::size_t l = 0; l < layers.size(); ++l)
    text += "[[layer]]\ntype = \"t_saver\"\nname = \"s." + std::to_string(l) +
            "\"\nsaves = " + std::to_string(layers[l].saves) + "\nwork = " + std::to_string(layers[l].work) + ".0\n";
  return text + "[[layer]]\ntype = \"plain_cross_entropy\"\nname = \"loss\"\n";
}

}  // namespace planning
