// A configuration in a folder of its own, with measured costs beside it.
#pragma once

#include <filesystem>

#include "../plan/planning.hpp"
#include "../store/temp_folder.hpp"
#include "plan/measured.hpp"

namespace measuring {

using namespace planning;
namespace fs = std::filesystem;

/// Gone with the test.
struct Folder {
  switchyard::test::TempFolder own;
  fs::path path = own.path();
};

/// Four equal layers and a loss on two logical devices.
class Subject {
 public:
  explicit Subject(const std::vector<std::string>& sets = {}) {
    std::vector<std::string> all = {"placement.policy=contiguous", "schedule.micro_batches=4"};
    all.insert(all.end(), sets.begin(), sets.end());
    config = parse_config(deep(4) + on(2) + training, (folder.path / "small.toml").string(), all);
    BatchSpec spec;
    spec.input_shape = config.model.input->shape;
    spec.input_dtype = dtype::f32;
    model = Model::create(config, registry(), spec, micro_batch_rows(config)[0].count);
  }
  Plan plan() const { return make_plan(config, registry(), *model); }
  const Shapes& shapes() const { return model->shapes(SY_TRAIN, micro_batch_rows(config)[0].count); }
  std::string key(int layer) const { return layer_key(config, model->layers()[layer], shapes()); }
  std::string text(const Plan& p) const { return plan_text(p, *model); }

  Folder folder;
  Config config;
  std::unique_ptr<Model> model;
};

}  // namespace measuring
