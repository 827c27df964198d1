// Makes a Model from a configuration: layers, graph, shapes, parameters, ties.
#pragma once

#include <set>

#include "base/error.hpp"
#include "model/model.hpp"

namespace switchyard {

class ModelBuilder {
 public:
  ModelBuilder(Model& model, const Config& config, Registry& registry)
      : model_(model), config_(config), registry_(registry) {}
  void build(const BatchSpec& batch, int64_t rows);

 private:
  void create_layers();
  void link();
  void choose_precision();
  void infer_targets(const BatchSpec& batch, int64_t rows);
  void declare_parameters();
  Parameter declare(const Layer& layer, const sy_param& spec);
  std::string initial(const Layer& layer, const sy_param& spec) const;
  void tie(Parameter& parameter, const std::string& to);
  void mark_gradients(const Shapes& shapes);

  Model& model_;
  const Config& config_;
  Registry& registry_;
  ErrorList errors_;
};

}  // namespace switchyard
