// What no table can check alone, and the five files of the contract.
#include <doctest/doctest.h>

#include <algorithm>

#include "config/config.hpp"
#include "refusal.hpp"

using namespace switchyard;

namespace {

const std::string three =
    "[[layer]]\ntype='embedding'\nname='embed'\n[[layer]]\ntype='gpt_block'\nname='h'\nrepeat=2\n"
    "[[layer]]\ntype='lm_head'\nname='head'\n";

}  // namespace

TEST_CASE("explicit placement lists every layer that no rule places") {
  std::string text = refusal_of("[placement]\npolicy = 'explicit'\n[placement.explicit]\n'h.*' = 'cpu:0'\n" + three);
  CHECK(lines(text) == 1);
  CHECK_HOLDS(text,
              "t.toml:2:10: placement.explicit: no rule places layer 0 'embed' (embedding), layer 3 'head' (lm_head)");
  CHECK(refusal_of("[placement]\npolicy = 'contiguous'\n[placement.explicit]\n'h.*' = 'cpu:0'\n" + three) == "");
}

TEST_CASE("explicit devices of each layer") {
  Config c = parse_config(
      "[placement]\npolicy = 'explicit'\n[placement.explicit]\n'*' = 'cpu:0'\n'h.1' = 'cpu:1'\n" + three, "t");
  CHECK(explicit_devices(c) == std::vector<std::string>{"cpu:0", "cpu:0", "cpu:1", "cpu:0"});
}

TEST_CASE("explicit rules are checked whatever the policy") {
  std::string devices = "[devices]\nuse = ['cpu:0', 'cpu:1']\n[placement.explicit]\n";
  CHECK_HOLDS(refusal_of(devices + "'x' = 'cpu:0'\n" + three), "\"x\" matches no layer");
  CHECK_HOLDS(refusal_of(devices + "'h.*' = 'cpu:0'\n'*.1' = 'cpu:1'\n" + three),
              "\"h.*\" and \"*.1\" disagree about layer 2 'h.1'");
  CHECK_HOLDS(refusal_of(devices + "'*' = 'cpu:2'\n" + three), "\"cpu:2\" is not in devices.use");
}

TEST_CASE("patterns of keep_fp32 and recompute must match") {
  CHECK_HOLDS(refusal_of("[precision]\nkeep_fp32 = ['type:batchnorm*']\n" + three),
              "precision.keep_fp32: \"type:batchnorm*\" matches no layer");
  CHECK_HOLDS(refusal_of("[train]\nrecompute = ['h.7']\n" + three),
              "t.toml:2:14: train.recompute: \"h.7\" matches no layer");
  CHECK(refusal_of("[train]\nrecompute = ['h.*']\n" + three) == "");
}

TEST_CASE("a mistake in the layers does not make every pattern wrong") {
  CHECK(lines(refusal_of("[precision]\nkeep_fp32 = ['a']\n[[layer]]\ntype='x'\nname='a'\ninput='b'\n")) == 1);
}

TEST_CASE("more parts than samples are refused with both numbers, uneven parts are fine") {
  CHECK_HOLDS(refusal_of("[train]\nbatch = 2\n[schedule]\nmicro_batches = 4\n" + three),
              "t.toml:2:9: train.batch: 2 samples cannot be cut into 4 micro-batches");
  CHECK_HOLDS(refusal_of("[train]\nbatch = 7\naccumulate = 4\n[schedule]\nmicro_batches = 2\n" + three), "= 8 parts");
  CHECK(refusal_of("[train]\nbatch = 5\n[schedule]\nmicro_batches = 4\n" + three) == "");
}

TEST_CASE("five files: the forum's GPT") {
  Config c = parse_config(
      "[model]\ncontext = 1024\n[[layer]]\ntype = 'embedding'\nname = 'embed'\nvocabulary = 50257\nwidth = 768\n"
      "positions = 'learned'\n[[layer]]\ntype = 'gpt_block'\nname = 'h'\nrepeat = 6\nheads = 12\ncausal = false\n"
      "[[layer]]\ntype = 'lm_head'\nname = 'head'\nvocabulary = 50257\nbias = true\n[[layer]]\ntype = 'cross_entropy'\n"
      "[devices]\nuse = ['cuda:0', 'cuda:1']\n[placement]\npolicy = 'round_robin'\n[placement.round_robin]\n"
      "deal = 'h.*'\nends = 'first'\n[train]\noptimizer = { type = 'adam', lr = 1e-3 }\n",
      "t");
  CHECK(c.layers.size() == 9);
  CHECK(match_layers(c.layers, Pattern::parse("h.*"), "deal").size() == 6);
  CHECK(c.layers[8].name == "cross_entropy.0");
}

