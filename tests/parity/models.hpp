// Five small models of LibTorch layers, each of at least eight layers, so that eight devices have one each.
#pragma once

#include <string>
#include <vector>

namespace models {

struct Named {
  const char* name;
  std::string layers;
};

inline std::string gpt(const char* dropout, const char* head) {
  return std::string(R"(
[model]
context = 8
[[layer]]
type = "embedding"
name = "embed"
vocabulary = 17
width = 16
positions = "learned"
context = 8
[[layer]]
type = "gpt_block"
name = "h"
repeat = 6
heads = 2
dropout = )") +
         dropout + R"(
[[layer]]
type = "lm_head"
name = "head"
)" + head;
}

inline const std::string split_transformer = R"(
[model]
input = { shape = [5, 6], type = "fp32" }
[[layer]]
type = "linear"
name = "into"
out = 8
[[layer]]
name = "h"
repeat = 3
[[layer.layer]]
type = "attention"
name = "attn"
heads = 2
causal = false
norm = "none"
[[layer.layer]]
type = "feed_forward"
name = "mlp"
norm = "none"
activation = "relu"
[[layer.layer]]
type = "batchnorm"
name = "bn"
axis = -1
[[layer]]
type = "mean"
name = "time"
axis = 1
[[layer]]
type = "linear"
name = "out"
out = 5
[[layer]]
type = "cross_entropy"
name = "loss"
)";

inline std::string convolutional(const char* statistics) {
  return std::string(R"(
[model]
input = { shape = [2, 6, 6], type = "fp32" }
[[layer]]
type = "conv2d"
name = "stem"
out = 4
kernel = 3
padding = 1
[[layer]]
name = "res"
repeat = 2
[[layer.layer]]
type = "conv2d"
name = "conv"
out = 4
kernel = 3
padding = 1
[[layer.layer]]
type = "batchnorm"
name = "bn"
statistics = ")") +
         statistics + R"("
[[layer.layer]]
type = "activation"
name = "relu"
kind = "relu"
[[layer.layer]]
type = "add"
name = "sum"
input = ["relu", "in"]
[[layer]]
type = "add"
name = "long"
input = ["res.1.sum", "stem"]
[[layer]]
type = "pool2d"
name = "pool"
kind = "avg"
size = "global"
[[layer]]
type = "linear"
name = "head"
out = 5
[[layer]]
type = "cross_entropy"
name = "loss"
)";
}

inline const std::string mlp = R"(
[model]
input = { shape = [9], type = "fp32" }
[[layer]]
name = "h"
repeat = 4
[[layer.layer]]
type = "linear"
name = "linear"
out = 12
[[layer.layer]]
type = "activation"
name = "act"
kind = "gelu"
[[layer]]
type = "linear"
name = "out"
out = 6
[[layer]]
type = "cross_entropy"
name = "loss"
)";

inline std::vector<Named> all() {
  return {{"gpt", gpt("0.0", "vocabulary = 17\nbias = true\n")},
          {"tied gpt with dropout", gpt("0.2", "tied_to = \"embed.token.weight\"\n")},
          {"split transformer", split_transformer},
          {"convolutional, statistics per micro-batch", convolutional("micro")},
          {"convolutional, deferred statistics", convolutional("deferred")},
          {"mlp", mlp}};
}

}  // namespace models
