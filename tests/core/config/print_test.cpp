#include <doctest/doctest.h>

#include "config/config.hpp"
#include "config/toml.hpp"
#include "refusal.hpp"

using namespace switchyard;

namespace {

const std::string full =
    "seed = 7\n[plugins]\npaths = ['p']\n[model]\ncontext = 64\nweights = { file = 'w.safetensors', rename = { 'a.*' = "
    "'b.*' } }\n"
    "[[layer]]\ntype = 'embedding'\nname = 'embed'\n[[layer]]\nname = 'h'\nrepeat = 2\ntrainable = "
    "false\n[[layer.layer]]\n"
    "type = 'attention'\nname = 'attn'\nheads = 4\n[[layer.layer]]\ntype = 'add'\ninput = ['attn', 'in']\ntrainable = "
    "true\n"
    "[[layer]]\ntype = 'lm_head'\nname = 'head'\n[devices]\nuse = ['cpu:{0..1}']\nmemory = '1GiB'\n[placement]\n"
    "policy = 'explicit'\n[placement.explicit]\n'*' = 'cpu:0'\nh.1 = 'cpu:1'\n[placement.contiguous]\ncuts = ['h.1']\n"
    "[schedule]\nfile = 's.json'\n[precision]\nkeep_fp32 = 'embed'\n[train]\noptimizer = { type = 'adamw', lr = 2e-3 "
    "}\n"
    "recompute = ['h.*']\n[train.lr_schedule]\ntype = 'cosine'\n[data]\ntext = ['a', \"tab\\tquote\\\"\"]\nvalidation "
    "= 'v'\n"
    "[generate]\nprompt = \"a\\tb # c\"\n";

Config parsed(const std::string& text, const std::vector<std::string>& sets = {}) {
  return parse_config(text, "/conf/t.toml", sets);
}

/// The layers as text, to compare two expansions.
std::string layers_text(const Config& config) {
  std::string text;
  for (const LayerEntry& layer : config.layers) {
    text += describe_layer(layer) + (layer.trainable ? "" : " fixed") + " " + write_toml_value(*layer.options);
    for (const LayerInput& input : layer.inputs) text += " " + std::to_string(input.layer) + input.batch;
    text += "\n";
  }
  return text;
}

/// The line of a text that begins so.
std::string line_of(const std::string& text, const std::string& begin) {
  std::size_t at = text.find("\n" + begin);
  return at == std::string::npos ? "" : text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

}  // namespace

TEST_CASE("print, reload: the same configuration; print again: the same text") {
  for (const std::vector<std::string>& sets :
       {std::vector<std::string>{},
        {"train.optimizer.lr=1e-4", "layer.h.layer.attn.heads=8", "data.text=x y", "train.steps=5"}}) {
    Config first = parsed(full, sets);
    std::string printed = print_config(first);
    Config second = parse_config(printed, "/elsewhere/printed.toml");
    CHECK(second.tree == first.tree);
    CHECK(layers_text(second) == layers_text(first));
    CHECK(print_config(second) == printed);
    CHECK(to_toml(second) == to_toml(first));
  }
}

TEST_CASE("the run folder's text is the same configuration") {
  Config first = parsed(full, {"train.steps=5"});
  Config second = parse_config(to_toml(first), "/elsewhere/config.toml");
  CHECK(second.tree == first.tree);
  CHECK(to_toml(second) == to_toml(first));
  CHECK(layers_text(second) == layers_text(first));
  CHECK(second.data->files[0].text == "/conf/a");
  CHECK(to_toml(first).find('#') == to_toml(first).find("# c"));
}

TEST_CASE("absent tables stay absent") {
  Config c = parsed("[[layer]]\ntype = 'x'\n");
  CHECK(!parse_config(to_toml(c), "t").train);
  CHECK(!parse_config(print_config(c), "t").data);
  CHECK(!parse_config(print_config(c), "t").model.context);
}

TEST_CASE("each value carries its origin") {
  std::string printed = print_config(parsed(full, {"train.steps=5", "train.optimizer.lr=1e-4"}));
  CHECK(line_of(printed, "seed") == "seed = 7\t# /conf/t.toml:1");
  CHECK(line_of(printed, "steps") == "steps = 5\t# --set train.steps=5");
  CHECK(line_of(printed, "batch") == "batch = 16\t# default");
  CHECK(line_of(printed, "optimizer") ==
        "optimizer = { type = \"adamw\", lr = 1e-4 }\t# /conf/t.toml:40; lr: --set train.optimizer.lr=1e-4");
  CHECK_HOLDS(line_of(printed, "weights"), "# /conf/t.toml:6; allow_unused: default");
  CHECK(line_of(printed, "text") == "text = [\"/conf/a\", \"/conf/tab\\tquote\\\"\"]\t# /conf/t.toml:45");
}

TEST_CASE("an argument with line breaks cannot break a comment") {
  Config c = parsed(full, {"generate.prompt=a\nb\tc"});
  std::string printed = print_config(c);
  CHECK_HOLDS(printed, "# --set generate.prompt=a\\nb\\tc\n");
  CHECK(parse_config(printed, "t").generate.prompt == "a\nb\tc");
}

TEST_CASE("a printed file that was changed shows its own lines as origins") {
  std::string printed = print_config(parsed(full));
  std::size_t at = printed.find("batch = 16");
  printed.replace(at, 10, "batch = 32");
  Config c = parse_config(printed, "p.toml");
  CHECK(c.train->batch == 32);
  CHECK_HOLDS(line_of(print_config(c), "batch"), "# p.toml:");
  CHECK(c.recorded_origins.empty());
}

TEST_CASE("a --set over a printed file shows as such") {
  Config c = parse_config(print_config(parsed(full)), "p.toml", {"train.batch=32"});
  std::string printed = print_config(c);
  CHECK(line_of(printed, "batch") == "batch = 32\t# --set train.batch=32");
  CHECK(line_of(printed, "seed") == "seed = 7\t# /conf/t.toml:1");
}

TEST_CASE("defaults of plugins' options are added where they are known") {
  std::vector<OptionSpec> layer = {{"heads", SY_T_I64, "4", 1, 0, {}, "", "", ""},
                                   {"bias", SY_T_BOOL, "true", 1, 0, {}, "", "", ""}};
  std::vector<OptionSpec> policy = {{"cuts", SY_T_STRS, "[]", 1, 0, {}, "", "", ""},
                                    {"ends", SY_T_STR, "\"first\"", 1, 0, {}, "", "", ""}};
  std::vector<OptionSpec> optimizer = {{"lr", SY_T_F64, std::nullopt, 1, 0, {}, "", "", ""},
                                       {"eps", SY_T_F64, "1e-8", 1, 0, {}, "", "", ""}};
  SpecLookup lookup = [&](const std::string& kind, const std::string& name) -> const std::vector<OptionSpec>* {
    if (kind == "layer" && name == "attention") return &layer;
    if (kind == "policy" && name == "contiguous") return &policy;
    if (kind == "schedule") return &policy;
    if (kind == "optimizer" && name == "adamw") return &optimizer;
    return nullptr;
  };
  Config c = parsed(full, {"placement.policy=contiguous"});
  std::string printed = print_config(c, lookup);
  CHECK(line_of(printed, "heads") == "heads = 4\t# /conf/t.toml:17");
  CHECK(line_of(printed, "bias") == "bias = true\t# default");
  CHECK(line_of(printed, "cuts") == "cuts = [\"h.1\"]\t# /conf/t.toml:34");
  CHECK_HOLDS(printed, "\n[schedule.1f1b]\n");
  CHECK_HOLDS(line_of(printed, "optimizer"), "eps = 1e-8 }\t# /conf/t.toml:40; eps: default");
  Config again = parse_config(printed, "p.toml");
  CHECK(print_config(again, lookup) == printed);
  CHECK(layers_text(again).find("bias = true") != std::string::npos);
}

TEST_CASE("options of an optimizer that stand in its sub-table are not doubled") {
  std::vector<OptionSpec> optimizer = {{"lr", SY_T_F64, "0.1", 1, 0, {}, "", "", ""},
                                       {"eps", SY_T_F64, "1e-8", 1, 0, {}, "", "", ""}};
  SpecLookup lookup = [&](const std::string& kind, const std::string&) {
    return kind == "optimizer" ? &optimizer : nullptr;
  };
  Config c = parsed("[[layer]]\ntype = 'x'\n[train.optimizer.adamw]\nlr = 0.5\n");
  std::string printed = print_config(c, lookup);
  Config again = parse_config(printed, "p.toml");
  CHECK(again.train->optimizer.options.find("lr")->real() == 0.5);
  CHECK(again.train->optimizer.options.find("eps")->real() == 1e-8);
  CHECK(print_config(again, lookup) == printed);
}