TEST_CASE("five files: the split transformer") {
  Config c = parse_config(
      "[model.input]\nshape = [16, 64]\n[[layer]]\ntype = 'linear'\nname = 'first'\n[[layer]]\nname = 'h'\nrepeat = "
      "32\n"
      "[[layer.layer]]\ntype = 'attention'\nname = 'attn'\nnorm = 'none'\n[[layer.layer]]\ntype = 'feed_forward'\n"
      "name = 'ff'\nnorm = 'none'\n[[layer.layer]]\ntype = 'batchnorm'\nname = 'bn'\naxis = -1\n"
      "[[layer]]\ntype = 'mean'\naxis = 1\n[[layer]]\ntype = 'linear'\n[[layer]]\ntype = 'cross_entropy'\n"
      "[placement]\npolicy = 'contiguous'\n[placement.contiguous]\ncuts = ['h.17']\n"
      "[precision]\ntype = 'fp16'\nkeep_fp32 = ['type:batchnorm*']\n[train]\noptimizer = { type = 'adam', lr = 1e-3 "
      "}\n",
      "t");
  CHECK(c.layers.size() == 1 + 3 * 32 + 3);
  CHECK(find_layer(c.layers, "h.17") == 1 + 3 * 17);
  CHECK(c.layers[1 + 3 * 17].name == "h.17.attn");
  CHECK(match_layers(c.layers, c.precision.keep_fp32[0], "keep").size() == 32);
}

TEST_CASE("five files: the two-layer MLP") {
  Config c = parse_config(
      "[[layer]]\ntype = 'linear'\nname = 'layer1'\nout = 16\n[[layer]]\ntype = 'linear'\nname = 'layer2'\nout = 3\n"
      "[[layer]]\ntype = 'cross_entropy'\n[placement]\npolicy = 'explicit'\n[placement.explicit]\n\"layer1\" = "
      "\"cuda:0\"\n"
      "\"*\" = \"cuda:1\"\n[data]\ntable = 'iris.csv'\ntarget = 'species'\n[train]\n",
      "t");
  CHECK(explicit_devices(c) == std::vector<std::string>{"cuda:0", "cuda:1", "cuda:1"});
}

TEST_CASE("five files: the residual convolutional net") {
  Config c = parse_config(
      "[model]\ninput = { shape = [3, 32, 32], type = 'fp32' }\n[[layer]]\ntype = 'conv2d'\nname = 'stem'\nout = 16\n"
      "[[layer]]\nname = 'b'\nrepeat = 8\n[[layer.layer]]\ntype = 'conv2d'\nname = 'conv'\n[[layer.layer]]\n"
      "type = 'batchnorm'\nname = 'bn'\n[[layer.layer]]\ntype = 'activation'\nname = 'relu'\n[[layer.layer]]\ntype = "
      "'add'\n"
      "name = 'add'\ninput = ['relu', 'in']\n[[layer]]\ntype = 'concat'\nname = 'skip'\ninput = ['b.7', 'stem']\n"
      "[[layer]]\ntype = 'pool2d'\nsize = 'global'\n[[layer]]\ntype = 'linear'\n[[layer]]\ntype = 'cross_entropy'\n",
      "t");
  CHECK(c.layers.size() == 1 + 32 + 4);
  const LayerEntry& add = c.layers[find_layer(c.layers, "b.3.add")];
  CHECK(c.layers[add.inputs[0].layer].name == "b.3.relu");
  CHECK(c.layers[add.inputs[1].layer].name == "b.2.add");
  const LayerEntry& skip = c.layers[find_layer(c.layers, "skip")];
  CHECK(c.layers[skip.inputs[0].layer].name == "b.7.add");
  CHECK(c.layers[skip.inputs[1].layer].name == "stem");
}

TEST_CASE("five files: the unequal pair") {
  Config c = parse_config(
      "[devices]\nuse = ['cuda:0', 'cuda:1']\nmemory = ['22GiB', '10GiB']\n[train]\nrecompute = 'auto'\n" + three, "t");
  CHECK(c.devices.memory_of(0) == std::int64_t{22} << 30);
  CHECK(c.devices.memory_of(1) == std::int64_t{10} << 30);
  CHECK(c.train->recompute.mode == RecomputeConfig::Mode::automatic);
}

TEST_CASE("a mistake is one line, whatever stands in the text") {
  for (const char* text :
       {"'a\\nb' = 1\n", "[precision]\nkeep_fp32 = ['a\\nb', 'x{\\n']\n",
        "[devices]\nuse = ['a\\nb']\nmemory = '1\\nG'\n", "[placement.explicit]\n'a\\nb' = 'c\\nd'\n",
        "[model.weights]\nfile = 'f'\nrename = { 'a\\n*' = 'b\\n' }\n",
        "[train]\n'a\\nb' = 1\noptimizer = { type = 3 }\n", "[generate]\noverflow = 'a\\nb'\n"}) {
    std::string document = text;
    for (char& c : document)
      if (c == '\'') c = '"';
    std::string refused = refusal_of(document + three);
    CHECK(refused != "");
    for (std::size_t at = 0; at < refused.size(); at = std::min(refused.find('\n', at), refused.size()) + 1)
      CHECK_MESSAGE(refused.compare(at, 7, "t.toml:") == 0, refused);
  }
  std::string layer = "[[layer]]\ntype = \"a\\nb\"\nname = \"c\\nd\"\ninput = \"e\\nf\"\n";
  CHECK(lines(refusal_of(layer)) == 2);
  CHECK(lines(refusal_of("[[layer]]\ntype = \"a\"\ninput = [\"e\\nf\", \"e:\\nf\"]\n")) == 2);
}
