// Every layer type on cuda:0 against the CPU, in fp32, those with a backward of their own also in bf16 and fp16: losses
// and gradients of a small model around it, three steps.
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
std::string over_ids(const std::string& lines, const std::string& head = "vocabulary = 17\n",
                     const std::string& positions = "learned") {
  return "[model]\ncontext = 10\n[[layer]]\ntype = \"embedding\"\nname = \"embed\"\nvocabulary = 17\nwidth = 16\n"
         "positions = \"" +
         positions + "\"\n" + lines + "[[layer]]\ntype = \"lm_head\"\nname = \"head\"\n" + head;
}
std::string layer(const std::string& type, const std::string& options = "") {
  return "[[layer]]\ntype = \"" + type + "\"\nname = \"it\"\n" + options;
}

void compare(const std::string& layers, const std::string& precision = "fp32", double tolerance = 1e-4) {
  CAPTURE(layers);
  CAPTURE(precision);
  const auto traced = [&](const std::string& device) {
    std::vector<std::string> options = gpu::on(device);
    options.push_back("precision.type=" + precision);
    if (precision == "fp16") options.push_back("precision.loss_scale=128.0");
    return train(*build(layers + sgd, options), 3);
  };
  gpu::check_close(traced("\"cpu:0\""), traced("\"cuda:0\""), tolerance);
}
/// Gradients are compared within ten times these.
void compare_in_every_type(const std::string& layers) {
  compare(layers);
  compare(layers, "bf16", 1e-2);
  compare(layers, "fp16", 2e-3);
}

}  // namespace

TEST_CASE("linear, mlp and every activation") {
  if (gpu::skipped()) return;
  for (const char* bias : {"true", "false"})
    compare_in_every_type(over_vectors(layer("linear", "out = 7\nbias = " + std::string(bias) + "\n")));
  compare_in_every_type(over_vectors(layer("mlp", "widths = [12]\n")));
  compare(over_vectors(layer("mlp", "widths = [9, 12]\nactivation = \"gelu\"\nbias = false\n")));
  for (const char* kind : {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid"}) {
    compare_in_every_type(
        over_vectors(layer("mlp", "widths = [24, 16, 12]\nactivation = \"" + std::string(kind) + "\"\n")));
    compare(over_vectors(layer("activation", "kind = \"" + std::string(kind) + "\"\n")));
  }
}
TEST_CASE("norms") {
  if (gpu::skipped()) return;
  compare_in_every_type(over_vectors(layer("layer_norm")));
  compare_in_every_type(over_vectors(layer("layer_norm", "bias = false\neps = 1e-3\n")));
  compare_in_every_type(over_vectors(layer("rms_norm", "eps = 1e-3\n")));
  for (const char* type : {"batchnorm", "batchnorm_fp32"}) {
    for (const char* statistics : {"micro", "deferred"}) {
      const std::string option = "statistics = \"" + std::string(statistics) + "\"\n";
      compare(over_vectors(layer(type, option)));
      compare(over_images(layer(type, option)));
    }
    compare(over_images(layer(type)), "bf16", 1e-2);
    compare(over_vectors(layer(type, "axis = -1\n")));
    compare(over_images(layer(type, "affine = false\n")));
    compare(over_images(layer(type, "frozen = true\n")));
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
}
TEST_CASE("heads: each norm, whole and in chunks, with a bias, tied; embeddings with and without positions") {
  if (gpu::skipped()) return;
  for (const char* norm : {"layer", "rms", "none"})
    for (const char* more : {"", "bias = true\n", "chunk = 8\n", "bias = true\nchunk = 7\n"})
      compare_in_every_type(over_ids("", "vocabulary = 17\nnorm = \"" + std::string(norm) + "\"\n" + more));
  compare_in_every_type(over_ids("", "tied_to = \"embed.token.weight\"\n"));
  compare_in_every_type(over_ids("", "vocabulary = 17\n", "none"));
}
TEST_CASE("whole models: skips, batch norms, towers") {
  if (gpu::skipped()) return;
  for (const models::Named& m : models::all()) compare(m.layers);
}
