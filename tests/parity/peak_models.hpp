// Models whose activations outweigh what a step takes beside them.
#pragma once

#include <string>

namespace peak_models {

inline const std::string gpt = R"(
[model]
context = 64
[[layer]]
type = "embedding"
name = "embed"
vocabulary = 256
width = 64
positions = "learned"
[[layer]]
type = "gpt_block"
name = "h"
repeat = 6
heads = 4
[[layer]]
type = "lm_head"
name = "head"
vocabulary = 256
)";

inline const std::string tied = R"(
[model]
context = 64
[[layer]]
type = "embedding"
name = "embed"
vocabulary = 256
width = 64
[[layer]]
type = "gpt_block"
name = "h"
repeat = 4
heads = 4
kv_heads = 2
rotary = true
norm = "rms"
activation = "swiglu"
dropout = 0.1
[[layer]]
type = "lm_head"
name = "head"
tied_to = "embed.token.weight"
)";

inline const std::string transformer = R"(
[model]
input = { shape = [32, 24], type = "fp32" }
[[layer]]
type = "linear"
name = "into"
out = 64
[[layer]]
name = "h"
repeat = 3
[[layer.layer]]
type = "attention"
name = "attn"
heads = 4
causal = false
[[layer.layer]]
type = "feed_forward"
name = "mlp"
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
out = 10
[[layer]]
type = "cross_entropy"
name = "loss"
)";

inline const std::string convolutional = R"(
[model]
input = { shape = [3, 16, 16], type = "fp32" }
[[layer]]
type = "conv2d"
name = "stem"
out = 16
kernel = 3
padding = 1
[[layer]]
name = "res"
repeat = 3
[[layer.layer]]
type = "conv2d"
name = "conv"
out = 16
kernel = 3
padding = 1
[[layer.layer]]
type = "batchnorm"
name = "bn"
[[layer.layer]]
type = "activation"
name = "relu"
kind = "relu"
[[layer.layer]]
type = "add"
name = "sum"
input = ["relu", "in"]
[[layer]]
type = "pool2d"
name = "pool"
kind = "avg"
size = "global"
[[layer]]
type = "linear"
name = "head"
out = 10
[[layer]]
type = "cross_entropy"
name = "loss"
)";

inline const std::string mlp = R"(
[model]
input = { shape = [48], type = "fp32" }
[[layer]]
name = "h"
repeat = 5
[[layer.layer]]
type = "linear"
name = "linear"
out = 256
[[layer.layer]]
type = "activation"
name = "act"
kind = "gelu"
[[layer]]
type = "linear"
name = "out"
out = 10
[[layer]]
type = "cross_entropy"
name = "loss"
)";

}  // namespace peak_models
