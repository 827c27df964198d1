// Plans of small models of plain layers.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "../../support/text.hpp"
#include "base/dtype.hpp"
#include "config/config.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"
#include "plan/program.hpp"
#include "plugin/registry.hpp"

namespace planning {

using switchyard::test::contains;

using namespace switchyard;

/// The plugins of the build tree and the plain layers beside the tests.
inline Registry& registry() {
  static Registry r({}, {std::string(std::getenv("SWITCHYARD_BUILD")) + "/tests/plugins/plain"});
  return r;
}

/// `n` equal linear layers "h.0" ... and a loss that takes next to no time or memory beside them.
inline std::string deep(int n, int width = 16) {
  const std::string w = std::to_string(width);
  return "[model]\ninput = { shape = [" + w +
         "] }\n[[layer]]\ntype = \"plain_linear\"\nname = \"h\"\nrepeat = " + std::to_string(n) + "\nout = " + w +
         "\n[[layer]]\ntype = \"plain_cross_entropy\"\nname = \"loss\"\n";
}

/// "cpu:0", "cpu:1", ...
inline std::string on(int devices) {
  return "[devices]\nuse = [\"cpu:{0.." + std::to_string(devices - 1) + "}\"]\nthreads = 1\n";
}

inline const std::string training = "[train]\nbatch = 16\nsteps = 1\noptimizer = { type = \"adamw\", lr = 1e-3 }\n";

/// All settings of one list and then of another.
inline std::vector<std::string> with(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

struct Planned {
  std::unique_ptr<Model> model;
  Plan plan;
};

inline Planned make(const std::string& text, const std::vector<std::string>& sets = {}, Registry& from = registry()) {
  const Config config = parse_config(text, "test.toml", sets);
  BatchSpec spec;
  spec.input_shape = config.model.input->shape;
  spec.input_dtype = dtype::f32;
  Planned p;
  p.model = Model::create(config, from, spec, micro_batch_rows(config)[0].count);
  p.plan = make_plan(config, from, *p.model);
  return p;
}

/// The text of the error that planning ends with; "" when it does not.
inline std::string refusal(const std::string& text, const std::vector<std::string>& sets = {},
                           Registry& from = registry()) {
  try {
    make(text, sets, from);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace planning
