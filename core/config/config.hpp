// The whole configuration, checked: one struct per table of the TOML file. REFERENCE.md explains every key.
//
//   file ──▶ parse_toml ──▶ apply_sets ──▶ one check per table ──▶ Config ──▶ print_config, to_toml
//
// What plugins own (options of layers, policies, schedules, optimizers) is kept as written, with places, and checked by
// check_options against what the plugin publishes. All paths are absolute.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/layer_names.hpp"
#include "config/layers.hpp"
#include "config/pattern.hpp"
#include "config/schema.hpp"
#include "config/tables.hpp"
#include "config/value.hpp"

namespace switchyard {

/// A text and where it stands, for what a later stage may complain about.
struct Placed {
  std::string text;
  Place place;
};

struct PluginsConfig {
  std::vector<Placed> paths;  // folders
  std::vector<Placed> load;   // files (absolute), or bare names to be searched for
};

struct InputConfig {
  std::vector<std::int64_t> shape;  // of one sample
  std::string type;                 // as dtype_name writes it: "fp32", "int64", ...
  Place place;
};

struct RenameRule {
  std::string from, to;  // patterns; the stars of `to` are filled with what those of `from` matched, in order
  Place place;
};

struct WeightsConfig {
  Placed file;
  std::vector<RenameRule> rename;
  bool allow_unused = false;                   // every left-over tensor is allowed
  std::vector<Pattern> allow_unused_patterns;  // or those that match
  Place place;
};

struct ModelConfig {
  std::optional<std::int64_t> context;  // longest sequence, tokens
  Place context_place;
  std::optional<InputConfig> input;
  std::optional<WeightsConfig> weights;
  Place place;
};

/// A plugin chosen by name, and the sub-tables of options: [placement.NAME], [schedule.NAME]. Those not chosen are to
/// be checked as well, but not used.
struct PluginChoice {
  std::string name;
  Place place;    // of the name; of the table when it is the default
  Value options;  // table: NAME -> table, as written (without [placement.explicit])
  /// The sub-table of a name; an empty table when the file has none. Lent.
  const Value& table(const std::string& of) const;
};

/// A machine that is not here: one that comes with the program, or a file.
struct MachineChoice {
  Placed name, file;                           // one of them; the file is absolute
  std::optional<std::int64_t> hosts, devices;  // in place of those of the description; devices of each host
  Place place;
};

struct DevicesConfig {
  bool automatic = true;                 // use = "auto"
  std::vector<Placed> use;               // "cuda:0", "cpu:1", each once; empty when automatic
  std::optional<MachineChoice> machine;  // nothing: this one
  /// Bytes for each device, in the order of `use`; nothing: not limited by the file. One item for all when
  /// `memory_for_each` is set. Empty: absent.
  std::vector<std::optional<std::int64_t>> memory;
  bool memory_for_each = false;
  std::vector<Place> memory_places;
  std::int64_t threads = 0;  // of each logical CPU device; 0: cores / logical devices
  std::string p2p = "auto";  // "auto", "off", "force"
  double stop_within = 10;   // seconds
  Place place;
  /// The limit of device number `index`, if the file gives one.
  std::optional<std::int64_t> memory_of(std::size_t index) const;
};

struct ExplicitRule {
  Pattern pattern;
  Placed device;
};

struct PlacementConfig {
  PluginChoice policy;
  std::vector<ExplicitRule> rules;  // [placement.explicit], as written
};

struct ScheduleConfig {
  PluginChoice type;
  std::int64_t micro_batches = 1;
  bool micro_batches_given = false;
  Place micro_batches_place;
  std::optional<Placed> file;  // for type = "file"
};

struct PrecisionConfig {
  std::string type = "fp32";  // "bf16", "fp16"
  std::vector<Pattern> keep_fp32;
  std::optional<double> loss_scale;  // nothing: dynamic
  std::string gradients = "fp32";    // "fp32", "bf16"
  bool tf32 = false;
  Place place, type_place;
};

struct OptimizerConfig {
  std::string type;
  Value options;  // table without `type`, as written, with what [train.optimizer.TYPE] adds
  Value others;   // table: NAME -> table of options of one that is not chosen; to be checked, not used
  Place place, type_place;
};

struct LrScheduleConfig {
  std::string type = "constant";  // "constant", "linear", "cosine"
  std::int64_t warmup = 0;        // steps
  double final = 0.1;             // fraction of lr at the last step; not used by "constant"
  Place place;
};

struct RecomputeConfig {
  enum class Mode { none, all, patterns, automatic } mode = Mode::none;
  bool given = false;
  std::vector<Pattern> patterns;
  Place place;
};

struct TrainConfig {
  std::int64_t batch = 16;  // samples of one optimizer step
  std::int64_t accumulate = 1;
  std::int64_t steps = 2000;
  OptimizerConfig optimizer;
  LrScheduleConfig lr_schedule;
  double clip_norm = 1.0;  // 0: off
  RecomputeConfig recompute;
  std::int64_t report_every = 10;
  std::int64_t eval_every = 0;  // 0: after the last step only
  std::int64_t eval_windows = 64;
  bool deterministic = true;
  Place place, batch_place, steps_place;
};

struct DataConfig {
  enum class Source { text, table, tensors, synthetic } source = Source::text;
  std::vector<Placed> files;  // text: one or more; table, tensors: one; synthetic: none
  std::string target;         // column of a table
  std::string synthetic;      // kind of made-up data
  Placed tokenizer;           // a name ("bytes") or an absolute path
  double validation = 0.1;    // the tail's share; 0: none
  std::optional<Placed> validation_file;
  bool shuffled = true;
  bool drop_last = true;
  std::int64_t ignore = -100;
  Place place, source_place, target_place;
};

struct CheckpointConfig {
  std::int64_t every = 0;  // steps; 0: at the end only
  std::int64_t keep = 2;
};

struct GenerateConfig {
  std::string prompt = "The ";
  std::int64_t tokens = 200;
  double temperature = 1.0;  // 0: greedy
  std::int64_t top_k = 0;    // 0: off
  double top_p = 1.0;
  std::string overflow = "slide";  // "slide", "stop", "error"
  Place place;
};

struct Config {
  std::string file;    // as given
  std::string folder;  // absolute; what the file's paths are relative to
  std::int64_t seed = 0;
  PluginsConfig plugins;
  ModelConfig model;
  std::vector<LayerEntry> layers;
  DevicesConfig devices;
  PlacementConfig placement;
  ScheduleConfig schedule;
  PrecisionConfig precision;
  std::optional<TrainConfig> train;  // nothing: the table is absent
  std::optional<DataConfig> data;
  CheckpointConfig checkpoint;
  GenerateConfig generate;
  /// The values in effect as one document: the file, the --set arguments and the defaults, with absolute paths; layers
  /// as written, before repeat is expanded. A value without a file in its place is a default.
  Value tree;
  /// Origins that a printed configuration recorded about itself, by line; empty for other files.
  std::vector<std::string> recorded_origins;
};

/// Reads and checks a file. Throws one Error(SY_E_CONFIG) with a line for each mistake.
Config load_config(const std::string& path, const std::vector<std::string>& sets = {});
/// The same for text; `file_name` is for places, and its folder for relative paths.
Config parse_config(const std::string& text, const std::string& file_name, const std::vector<std::string>& sets = {});

/// The options of a plugin: kind is "layer", "policy", "schedule" or "optimizer". nullptr: not known.
using SpecLookup = std::function<const std::vector<OptionSpec>*(const std::string& kind, const std::string& name)>;

/// All values in effect, each with its origin (file:line, default, --set ...) as a comment. Loading the text gives an
/// equal configuration, and printing that gives the same text. `lookup` adds the defaults of plugins' options.
std::string print_config(const Config& config, const SpecLookup& lookup = {});

/// All values in effect without comments: the config.toml of a run folder.
std::string to_toml(const Config& config);

/// For placement.policy = "explicit": the device's name for each layer. Throws Error(SY_E_CONFIG) listing every layer
/// that no rule places, patterns that match nothing, and rules that disagree.
std::vector<std::string> explicit_devices(const Config& config);

}  // namespace switchyard
