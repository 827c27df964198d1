#include "config/hints.hpp"

#include <algorithm>
#include <cctype>

#include "config/nearest.hpp"
#include "config/tables.hpp"

namespace switchyard {
namespace {

struct Foreign {
  const char* theirs;
  const char* ours;
};

constexpr const char* by_hand =
    "write placement.policy = \"explicit\" and [placement.explicit] with \"LAYER\" = \"cuda:0\"";
constexpr const char* one_replica =
    "replicas, shards and tensor parallel layers are not there yet: one model is split "
    "over the devices and never copied; leave it out";
constexpr const char* batch = "write train.batch: samples of one optimizer step, over all devices and micro-batches";
constexpr const char* micro = "write train.batch (samples of one step in all) and schedule.micro_batches (its parts)";
constexpr const char* precision = "write precision.type = \"fp16\" or \"bf16\"";
constexpr const char* rate = "write train.optimizer.lr";
constexpr const char* recompute = "write train.recompute = true";
constexpr const char* devices = "write devices.use = [\"cuda:0\", \"cuda:1\"]";
constexpr const char* pipeline = "write [schedule] and [placement]";

constexpr Foreign keys[] = {
    {"device_map", by_hand},
    {"replicas", one_replica},
    {"num_replicas", one_replica},
    {"parallel", one_replica},
    {"data_parallel", one_replica},
    {"data_parallel_size", one_replica},
    {"tensor_parallel", one_replica},
    {"tensor_parallel_size", one_replica},
    {"world_size", one_replica},
    {"fsdp", one_replica},
    {"zero_optimization", one_replica},
    {"strategy", one_replica},
    {"gradient_accumulation_steps", "write train.accumulate"},
    {"accumulate_grad_batches", "write train.accumulate"},
    {"gradient_accumulation", "write train.accumulate"},
    {"train_micro_batch_size_per_gpu", micro},
    {"micro_batch_size", micro},
    {"per_device_train_batch_size", micro},
    {"per_device_batch_size", micro},
    {"per_gpu_train_batch_size", micro},
    {"per_device_eval_batch_size", "evaluation takes train.batch and schedule.micro_batches"},
    {"train_batch_size", batch},
    {"global_batch_size", batch},
    {"batch_size", batch},
    {"mixed_precision", precision},
    {"amp", precision},
    {"dtype", precision},
    {"torch_dtype", precision},
    {"fp16", precision},
    {"bf16", precision},
    {"keep_batchnorm_fp32", "write precision.keep_fp32 = [\"type:batchnorm*\"]"},
    {"learning_rate", rate},
    {"base_lr", rate},
    {"max_lr", rate},
    {"lr_scheduler", "write train.lr_schedule = { type = \"cosine\", warmup = 50, final = 0.1 }"},
    {"lr_scheduler_type", "write train.lr_schedule = { type = \"cosine\", warmup = 50, final = 0.1 }"},
    {"lr_decay", "write train.lr_schedule = { type = \"cosine\", warmup = 50, final = 0.1 }"},
    {"min_lr", "write train.lr_schedule.final, a share of lr"},
    {"warmup_steps", "write train.lr_schedule.warmup"},
    {"warmup_iters", "write train.lr_schedule.warmup"},
    {"max_steps", "write train.steps"},
    {"max_iters", "write train.steps"},
    {"num_steps", "write train.steps"},
    {"train_steps", "write train.steps"},
    {"epochs", "write train.steps: an epoch is the number of samples / train.batch"},
    {"num_epochs", "write train.steps: an epoch is the number of samples / train.batch"},
    {"max_epochs", "write train.steps: an epoch is the number of samples / train.batch"},
    {"num_train_epochs", "write train.steps: an epoch is the number of samples / train.batch"},
    {"max_grad_norm", "write train.clip_norm"},
    {"gradient_clipping", "write train.clip_norm"},
    {"gradient_clip_val", "write train.clip_norm"},
    {"grad_clip", "write train.clip_norm"},
    {"gradient_checkpointing", recompute},
    {"activation_checkpointing", recompute},
    {"pipeline", pipeline},
    {"pipeline_parallel", pipeline},
    {"pipeline_parallel_size", pipeline},
    {"num_stages", "the policy makes the stages: write placement.policy, or [placement.contiguous] cuts"},
    {"balance", "write [placement.contiguous] counts"},
    {"split_points", "write [placement.contiguous] cuts"},
    {"chunks", "write schedule.micro_batches"},
    {"num_microbatches", "write schedule.micro_batches"},
    {"n_microbatches", "write schedule.micro_batches"},
    {"logging_steps", "write train.report_every"},
    {"log_every_n_steps", "write train.report_every"},
    {"log_interval", "write train.report_every"},
    {"eval_steps", "write train.eval_every"},
    {"eval_interval", "write train.eval_every"},
    {"save_steps", "write checkpoint.every"},
    {"save_interval", "write checkpoint.every"},
    {"save_total_limit", "write checkpoint.keep"},
    {"max_memory", "write devices.memory = [\"22GiB\", \"10GiB\"]"},
    {"device", devices},
    {"gpus", devices},
    {"num_gpus", devices},
    {"n_gpus", devices},
    {"device_ids", devices},
    {"cuda_visible_devices", devices},
    {"num_threads", "write devices.threads"},
    {"block_size", "write model.context"},
    {"max_seq_len", "write model.context"},
    {"seq_len", "write model.context"},
    {"sequence_length", "write model.context"},
    {"n_ctx", "write model.context"},
    {"n_positions", "write model.context"},
    {"max_position_embeddings", "write model.context"},
    {"layers", "write one [[layer]] for each, or repeat = N in one"},
    {"num_layers", "write repeat = N in a [[layer]]"},
    {"n_layer", "write repeat = N in a [[layer]]"},
    {"dataset", "write [data] text, table, tensors or synthetic"},
    {"train_file", "write data.text or data.table"},
    {"validation_file", "write data.validation = \"FILE\""},
    {"ignore_index", "write data.ignore"},
    {"shuffle", "write data.order = \"shuffled\" or \"given\""},
    {"max_new_tokens", "write generate.tokens"},
    {"num_tokens", "write generate.tokens"},
    {"random_seed", "write seed on top of the file"},
    {"manual_seed", "write seed on top of the file"},
};

struct ForeignValue {
  const char* key;
  const char* theirs;
  const char* ours;
};

constexpr ForeignValue values[] = {
    {"precision.type", "16-mixed", "fp16"},
    {"precision.type", "16", "fp16"},
    {"precision.type", "16-true", "fp16"},
    {"precision.type", "half", "fp16"},
    {"precision.type", "float16", "fp16"},
    {"precision.type", "fp16-mixed", "fp16"},
    {"precision.type", "amp", "fp16"},
    {"precision.type", "bf16-mixed", "bf16"},
    {"precision.type", "bf16-true", "bf16"},
    {"precision.type", "bfloat16", "bf16"},
    {"precision.type", "32", "fp32"},
    {"precision.type", "32-true", "fp32"},
    {"precision.type", "float32", "fp32"},
    {"precision.type", "float", "fp32"},
    {"precision.type", "full", "fp32"},
    {"precision.type", "no", "fp32"},
    {"placement.policy", "balanced", "memory_balanced"},
    {"placement.policy", "balanced_low_0", "memory_balanced"},
    {"placement.policy", "sequential", "contiguous"},
    {"schedule.type", "fill_drain", "gpipe"},
    {"schedule.type", "pipedream", "1f1b"},
    {"data.order", "random", "shuffled"},
    {"data.order", "sequential", "given"},
};

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The full path of the one core key of this name that stands in another table.
std::optional<std::string> elsewhere(const std::string& key) {
  std::optional<std::string> path;
  for (const TableSpec& table : core_tables()) {
    if (table.name == "layer") continue;
    for (const OptionSpec& option : table.options) {
      if (edit_distance(option.key, key) != 0) continue;
      if (path) return std::nullopt;
      path = (table.name.empty() ? "" : table.name + ".") + option.key;
    }
  }
  return path;
}

const Foreign* foreign(const std::string& key, bool exact) {
  if (exact) {
    auto found = std::find_if(std::begin(keys), std::end(keys),
                              [&](const Foreign& known) { return edit_distance(known.theirs, key) == 0; });
    return found == std::end(keys) ? nullptr : &*found;
  }
  std::vector<std::string> all;
  for (const Foreign& known : keys) all.emplace_back(known.theirs);
  auto near = nearest(key, all);
  return near ? foreign(*near, true) : nullptr;
}

}  // namespace

std::optional<std::string> foreign_key_hint(const std::string& key) {
  const Foreign* found = foreign(key, true);
  if (!found) found = foreign(key, false);
  return found ? std::optional<std::string>(found->ours) : std::nullopt;
}

std::optional<std::string> foreign_value_hint(const std::string& key_path, const std::string& value) {
  for (const ForeignValue& known : values)
    if (key_path == known.key && lower(value) == known.theirs) return "write " + key_path + " = \"" + known.ours + "\"";
  return std::nullopt;
}

std::string unknown_key_hint(const std::string& key, const std::vector<std::string>& known) {
  if (const Foreign* exact = foreign(key, true)) return std::string("; ") + exact->ours;
  if (auto near = nearest(key, known)) return "; did you mean '" + *near + "'?";
  if (auto path = elsewhere(key)) return "; did you mean " + *path + "?";
  if (const Foreign* near = foreign(key, false)) return std::string("; ") + near->ours;
  return did_you_mean(key, known);
}

}  // namespace switchyard
