// Every layer type on cuda:0 against the CPU, in fp32: losses and gradients of a small model around it, three steps.
#include "../parity/models.hpp"
#include "gpu.hpp"

namespace {

using namespace plain;

const std::string sgd = R"(
[devices]
use = ["cpu:0"]
[placement]
policy = "contiguous"
[schedule]
type = "gpipe"
micro_batches = 2
[train]
batch = 6
steps = 3
clip_norm = 0.0
optimizer = { type = "sgd", lr = 1e-2, momentum = 0.9 }
)";

/// A layer type is `lines` between products, over vectors, images or sequences of ids.
std::string over_vectors(const std::string& lines) {
  return "[model]\ninput = { shape = [12], type = \"fp32\" }\n[[layer]]\ntype = \"linear\"\nname = \"first\"\nout = "
         "12\n" +
         lines +
         "[[layer]]\ntype = \"linear\"\nname = \"last\"\nout = 5\n[[layer]]\ntype = \"cross_entropy\"\nname = "
         "\"loss\"\n";
}
std::string over_images(const std::string& lines) {
  return "[model]\ninput = { shape = [3, 8, 8], type = \"fp32\" }\n[[layer]]\ntype = \"conv2d\"\nname = \"first\"\nout "
         "= 6\n"
         "kernel = 3\npadding = 1\n" +
         lines +
         "[[layer]]\ntype = \"flatten\"\nname = \"flat\"\n[[layer]]\ntype = \"linear\"\nname = \"last\"\nout = 5\n"
         "[[layer]]\ntype = \"cross_entropy\"\nname = \"loss\"\n";
}
std::string over_ids(const std::string& lines, const std::string& head = "vocabulary = 17\n") {
  return "[model]\ncontext = 10\n[[layer]]\ntype = \"embedding\"\nname = \"embed\"\nvocabulary = 17\nwidth = 16\n"
         "positions = \"learned\"\n" +
         lines + "[[layer]]\ntype = \"lm_head\"\nname = \"head\"\n" + head;
}
std::string layer(const std::string& type, const std::string& options = "") {
  return "[[layer]]\ntype = \"" + type + "\"\nname = \"it\"\n" + options;
}

void compare(const std::string& layers) {
  CAPTURE(layers);
  auto on_cpu = build(layers + sgd, gpu::on("\"cpu:0\""));
  auto on_gpu = build(layers + sgd, gpu::on("\"cuda:0\""));
  gpu::check_close(train(*on_cpu, 3), train(*on_gpu, 3), 1e-4);
}

}  // namespace

TEST_CASE("linear, mlp and every activation") {
  if (gpu::skipped()) return;
  compare(over_vectors(layer("linear", "out = 7\nbias = false\n")));
  compare(over_vectors(layer("mlp", "widths = [9, 12]\nactivation = \"gelu\"\n")));
  for (const char* kind : {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"})
    compare(over_vectors(layer("activation", "kind = \"" + std::string(kind) + "\"\n")));
}
TEST_CASE("norms") {
  if (gpu::skipped()) return;
  compare(over_vectors(layer("layer_norm")));
  compare(over_vectors(layer("rms_norm")));
  for (const char* statistics : {"micro", "deferred"}) {
    const std::string option = "statistics = \"" + std::string(statistics) + "\"\n";
    compare(over_vectors(layer("batchnorm", option)));
    compare(over_images(layer("batchnorm", option)));
  }
}
TEST_CASE("images") {
  if (gpu::skipped()) return;
  compare(over_images(layer("conv2d", "out = 6\nkernel = 3\nstride = 2\ngroups = 3\n")));
  compare(over_images(layer("pool2d", "kind = \"max\"\nsize = 2\n")));
  compare(over_images(layer("pool2d", "kind = \"avg\"\nsize = 2\n")));
  compare(over_images(layer("pool2d", "kind = \"avg\"\nsize = \"global\"\n")));
}
TEST_CASE("shapes: add, concat, mean, select, flatten, dropout") {
  if (gpu::skipped()) return;
  compare(over_vectors(layer("dropout", "p = 0.3\n")));
  compare(over_vectors(layer("add", "input = [\"first\", \"first\"]\n")));
  compare(over_vectors(layer("concat", "input = [\"first\", \"first\"]\n")));
  const std::string sequences =
      "[model]\ninput = { shape = [4, 6], type = \"fp32\" }\n[[layer]]\ntype = \"linear\"\n"
      "name = \"first\"\nout = 8\n";
  const std::string end =
      "[[layer]]\ntype = \"linear\"\nname = \"last\"\nout = 5\n[[layer]]\ntype = \"cross_entropy\"\n"
      "name = \"loss\"\n";
  for (const char* type : {"mean", "select", "flatten"}) compare(sequences + layer(type) + end);
}
TEST_CASE("transformers: embedding, attention, feed_forward, gpt_block, lm_head") {
  if (gpu::skipped()) return;
  compare(over_ids(layer("attention", "heads = 4\n")));
  compare(over_ids(layer("attention", "heads = 4\nkv_heads = 2\nrotary = true\nnorm = \"rms\"\n")));
  compare(over_ids(layer("attention", "heads = 4\ndropout = 0.2\n")));
  compare(over_ids(layer("feed_forward", "activation = \"swiglu\"\nnorm = \"rms\"\n")));
  compare(over_ids(layer("gpt_block", "heads = 2\n")));
  compare(over_ids(layer("gpt_block", "heads = 2\ndropout = 0.1\n"), "tied_to = \"embed.token.weight\"\n"));
  compare(over_ids(layer("gpt_block", "heads = 2\n"), "vocabulary = 17\nbias = true\nchunk = 8\n"));
}
TEST_CASE("whole models: skips, batch norms, towers") {
  if (gpu::skipped()) return;
  for (const models::Named& m : models::all()) compare(m.layers);
}
