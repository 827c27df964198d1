// The model: layers in order (a graph by named inputs), their parameters in order, and the shapes that flow between
// them. Nothing here touches a device.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.hpp"
#include "config/config.hpp"
#include "plugin/registry.hpp"
#include "switchyard/layer.h"

namespace switchyard {

/// A tensor's shape and type at a layer's border. shape[0] = rows.
struct Port {
  Shape shape;
  sy_dtype dtype{};
  bool differentiable = false;
  int64_t id_limit = 0;              // inputs of ids: 0 <= id < id_limit
  std::optional<int64_t> ignore_id;  // targets: entries that do not count
};
uint64_t byte_count(const Port& port);

/// One tensor that a layer declared. Numbered through the model in the order of layers, then of declaration.
struct Parameter {
  int index = 0;
  int layer = 0;
  std::string name;  // full: "h.3.attn.qkv.weight"
  uint32_t kind = SY_WEIGHT;
  sy_dtype dtype{};  // of the value that calls see
  Shape shape;
  std::string init;
  bool no_decay = false;
  bool trainable = false;
  int owner = -1;  // tied: index of the parameter whose value this is; -1: its own
  bool is_tied() const { return owner >= 0; }
  int64_t count() const { return element_count(shape); }
};

/// Where a layer's input comes from.
struct Source {
  int layer = -1;  // -1: the batch
  int output = 0;
  bool targets = false;  // of the batch: targets, else inputs
};

/// A use of an output: input `slot` of `layer`.
struct Use {
  int layer = 0;
  int slot = 0;
};

struct Layer {
  int index = 0;
  std::string name;
  std::string type;
  std::string plugin;  // id, for messages
  const sy_layer_api* api = nullptr;
  sy_layer* handle = nullptr;          // owned by the Model
  std::vector<Source> inputs;          // a loss layer's last one is the batch's targets
  std::vector<std::vector<Use>> uses;  // per output, ascending
  std::vector<int> parameters;         // indices, in the order of declaration
  sy_dtype compute{};                  // the run's type, or fp32 where kept
  bool kept = false;                   // keep_fp32: the core casts float inputs and outputs
  bool trainable = true;               // as configured
  bool trains = false;                 // has a trainable weight
  std::vector<bool> wants;             // per input: its gradient is needed
  uint64_t key = 0;                    // sy_hash_name(name)
  Place place;
  bool is_loss() const { return api->caps & SY_L_LOSS; }
  bool splits() const { return api->caps & SY_L_SPLIT_BACKWARD; }
  /// "layer 4 'h.3' (gpt_block)"
  std::string text() const;
};

/// What a batch looks like, without its rows.
struct BatchSpec {
  Shape input_shape;
  sy_dtype input_dtype{};
  std::optional<Shape> target_shape;  // nothing: whatever the loss takes
  sy_dtype target_dtype{};
  int64_t ignore = -100;
};

/// Shapes of every border for one kind of call and one batch size.
struct Shapes {
  std::vector<std::vector<Port>> in;   // per layer: as the layer sees them (cast where kept)
  std::vector<std::vector<Port>> out;  // per layer: as consumers see them (cast back)
  Port batch_inputs, batch_targets;    // as the host hands them over, with id limits
};

class Model {
 public:
  /// Creates every layer, infers training shapes for `rows`, and collects parameters. Throws Error(SY_E_CONFIG) with
  /// all mistakes that can be told apart, placed.
  static std::unique_ptr<Model> create(const Config& config, Registry& registry, const BatchSpec& batch, int64_t rows);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const std::vector<Layer>& layers() const { return layers_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const BatchSpec& batch() const { return batch_; }
  sy_dtype run_type() const { return run_type_; }
  /// The one loss layer's index, or -1.
  int loss() const { return loss_; }
  /// Elements of weights, each tied table once.
  int64_t weight_count() const;

  /// Shapes for a kind of call; input_shape is one sample's (shorter sequences are allowed). Cached; the result is lent
  /// for the model's life. [ctl]
  const Shapes& shapes(uint32_t kind, int64_t rows, const Shape& input_shape);
  const Shapes& shapes(uint32_t kind, int64_t rows) { return shapes(kind, rows, batch_.input_shape); }
  /// Costs of every layer under TRAIN for so many rows. [ctl]
  std::vector<sy_cost> costs(uint32_t kind, int64_t rows);

 private:
  Model() = default;
  friend class ModelBuilder;
  /// `end`: the layer to stop before; -1: none.
  Shapes infer(uint32_t kind, int64_t rows, const Shape& input_shape, int end);

  std::vector<Layer> layers_;
  std::vector<Parameter> parameters_;
  BatchSpec batch_;
  sy_dtype run_type_{};
  int loss_ = -1;
  std::map<std::string, std::unique_ptr<Shapes>> shapes_;
};

/// A layer's failure before anything runs, with its place and name.
Error in_planning(const Layer& layer, const Error& error);

/// "fp32", "bf16", "fp16" of the configuration.
sy_dtype precision_dtype(const std::string& name);

}  // namespace switchyard
