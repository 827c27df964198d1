#include "plan/program.hpp"

#include <cstdlib>

#include "switchyard/schedule.h"

namespace switchyard {

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

std::string action_text(const Action& a) {
  return std::string(kind_letter(a.kind)) + " of stage " + std::to_string(a.stage) + ", micro-batch " +
         std::to_string(a.micro_batch);
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
