// Small models of plain layers with data of their own, for tests of what stands above the engine.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "../store/temp_folder.hpp"
#include "train/session.hpp"

namespace switchyard::test {

/// The plugins of the build tree, and the plain and faulty layers beside the tests.
inline Registry& registry() {
  static const std::string tests = std::string(std::getenv("SWITCHYARD_BUILD")) + "/tests/plugins/";
  static Registry r({}, {tests + "plain", tests + "faulty"});
  return r;
}

/// A byte model with dropout and a tied head, 7 layers; `extra` goes in before the head.
inline std::string text_layers(const std::string& extra = "") {
  return R"(
[model]
context = 8
[[layer]]
type = "plain_embedding"
name = "embed"
vocabulary = 256
width = 8
context = 8
[[layer]]
type = "plain_linear"
name = "a"
out = 8
[[layer]]
type = "plain_tanh"
[[layer]]
type = "plain_dropout"
p = 0.1
[[layer]]
type = "plain_linear"
name = "b"
out = 8
[[layer]]
type = "plain_norm"
name = "norm"
)" + extra +
         R"(
[[layer]]
type = "plain_head"
name = "head"
vocabulary = 256
tied_to = "embed.token.weight"
)";
}

inline const char* const text_training = R"(
[devices]
use = ["cpu:0", "cpu:1"]
threads = 1
[placement]
policy = "contiguous"
[schedule]
type = "1f1b"
micro_batches = 2
[train]
batch = 4
steps = 6
report_every = 1
eval_windows = 5
optimizer = { type = "adamw", lr = 1e-2, weight_decay = 0.1 }
lr_schedule = { type = "cosine", warmup = 2 }
[data]
text = "book.txt"
validation = 0.2
[generate]
tokens = 5
)";

/// Rows of numbers with classes, and a batch norm; `extra` goes in before the last linear layer.
inline std::string table_model(const std::string& extra = "") {
  return R"(
[[layer]]
type = "plain_linear"
name = "one"
out = 6
[[layer]]
type = "plain_batchnorm"
name = "bn"
[[layer]]
type = "plain_tanh"
)" + extra +
         R"(
[[layer]]
type = "plain_linear"
name = "two"
out = 3
[[layer]]
type = "plain_cross_entropy"
name = "loss"
[devices]
use = ["cpu:0", "cpu:1"]
threads = 1
[placement]
policy = "contiguous"
[schedule]
type = "gpipe"
micro_batches = 2
[train]
batch = 4
steps = 5
report_every = 2
optimizer = { type = "adam", lr = 1e-2 }
[data]
table = "flowers.csv"
target = "kind"
validation = 0.25
)";
}

/// A folder with a book, a table, and one configuration for each.
class Workshop {
 public:
  explicit Workshop(const std::string& extra_layers = "") {
    std::string book, table = "wide,long,kind\n";
    for (int i = 0; i < 40; ++i)
      book += "The cat " + std::to_string(i * 7) + " sat on mat " + std::to_string(i % 5) + ". ";
    const char* kinds[] = {"rose", "iris", "lily"};
    for (int i = 0; i < 24; ++i)
      table +=
          std::to_string(i % 7) + "." + std::to_string(i) + "," + std::to_string(i % 3 * 2) + "," + kinds[i % 3] + "\n";
    write_file(folder / "book.txt", book);
    write_file(folder / "flowers.csv", table);
    write_file(text(), text_layers(extra_layers) + text_training);
    write_file(this->table(), table_model(extra_layers));
  }
  std::string text() const { return folder / "text.toml"; }
  std::string table() const { return folder / "table.toml"; }
  std::string operator/(const std::string& name) const { return folder / name; }

  TempFolder folder;
};

inline std::unique_ptr<Session> open(const std::string& config, const std::vector<std::string>& sets = {},
                                     Purpose purpose = Purpose::train) {
  Subject subject = open_subject(config, sets);
  return Session::open(std::move(subject.config), registry(), purpose, subject.run);
}

/// The whole of `train CONFIG --set ... --out OUT`.
inline TrainResult train(const std::string& config, const std::string& out, const std::vector<std::string>& sets = {},
                         const Hooks& hooks = {}) {
  TrainOptions options;
  options.out = out;
  return open(config, sets)->train(options, hooks);
}
/// `train CONFIG --resume RUN`.
inline TrainResult resume(const std::string& config, const std::string& run, const std::vector<std::string>& sets = {},
                          const Hooks& hooks = {}) {
  TrainOptions options;
  options.resume = run;
  return open(config, sets)->train(options, hooks);
}

/// Another plan for the same model: three devices, dealt, all forwards first.
inline const std::vector<std::string> other_plan = {"devices.use=[\"cpu:0\",\"cpu:1\",\"cpu:2\"]",
                                                    "placement.policy=round_robin", "schedule.type=gpipe",
                                                    "train.recompute=true"};

inline std::string model_file(const std::string& run) { return read_file(run + "/checkpoint/model.safetensors"); }
inline std::string optimizer_file(const std::string& run) {
  return read_file(run + "/checkpoint/optimizer.safetensors");
}

}  // namespace switchyard::test
